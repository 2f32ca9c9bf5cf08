"""The counting structures of the reference answer as encoding anew would."""

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from cutline.reference import Appender, IntervalCounter, PrefixTable, Tokens
from cutline.reference.prefixes import table_of
from cutline.reference.textbook import merge
from cutline.reference.tree import Tree
from tests.oracles import textbook_merge
from tests.reference.samples import all_small_ranks, tokens_of, trained_ranks, worst_texts
from tests.vocabularies import TOY_TOKENS, Ranks, random_ranks, token_text, with_bytes


def check_intervals(ranks: Ranks, tokens: Tokens, piece: bytes) -> None:
    """Compare every interval of a piece with the definition."""
    counter = IntervalCounter(tokens, piece)
    for start in range(len(piece) + 1):
        for end in range(start, len(piece) + 1):
            want = textbook_merge(ranks, piece[start:end])
            assert (piece, start, end, counter.encode(start, end)) == (piece, start, end, want)
            assert (piece, start, end, counter.count(start, end)) == (piece, start, end, len(want))


def test_every_interval_is_counted_as_its_bytes_alone() -> None:
    rng = random.Random(12)
    for ranks, letters in all_small_ranks(10):
        tokens = tokens_of(ranks)
        for length in (0, 1, 20):
            check_intervals(ranks, tokens, bytes(rng.choices(letters, k=length)))
        check_intervals(ranks, tokens, token_text(rng, ranks, 5)[:20])


@pytest.mark.exhaustive
@pytest.mark.parametrize("toy", TOY_TOKENS.values(), ids=TOY_TOKENS.keys())
def test_every_interval_of_many_strings_is_counted_as_its_bytes_alone(
    toy: tuple[bytes, ...],
) -> None:
    rng, ranks = random.Random(13), with_bytes(toy)
    tokens = tokens_of(ranks)
    for _ in range(500):
        letters = rng.choice((b"ab", b"abc", b"abcd", *toy))
        check_intervals(ranks, tokens, bytes(rng.choices(letters, k=30)))


@pytest.mark.parametrize("name", worst_texts(0))
def test_some_intervals_of_long_texts_are_counted_as_their_bytes_alone(name: str) -> None:
    rng, ranks = random.Random(14), trained_ranks()[name]
    tokens, piece = tokens_of(ranks), worst_texts(2_000)[name].encode()
    counter = IntervalCounter(tokens, piece)
    for _ in range(20):
        start, end = sorted(rng.choices(range(len(piece) + 1), k=2))
        assert counter.count(start, end) == IntervalCounter(tokens, piece[start:end]).count(
            0, end - start
        )


def test_a_meeting_on_a_token_that_cannot_stay_is_none() -> None:
    ranks = with_bytes(TOY_TOKENS["retracted bbb"])
    check_intervals(ranks, tokens_of(ranks), b"abbabbbb")


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 4), (4, 4)])
def test_intervals_outside_the_piece_are_refused(start: int, end: int) -> None:
    counter = IntervalCounter(tokens_of(with_bytes(())), b"abc")
    for ask in (counter.count, counter.encode):
        with pytest.raises(IndexError, match=r"must lie in a piece of 3 bytes"):
            ask(start, end)


def test_prefix_table_holds_the_last_token_and_count_of_every_prefix() -> None:
    rng = random.Random(15)
    for ranks, letters in all_small_ranks(10):
        piece = bytes(rng.choices(letters, k=25)) + token_text(rng, ranks, 3)[:25]
        table = table_of(tokens_of(ranks), piece)
        for end in range(1, len(piece) + 1):
            want = merge(ranks, piece[:end])
            assert (table.last[end], table.counts[end]) == (want[-1], len(want))
            assert table.encoding(end) == want


def test_prefix_table_takes_just_one_token_at_each_place() -> None:
    tokens = tokens_of(with_bytes(TOY_TOKENS["powers of a"]))
    table = PrefixTable(tokens)
    for end in range(1, 100):
        offered = [token for token in (b"a", *TOY_TOKENS["powers of a"]) if len(token) <= end]
        assert sum(table.offer(end, token) for token in offered) == 1
        assert not any(table.offer(end, token) for token in offered)


def test_tree_knows_ancestors() -> None:
    rng = random.Random(16)
    for n_nodes in (1, 2, 3, 10, 60):
        parents = [rng.randrange(max(0, node - 4), node) for node in range(1, n_nodes)]
        tree = Tree(parents)
        for node in range(n_nodes):
            above = {node}
            while 0 not in above:
                above.add(parents[min(above) - 1])
            assert {other for other in range(n_nodes) if tree.is_above(other, node)} == above


def machine_ranks(seed: int) -> Ranks:
    """A toy for the first seeds, then random vocabularies."""
    toys = list(TOY_TOKENS.values())
    if seed < len(toys):
        return with_bytes(toys[seed])
    return random_ranks(random.Random(seed), b"abc")


class Appending(RuleBasedStateMachine):
    """Appends and truncations in any order, next to plain bytes."""

    @initialize(seed=st.integers(0, 40))
    def begin(self, seed: int) -> None:
        self.ranks = machine_ranks(seed)
        self.appender = Appender(tokens_of(self.ranks))
        self.text = b""

    @rule(part=st.text("abcd", max_size=9).map(str.encode))
    def append(self, part: bytes) -> None:
        self.appender.append(part)
        self.text += part

    @rule(data=st.data())
    def append_token(self, data: st.DataObject) -> None:
        longer = [token for token in self.ranks if 1 < len(token) < 20]
        self.append(data.draw(st.sampled_from(longer or [b"a"])))

    @precondition(lambda self: self.text)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        length = data.draw(st.integers(0, len(self.text)))
        self.appender.truncate(length)
        self.text = self.text[:length]

    @invariant()
    def answers_for_the_whole_text(self) -> None:
        want = textbook_merge(self.ranks, self.text)
        assert len(self.appender) == len(self.text)
        assert self.appender.encode() == want
        assert self.appender.count() == len(want)


TestAppending = Appending.TestCase
TestAppending.settings = settings(max_examples=40, stateful_step_count=20)


def test_a_token_grows_back_after_truncation_at_any_place_in_it() -> None:
    for ranks, _ in all_small_ranks(5):
        appender = Appender(tokens_of(ranks))
        for token in [token for token in ranks if 1 < len(token) < 20][:40]:
            for length in range(len(token)):
                appender.append(token[: length + 1])
                appender.truncate(length)
                appender.append(token[length:])
                assert appender.encode() == textbook_merge(ranks, token)
                appender.truncate(0)


def test_appending_byte_by_byte_is_appending_all() -> None:
    for name, ranks in trained_ranks().items():
        text = worst_texts(1_000).get(name, "hello world " * 50).encode()
        tokens = tokens_of(ranks)
        slow, quick = Appender(tokens), Appender(tokens)
        quick.append(text)
        for byte in text:
            slow.append(bytes([byte]))
        assert slow.encode() == quick.encode() == IntervalCounter(tokens, text).encode(0, len(text))


@pytest.mark.parametrize("length", [-1, 4])
def test_truncating_to_more_than_there_is_is_refused(length: int) -> None:
    appender = Appender(tokens_of(with_bytes(())))
    appender.append(b"abc")
    with pytest.raises(IndexError, match=rf"length must be from 0 to 3, got {length}"):
        appender.truncate(length)
