"""Chunks whose template is counted inside the budget, against rendering and counting every end."""

import pickle
import random
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline import BudgetError, MarkdownChunker, Template, TextChunker, TokenChunker
from cutline.chunking import chunk_stream
from cutline.chunking.level_choice import make_levels
from tests.chunking.contract import check
from tests.chunking.test_choice import NAMES, WORDS
from tests.chunking.test_contract import CHUNKERS, Make
from tests.counting.test_framed import measure
from tests.oracles import counter
from tests.texts import NAMED_TEXTS, random_texts

TEMPLATES = (
    Template("passage: {headings}\n\n{text}", special_tokens=2),
    Template("{headings} | {text}", joined_by=" / "),
    Template("<d>{text}</d>", special_tokens=1),
    Template("{index}. {title}: {text}\n", values={"title": "Über"}),
    Template("{text}"),
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"strip": True},
    {"balance": True},
    {"stable": True},
    {"strip": True, "balance": True, "min_fill": 0.8},
    {"also_fits": {"bytes": 60, "r50k_base": 25}},
)
KINDS = (
    "o200k_base",
    "r50k_base",
    "qwen 2.5",
    "modernbert",
    "prefix space",
    "words of bert",
    "words of unigram_of_t5",
    "wrapped bert",
    "wrapped sentence_piece",
)
SECTIONS = st.lists(
    WORDS | st.sampled_from(["\n# Saws\n\n", "\n## Care of teeth\n\n", "\n### Deep > down\n\n"]),
    max_size=40,
).map("".join)


def check_chunks(
    text: str, make: Make, kind: str, size: int, template: Template, options: dict[str, Any]
) -> None:
    encoding, count = measure(kind)
    overlap = options.get("chunk_overlap", 0)
    chunker = make(encoding, size, template=template, **options)
    try:
        chunks = chunker.chunk(text)
    except BudgetError:
        return  # said in tests of their own
    strip = options.get("strip", False)
    check(text, chunks, count, chunk_size=size, chunk_overlap=overlap, strip=strip)
    for chunk in chunks:
        sent = count(template.render(chunk)) + (template.special_tokens or 0)
        assert chunk.metadata["sent_tokens"] == sent <= size
        for unit, most in chunker.also_fits.items():
            assert unit.count(chunk.text) <= most
            assert unit.count(template.render(chunk)) <= most


@settings(max_examples=250)
@given(
    text=SECTIONS,
    make=st.sampled_from([TextChunker, TokenChunker, *CHUNKERS.values()]),
    kind=st.sampled_from(KINDS),
    size=st.sampled_from([12, 17, 40]),
    overlap=st.sampled_from([0, 0, 4]),
    template=st.sampled_from(TEMPLATES),
    options=st.sampled_from(OPTIONS),
)
def test_what_is_sent_is_counted_and_fits(
    text: str, make: Make, kind: str, size: int, overlap: int, template: Template,
    options: dict[str, Any],
) -> None:  # fmt: skip
    options = options | {"chunk_overlap": overlap}
    check_chunks(text, make, kind, size, template, options)


@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_named_texts(make: Make) -> None:
    for number, text in enumerate([*NAMED_TEXTS.values(), *random_texts(8, 30)]):
        options = OPTIONS[number % len(OPTIONS)] | {"chunk_overlap": number % 3}
        template = TEMPLATES[number % len(TEMPLATES)]
        check_chunks(text[:600], make, "o200k_base", (14, 30, 100)[number % 3], template, options)


@settings(max_examples=150)
@given(
    text=st.lists(WORDS, max_size=30).map("".join),
    size=st.sampled_from([8, 12, 20]),
    min_fill=st.sampled_from([0.0, 0.25, 0.9]),
    pattern=st.sampled_from(["passage: {text}", "a{text}", "<d>{text}</d>", "\n{text}"]),
)
def test_each_end_is_the_last_boundary_that_fits(
    text: str, size: int, min_fill: float, pattern: str
) -> None:
    count, template = counter("o200k_base"), Template(pattern, special_tokens=1)
    before, after = template.frame(())

    def most(part: str) -> int:
        return max(count(part), count(before + part + after) + 1)

    ends, place = [], 0
    while place < len(text):
        fitting = [e for e in range(place + 1, len(text) + 1) if most(text[place:e]) <= size]
        if not fitting:
            return
        own = [e for e in range(place + 1, len(text) + 1) if count(text[place:e]) <= size]
        share = size if own[-1] == fitting[-1] else min(size, count(text[place : fitting[-1]]))
        levels = make_levels(NAMES, "grapheme")
        fill = ceil(min_fill * share)
        found = _best_end(text, place, levels, most, count, size, fill)
        ends.append(found)
        place = found[0]
    chunks = TextChunker("o200k_base", size, min_fill=min_fill, template=template).chunk(text)
    assert [(chunk.end_index, chunk.metadata["boundary"]) for chunk in chunks] == ends


