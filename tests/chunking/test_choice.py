"""Which boundary wins: compared with the rule written out, each candidate encoded anew."""

import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from math import ceil
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cutline import Chunk, IntervalCounter
from cutline.chunking import CodeChunker, MarkdownChunker, TextChunker, TokenChunker
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.chunking.level_choice import make_levels
from cutline.chunking.levels import GraphemeLevel, Level, LineLevel
from tests.oracles import counter
from tests.texts import NAMED_TEXTS, random_texts
from tests.vocabularies import encoding_of, with_bytes

Count = Callable[[str], int]
NAMES = ("paragraph", "entry", "line", "sentence", "phrase", "word")
WORDS = st.sampled_from(
    [
        "one ",
        "two",
        ". ",
        "\n",
        "\n\n",
        "日本",
        "。",
        "Mr. ",
        "(",
        ")",
        "x" * 9,
        "=" * 40,
        "'ll",
        " ",
    ]
)


def expected_end(
    text: str, start: int, floor: int, levels: Sequence[Level], count: Count, size: int, fill: int
) -> tuple[int, str] | None:
    """The last boundary of the best level that fits and fills; all that fits, if it is the end."""
    fitting = [end for end in range(start + 1, len(text) + 1) if count(text[start:end]) <= size]
    if not fitting or fitting[-1] <= floor:
        return None
    if fitting[-1] == len(text):
        return len(text), "end"
    within, first = set(fitting), None
    for level in levels:
        # Of a boundary, only the text up to the greatest end and a little more may tell.
        places = [*filter(within.__contains__, level.every(text, start, floor, fitting[-1]))]
        if places:
            found = places[-1], level.name
            if count(text[start : found[0]]) >= fill or level.is_vital:
                return found
            first = first or found
    return first


def expected_chunks(text: str, count: Count, size: int, min_fill: float) -> list[tuple[int, str]]:
    levels, ends, place = make_levels(NAMES, "grapheme"), [], 0
    while place < len(text):
        found = expected_end(text, place, place, levels, count, size, ceil(min_fill * size))
        assert found is not None
        ends.append(found)
        place = found[0]
    return ends


def ends_of(chunks: list[Chunk]) -> list[tuple[int, str]]:
    return [(chunk.end_index, chunk.metadata["boundary"]) for chunk in chunks]


@settings(max_examples=150)
@example(text=". " + "=" * 80 + "one ", size=4, min_fill=0.0)
@given(
    text=st.lists(WORDS, max_size=30).map("".join),
    size=st.sampled_from([4, 5, 8, 12]),
    min_fill=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
)
def test_the_last_boundary_of_the_best_level_that_fills(
    text: str, size: int, min_fill: float
) -> None:
    chunks = TextChunker("o200k_base", size, min_fill=min_fill).chunk(text)
    assert ends_of(chunks) == expected_chunks(text, counter("o200k_base"), size, min_fill)


def test_the_rule_on_random_and_named_texts() -> None:
    texts = [*random_texts(9, 60), *(text[:150] for text in NAMED_TEXTS.values())]
    for number, text in enumerate(texts):
        size = (4, 8, 16)[number % 3]
        chunks = TextChunker("r50k_base", size).chunk(text)
        assert ends_of(chunks) == expected_chunks(text, counter("r50k_base"), size, 0.25)


class Hidden:
    """Counts as `IntervalCounter` does, and is none."""

    def __init__(self, real: IntervalCounter) -> None:
        self.count = real.count
        self.count_many = real.count_many
        self.split_at = real.split_at


def check_easy_chunks(
    text: str,
    size: int,
    min_fill: float,
    levels: Sequence[str],
    *,
    overlap: int = 0,
    **options: Any,
) -> None:
    chunker = TextChunker("o200k_base", size, overlap, min_fill=min_fill, levels=levels, **options)
    intervals = chunker.encoding.intervals(text)
    finders = [ChunkFinder(text, kind, chunker._rules) for kind in (intervals, Hidden(intervals))]
    easy, hard = (
        [*ChunkStream(chunker._rules).chunks(finder, 0, len(text), final=True)]
        for finder in finders
    )
    assert easy == hard


