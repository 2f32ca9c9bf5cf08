"""`verify`: it passes what is exact, and finds what is wrong, whoever made the chunks."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.verification import Report, verify
from tests.conftest import short_or_long
from tests.oracles import DISTINCT, counter, real_tiktoken
from tests.texts import HANDSHAKE, NAMED_TEXTS, PEER_BREAKERS, random_text, run_length_text

ENC = cutline.get_encoding("o200k_base")
TIKTOKEN = real_tiktoken("o200k_base")
REPEATED = "The same sentence again. " * 500
FOX = "The quick brown fox jumps over the lazy dog. It was not amused."


def kinds(report: Report) -> dict[str, int]:
    """How many findings of each kind."""
    return {str(kind): count for kind, count in report.counts().items()}


def tokens(text: str) -> int:
    """Count with tiktoken."""
    return len(TIKTOKEN.encode_ordinary(text))


@short_or_long("every", 4, 1)
@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize(("n", "overlap"), [(4, 0), (8, 3), (64, 0), (64, 16)])
def test_exact_chunks_have_no_findings(name: str, n: int, overlap: int, every: int) -> None:
    enc, options = cutline.get_encoding(name), {"chunk_size": n, "chunk_overlap": overlap}
    encodings = (enc, name, real_tiktoken(name), counter(name))
    for number, text in enumerate(NAMED_TEXTS.values()):
        chunks = enc.split(text, n, overlap)
        for given_as in (chunks, [chunk.text for chunk in chunks]):
            for encoding in encodings if every == 1 else [encodings[number % every]]:
                report = verify(text, given_as, encoding=encoding, **options)
                assert report.ok, (text, str(report))
        assert report.chunk_count == len(chunks)
        assert report.lost_characters == report.lost_white_space == 0


@settings(max_examples=80)
@given(st.integers(0, 2**32), st.integers(4, 40), st.integers(0, 12))
def test_repetition_alone_makes_no_finding(seed: int, n: int, overlap: int) -> None:
    rng, overlap = random.Random(seed), min(overlap, n - 1)
    text = random_text(rng) * rng.choice((1, 3, 30))
    chunks = ENC.split(text, n, overlap)
    report = verify(text, [chunk.text for chunk in chunks], chunk_size=n, chunk_overlap=overlap)
    assert report.ok, str(report)


@pytest.mark.parametrize("n", [16, 64, 256])
def test_runs_without_offsets_are_located(n: int) -> None:
    for run in ("a", "-", " ", "\n", "ab", "1", HANDSHAKE, "a, b, ", REPEATED[:25]):
        text = run * (8_000 // len(run))
        chunks = [chunk.text for chunk in ENC.split(text, n, n // 8)]
        report = verify(text, chunks, chunk_size=n, chunk_overlap=n // 8)
        assert report.ok, (run, str(report))


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_text_that_is_left_out_is_counted(seed: int) -> None:
    rng = random.Random(seed)
    text = run_length_text(rng, 400)
    chunks = ENC.split(text, 8)
    left_out = rng.randrange(len(chunks))
    report = verify(text, [c for c in chunks if c.index != left_out], chunk_size=8)
    assert not report.ok
    # Where text repeats, another chunk may be believed to be the one that is missing.
    assert report.lost_characters + report.lost_white_space == len(chunks[left_out].text)


def test_every_kind_is_found() -> None:
    chunks = ENC.split(FOX, 5)
    assert len(chunks) == 3
    one, two, three = chunks
    cases: dict[str, list[Any]] = {
        "over budget": [replace(one, text=one.text + two.text, token_count=10), three],
        "wrong offsets": [one, replace(two, start_index=two.start_index + 1), three],
        "wrong token count": [one, replace(two, token_count=4), three],
        "text lost": [one, three],
        "overlap too large": [one.text, "x" + two.text, three.text],
        "nothing new": [one, two, two, three],
        "out of order": [two, one, three],
    }
    for kind, given_chunks in cases.items():
        if kind == "overlap too large":
            given_chunks[1] = one.text[-2:] + two.text
        found = kinds(verify(FOX, given_chunks, chunk_size=5, encoding=TIKTOKEN))
        assert kind in found, (kind, found)
    assert kinds(
        verify(FOX, [one, two, replace(two, text="never there"), three], chunk_size=5)
    ) == {
        "invented text": 1,
        "wrong offsets": 1,
        "wrong token count": 1,
    }
    stripped = [chunk.text.strip() for chunk in chunks]
    report = verify(FOX, stripped, chunk_size=5)
    assert kinds(report) == {"white space lost": 2}
    assert (report.lost_characters, report.lost_white_space) == (0, 2)
    assert verify(FOX, stripped, chunk_size=5, strip=True).lost_white_space == 2
    assert verify(FOX, stripped, chunk_size=5, strip=True).ok


def test_findings_say_what_and_where() -> None:
    report = verify("one two three", ["one", " three"], chunk_size=1)
    (finding,) = report.findings
    assert (finding.kind, finding.chunk, finding.start, finding.end) == ("text lost", 1, 3, 7)
    assert str(finding) == "text lost: chunk 1: ' two' at 3 is in no chunk"
    end = verify("one two", ["one"], chunk_size=1).findings[0]
    assert str(end) == "text lost: end of the text: ' two' at 3 is in no chunk"
    assert not report
    assert "text lost: 1" in str(report)
    with pytest.raises(AssertionError, match="' two' at 3"):
        report.raise_for_findings()
    fine = verify("one two", ["one", " two"], chunk_size=2)
    fine.raise_for_findings()
    assert bool(fine)
    assert fine.mean_fill == 0.5
    assert "all exact" in str(fine)


def test_a_long_report_is_cut() -> None:
    lines = str(verify(FOX, list(FOX), encoding=lambda text: 9, chunk_size=1)).splitlines()
    assert lines[-1] == f"- and {len(FOX) - 20} more"


@dataclass
class Document:
    """As LangChain makes them."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


