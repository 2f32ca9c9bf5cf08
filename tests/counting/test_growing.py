"""Texts that grow at either end: after any changes, their counts are those of the whole text."""

import random
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import cutline
from tests.oracles import DISTINCT, Renumbered, real_tiktoken
from tests.texts import (
    ALPHABET,
    NAMED_TEXTS,
    lookahead_texts,
    random_text,
    random_texts,
    run_length_text,
)
from tests.vocabularies import SCANS, TOY_TOKENS, encoding_of, random_ranks, with_bytes

Encode = Callable[[str], list[int]]
Subject = tuple[str, str | None]

# And many scans alive at once, and ends that come and go.
PATTERNS: tuple[str | None, ...] = (
    *SCANS,
    r"ab*c|\w|\s",
    r"a*b|a|c",
    r"ab+c|x",
    r"\s+(?!\S)|\s+|\S",
    r"(?:ab)+$|a|[ab]+|\W",
    r"a+b+c|a+b|b*c*d|\S|\s",
    r"a+(?!\S)|\S|\s+",
)
RANDOM = "random"  # tokens that are drawn
SUBJECTS = [
    *((name, None) for name in DISTINCT),
    *((RANDOM, pattern) for pattern in PATTERNS),
    *((toy, PATTERNS[number % len(PATTERNS)]) for number, toy in enumerate(TOY_TOKENS)),
]
each_end = pytest.mark.parametrize("at_end", [True, False], ids=["appender", "prepender"])
each_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=str)


@cache
def made(subject: Subject) -> tuple[cutline.Encoding, Encode]:
    """An encoding by its name, or by that of toy tokens and a pattern; and its oracle."""
    name, pattern = subject
    if name in DISTINCT:
        return cutline.get_encoding(name), real_tiktoken(name).encode_ordinary
    if name == RANDOM:
        ranks = random_ranks(random.Random(str(pattern)), b"abc d")
    else:
        ranks = with_bytes(TOY_TOKENS[name])
    ours = encoding_of(ranks, pattern)
    return ours, Renumbered(ours._vocabulary, pattern).encode_ordinary


class Grown:
    """A text that grows at one end, beside what it should be."""

    def __init__(
        self, encoding: cutline.Encoding, encode: Encode, at_end: bool, text: str = ""
    ) -> None:
        self.one = encoding.appender(text) if at_end else encoding.prepender(text)
        self.encode, self.at_end, self.text = encode, at_end, text

    def joined(self, part: str) -> str:
        return self.text + part if self.at_end else part + self.text

    def grow(self, part: str) -> None:
        (self.one.append if self.at_end else self.one.prepend)(part)  # type: ignore[union-attr]
        self.text = self.joined(part)

    def truncate(self, length: int) -> None:
        self.one.truncate(length)
        self.text = self.text[:length] if self.at_end else self.text[len(self.text) - length :]

    def copy(self) -> "Grown":
        twin = object.__new__(Grown)
        twin.__dict__ |= self.__dict__ | {"one": self.one.copy()}
        return twin

    def check(self) -> None:
        want = self.encode(self.text)
        assert (self.text, self.one.count) == (self.text, len(want))
        assert (self.one.text_length, self.one.text) == (len(self.text), self.text)
        assert self.one.tokens() == want

    def check_parts(self, parts: Iterable[str]) -> None:
        """The count is right after each of these parts."""
        for part in parts:
            self.grow(part)
            assert (self.text, self.one.count) == (self.text, len(self.encode(self.text)))
        self.check()


def slices(rng: random.Random, text: str, sizes: tuple[int, ...], at_end: bool) -> Iterator[str]:
    """The text in slices of these sizes, in the order in which it grows."""
    done = 0
    while done < len(text):
        until = min(done + rng.choice(sizes), len(text))
        yield text[done:until] if at_end else text[len(text) - until : len(text) - done]
        done = until


PARTS = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="abcdx \n'", max_size=8),
    st.text("ab", max_size=80),
    st.builds(lambda item, times: item * times, st.sampled_from("ab A日\n-1"), st.integers(1, 90)),
    st.builds(lambda item, n: item * n, st.sampled_from(["ab", "b ", "'s"]), st.integers(1, 400)),
    st.integers(0, 2**32).map(lambda seed: random_text(random.Random(seed))),
    st.sampled_from([*ALPHABET, *NAMED_TEXTS.values()]),
)