@settings(max_examples=300)
@given(
    text=st.lists(WORDS, max_size=200).map("".join),
    size=st.sampled_from([4, 8, 30, 100]),
    min_fill=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    levels=st.sampled_from([NAMES, (), ("line",), ("line", "paragraph", "word"), ("sentence",)]),
    stable=st.booleans(),
    boundary=st.sampled_from(["grapheme", "character"]),
)
def test_the_easy_way_to_chunks_gives_those_of_the_hard_one(
    text: str, size: int, min_fill: float, levels: Sequence[str], stable: bool, boundary: str
) -> None:
    check_easy_chunks(text, size, min_fill, levels, stable=stable, boundary=boundary)


def test_the_easy_way_on_random_and_named_texts() -> None:
    for number, text in enumerate([*random_texts(11, 200), *NAMED_TEXTS.values()]):
        size, stable = (4, 16, 64)[number % 3], number % 2 == 0
        check_easy_chunks(text, size, 0.5 if stable else 0.25, NAMES, stable=stable)


def test_many_overlaps_are_counted_as_each_is() -> None:
    texts = ["1234567" * 120, "a. " * 300, "ab" * 400, "one two 34567\n" * 60, "日本語" * 100]
    for number, text in enumerate([*texts, "".join(random_texts(12, 40))]):
        levels = [*NAMES[3:]] if number % 2 else []
        check_easy_chunks(text, 120, 0.25, levels, overlap=110)
        check_easy_chunks(text, 120, 0.25, levels, overlap=110, boundary="character")


def test_the_easy_way_leaves_what_it_cannot_count_to_the_hard_one() -> None:
    ranks = with_bytes(tuple(b"\n" * 2**power for power in range(1, 9)))
    encoding = encoding_of(ranks, r"\n+|c")
    text = "c" + "\n" * 250 + "c"
    chunks = TextChunker(encoding, 3, min_fill=0).chunk(text)
    assert [chunk.end_index for chunk in chunks] == [193, 249, 252]


def test_a_level_of_a_users_class_is_asked() -> None:
    class NoLine(LineLevel):
        def last(self, text: str, start: int, after: int, until: int) -> int:
            return -1

    chunks = TextChunker("o200k_base", 20, levels=[NoLine()]).chunk("a line\nanother\n" * 50)
    assert {chunk.metadata["boundary"] for chunk in chunks} == {"grapheme", "end"}


def test_what_a_users_level_raises_takes_no_chunk_along() -> None:
    asked = 0

    def spaces(part: str) -> list[int]:
        nonlocal asked
        asked += 1
        if asked > 20:
            raise LookupError(f"nothing known of {len(part)} characters")
        return [match.end() for match in re.finditer(r"\s", part)]

    chunks = TextChunker("o200k_base", 16, levels=["line", spaces]).iter_chunks(["fox! " * 999])
    for number in range(20):
        assert next(chunks).index == number
        assert asked == number + 1
    with pytest.raises(LookupError, match="nothing known of"):
        next(chunks)


@pytest.mark.parametrize("size", [2**31, 2**63, 2**70, 10**400])
@pytest.mark.parametrize("overlap", [0, 2**30])
@pytest.mark.parametrize("options", [{}, {"levels": ["word"]}, {"balance": True}, {"strip": True}])
def test_a_budget_beyond_all_numbers_is_one_chunk(
    size: int, overlap: int, options: dict[str, Any]
) -> None:
    chunker = TextChunker("o200k_base", size, overlap, **options)
    for chunks in (chunker.chunk("a\n\nb"), [*chunker.iter_chunks(["a\n", "\nb"])]):
        assert [chunk.text for chunk in chunks] == ["a\n\nb"]


