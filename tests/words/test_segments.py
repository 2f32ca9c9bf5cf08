"""Long words of Unigram are encoded from blank to blank, whatever rounding makes of their sums."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.conftest import short_or_long
from tests.vocabulary.test_sentencepiece import needs_rule_of_sums, written_model

package = pytest.importorskip("sentencepiece", reason="an oracle of these tests")
tokenizers = pytest.importorskip("tokenizers", reason="an oracle of these tests")

BLANK = "\u2581"
NORMAL, BYTE = 1, 6
Pieces = list[tuple[str, float, int]]
BYTES: Pieces = [(f"<0x{byte:02X}>", -9.0, BYTE) for byte in range(256)]

# How far scores are apart: nothing; less than rounding moves a sum; more.
STEPS = (0.0, 2e-4, 3e-3, 0.02, 1.0)
# What models have besides letters and words, and texts besides their letters.
KINDS: dict[str, tuple[list[str], str]] = {
    "plain": ([], ""),
    "runs of blanks": ([BLANK * 2, BLANK * 3, f"{BLANK * 2}a"], "  "),
    "a blank after a letter": ([f"a{BLANK}", f"b{BLANK}c"], ""),
    "unknown characters": ([], "qzé😀"),
    "characters known in words": (["qz", "qza", f"{BLANK}éb", "bq", "zq"], "qzé"),
}


def pieces_of(rng: random.Random, kind: str) -> Pieces:
    """Pieces with near ties: scores of as many characters are nearly the same."""
    letters, step = "abcdef", rng.choice(STEPS)
    words = {"".join(rng.choices(letters, k=rng.randint(2, 5))) for _ in range(60)}
    texts = [BLANK, *letters, *sorted(words), *(BLANK + one for one in sorted(words))]
    texts += KINDS[kind][0]
    return [(text, -2.0 * len(text) - step * rng.randint(0, 3), NORMAL) for text in texts]


def text_of(rng: random.Random, kind: str, n_words: int) -> str:
    """Words that come again, some longer than what is kept, and some letters of the kind."""
    letters = "abcdef" * 8 + KINDS[kind][1]
    words = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(300)]
    words += [piece.replace(BLANK, "") for piece in KINDS[kind][0]] * 20
    often = [9.0] * len(words)
    words += ["".join(rng.choices(letters, k=rng.randint(200, 700))) for _ in range(3)]
    return " ".join(rng.choices(words, [*often, 0.5, 0.5, 0.5], k=n_words))


def of_sentencepiece(
    pieces: Pieces, folder: Path, *, removes_blanks: bool = False, rules: bytes = b""
) -> tuple[cutline.Encoding, Callable[[str], list[int]]]:
    """An encoding with such pieces whose sums are floats, and what encodes with sentencepiece."""
    path = folder / "tokenizer.model"
    path.write_bytes(written_model(pieces, removes_blanks=removes_blanks, rules=rules))
    processor: Any = package.SentencePieceProcessor(model_file=str(path))
    return cutline.load(path), processor.encode


def same(encoding: cutline.Encoding, encode: Callable[[str], list[int]], text: str) -> None:
    """Ids and counts, of text met for the first time and again, and of slices."""
    expected = encode(text)
    assert encoding.count(text) == len(expected)
    assert encoding.encode_ordinary(text) == expected
    assert encoding.count(text) == len(expected)
    for start in range(0, len(text), max(1, len(text) // 5)):
        assert encoding.encode_ordinary(text[start:]) == encode(text[start:])


@short_or_long("n_models", 4, 60)
@pytest.mark.parametrize("falls_back", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_in_single_precision(kind: str, falls_back: bool, n_models: int, tmp_path: Path) -> None:
    """Sums reach -1e5, where they begin anew, and are rounded by more and more up to there."""
    needs_rule_of_sums("unigram")
    rng = random.Random(f"{kind} {falls_back}")
    for _ in range(n_models):
        pieces = pieces_of(rng, kind) + (BYTES if falls_back else [])
        encoding, encode = of_sentencepiece(pieces, tmp_path)
        same(encoding, encode, text_of(rng, kind, rng.choice((200, 15_000))))


def rows_of(pieces: Pieces, unknown: str = "<unk>") -> list[tuple[str, float]]:
    """Tokens with scores as tokenizers has them, after that for what is unknown."""
    return [(unknown, -3.0), *((text, score) for text, score, _ in pieces)]


def of_tokenizers(
    pieces: Pieces, folder: Path, *, falls_back: bool, unknown: str = "<unk>"
) -> tuple[cutline.Encoding, Callable[[str], list[int]]]:
    """An encoding with such pieces whose sums are doubles, and what encodes with tokenizers."""
    oracle = tokenizers.Tokenizer(
        tokenizers.models.Unigram(rows_of(pieces, unknown), 0, falls_back)
    )
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(split=False)
    path = folder / "tokenizer.json"
    path.write_text(oracle.to_str(), encoding="utf-8")
    # It reads some scores as the number next to them.
    oracle = tokenizers.Tokenizer.from_file(str(path))

    def encode(text: str) -> list[int]:
        ids: list[int] = oracle.encode(text, add_special_tokens=False).ids
        return ids

    return cutline.load(path), encode


@short_or_long("n_models", 4, 60)
@pytest.mark.parametrize("falls_back", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_in_double_precision(kind: str, falls_back: bool, n_models: int, tmp_path: Path) -> None:
    rng = random.Random(f"{kind} {falls_back}, too")
    for _ in range(n_models):
        pieces = pieces_of(rng, kind) + (BYTES if falls_back else [])
        encoding, encode = of_tokenizers(pieces, tmp_path, falls_back=falls_back)
        same(encoding, encode, text_of(rng, kind, rng.choice((200, 4_000))))


def test_more_is_met_than_is_kept(tmp_path: Path) -> None:
    """What is kept is written over the oldest, while a batch of others is looked up."""
    needs_rule_of_sums("unigram")
    rng = random.Random(5)
    encoding, encode = of_sentencepiece(pieces_of(rng, "plain"), tmp_path)
    words = ["".join(rng.choices("abcdef", k=rng.randint(5, 40))) for _ in range(60_000)]
    text = " ".join([*words, *rng.sample(words, 20_000)])
    same(encoding, encode, text)


def test_a_blank_that_is_no_token_is_unknown_with_what_is_before_it(tmp_path: Path) -> None:
    needs_rule_of_sums("unigram")
    pieces = [(letter, -3.0, NORMAL) for letter in "abc"]
    text = "abz zab  c z " * 100
    same(*of_sentencepiece(pieces, tmp_path), text)
    same(*of_tokenizers(pieces, tmp_path, falls_back=False), text)


@pytest.mark.parametrize("falls_back", [False, True])
@pytest.mark.parametrize("unknown", ["<unk>", f"{BLANK}a", BLANK * 2, BLANK, "a"])
def test_the_unknown_token_may_be_spelled(unknown: str, falls_back: bool, tmp_path: Path) -> None:
    """If it begins with a blank, it is one with unknown characters before the blank."""
    texts = [BLANK, "a", "b", "c", f"{BLANK}a", f"{BLANK}b", BLANK * 2]
    pieces = [(text, -3.0, NORMAL) for text in texts if text != unknown]
    pieces += BYTES if falls_back else []
    rng = random.Random(unknown)
    for _ in range(20):
        encoding, encode = of_tokenizers(pieces, tmp_path, falls_back=falls_back, unknown=unknown)
        same(encoding, encode, "".join(rng.choices("abcz  ", k=rng.randint(250, 500))))


def test_ids_before_a_long_word_stay(tmp_path: Path) -> None:
    """Unknown characters of a segment are counted by writing what they become, and not there."""
    pieces = [(text, -3.0, NORMAL) for text in [BLANK, *"abcdef|", f"{BLANK}ab"]]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows_of(pieces), 0))
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [tokenizers.pre_tokenizers.Punctuation(), tokenizers.pre_tokenizers.Metaspace(split=False)]
    )
    path = tmp_path / "tokenizer.json"
    path.write_text(oracle.to_str(), encoding="utf-8")
    for n_before in range(4):
        text = f"{'ab|cd |fe|' * 5 * n_before}{'ab cd ' * 50}abzzd {'z' * 200} ab"
        expected = oracle.encode(text, add_special_tokens=False).ids
        assert cutline.load(path).encode_ordinary(text) == expected


@pytest.mark.parametrize("size", [0.5, 50.0, 300.0, 2000.0])
def test_scores_over_zero(size: float, tmp_path: Path) -> None:
    """Sums reach 1e5, where they begin anew, too; one segment can bring them there."""
    needs_rule_of_sums("unigram")
    for seed in range(6):
        rng = random.Random(seed)
        pieces = pieces_of(rng, "plain")
        higher = [(text, size * len(text) + score % 0.01, kind) for text, score, kind in pieces]
        encoding, encode = of_sentencepiece(higher, tmp_path)
        same(encoding, encode, text_of(rng, "unknown characters", rng.choice((20, 2_000))))


def same_slices(
    rng: random.Random,
    encoding: cutline.Encoding,
    encode: Callable[[str], list[int]],
    text: str,
) -> None:
    """Counts of slices, the greatest cuts, and chunks."""

    def count(start: int, end: int) -> int:
        return len(encode(text[start:end]))

    counter = encoding.intervals(text)
    spans = [sorted(rng.choices(range(len(text) + 1), k=2)) for _ in range(40)]
    spans += [[at, min(len(text), at + rng.randint(0, 900))] for at in range(0, len(text), 997)]
    expected = [count(*span) for span in spans]
    assert counter.count_many(spans).tolist() == expected
    assert [counter.count(*span) for span in spans] == expected
    for n in (1, 2, 9, 60, 250, 900):
        start = rng.randrange(len(text))
        end = counter.split_at(start, n)
        assert count(start, end) <= n
        ends = {*range(end + 1, min(len(text), end + 30) + 1), *range(end + 1, len(text) + 1, 499)}
        assert all(count(start, other) > n for other in ends)
    for n in (48, 300):
        for chunker in (cutline.TextChunker(encoding, n), cutline.TextChunker(encoding, n, n // 4)):
            for _ in range(2):
                for chunk in chunker.chunk(text):
                    assert chunk.token_count == count(chunk.start_index, chunk.end_index) <= n


@short_or_long("n_models", 2, 40)
@pytest.mark.parametrize("falls_back", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_slices_and_cuts(kind: str, falls_back: bool, n_models: int, tmp_path: Path) -> None:
    """In sums of floats and of doubles, with the blanks at a text's ends and without them."""
    needs_rule_of_sums("unigram")
    rng = random.Random(f"{kind} {falls_back}, in slices")
    for _ in range(n_models):
        pieces = pieces_of(rng, kind) + (BYTES if falls_back else [])
        text = text_of(rng, kind, rng.choice((150, 1_500)))
        far = text_of(rng, kind, 20_000)
        for removes_blanks in (False, True):
            single = of_sentencepiece(pieces, tmp_path, removes_blanks=removes_blanks)
            same_slices(rng, *single, text)
            # Sums begin anew on the way to this cut.
            end = single[0].intervals(far).split_at(0, 30_000)
            assert len(single[1](far[:end])) <= 30_000 < len(single[1](far[: end + 1]))
        same_slices(rng, *of_tokenizers(pieces, tmp_path, falls_back=falls_back), text)