class GrowingMachine(RuleBasedStateMachine):
    """Grows, truncates, copies and asks in any order."""

    @initialize(
        subject=st.one_of(
            st.sampled_from([(name, None) for name in DISTINCT]),
            st.tuples(st.sampled_from([RANDOM, *TOY_TOKENS]), st.sampled_from(PATTERNS)),
        ),
        at_end=st.booleans(),
        text=PARTS,
    )
    def begin(self, subject: Subject, at_end: bool, text: str) -> None:
        self.grown = Grown(*made(subject), at_end, text)
        self.twin = self.grown.copy()

    @rule(part=PARTS)
    def grow(self, part: str) -> None:
        self.grown.grow(part)

    @rule(part=PARTS)
    def grow_one_by_one(self, part: str) -> None:
        self.grown.check_parts(part[:40])

    @rule(part=PARTS, times=st.integers(1, 100))
    def grow_again_and_again(self, part: str, times: int) -> None:
        for _ in range(times):
            self.grown.grow(part[:3])

    @rule(back=st.integers(0, 20))
    def truncate_a_little(self, back: int) -> None:
        self.grown.truncate(max(0, len(self.grown.text) - back))

    @rule(share=st.floats(0, 1))
    def truncate_much(self, share: float) -> None:
        self.grown.truncate(int(len(self.grown.text) * share))

    @rule(part=PARTS, more=st.integers(-3, 3))
    def ask_what_fits(self, part: str, more: int) -> None:
        count = len(self.grown.encode(self.grown.joined(part)))
        most = max(0, count + more)
        assert self.grown.one.fits(part, most) == (count <= most)

    @rule()
    def copy(self) -> None:
        self.twin = self.grown.copy()

    @rule()
    def go_on_with_the_other(self) -> None:
        self.grown, self.twin = self.twin, self.grown

    @invariant()
    def counts_are_those_of_the_whole_text(self) -> None:
        if hasattr(self, "grown"):
            self.grown.check()
            self.twin.check()


few_steps = settings(max_examples=100, stateful_step_count=25)
GrowingMachine.TestCase.settings = few_steps
TestGrowing = GrowingMachine.TestCase


class TestGrowingForLong(GrowingMachine.TestCase):  # type: ignore[misc]
    pytestmark = pytest.mark.exhaustive
    settings = settings(few_steps, max_examples=2_000)


@each_end
@pytest.mark.parametrize("name", DISTINCT)
def test_counts_are_right_however_a_text_is_cut(name: str, at_end: bool) -> None:
    rng, subject = random.Random(1), made((name, None))
    for text in [*NAMED_TEXTS.values(), *random_texts(2, 60)]:
        for sizes in ((1,), (1, 2, 5), (1, 20, 100)):
            Grown(*subject, at_end).check_parts(slices(rng, text[:250], sizes, at_end))
    for text in lookahead_texts():
        Grown(*subject, at_end).check_parts(slices(rng, text, (1,), at_end))
    for _ in range(3):
        text = run_length_text(rng, 2_500)
        Grown(*subject, at_end).check_parts(slices(rng, text, (1, 2, 100, 700), at_end))


@each_end
@each_subject
def test_counts_are_right_with_any_pattern(subject: Subject, at_end: bool) -> None:
    rng = random.Random(7)
    for alphabet in ("ab", "abc", "abcd x", "ab\n "):
        text = "".join(rng.choices(alphabet, k=150))
        Grown(*made(subject), at_end).check_parts(slices(rng, text, (1,), at_end))


@each_end
def test_counts_are_right_with_any_vocabulary_and_pattern(at_end: bool) -> None:
    rng = random.Random(4)
    for _ in range(150):
        alphabet, pattern = rng.choice((b"ab", b"abc", b"a")), rng.choice(PATTERNS)
        ours = encoding_of(random_ranks(rng, alphabet), pattern)
        text = "".join(rng.choices(alphabet.decode(), k=rng.choice((30, 300))))
        encode = Renumbered(ours._vocabulary, pattern).encode_ordinary
        Grown(ours, encode, at_end).check_parts(slices(rng, text, (1, 3, 80), at_end))


