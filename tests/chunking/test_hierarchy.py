"""Chunks of several sizes: each level is a true chunking, and children make up their parent."""

import warnings
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline import HierarchicalChunker, Node
from cutline.chunking import Chunker
from tests.chunking.contract import check_levels
from tests.integrations.samples import FISH, PROGRAM, REPEATED, UNUSUAL
from tests.oracles import counter
from tests.wrapping.made import KINDS, made, wrapped

MADE: dict[str, Callable[..., Chunker]] = {
    "text": lambda: cutline.TextChunker("o200k_base", 9),
    "stable": lambda: cutline.TextChunker("o200k_base", 9, stable=True),
    "balanced": lambda: cutline.TextChunker("cl100k_base", 9, balance=True),
    "token": lambda: cutline.TokenChunker("gpt2", 9),
    "token, graphemes": lambda: cutline.TokenChunker("o200k_base", 9, boundary="grapheme"),
    "markdown": lambda: cutline.MarkdownChunker("o200k_base", 9),
    "code": lambda: cutline.CodeChunker("python", "o200k_base", 9),
    "limits": lambda: cutline.MarkdownChunker("o200k_base", 9, also_fits={"bytes": 150}),
    "template": lambda: cutline.MarkdownChunker(
        "o200k_base", 9, template=cutline.Template("{headings} {text}.", special_tokens=1)
    ),
    "template before": lambda: cutline.TextChunker(
        "o200k_base", 9, template=cutline.Template("in {text}"), also_fits={"bytes": 150}
    ),
    "framed": lambda: cutline.TextChunker(
        "o200k_base", 9, count_text=lambda chunk: chunk.token_count + 2
    ),
}
SIZES = (40, 17, 6)
TEXTS = {
    "fish": FISH,
    "table": "# Table\n\n| a | b |\n|---|---|\n" + "| one | two |\n" * 30,
    "program": PROGRAM[:1500],
    "repeated": REPEATED,
    "unusual": UNUSUAL,
    "crlf": FISH.replace("\n", "\r\n"),
    "white": " \n" * 60,
    "letters": "a" * 400,
    "one": "a",
    "empty": "",
}


def check(made: HierarchicalChunker, text: str) -> list[list[Node]]:
    """What is promised of every hierarchy."""
    chunker = made.chunker
    levels = made(text)
    check_levels(text, levels, made.sizes, chunker.encoding.count)
    for nodes, size in zip(levels, made.sizes, strict=True):
        for chunk in (node.chunk for node in nodes):
            if chunker.count_text is not None:
                assert chunker.count_text(chunk) <= size
            if chunker.template is not None:
                sent = chunker.template.count(chunk, chunker.encoding)
                assert chunk.metadata["sent_tokens"] == sent <= size
    return levels


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("kind", MADE)
def test_children_make_up_their_parent_at_every_level(kind: str, text: str) -> None:
    chunker = MADE[kind]()
    levels = check(HierarchicalChunker(chunker, SIZES), text)
    rules = chunker._rules.replaced(chunk_size=SIZES[0])
    chunker._rules = rules
    assert [node.chunk for node in levels[0]] == chunker(text)


