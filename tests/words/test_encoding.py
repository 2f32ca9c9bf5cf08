"""Encodings of WordPiece and Unigram against `tokenizers`, and slices against encoding them."""

import pickle
import random
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.conftest import short_or_long
from tests.texts import NAMED_TEXTS
from tests.words.configurations import CONFIGURATIONS
from tests.words.test_char_rules import AWKWARD
from tests.words.tokenizers_of import LETTERS, MODELS, both, tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

CASES = [(kind, name) for kind in MODELS for name in CONFIGURATIONS]


def ids(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return found


def random_text(rng: random.Random, most: int) -> str:
    letters = rng.choice((LETTERS, LETTERS[:12] + " ", "ab \u0301", AWKWARD, LETTERS + AWKWARD))
    return "".join(rng.choices(letters, k=rng.randint(0, most)))


@short_or_long("n_texts", 100, 300)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_ids_and_counts_are_those_of_tokenizers(
    kind: str, name: str, tmp_path: Path, n_texts: int
) -> None:
    rng = random.Random(f"{kind}{name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    texts = [random_text(rng, 40) for _ in range(n_texts)]
    texts += [text for text in NAMED_TEXTS.values() if text.isascii() or _is_unicode(text)]
    for text in texts:
        expected = ids(oracle, text)
        assert encoding.encode_ordinary(text) == expected, ascii(text)
        assert encoding.encode_to_numpy(text, disallowed_special=()).tolist() == expected
        assert encoding.count(text) == len(expected)
        assert encoding.count_till_limit(text, len(expected)) == len(expected)
        if expected:
            assert encoding.count_till_limit(text, len(expected) - 1) is None
    assert encoding.count_batch(texts).tolist() == [len(ids(oracle, text)) for text in texts]


@pytest.mark.parametrize("prefix", ["##", "#", "\u2581"])
@pytest.mark.parametrize("replacement", ["#", "\u2581"])
@pytest.mark.parametrize("scheme", ["always", "first", "never"])
def test_a_prefix_may_have_what_stands_for_a_blank(
    prefix: str, replacement: str, scheme: str
) -> None:
    pieces = ["[UNK]", "$", "a", "#", "b", "\u2581", "#a", "##"]
    vocab = {text: at for at, text in enumerate([*pieces, f"{prefix}a", f"{prefix}#", prefix])}
    model = tokenizers.models.WordPiece(
        vocab, unk_token="[UNK]", continuing_subword_prefix=prefix, max_input_chars_per_word=9
    )
    oracle = tokenizers.Tokenizer(model)
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(replacement, scheme)
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for text in map("".join, product("$a# \u2581", repeat=4)):
        assert encoding.encode_ordinary(text) == ids(oracle, text), text
        assert encoding.intervals(text).count(1, 4) == len(ids(oracle, text[1:]))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_words_of_long_texts_are_those_of_tokenizers(name: str, tmp_path: Path) -> None:
    # 64 characters are read at a time: words end, and images have many bytes, anywhere among them.
    rng = random.Random(name)
    oracle, encoding = both("WordPiece", name, rng, tmp_path)
    for letters in (f"{LETTERS[:12]} ", f"{LETTERS[:18]}     ", LETTERS, LETTERS + AWKWARD):
        for _ in range(25):
            text = "".join(rng.choices(letters, k=rng.randint(50, 400)))
            expected = ids(oracle, text)
            # Of a short word with many tokens, their number is known before they are.
            assert encoding.count(text) == len(expected), ascii(text)
            assert encoding.encode_ordinary(text) == expected, ascii(text)
            assert encoding.encode_ordinary(text) == expected, ascii(text)


@short_or_long("n_texts", 100, 300)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_offsets_are_those_of_tokenizers_where_characters_change_alone(
    kind: str, name: str, tmp_path: Path, n_texts: int
) -> None:
    rng = random.Random(f"{kind}{name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    char_map = encoding._pipeline.kernel.raw  # type: ignore[union-attr]
    compared = 0
    for _ in range(n_texts):
        text = random_text(rng, 20)
        expected = oracle.encode(text, add_special_tokens=False)
        found, spans = encoding.encode_with_offsets(text, disallowed_special=())
        assert found == expected.ids
        rows = list(map(tuple, spans.tolist()))
        assert all(0 <= start < end <= len(text) for start, end in rows)
        assert rows == sorted(rows)
        # Where characters vanish or merge, the package's own offsets shift: docs/words.md.
        apart = [oracle.normalizer.normalize_str(c) if _has(oracle) else c for c in text]
        is_simple = {*map(len, apart)} <= {1} and "  " not in "".join(apart)
        if is_simple and not char_map.is_entangled(text):
            assert rows == expected.offsets, ascii(text)
            compared += 1
    assert compared > 5


def _has(oracle: Any) -> bool:
    return oracle.normalizer is not None


@short_or_long("n_texts", 3, 8)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_slices_and_cuts_are_those_of_the_slices_encoded(
    kind: str, name: str, tmp_path: Path, n_texts: int
) -> None:
    rng = random.Random(f"{kind}{name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    for _ in range(n_texts):
        text = random_text(rng, 40)
        n = len(text)
        counts = {
            (start, end): len(ids(oracle, text[start:end]))
            for start in range(n + 1)
            for end in range(start, n + 1)
        }
        counter = encoding.intervals(text)
        assert counter.total == counts[0, n]
        spans = [*counts]
        assert [*counter.count_many(spans)] == [*counts.values()], ascii(text)
        for start, budget in {(rng.randint(0, n), rng.randint(0, 12)) for _ in range(40)}:
            best = max(end for end in range(start, n + 1) if counts[start, end] <= budget)
            assert counter.count(start, n) == counts[start, n]
            assert counter.split_at(start, budget) == best, (ascii(text), start, budget)
            assert encoding.split_at(text, budget, start) == best
        _check_chunks(encoding, text, counts)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_slices_that_begin_with_white_space_of_many_kinds(
    kind: str, name: str, tmp_path: Path
) -> None:
    """At the start of a slice it is cut off by some, though it is not inside of a text."""
    rng = random.Random(f"{kind}{name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    for _ in range(20):
        white = rng.choice(("  \n", " \xa0\n\u3000\x1c\u0301"))
        text = "".join(
            "".join(rng.choices("abc", k=rng.randint(1, 3)))
            + "".join(rng.choices(white, k=rng.randint(1, 4)))
            for _ in range(3)
        )
        n = len(text)
        spans = [(start, end) for end in range(n + 1) for start in range(end + 1)]
        counts = [len(ids(oracle, text[start:end])) for start, end in spans]
        counter = encoding.intervals(text)
        assert [*counter.count_many(spans)] == counts, ascii(text)
        known = dict(zip(spans, counts, strict=True))
        for start in range(n + 1):
            for budget in range(4):
                best = max(end for end in range(start, n + 1) if known[start, end] <= budget)
                assert counter.split_at(start, budget) == best, (ascii(text), start, budget)


@short_or_long("n_texts", 2, 6)
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_slices_and_cuts_of_long_words_beside_awkward_characters(
    kind: str, name: str, tmp_path: Path, n_texts: int
) -> None:
    """Unigram has starts in words of more than 64 bytes, and a character may end them."""
    rng = random.Random(f"{kind}{name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    several = "\ufdfa\ufdfb\u2017\ufe70\xbd\u3392\u2026 "  # mostly become several words
    for round_ in range(n_texts):
        awkward = several if round_ % 2 else LETTERS + AWKWARD
        parts = ["".join(rng.choices("abcde\xe9", k=rng.randint(30, 90))) for _ in range(3)]
        text = "".join(part + "".join(rng.choices(awkward, k=rng.randint(1, 4))) for part in parts)
        n = len(text)
        counter = encoding.intervals(text)
        near = [at for at in range(n + 1) if not text[max(at - 3, 0) : at + 3].isascii()]
        for start in rng.sample(range(n + 1), 6):
            ends = [*rng.sample(near, min(20, len(near))), n]
            spans = [(start, end) for end in ends if end >= start]
            counts = [len(ids(oracle, text[start:end])) for start, end in spans]
            assert [*counter.count_many(spans)] == counts, ascii(text)
            for (_, end), budget in zip(spans[:4], counts, strict=False):
                best = counter.split_at(start, budget)
                assert best >= end, (ascii(text), start, budget)
                assert len(ids(oracle, text[start:best])) <= budget
                after = range(best + 1, min(n, best + 20) + 1)
                assert all(len(ids(oracle, text[start:one])) > budget for one in after)


@pytest.mark.parametrize("kind", MODELS)
def test_a_slice_is_not_stripped_where_it_is_cut_into_parts(kind: str, tmp_path: Path) -> None:
    rng = random.Random(5)
    oracle, encoding = both(kind, "stripped, with white space in words", rng, tmp_path)
    text = (
        ",$\u0916'\u094dA\u25815\ufe0f,\u0600\u05b7e\u302e\u0915\xc9\xb2\u0302\x1c\uac00\U0001f600,\u0916'"
        "\u0627\u0653\ufe0fa\u1b44\u0338\u094d\u0130\u0344\u09bea\u200b \xa0\x85\u1d2e)\u09bea"
    )
    counter = encoding.intervals(text)
    for start in range(len(text) + 1):
        for end in range(start, len(text) + 1):
            assert counter.count(start, end) == len(ids(oracle, text[start:end]))


def _check_chunks(
    encoding: cutline.Encoding, text: str, counts: dict[tuple[int, int], int]
) -> None:
    for size, overlap in ((40, 0), (9, 0), (12, 4)):
        try:
            chunks = encoding.split(text, size, overlap)
        except cutline.BudgetError:
            continue
        for chunk in chunks:
            assert chunk.text == text[chunk.start_index : chunk.end_index]
            assert chunk.token_count == counts[chunk.start_index, chunk.end_index] <= size
        if not overlap:
            assert "".join(chunk.text for chunk in chunks) == text


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_growing_texts_are_counted_as_if_encoded(kind: str, name: str, tmp_path: Path) -> None:
    rng = random.Random(f"{kind}{name}")
    oracle, encoding = both(kind, name, rng, tmp_path)
    for _ in range(10):
        appender, prepender = encoding.appender(), encoding.prepender()
        for _ in range(6):
            part = random_text(rng, 12)
            budget = rng.randint(0, 30)
            assert appender.fits(part, budget) == (len(ids(oracle, appender.text + part)) <= budget)
            appender.append(part)
            prepender.prepend(part)
            if rng.random() < 0.2:
                appender.truncate(rng.randint(0, appender.text_length))
                prepender.truncate(rng.randint(0, prepender.text_length))
            assert appender.count == len(ids(oracle, appender.text)), ascii(appender.text)
            assert prepender.count == len(ids(oracle, prepender.text)), ascii(prepender.text)


@pytest.mark.parametrize("kind", MODELS)
def test_pickles_and_decoding(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    oracle, encoding = both(kind, "bert cased", rng, tmp_path)
    again = pickle.loads(pickle.dumps(encoding))
    assert again.content_hash == encoding.content_hash
    assert again.encode("abc dea") == encoding.encode("abc dea") == ids(oracle, "abc dea")
    assert encoding.n_vocab == oracle.get_vocab_size()
    for text, number in oracle.get_vocab().items():
        assert encoding.encode_single_token(text) == number


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)


@pytest.mark.parametrize("seed", range(20))
def test_slices_of_long_words_with_unknown_characters(seed: int) -> None:
    rng = random.Random(seed)
    tokens = {"".join(rng.choices("abcxyz", k=rng.randint(1, 4))) for _ in range(30)}
    tokens -= {*rng.sample("abcxyz", 2)}
    rows = [("<unk>", 0.0), *((one, -rng.uniform(1, 6)) for one in ["\u2581", *sorted(tokens)])]
    with_bytes = bool(seed % 2)
    if with_bytes:
        rows += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0, with_bytes))
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    encoding = cutline.Encoding.from_tokenizers(oracle)
    text = "".join(rng.choices("abcxyz", k=200))
    counter = encoding.intervals(text)
    starts = [rng.randint(0, 199) for _ in range(4)]
    for start in starts:
        counts = {end: len(ids(oracle, text[start:end])) for end in range(start, 201)}
        assert {end: counter.count(start, end) for end in counts} == counts
        for budget in range(0, counts[200] + 1, 3):
            best = max(end for end, count in counts.items() if count <= budget)
            assert counter.split_at(start, budget) == best, (start, budget)


@pytest.mark.parametrize("kind", MODELS)
def test_spans_of_words_met_before_are_those_of_new_ones(kind: str) -> None:
    rng = random.Random(f"met{kind}")
    tokenizer = tokenizer_of(kind, "nothing, at white space", rng)
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    # With tokens that are written like those of bytes and of what is unknown, and unknown words.
    names = ["<0x41>", "<unk>", "[UNK]", "##a", "\u4e2d", "\U0001f600", "z", "Z" * 9, "A"]
    words = ["".join(rng.choices([*"abcde5", *names], k=rng.randint(1, 7))) for _ in range(60)]
    for _ in range(60):
        text = " ".join(rng.choices(words, k=rng.randint(1, 90)))
        ids, spans = encoding.encode_with_offsets(text)
        found = tokenizer.encode(text, add_special_tokens=False)
        assert (ids, [*map(tuple, spans.tolist())]) == (found.ids, found.offsets), text
        again = encoding.encode_with_offsets(text)
        assert (again[0], again[1].tolist()) == (ids, spans.tolist())


def test_bytes_of_unknown_characters_are_written_once() -> None:
    rows = [("<unk>", 0.0), ("\u2581", -2.0), ("\u00e9\u00e8", -3.0)]
    rows += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0, True))
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    encoding = cutline.Encoding.from_tokenizers(oracle)
    text = "\U0001f600" * 100_000
    assert encoding.count(text) == len(encoding.encode(text)) == 400_001
    counts = [len(ids(oracle, text[:end])) for end in range(30)]
    counter = encoding.intervals(text[:30])
    assert [counter.count(0, end) for end in range(30)] == counts
    for budget in range(100):
        best = max(end for end, count in enumerate(counts) if count <= budget)
        assert encoding.split_at(text[:29], budget) == best


@pytest.mark.parametrize("seed", range(8))
def test_cuts_in_words_without_joints(seed: int) -> None:
    """Ties of scores, and tokens that lie across each boundary: ends are found in windows."""
    rng = random.Random(seed)
    letters = "abcxyz\U0001f600"
    tokens = {"".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(20)}
    tokens -= {*rng.sample(letters, 2)}
    rows = [("<unk>", 0.0), ("\u2581", -2.0)]
    rows += [(one, rng.choice((-1.5, -3.0, 0.0))) for one in sorted(tokens)]
    with_bytes = bool(seed % 2)
    if with_bytes:
        rows += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0, with_bytes))
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    encoding = cutline.Encoding.from_tokenizers(oracle)
    text = "".join(rng.choices(letters[: rng.choice((1, 2, 7))], k=6000))
    counter = encoding.intervals(text)
    for budget in (0, 1, 5, 100, 10**9):
        start = rng.randint(0, 1500)
        end = counter.split_at(start, budget)
        assert len(ids(oracle, text[start:end])) <= budget
        others = [*range(end + 1, min(end + 8, 6001)), 6000]
        for other in others if end < 6000 else []:
            assert len(ids(oracle, text[start:other])) > budget, (start, budget, end, other)


