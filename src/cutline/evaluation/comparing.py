"""`compare`: several chunkers on the same documents and questions, as a table."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from cutline.chunks import Chunk
from cutline.errors import shown_type
from cutline.evaluation.corpus import Corpus
from cutline.evaluation.evaluating import Evaluation, Reading, evaluate_on
from cutline.evaluation.questions import Question
from cutline.evaluation.ranking import Retriever
from cutline.view.tokens import Tokenizer

__all__ = ["FORMATS", "Comparison", "compare"]

FORMATS: Final = ("text", "markdown", "csv", "json")

_SHARES: Final = {"mean_fill": "fill", "over_budget": "over"}
_SCORES: Final = {
    "retrieved_tokens": "read",
    "recall": "recall",
    "precision": "precision",
    "precision_omega": "omega",
    "iou": "IoU",
}


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Evaluations on the same documents and questions.

    Attributes:
        evaluations: one for each chunker, in the order in which they were given.
    """

    evaluations: tuple[Evaluation, ...]

    def table(self, form: Literal["text", "markdown", "csv", "json"] = "text") -> str:
        """Return all figures as a table, a row for each chunker.

        Args:
            form: "text" or "markdown", rounded, without columns that are empty; "csv", the same
                columns, not rounded; or "json", a list with the objects of `Evaluation.as_dict`.

        Raises:
            ValueError: there is no such form.

        Columns: chunker, size (the budget), chunks, embed (tokens to embed), lost (characters in
        no chunk), fill, over (shares), "whole ...", shares of units that are whole in a chunk;
        then means over the questions: read (tokens retrieved), recall, precision, omega and IoU.
        """
        if form not in FORMATS:
            raise ValueError(f"form must be one of {', '.join(map(repr, FORMATS))}, got {form!r}")
        if form == "json":
            return json.dumps([one.as_dict() for one in self.evaluations], indent=1) + "\n"
        header, rows = self._cells()
        if form == "csv":
            written = io.StringIO()
            csv.writer(written, lineterminator="\n").writerows([header, *rows])
            return written.getvalue()
        shown = [header, *([*map(_shown, header, row)] for row in rows)]
        return _markdown(shown) if form == "markdown" else _aligned(shown)

    def chart(self) -> str:
        """Return the scores by the size of the chunks as an SVG image, and without them the fill.

        It has a panel for each figure, and a line for all evaluations of one name. It needs no
        other file, and is the same for the same figures.

        Raises:
            ValueError: no evaluation has a chunk size.
        """
        from cutline.evaluation.chart import chart

        return chart(self.evaluations)

    def __str__(self) -> str:
        return self.table().rstrip("\n")

    def _cells(self) -> tuple[list[str], list[list[Any]]]:
        """Return the header and the rows, without columns that have nothing in any row."""
        found = [one.as_dict() for one in self.evaluations]
        kinds = dict.fromkeys(kind for row in found for kind in row["whole"])
        columns: dict[str, list[Any]] = {
            "chunker": [row["chunker"] for row in found],
            "size": [row["chunk_size"] for row in found],
            "chunks": [row["chunks"] for row in found],
            "embed": [row["embedded_tokens"] for row in found],
            "lost": [row["lost_characters"] or None for row in found],
            **{label: [row[name] for row in found] for name, label in _SHARES.items()},
            **{
                f"whole {kind}": [row["whole"].get(kind, {}).get("share") for row in found]
                for kind in kinds
            },
            **{label: [row.get(name) for row in found] for name, label in _SCORES.items()},
        }
        kept = {name: cells for name, cells in columns.items() if any(c is not None for c in cells)}
        return [*kept], [list(row) for row in zip(*kept.values(), strict=True)]


def _shown(column: str, value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if column == "read" else f"{value:.3f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    marks = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (cells[0], marks, *cells[1:]))


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Write a table of text: words of the header below each other, numbers to the right."""
    heads = [name.split(" ") for name in rows[0]]
    height = max(map(len, heads))
    tall = [[""] * (height - len(words)) + words for words in heads]
    every = [list(line) for line in zip(*tall, strict=True)] + [list(row) for row in rows[1:]]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    lines = []
    for first, *others in every:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip() + "\n")
    return "".join(lines)


def compare(
    chunkers: Mapping[str, Any] | Iterable[tuple[str, Any]],
    documents: Mapping[str, str] | str,
    questions: Iterable[Question | Mapping[str, Any]] | None = None,
    *,
    encoding: Tokenizer | str = "o200k_base",
    chunk_size: int | None = None,
    k: int | None = None,
    max_tokens: int | None = None,
    retriever: Literal["bm25"] | Retriever = "bm25",
    render: Callable[[Chunk], str] | None = None,
) -> Comparison:
    """Evaluate several chunkers on the same documents and questions.

    Args:
        chunkers: chunkers, or chunks, as `evaluate` takes them, by name. Pairs of a name and a
            chunker may repeat a name: one kind of chunker with several sizes is a line in `chart`.
        documents: texts by name, or one.
        questions: as for `evaluate`, and so all that follows.
        encoding: counts tokens.
        chunk_size: the budget of all chunkers; by default each one's own.
        k: how many chunks a question reads at most.
        max_tokens: how many tokens a question reads at most.
        retriever: which chunks a question finds.
        render: returns what is embedded for a chunk.

    Returns:
        The evaluations; `print` shows a table.

    Raises:
        ValueError: there are no chunkers; and as for `evaluate`.
        TypeError: chunkers are neither a mapping nor pairs; and as for `evaluate`.

    Cost: that of `evaluate` for each chunker; documents are read and encoded once.
    Source: docs/choosing-a-chunker.md.

    >>> import cutline
    >>> text = "Wood glue sets in half an hour. Clamp the parts. Oil the blade."
    >>> questions = [{"question": "When does glue set?", "references": ["half an hour"]}]
    >>> sizes = (4, 8, 16)
    >>> chunkers = [("text", cutline.TextChunker("o200k_base", size)) for size in sizes]
    >>> for row in compare(chunkers, text, questions, k=1).evaluations:
    ...     print(row.chunk_size, row.chunk_count, row.scores.recall, row.scores.iou)
    4 4 [0.] [0.]
    8 2 [1.] [0.375]
    16 1 [1.] [0.1875]
    """
    corpus = Corpus(documents, questions, encoding)
    reading = Reading.of(retriever, k, max_tokens)
    pairs = list(chunkers.items() if isinstance(chunkers, Mapping) else chunkers)
    for place, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"chunkers must be a mapping from names to chunkers, or pairs of these, got "
                f"{shown_type(pair)} at place {place}"
            )
    if not pairs:
        raise ValueError("chunkers must have one or more chunkers")
    return Comparison(
        tuple(
            evaluate_on(
                corpus, chunker, reading, chunk_size=chunk_size, render=render, name=str(name)
            )
            for name, chunker in pairs
        )
    )
