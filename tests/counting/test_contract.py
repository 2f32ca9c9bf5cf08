"""What all that counts and cuts promises alike: structures are rows, promises are tests.

A new structure is a new row. What one structure alone promises stands in a file of its own.
"""

import copy
import functools
import pickle
import random
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest

import cutline
from cutline import Encoding
from cutline.errors import OffsetError, SurrogateError, UnsupportedPatternError
from tests.oracles import DISTINCT
from tests.texts import SURROGATE_TEXTS, long_pieces, random_texts
from tests.threads import at_once
from tests.vocabularies import with_bytes

TEXT = "don't stop: cafe\u0301 <|endoftext|> 1234 日本語 👩\u200d👧 'll \n\n end"
SHORT = "a cafe\u0301"
BREAKING = "𓀀 "  # of several tokens in every vocabulary


def normalizing() -> Encoding:
    """An encoding of a tokenizer.json that changes TEXT."""
    pytest.importorskip("tokenizers")
    from tests.pipeline.families import build

    return Encoding.from_tokenizers(build("qwen 2.5"))


def wrapped() -> cutline.WrappedTokenizer:
    pytest.importorskip("tokenizers")
    from tests.wrapping.made import wrapped

    return wrapped("bert")


def of_ones_own() -> Encoding:
    ranks = with_bytes((b"st", b"op", b"stop", b"ll", "日".encode()))
    return Encoding(
        "own", pat_str=r" ?\w+|.|\s", mergeable_ranks=ranks, special_tokens={"<s>": 900}
    )


COUNTERS: dict[str, Callable[[], Any]] = {
    "packaged": functools.partial(cutline.get_encoding, "o200k_base"),
    "of one's own": of_ones_own,
    "normalizing": normalizing,
    "wrapped": wrapped,
}


@functools.cache
def counter_of(name: str) -> Any:
    return COUNTERS[name]()


# Places where a text enters, with what they make of an empty one.


def slices(counter: Any, text: str, **unit: bool) -> list[object]:
    one = counter.intervals(text, **unit)
    end = len(str.encode(text)) if unit else str.__len__(text)
    kind = type(getattr(one, "text", ""))
    return [one.count(0, end), *one.count_many([(0, 0), (0, end)]), one.split_at(0, 2), kind]


def spans(encoding: Any, text: str) -> tuple[list[int], list[list[int]]]:
    tokens, found = encoding.encode_with_offsets(text, allowed_special="all")
    return tokens, found.tolist()


def appended(counter: Any, text: str) -> tuple[int, str]:
    appender = counter.appender()
    appender.append(text)
    return appender.count, appender.text


def prepended(counter: Any, text: str) -> tuple[int, str]:
    prepender = counter.prepender()
    prepender.prepend(text)
    return prepender.count, prepender.text


Table = dict[str, tuple[Callable[[Any, Any], Any], object]]
# Of a counter c and a text t. Surrogates are replaced here, as tiktoken does.
COUNTING: Table = {
    "count": (lambda c, t: c.count(t), 0),
    "count_till_limit": (lambda c, t: c.count_till_limit(t, 9), 0),
    "count_batch": (lambda c, t: c.count_batch(["", t]).tolist(), [0, 0]),
    "fits": (lambda c, t: c.fits(t, 3), True),
    "encode_ordinary": (lambda c, t: c.encode_ordinary(t), []),
}
ENCODING: Table = {
    "encode": (lambda c, t: c.encode(t, allowed_special="all"), []),
    "encode, ordinary": (lambda c, t: c.encode(t, disallowed_special=()), []),
    "encode_to_numpy": (lambda c, t: c.encode_to_numpy(t, disallowed_special=()).tolist(), []),
    "encode_batch": (lambda c, t: c.encode_batch(["", t], disallowed_special=()), [[], []]),
    "encode_ordinary_batch": (lambda c, t: c.encode_ordinary_batch([t]), [[]]),
}
# And refused here, where offsets are taken or given, or the other half may follow.
CUTTING: Table = {
    "split": (lambda c, t: c.split(t, 8), []),
    "split with overlap": (lambda c, t: c.split(t, 8, 2), []),
    "split_at": (lambda c, t: c.split_at(t, 6), 0),
    "TokenChunker": (lambda c, t: cutline.TokenChunker(c, 8)(t), []),
    "TextChunker": (lambda c, t: cutline.TextChunker(c, 8)(t), []),
    "intervals": (slices, [0, 0, 0, 0, str]),
}
GROWING: Table = {
    "appender": (lambda c, t: c.appender(t).count, 0),
    "prepender": (lambda c, t: c.prepender(t).count, 0),
    "append": (appended, (0, "")),
    "prepend": (prepended, (0, "")),
    "fits at the end": (lambda c, t: c.appender().fits(t, 4), True),
    "fits at the start": (lambda c, t: c.prepender().fits(t, 4), True),
}
OFFSETS_OF_ENCODINGS: Table = {
    "encode_with_offsets": (spans, ([], [])),
    "intervals in bytes": (lambda c, t: slices(c, t, byte_offsets=True), [0, 0, 0, 0, str]),
}
ENTRIES = COUNTING | ENCODING | CUTTING | GROWING | OFFSETS_OF_ENCODINGS


