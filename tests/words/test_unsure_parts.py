"""Slices of long words some parts of which have other numbers of tokens if sums are rounded so."""

import random
import struct
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.conftest import short_or_long
from tests.vocabulary.test_sentencepiece import needs_rule_of_sums
from tests.words.charsmaps import charsmap
from tests.words.test_segments import (
    BLANK,
    BYTES,
    NORMAL,
    Pieces,
    of_sentencepiece,
    of_tokenizers,
    same_slices,
)

tokenizers = pytest.importorskip("tokenizers", reason="an oracle of these tests")

# By how much a token is better than two: sums of 24 bits are moved by up to 1/256 with each.
LEADS = (0.0, 1e-7, -1e-7, 3e-6, -2e-5, 1e-4, -4e-4, 1e-3, -1e-3, 2e-3, 3e-3, -4e-3, 8e-3, 0.02)
LETTERS = "abcdefgh"
# Letters of the words between, and whether these have blanks between them.
KINDS: dict[str, tuple[str, str]] = {
    "words": (LETTERS, " "),
    "words and characters that are no tokens": (LETTERS + "é😀", " "),
    "no blanks": ("世界和平语言模型文本", ""),
    "few blanks": ("世界和平语言模型文本", "           "),
}


def near_ties(rng: random.Random, letters: str) -> tuple[Pieces, list[str]]:
    """Pieces, some of which are nearly as good as two others; and the texts of these."""
    scores = {letter: -rng.uniform(9, 14) for letter in (*letters, BLANK) if letter not in "é😀"}
    for _ in range(40):
        word = "".join(rng.choices(letters.strip("é😀"), k=rng.randint(2, 3)))
        scores[word] = scores[BLANK + word] = -rng.uniform(5, 11)
    ties = {}
    for lead in LEADS:
        first, second = rng.sample([text for text in scores if text[0] != BLANK], 2)
        if first + second not in scores and len(first + second) > 2:
            ties[first + second] = scores[first] + scores[second] + lead
    pieces = [(text, score, NORMAL) for text, score in {**scores, **ties}.items()]
    return pieces, [*ties]


def text_with_ties(rng: random.Random, kind: str, ties: list[str], size: int) -> str:
    """A text in which ties are so rare that what is between them is sure."""
    letters, blank = KINDS[kind]
    parts = []
    while size > 0:
        parts.append("".join(rng.choices(letters, k=rng.randint(1, 12))))
        if rng.random() < 0.01:
            parts.append(f"{blank[:1]}{rng.choice(ties)}{blank[:1]}")
        parts.append(blank[:1] if rng.random() < 1 / max(1, len(blank)) else "")
        size -= len(parts[-2]) + len(parts[-1])
    return "".join(parts)