@pytest.mark.parametrize("seed", range(20))
def test_cuts_in_long_words_of_wordpiece(seed: int, tmp_path: Path) -> None:
    """Prefixes are counted from the word's tokens; some are unknown, or all from a place on."""
    rng = random.Random(seed)
    letters = "abé日"
    tokens = ["".join(rng.choices(letters, k=rng.randint(1, 6))) for _ in range(40)]
    inner = ["".join(rng.choices(letters, k=rng.randint(1, 6))) for _ in range(40)]
    written = [
        "[UNK]",
        *tokens,
        *letters[:3],
        *(f"##{one}" for one in [*inner, *letters[: 2 + seed % 3]]),
    ]
    vocab = {text: number for number, text in enumerate(dict.fromkeys(written))}
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            vocab=vocab, unk_token="[UNK]", max_input_chars_per_word=rng.choice([30, 10**9])
        )
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.save(str(tmp_path / "tokenizer.json"))
    encoding = cutline.load(tmp_path / "tokenizer.json")
    for _ in range(20):
        text = "".join(rng.choices(f"{letters}{' ' * (seed % 2)}", k=rng.randint(1, 80)))
        counter = encoding.intervals(text)
        start = rng.randint(0, len(text))
        ends = range(start, len(text) + 1)
        counts = [len(made.encode(text[start:end]).ids) for end in ends]
        assert [counter.count(start, end) for end in ends] == counts
        for budget in range(12):
            fits = [end for end, count in zip(ends, counts, strict=True) if count <= budget]
            assert counter.split_at(start, budget) == fits[-1], (text, start, budget)


