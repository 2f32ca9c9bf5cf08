"""The prepender against encoding the whole text again, after every kind of change."""

import gc
import itertools
import random
from collections.abc import Iterable
from functools import cache

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import cutline
from cutline.counting.prepender import Prepender
from tests.oracles import DISTINCT, Count, counter, with_count
from tests.texts import (
    ALPHABET,
    NAMED_TEXTS,
    base64_text,
    lookahead_texts,
    random_texts,
    run_length_text,
)
from tests.vocabularies import TOY_TOKENS, random_ranks, with_bytes

# Scans that look far, meet late or never, and leave gaps; None is one piece for all.
PATTERNS: tuple[str | None, ...] = (
    None,
    r"ab*c|\w",
    r"a*b|a",
    r"(?:aa)*b|a",
    r"a{1,70}|b+",
    r"a*ba*|a*c+|a|b|c",
    r"b+",
    r"\p{L}+",
    r"a+(?!\S)|\S|\s+",
    r"\S+|\s+(?!\S)|\s",
)
LENGTH = 20_000


@cache
def toy(tokens: str, pat_str: str | None) -> tuple[cutline.Encoding, Count]:
    """A small vocabulary with any pattern, and tiktoken's count for it."""
    return with_count(with_bytes(TOY_TOKENS[tokens]), pat_str)


def slices(rng: random.Random, text: str, sizes: tuple[int, ...]) -> Iterable[str]:
    """The text in slices of these sizes, the last one first."""
    end = len(text)
    while end > 0:
        start = max(end - rng.choice(sizes), 0)
        yield text[start:end]
        end = start


def assert_counts(encoding: cutline.Encoding, count: Count, parts: Iterable[str]) -> None:
    """Prepending these parts gives the right count after each."""
    prepender, text = encoding.prepender(), ""
    for part in parts:
        prepender.prepend(part)
        text = part + text
        assert (text, prepender.count) == (text, count(text))
    assert (prepender.text, prepender.text_length) == (text, len(text))
    assert prepender.tokens() == encoding.encode_ordinary(text)


class PrependerMachine(RuleBasedStateMachine):
    """Random changes; the model is the text itself, encoded again by tiktoken."""

    encoding: cutline.Encoding
    oracle: Count
    prepender: Prepender
    text: str
    twin: tuple[Prepender, str]

    def begin(self, encoding: cutline.Encoding, oracle: Count) -> None:
        self.encoding, self.oracle = encoding, oracle
        self.prepender, self.text = encoding.prepender(), ""
        self.twin = self.prepender.copy(), ""

    def texts(self) -> st.SearchStrategy[str]:
        raise NotImplementedError

    @rule(data=st.data())
    def prepend(self, data: st.DataObject) -> None:
        part = data.draw(self.texts())
        self.prepender.prepend(part)
        self.text = part + self.text

    @rule(data=st.data(), times=st.integers(1, 100))
    def prepend_again_and_again(self, data: st.DataObject, times: int) -> None:
        part = data.draw(self.texts())[:3]
        for _ in range(times):
            self.prepender.prepend(part)
        self.text = part * times + self.text

    @rule(dropped=st.integers(0, 9))
    def truncate_a_little(self, dropped: int) -> None:
        self.truncate(max(len(self.text) - dropped, 0))

    @rule(kept=st.floats(0, 1))
    def truncate_anywhere(self, kept: float) -> None:
        self.truncate(round(kept * len(self.text)))

    def truncate(self, length: int) -> None:
        self.prepender.truncate(length)
        self.text = self.text[len(self.text) - length :]

    @rule(data=st.data(), more=st.integers(-3, 3))
    def fits(self, data: st.DataObject, more: int) -> None:
        part = data.draw(self.texts())
        count = self.oracle(part + self.text)
        assert self.prepender.fits(part, max(count + more, 0)) == (count <= max(count + more, 0))

    @rule()
    def copy(self) -> None:
        self.twin = self.prepender.copy(), self.text

    @rule()
    def go_on_with_the_copy(self) -> None:
        (self.prepender, self.text), self.twin = self.twin, (self.prepender, self.text)

    @rule()
    def tokens(self) -> None:
        assert self.prepender.tokens() == self.encoding.encode_ordinary(self.text)
        assert self.prepender.text == self.text

    @invariant()
    def count_equals_encoding_again(self) -> None:
        for prepender, text in ((self.prepender, self.text), self.twin):
            assert (text, prepender.count) == (text, self.oracle(text))
            assert prepender.text_length == len(text)


