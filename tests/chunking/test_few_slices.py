"""Chunks where few slices are counted, compared with those found by counting any slice."""

import random
import re
from array import array
from typing import Any

import pytest

import cutline
from cutline.chunking import plain_finder
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream, window_finder
from cutline.counting import few_slices as counting_few
from cutline.counting.break_cuts import BreakCuts
from cutline.counting.few_slices import FewSlices, few_slices
from cutline.kernels.breaks.piece_breaks import count_pieces
from cutline.pretokenize.neighbours import Neighbours
from cutline.tables import build_scanner
from tests.conftest import short_or_long
from tests.pretokenize.patterns import PATTERNS
from tests.texts import NAMED_TEXTS, base64_text, random_text, run_length_text
from tests.vocabularies import encoding_of, random_ranks
from tests.words.test_overlaps import outcome

NAMES = ("o200k_base", "cl100k_base", "p50k_base", "gpt2")
# With text between the pieces, with look-ahead far away, and one that takes all.
OTHERS = (r"\w+", r"[a-z]+|\d{1,3}| ", r"a+b|[ab]| +", r"\S+\s|.|\n", r"[^ ]+", r"(?:ab)+|[\s\S]")


@pytest.fixture(autouse=True)
def chunks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_finder, "LEAST_TOKENS", 1)
    monkeypatch.setattr(counting_few, "COUNTED_AGAIN", 1e9)


def text_of(rng: random.Random) -> str:
    parts = [random_text(rng) for _ in range(rng.choice((1, 5, 20, 40)))]
    if rng.random() < 0.3:
        parts.append(run_length_text(rng, 300))
    if rng.random() < 0.5:
        parts.append(rng.choice([*NAMED_TEXTS.values()])[:2_000])
    rng.shuffle(parts)
    return rng.choice(("", " ", "\n", "\n\n")).join(parts)


def chunker_of(rng: random.Random, encoding: cutline.Encoding) -> cutline.TextChunker:
    levels: Any = rng.choice(
        (
            (),
            ("line", "word"),
            ("paragraph", "entry", "line", "sentence", "phrase", "word"),
            ("sentence",),
        )
    )
    return cutline.TextChunker(
        encoding, rng.choice((4, 9, 30, 100)), levels=levels,
        lines=rng.choice(("auto", "keep", "join")), min_fill=rng.choice((0.0, 0.25, 0.6, 1.0)),
        boundary=rng.choice(("grapheme", "character")),
    )  # fmt: skip


def check(rng: random.Random, encoding: cutline.Encoding, text: str) -> bool:
    """Compare; return whether few slices were counted."""
    chunker = chunker_of(rng, encoding)
    rules = chunker._rules
    finder = window_finder(text, encoding, rules, 0)
    assert plain_finder.asks_few(rules)
    found = outcome(ChunkStream(rules).chunks, finder, 0, len(text), final=True)
    is_few = isinstance(finder._own, FewSlices) and finder._own._sums.are_known
    slow = ChunkFinder(text, encoding.intervals(text), rules, encoding=encoding)
    slow._plain = None
    assert found == outcome(ChunkStream(rules).chunks, slow, 0, len(text), final=True), ascii(text)
    assert outcome(chunker.chunk, text) == found
    if isinstance(found, list) and type(encoding) is cutline.Encoding:
        short = text[: rng.randrange(40)]
        batch = chunker.chunk_batch([text, short, text], num_threads=1)
        assert batch == [chunker.chunk(one) for one in (text, short, text)]
    return is_few


@short_or_long("n_texts", 300, 5_000)
@pytest.mark.parametrize("name", NAMES)
def test_chunks_of_packaged_encodings(name: str, n_texts: int) -> None:
    rng, encoding = random.Random(name), cutline.get_encoding(name)
    n_few = sum(check(rng, encoding, text_of(rng)) for _ in range(n_texts))
    assert n_few > n_texts / 2