def has(name: str, column: str) -> bool:
    if column.endswith("in bytes"):  # not of a text that may be changed
        return name in ("packaged", "of one's own")
    return name != "wrapped" or column not in ENCODING | OFFSETS_OF_ENCODINGS


def each(columns: Iterable[str]) -> pytest.MarkDecorator:
    """Every counter with each of the columns that it has."""
    cells = [cell for cell in product(COUNTERS, columns) if has(*cell)]
    return pytest.mark.parametrize(("name", "column"), cells)


def result(name: str, entry: str, text: Any) -> Any:
    return ENTRIES[entry][0](counter_of(name), text)


class Odd(str):
    """A str whose methods lie."""

    def __len__(self) -> int:
        return 99

    def __str__(self) -> str:
        return "odd"

    def __getitem__(self, _: object) -> str:
        return "odd"

    def __add__(self, _: object) -> str:
        return "odd"

    __radd__ = __add__

    def isascii(self) -> bool:
        return True

    def find(self, *_: object) -> int:
        return 0

    def encode(self, *_: object) -> bytes:
        return b"\xff"


@each(ENTRIES)
def test_an_empty_text_is_no_special_case(name: str, column: str) -> None:
    assert result(name, column, "") == ENTRIES[column][1]


@each(ENTRIES)
def test_a_subclass_of_str_is_the_text_it_holds(name: str, column: str) -> None:
    for text in (SHORT, "hello world", TEXT):
        for kind in (np.str_, Odd):
            assert result(name, column, kind(text)) == result(name, column, text)


@each(ENTRIES)
def test_what_is_no_text_is_refused_by_its_type(name: str, column: str) -> None:
    for wrong in (b"abc", "h\u00e9".encode(), bytearray(b"abc"), None, 5, ["a"]):
        with pytest.raises(TypeError, match=rf"must be (a )?str, got {type(wrong).__name__}"):
            result(name, column, wrong)


@each(ENTRIES)
def test_surrogates_are_replaced_or_refused_where_offsets_are_given(name: str, column: str) -> None:
    for text in SURROGATE_TEXTS.values():
        if name != "wrapped" and column in COUNTING | ENCODING:
            repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            for kind in (str, np.str_, Odd):
                assert result(name, column, kind(text)) == result(name, column, repaired)
            continue
        position = next(i for i, c in enumerate(text) if 0xD800 <= ord(c) < 0xE000)
        hint = "its other half first" if column in GROWING and name != "wrapped" else "repair it"
        with pytest.raises(SurrogateError, match=rf"at offset {position}\b.*{hint}"):
            result(name, column, text)