def test_chunks_of_many_makes_are_read() -> None:
    chunks = ENC.split(FOX, 5)
    shapes: list[list[Any]] = [
        [(chunk.start_index, chunk.text) for chunk in chunks],
        [
            {"text": chunk.text, "start": chunk.start_index, "end": chunk.end_index}
            for chunk in chunks
        ],
        [{"content": c.text, "meta": {"start_index": c.start_index}} for c in chunks],
        [Document(c.text, {"start_index": c.start_index, "token_count": 5}) for c in chunks[:2]]
        + [Document(chunks[2].text)],
        [
            SimpleNamespace(text=c.text, start_char_idx=c.start_index, end_char_idx=c.end_index)
            for c in chunks
        ],
    ]
    for shape in shapes:
        assert verify(FOX, shape, chunk_size=5).ok
    offsets = [(chunk.start_index, chunk.end_index) for chunk in chunks]
    haystack = [SimpleNamespace(content=FOX[a:b], meta={"split_idx_start": a}) for a, b in offsets]
    for shape in (offsets, haystack):
        assert verify(FOX, shape, chunk_size=5).ok
    for wrong in (
        [(1, chunks[0].text)],
        [(0, len(chunks[0].text) + 1)],
        [{"text": chunks[0].text, "start": -1}],
        [Document(chunks[0].text, {"start_index": 3})],
        [SimpleNamespace(text=chunks[0].text, start_char_idx=0, end_char_idx=3)],
    ):
        assert "wrong offsets" in kinds(verify(chunks[0].text, wrong, chunk_size=5))
    with pytest.raises(TypeError, match="chunk 1, of type int, has no text"):
        verify(FOX, [FOX, 3], chunk_size=99)