@pytest.mark.parametrize("name", ["t5", "metaspace first", "deberta", "xlm-r"])
def test_added_tokens_are_found_in_normalized_text(name: str, tmp_path: Path) -> None:
    tokenizer = tokenizer_of("Unigram", name, random.Random(name))
    tokenizer.add_tokens([tokenizers.AddedToken("<x>", normalized=True)])
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_str(), encoding="utf-8")
    oracle, encoding = tokenizers.Tokenizer.from_file(str(path)), cutline.load(path)
    for text in ("ab <x>", "ab  <x>ab", "<x>ab <x> a", " <x> ", "a<x> <x>  b ", "e\u0301 <x>a"):
        expected = ids(oracle, text)
        assert encoding.encode(text) == expected, ascii(text)
        assert encoding.encode_with_offsets(text)[0] == expected
        assert encoding.count(text) == len(expected)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", [*CONFIGURATIONS][::5])
def test_chunks_are_those_that_a_search_without_the_kernel_finds(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"{kind} {name}")
    _, encoding = both(kind, name, rng, tmp_path)

    def chunks(text: str, size: int, min_fill: float) -> object:
        try:
            return cutline.TextChunker(encoding, size, min_fill=min_fill).chunk(text)
        except cutline.BudgetError as error:
            return str(error)

    for _ in range(40):
        text = "\n\n".join(random_text(rng, 60) + " ab c. " for _ in range(rng.randint(1, 6)))
        size, min_fill = rng.choice((1, 3, 10, 40, 1 << 61)), rng.choice((0.0, 0.5, 1.0))
        found = chunks(text, size, min_fill)
        with monkeypatch.context() as patch:
            patch.setattr("cutline.chunking.chunk_finder.cuts_at_breaks", lambda _: False)
            assert found == chunks(text, size, min_fill)


