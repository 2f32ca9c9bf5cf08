"""`IntervalCounter` against tiktoken: every slice encoded on its own, every cut tried."""

import random
from collections.abc import Iterable, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.counting.intervals import IntervalCounter
from tests.conftest import exhaustive, short_or_long
from tests.oracles import (
    DISTINCT,
    PACKAGED,
    Count,
    Renumbered,
    counter,
    longest_fit,
    longest_token_bytes,
    with_count,
)
from tests.texts import (
    COUNTING_CASES,
    FAMILY,
    FLAG,
    HANDSHAKE,
    NAMED_TEXTS,
    PEER_BREAKERS,
    base64_text,
    lookahead_texts,
    random_texts,
    run_length_text,
    word_text,
)
from tests.vocabularies import SCANS, TOY_TOKENS, random_ranks, token_text, with_bytes

Spans = Sequence[tuple[int, int]]

# What a scan from inside meets wrongly or late, and what encodes to more tokens than characters.
NASTY: tuple[str, ...] = (
    *("\u0301", "\u0308", "\u0903", "e\u0301", "Z\u0351\u036b"),
    *(FAMILY, HANDSHAKE, FLAG, "\u200d", "\ufe0f", "1\ufe0f\u20e3", "😀"),
    *("日", "本語", "한", "。", "𠮷", "𓀀"),
    *("ש", "בְּ", "مر", "\u200f", "٣"),
    *("\x00", "\x1b", "\x85", "\x7f", "\ufeff"),
    *(" ", "  ", " " * 9, "\t", "\u3000", "\u00a0", "\n", "\r\n", "\n\n", "\n ", " \n"),
    *("'s", "'ll", "'LL", "'", "’s", "don't", "'ſ"),
    *("1", "12", "1234", "²", "Ⅷ"),
    *("a", "A", "aB", "Ab", "ABc", "the", " The", "ß", "ǅ", "é", "İ"),
    *("/", "//", "!", "!!", "=", "--", "_", "."),
)


def nasty_text(rng: random.Random, max_items: int = 9) -> str:
    """Some items, seldom one of them many times."""
    items = rng.choices(NASTY, k=rng.randint(1, max_items))
    if rng.random() < 0.1:
        items.insert(0, rng.choice(NASTY) * rng.choice((16, 70)))
    return "".join(items)


def all_spans(n: int) -> list[tuple[int, int]]:
    return [(start, end) for start in range(n + 1) for end in range(start, n + 1)]


def some_spans(rng: random.Random, n: int, k: int, longest: int) -> list[tuple[int, int]]:
    """Short slices mostly; every tenth or so may have any length up to the longest."""
    starts = [rng.randrange(n + 1) for _ in range(k)]
    tops = (min(64, longest),) * 8 + (min(1_000, longest), longest)
    return [(start, min(n, start + int(rng.choice(tops) ** rng.random()))) for start in starts]


def spans_of(rng: random.Random, text: str) -> list[tuple[int, int]]:
    """All slices of a short text, and a sample of a longer one."""
    return all_spans(len(text)) if len(text) <= 40 else some_spans(rng, len(text), 300, len(text))