@pytest.mark.parametrize("made", [float, str, np.float64])
def test_offsets_and_counts_of_tables_are_checked(made: Callable[[int], Any]) -> None:
    """Beside missing values pandas has 5.0 for 5, and a file of CSV has "5"."""
    rows = [
        {
            "text": chunk.text,
            "start_index": made(chunk.start_index),
            "end_index": float("nan"),
            "metadata": {"token_count": made(chunk.token_count)},
        }
        for chunk in ENC.split(FOX, 5)
    ]
    assert verify(FOX, rows, chunk_size=5).ok
    moved = [{**row, "start_index": made(7)} for row in rows]
    assert kinds(verify(FOX, moved, chunk_size=5)) == {"wrong offsets": 3}
    wrong = [{**row, "token_count": made(9)} for row in rows]
    assert kinds(verify(FOX, wrong, chunk_size=5)) == {"wrong token count": 3}


@pytest.mark.parametrize("wrong", [0.5, "here", "", float("inf")])
def test_what_is_no_offset_is_named(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"chunk 1 has start_index=.*, which must be an integer"):
        verify(FOX, [FOX, {"text": FOX, "start_index": wrong}], chunk_size=99)


def test_times_of_a_transcript_are_no_offsets() -> None:
    parts = [{"text": FOX, "start": 12.0, "end": 14.5}, {"text": FOX, "start": "00:12"}]
    assert verify(FOX + FOX, parts, chunk_size=99).ok


class HuggingFace:
    """Encodes as `tokenizers` and `transformers` do: with special tokens unless told not to."""

    def __init__(self, wrapped: bool) -> None:
        self.wrapped = wrapped

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Any:
        ids = (
            [0, *ENC.encode_ordinary(text), 0] if add_special_tokens else ENC.encode_ordinary(text)
        )
        return SimpleNamespace(ids=ids) if self.wrapped else ids


def test_tokenizers_of_many_makes_count() -> None:
    plain = SimpleNamespace(encode=ENC.encode_ordinary)
    for encoding in (HuggingFace(True), HuggingFace(False), plain, TIKTOKEN, tokens, ENC):
        assert verify(FOX, ENC.split(FOX, 5), encoding=encoding, chunk_size=5).ok
    with pytest.raises(TypeError, match="encoding must be an Encoding"):
        verify(FOX, [], encoding=3, chunk_size=5)


def test_what_is_sent_is_what_must_fit() -> None:
    chunks = [replace(chunk, headings=("Animals",)) for chunk in ENC.split(FOX, 5)]

    def sent(chunk: cutline.Chunk) -> int:
        return ENC.count(f"{chunk.headings[0]}: {chunk.text}")

    report = verify(FOX, chunks, chunk_size=5, count_text=sent)
    assert kinds(report) == {"over budget": 3}
    assert report.most_tokens == 8


SENT = cutline.Template("passage: {headings}\n{text}", special_tokens=2)
FISH = "# Fish\n\nOne fish, two fish.\n\n## Red\n\nRed fish, blue fish. They swim.\n" * 3


@pytest.mark.parametrize(
    "shape",
    [
        lambda chunk: chunk,
        lambda chunk: {
            "text": chunk.text,
            "headings": chunk.headings,
            "metadata": {**chunk.metadata},
        },
        lambda chunk: SimpleNamespace(
            page_content=chunk.text, metadata={**chunk.metadata, "headings": list(chunk.headings)}
        ),
        lambda chunk: {
            "content": chunk.text,
            "meta": {**chunk.metadata, "headings": " > ".join(chunk.headings)},
        },
    ],
)
@pytest.mark.parametrize("size", [16, 24])
def test_what_a_template_sends_is_what_must_fit(shape: Any, size: int) -> None:
    chunker = cutline.MarkdownChunker(ENC, size, template=SENT, also_fits={"bytes": 90})
    chunks = [shape(chunk) for chunk in chunker(FISH)]
    options: dict[str, Any] = {"encoding": ENC, "template": SENT}
    report = verify(FISH, chunks, chunk_size=size, also_fits={"bytes": 90}, **options)
    assert report.ok, report
    assert report.most_tokens == max(SENT.count(chunk, ENC) for chunk in chunker(FISH))
    sent = [SENT.render(chunk) for chunk in chunker(FISH)]
    smaller = verify(FISH, chunks, chunk_size=report.most_tokens - 1, **options)
    over = sum(tokens(one) + 2 > report.most_tokens - 1 for one in sent)
    assert kinds(smaller) == {"over budget": over}
    longest = max(len(one.encode()) for one in sent)
    bytes_ = verify(FISH, chunks, chunk_size=size, also_fits={"bytes": longest - 1}, **options)
    assert bytes_.also_fits[0].largest == longest
    assert kinds(bytes_) == {"over budget": sum(len(one.encode()) == longest for one in sent)}