@given(
    st.sampled_from(sorted(MADE)),
    st.text(st.sampled_from("ab .\n#-é中👍\u0301|`'\t1"), max_size=150),
    st.lists(st.integers(6, 60), min_size=1, max_size=4, unique=True),
)
@settings(max_examples=200)
def test_any_text_is_partitioned(kind: str, text: str, sizes: list[int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cutline.errors.UnparsedWarning)
        check(HierarchicalChunker(MADE[kind](), sorted(sizes, reverse=True)), text)


def test_counts_are_those_of_tiktoken() -> None:
    count = counter("o200k_base")
    for nodes in HierarchicalChunker("o200k_base", SIZES)(FISH + UNUSUAL):
        assert all(node.chunk.token_count == count(node.chunk.text) for node in nodes)


@pytest.mark.parametrize("kind", KINDS)
def test_wrapped_tokenizers_count_a_hierarchy(kind: str) -> None:
    check(HierarchicalChunker(cutline.MarkdownChunker(wrapped(kind)), (60, 20)), FISH)
    check(HierarchicalChunker(wrapped(kind), (60, 30)), UNUSUAL[:90])


@pytest.mark.parametrize("kind", KINDS)
def test_loaded_tokenizers_count_a_hierarchy(kind: str) -> None:
    try:
        encoding = cutline.Encoding.from_tokenizers(made(kind))
    except ValueError as error:
        pytest.skip(f"it is wrapped only: {error}")
    check(HierarchicalChunker(cutline.MarkdownChunker(encoding), (60, 20)), FISH)


def test_headings_are_those_of_each_chunk() -> None:
    chunker = cutline.MarkdownChunker("o200k_base")
    large, small = HierarchicalChunker(chunker, (512, 16))(FISH)
    assert [node.chunk.headings for node in large] == [("Fish",)]
    for node in small:
        above = FISH[: node.chunk.start_index + len("## Salmon")]
        opened = [one for one in ("Salmon", "Eels") if f"## {one}" in above]
        assert node.chunk.headings == ("Fish", *opened[-1:])
    assert len({node.chunk.headings for node in small}) == 3


def test_ids_stay_where_the_content_stays() -> None:
    made = HierarchicalChunker(cutline.CodeChunker("python", "o200k_base"), (256, 64))
    before, after = made(PROGRAM), made("# A new line.\n" + PROGRAM)
    for old, new in zip(before, after, strict=True):
        changed = {node.id for node in new} - {node.id for node in old}
        assert len(changed) <= 2
    repeated = Counter(node.id.partition("-")[0] for node in made(REPEATED)[1])
    assert repeated.keys() == {"1"}
    ids = [node.id for node in HierarchicalChunker("o200k_base", (4,))("One fish.\n\n" * 5)[0]]
    assert ids[1:3] == [f"{ids[0]}-2", f"{ids[0]}-3"]


def test_a_text_is_parsed_and_indexed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    chunker = cutline.MarkdownChunker(wrapped("bert"))
    kind = type(chunker.encoding)
    outline, intervals = cutline.MarkdownChunker._outline, kind.intervals

    def counted_outline(self: cutline.MarkdownChunker, text: str) -> object:
        calls["outline"] += 1
        return outline(self, text)

    def counted_intervals(self: cutline.WrappedTokenizer, text: str) -> object:
        calls["intervals"] += 1
        return intervals(self, text)

    monkeypatch.setattr(cutline.MarkdownChunker, "_outline", counted_outline)
    monkeypatch.setattr(kind, "intervals", counted_intervals)
    HierarchicalChunker(chunker, (60, 30, 15))(FISH)
    assert calls == {"outline": 1, "intervals": 1}


def test_options_that_cannot_be_kept_are_refused() -> None:
    for option in ({"chunk_overlap": 2}, {"strip": True}):
        chunker = cutline.TextChunker("o200k_base", 9, **option)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=f"must have no {next(iter(option))}, got"):
            HierarchicalChunker(chunker)
    for sizes in ((), (5, 5), (5, 9)):
        with pytest.raises(ValueError, match="sizes must be one or more, falling, got"):
            HierarchicalChunker("o200k_base", sizes)
    with pytest.raises(ValueError, match="chunk_size must be 1 or more tokens, got 0"):
        HierarchicalChunker("o200k_base", (5, 0))
    with pytest.raises(cutline.BudgetError, match="offset 2"):
        HierarchicalChunker("gpt2", (9, 1))("ab👨c")
    with pytest.raises(cutline.SurrogateError, match="offset 1"):
        HierarchicalChunker("gpt2", (9, 1))("a\ud800")


def test_it_says_what_it_is() -> None:
    made = HierarchicalChunker("o200k_base", (9, 3))
    assert repr(made) == (
        "HierarchicalChunker(TextChunker('o200k_base', chunk_size=512), sizes=(9, 3))"
    )
