"""Splittings one after another against the real pre-tokenizers; pairs against all short texts."""

import random
from itertools import accumulate, product

import numpy as np
import pytest

from cutline.formats.stages import scripts_pattern
from cutline.pretokenize.neighbours import Neighbours
from cutline.pretokenize.oniguruma import from_oniguruma_for_search
from cutline.pretokenize.splitting import (
    Behavior,
    Splitting,
    edges_of_beginning,
    prefix_counts,
    split_edges,
    split_spans,
)
from cutline.pretokenize.whole import leaves_whole
from tests.vocabularies import character_ranks, encoding_of, with_bytes

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
pre = tokenizers.pre_tokenizers

PATTERNS = [
    "ab", "a+", r"\s?\p{L}+", r"\p{N}{1,3}", r"\s+(?!\S)", r"[ \n]", r"ab?|b1", r"\s+$",
]  # fmt: skip
SEARCHED = [
    "(?<=a)b", "(?=ab)", "(?<!a)(?=b)", "a+?b", r"(?=(\d{2})+(?!\d))", "(?:)", "a*", "a(?!b )",
    r"a{1,2}?", "(?>ab|a)b", r"(?<=\s)|b", r"^a?", r"\Aab", r"b?\Z", r"\b", r"\Ba", r"\G(?:ab)",
    r"\bab\b| ^", r"(?i:\bA)", r"a\Gb|a",
]  # fmt: skip
BEHAVIORS: dict[Behavior, str] = {
    "isolated": "isolated",
    "removed": "removed",
    "contiguous": "contiguous",
    "merged with previous": "merged_with_previous",
    "merged with next": "merged_with_next",
}
LETTERS = "ab1 \n"


