"""`cutline count`: token counts for people and for scripts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from cutline.cli.commands import command, run
from cutline.cli.decoding import TextReader, reads_text
from cutline.cli.finding import BEGINNINGS, Selection, finds_files
from cutline.cli.inputs import Watch, shown_name
from cutline.cli.options import encoding_choice, input_output, jobs, output_format
from cutline.cli.records import Rows, column_option

if TYPE_CHECKING:
    from cutline import Encoding
    from cutline.training.rows import Row


# Less is counted by one thread before several would have begun: they need numpy, among others.
_THREADS_BYTES = 1 << 28


class Size(NamedTuple):
    """The size of a text."""

    tokens: int = 0
    characters: int = 0
    n_bytes: int = 0

    @property
    def bytes_per_token(self) -> float:
        """Bytes of UTF-8 per token; 0 without tokens."""
        return self.n_bytes / self.tokens if self.tokens else 0.0


Results = Iterable[tuple[str, Size]]
_ORDERS: dict[str, Callable[[tuple[str, Size]], object]] = {
    "name": lambda row: row[0],
    "tokens": lambda row: (-row[1].tokens, row[0]),
}


@command(
    "cutline count *.md",
    "cutline count --format table --sort tokens docs src",
    "cutline count --encoding cl100k_base < prompt.txt",
    "cutline count --format jsonl notes.txt",
)
@output_format(
    "text",
    "table",
    text="JSON Lines, plain text, or a table with characters, bytes and bytes per token, too.",
)
@click.option(
    "--sort",
    "order",
    type=click.Choice(list(_ORDERS)),
    help="By name, or the most tokens first.  [default: as given, folders by name]",
)
@encoding_choice
@column_option
@finds_files
@reads_text
@jobs
@input_output
def count(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    selection: Selection,
    n_jobs: int,
    encoding: "Encoding",
    form: str,
    order: str | None,
    column: str | None,
) -> None:
    """Count the tokens of each file.

    Several files get a total. Without a FILE, only the number is written.
    A JSON line has file and token_count; there is no total.

    A folder stands for all files in it and its subfolders, except hidden ones.
    """

    def work(_: str, content: bytes) -> Size:
        utf8 = reader.utf8(content)
        characters = len(utf8.decode()) if form == "table" else 0  # only the table has them
        num_threads = n_jobs if len(utf8) > _THREADS_BYTES else 1
        tokens = encoding._count_utf8(utf8, num_threads=num_threads)
        return Size(tokens, characters, len(content))

    def stream(_: str, path: Path, watch: Watch) -> Size:
        def sizes(rows: "Sequence[Row]", *, num_threads: int) -> list[Size]:
            texts = [row.text for row in rows]
            tokens = encoding.count_batch(texts, num_threads=num_threads).tolist()
            n_bytes = (len(text.encode()) for text in texts)
            return [*map(Size, tokens, map(len, texts), n_bytes)]

        total = Size()
        rows = Rows(path, str(column), watch, n_jobs, reader.errors, (), reader)
        for _row, size in rows.map(sizes):
            total = Size(*map(add, total, size))
        return total

    def write(results: Results) -> Iterator[str]:
        rows = results if order is None else sorted(results, key=_ORDERS[order])  # type: ignore[arg-type]
        if form == "jsonl":
            return _json_rows(rows)
        return _table(rows) if form == "table" else _lines(rows, [*files, *(selection.names or ())])

    run(
        files,
        output,
        work=work if column is None else None,
        write=write,
        selection=selection,
        begins=BEGINNINGS.get(form, b""),
        reader=reader,
        stream=None if column is None else stream,
        n_jobs=n_jobs,
    )


def _json_rows(results: Results) -> Iterator[str]:
    from cutline.cli.rows import json_of  # only these rows are JSON

    for file, size in results:
        yield json_of({"file": file, "token_count": size.tokens}) + "\n"


def _lines(results: Results, files: Sequence[str]) -> Iterator[str]:
    sizes = list(results)
    total = sum(size.tokens for _, size in sizes)
    if not files:
        yield f"{total}\n"
        return
    rows = [(shown_name(name), size.tokens) for name, size in sizes]
    if len(files) > 1 or len(rows) > 1:
        rows.append(("total", total))
    for name, token_count in rows:
        yield f"{token_count:>{len(str(total))}}  {name}\n"


def _table(results: Results) -> Iterator[str]:
    sizes = list(results)
    total = Size(*map(sum, zip(*(size for _, size in sizes), strict=True)))
    files = "1 file" if len(sizes) == 1 else f"{len(sizes):,} files"
    rows = [("tokens", "characters", "bytes", "bytes/token", "file")]
    rows += [_cells(name, size) for name, size in [*sizes, (f"total of {files}", total)]]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        numbers = (cell.rjust(width) for cell, width in zip(row, widths, strict=False))
        yield "  ".join([*numbers, row[-1]]) + "\n"


def _cells(name: str, size: Size) -> tuple[str, str, str, str, str]:
    return (
        f"{size.tokens:,}",
        f"{size.characters:,}",
        f"{size.n_bytes:,}",
        f"{size.bytes_per_token:.2f}",
        shown_name(name),
    )