@short_or_long("n_models", 2, 40)
@pytest.mark.parametrize("falls_back", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_slices_and_cuts(kind: str, falls_back: bool, n_models: int, tmp_path: Path) -> None:
    """Sums of floats and of doubles; slices in which the former begin anew, several times."""
    needs_rule_of_sums("unigram")
    rng = random.Random(f"{kind} {falls_back}")
    for number in range(n_models):
        pieces, ties = near_ties(rng, KINDS[kind][0])
        pieces += BYTES if falls_back else []
        text = text_with_ties(rng, kind, ties, (6_000, 60_000)[number % 2])
        same_slices(rng, *of_sentencepiece(pieces, tmp_path), text)
        same_slices(rng, *of_tokenizers(pieces, tmp_path, falls_back=falls_back), text[:20_000])


def test_characters_that_become_several(tmp_path: Path) -> None:
    """No slice begins at a joint inside of what one character becomes."""
    needs_rule_of_sums("unigram")
    rules = charsmap({"½": "ab", "ﷺ": "fh ac d", "⅓": "cdefgh" * 6, "…": " g "})
    rng = random.Random(1)
    for size in (6_000, 60_000):
        pieces, ties = near_ties(rng, LETTERS)
        text = text_with_ties(rng, "words", ties, size)
        at = sorted(rng.sample(range(size), size // 40))
        parts = [text[start:end] + rng.choice("½ﷺ⅓…") for start, end in pairwise([0, *at])]
        same_slices(rng, *of_sentencepiece(pieces, tmp_path, rules=rules), "".join(parts))


def test_a_joint_inside_what_a_character_becomes_is_no_start(tmp_path: Path) -> None:
    """Its sum is that of no other start."""
    needs_rule_of_sums("unigram")
    rules = charsmap({"ﷺ": "abc defg hcab cfgh"})
    text = "Q " * 50 + "Q ﷺ Q Q Q xy Q Q"
    rng = random.Random(2)
    ties = [(-2.8444, -2.7580, -5.602535)]
    for x, y in [(-rng.uniform(2, 3), -rng.uniform(2, 3)) for _ in range(40)]:
        ties.append((x, y, x + y + rng.uniform(-1e-3, 1e-3)))
    for x, y, both in ties:
        scores = {BLANK: -1.0, BLANK + "Q": -100.0, "Q": -100.0, **dict.fromkeys(LETTERS, -150.0)}
        scores |= {"x": x, "y": y, "xy": both}
        pieces = [(one, score, NORMAL) for one, score in scores.items()]
        encoding, encode = of_sentencepiece(pieces, tmp_path, removes_blanks=True, rules=rules)
        counter = encoding.intervals(text)
        for start in range(80, len(text)):
            assert counter.count(start, len(text)) == len(encode(text[start:]))


@pytest.mark.parametrize("sums", [2**12, 2**15, 2**16, 10**5, 10**5 + 2**15, 2 * 10**5, 3 * 10**5])
def test_ties_where_a_power_of_two_is_passed(sums: int, tmp_path: Path) -> None:
    """Or where sums begin anew. Slices that begin elsewhere pass it at other ties."""
    needs_rule_of_sums("unigram")
    rng = random.Random(sums)
    pieces, ties = near_ties(rng, LETTERS)
    scores = {text: score for text, score, _ in pieces}
    words = [text[1:] for text in scores if len(text) > 2 and text[0] == BLANK]
    before = []
    while sums > 150:
        before.append(rng.choice(words))
        sums += round(scores[BLANK + before[-1]])
    after = [word for _ in range(30) for word in (rng.choice(ties), rng.choice(words))]
    text = " ".join([*before, *after])
    encoding, encode = of_sentencepiece(pieces, tmp_path)
    counter = encoding.intervals(text)
    first = len(" ".join(before))
    for start in sorted(rng.sample(range(min(first, 400)), 25)):
        ends = [len(text), rng.randrange(first, len(text))]
        counts = [len(encode(text[start:end])) for end in ends]
        assert [counter.count(start, end) for end in ends] == counts
        assert counter.split_at(start, counts[0]) == len(text)


@pytest.mark.parametrize("lead", [0.0, 3e-4, 1e-3, -1e-3, 2e-3, 3e-3, -3e-3])
def test_an_unknown_character_may_be_one_with_those_before(lead: float, tmp_path: Path) -> None:
    """Of two paths with as many tokens one begins with a character that is unknown alone."""
    needs_rule_of_sums("unigram")
    rng = random.Random(lead)
    scores = {BLANK: -8.0, "a": -16.3, "za": -5.1, "z": -9.7, "x": -18.2}
    scores |= {letter: -rng.uniform(9, 14) for letter in "bcdefgh"}
    unknown = min(scores.values()) - 10
    scores["qz"] = unknown + scores["za"] - scores["a"] + lead
    pieces = [(text, score, NORMAL) for text, score in scores.items()]
    # What is between two joints is 24 bytes or longer: the second one is after é.
    words = ["".join(rng.choices("bcdefgh", k=21)) for _ in range(1_500)]
    text = " ".join(word + "éqza" * (rng.random() < 0.03) + word[:10] for word in words)
    same_slices(rng, *of_sentencepiece(pieces, tmp_path), text)
    same_slices(rng, *of_tokenizers(pieces, tmp_path, falls_back=False), text[:20_000])


def test_sums_begin_anew_inside_a_token(tmp_path: Path) -> None:
    """The characters of a long token bring a sum to 1e5 where the token does not."""
    needs_rule_of_sums("unigram")
    scores = {BLANK: -1.0, BLANK + "Q": -400.0, "Q": -400.0, BLANK + "abcdefgh": -20.0}
    scores |= dict.fromkeys(LETTERS, -100.0)
    text = "Q " * 300 + "abcdefgh xy Q Q"
    rng = random.Random(1)
    ties = [(-2.8444, -2.7580, -5.603329)]
    for x, y in [(-rng.uniform(2, 3), -rng.uniform(2, 3)) for _ in range(20)]:
        ties.append((x, y, x + y + rng.uniform(-6e-3, 6e-3)))
    for x, y, both in ties:
        pieces = [(one, score, NORMAL) for one, score in {**scores, "x": x, "y": y}.items()]
        encoding, encode = of_sentencepiece([*pieces, ("xy", both, NORMAL)], tmp_path)
        counter = encoding.intervals(text)
        for start in range(90, 112, 2):
            assert counter.count(start, len(text)) == len(encode(text[start:]))


def test_changes_that_cancel_one_another(tmp_path: Path) -> None:
    """A cut lies between a part with more tokens and one with fewer."""
    needs_rule_of_sums("unigram")
    text = "Q " * 80 + "c c c xy c c uv c c c"
    for seed in (23, *range(6)):
        rng = random.Random(seed)
        scores = {BLANK: -1.0, BLANK + "c": -2.0, "c": -4.0, BLANK + "Q": -900.0, "Q": -900.0}
        scores |= {letter: -rng.uniform(2, 3) for letter in "xyuv"}
        for pair in ("xy", "uv"):
            first, second = (struct.unpack("f", struct.pack("f", scores[one]))[0] for one in pair)
            lead = rng.uniform(-7e-3, 7e-3)
            scores[pair] = struct.unpack("f", struct.pack("f", first + second))[0] + lead
        pieces = [(one, score, NORMAL) for one, score in scores.items()]
        encoding, encode = of_sentencepiece(pieces, tmp_path)
        counter = encoding.intervals(text)
        for start in range(158, 167):
            counts = [len(encode(text[start:end])) for end in range(start, len(text) + 1)]
            for n in range(4, 15):
                longest = max(at for at, count in enumerate(counts) if count <= n)
                assert counter.split_at(start, n) == start + longest


@pytest.mark.parametrize("seed", range(4))
def test_a_long_run_of_unknown_characters(seed: int, tmp_path: Path) -> None:
    """It is one token, but each character is added, and rounded."""
    needs_rule_of_sums("unigram")
    rng = random.Random(seed)
    scores = {BLANK: -1.0, "a": -1.0 - rng.random(), "b": -1.0 - rng.random(), "c": -3.0}
    scores |= {BLANK + "a": -1.5, BLANK + "b": -1.2}
    scores |= {letter: -rng.uniform(1, 2) for letter in "mnopqrstuvwxyz"}
    ties = [first + second for first in "mnopqrst" for second in "uvwxyz" if rng.random() < 0.5]
    for first, second in ties:
        lead = rng.choice((0.0, 1e-4, 2e-3, -2e-3, 3e-3, -1e-3))
        scores[first + second] = scores[first] + scores[second] + lead
    pieces = [(text, score, NORMAL) for text, score in scores.items()]
    encoding, encode = of_sentencepiece(pieces, tmp_path)
    n_unknown = int(2**16 / (10 - min(scores.values())))
    words = " ".join(rng.choices("ab", k=24_000))
    parts = [f"{words} {'😀' * (n_unknown - 5)} "]
    parts += [f"a {rng.choice(ties)} {'a b ' * 4}" for _ in range(12)]
    text, ends = "".join(parts), [*accumulate(map(len, parts))]
    counter = encoding.intervals(text)
    for end in ends[1:]:
        for start in range(len(words) - 60, len(words) + 2):
            assert counter.count(start, end) == len(encode(text[start:end]))


def test_cuts_end_before_characters_that_change_one_another(tmp_path: Path) -> None:
    """They begin another word; a cut that reads its first word anew stops there."""
    scores = {BLANK: -1.0, BLANK + "Q": -2.0, "Q": -4.0, ".": -2.0, "e": -3.0, "a": -3.0}
    scores |= {"x": -2.5, "y": -2.25, "xy": -4.75, "e\u0301a": -1.0}
    vocabulary = [("<unk>", -30.0), *scores.items()]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(vocabulary, 0, False))
    oracle.normalizer = tokenizers.normalizers.NFC()
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [tokenizers.pre_tokenizers.Punctuation(), tokenizers.pre_tokenizers.Metaspace(split=False)]
    )
    path = tmp_path / "tokenizer.json"
    path.write_text(oracle.to_str(), encoding="utf-8")
    encoding = cutline.load(path)
    text = "Q " * 150 + "xy Q . " + "ae\u0301" * 3 + "a ." + " Q" * 10
    counter = encoding.intervals(text)
    for start in range(280, 302, 2):
        counts = [
            len(oracle.encode(text[start:end], add_special_tokens=False).ids)
            for end in range(start, len(text) + 1)
        ]
        for n in range(1, 60):
            longest = max(at for at, count in enumerate(counts) if count <= n)
            assert counter.split_at(start, n) == start + longest


def test_sums_of_doubles_beyond_what_is_tried(tmp_path: Path) -> None:
    """Rounding decides though another path is far behind."""
    scores = {BLANK: -1.0, BLANK + "Q": -1e12, "Q": -1e12, "x": -2.8444218515250483}
    scores |= {"y": -2.7579544029403023, "xy": -5.603619160734436}
    pieces = [(text, score, NORMAL) for text, score in scores.items()]
    encoding, encode = of_tokenizers(pieces, tmp_path, falls_back=False)
    text = "Q " * 200 + "xy Q Q " + "Q " * 50 + "xy Q Q"
    counter = encoding.intervals(text)
    for start in range(1, 440, 6):
        assert counter.count(start, 509) == len(encode(text[start:509]))


@short_or_long("n_models", 4, 200)
def test_cuts_before_added_tokens_that_overlap(n_models: int, tmp_path: Path) -> None:
    """What is before them has ties; several long words, and characters that change one another."""
    rng = random.Random(7)
    for _ in range(n_models):
        tokenizer, tokens = with_exact_ties(rng)
        path = tmp_path / "tokenizer.json"
        path.write_text(tokenizer.to_str(), encoding="utf-8")
        encoding = cutline.load(path)
        oracle = tokenizers.Tokenizer.from_file(str(path))  # see of_tokenizers
        parts = [
            "Q " * rng.randint(1, 40),
            "xy ",
            "uvxy",
            "x",
            " . ",
            ".",
            "e\u0301a",
            "\U0001f600",
        ]
        parts += [part for token in tokens for part in (token, token * 2, token + token[1:], " ")]
        text = "".join(rng.choices(parts, k=rng.randint(10, 25))) + rng.choice(tokens) * 2
        counter = encoding.intervals(text)
        for start in sorted(rng.sample(range(len(text)), 12)):
            counts = [
                len(oracle.encode(text[start:end], add_special_tokens=False).ids)
                for end in range(start, len(text) + 1)
            ]
            spans = [(start, end) for end in range(start, len(text) + 1)]
            assert counter.count_many(spans).tolist() == counts
            for n in {*range(8), *rng.choices(range(counts[-1] + 2), k=20)}:
                longest = max(at for at, count in enumerate(counts) if count <= n)
                assert counter.split_at(start, n) == start + longest


def with_exact_ties(rng: random.Random) -> tuple[Any, list[str]]:
    """Sums of doubles, and added tokens, most of which overlap one another or themselves."""
    scores = {BLANK: -1 - rng.random(), BLANK + "Q": -1 - rng.random()}
    scores |= {".": -2.0, "e": -3.0, "a": -3.0}
    scores |= {letter: -rng.uniform(2, 3) for letter in "xyuvQ"}
    scores |= {"xy": scores["x"] + scores["y"], "uv": scores["u"] + scores["v"], "\u00e9a": -1.0}
    vocabulary = [("<unk>", -30.0), *scores.items()]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(vocabulary, 0, False))
    if rng.random() < 0.5:
        tokenizer.normalizer = tokenizers.normalizers.NFC()
    whole = tokenizers.pre_tokenizers.Metaspace(split=False)
    if rng.random() < 0.7:
        split = tokenizers.pre_tokenizers.Punctuation()
        whole = tokenizers.pre_tokenizers.Sequence([split, whole])
    tokenizer.pre_tokenizer = whole
    tokens = rng.sample(["xx", "yx", "xyx", "Q Q", "uvu", "yu", "[M]", "x.x"], rng.randint(1, 3))
    for token in tokens:
        normalized, single = rng.random() < 0.5, rng.random() < 0.2
        tokenizer.add_tokens(
            [tokenizers.AddedToken(token, normalized=normalized, single_word=single)]
        )
    return tokenizer, tokens