class PackagedMachine(PrependerMachine):
    @initialize(name=st.sampled_from(DISTINCT))
    def begin_packaged(self, name: str) -> None:
        self.begin(cutline.get_encoding(name), counter(name))

    def texts(self) -> st.SearchStrategy[str]:
        return st.sampled_from([*ALPHABET, *NAMED_TEXTS.values()]) | st.text(max_size=5)


class ToyMachine(PrependerMachine):
    @initialize(tokens=st.sampled_from(sorted(TOY_TOKENS)), pat_str=st.sampled_from(PATTERNS))
    def begin_toy(self, tokens: str, pat_str: str | None) -> None:
        self.begin(*toy(tokens, pat_str))

    def texts(self) -> st.SearchStrategy[str]:
        return st.text("abc", max_size=8) | st.text("ab", max_size=80) | st.text("a b中")


few_steps = settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=True)
PackagedMachine.TestCase.settings = few_steps
ToyMachine.TestCase.settings = settings(few_steps, max_examples=200)
TestPackagedEncodings = PackagedMachine.TestCase
TestToyEncodings = ToyMachine.TestCase


@pytest.mark.parametrize("name", DISTINCT)
def test_count_equals_encoding_again_however_a_text_is_cut(name: str) -> None:
    encoding, count, rng = cutline.get_encoding(name), counter(name), random.Random(1)
    for text in [*NAMED_TEXTS.values(), *random_texts(2, 100)]:
        for sizes in ((1,), (1, 2, 5), (1, 20, 100)):
            assert_counts(encoding, count, slices(rng, text, sizes))


@pytest.mark.parametrize("name", DISTINCT)
def test_count_equals_encoding_again_in_long_runs(name: str) -> None:
    encoding, count, rng = cutline.get_encoding(name), counter(name), random.Random(3)
    for _ in range(5):
        text = run_length_text(rng, 2_500)
        assert_counts(encoding, count, slices(rng, text, (1, 1, 2, 100, 700)))
    for text in lookahead_texts():
        assert_counts(encoding, count, slices(rng, text, (1,)))


def test_count_equals_encoding_again_with_any_vocabulary_and_pattern() -> None:
    rng = random.Random(4)
    for _ in range(150):
        alphabet = rng.choice((b"ab", b"abc", b"a"))
        encoding, count = with_count(random_ranks(rng, alphabet), rng.choice(PATTERNS))
        text = "".join(rng.choices(alphabet.decode(), k=rng.choice((30, 300))))
        assert_counts(encoding, count, slices(rng, text, (1, 3, 80)))


def test_every_end_of_a_corpus_is_counted(corpus: str) -> None:
    encoding, rng = cutline.get_encoding("o200k_base"), random.Random(5)
    start = rng.randrange(len(corpus) - LENGTH)
    text = corpus[start : start + LENGTH]
    prepender, end = encoding.prepender(), len(text)
    while end > 0:
        begin = max(end - rng.randint(1, 40), 0)
        prepender.prepend(text[begin:end])
        end = begin
        if rng.random() < 0.05:
            assert prepender.count == encoding.count(text[end:])
    for length in sorted(rng.sample(range(LENGTH), 200), reverse=True):
        prepender.truncate(length)
        assert prepender.count == encoding.count(text[LENGTH - length :])