def pieces(splittings: list[Splitting], text: str) -> list[tuple[int, int]]:
    """Code-point spans of the pieces."""
    utf8 = text.encode()
    starts, ends = split_spans(splittings, utf8)
    place = {
        at: number
        for number, at in enumerate(accumulate(map(len, map(str.encode, text)), initial=0))
    }
    return [
        (place[start], place[end])
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def real(parts: list[tuple[str, Behavior, bool]]) -> object:
    return pre.Sequence(
        [
            pre.Split(tokenizers.Regex(pattern), BEHAVIORS[behavior], inverted)
            for pattern, behavior, inverted in parts
        ]
    )


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("pattern", [*PATTERNS, *SEARCHED])
def test_pieces_are_those_of_tokenizers(pattern: str, behavior: Behavior, inverted: bool) -> None:
    oracle = real([(pattern, behavior, inverted)])
    splitting = Splitting(from_oniguruma_for_search(pattern), behavior, inverted)
    texts = ["".join(text) for n in range(6) for text in product("ab1 ", repeat=n)]
    texts += ["aé b", "日ab\n", "é\nab  ", "a\n\nb\n", "a²½b \u200da\u0301_b"]
    for text in texts:
        found = oracle.pre_tokenize_str(text)  # type: ignore[attr-defined]
        assert pieces([splitting], text) == [span for _, span in found], text


@pytest.mark.parametrize("seed", range(60))
def test_several_are_applied_one_after_another(seed: int) -> None:
    """And where a text may be cut, its sides have the pieces of the whole."""
    chooser = random.Random(seed)
    parts: list[tuple[str, Behavior, bool]] = [
        (
            chooser.choice(PATTERNS if seed % 3 else [*PATTERNS, *SEARCHED]),
            chooser.choice([*BEHAVIORS]),
            chooser.random() < 0.3,
        )
        for _ in range(chooser.randint(1, 3))
    ]
    oracle = real(parts)
    splittings = [Splitting(from_oniguruma_for_search(one), *rest) for one, *rest in parts]
    neighbours = Neighbours("", splittings)
    for _ in range(400):
        text = "".join(chooser.choices(LETTERS, k=chooser.randint(1, 9)))
        found = pieces(splittings, text)
        spans = [span for _, span in oracle.pre_tokenize_str(text)]  # type: ignore[attr-defined]
        assert found == spans, (parts, text)
        kept = {at for start, end in found for at in range(start, end)}
        classes = neighbours.classes_in(text)
        for at, number in enumerate(classes):
            assert at in kept or not neighbours.in_pieces[number], (parts, text)
        for at in range(1, len(text)):
            if neighbours.apart[classes[at - 1], classes[at]]:
                right = [(at + start, at + end) for start, end in pieces(splittings, text[at:])]
                assert pieces(splittings, text[:at]) + right == found, (parts, text, at)


def test_scripts_are_those_of_tokenizers() -> None:
    """In order, and with other neighbours; what has no script begins no piece."""
    splitter, splitting = (
        pre.UnicodeScripts(),
        Splitting(scripts_pattern(), "removed", inverted=True),
    )
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    for seed in range(3):
        for start in range(0, len(points), 10_000):
            text = "".join(map(chr, points[start : start + 10_000]))
            spans = [span for _, span in splitter.pre_tokenize_str(text)]
            assert pieces([splitting], text) == spans, hex(points[start])
        random.Random(seed).shuffle(points)


FAR = [r"\s+$", "a+b", "a+b|a", "ab|(?:ab|a)+1", r"a{3}(?:a|\s)*1|a", r"(?:\s|a)+1|\s+(?!\S)"]


@pytest.mark.parametrize("pattern", FAR)
def test_patterns_that_read_far_in_vain(pattern: str) -> None:
    """What a scan learned beyond its match holds for later ones; see `remember` of the kernel."""
    chooser = random.Random(pattern)
    for _ in range(300):
        runs = chooser.choices(["a", " ", "ab", "b", "1", "\n", "é", "a "], k=chooser.randint(1, 9))
        text = "".join(run * chooser.choice([1, 2, 3, 40, 70, 150]) for run in runs)
        behavior = chooser.choice([*BEHAVIORS])
        parts: list[tuple[str, Behavior, bool]] = [(pattern, behavior, chooser.random() < 0.3)]
        if chooser.random() < 0.5:
            parts.insert(0, (chooser.choice(["b", r"\n", "1+"]), "isolated", False))
        splittings = [Splitting(from_oniguruma_for_search(one), *rest) for one, *rest in parts]
        spans = [span for _, span in real(parts).pre_tokenize_str(text)]  # type: ignore[attr-defined]
        assert pieces(splittings, text) == spans, (parts, text)


@pytest.mark.parametrize("seed", range(30))
def test_pieces_of_a_beginning_stay_whatever_follows(seed: int) -> None:
    chooser, n_sure = random.Random(seed), 0
    for _ in range(300):
        patterns = [*PATTERNS, *FAR, *(SEARCHED if seed % 5 == 0 else ())]
        splittings = [
            Splitting(
                from_oniguruma_for_search(chooser.choice(patterns)),
                chooser.choice([*BEHAVIORS]),
                chooser.random() < 0.3,
            )
            for _ in range(chooser.randint(1, 3))
        ]
        runs = chooser.choices(["a", " ", "b", "1", "\n", "é", "ab"], k=chooser.randint(0, 9))
        utf8 = "".join(run * chooser.choice([1, 1, 2, 3, 40]) for run in runs).encode()
        *sure, start, end = edges_of_beginning(splittings, utf8).tolist()
        n_sure += len(sure)
        for more in ("", "a", "b", "ab", " ", "1", "\n", "é", "a b1", "".join(runs)):
            edges = split_edges(splittings, utf8 + more.encode()).tolist()
            assert edges[: len(sure)] == sure, (splittings, utf8, more)
            if start < end:
                assert edges[len(sure)] == start, (splittings, utf8, more)
                assert edges[len(sure) + 1] >= end, (splittings, utf8, more)
    assert n_sure > 300


PREFIXED = [*PATTERNS, *FAR, r"\s*[\r\n]+|\s+(?!\S)|\s+", "[ab]{2}", "é+a"]


@pytest.mark.parametrize("seed", range(30))
def test_counts_of_prefixes_are_those_of_their_pieces(seed: int) -> None:
    chooser, n_known = random.Random(seed), 0
    encoding = encoding_of(character_ranks(chooser, "ab1 é\n"), None)
    for _ in range(200):
        splittings = [
            Splitting(
                chooser.choice(PREFIXED),
                chooser.choice(["isolated", "removed", "contiguous"]),
                chooser.random() < 0.3,
            )
            for _ in range(chooser.randint(1, 4))
        ]
        runs = chooser.choices(["a", " ", "b", "1", "\n", "é", "ab"], k=chooser.randint(0, 9))
        utf8 = "".join(run * chooser.choice([1, 1, 2, 3, 7]) for run in runs).encode()
        budget = chooser.choice([0, 1, 2, 5, 1_000])
        counts = prefix_counts(splittings, encoding, utf8, budget)
        if counts is None:
            assert any(one.behavior == "contiguous" for one in splittings)
            continue
        places = np.cumsum([0, *(len(one.encode()) for one in utf8.decode())])
        for end in places[counts[places] >= 0].tolist():
            n_known += 1
            starts, ends = split_spans(splittings, utf8[:end])
            spans = zip(starts.tolist(), ends.tolist(), strict=True)
            expected = sum(len(encoding._encode_bytes(utf8[at:to])) for at, to in spans)
            assert min(counts[end], budget + 1) == min(expected, budget + 1), (splittings, utf8)
    assert n_known > 1_000


def test_counts_of_prefixes_of_a_run_are_all_known() -> None:
    """Deepseek-coder's patterns, and those that read far in vain, which end it."""
    encoding = encoding_of(with_bytes((b"..", b"....", b"  ")), None)
    splittings = [Splitting(one, "isolated") for one in (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+")]
    for text in ("." * 5_000, " " * 5_000, "  ." + "." * 5_000):
        counts = prefix_counts(
            [*splittings, Splitting(r"\p{N}", "isolated")], encoding, text.encode(), 9_999
        )
        assert counts is not None
        assert np.count_nonzero(counts < 0) <= 1
    far = [Splitting(r"\s+x", "isolated")]
    assert prefix_counts(far, encoding, b" " * 5_000, 9_999) is None


@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_prefixes_of_patterns_without_an_automaton_are_not_known(behavior: Behavior) -> None:
    encoding = encoding_of(with_bytes(()), None)
    splittings = [Splitting(from_oniguruma_for_search(r"\b"), behavior)]
    assert prefix_counts(splittings, encoding, b"ab c", 9) is None


def test_any_number_of_splittings() -> None:
    """More than one kernel call takes; and patterns without automata between."""
    one = Splitting(from_oniguruma_for_search("(?<=a)b"), "isolated")
    splittings = [Splitting(str(n % 10), "isolated") for n in range(200)]
    for place in (199, 70, 0):
        splittings.insert(place, one)
    assert pieces(splittings, "x01abb") == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    assert pieces([], "ab") == [(0, 2)]
    assert pieces(splittings, "") == []


def test_a_pattern_that_finds_nothing_takes_linear_time() -> None:
    """From each of 300,000 blanks on it would read all that follow: hours."""
    starts, _ = split_spans([Splitting(r"\s+$", "isolated")], b" " * 300_000 + b"a")
    assert len(starts) == 1


def test_cuts_are_found_between_words_of_several_splittings() -> None:
    lines, words = Splitting(r"[\r\n]", "isolated"), Splitting(r"\s?\p{L}+", "isolated")
    neighbours = Neighbours("", [lines, words, Splitting(r"\p{N}", "isolated")])
    for pair, is_apart in {"a ": True, "\na": True, "a\n": True, "ab": False, " a": False}.items():
        before, after = neighbours.classes_in(pair)
        assert neighbours.apart[before, after] == is_apart


def test_bits_are_those_of_the_class_of_each_character() -> None:
    text = "".join(map(chr, range(0x110000)))
    parts = [Splitting(one, "isolated") for one in (r"\p{Lu}", r"\s?\p{L}+", r"\p{N}{1,3}")]
    for neighbours in (Neighbours(r"'s| ?\p{L}+|\p{N}"), Neighbours("", parts)):
        classes = neighbours.classes_in(text)
        assert neighbours.n_classes == len(set(classes.tolist()))
        for number in range(neighbours.n_classes):
            chosen = np.arange(neighbours.n_classes) == number
            bits = np.unpackbits(neighbours.bits_of(chosen), bitorder="little")
            assert (bits == (classes == number)).all()
            assert neighbours.is_alone(number) == (np.count_nonzero(bits) == 1)


def test_leaving_whole_is_true_only_where_it_is() -> None:
    patterns = [*PATTERNS, "a|b", "[ab]+|1", r"\s+|\S+", "a|b+|[^ab]"]
    texts = ["".join(text) for n in range(4) for text in product("ab1 ", repeat=n)]
    for first, second in product(patterns, repeat=2):
        matches = Splitting(first, "removed", inverted=True)
        both = [matches, Splitting(second, "isolated")]
        is_same = all(pieces([matches], text) == pieces(both, text) for text in texts)
        assert is_same or not leaves_whole(first, second), (first, second)
    assert leaves_whole("a|b", "[ab]+|1")
    assert leaves_whole(r"\s+|\S+", r"\s+|\S+")