def _best_end(
    text: str, start: int, levels: Any, most: Any, count: Any, size: int, fill: int
) -> tuple[int, str]:
    """As `expected_end`, where the fill is of the chunk's own tokens."""
    fitting = [e for e in range(start + 1, len(text) + 1) if most(text[start:e]) <= size]
    if fitting[-1] == len(text):
        return len(text), "end"
    first = None
    for level in levels:
        places = [*filter({*fitting}.__contains__, level.every(text, start, start, fitting[-1]))]
        if places:
            found = places[-1], level.name
            if count(text[start : found[0]]) >= fill or level.is_vital:
                return found
            first = first or found
    assert first is not None
    return first


@pytest.mark.parametrize("template", TEMPLATES[:1] + TEMPLATES[2:4])
@pytest.mark.parametrize("options", [{}, {"strip": True}, {"balance": True}, {"stable": True}])
def test_streams_are_cut_like_whole_texts(
    template: Template, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_stream, "WINDOW_CHARACTERS", 400)
    rng = random.Random(5)
    text = "".join(rng.choices(["one ", "two. ", "\n\n", "日本。", "x" * 40, "three, "], k=900))
    for overlap in (0, 5):
        chunker = TextChunker("o200k_base", 24, overlap, template=template, **options)
        parts = [text[at : at + 37] for at in range(0, len(text), 37)]
        assert list(chunker.iter_chunks(parts)) == chunker.chunk(text)


def test_long_paths_lose_the_outermost_headings() -> None:
    text = "# Outer and rather long title of all\n\n## Inner\n\n" + "One two three. " * 20
    template = Template("{headings}\n\n{text}")
    chunks = MarkdownChunker("o200k_base", 24, template=template).chunk(text)
    count = counter("o200k_base")
    assert {chunk.metadata.get("headings_left_out") for chunk in chunks[1:]} == {1}
    assert chunks[-1].headings == ("Outer and rather long title of all", "Inner")
    assert template.render(chunks[-1]) == f"Inner\n\n{chunks[-1].text}"
    assert all(count(template.render(chunk)) <= 24 for chunk in chunks)


@pytest.mark.parametrize("size", [3, 4, 5, 8])
def test_headings_are_never_why_nothing_fits(size: int) -> None:
    text = "# a b\n\n## c\n\n🦥🦥\n\n## " + "long " * 30 + "\n\nx"
    template = Template("{headings}\n\n{text}")
    chunks = MarkdownChunker("o200k_base", size, template=template).chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text


def test_a_template_without_room_is_a_clear_error() -> None:
    chunker = TextChunker("o200k_base", 6, template=Template("a b c d e: {text}", special_tokens=2))
    with pytest.raises(BudgetError, match=r"the template leaves no room at offset 0: with .* 2 sp"):
        chunker.chunk("some text")


def test_a_field_without_a_value_is_a_clear_error() -> None:
    chunker = TextChunker("o200k_base", 64, template=Template("{heading}: {text}"))
    with pytest.raises(ValueError, match=r"\{heading\} has no value.*did you mean \{headings\}"):
        chunker.chunk("text")
    filled = chunker.with_template(chunker.template.fill(heading="T"))  # type: ignore[union-attr]
    assert filled.template is not None
    assert [filled.template.render(chunk) for chunk in filled.chunk("text")] == ["T: text"]


def test_wrong_options_are_refused() -> None:
    template = Template("{text}")
    with pytest.raises(TypeError, match="both given"):
        TextChunker("gpt2", 8, template=template, count_text=lambda chunk: 1)
    with pytest.raises(TypeError, match=r"must be a cutline\.Template, got str"):
        TextChunker("gpt2", 8, template="{text}")  # type: ignore[arg-type]


def test_special_tokens_are_those_of_the_encoding_by_default() -> None:
    encoding = measure("words of bert")[0]
    wrapped = measure("wrapped bert")[0]
    template = Template("passage: {text}")
    for one in (encoding, wrapped):
        chunks = TextChunker(one, 12, template=template).chunk("one two three four " * 9)
        added = one.num_special_tokens_to_add()
        assert all(
            chunk.metadata["sent_tokens"] == template.count(chunk, one)
            == one.count(template.render(chunk)) + added
            <= 12
            for chunk in chunks
        )  # fmt: skip


def test_chunkers_with_templates_are_pickled_and_shown() -> None:
    chunker = TextChunker("gpt2", 16, template=TEMPLATES[0])
    text = "One fish, two fish. " * 9
    assert pickle.loads(pickle.dumps(chunker)).chunk(text) == chunker.chunk(text)
    assert f"template={TEMPLATES[0]!r})" in repr(chunker)


@pytest.mark.parametrize("pattern", ["{text}", "p: {text}", "{text}\n", "<d>{text}</d>"])
def test_runs_of_a_letter(pattern: str) -> None:
    template = Template(pattern)
    for text in ("a" * 20_000, " " * 5_000, "日" * 3_000):
        check_chunks(text, TextChunker, "o200k_base", 64, template, {})