@pytest.mark.parametrize("name", COUNTERS)
def test_all_structures_count_alike(name: str) -> None:
    counter = counter_of(name)
    for text in (TEXT, SHORT, BREAKING * 40, *random_texts(5, 20)):
        start, end = text[: len(text) // 2], text[len(text) // 2 :]
        appender, prepender = counter.appender(start), counter.prepender(end)
        appender.append(end)
        prepender.prepend(start)
        assert {
            counter.count(text),
            len(counter.encode_ordinary(text)),
            counter.intervals(text).count(0, len(text)),
            appender.count,
            prepender.count,
        } == {int(counter.count_batch([text])[0])}


# Offsets


def truncated(growing: Any, length: Any) -> str:
    growing.truncate(length)
    return str(growing.text)


def places(counter: Any) -> dict[str, Callable[[Any], object]]:
    """Where an offset of TEXT is asked for."""
    one = counter.intervals(TEXT)
    return {
        "split_at": lambda at: counter.split_at(TEXT, 3, at),
        "a slice": lambda at: one.count(at, at),
        "a slice's end": lambda at: one.count(0, at),
        "a slice's cut": lambda at: one.split_at(at, 3),
        "truncated at its end": lambda at: truncated(counter.appender(TEXT), at),
        "truncated at its start": lambda at: truncated(counter.prepender(TEXT), at),
    }


PLACES = tuple(places(cutline.get_encoding("gpt2")))
OUTSIDE = (-1, len(TEXT) + 1, 2**40, 2**62, -(2**63), 2**63, 2**70, -(2**70), 10**30)


@each(PLACES)
def test_offsets_outside_the_text_are_refused(name: str, column: str) -> None:
    ask = places(counter_of(name))[column]
    for offset in OUTSIDE:
        with pytest.raises(OffsetError, match=rf" {len(TEXT)}, .* {offset}$"):
            ask(offset)
    assert ask(0) != ask(len(TEXT)) or column == "a slice"


@each(PLACES)
def test_offsets_are_integers_of_any_kind(name: str, column: str) -> None:
    ask = places(counter_of(name))[column]
    for kind in (np.int8, np.uint8, np.uint16, np.int64, np.uint64):
        assert ask(kind(5)) == ask(5)
        assert type(ask(kind(5))) is type(ask(5))
    assert ask(True) == ask(1)
    for wrong in (None, 0.0, 0.5, "1", b"1", [1], np.float64(1)):
        with pytest.raises(TypeError):
            ask(wrong)


@pytest.mark.parametrize("name", COUNTERS)
def test_slices_that_are_reversed_are_refused(name: str) -> None:
    one = counter_of(name).intervals(TEXT)
    for start, end in ((3, 1), (-5, -2), (0, -1), (len(TEXT) + 1, len(TEXT) + 1)):
        with pytest.raises(OffsetError, match=f"got start {start}, end {end}"):
            one.count(start, end)
        with pytest.raises(OffsetError, match=f"got start {start}, end {end}"):
            list(one.count_many([(0, 1), (start, end)]))


# Budgets


def budgets(counter: Any) -> dict[str, Callable[[Any], object]]:
    """Where a budget is asked for."""
    return {
        "fits": lambda n: counter.fits(TEXT, n),
        "count_till_limit": lambda n: counter.count_till_limit(TEXT, n),
        "split_at": lambda n: counter.split_at(TEXT, n),
        "split_at, from inside": lambda n: counter.split_at(TEXT, n, 4),
        "split": lambda n: counter.split(TEXT, n),
        "overlap": lambda n: counter.split(TEXT, 100, n),
        "TokenChunker": lambda n: cutline.TokenChunker(counter, n)(TEXT),
        "TextChunker": lambda n: cutline.TextChunker(counter, n)(TEXT),
        "truncate": lambda n: counter.truncate(TEXT, n, marker=""),
        "a slice's cut": lambda n: counter.intervals(TEXT).split_at(0, n),
        "a cut at the end": lambda n: counter.intervals(TEXT).split_at(len(TEXT), n),
        "fits at the end": lambda n: counter.appender(TEXT).fits("", n),
        "fits at the start": lambda n: counter.prepender(TEXT).fits("", n),
    }


BUDGETS = tuple(budgets(None))
VAST = (10**6, 2**31, 2**32 + 1, 2**40, 2**63 - 1, 2**63, 2**70, 10**30)


@each(BUDGETS)
def test_a_negative_budget_is_refused(name: str, column: str) -> None:
    for n in (-1, -(2**63), -(10**30)):
        with pytest.raises(ValueError, match=f"{n}"):
            budgets(counter_of(name))[column](n)


@each([budget for budget in BUDGETS if budget != "overlap"])
def test_a_vast_budget_takes_all(name: str, column: str) -> None:
    counter = counter_of(name)
    total = counter.count(TEXT)
    ask = budgets(counter)[column]
    want = ask(total)
    if isinstance(want, list):
        assert [chunk.text for chunk in want] == [TEXT]
    else:
        assert want in (True, total, len(TEXT), TEXT)
    assert [ask(n) for n in VAST] == [want] * len(VAST)
    if column == "split":
        assert [counter.split(TEXT, n, n - 1) for n in VAST] == [want] * len(VAST)


@each(BUDGETS)
def test_a_budget_is_an_integer_of_any_kind(name: str, column: str) -> None:
    ask = budgets(counter_of(name))[column]
    for kind in (np.int8, np.uint8, np.int64, np.uint64):
        assert ask(kind(9)) == ask(9)
    for wrong in ("10", 10.0, 2.5, None):
        with pytest.raises(TypeError):
            ask(wrong)


@pytest.mark.parametrize("name", COUNTERS)
def test_no_budget_reaches_nowhere(name: str) -> None:
    counter = counter_of(name)
    blanks = [] if name == "wrapped" else [" " * 10_000]  # they are no tokens for BERT
    for text in ("a", "a" * 100, BREAKING * 100, *blanks):
        for start in (0, len(text) // 2, len(text)):
            assert counter.split_at(text, 0, start) == start
            assert counter.intervals(text).split_at(start, 0) == start
        assert not counter.fits(text, 0)
        assert not counter.appender(text).fits("", 0)
        assert not counter.prepender(text).fits("", 0)
    for size, overlap in ((0, 0), (8, 8), (8, 9), (1, 1)):
        with pytest.raises(ValueError, match=str(overlap if size else size)):
            counter.split(TEXT, size, overlap)


# What is no encoding, and what has no automaton


NEEDS_AN_ENCODING: dict[str, tuple[Callable[[Any], object], str]] = {
    "IntervalCounter": (lambda wrong: cutline.IntervalCounter(wrong, "a"), r"intervals\(text\)"),
    "Appender": (cutline.Appender, r"appender\(text\)"),
    "Prepender": (cutline.Prepender, r"prepender\(text\)"),
    "DecodeStream": (cutline.DecodeStream, r"decode_stream\(\)"),
}


@pytest.mark.parametrize("wrong", ["o200k_base", None, 1, object()])
@pytest.mark.parametrize("structure", NEEDS_AN_ENCODING)
def test_what_is_no_encoding_is_refused_with_the_way_to_one(structure: str, wrong: object) -> None:
    make, method = NEEDS_AN_ENCODING[structure]
    with pytest.raises(TypeError, match=rf"got .*get_encoding\(\.\.\.\)\.{method}$"):
        make(wrong)


@functools.cache
def without_automaton() -> Encoding:
    with pytest.warns(cutline.PatternFallbackWarning):
        return Encoding(
            "slow", pat_str=r"(?<=a)b|.", mergeable_ranks=with_bytes(()), special_tokens={}
        )


@pytest.mark.parametrize("entry", ENTRIES)
def test_cuts_need_an_automaton_and_counts_do_not(entry: str) -> None:
    if entry in CUTTING | GROWING or entry == "intervals in bytes":
        # Which part of the pattern, or which encoding, and what works with it all the same.
        message = r"look-behind|of 'slow' .* compiles to an automaton.* count work with any"
        with pytest.raises(UnsupportedPatternError, match=message):
            ENTRIES[entry][0](without_automaton(), "ab")
    else:
        assert ENTRIES[entry][0](without_automaton(), "") == ENTRIES[entry][1]
        assert ENTRIES[entry][0](without_automaton(), "ab")


# Copies and pickles


LONG = TEXT + "a" * 500 + TEXT
STRUCTURES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], object]]] = {
    "counter": (
        lambda counter: counter,
        lambda twin: (twin.name, twin.encode_ordinary(LONG), twin.split(LONG, 9)),
    ),
    "slices": (
        lambda counter: counter.intervals(LONG),
        lambda one: (one.count(3, len(LONG) - 4), one.split_at(9, 200), one.count(4, 5)),
    ),
    "slices in bytes": (
        lambda counter: counter.intervals(LONG, byte_offsets=True),
        lambda one: (repr(one), one.text, one.count(3, len(one)), one.split_at(9, 200)),
    ),
    "appender": (lambda counter: counter.appender(LONG), lambda one: (one.text, one.count)),
    "prepender": (lambda counter: counter.prepender(LONG), lambda one: (one.text, one.count)),
}
COPIES: list[Callable[[Any], Any]] = [
    *(
        lambda one, protocol=protocol: pickle.loads(pickle.dumps(one, protocol))  # type: ignore[misc]
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ),
    copy.copy,
    copy.deepcopy,
]