def test_the_tokens_that_are_said_to_be_sent_are_checked() -> None:
    (chunk,) = cutline.TextChunker(ENC, 32, template=SENT)(FOX)
    wrong = replace(chunk, metadata={**chunk.metadata, "sent_tokens": 3})
    report = verify(FOX, [wrong], chunk_size=32, template=SENT)
    assert kinds(report) == {"wrong token count": 1}
    assert "sent_tokens is 3, but for " in report.findings[0].message
    titled = cutline.Template("{title}: {text}")
    with pytest.raises(ValueError, match="has no value"):
        verify(FOX, [], chunk_size=32, template=titled)
    with pytest.raises(ValueError, match="both given"):
        verify(FOX, [], chunk_size=32, template=SENT, count_text=len)


def test_special_tokens_are_those_of_any_tokenizer() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "[S]": 1}, "[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing("[S] $A", None, [("[S]", 1)])
    template = cutline.Template("{text}")
    for encoding in (made, cutline.wrap(made)):
        options: dict[str, Any] = {"encoding": encoding, "template": template}
        assert verify("a b c", ["a b", " c"], chunk_size=3, **options).ok
        assert not verify("a b c", ["a b", " c"], chunk_size=2, **options).ok


LEVELS = cutline.HierarchicalChunker(cutline.MarkdownChunker(ENC), (32, 16, 8))


def test_hierarchies_that_are_right_have_no_findings() -> None:
    for text in (FISH, FOX, REPEATED[:2000], ""):
        assert all(cutline.verify_levels(text, LEVELS(text), sizes=LEVELS.sizes))
    sent = LEVELS.chunker.with_template(SENT)
    levels = cutline.HierarchicalChunker(sent, (48, 24))(FISH)
    assert all(cutline.verify_levels(FISH, levels, sizes=(48, 24), template=SENT))
    assert not all(cutline.verify_levels(FISH, levels, sizes=(48, 16), template=SENT))


WRONG = {
    "another parent": (2, 0, {"parent": 1}, 2, "its parent is 1, but it is a child of 0"),
    "another id": (2, 0, {"parent_id": "x"}, 2, "its parent_id is 'x', but that of its parent"),
    "fewer children": (1, 0, {"children": range(0)}, 1, "its children, none, do not make it up"),
    "more children": (1, 0, {"children": range(3)}, 1, r"its children, chunks \[0, 1, 2\], do not"),
    "none there": (1, 1, {"children": range(90, 91)}, 1, "there is no chunk 90 below it"),
    "before all": (1, 1, {"children": range(-1, 0)}, 1, "there is no chunk -1 below it"),
    "a parent above all": (0, 0, {"parent": 0}, 0, "its parent is 0, but it is no child of any"),
}


@pytest.mark.parametrize(
    ("level", "place", "change", "where", "message"), WRONG.values(), ids=WRONG
)
def test_broken_hierarchies_are_found(
    level: int, place: int, change: dict[str, Any], where: int, message: str
) -> None:
    levels = LEVELS(FISH)
    levels[level][place] = levels[level][place]._replace(**change)
    reports = cutline.verify_levels(FISH, levels, sizes=LEVELS.sizes)
    found = [finding for finding in reports[where].findings if finding.kind == "wrong children"]
    assert re.search(message, "; ".join(map(str, found)))
    assert all(set(kinds(report)) <= {"wrong children"} for report in reports)