GIANTS: dict[str, tuple[str, str, str]] = {
    # name: encoding, what is prepended one character at a time, what it stands before
    "digits in threes": ("cl100k_base", "1", ""),
    "contractions": ("o200k_base", "s'", ""),
    "one letter": ("o200k_base", "a", ""),
    "one letter before a long word": ("o200k_base", "a", "a" * LENGTH),
    "capitals": ("o200k_base", "A", "b"),
    "han before capitals": ("o200k_base", "中", "A" * LENGTH),
    "han and capitals": ("o200k_base", "中A", "A" * LENGTH + "b"),
    "blanks": ("cl100k_base", " ", "x"),
    "newlines before blanks": ("cl100k_base", "\n", " " * LENGTH + "x"),
    "blanks and newlines": ("o200k_base", " \n", "x"),
    "dashes": ("o200k_base", "-", ""),
    "accents": ("r50k_base", "é", ""),
}


@pytest.mark.parametrize("name", GIANTS)
def test_a_giant_piece_grows_by_single_characters(name: str) -> None:
    encoding_name, cycle, text = GIANTS[name]
    encoding = cutline.get_encoding(encoding_name)
    prepender = encoding.prepender(text)
    times = 200_000 // len(cycle)
    for _ in range(times):
        for character in cycle:
            prepender.prepend(character)
    text = cycle[::-1] * times + text
    assert prepender.count == encoding.count(text)
    for kept in (len(text) - 1, len(text) // 2 + 1, len(text) // 2, LENGTH // 3, 1, 0):
        prepender.truncate(kept)
        assert prepender.count == encoding.count(text[len(text) - kept :])


def test_a_giant_piece_of_random_letters_grows_and_shrinks() -> None:
    ranks = cutline.get_encoding("r50k_base")._mergeable_ranks
    encoding, _ = with_count(ranks, None)
    letters, rng = base64_text(200_000), random.Random(6)
    prepender = encoding.prepender()
    for place in range(len(letters)):
        prepender.prepend(letters[-1 - place])
        if place % 1_000 == 999:
            kept = prepender.text_length
            prepender.truncate(kept - rng.randrange(100))
            assert prepender.fits(letters, 10) is False
            prepender.prepend(letters[len(letters) - kept : -prepender.text_length])
    assert prepender.text == letters
    assert prepender.count == encoding.count(letters)


def test_a_digit_block_of_every_phase_is_scanned_once() -> None:
    encoding = cutline.get_encoding("cl100k_base")
    prepender = encoding.prepender()
    for _ in range(200):
        prepender.prepend("1" * 1_000)
    assert prepender.count == encoding.count("1" * 200_000)


def test_long_scans_meet_only_where_they_go_on_alike() -> None:
    encoding, count = with_count(with_bytes((b"cc", b"ac")), r"a*ba*|a*c+|a|b|c")
    right = "a" * 200 + "c" * 5
    for first, second in itertools.product(("a", "b", "aaa", "aab", "baa"), repeat=2):
        for parts in itertools.product("ab", repeat=3):
            prepender, text = encoding.prepender(right), right
            prepender.prepend(first)
            prepender.prepend(second)
            prepender.truncate(len(right))
            for part in ("", "".join(parts), *parts):
                prepender.prepend(part)
                text = part + text
                assert (text, prepender.count) == (text, count(text))


def test_fits_changes_nothing_and_sees_counts_fall() -> None:
    encoding = cutline.get_encoding("o200k_base")
    prepender = encoding.prepender("formações")
    assert (prepender.count, prepender.fits(" in", 1), prepender.fits("", 1)) == (2, True, False)
    assert prepender.fits(" in" * 1_000_000, 5) is False
    assert (prepender.count, prepender.text) == (2, "formações")
    gapped, _ = toy("no tokens but bytes", r"b+")
    assert gapped.prepender("b").fits("a" * 1_000, 1)


def test_a_prepender_keeps_what_it_needs_alive() -> None:
    encoding, _ = with_count(with_bytes(TOY_TOKENS["powers of a"]), r"a+")
    prepender = encoding.prepender("a" * 100)
    del encoding
    gc.collect()
    prepender.prepend("a" * 12)
    assert prepender.count == 112 // 16