@each(STRUCTURES)
def test_copies_and_pickles_answer_alike_and_for_themselves(name: str, column: str) -> None:
    (make, answer), count = STRUCTURES[column], counter_of(name).count
    one = make(counter_of(name))
    before = answer(one)
    for make_copy in COPIES[2 * (name == "wrapped") :]:  # tokenizers need a protocol of 2 or more
        twin = make_copy(one)
        assert (type(twin), answer(twin)) == (type(one), before)
        if column == "appender":
            twin.append("日x")
            assert answer(twin) == (LONG + "日x", count(LONG + "日x"))
            twin.truncate(5)
            assert answer(twin) == (LONG[:5], count(LONG[:5]))
        if column == "prepender":
            twin.prepend("日x")
            assert answer(twin) == ("日x" + LONG, count("日x" + LONG))
            twin.truncate(5)
            assert answer(twin) == (LONG[-5:], count(LONG[-5:]))
        assert answer(one) == before


# Texts that grow


@each(["appender", "prepender"])
def test_what_raises_leaves_no_trace(name: str, column: str) -> None:
    counter = counter_of(name)
    one = getattr(counter, column)(TEXT)
    grow = one.append if column == "appender" else one.prepend
    for wrong in (*SURROGATE_TEXTS.values(), None, b"bytes", 5, ["a"]):
        for change in (grow, lambda text: one.fits(text, 9)):
            with pytest.raises((SurrogateError, TypeError)):
                change(wrong)
    for length in (*OUTSIDE, 0.5, None):
        with pytest.raises((OffsetError, TypeError)):
            one.truncate(length)
    with pytest.raises(ValueError, match="max_tokens"):
        one.fits("a", -1)
    with pytest.raises(AttributeError):
        one.count = 3
    one.fits("a" * 1_000, 3)
    assert (one.text, one.count) == (TEXT, counter.count(TEXT))
    grow("x")
    assert one.count == counter.count(one.text)


