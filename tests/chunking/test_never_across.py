"""`never_across`: what lies between two barriers is cut apart, as if it were the whole text."""

import pickle
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline import Chunk, HierarchicalChunker, Template
from cutline.chunking import Chunker, cutting_apart
from cutline.chunking.formats import FORMATS
from cutline.chunking.never_across import barrier_names
from cutline.chunking.parsing import COMMONMARK, DATA, parse
from cutline.cli.cutting import BARRIERS
from cutline.errors import SurrogateError
from tests.chunking.contract import check
from tests.integrations.samples import FISH, UNUSUAL
from tests.oracles import counter
from tests.wrapping.made import KINDS, wrapped

SIZE = 12
PLAIN: dict[str, Callable[..., Chunker]] = {
    "text": cutline.TextChunker,
    "token": cutline.TokenChunker,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "overlap": {"chunk_overlap": 5},
    "strip": {"strip": True},
    "overlap, strip": {"chunk_overlap": 4, "strip": True},
    "balance": {"balance": True, "min_fill": 0.6},
    "balance, overlap": {"balance": True, "chunk_overlap": 3},
    "stable": {"stable": True},
    "stable, overlap": {"stable": True, "chunk_overlap": 5},
    "limits": {"also_fits": {"gpt2": 11, "bytes": 30}},
    "limits, overlap": {"also_fits": {"gpt2": 11}, "chunk_overlap": 5},
    "characters": {"boundary": "character"},
    "template": {"template": Template("in {text}.", special_tokens=1)},
    "template before": {"template": Template("in {text}")},
    "numbered": {"template": Template("{index}: {text}")},
    "framed": {"count_text": lambda chunk: chunk.token_count + 2},
}
PATTERN = re.compile("f")


def by_function(text: str) -> list[int]:
    return [place for place in range(len(text)) if place % 7 == 3]


def stretches(text: str, places: Sequence[int]) -> list[tuple[int, int]]:
    inside = {place for place in places if 0 < place < len(text)}
    return [*pairwise([0, *sorted(inside), len(text)])]


def places_of(never_across: Any, text: str) -> list[int]:
    """Where the barriers are, found in another way."""
    if never_across == "page":
        return [place + 1 for place, character in enumerate(text) if character == "\f"]
    if never_across is PATTERN:
        return [place + 1 for place, character in enumerate(text) if character == "f"]
    if callable(never_across):
        return list(never_across(text))
    if isinstance(never_across, str):
        return cutline.boundaries(text, never_across)
    return list(never_across)


def alone(chunker: Chunker, text: str, places: Sequence[int], name: str) -> list[Chunk]:
    """The chunks of each stretch, cut as a text of its own."""
    made: list[Chunk] = []
    for start, end in stretches(text, places):
        for chunk in chunker(text[start:end]):
            metadata = dict(chunk.metadata)
            if metadata["boundary"] == "end" and end < len(text):
                metadata["boundary"] = name
            made.append(
                chunk.__replace__(
                    start_index=chunk.start_index + start,
                    end_index=chunk.end_index + start,
                    index=len(made),
                    metadata=metadata,
                )
            )
    return made


@given(
    st.sampled_from(sorted(PLAIN)),
    st.sampled_from(sorted(OPTIONS)),
    st.sampled_from(
        ["page", "paragraph", "entry", "line", "sentence", PATTERN, by_function, "offsets"]
    ),
    st.text(st.sampled_from("ab f.,\n\f\r#-é中👍\u0301'1"), max_size=120),
    st.lists(st.integers(0, 120), max_size=5),
)
@settings(max_examples=400)
def test_each_stretch_is_cut_as_a_text_of_its_own(
    kind: str, option: str, never_across: Any, text: str, offsets: list[int]
) -> None:
    if never_across == "offsets":
        never_across = [offset for offset in offsets if offset <= len(text)]
    options = OPTIONS[option]
    chunker = PLAIN[kind]("o200k_base", SIZE, **options, never_across=never_across)
    chunks = chunker(text)
    places = places_of(never_across, text)
    if option != "numbered":  # numbers are those of the whole text
        without = PLAIN[kind]("o200k_base", SIZE, **options)
        name = getattr(never_across, "pattern", getattr(never_across, "__name__", never_across))
        expected = alone(without, text, places, name if isinstance(name, str) else "limit")
        assert chunks == expected
    overlap, strip = options.get("chunk_overlap", 0), options.get("strip", False)
    count = cutline.get_encoding("o200k_base").count
    check(text, chunks, count, chunk_size=SIZE, chunk_overlap=overlap, strip=strip)
    assert_never_crossed(chunks, places)
    for chunk in chunks:
        if chunker.template is not None:
            sent = chunker.template.count(chunk, chunker.encoding)
            assert sent == chunk.metadata["sent_tokens"] <= SIZE
    assert list(chunker.iter_chunks([text[:40], text[40:41], text[41:]])) == chunks
    assert chunker.chunk_batch([text, text]) == [chunks, chunks] or callable(never_across)