@pytest.mark.parametrize("behavior", ["isolated", "removed", "merged_with_next"])
def test_a_character_may_become_many_words(behavior: str) -> None:
    # U+FDFA becomes 18 characters.
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            {"[UNK]": 0, "ا": 1, "ل": 2, "x": 3, "##ل": 4}, unk_token="[UNK]"
        )
    )
    tokenizer.normalizer = tokenizers.normalizers.NFKC()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.WhitespaceSplit(),
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\p{L}"), behavior),
        ]
    )
    encoding = cutline.Encoding.from_tokenizers(tokenizer, "t")
    for text in ("x \ufdfb", "\ufdfa" * 40, "x" * 63 + "\ufdfa\ufdfa"):
        assert encoding.encode(text) == tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("n_classes", range(5, 8))
def test_classes_of_runs_beside_one_of_single_characters(n_classes: int) -> None:
    """With seven there are as many groups as can be; their numbers share a byte with others."""
    tokens = ["[UNK]", *"abcdefgh-", *(f"##{one}" for one in "abcdefgh-")]
    vocab = {token: number for number, token in enumerate(tokens)}
    oracle = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
    pre = tokenizers.pre_tokenizers
    runs = [tokenizers.Regex(f"[a-{last}]") for last in "abcdefg"[:n_classes]]
    oracle.pre_tokenizer = pre.Sequence(
        [pre.Split("-", "isolated"), *(pre.Split(one, "contiguous") for one in runs)]
    )
    encoding = cutline.Encoding.from_tokenizers(oracle)
    rng = random.Random(n_classes)
    for _ in range(200):
        text = "".join(rng.choices("aaabcdefgh--", k=rng.randint(0, 12)))
        assert encoding.encode_ordinary(text) == ids(oracle, text), text