@short_or_long("n_encodings", 120, 3_000)
def test_chunks_of_random_vocabularies(n_encodings: int) -> None:
    rng, n_few = random.Random(11), 0
    for _ in range(n_encodings):
        pattern = rng.choice((*PATTERNS.values(), *OTHERS))
        encoding = encoding_of(
            random_ranks(rng, rng.choice((b"ab", b"ab ", "añ日".encode()))), pattern
        )
        if not encoding._has_automaton:
            continue
        for _ in range(5):
            letters = "".join(rng.choices("ab \n.1añ日'", k=rng.choice((30, 300))))
            n_few += check(rng, encoding, rng.choice((letters, text_of(rng))))
    assert n_few > n_encodings


@short_or_long("n_texts", 150, 3_000)
def test_counts_are_those_of_slices(n_texts: int) -> None:
    rng, n_few = random.Random(5), 0
    for _ in range(n_texts):
        encoding, text = cutline.get_encoding(rng.choice(NAMES)), text_of(rng)
        few = few_slices(encoding, text)
        if few is None:
            continue
        n_few += 1
        places = range(len(text) + 1)
        for start, end in sorted(sorted(rng.choices(places, k=2)) for _ in range(40)):
            expected = encoding.count(text[start:end])
            assert count_pieces(few._sums, start, end) == expected
        for _ in range(5):  # what it begins with may be forgotten
            start, end = sorted(rng.choices(places, k=2))
            assert few.count(start, end) == encoding.count(text[start:end])
        assert few.count(0, len(text)) == encoding.count(text)
        spans = [(0, len(text) // 2), (0, 0)]
        assert [*few.count_many(spans)] == [encoding.count(text[a:b]) for a, b in spans]
        assert few.split_at(0, 7) == encoding.split_at(text, 7)
    assert n_few > n_texts / 2


def test_slices_that_begin_with_what_was_forgotten() -> None:
    encoding, text = cutline.get_encoding("o200k_base"), "one two, three\n" * 2_000
    few = few_slices(encoding, text)
    assert few is not None
    assert count_pieces(few._sums, 29_000, 30_000) == encoding.count(text[29_000:])
    assert count_pieces(few._sums, 0, 15) == 5
    # A chunk begins where a slice was asked for last.
    assert count_pieces(few._sums, 29_001, 29_900) == encoding.count(text[29_001:29_900])
    asked = BreakCuts(29_001, 29_001, len(text), 70, 0.5, array("i", [7]))
    rows, _ = few.cut_at_breaks(asked)
    assert [*rows[2::4]] == [
        encoding.count(text[a:b]) for a, b in zip(rows[::4], rows[1::4], strict=True)
    ]
    assert count_pieces(few._sums, 0, 15) == -1
    assert few._sums.are_known
    assert few.count(0, 15) == 5


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), *OTHERS])
def test_classes_that_are_always_apart(pattern: str) -> None:
    tables, _ = build_scanner(pattern, stacklevel=1)
    if tables is None:
        return
    pairs, expected = tables.apart, Neighbours(pattern).apart
    if pairs is None:
        assert tables.arrays[3].shape[0] > 1 << 15
        return
    assert pairs.tolist() == expected.astype(int).tolist()


@pytest.mark.parametrize("n", [1_000, 4_090, 4_096, 4_200, 200_000])
@pytest.mark.parametrize("again", [-10.0, 0.0, 2.0, 1e9])
def test_long_pieces(monkeypatch: pytest.MonkeyPatch, again: float, n: int) -> None:
    monkeypatch.setattr(counting_few, "COUNTED_AGAIN", again)
    encoding = cutline.get_encoding("o200k_base")
    for long in ("a" * n, base64_text(n), "日" * n, " " * n):
        for text in (
            long,
            f"one two {long}",
            f"{long} one two",
            f"{'one ' * 50}{long}{' two' * 50}",
        ):
            chunker = cutline.TextChunker(encoding, 70)
            chunks = chunker.chunk(text)
            assert chunker.chunk_batch(["one two", text]) == [chunker.chunk("one two"), chunks]
            assert "".join(chunk.text for chunk in chunks) == text
            assert [one.token_count for one in chunks] == [
                encoding.count(one.text) for one in chunks
            ]
            assert max(one.token_count for one in chunks) <= 70


