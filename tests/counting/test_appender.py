"""After any appends and truncations, an appender says what encoding the whole text says."""

import functools
import random
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import cutline
from cutline import Encoding
from cutline.counting.appender import Appender
from tests.oracles import DISTINCT, Renumbered, real_tiktoken
from tests.texts import COUNTING_CASES, NAMED_TEXTS, random_text, run_length_text
from tests.vocabularies import TOY_TOKENS, encoding_of, random_ranks, with_bytes

# What no published pattern does: many scans alive at once, ends that come and go, gaps.
PATTERNS: dict[str, str | None] = {
    "one piece": None,
    "many pieces become one": r"ab*c|\w|\s",
    "every a waits for a b": r"a*b|a|c",
    "letters alone": r"\p{L}+",
    "gaps while a match may come": r"ab+c|x",
    "look-ahead": r"\s+(?!\S)|\s+|\S",
    "the end of the text makes a piece": r"(?:ab)+$|a|[ab]+|\W",
    "three ends": r"a+b+c|a+b|b*c*d|\S|\s",
}
CASES = [*DISTINCT, *PATTERNS, *TOY_TOKENS]
GIANT = 200_000


@functools.cache
def encoding(case: str) -> Encoding:
    if case in DISTINCT:
        return cutline.get_encoding(case)
    patterns = list(PATTERNS.values())
    if case in PATTERNS:
        ranks, pattern = random_ranks(random.Random(case), b"abc d"), PATTERNS[case]
    else:
        ranks = with_bytes(TOY_TOKENS[case])
        pattern = patterns[list(TOY_TOKENS).index(case) % len(patterns)]
    return encoding_of(ranks, pattern)


@functools.cache
def oracle(case: str) -> Callable[[str], list[int]]:
    if case in DISTINCT:
        return real_tiktoken(case).encode_ordinary
    ours = encoding(case)
    return Renumbered(ours._vocabulary, ours._pat_str).encode_ordinary


def assert_same(appender: Appender, case: str, text: str) -> None:
    want = oracle(case)(text)
    assert (text, appender.count) == (text, len(want))
    assert (appender.text_length, appender.text) == (len(text), text)
    assert appender.tokens() == want


PIECES = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="abcdx \n'", max_size=8),
    st.builds(lambda item, times: item * times, st.sampled_from("ab A日\n-1"), st.integers(1, 90)),
    st.builds(
        lambda item, times: item * times, st.sampled_from(["ab", "b ", "'s"]), st.integers(1, 400)
    ),
    st.integers(0, 2**32).map(lambda seed: random_text(random.Random(seed))),
    st.sampled_from(sorted(COUNTING_CASES.values())),
)


class AppenderMachine(RuleBasedStateMachine):
    """Appends, truncates, copies and asks in any order."""

    @initialize(case=st.sampled_from(CASES), text=PIECES)
    def begin(self, case: str, text: str) -> None:
        self.case, self.text = case, text
        self.appender = encoding(case).appender(text)

    @rule(piece=PIECES)
    def append(self, piece: str) -> None:
        self.appender.append(piece)
        self.text += piece

    @rule(piece=PIECES)
    def append_one_by_one(self, piece: str) -> None:
        for character in piece[:40]:
            self.append(character)
            assert self.appender.count == len(oracle(self.case)(self.text))

    @rule(back=st.integers(0, 20))
    def truncate_a_little(self, back: int) -> None:
        self.truncate(max(0, len(self.text) - back))

    @rule(share=st.floats(0, 1))
    def truncate_much(self, share: float) -> None:
        self.truncate(int(len(self.text) * share))

    def truncate(self, length: int) -> None:
        self.appender.truncate(length)
        self.text = self.text[:length]

    @rule(piece=PIECES, more=st.integers(-2, 2))
    def ask_what_fits(self, piece: str, more: int) -> None:
        after = len(oracle(self.case)(self.text + piece))
        most = max(0, after + more)
        assert self.appender.fits(piece, most) == (after <= most)

    @rule(piece=PIECES, go_on_with_copy=st.booleans())
    def copy(self, piece: str, go_on_with_copy: bool) -> None:
        twin = self.appender.copy()
        twin.append(piece)
        assert_same(self.appender, self.case, self.text)
        assert_same(twin, self.case, self.text + piece)
        if go_on_with_copy:
            self.appender = twin
            self.text += piece

    @invariant()
    def tokens_are_those_of_the_whole_text(self) -> None:
        if hasattr(self, "appender"):
            assert_same(self.appender, self.case, self.text)