def test_of_paths_with_equal_sums_the_first_stays() -> None:
    """A token that begins earlier comes first, also before an unknown character of its own."""
    rows = [("<unk>", 0.0), ("a", 10.0), ("az", -5.0), ("b", -1.0), ("c", -1.0), ("bc", -2.0)]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for text in ("az", "bc", "azbc", "aazz bcbc", "zazcbca"):
        assert encoding.encode_ordinary(text) == ids(oracle, text), text
    assert encoding.encode_ordinary("az") == [2]  # "a" and "z", which is unknown: 10 - 15


@pytest.mark.parametrize("seed", range(40))
def test_new_words_of_wordpiece_are_counted_as_they_are_encoded(seed: int) -> None:
    """Words that were not met are matched side by side: short, long, unknown, twice in a batch."""
    rng = random.Random(seed)
    letters = rng.choice(["ab", "abcé", "ab\u0928\u093e日本", "aж\U0001f600\U00020000b"])
    spelled = [
        "".join(rng.choices(letters, k=rng.randint(1, 7))) for _ in range(rng.choice([3, 300]))
    ]
    begins = [*spelled[::2], *letters[:-1]]
    inner = [*spelled[1::2], *letters[: seed % 3 + 1]]
    prefix = rng.choice(["##", "##", "a", ""])
    written = dict.fromkeys(["<unk>", *begins, *(prefix + one for one in inner)])
    numbers = rng.sample(range(5 * len(written)), len(written))
    oracle = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            dict(zip(written, numbers, strict=True)),
            unk_token="<unk>",
            continuing_subword_prefix=prefix,
        )
    )
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    for n_words in (1, 5, 130, 400):
        few = [
            "".join(rng.choices(letters, k=rng.choice([1, 3, 5, 20, 70]))) for _ in range(n_words)
        ]
        text = " ".join(rng.choices(few, k=2 * n_words))
        encoding = cutline.Encoding.from_tokenizers(oracle)
        want = ids(oracle, text)
        assert encoding.count(text) == len(want)
        assert encoding.encode_ordinary(text) == want, "what was counted is kept"
        assert encoding.count(text) == len(want)
        counter, ends = encoding.intervals(text), [len(text) // 3, len(text) // 2]
        assert [counter.count(0, end) for end in ends] == [
            len(ids(oracle, text[:end])) for end in ends
        ]


@pytest.mark.parametrize("seed", range(20))
def test_children_whose_labels_share_a_bit(seed: int) -> None:
    """Hundreds of children of a node: each of its 64 bits stands for several, and for others."""
    rng = random.Random(seed)
    letters = [chr(one) for one in rng.sample(range(0x4E00, 0x9FFF), 300)]
    tokens = [f"{letters[0]}{one}" for one in letters[::2]]
    tokens += [f"{letters[0]}{one}{two}" for one, two in pairwise(letters)]
    rows = [("<unk>", 0.0), *((one, -rng.uniform(1, 9)) for one in dict.fromkeys(tokens))]
    rows += [(one, -rng.uniform(4, 9)) for one in letters if rng.random() < 0.9]
    oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for _ in range(20):
        text = "".join(rng.choices([letters[0], *letters[:40], *letters], k=200))
        assert encoding.encode_ordinary(text) == ids(oracle, text)


@pytest.mark.parametrize("seed", range(60))
def test_tokens_that_begin_alike_are_told_apart(seed: int) -> None:
    """Characters that share bytes, zeros, blanks among others, and more in common than 8 bytes."""
    rng = random.Random(seed)
    letters = "\0\x01ab\x7f\x80éè\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
    some = [*rng.sample(letters, rng.randint(1, 6)), "▁"]
    stems = ["", "", "".join(rng.choices(some, k=rng.randint(2, 12)))]
    made = {rng.choice(stems) + "".join(rng.choices(some, k=rng.randint(1, 5))) for _ in range(80)}
    tokens = sorted(made - {"<unk>"}, key=lambda one: rng.random())
    if seed % 2:
        rows = [("<unk>", 0.0), *((one, -rng.uniform(1, 9)) for one in tokens)]
        oracle = tokenizers.Tokenizer(tokenizers.models.Unigram(rows, 0))
        oracle.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    else:
        places = [
            "<unk>",
            *tokens,
            *(f"##{one}" for one in tokens[::2]),
            *(f"##{one}" for one in some),
        ]
        model = {one: place for place, one in enumerate(dict.fromkeys(places))}
        oracle = tokenizers.Tokenizer(tokenizers.models.WordPiece(model, unk_token="<unk>"))
        oracle.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    encoding = cutline.Encoding.from_tokenizers(oracle)
    for _ in range(40):
        parts = [*some, *rng.sample(tokens, min(9, len(tokens))), " "]
        text = "".join(rng.choices(parts, k=rng.randint(0, 30)))
        assert encoding.encode_ordinary(text) == ids(oracle, text), text
