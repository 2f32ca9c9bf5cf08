"""Scores are those of the definitions, with sets of tokens; and of examples worked by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.evaluation import (
    Evaluation,
    Scores,
    Whole,
    evaluate,
    sample_documents,
    sample_questions,
)
from cutline.evaluation.scoring import precision_omega, score, size, union
from tests.evaluation.naive import Naive, whole
from tests.oracles import real_tiktoken

ENCODING = real_tiktoken("o200k_base")
SPANS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda s: (min(s), max(s))))
PARTS = ("One fish, ", "two ", "古池や", "👩‍👩‍👧 ", "Zürich.\n\n", "don't ", "- a\n", "aaaa ", "é")


def scores_of(found: Evaluation) -> Scores:
    assert found.scores is not None
    return found.scores


def tokens_in(spans: list[tuple[int, int]]) -> list[int]:
    return [token for start, end in spans for token in range(start, end)]


@given(SPANS, SPANS)
def test_scores_of_spans_are_those_of_sets(retrieved: Any, references: Any) -> None:
    sought = set(tokens_in(references))
    sets = union(references)
    assert tokens_in(sets) == sorted(sought)
    assert size(sets) == len(sought)
    if sought:
        read = tokens_in(retrieved)
        hit = len(sought & set(read))
        assert score(retrieved, sets) == (
            hit / len(sought),
            hit / len(read) if read else 0,
            hit / (len(read) + len(sought) - hit),
            len(read),
        )
        every = set(read)
        assert precision_omega(retrieved, sets) == len(sought & every) / len(sought | every)


def test_an_example_by_hand() -> None:
    """Ten words of a token each; chunks of four with one shared; the excerpt is words 3 to 5."""
    text = " one two three four five six seven eight nine ten"
    places = [text.index(word) - 1 for word in text.split()] + [len(text)]
    assert len(ENCODING.encode_ordinary(text)) == 10
    chunks = [(places[first], places[last]) for first, last in ((0, 4), (3, 7), (6, 10))]
    question = {"question": "q", "references": [[places[3], places[6]]]}

    def found(*ranking: int) -> list[float]:
        scores = scores_of(evaluate(chunks, text, [question], retriever=lambda *_: [ranking], k=3))
        return [
            float(value[0])
            for value in (scores.recall, scores.precision, scores.iou, scores.precision_omega)
        ]

    # Words 0-3 and 3-6 hold it: words 0 to 6, of which three are of the excerpt.
    omega = 3 / 7
    assert found(1) == [1, 3 / 4, 3 / 4, omega]
    assert found(0) == [1 / 3, 1 / 4, 1 / 6, omega]  # one of four, and two were missed
    assert found(0, 1) == [1, 3 / 8, 3 / 8, omega]  # the shared word is read twice
    assert found(2) == [0, 0, 0, omega]
    assert found() == [0, 0, 0, omega]
    assert found(2, 1, 0) == [1, 3 / 12, 3 / 12, omega]


@st.composite
def corpora(draw: st.DrawFn) -> dict[str, Any]:
    """Documents, chunks of them in order, questions, and rankings."""
    documents = {
        name: "".join(draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8)))
        for name in ("a.txt", "b.md", "c.txt")[: draw(st.integers(1, 3))]
    }

    def spans(text: str, most: int) -> list[tuple[int, int]]:
        place = st.integers(0, len(text))
        found = draw(st.lists(st.tuples(place, place), max_size=most))
        return [(min(span), max(span)) for span in found]

    chunks = {name: sorted(spans(text, 6)) for name, text in documents.items()}
    questions = []
    for number in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(documents)))
        own = [span for span in spans(documents[name], 3) if span[0] < span[1]] or [(0, 1)]
        questions.append({"question": f"q{number}", "references": own, "document": name})
    count = sum(map(len, chunks.values()))
    rankings = [draw(st.permutations(range(count))) for _ in questions]
    return {
        "documents": documents,
        "chunks": chunks,
        "questions": questions,
        "rankings": rankings,
        "k": draw(st.none() | st.integers(1, 5)),
        "max_tokens": draw(st.none() | st.integers(1, 20)),
    }


@given(corpora())
@settings(max_examples=150)
def test_scores_are_those_of_the_definitions(case: dict[str, Any]) -> None:
    naive = Naive(case["documents"], ENCODING)
    places = [(name, span) for name, spans in case["chunks"].items() for span in spans]
    texts = [case["documents"][name][slice(*span)] for name, span in places]
    sizes = [len(ENCODING.encode_ordinary(text)) for text in texts]
    k, max_tokens = case["k"], case["max_tokens"]

    def retriever(questions: list[str], given: list[str], most: int) -> list[list[int]]:
        assert questions == [row["question"] for row in case["questions"]]
        assert given == texts
        return [ranking[:most] for ranking in case["rankings"]]

    scores = scores_of(
        evaluate(
            case["chunks"], case["documents"], case["questions"],
            retriever=retriever, k=k, max_tokens=max_tokens,
        )
    )  # fmt: skip
    for number, (row, ranking) in enumerate(zip(case["questions"], case["rankings"], strict=True)):
        read: list[int] = []
        for chunk in ranking[: k or (5 if max_tokens is None else None)]:
            if max_tokens is not None and sum(sizes[n] for n in (*read, chunk)) > max_tokens:
                break
            read.append(chunk)
        sought = naive.references(row["document"], row["references"])
        expected = naive.score([places[n] for n in read], sought)
        found = (scores.recall, scores.precision, scores.iou, scores.retrieved_tokens)
        assert tuple(values[number] for values in found) == expected
        assert scores.precision_omega[number] == naive.omega(places, sought)


@given(corpora())
@settings(max_examples=60)
def test_what_is_whole_is_what_one_chunk_holds(case: dict[str, Any]) -> None:
    from cutline.evaluation.units import units_of

    for name, text in case["documents"].items():
        found = evaluate(case["chunks"][name], {name: text}, chunk_size=6)
        for kind, spans in units_of(name, text).items():
            fitting = [(a, b) for a, b in spans if len(ENCODING.encode_ordinary(text[a:b])) <= 6]
            held = whole(fitting, case["chunks"][name])
            assert found.whole[kind] == Whole(len(spans), len(fitting), held)
            assert all(text[a:b] == text[a:b].strip() != "" for a, b in spans)


def test_no_chunks() -> None:
    questions = [{"question": "q", "references": ["b"]}]
    found = evaluate([], "a b c.", questions, chunk_size=4)
    scores = scores_of(found)
    assert (scores.recall[0], scores.precision[0], scores.iou[0]) == (0, 0, 0)
    assert scores.precision_omega[0] == scores.retrieved_tokens[0] == 0
    assert (found.chunk_count, found.embedded_tokens, found.mean_fill) == (0, 0, None)
    assert (found.over_budget, found.quantile(0.5), found.lost_characters) == (None, None, 4)
    assert found.whole["sentence"] == Whole(1, 1, 0)
    assert "0 chunks" in str(found)
    assert evaluate([], "").document_tokens == 0
    assert evaluate(str.split, {}).chunk_count == 0


def test_documents_that_do_not_hold_the_answer_count_as_read() -> None:
    documents = {"a.txt": " one two", "b.txt": " one two"}
    questions = [{"question": "one", "references": [[0, 4]], "document": "b.txt"}]
    chunks = {name: [text] for name, text in documents.items()}
    scores = scores_of(evaluate(chunks, documents, questions))
    assert (scores.recall[0], scores.precision[0], scores.iou[0]) == (1, 1 / 4, 1 / 4)
    # Of equally good chunks the first is found.
    assert scores_of(evaluate(chunks, documents, questions, k=1)).recall[0] == 0


def test_every_library_s_chunks_are_read() -> None:
    text = "Oil the blade. Oil the blade. Keep it dry."
    chunks = cutline.TextChunker("o200k_base", 5)(text)
    questions = [{"question": "dry", "references": ["Keep it"]}]
    whole_texts = [chunk.text for chunk in chunks]
    kinds: list[Any] = [
        chunks,
        whole_texts,
        [(chunk.start_index, chunk.end_index) for chunk in chunks],
        [{"text": chunk.text} for chunk in chunks],
        [{"page_content": c.text, "metadata": {"start_index": c.start_index}} for c in chunks],
        lambda _: iter(whole_texts),
        type("Splitter", (), {"split_text": lambda self, text: whole_texts})(),
        iter(whole_texts),
    ]
    rows = [evaluate(kind, text, questions, chunk_size=5, k=1).as_dict() for kind in kinds]
    assert all(row == rows[0] for row in rows)
    assert rows[0]["recall"] == 1


def test_a_template_is_what_is_embedded_and_found() -> None:
    text = "# Saws\n\nOil it.\n\n# Glue\n\nIt sets.\n"
    template = cutline.Template("{headings}: {text}", special_tokens=2)
    chunker = cutline.MarkdownChunker("o200k_base", 16, template=template, strip=True)
    questions = [{"question": "saws", "references": ["Oil it."]}]
    seen: list[str] = []

    def retriever(questions: list[str], texts: list[str], most: int) -> list[list[int]]:
        seen[:] = texts
        return [[0]]

    found = evaluate(chunker, text, questions, retriever=retriever)
    chunks = chunker(text)
    assert seen == [template.render(chunk) for chunk in chunks]
    assert found.token_counts.tolist() == [chunk.metadata["sent_tokens"] for chunk in chunks]
    assert found.chunk_size == 16
    rendered = evaluate(chunker, text, questions, retriever=retriever, render=lambda c: "x")
    assert seen == ["x"] * len(chunks)
    assert rendered.token_counts.tolist() == [1] * len(chunks)


def test_wrapped_tokenizers_evaluate() -> None:
    from tests.wrapping.made import KINDS, wrapped

    for kind in KINDS:
        tokenizer = wrapped(kind)
        text = "One fish, two fish. Red fish, blue fish."
        if tokenizer.offsets_of(text) is None:
            continue
        questions = [{"question": "red fish", "references": ["Red fish"]}]
        found = evaluate(cutline.TextChunker(tokenizer, 30), text, questions, encoding=tokenizer)
        assert scores_of(found).recall[0] == 1
        assert found.chunk_size == 30


def test_the_budget_is_that_of_the_same_encoding() -> None:
    chunker = cutline.TextChunker("gpt2", 8)
    assert evaluate(chunker, "One.").chunk_size is None
    assert evaluate(chunker, "One.", encoding="gpt2").chunk_size == 8
    both = {"a": chunker, "b": cutline.TextChunker("gpt2", 9)}
    assert evaluate(both, {"a": "One.", "b": "Two."}, encoding="gpt2").chunk_size is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be 1 or more, got 0"),
        ({"max_tokens": -1}, ValueError, "max_tokens must be 1 or more, got -1"),
        ({"chunk_size": 0}, ValueError, "chunk_size must be 1 or more"),
        ({"retriever": "dense"}, TypeError, "retriever must be 'bm25' or a function, got 'dense'"),
        (
            {"retriever": lambda *_: [[1, 1]]},
            ValueError,
            "different numbers of chunks, from 0 to 1",
        ),
        ({"retriever": lambda *_: [[2]]}, ValueError, r"from 0 to 1, got \[2\]"),
        ({"retriever": lambda *_: []}, ValueError, "a ranking for each of 1 questions"),
        ({"encoding": "o300k"}, ValueError, "o300k"),
    ],
)
def test_wrong_arguments_are_named(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        evaluate(
            ["One ", "two."], "One two.", [{"question": "q", "references": ["One"]}], **options
        )


def test_frameworks_splitters_are_chunkers() -> None:
    splitters = pytest.importorskip("langchain_text_splitters")
    splitter = splitters.RecursiveCharacterTextSplitter(
        chunk_size=40, chunk_overlap=10, add_start_index=True
    )
    text = sample_documents()["small-to-big.md"]
    questions = [q for q in sample_questions() if q.document == "small-to-big.md"]
    pytest.importorskip("bm25s")
    found = evaluate(splitter, {"small-to-big.md": text}, questions)
    documents = splitter.create_documents([text])
    assert evaluate(documents, {"small-to-big.md": text}, questions).as_dict() == found.as_dict()
    assert 0 < scores_of(found).recall.mean() < 1


def test_encodings_without_a_scanner_evaluate() -> None:
    gpt2 = cutline.get_encoding("gpt2")
    with pytest.warns(cutline.PatternFallbackWarning):
        encoding = cutline.Encoding(
            "words", pat_str=r"\b\w+|\W+?", mergeable_ranks=gpt2._mergeable_ranks, special_tokens={}
        )
    questions = [{"question": "q", "references": ["fishé"]}]
    parts = ["One ", "fishé."]
    found = evaluate(parts, "One fishé.", questions, encoding=encoding, retriever=lambda *_: [[1]])
    tokens = len(encoding.encode("fishé"))
    assert scores_of(found).recall[0] == 1
    assert scores_of(found).precision[0] == tokens / (tokens + 1)


def test_what_does_not_belong_into_a_text_is_refused() -> None:
    with pytest.raises(cutline.SurrogateError):
        evaluate(cutline.TextChunker("o200k_base", 8), "a\ud800b")
    with pytest.raises(TypeError, match="text must be a str, got bytes"):
        evaluate([], {"a": b"a"})  # type: ignore[dict-item]


def test_wrong_chunks_are_named() -> None:
    with pytest.raises(ValueError, match="chunk 0 is nowhere in the text"):
        evaluate(["Three"], "One two.")
    with pytest.raises(TypeError, match="of 2 documents, chunks must be a chunker, or a mapping"):
        evaluate(["One"], {"a": "One", "b": "Two"})
    with pytest.raises(ValueError, match="'b' is missing"):
        evaluate({"a": ["One"]}, {"a": "One", "b": "Two"})
    with pytest.raises(ValueError, match="chunk 0 is nowhere") as caught:
        evaluate({"a": ["One"], "b": ["One"]}, {"a": "One", "b": "Two"})
    assert caught.value.__notes__ == ["in the document 'b'"]


def test_fill() -> None:
    found = evaluate(
        [" one", " two three", " four five six"], " one two three four five six", chunk_size=2
    )
    assert found.token_counts.tolist() == [1, 2, 3]
    assert (found.mean_fill, found.over_budget) == (1.0, 1 / 3)
    assert [found.quantile(share) for share in (0, 0.33, 0.5, 0.67, 1)] == [1, 1, 2, 3, 3]
    assert np.sum(found.token_counts) == found.embedded_tokens == found.document_tokens == 6