TestAppenderMachine = AppenderMachine.TestCase
TestAppenderMachine.settings = settings(
    deadline=None, derandomize=True, max_examples=150, stateful_step_count=30
)


@pytest.mark.parametrize("case", DISTINCT)
def test_count_is_right_behind_every_character_of_the_named_texts(case: str) -> None:
    for text in NAMED_TEXTS.values():
        appender = encoding(case).appender()
        for end, character in enumerate(text[:200], 1):
            appender.append(character)
            if end < 90 or end % 16 == 0:
                assert (text[:end], appender.count) == (text[:end], len(oracle(case)(text[:end])))
        assert_same(appender, case, text[:200])


@pytest.mark.parametrize("case", [*PATTERNS, *TOY_TOKENS])
def test_count_is_right_behind_every_character_of_any_pattern(case: str) -> None:
    rng = random.Random(7)
    for alphabet in ("ab", "abc", "abcd x", "ab\n "):
        text = "".join(rng.choices(alphabet, k=150))
        appender = encoding(case).appender()
        for end, character in enumerate(text, 1):
            appender.append(character)
            assert (text[:end], appender.count) == (text[:end], len(oracle(case)(text[:end])))


@pytest.mark.parametrize("case", CASES)
def test_slicing_a_text_into_appends_changes_nothing(case: str) -> None:
    rng = random.Random(3)
    for length in (300, 5_000):
        text = run_length_text(rng, length) + "".join(rng.choices("abc d", k=length))
        want = encoding(case).count(text)
        for longest in (1, 7, 100, 3_000):
            appender, at = encoding(case).appender(), 0
            while at < len(text):
                end = at + rng.randint(1, longest)
                appender.append(text[at:end])
                at = end
            assert (appender.count, appender.text) == (want, text)


@pytest.mark.parametrize("case", CASES)
def test_truncating_step_by_step_is_right_at_every_length(case: str) -> None:
    rng = random.Random(4)
    text = run_length_text(rng, 3_000) + "ab" * 200 + "".join(rng.choices("abc d\n", k=1_500))
    appender = encoding(case).appender(text)
    length = len(text)
    while length > 0:
        length = max(0, length - rng.choice((0, 1, 1, 3, 40, 700)))
        appender.truncate(length)
        assert appender.count == encoding(case).count(text[:length])
        assert appender.text_length == length
        if rng.random() < 0.3:
            appender.append("ab日")
            assert appender.count == encoding(case).count(text[:length] + "ab日")
            appender.truncate(length)


@pytest.mark.parametrize(
    ("case", "before", "more", "counts"),
    [
        ("o200k_base", "a'", "s", (2, 2)),
        ("o200k_base", "日AB", "c", (2, 3)),
        ("o200k_base", " plötzlic", "h", (4, 1)),
        ("cl100k_base", " informaçõe", "s", (5, 1)),
        ("cl100k_base", " QHBoxLayout", "r", (1, 7)),
        ("o200k_base", " Pennsylvania", "r", (1, 6)),
        ("o200k_base", "don'", "t", (2, 1)),
        ("r50k_base", "'l", "l", (2, 1)),
        ("o200k_base", " " * 127, " ", (2, 1)),
        ("o200k_base", "-" * 111, "-", (2, 1)),
    ],
)
def test_appending_changes_the_tokens_before(
    case: str, before: str, more: str, counts: tuple[int, int]
) -> None:
    appender = encoding(case).appender(before)
    assert appender.count == counts[0] == len(oracle(case)(before))
    assert appender.fits(more, counts[1])
    assert not appender.fits(more, counts[1] - 1)
    appender.append(more)
    assert_same(appender, case, before + more)
    assert appender.count == counts[1]


