"""The automaton of tokens is made as texts need it, and forgets; counts do not depend on that.

Long pieces of random vocabularies, by all that reads with it: appending, prepending, cuts with
overlap, intervals and encoding, with limits at which it begins again every few bytes.
"""

import random
import tracemalloc
from collections.abc import Iterator

import pytest

import cutline
from cutline.kernels.bpe.matches import limit_nodes
from tests.oracles import Count, greedy_spans, with_count
from tests.vocabularies import Ranks, encoding_of, random_ranks, token_text, with_bytes

ALPHABETS = (b"a", b"ab", b"abc", b"abcd ", "aé".encode(), "中文 ".encode(), "😀\u200d".encode())
SINGLE_BYTES = 257  # nodes that are always there, with the root's


@pytest.fixture(params=[SINGLE_BYTES, SINGLE_BYTES + 40, None], ids=["least", "few", "usual"])
def _limit(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param is None:
        yield
        return
    usual = limit_nodes(request.param)
    yield
    limit_nodes(usual)


def drawn(rng: random.Random) -> tuple[cutline.Encoding, Count, str]:
    """A vocabulary that does not split, and a text of long repeats, tokens and noise."""
    alphabet = rng.choice(ALPHABETS)
    letters = alphabet.decode()
    ranks = random_ranks(rng, alphabet)
    ours, count = with_count(ranks, None)
    parts = [
        "".join(rng.choices(letters, k=rng.choice((30, 70, 150)))),
        letters[0] * rng.choice((20, 90)),
        token_text(rng, ranks, 20).decode(errors="ignore")[:200],
        "".join(rng.choices(letters, k=3)) * 30,
    ]
    return ours, count, "".join(rng.sample(parts, 3))


@pytest.mark.usefixtures("_limit")
@pytest.mark.parametrize("seed", range(12))
def test_texts_grow_at_both_ends_whatever_is_forgotten(seed: int) -> None:
    rng = random.Random(seed)
    ours, count, text = drawn(rng)
    appender, prepender, other = ours.appender(), ours.prepender(), ours.appender()
    at = 0
    while at < len(text):
        step = rng.choice((1, 1, 2, 7, 40))
        appender.append(text[at : at + step])
        prepender.prepend(text[::-1][at : at + step][::-1])
        at += step
        # The same automaton reads another text in between.
        other.append(rng.choice(text) * 3)
        assert (text[:at], appender.count) == (text[:at], count(text[:at]))
        assert prepender.count == count(text[-at:])
        if rng.random() < 0.1:
            at = min(at, len(text)) // 2
            appender.truncate(at)
            prepender.truncate(at)
    assert other.count == count(other.text)
    twin = appender.copy()
    twin.append(text)
    assert twin.count == count(text + text)


@pytest.mark.usefixtures("_limit")
@pytest.mark.parametrize("seed", range(12))
def test_slices_and_cuts_are_exact_whatever_is_forgotten(seed: int) -> None:
    rng = random.Random(100 + seed)
    ours, count, text = drawn(rng)
    assert ours.count(text) == count(text)
    intervals = ours.intervals(text)
    # Often enough that trees are grown of the piece.
    for _ in range(60):
        start, end = sorted(rng.choices(range(len(text) + 1), k=2))
        assert intervals.count(start, end) == count(text[start:end])
    text = text[:120]
    longest = max(map(len, ours._mergeable_ranks))
    for n, overlap in ((1, 0), (3, 1), (8, 3)):
        spans = greedy_spans(count, text, n, overlap, longest)
        if spans is not None:
            chunks = cutline.TokenChunker(ours, n, overlap)(text)
            assert [(chunk.start_index, chunk.end_index) for chunk in chunks] == spans


def test_more_nodes_than_are_kept() -> None:
    """Every token of o200k in one piece has more beginnings than the automaton keeps."""
    ranks = cutline.get_encoding("o200k_base")._mergeable_ranks
    ours = encoding_of(ranks, None)
    tokens = [token for token in ranks if len(token) > 1]
    random.Random(1).shuffle(tokens)
    text = b"".join(tokens).decode(errors="ignore")
    want = ours.count(text)
    appender, prepender = ours.appender(), ours.prepender()
    appender.append(text)
    prepender.prepend(text[len(text) // 2 :])
    prepender.prepend(text[: len(text) // 2])
    assert (appender.count, prepender.count) == (want, want)


@pytest.mark.parametrize("text", ["a" * 1_000, "ab" * 20_000, " " * 500, "不知道" * 200])
def test_the_first_long_piece_builds_no_tables(text: str) -> None:
    """They took 120 to 190 ms, in the midst of a call."""
    ranks: Ranks = with_bytes(
        (*(b"a" * n for n in range(2, 400)), b"ab", b"abab", b"  ", "不".encode())
    )
    ours = encoding_of(ranks, None)
    ours.count("short")
    tracemalloc.start()
    try:
        ours.count(text)
        ours.appender().append(text)
        cutline.TokenChunker(ours, 64, 8)(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Numpy's arrays are traced: the tables of this vocabulary had a megabyte.
    assert peak < 400_000
