"""Questions are read and checked, and those in the package have their excerpts, once each."""

import json
from pathlib import Path
from typing import Any

import pytest

import cutline.evaluation
from cutline.evaluation import (
    Question,
    evaluate,
    read_questions,
    sample_documents,
    sample_questions,
)

PACKAGE = Path(cutline.evaluation.__file__).parent / "sample"
DOCUMENTS = {"docs/a.md": "Ä saw cuts. A saw cuts.", "docs/b.md": "Glue sets.", "b.md": "Oil."}


def test_each_excerpt_of_the_sample_is_in_its_document_once() -> None:
    documents = sample_documents()
    lines = (PACKAGE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = sample_questions()
    assert len({question.question for question in questions}) == len(lines) == len(questions)
    assert 60 <= len(questions) <= 100
    for line, question in zip(lines, questions, strict=True):
        row = json.loads(line)
        text = documents[row["document"]]
        assert [text.count(excerpt) for excerpt in row["references"]] == [1] * len(
            row["references"]
        )
        assert [text[a:b] for a, b in question.references] == row["references"]
    assert {question.document for question in questions} == documents.keys()


def test_the_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in PACKAGE.iterdir()) < 100_000


@pytest.mark.parametrize(
    ("references", "document", "spans"),
    [
        (["Ä saw"], "docs/a.md", ((0, 5),)),
        (["Ä saw cuts. "], "a.md", ((0, 12),)),
        ([[2, 5], (14, 17)], "docs/a.md", ((2, 5), (14, 17))),
        ([{"content": "saw", "start_index": 2, "end_index": 5}], "a.md", ((2, 5),)),
        (["Oil"], "b.md", ((0, 3),)),  # a name as a whole comes first
    ],
)
def test_references_are_texts_or_spans(
    tmp_path: Path, references: Any, document: str, spans: Any
) -> None:
    path = tmp_path / "questions.jsonl"
    row = {"question": "q", "references": references, "document": document}
    path.write_text(f"\ufeff{json.dumps(row)}\n\n", encoding="utf-8")
    [question] = read_questions(path, DOCUMENTS)
    assert question.references == spans
    name = next(name for name in ("b.md", "docs/a.md") if name.endswith(document))
    assert question == Question("q", spans, name)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"references": ["Ä"]}, "question 0 must be an object with 'question' and 'references'"),
        ([1], "question 0 must be an object"),
        ({"question": "q"}, r"question 0, 'q', must have one or more references, .* got None"),
        ({"question": "q", "references": []}, "must have one or more references"),
        ({"question": "q", "references": "Ä"}, "must have one or more references"),
        ({"question": "q", "references": [""]}, "the reference '' is not in its document"),
        ({"question": "q", "references": ["X"]}, "the reference 'X' is not in its document"),
        ({"question": "q", "references": ["saw"]}, "is in its document more than once: make it"),
        ({"question": "q", "references": [[2, 2]]}, r"\[2, 2\] must be a text, or \[start, end\]"),
        ({"question": "q", "references": [[-1, 2]]}, "in a document of 23 characters"),
        ({"question": "q", "references": [[0, 24]]}, "in a document of 23 characters"),
        ({"question": "q", "references": [[0, 1, 2]]}, "must be a text"),
        ({"question": "q", "references": [None]}, "the reference None must be a text"),
        ({"question": "q", "references": ["Ä"], "document": "c.md"}, "no document 'c.md'"),
        ({"question": "q", "references": ["Ä"], "document": ["c"]}, r"no document \['c'\]"),
        ({"question": "q", "references": ["Ä"], "document": None}, "have a 'document', one of"),
    ],
)
def test_wrong_questions_are_named(row: Any, message: str) -> None:
    if isinstance(row, dict):
        row = {"document": "docs/a.md", **row}
    with pytest.raises(ValueError, match=message):
        evaluate(lambda _: (), DOCUMENTS, [row])


def test_documents_have_names_or_are_one_text() -> None:
    with pytest.raises(TypeError, match="mapping from names to texts, or one str, got list"):
        cutline.evaluation.evaluate(cutline.TextChunker("gpt2", 8), ["a text"])  # type: ignore[arg-type]


def test_a_document_s_name_must_say_which(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is more than one document 'b\.md'"):
        evaluate(
            lambda _: (),
            {"x/b.md": "Oil.", "y/b.md": "Oil."},
            [{"question": "q", "references": ["Oil"], "document": "b.md"}],
        )
    path = tmp_path / "questions.jsonl"
    path.write_text('{"question": "q", "references": ["a"]}\n{\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 2 of .*questions\.jsonl is not JSON"):
        read_questions(path, "a")
    path.write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match=r"questions\.jsonl is not UTF-8"):
        read_questions(path, "a")