@each_end
@each_subject
def test_long_texts_grow_and_shrink(subject: Subject, at_end: bool) -> None:
    """Against encoding again by ourselves, as tiktoken is slow with long pieces."""
    rng, ours = random.Random(3), made(subject)[0]
    grown = Grown(ours, ours.encode_ordinary, at_end)
    for length in (300, 5_000):
        text = run_length_text(rng, length) + "ab" * 100 + "".join(rng.choices("abc d\n", k=length))
        for longest in (1, 7, 100, 3_000):
            grown = Grown(ours, ours.encode_ordinary, at_end)
            for part in slices(rng, text, (1, longest // 2 + 1, longest), at_end):
                grown.grow(part)
            grown.check()
    while grown.text:
        grown.truncate(max(0, len(grown.text) - rng.choice((0, 1, 1, 3, 40, 700))))
        assert grown.one.count == ours.count(grown.text)
        assert grown.one.text_length == len(grown.text)
        if rng.random() < 0.3:
            length = len(grown.text)
            grown.grow("ab日")
            assert grown.one.count == ours.count(grown.text)
            grown.truncate(length)


@each_end
def test_corpora_are_counted_like_the_whole(corpus: str, at_end: bool) -> None:
    rng, text = random.Random(5), corpus[:100_000]
    for name in ("o200k_base", "cl100k_base"):
        ours = cutline.get_encoding(name)
        grown = Grown(ours, ours.encode_ordinary, at_end)
        for part in slices(rng, text, (1, 20, 40), at_end):
            grown.grow(part)
            if rng.random() < 0.01:
                assert grown.one.count == ours.count(grown.text)
        grown.check()
        for length in sorted(rng.sample(range(len(text)), 50), reverse=True):
            grown.truncate(length)
            assert grown.one.count == ours.count(grown.text)


LENGTH = 20_000
# At the end or not, encoding, what is there first, what is added again and again, and what
# changes the piece that has grown.
GIANTS: tuple[tuple[bool, str | Subject, str, str, str], ...] = (
    (True, "o200k_base", "", "a", "."),
    (True, "o200k_base", "", " ", "x"),
    (True, "o200k_base", "\n", " ", "\nx"),
    (True, "o200k_base", "日", "A", "b"),
    (True, "cl100k_base", "", "1", "a"),
    (True, "o200k_base", "", "'s", "a"),
    (True, "r50k_base", "", "=", " ="),
    (True, "o200k_base", "", "\n" + " " * 99, "x"),
    (True, (RANDOM, None), "", "ab", "c"),
    (True, (RANDOM, r"(?:ab)+$|a|[ab]+|\W"), "", "ab", "a"),
    (False, "cl100k_base", "", "1", "a"),
    (False, "o200k_base", "", "'s", "a"),
    (False, "o200k_base", "", "a", " "),
    (False, "o200k_base", "a" * LENGTH, "a", " "),
    (False, "o200k_base", "b", "A", "日"),
    (False, "o200k_base", "A" * LENGTH, "中", " "),
    (False, "o200k_base", "A" * LENGTH + "b", "A中", " "),
    (False, "cl100k_base", "x", " ", "\n"),
    (False, "cl100k_base", " " * LENGTH + "x", "\n", "a"),
    (False, "o200k_base", "x", "\n ", "a"),
    (False, "o200k_base", "", "-", " "),
    (False, "r50k_base", "", "é", " "),
)


@pytest.mark.parametrize(("at_end", "subject", "first", "item", "more"), GIANTS)
def test_one_giant_piece_grows_in_linear_time(
    at_end: bool, subject: str | Subject, first: str, item: str, more: str
) -> None:
    # What began again at every step would take hours.
    ours = made((subject, None) if isinstance(subject, str) else subject)[0]
    repeats = 200_000 // len(item)
    grown = Grown(ours, ours.encode_ordinary, at_end, first)
    one = grown.one
    add = one.append if at_end else one.prepend  # type: ignore[union-attr]
    characters = item if at_end else item[::-1]
    for repeat in range(repeats):
        for character in characters:
            add(character)
        assert repeat % 50_000 or one.count == ours.count(grown.joined(item * (repeat + 1)))
    grown.text = grown.joined(item * repeats)
    grown.check()
    whole, kept = grown.text, len(grown.text) - 3
    for _ in range(1_000 if at_end else 3):  # a cut inside a piece is cheap at its end alone
        grown.grow(more)
        grown.truncate(kept)
        grown.grow(whole[kept:] if at_end else whole[: len(whole) - kept])
        assert one.fits(item, one.count + len(item) + 2)
    grown.grow(more)
    grown.copy().check()
    for length in (kept, len(whole) // 2 + 1, len(whole) // 2, LENGTH // 3, 1, 0):
        grown.truncate(length)
        assert grown.one.count == ours.count(grown.text)