# Threads


@pytest.mark.parametrize("name", COUNTERS)
def test_any_number_of_threads_count_and_cut_with_one_counter(name: str) -> None:
    texts = ["".join(random_texts(seed, 40)) for seed in range(8)]
    texts = [text[:300] if name == "wrapped" else text for text in texts]
    entries = [entry for entry in ENTRIES if has(name, entry) and entry not in GROWING]
    want = [[result(name, entry, text) for entry in entries] for text in texts]

    def work(number: int) -> None:
        for _ in range(1 if name == "wrapped" else 4):
            assert [result(name, entry, texts[number]) for entry in entries] == want[number]

    at_once(work, 8)


@pytest.mark.parametrize("name", [*DISTINCT, "normalizing", "wrapped"])
def test_threads_share_fresh_slices(name: str) -> None:
    counter = cutline.get_encoding(name) if name in DISTINCT else counter_of(name)
    text, rng = long_pieces(3_000 if name in DISTINCT else 60), random.Random(6)
    starts = [rng.randrange(len(text)) for _ in range(200)]
    spans = [(start, min(len(text), start + rng.randrange(4_000))) for start in starts]
    want = [counter.count(text[start:end]) for start, end in spans]
    cuts = [counter.split_at(text, 9, start) for start in starts]
    one = counter.intervals(text)

    def work(number: int) -> None:
        order = random.Random(number).sample(range(200), 200)
        for at in order[:60]:
            assert (one.count(*spans[at]), one.split_at(starts[at], 9)) == (want[at], cuts[at])
        found = one.count_many([spans[at] for at in order])
        assert list(found) == [want[at] for at in order]

    at_once(work, 8)


@pytest.mark.parametrize("structure", ["appender", "prepender"])
def test_threads_that_race_for_a_growing_text_wait_for_each_other(structure: str) -> None:
    counter = cutline.get_encoding("cl100k_base")
    one = getattr(counter, structure)()
    grow = one.append if structure == "appender" else one.prepend
    parts = ["word " * 10_000, "日A" * 10_000, " \n " * 9_000, "1" * 100, "short"]
    refused: set[str] = set()

    def work(number: int) -> None:
        rng = random.Random(number)
        for _ in range(60):
            try:
                grow(rng.choice(parts))
                one.fits(rng.choice(parts), 5)
                if rng.random() < 0.5:
                    one.truncate(rng.choice((0, 0, 900)))
                assert one.copy().text_length >= 0
                assert isinstance(one.text, str)
            except OffsetError as error:
                refused.add(str(error))

    at_once(work, 4)
    # The length is refused where another thread has truncated the text first.
    assert all("length must be from 0" in why for why in refused)
    assert (one.count, one.text_length) == (counter.count(one.text), len(one.text))


@pytest.mark.parametrize("name", COUNTERS)
def test_sizes_are_refused_before_a_text_is_looked_at(name: str) -> None:
    counter = COUNTERS[name]()
    for sizes, named in (((0, 0), "chunk_size"), ((4, 4), "chunk_overlap")):
        with pytest.raises(ValueError, match=f"{named} must be"):
            counter.split(f"{TEXT}\ud800", *sizes)