def test_what_is_not_counted_so() -> None:
    encoding, text = cutline.get_encoding("o200k_base"), "one two three " * 99
    assert few_slices(encoding, text) is not None
    assert few_slices(object(), text) is None
    with pytest.raises(cutline.SurrogateError, match="3"):
        few_slices(encoding, "one\ud800")
    plain = cutline.TextChunker(encoding, 200)._rules
    assert plain_finder.asks_few(plain)
    for options in (
        {"chunk_overlap": 10}, {"stable": True}, {"balance": True}, {"strip": True},
        {"also_fits": {"bytes": 900}}, {"never_across": "line"},
        {"template": cutline.Template("a: {text}")}, {"levels": (re.compile(r"\d"),)},
    ):  # fmt: skip
        rules = cutline.TextChunker(encoding, 200, **options)._rules
        assert not plain_finder.asks_few(rules), options


def test_a_text_of_its_own_is_cut_by_the_kernel_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    chunker, text = cutline.TextChunker("o200k_base", 64), "One two three. " * 99
    want = [*chunker._cut(text, chunker._rules)]
    monkeypatch.setattr(cutline.TextChunker, "_cut", None)
    assert chunker(text) == want
    monkeypatch.setattr("cutline.chunking.chunker.MOST_AT_ONCE", len(text) - 1)
    with pytest.raises(TypeError, match="not callable"):
        chunker(text)


def test_parts_and_wholes_are_cut_alike() -> None:
    rng, encoding = random.Random(2), cutline.get_encoding("cl100k_base")
    text = "".join(text_of(rng) for _ in range(40))
    whole = cutline.TextChunker(encoding, 64).chunk(text)
    for width in (7, 1_000, 50_000):
        parts = [text[at : at + width] for at in range(0, len(text), width)]
        assert [*cutline.TextChunker(encoding, 64).iter_chunks(parts)] == whole


@pytest.mark.parametrize("again", [0.0, 0.5, 2.0])
def test_what_would_be_counted_again_and_again_is_counted_otherwise(
    monkeypatch: pytest.MonkeyPatch, again: float
) -> None:
    """What is between two starts is counted again for each place where a chunk might end."""
    monkeypatch.undo()
    monkeypatch.setattr(counting_few, "COUNTED_AGAIN", again)
    encoding, rng = cutline.get_encoding("o200k_base"), random.Random(8)
    far = ("a b c d" + "1234567890" * 90) * 20
    near = "one two three\n" * 5_000
    seldom = f"{near}{far[:900]}{near}"
    rules = cutline.TextChunker(encoding, 64)._rules
    for text, is_known in ((far, False), (near, True), (seldom, again > 0), (far + near, False)):
        finder = window_finder(text, encoding, rules, 0)
        found = [*ChunkStream(rules).chunks(finder, 0, len(text), final=True)]
        assert isinstance(finder._own, FewSlices)
        assert finder._own._sums.are_known == is_known, (text[:20], again)
        slow = ChunkFinder(text, encoding.intervals(text), rules, encoding=encoding)
        assert found == [*ChunkStream(rules).chunks(slow, 0, len(text), final=True)]
        start, end = sorted(rng.choices(range(len(text)), k=2))
        assert finder._own.count(start, end) == encoding.count(text[start:end])


@pytest.mark.parametrize("letter", ["\xe9", "\u0416", "\u4e2d", "\U0001f600"])
def test_places_far_apart_in_text_of_any_width_are_counted(letter: str) -> None:
    encoding = cutline.get_encoding("o200k_base")
    text = (letter * 300 + " ") * 3 + "x"
    for end in (3, 63, 64, 65, 239, 241, 255, 257, 300, 301, 599):
        few = few_slices(encoding, text)
        assert few is not None
        for place in (600, end):  # on, and back
            assert count_pieces(few._sums, 0, place) == encoding.count(text[:place])