@pytest.mark.parametrize(
    ("case", "before", "item", "after"),
    [
        ("o200k_base", "", "a", "."),
        ("o200k_base", "", " ", "x"),
        ("o200k_base", "\n", " ", "\nx"),
        ("o200k_base", "日", "A", "b"),
        ("cl100k_base", "", "1", "a"),
        ("o200k_base", "", "'s", "a"),
        ("r50k_base", "", "=", " ="),
        ("o200k_base", "", "\n" + " " * 99, "x"),
        ("one piece", "", "ab", "c"),
        ("the end of the text makes a piece", "", "ab", "a"),
    ],
)
def test_one_giant_piece_grows_in_linear_time(
    case: str, before: str, item: str, after: str
) -> None:
    ours = encoding(case)
    appender = ours.appender(before)
    # What began again at every step would take hours.
    repeats = GIANT // len(item)
    for repeat in range(repeats):
        for character in item:
            appender.append(character)
        assert repeat % 50_000 or appender.count == ours.count(before + item * (repeat + 1))
    text = before + item * repeats
    assert appender.count == ours.count(text)
    for _ in range(1_000):
        appender.append(after)
        appender.truncate(len(text) - 3)
        appender.append(text[-3:])
        assert appender.fits(item, appender.count + len(item))
    assert appender.count == ours.count(text)
    assert appender.copy().count == appender.count
    appender.append(after)
    assert appender.count == ours.count(text + after)


def test_every_piece_alive_is_right_though_slow() -> None:
    ours = encoding("every a waits for a b")
    appender = ours.appender()
    for _ in range(3_000):
        appender.append("a")
    assert appender.count == ours.count("a" * 3_000)
    appender.truncate(1_234)
    assert appender.count == ours.count("a" * 1_234)
    appender.append("b")
    assert appender.count == ours.count("a" * 1_234 + "b")


def test_corpora_are_counted_like_the_whole(corpus: str) -> None:
    rng, text = random.Random(5), corpus[:200_000]
    for case in ("o200k_base", "cl100k_base"):
        ours = encoding(case)
        appender = ours.appender()
        for at in range(0, len(text), 20):
            appender.append(text[at : at + 20])
        assert (appender.count, appender.text) == (ours.count(text), text)
        for length in sorted(rng.sample(range(len(text)), 50), reverse=True):
            appender.truncate(length)
            assert appender.count == ours.count(text[:length])


def test_fits_asks_about_the_text_that_would_be() -> None:
    appender = encoding("o200k_base").appender("don")
    assert not appender.fits("'", 1)
    assert appender.fits("'t", 1)
    assert appender.fits("", 1)
    assert not appender.fits("", 0)
    assert not appender.fits(" word" * 10_000, 9_999)
    assert not appender.fits(" word" * 10_000, 10_000)
    assert appender.fits(" word" * 10_000, 10_001)
    assert (appender.count, appender.text) == (1, "don")


def test_an_appender_is_begun_only_once() -> None:
    appender = encoding("o200k_base").appender("abc")
    appender.__init__(encoding("cl100k_base"), "zz")  # type: ignore[misc]
    appender.append("d")
    assert_same(appender, "o200k_base", "abcd")


def test_repr_says_encoding_length_and_count() -> None:
    appender = encoding("o200k_base").appender("hello world")
    assert repr(appender) == "<Appender of 'o200k_base': 11 code points, 2 tokens>"