def assert_never_crossed(chunks: Sequence[Chunk], places: Sequence[int]) -> None:
    for chunk in chunks:
        assert not any(chunk.start_index < place < chunk.end_index for place in places)


@pytest.mark.parametrize("size", [1, 3, 40])
@pytest.mark.parametrize("unit", ["\n", "a b\n", "é\n", "中文 x\n", "😀\n\n", "\ta\u0301\r\n"])
def test_many_short_stretches_are_cut_as_one_by_one(
    unit: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many at once by a kernel, in blocks of any size, but for a run in which it seeks long."""
    monkeypatch.setattr(cutting_apart, "BLOCK_CHARACTERS", size)
    text = unit * 20 + "=" * 3_000 + "\n" + unit * 20
    chunker = cutline.TextChunker("r50k_base", SIZE, never_across="line")
    found = chunker.chunk(text)
    monkeypatch.setattr("cutline.chunking.chunker.cuts_stretches", lambda *_: None)
    assert found == chunker.chunk(text)
    alone = cutline.TextChunker("r50k_base", SIZE)
    assert [chunk.text for chunk in found] == [
        chunk.text for line in text.splitlines(keepends=True) for chunk in alone.chunk(line)
    ]
    assert [chunk.index for chunk in found] == [*range(len(found))]
    assert found[-1].metadata["boundary"] == "end"
    assert found[0].metadata["boundary"] == "line"


def test_a_surrogate_in_a_stretch_is_named_by_its_place_in_the_text() -> None:
    chunker = cutline.TextChunker("o200k_base", SIZE, never_across="line")
    with pytest.raises(SurrogateError, match="offset 8"):
        chunker.chunk("a\nb\nc\nd \ud800\ne\n")


def test_counts_are_those_of_tiktoken() -> None:
    text = f"{FISH}\f{UNUSUAL}\f" * 3
    chunks = cutline.TextChunker("cl100k_base", 9, 3, never_across="page")(text)
    check(text, chunks, counter("cl100k_base"), chunk_size=9, chunk_overlap=3)
    assert_never_crossed(chunks, places_of("page", text))


MARKDOWN = """\
Before it.

# One

Text of one. It goes on. And on.

## One, two

- a
- b

### Empty
# Two
## Two, one

```python
# no heading
```

Setext
======

> # Quoted, no section

The end of the text, which has several words.
"""


@pytest.mark.parametrize("option", [name for name in OPTIONS if name != "numbered"])
@pytest.mark.parametrize("level", range(1, 7))
def test_no_chunk_crosses_a_heading(level: int, option: str) -> None:
    options = OPTIONS[option]
    chunker = cutline.MarkdownChunker("o200k_base", 40, **options, never_across=f"heading {level}")
    chunks = chunker(MARKDOWN)
    titles = {1: ["# One", "# Two", "Setext"], 2: ["## One, two"], 3: ["### Empty"]}
    begins = [
        MARKDOWN.index(f"\n{title}\n") + 1
        for depth, several in titles.items()
        if depth <= level
        for title in several
    ]
    assert_never_crossed(chunks, begins)
    overlap, strip = options.get("chunk_overlap", 0), options.get("strip", False)
    check(
        MARKDOWN, chunks, counter("o200k_base"), chunk_size=40, chunk_overlap=overlap, strip=strip
    )
    # A heading directly below one of a higher level is in its section.
    assert any("# Two\n## Two, one\n" in chunk.text for chunk in chunks)
    if not overlap and "also_fits" not in options:  # which divides headings from their blocks
        without = cutline.MarkdownChunker("o200k_base", 40, **options)
        expected = [chunk.text for chunk in alone(without, MARKDOWN, begins, "")]
        assert [chunk.text for chunk in chunks] == expected
    for chunk in chunks:
        assert not chunk.text.lstrip().startswith("# Two") or chunk.headings[0] == "Two"


def test_a_budget_below_the_headings_cuts_after_them() -> None:
    chunks = cutline.MarkdownChunker("o200k_base", 4, never_across="heading 1")(MARKDOWN)
    check(MARKDOWN, chunks, counter("o200k_base"), chunk_size=4)
    assert_never_crossed(chunks, [MARKDOWN.index("# Two")])


@given(
    st.lists(
        st.sampled_from(
            ["# A\n", "## B\n", "### C\n", "T\n=\n", "text. ", "\n\n", "\f", "- i\n", "```\n",
             "| a |\n", "|---|\n", "> q\n", "<p>", "👍\n", "x" * 30]
        ),
        max_size=25,
    ).map("".join),
    st.sampled_from(["heading 1", "heading 2", "page", "block", "sentence", [3, 9]]),
    st.sampled_from(sorted(OPTIONS)),
    st.sampled_from([SIZE, 60]),
)  # fmt: skip
@settings(max_examples=250)
def test_any_markdown_is_partitioned(text: str, never_across: Any, option: str, size: int) -> None:
    if isinstance(never_across, list):
        never_across = [offset for offset in never_across if offset <= len(text)]
    options = OPTIONS[option]
    chunker = cutline.MarkdownChunker("o200k_base", size, **options, never_across=never_across)
    chunks = chunker(text)
    overlap, strip = options.get("chunk_overlap", 0), options.get("strip", False)
    count = cutline.get_encoding("o200k_base").count
    check(text, chunks, count, chunk_size=size, chunk_overlap=overlap, strip=strip)
    structure = parse(text, COMMONMARK)
    places = (
        structure.cuts(never_across)
        if isinstance(never_across, str) and never_across in structure.names
        else places_of(never_across, text)
    )
    assert_never_crossed(chunks, places)
    for start, end in stretches(text, places):
        inside = [c for c in chunks if start <= c.start_index < end]
        assert "".join(text[start:end].split()) == "" or inside
        if end - start and count(text[start:end]) <= size and not (options or strip):
            assert [chunk.text for chunk in inside] == [text[start:end]]


def test_records_turns_and_definitions_are_barriers() -> None:
    rows = "a,b\n1,2\n3,4\n5,6\n"
    chunks = cutline.DataChunker("csv", "o200k_base", never_across="record")(rows)
    assert [chunk.text for chunk in chunks] == ["a,b\n1,2\n", "3,4\n", "5,6\n"]
    lines = '{"a": 1}\n{"b": 2}\n'
    chunks = cutline.DataChunker("jsonl", "o200k_base", never_across="record")(lines)
    assert [chunk.text for chunk in chunks] == lines.splitlines(keepends=True)
    page = "<p>x</p><h2>A</h2><p>y</p><h1>B</h1><p>z</p>"
    chunks = cutline.DataChunker("html", "o200k_base", never_across="heading 1")(page)
    assert [chunk.headings for chunk in chunks] == [(), ("B",)]
    program = "import os\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n"
    for isolated in (False, True):
        chunks = cutline.CodeChunker(
            "python", "o200k_base", never_across="definition", isolated=isolated
        )(program)
        assert [chunk.text[:7] for chunk in chunks] == ["import ", "def one", "def two"]
        chunks = cutline.MarkdownChunker("o200k_base", never_across="heading 3", isolated=isolated)(
            MARKDOWN
        )
        assert len(chunks) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_wrapped_tokenizers_cut_stretches(kind: str) -> None:
    text = f"{FISH}\f{FISH[:90]}"
    chunks = cutline.TextChunker(wrapped(kind), 60, never_across="page")(text)
    assert chunks == alone(
        cutline.TextChunker(wrapped(kind), 60), text, places_of("page", text), "page"
    )
    assert len(cutline.MarkdownChunker(wrapped(kind), 400, never_across="page")(text)) == 2


@pytest.mark.parametrize("never_across", ["page", "heading 1", "sentence", [40, 90], by_function])
def test_a_hierarchy_keeps_barriers_at_every_level(never_across: Any) -> None:
    text = f"{FISH}\f{MARKDOWN}"
    chunker = cutline.MarkdownChunker("o200k_base", 60, never_across=never_across)
    levels = HierarchicalChunker(chunker, (60, 20, 8))(text)
    assert [node.chunk for node in levels[0]] == chunker(text)
    barriers = [chunk.end_index for chunk in chunker(text)]
    for nodes in levels:
        assert "".join(node.chunk.text for node in nodes) == text
        assert_never_crossed([node.chunk for node in nodes], barriers)
    plain = cutline.TextChunker("o200k_base", 60, never_across="page")
    assert [node.chunk for node in HierarchicalChunker(plain, (60, 20))(text)[0]] == plain(text)


def test_a_hierarchy_is_balanced_where_the_text_beyond_a_barrier_would_save_tokens() -> None:
    # "functi" has three tokens, and "function" one: half of three reaches across the barrier.
    chunker = cutline.TokenChunker("o200k_base", 3, balance=True, min_fill=1, never_across=[6])
    levels = HierarchicalChunker(chunker, (3, 2))("function")
    assert [node.chunk.text for node in levels[0]] == ["functi", "on"]
    assert [node.chunk.token_count for node in levels[1]] == [2, 1, 1]


def test_a_chunker_keeps_what_it_was_given() -> None:
    for given_, kept in {"page": "page", (5, 3): (5, 3), PATTERN: PATTERN}.items():
        chunker = cutline.TextChunker("o200k_base", never_across=given_)
        twin = pickle.loads(pickle.dumps(chunker))
        assert twin.never_across == chunker.never_across == kept
        assert twin(FISH) == chunker(FISH)
        assert f", never_across={kept!r}" in repr(chunker)
        assert chunker.with_template(Template("{text}")).never_across == kept
    assert cutline.TextChunker("o200k_base").never_across is None
    assert "never_across" not in repr(cutline.TextChunker("o200k_base"))
    made = cutline.chunker_for("a.md", "o200k_base", never_across="heading 2")
    assert made.never_across == "heading 2"


def test_a_wrong_barrier_is_refused() -> None:
    known = "there are 'heading 1', 'heading 2', .*'block', .*'page', 'paragraph', 'entry', 'l"
    with pytest.raises(ValueError, match=f"cannot be 'chapter': {known}"):
        cutline.MarkdownChunker("o200k_base", never_across="chapter")
    with pytest.raises(
        ValueError, match="'heading 1': there are 'page', 'paragraph', 'entry', 'line', 's"
    ):
        cutline.TextChunker("o200k_base", never_across="heading 1")
    for wrong in (3, 2.5, ["page"], b"page", [1.5], object()):
        with pytest.raises(TypeError, match="must be one name, offsets"):
            cutline.TokenChunker("o200k_base", never_across=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be str, got bytes"):
        cutline.TokenChunker("o200k_base", never_across=re.compile(b"a"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be 0 or more, got -2"):
        cutline.TokenChunker("o200k_base", never_across=[4, -2])
    with pytest.raises(ValueError, match="the offset 9, and the text has 3 char") as caught:
        cutline.TokenChunker("o200k_base", never_across=[9]).chunk_batch(["a" * 9, "abc"])
    assert caught.value.__notes__ == ["in the text at place 1 of the batch"]
    with pytest.raises(ValueError, match="gave the offset 80 for a text of 3 characters"):
        cutline.TokenChunker("o200k_base", never_across=lambda _: [80])("abc")
    with pytest.raises(cutline.SurrogateError, match="offset 4"):
        cutline.TokenChunker("o200k_base", never_across="page")("abc\f\ud800")
    with pytest.raises(cutline.BudgetError, match="offset 4"):
        cutline.TextChunker("gpt2", 1, never_across="page")("abc\f👨")


def test_the_command_line_has_the_same_names() -> None:
    languages = [COMMONMARK, "python", *(f"{DATA}{name}" for name in FORMATS)]
    known = [name for language in languages for name in barrier_names(parse("", language).names)]
    assert set(BARRIERS) == set(known)


def test_many_barriers_cost_linear_time() -> None:
    text = "a\f" * 20_000
    for chunker in (cutline.TextChunker, cutline.MarkdownChunker):
        chunks = chunker("o200k_base", 9, 2, never_across="page")(text)
        assert [chunk.text for chunk in chunks] == ["a\f"] * 20_000
