"""Questions with the excerpts that answer them: read, checked, and those in the package."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from numbers import Integral
from os import PathLike
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

__all__ = ["Question", "questions_of", "read_questions", "sample_documents", "sample_questions"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and where its answer is.

    Attributes:
        question: what is asked.
        references: the excerpts that answer it, as half-open spans of code points.
        document: the name of the document that they are in.
    """

    question: str
    references: tuple[tuple[int, int], ...]
    document: str


def read_questions(
    source: str | PathLike[str], documents: Mapping[str, str] | str
) -> list[Question]:
    r"""Read questions from JSON Lines: in each line `question`, `references` and `document`.

    Args:
        source: the path of the file, UTF-8.
        documents: texts by name, or the only one. Of one document the name may be left out, and
            of any its folders.

    Returns:
        The questions, in order. A reference is a text, which occurs once in the document; or
        `[start, end]`, in code points; or an object with `start_index` and `end_index`.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is no such question, its document is unknown, or a reference is empty,
            is not there or is there more than once; names the question.

    Cost: linear in the file, and in its document for each reference that is a text.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "questions.jsonl"
    >>> _ = path.write_text('{"question": "When does glue set?", "references": ["half an hour"]}\n')
    >>> read_questions(path, "Wood glue sets in half an hour.")[0].references
    ((18, 30),)
    """
    return questions_of(_rows(Path(source)), documents_of(documents))


def documents_of(documents: Mapping[str, str] | str) -> dict[str, str]:
    """Return texts by name; a text alone is the document ""."""
    if isinstance(documents, str):
        return {"": documents}
    if not isinstance(documents, Mapping):
        kind = type(documents).__name__
        raise TypeError(f"documents must be a mapping from names to texts, or one str, got {kind}")
    return dict(documents)


def _rows(path: Path) -> Iterator[Any]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {number} of {path} is not JSON: {error}") from error


def questions_of(
    questions: Iterable[Question | Mapping[str, Any]], documents: Mapping[str, str]
) -> list[Question]:
    """Check questions against the documents; see `read_questions`."""
    return [_question(number, row, documents) for number, row in enumerate(questions)]


def _question(number: int, row: Any, documents: Mapping[str, str]) -> Question:
    if isinstance(row, Question):
        row = {name: getattr(row, name) for name in Question.__slots__}
    if not isinstance(row, Mapping) or not isinstance(row.get("question"), str):
        raise ValueError(
            f"question {number} must be an object with 'question' and 'references', got "
            f"{shortened(row)}"
        )
    where = f"question {number}, {shortened(row['question'])}"
    name = _document(where, row.get("document"), documents)
    references = row.get("references")
    if not isinstance(references, Sequence) or isinstance(references, str) or not references:
        raise ValueError(
            f"{where}, must have one or more references, texts or [start, end], got "
            f"{shortened(references)}"
        )
    text = documents[name]
    return Question(row["question"], tuple(_span(where, one, text) for one in references), name)


def _document(where: str, name: Any, documents: Mapping[str, str]) -> str:
    if name is None and len(documents) == 1:
        return next(iter(documents))
    if isinstance(name, str) and name in documents:
        return name
    if name is None:
        raise ValueError(f"{where}, must have a 'document', one of {shortened(list(documents))}")
    found = [known for known in documents if known.endswith(f"/{name}")]
    if len(found) != 1:
        raise ValueError(
            f"{where}: there {'is no' if not found else 'is more than one'} document {name!r}; "
            f"documents are {shortened(list(documents))}"
        )
    return found[0]


def _span(where: str, reference: Any, text: str) -> tuple[int, int]:
    if isinstance(reference, str):
        start = text.find(reference) if reference else -1
        if start < 0:
            raise ValueError(
                f"{where}: the reference {shortened(reference)} is not in its document"
            )
        if text.find(reference, start + 1) >= 0:
            raise ValueError(
                f"{where}: the reference {shortened(reference)} is in its document more than once: "
                "make it longer, or give its [start, end]"
            )
        return start, start + len(reference)
    if isinstance(reference, Mapping):
        reference = reference.get("start_index"), reference.get("end_index")
    match reference:
        case (Integral() as first, Integral() as last):
            start, end = int(first), int(last)
            if 0 <= start < end <= len(text):
                return start, end
    raise ValueError(
        f"{where}: the reference {shortened(reference)} must be a text, or [start, end] in a "
        f"document of {len(text)} characters"
    )


def sample_documents() -> dict[str, str]:
    """Return the documents in the package by name: eight pages about Cutline, in Markdown.

    They stay as they are while Cutline's own pages change, so that figures can be compared. With
    the questions they are an example, and no measure of how a chunker does on other documents.

    >>> documents = sample_documents()
    >>> len(documents), "budgets.md" in documents
    (8, True)
    """
    folder = files("cutline.evaluation").joinpath("sample")
    found = (file for file in folder.iterdir() if file.name.endswith(".md"))
    # Without a conversion of line ends.
    return {file.name: file.read_bytes().decode() for file in sorted(found, key=lambda f: f.name)}


def sample_questions() -> list[Question]:
    """Return the questions in the package, on `sample_documents`.

    >>> question = sample_questions()[1]
    >>> question.question
    'What happens to a text that is already short enough to fit when it is truncated?'
    >>> [(start, end)] = question.references
    >>> sample_documents()[question.document][start:end]
    'A text that fits is returned unchanged.'
    """
    rows = files("cutline.evaluation").joinpath("sample", "questions.jsonl")
    lines = rows.read_text(encoding="utf-8").splitlines()
    return questions_of(map(json.loads, lines), sample_documents())