def assert_counts(intervals: IntervalCounter, count: Count, text: str, spans: Spans) -> None:
    """Slices count as their text does on its own, together and one by one."""
    got = intervals.count_many(spans).tolist()
    for (start, end), tokens in zip(spans, got, strict=True):
        want = count(text[start:end])
        assert (text, start, end, tokens) == (text, start, end, want)
    for start, end in spans[:: max(1, len(spans) // 20)]:
        assert intervals.count(start, end) == count(text[start:end])
    assert intervals.total == intervals.count(0, len(text))


def assert_every_text(name: str, texts: Iterable[str]) -> None:
    encoding, count, rng = cutline.get_encoding(name), counter(name), random.Random(1)
    for text in texts:
        assert_counts(encoding.intervals(text), count, text, spans_of(rng, text))


# Counts


@pytest.mark.parametrize("name", DISTINCT)
def test_every_slice_of_named_texts_counts_as_on_its_own(name: str) -> None:
    assert_every_text(name, NAMED_TEXTS.values())


@pytest.mark.parametrize("name", DISTINCT)
def test_every_slice_of_random_texts_counts_as_on_its_own(name: str) -> None:
    assert_every_text(name, [*random_texts(7, 120), *list(lookahead_texts())[::5]])


@short_or_long("n_texts", 200, 10_000)
@pytest.mark.parametrize("name", DISTINCT)
def test_every_slice_of_nasty_texts_counts_as_on_its_own(name: str, n_texts: int) -> None:
    rng = random.Random(8)
    assert_every_text(name, [nasty_text(rng) for _ in range(n_texts)])


@pytest.mark.parametrize("name", DISTINCT)
def test_slices_of_runs_count_as_on_their_own(name: str) -> None:
    rng = random.Random(10)
    assert_every_text(name, [run_length_text(rng, 1_500) for _ in range(12)])


@pytest.mark.parametrize(
    ("name", "most", "n_spans"),
    [
        *product(DISTINCT, (200_000,), (1_000,)),
        *(exhaustive(name, None, 80_000) for name in PACKAGED),
    ],
)
def test_slices_of_corpora_count_as_on_their_own(
    name: str, most: int | None, n_spans: int, corpus: str
) -> None:
    rng, text = random.Random(11), corpus[:most]
    intervals = cutline.get_encoding(name).intervals(text)
    assert intervals.total == counter(name)(text)
    assert_counts(intervals, counter(name), text, some_spans(rng, len(text), n_spans, 10_000))


@settings(max_examples=150)
@given(st.text(max_size=24), st.sampled_from(DISTINCT))
def test_any_text_counts_in_every_slice(text: str, name: str) -> None:
    encoding = cutline.get_encoding(name)
    assert_counts(encoding.intervals(text), counter(name), text, all_spans(len(text)))


# Encoding, text, and what its prefixes of some lengths count. From the search for counter-examples.
PREFIX_COUNTS: tuple[tuple[str, str, dict[int, int]], ...] = (
    ("cl100k_base", "!\n x", {2: 1, 3: 2, 4: 2}),
    ("o200k_base", " I've", {1: 1, 2: 1, 3: 2, 4: 3, 5: 1}),
    ("o200k_base", "don't", {1: 1, 2: 1, 3: 1, 4: 2, 5: 1}),
    ("cl100k_base", "\n \n", {1: 1, 2: 2, 3: 1}),
    ("o200k_base", "\n \n", {1: 1, 2: 2, 3: 1}),
    ("cl100k_base", "jwt", {1: 1, 2: 2, 3: 1}),
    ("cl100k_base", "xhr", {1: 1, 2: 2, 3: 1}),
    ("r50k_base", "cgi", {1: 1, 2: 2, 3: 1}),
    ("r50k_base", "!--", {1: 1, 2: 2, 3: 1}),
    ("r50k_base", "'ll", {1: 1, 2: 2, 3: 1}),
    ("o200k_base", " plötzlich", {9: 4, 10: 1}),
    ("cl100k_base", " informações", {11: 5, 12: 1}),
    ("cl100k_base", " QHBoxLayoutr", {12: 1, 13: 7}),
    ("o200k_base", " Pennsylvaniar", {13: 1, 14: 6}),
    ("o200k_base", "-" * 112, {16: 1, 17: 2, 112: 1}),
    ("o200k_base", " " * 128, {79: 1, 80: 2, 128: 1}),
    ("r50k_base", "=" * 192, {52: 3, 53: 4, 191: 6, 192: 3}),
)


@pytest.mark.parametrize(("name", "text", "counts"), PREFIX_COUNTS)
def test_counts_that_rise_and_fall(name: str, text: str, counts: dict[int, int]) -> None:
    encoding, count, rng = cutline.get_encoding(name), counter(name), random.Random(24)
    for before in ("", "x", ")\n", "日"):
        whole = before + text + "\nz"
        intervals, start = encoding.intervals(whole), len(before)
        for length, tokens in counts.items():
            assert count(text[:length]) == tokens
            assert intervals.count(start, start + length) == tokens
        assert_counts(intervals, count, whole, spans_of(rng, whole))


def test_left_pieces_must_be_valid_for_the_slice() -> None:
    # Here a newline followed by a blank is a token: pieces that are cut wrongly count wrongly.
    ranks = with_bytes((b"\n ",))
    encoding, count = with_count(ranks, cutline.get_encoding("cl100k_base")._pat_str)
    for text in ("!\n x", ":\n     x", "a\n \n  b\n\n c"):
        assert_counts(encoding.intervals(text), count, text, all_spans(len(text)))
    assert encoding.intervals("!\n x").count(1, 3) == 1


@pytest.mark.parametrize(
    ("name", "cycle", "start"),
    [("cl100k_base", "1", 1), ("cl100k_base", "1", 2), ("o200k_base", "'s", 2)],
)
def test_scans_that_never_meet_count_as_on_their_own(name: str, cycle: str, start: int) -> None:
    text, count = "a" + cycle * 1_500, counter(name)
    intervals = cutline.get_encoding(name).intervals(text)
    for end in (*range(start + 1, 200), *range(len(text) - 20, len(text) + 1)):
        assert intervals.count(start + 1, end) == count(text[start + 1 : end])


@pytest.mark.parametrize(
    "text", ["日" + "A" * 10_000 + last for last in ("b", "", ".", "日", "'s")]
)
def test_a_decision_that_looks_far_is_made_for_the_slice(text: str) -> None:
    intervals = cutline.get_encoding("o200k_base").intervals(text)
    count, rng = counter("o200k_base"), random.Random(13)
    ends = (1, 2, 64, 65, 66, 128, 129, 300, 10_000, 10_001, len(text))
    spans = [(start, end) for start in (0, 1, 2, 63, 64, 65, 130) for end in ends if end >= start]
    assert_counts(intervals, count, text, [*spans, *some_spans(rng, len(text), 50, 3_000)])


@pytest.mark.parametrize("pat_str", SCANS)
@pytest.mark.parametrize("tokens", TOY_TOKENS.values(), ids=TOY_TOKENS)
def test_every_slice_counts_with_toys(tokens: tuple[bytes, ...], pat_str: str | None) -> None:
    encoding, count = with_count(with_bytes(tokens), pat_str)
    rng = random.Random(14)
    letters = "abc" + rng.choice((" ", "d", "日")) + b"".join(tokens).decode("utf-8", "ignore")
    texts = ["abbabbbb", "bcabcaabc", "aabc", "bcab", "".join(rng.choices(letters, k=26))]
    for text in [*texts, "a" * 90, "a" * 75 + "bc" + "ab" * 40, "".join(rng.choices("ab", k=150))]:
        assert_counts(encoding.intervals(text), count, text, spans_of(rng, text))


def test_toys_that_break_the_rules_count_as_known() -> None:
    cases = (
        ((b"ac", b"bca"), "bcabca", {(0, 3): 1, (0, 4): 4, (3, 6): 1, (1, 5): 4}),
        ((b"abc", b"bc"), "aabcab", {(0, 4): 2, (1, 4): 1, (2, 4): 1, (0, 3): 3}),
        ((b"bb", b"bbb"), "abbabbbb", {(5, 8): 1, (4, 8): 2, (0, 8): 5, (1, 8): 4}),
    )
    for tokens, text, counts in cases:
        encoding, count = with_count(with_bytes(tokens), None)
        intervals = encoding.intervals(text)
        for (start, end), tokens_there in counts.items():
            assert count(text[start:end]) == intervals.count(start, end) == tokens_there


def random_case(rng: random.Random) -> tuple[cutline.Encoding, Count, str]:
    """A random vocabulary, a pattern, and a text that is hard for them."""
    letters = rng.choice(("a", "ab", "abc", "abc \n", "aé", "日a ", "😀\u200d a", "ab1"))
    ranks = random_ranks(rng, letters.encode())
    encoding, count = with_count(ranks, rng.choice(SCANS))
    if rng.random() < 0.3:
        text = token_text(rng, ranks, 12).decode("utf-8", "ignore")
    else:
        repeats = (1, 1, 1, 2, 3, rng.choice((1, 80)))
        parts = (rng.choice(letters) * rng.choice(repeats) for _ in range(rng.randrange(40)))
        text = "".join(parts)
    return encoding, count, text[:700]


@short_or_long("n_cases", 150, 10_000)
def test_slices_and_cuts_with_any_vocabulary_and_pattern(n_cases: int) -> None:
    rng = random.Random(15)
    for _ in range(n_cases):
        encoding, count, text = random_case(rng)
        assert_counts(encoding.intervals(text), count, text, spans_of(rng, text))
        assert_cuts(encoding, count, text[:60], range(0, min(len(text), 60) + 1, 4), range(7))


@short_or_long("n_grown", 5, 100)
def test_slices_count_where_token_trees_are_grown(n_grown: int) -> None:
    rng, grown = random.Random(16), 0
    while grown < n_grown:
        letters = rng.choice(("ab", "abc", "abcd ", "ab\n", "aé", "日a ")).encode()
        ranks = random_ranks(rng, letters)
        encoding, count = with_count(ranks, None)
        text = token_text(rng, ranks, 300).decode("utf-8", "ignore")[:900]
        intervals, spans = encoding.intervals(text), some_spans(rng, len(text), 300, 400)
        before = intervals.nbytes
        # A tree is grown once its piece was encoded so many times for want of it.
        intervals.count_many(spans * 20)
        if intervals.nbytes > before:
            grown += 1
            assert_counts(intervals, count, text, spans)


# Cuts


def assert_cuts(
    encoding: cutline.Encoding,
    count: Count,
    text: str,
    starts: Iterable[int],
    budgets: Sequence[int],
) -> None:
    """Each cut, by slices and by the encoding, is the greatest end that fits, all of them tried."""
    intervals = encoding.intervals(text)
    for start in starts:
        counts = [count(text[start:end]) for end in range(start, len(text) + 1)]
        for n in budgets:
            want = start + max(at for at, tokens in enumerate(counts) if tokens <= n)
            assert (text, start, n, intervals.split_at(start, n)) == (text, start, n, want)
            assert (text, start, n, encoding.split_at(text, n, start)) == (text, start, n, want)


# Encoding, text, budget, the first length that exceeds it, the greatest that fits: found in
# words of prose, code and documentation in many languages, and in runs.
FALLING: tuple[tuple[str, str, int, int, int], ...] = (
    ("cl100k_base", " результат", 1, 3, 10),
    ("cl100k_base", " LIABILITY,", 1, 4, 10),
    ("cl100k_base", "\nJavaScript", 2, 4, 11),
    ("cl100k_base", " OSErrors.", 1, 4, 8),
    ("cl100k_base", " informações,", 1, 6, 12),
    ("cl100k_base", " 'Mismatch", 2, 6, 10),
    ("cl100k_base", ' "application/x-www-form-urlencoded"', 6, 27, 35),
    ("cl100k_base", "a plausible ", 2, 6, 11),
    ("o200k_base", " Обычно", 1, 4, 7),
    ("o200k_base", " で提供されています。", 4, 7, 10),
    ("o200k_base", "\n\nL'ensemble", 3, 7, 12),
    ("o200k_base", " olacaktır", 1, 5, 10),
    ("o200k_base", " righteously", 1, 5, 10),
    ("o200k_base", " 설계되었습니다.", 3, 5, 8),
    ("o200k_base", " d’ensemble", 2, 6, 11),
    ("o200k_base", " Hintergrundinformationen", 2, 11, 25),
    ("o200k_base", ' b"abcdefghijklmnopqrstuvwxyz0123456789"', 3, 8, 29),
    ("o200k_base", "/" * 144, 2, 21, 144),
    ("o200k_base", "#" * 144, 2, 23, 144),
    ("o200k_base", "*" * 96, 1, 9, 96),
    ("o200k_base", "+" * 224, 3, 29, 96),
    ("o200k_base", "─" * 112, 3, 15, 48),
    ("o200k_base", "=-" * 56, 3, 15, 48),
    ("p50k_base", " Einstein", 1, 3, 9),
    ("p50k_base", " (December", 2, 6, 10),
    ("p50k_base", " Absolutely", 1, 5, 11),
    ("p50k_base", "." * 256, 2, 42, 128),
    ("p50k_base", "_" * 256, 2, 41, 128),
    ("p50k_base", " SearchDialog(SearchDialogBase):", 5, 19, 26),
    ("r50k_base", " unchecked", 1, 6, 10),
    ("r50k_base", ' r"Software\\Microsoft\\Microsoft', 3, 6, 11),
    ("r50k_base", " " + "=" * 34, 1, 5, 34),
    ("r50k_base", "-=" * 56, 4, 16, 49),
    ("r50k_base", "\u00a0" * 112, 2, 13, 32),
    ("r50k_base", "o" * 112, 2, 13, 32),
    ("r50k_base", "=" * 192, 3, 53, 192),
    ("o200k_base", " plötzlich", 1, 4, 10),
    ("cl100k_base", " informações", 1, 6, 12),
    ("cl100k_base", "jwt", 1, 2, 3),
    ("r50k_base", "'ll", 1, 2, 3),
    ("o200k_base", "-" * 112, 1, 17, 112),
    ("o200k_base", " " * 128, 1, 80, 128),
    ("o200k_base", "\n \n", 1, 2, 3),
    ("o200k_base", "don't", 1, 4, 5),
    ("o200k_base", " I've", 1, 3, 5),
)


@pytest.mark.parametrize(("name", "text", "n", "first", "last"), FALLING)
def test_a_longer_slice_with_fewer_tokens_is_found(
    name: str, text: str, n: int, first: int, last: int
) -> None:
    encoding, count = cutline.get_encoding(name), counter(name)
    assert count(text[: first - 1]) <= n < count(text[:first])
    for before in ("", "x ", "(\n", "日"):
        whole = before + text
        assert encoding.intervals(whole).split_at(len(before), n) == len(before) + last
        assert encoding.split_at(whole, n, len(before)) == len(before) + last
        assert_cuts(encoding, count, whole, (0, len(before), len(before) + 1), range(9))


@short_or_long("n_texts", 60, 1_500)
@pytest.mark.parametrize("name", DISTINCT)
def test_split_at_is_the_greatest_cut_from_every_start(name: str, n_texts: int) -> None:
    encoding, count, rng = cutline.get_encoding(name), counter(name), random.Random(16)
    nasty = [nasty_text(rng) for _ in range(n_texts)]
    texts = [*COUNTING_CASES.values(), *PEER_BREAKERS.values(), *nasty, *random_texts(17, n_texts)]
    texts += list(lookahead_texts())[:: 7 if n_texts == 60 else 1]
    for text in (text[:45] for text in texts):
        assert_cuts(encoding, count, text, range(len(text) + 1), (0, 1, 2, 3, 4, 6, 9))


def assert_same_cuts(name: str, text: str, rng: random.Random, n_cuts: int) -> None:
    encoding, count, longest = cutline.get_encoding(name), counter(name), longest_token_bytes(name)
    intervals = encoding.intervals(text)
    for at in range(n_cuts):
        start, n = rng.randrange(len(text)), rng.choice((1, 2, 3, 4, 5, 8, 16, 64, 500))
        end = intervals.split_at(start, n)
        assert (start, n, end) == (start, n, encoding.split_at(text, n, start))
        assert intervals.count(start, end) <= n
        if n <= 3 and at % 10 == 0:
            window = text[start : start + 150]
            assert end - start >= (longest_fit(count, window, n, 0, longest) or 0)


@pytest.mark.parametrize(
    ("name", "most", "n_cuts"),
    [
        *product(DISTINCT, (50_000,), (60,)),
        *(exhaustive(name, 1_000_000, 1_500) for name in PACKAGED),
    ],
)
def test_split_at_equals_that_of_the_encoding(
    name: str, most: int, n_cuts: int, corpus: str
) -> None:
    assert_same_cuts(name, corpus[:most], random.Random(21), n_cuts)


@pytest.mark.parametrize("name", DISTINCT)
def test_four_tokens_always_hold_one_more_character(name: str) -> None:
    text = "".join(NAMED_TEXTS.values())
    intervals = cutline.get_encoding(name).intervals(text)
    assert all(intervals.split_at(start, 4) > start for start in range(len(text)))


# Giant pieces


LENGTH = 1_000_000
GIANTS: dict[str, tuple[str, str]] = {
    "a": ("o200k_base", "a" * LENGTH),
    "blanks": ("o200k_base", "x" + " " * LENGTH + "x"),
    "newline and blanks": ("cl100k_base", "\n" + " " * LENGTH),
    "dashes": ("o200k_base", "-" * (LENGTH // 5)),
    "equals": ("r50k_base", "=" * LENGTH),
    "letters": ("o200k_base", base64_text(LENGTH).lower()),
    "han and capitals": ("o200k_base", "日" + "A" * LENGTH + "b"),
    "han and capitals cut short": ("o200k_base", "日" + "A" * LENGTH),
    "lines of blanks": ("o200k_base", ("\n" + " " * 100) * (LENGTH // 101)),
    "digits": ("cl100k_base", "1" * LENGTH),
    "contractions": ("o200k_base", "'s" * (LENGTH // 2)),
    "families": ("o200k_base", FAMILY * (LENGTH // 10)),
    "accents": ("p50k_base", "é" * (LENGTH // 2)),
    "one piece of words": ("", "".join(word_text(random.Random(seed)) for seed in range(100)) * 60),
}


@pytest.mark.parametrize("key", GIANTS)
def test_slices_and_cuts_of_giant_pieces_are_exact(key: str) -> None:
    name, text = GIANTS[key]
    encoding, count = (cutline.get_encoding(name), counter(name)) if name else in_one_piece()
    intervals, rng = encoding.intervals(text), random.Random(23)
    spans = some_spans(rng, len(text), 150, 1_500)
    for (start, end), tokens in zip(spans, intervals.count_many(spans).tolist(), strict=True):
        assert (start, end, tokens) == (start, end, count(text[start:end]))
    for start, end in ((0, len(text)), (1, len(text) - 1), (len(text) // 3, len(text) - 70)):
        assert intervals.count(start, end) == encoding.count(text[start:end])
    for start in (0, 1, 2, 70, len(text) // 2, len(text) - 90):
        for n in (1, 20):
            assert intervals.split_at(start, n) == encoding.split_at(text, n, start)


def in_one_piece() -> tuple[cutline.Encoding, Count]:
    """The vocabulary of o200k without its pattern."""
    vocabulary = cutline.get_encoding("o200k_base")._vocabulary
    pure = cutline.Encoding.from_vocabulary(
        "pure", pat_str=None, vocabulary=vocabulary, special_tokens={}
    )
    real = Renumbered(vocabulary, None)
    return pure, lambda text: len(real.encode_ordinary(text))


def test_pieces_around_the_length_of_a_block_count_as_on_their_own() -> None:
    # 64 is a block of marks, a step of remembered rows, and the longest piece that is merged.
    count = counter("o200k_base")
    for unit in ("a", " ", "é", "日", "😀", "-", "A"):
        for length in (*range(61, 68), *range(126, 131)):
            for text in (unit * length, "x" + unit * length + "y", (unit * length + "\n") * 3):
                intervals = cutline.get_encoding("o200k_base").intervals(text)
                places = sorted({*range(4), *range(61, 69), *range(len(text) - 5, len(text) + 1)})
                inside = [place for place in places if 0 <= place <= len(text)]
                spans = [(start, end) for start in inside for end in inside if start <= end]
                assert_counts(intervals, count, text, spans)