def test_levels_need_their_sizes_and_are_checked_like_chunks() -> None:
    levels = LEVELS(FISH)
    with pytest.raises(ValueError, match="one for each of the 3 levels"):
        cutline.verify_levels(FISH, levels, sizes=(32, 16))
    reports = cutline.verify_levels(
        FISH, [levels[0], levels[1], levels[2][:-1]], sizes=LEVELS.sizes
    )
    assert "wrong children" in kinds(reports[1])
    assert "text lost" in kinds(reports[2])


def test_offsets_found_by_searching_are_found_wrong() -> None:
    """As LlamaIndex gives them: of text that repeats, the place of its first occurrence."""
    chunks = [chunk.text for chunk in ENC.split(REPEATED, 64)]
    searched = [(REPEATED.find(chunk), chunk) for chunk in chunks]
    report = verify(REPEATED, searched, chunk_size=64)
    assert kinds(report) == {"wrong offsets": len(chunks) - 1}
    assert report.lost_characters == 0


def test_naive_slices_of_tokens_are_refused() -> None:
    found: dict[str, dict[str, int]] = {}
    for name, text in PEER_BREAKERS.items():
        ids = TIKTOKEN.encode_ordinary(text)
        slices = [TIKTOKEN.decode(ids[at : at + 8]) for at in range(0, len(ids), 8)]
        found[name] = kinds(verify(text, slices, chunk_size=8))
    assert found["nine tokens after naive slicing"] == {"over budget": 1}
    assert found["handshake twice"] == {"invented text": 2, "text lost": 1}
    assert {"invented text", "text lost"} == set(found["rare ideograph"])


def test_empty_and_odd_arguments() -> None:
    assert verify("", [], chunk_size=1).ok
    assert kinds(verify("", [""], chunk_size=1)) == {"nothing new": 1}
    assert kinds(verify("   ", [], chunk_size=1)) == {"white space lost": 1}
    with pytest.raises(ValueError, match="chunk_size must be 1 or more"):
        verify("", [], chunk_size=0)
    with pytest.raises(ValueError, match="chunk_overlap must be 0 or more"):
        verify("", [], chunk_size=1, chunk_overlap=-1)
    with pytest.raises(TypeError, match="text must be a str"):
        verify(b"", [], chunk_size=1)  # type: ignore[arg-type]


# The failures that the packages themselves show, where they are installed.


def test_langchain_strips_to_over_budget_and_gives_wrong_offsets() -> None:
    splitters = pytest.importorskip("langchain_text_splitters")

    def cut(text: str, n: int, overlap: int = 0) -> list[Any]:
        splitter = splitters.RecursiveCharacterTextSplitter(
            chunk_size=n, chunk_overlap=overlap, length_function=tokens, add_start_index=True
        )
        return list(splitter.create_documents([text]))

    korean = PEER_BREAKERS["stripping a blank adds a token"]
    found = kinds(verify(korean, cut(korean, 8), chunk_size=8, encoding=TIKTOKEN, strip=True))
    assert found == {"over budget": 1}
    assert kinds(verify("   ", cut("   ", 8), chunk_size=8)) == {"white space lost": 1}
    repeated = verify(REPEATED, cut(REPEATED, 64, 8), chunk_size=64, chunk_overlap=8, strip=True)
    assert kinds(repeated).keys() == {"wrong offsets"}
    assert verify(FOX, cut(FOX, 8), chunk_size=8, strip=True).ok