def test_overlap_begins_at_a_word_wherever_the_search_began() -> None:
    text = "a b c d e f g h i j k l m n complete. The next sentence goes on and on here."
    shared = []
    for size, overlap in ((10, 1), (16, 2), (17, 3)):
        chunks = TextChunker("o200k_base", size, overlap, levels=["word"], min_fill=1).chunk(text)
        shared.append([text[b.start_index : a.end_index] for a, b in pairwise(chunks)])
    assert shared == [[" j", " sentence"], [" complete."], [" complete. The"]]


def test_stable_cuts_where_a_longer_slice_has_fewer_tokens() -> None:
    rule = re.compile("^={17}")
    chunks = TextChunker("o200k_base", 4, levels=[rule], stable=True).chunk("=" * 2017 + "the end")
    assert "".join(chunk.text for chunk in chunks) == "=" * 2017 + "the end"


@pytest.mark.parametrize("boundary", ["character", "grapheme"])
def test_overlap_starts_at_the_farthest_boundary_within_it(boundary: str) -> None:
    """C8: step back while the shared text fits; take the farthest start that adds something.

    But one from which no grapheme is torn, unless it does not fit without overlap either.
    """
    count, levels = counter("r50k_base"), make_levels((), boundary)

    def is_whole(start: int, end: int) -> bool:
        return boundary == "character" or GraphemeLevel().last(text, start, end - 1, end) == end

    for text in [*random_texts(10, 60), *(text[:120] for text in NAMED_TEXTS.values())]:
        # Two options that cut alike, by other ways.
        chunks = TokenChunker("r50k_base", 6, 2, boundary=boundary).chunk(text)
        for before, after in pairwise(chunks):
            floor, starts = before.end_index, []
            for level in levels[:1]:
                for place in range(floor - 1, before.start_index, -1):
                    if level.last(text, before.start_index, place - 1, place) != place:
                        continue
                    if count(text[place:floor]) > 2:
                        break
                    starts.append(place)
            found = [
                (place, end[0])
                for place in (*starts[::-1], floor)
                if (end := expected_end(text, place, floor, levels, count, 6, 3)) is not None
            ]
            whole = [cut for cut in found if is_whole(*cut)]
            tears_anyway = found[-1][0] == floor and not is_whole(*found[-1])
            wanted = found[0] if tears_anyway or not whole else whole[0]
            assert (after.start_index, after.end_index) == wanted


FAMILY_TEXT = "They came with the children, the family 👨‍👩‍👧‍👦 and all the others."
HEARTS = (
    "I love it ❤️❤️❤️❤️❤️❤️ so 👍🏿👍🏿👍🏿 much, it is the best of all ❤️❤️ that I have 👍🏿 ever seen."
)
EMOJI = ("👨‍👩‍👧‍👦", "❤️", "👍🏿", "🇩🇪", "ẹ́", "⃝̈", "ا️", "क्क्क", "각")


def check_graphemes(text: str, name: str, chunks: list[Chunk], size: int) -> None:
    """No grapheme is torn but those that are larger than the budget."""
    count, ends = counter(name), GraphemeLevel().every(text, 0, 0, len(text))
    for start, end in pairwise([0, *ends]):
        inside = range(start + 1, end)
        if any(chunk.start_index in inside or chunk.end_index in inside for chunk in chunks):
            assert count(text[start:end]) > size


def test_overlap_gives_way_to_a_grapheme_that_fits() -> None:
    chunks = TextChunker("o200k_base", 12, 4)(FAMILY_TEXT)
    assert any(EMOJI[0] in chunk.text for chunk in chunks)
    check_graphemes(FAMILY_TEXT, "o200k_base", chunks, 12)


def test_overlap_begins_with_no_part_of_a_grapheme() -> None:
    chunks = TextChunker("cl100k_base", 16, 4)(HEARTS)
    assert any(before.end_index > after.start_index for before, after in pairwise(chunks))
    check_graphemes(HEARTS, "cl100k_base", chunks, 16)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "r50k_base"])