def test_chonkie_breaks_characters_and_budgets() -> None:
    chonkie = pytest.importorskip("chonkie")
    text = HANDSHAKE * 2
    sliced = chonkie.TokenChunker(TIKTOKEN, chunk_size=8).chunk(text)
    found = kinds(verify(text, sliced, chunk_size=8, encoding=TIKTOKEN))
    assert {"wrong offsets", "invented text", "text lost"} <= found.keys()
    sentences = chonkie.SentenceChunker(TIKTOKEN, chunk_size=8).chunk(text)
    assert kinds(verify(text, sentences, chunk_size=8)) == {"over budget": 1}
    blanks = chonkie.TokenChunker(TIKTOKEN, chunk_size=8).chunk("   ")
    assert kinds(verify("   ", blanks, chunk_size=8)) == {"white space lost": 1}


def test_semchunk_loses_white_space_only() -> None:
    semchunk = pytest.importorskip("semchunk")
    for text in PEER_BREAKERS.values():
        chunks = semchunk.chunkerify(tokens, 8)(text)
        found = kinds(verify(text, chunks, chunk_size=8))
        assert found.keys() <= {"white space lost"}
        assert verify(text, chunks, chunk_size=8, strip=True).ok


def test_semantic_text_splitter_is_exact_without_trimming() -> None:
    module = pytest.importorskip("semantic_text_splitter")
    splitter = module.TextSplitter.from_callback(tokens, 8, trim=False)
    for text in PEER_BREAKERS.values():
        assert verify(text, splitter.chunk_indices(text), chunk_size=8, encoding=TIKTOKEN).ok


@pytest.mark.parametrize("strip", [False, True])
def test_an_empty_chunk_adds_nothing(strip: bool) -> None:
    text = "one two  three four"
    for place in range(3):
        chunks = ["one two", "three four"]
        chunks.insert(place, "")
        assert kinds(verify(text, chunks, chunk_size=4, strip=strip))["nothing new"] == 1


def test_an_empty_chunk_lies_where_the_next_begins() -> None:
    report = verify("aa", ["", "", "aa"], chunk_size=4, chunk_overlap=2)
    assert kinds(report) == {"nothing new": 2}


def test_reports_count_one_as_one() -> None:
    assert str(verify("a b", ["a "], chunk_size=2)).splitlines()[:2] == [
        "1 chunk of 3 characters: 1 finding",
        "mean fill 100.0%, largest chunk 2 tokens, 1 character and 0 of white space lost",
    ]


def test_texts_of_str_subclasses_are_taken_as_they_are() -> None:
    class Cut(str):
        """Its length is another one."""

        def __len__(self) -> int:
            return 1

    assert verify("one two", [Cut("one "), Cut("two")], chunk_size=2).ok
    assert verify("one two", [(0, Cut("one ")), {"text": Cut("two")}], chunk_size=2).ok


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strip": "no"}, "strip must be True or False, got 'no'"),
        ({"template": "{text}"}, "template must be a cutline.Template, got str"),
        (
            {"encoding": lambda text: 1.5},
            "the function that counts returns must be an integer, got",
        ),
        (
            {"encoding": lambda text: None},
            "function that counts returns must be an integer, got No",
        ),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        verify(FOX, [FOX], chunk_size=99, **options)


def test_what_are_no_nodes_is_named() -> None:
    chunker = cutline.HierarchicalChunker("o200k_base", sizes=(16, 8))
    levels = chunker(FOX)
    assert all(cutline.verify_levels(FOX, iter(levels), sizes=iter((16, 8))))  # type: ignore[arg-type]
    for wrong, said in (
        ([[node.chunk for node in level] for level in levels], r"levels\[0\]\[0\] must be a node"),
        ([levels[0], [levels[1][0], {}]], r"levels\[1\]\[1\] must be .* got dict, which has no ch"),
        (None, "levels must be several, got NoneType"),
    ):
        with pytest.raises(TypeError, match=said):
            cutline.verify_levels(FOX, wrong, sizes=(16, 8))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"chunk 0, of type Node, has no text: .*; pass its chunk$"):
        verify(FOX, levels[0], chunk_size=16)
    with pytest.raises(TypeError, match="sizes must be several, got int"):
        cutline.verify_levels(FOX, levels, sizes=16)  # type: ignore[arg-type]