def test_a_text_may_begin_with_what_is_attached_to_nothing(name: str) -> None:
    for text in ("⃝̈ا️", "‍👩🏿x", "׉ا ׉׉"):
        for size in (4, 5, 8):
            check_graphemes(text, name, TextChunker(name, size)(text), size)


def test_a_level_of_ones_own_tears_no_grapheme() -> None:
    text = "one👍🏿two❤️three" * 5
    inside = re.compile("👍|❤")
    places = [match.end() for match in inside.finditer(text)]
    for level in (inside, lambda part: [m.end() for m in inside.finditer(part)]):
        chunks = TextChunker("o200k_base", 12, levels=[level])(text)
        check_graphemes(text, "o200k_base", chunks, 12)
        torn = TextChunker("o200k_base", 12, levels=[level], boundary="character")(text)
        assert set(places).intersection(chunk.end_index for chunk in torn)


@settings(max_examples=400)
@given(
    text=st.lists(st.one_of(WORDS, st.sampled_from(EMOJI)), max_size=40).map("".join),
    size=st.integers(4, 24),
    data=st.data(),
    name=st.sampled_from(["o200k_base", "cl100k_base"]),
    make=st.sampled_from([TextChunker, partial(TokenChunker, boundary="grapheme")]),
)
def test_no_grapheme_is_torn_that_fits(
    text: str, size: int, data: st.DataObject, name: str, make: Any
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    options = data.draw(st.sampled_from([{}, {"balance": True}, {"stable": True}]))
    check_graphemes(text, name, make(name, size, overlap, **options)(text), size)


def test_overlap_of_texts_begins_at_sentences() -> None:
    text = "It rains. We stay. Tea is ready. The cat sleeps. A book lies there. It is late now. "
    chunks = TextChunker("o200k_base", 16, 8).chunk(text * 3)
    assert len(chunks) > 3
    for before, after in pairwise(chunks):
        assert after.start_index < before.end_index
        assert text.count(after.text[:8]) == 1


def test_a_small_last_chunk_is_evened_out() -> None:
    text = "This is one sentence of some length. " * 9
    plain = TextChunker("o200k_base", 64).chunk(text)
    even = TextChunker("o200k_base", 64, balance=True, min_fill=0.5).chunk(text)
    assert plain[-1].token_count < 20
    assert len(plain) == len(even) == 2
    assert min(chunk.token_count for chunk in even) >= 32
    assert even[0].metadata["boundary"] == "sentence"
    assert "".join(chunk.text for chunk in even) == text


@pytest.mark.parametrize("make", [TextChunker, TokenChunker])
def test_stable_chunks_meet_again_behind_an_edit(make: Callable[..., TextChunker]) -> None:
    text = "\n\n".join(
        " ".join(f"Sentence {n} of paragraph {k} is here." for n in range(k % 7 + 2))
        for k in range(300)
    )
    chunker = make("o200k_base", 64, stable=True)
    hashes = {chunk.content_hash for chunk in chunker(text)}
    new = []
    for place in range(0, len(text), len(text) // 15):
        chunks = chunker(text[:place] + " inserted words " + text[place:])
        new.append(sum(chunk.content_hash not in hashes for chunk in chunks))
    assert len(hashes) > 200
    assert sum(new) / len(new) <= 5


def test_min_fill_trades_whole_paragraphs_for_full_chunks() -> None:
    text = "\n\n".join("word " * n for n in [20, 70, 30, 90, 10, 60, 80] * 5)
    kept, filled = (TextChunker("o200k_base", 100, min_fill=fill).chunk(text) for fill in (0, 1))
    assert all(chunk.metadata["boundary"] in ("paragraph", "end") for chunk in kept)
    assert len(filled) < len(kept)


def functions(lengths: list[int]) -> str:
    return "".join(
        f"def function_{n}(a):\n" + "    a = a + 1\n" * lines + "    return a\n\n\n"
        for n, lines in enumerate(lengths)
    )


@pytest.mark.parametrize("options", [{}, {"balance": True}, {"stable": True}, {"strip": True}])
@pytest.mark.parametrize("overlap", [0, 8, 30])
def test_what_fits_stays_whole(overlap: int, options: dict[str, bool]) -> None:
    rng = random.Random(4)
    text = functions([rng.randrange(1, 12) for _ in range(120)])
    chunks = CodeChunker("python", "o200k_base", 100, overlap, **options).chunk(text)
    starts = [match.start() for match in re.finditer("def ", text)]
    for start, end in pairwise([*starts, len(text)]):
        assert any(
            chunk.start_index <= start and chunk.end_index >= len(text[:end].rstrip())
            for chunk in chunks
        ), text[start:end]
    assert {chunk.metadata["boundary"] for chunk in chunks} <= {"definition", "end"}


@pytest.mark.parametrize("factor", [1.0, 1.3, 2.2, 5.0])
def test_a_count_that_grows_with_the_text_is_met_by_chunks_of_its_size(factor: float) -> None:
    text = "The quick brown fox jumps over the lazy dog. It was not amused at all! " * 60
    calls = 0

    def sent(chunk: Chunk) -> int:
        nonlocal calls
        calls += 1
        return int(factor * chunk.token_count) + 3

    chunks = TextChunker("o200k_base", 128, count_text=sent).chunk(text)
    tokens = counter("o200k_base")(text)
    assert len(chunks) <= 2.5 * tokens * factor / 125
    assert calls <= 4 * len(chunks)
    assert all(sent(chunk) <= 128 for chunk in chunks)


def test_a_count_that_jumps_is_asked_a_few_times_only() -> None:
    calls = 0

    def sent(chunk: Chunk) -> int:
        nonlocal calls
        calls += 1
        return chunk.token_count if chunk.token_count <= 20 else 513

    chunks = TextChunker("o200k_base", 512, count_text=sent).chunk("one word and another. " * 400)
    assert calls <= 16 * len(chunks)
    with pytest.raises(TypeError, match=r"count_text must return an int, got float 1\.5"):
        TextChunker("o200k_base", 8, count_text=lambda _: 1.5).chunk("a")  # type: ignore


def test_stripped_chunks_say_that_they_go_on_only_where_text_does() -> None:
    text = "".join(f"# Title {n}\n\n```\ncode {n}\n```\n\nSome text.\n\n" for n in range(40))
    for chunk in MarkdownChunker("o200k_base", 64, strip=True).chunk(text):
        assert "continued" not in chunk.metadata
        assert "continues" not in chunk.metadata


@pytest.mark.parametrize("overlap", [6, 12])
def test_overlap_says_something(overlap: int) -> None:
    text = "".join(
        f"Paragraph {n} has one sentence that is longer than twelve tokens, for sure it is.\n\n"
        for n in range(30)
    )
    chunks = TextChunker("o200k_base", 30, overlap).chunk(text)
    for before, after in pairwise(chunks):
        shared = text[after.start_index : before.end_index]
        assert shared.strip().endswith("it is.")
        assert counter("o200k_base")(shared) <= overlap


def test_headings_are_those_of_the_new_text_and_no_overlap_begins_in_code() -> None:
    text = "".join(
        f"# Title {n}\n\nSome words.\n\n```\ncode {n}\nmore code\n```\n\n{'Behind. ' * (n % 4)}\n\n"
        for n in range(30)
    )
    chunks = MarkdownChunker("o200k_base", 30, 8).chunk(text)
    ends = [0, *(chunk.end_index for chunk in chunks)]
    assert any(chunk.start_index < end for chunk, end in zip(chunks, ends, strict=False))
    for chunk, fresh in zip(chunks, ends, strict=False):
        number = text[: fresh + len("# Title")].count("# Title") - 1
        assert chunk.headings == (f"Title {number}",)
        assert text[chunk.start_index : fresh].count("```") % 2 == 0
