"""`cutline verify`: checks chunks against the texts that they are of."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cutline.cli.commands import command, run
from cutline.cli.cutting import chunk_size_of, size_for
from cutline.cli.decoding import InputError, TextReader, reads_text
from cutline.cli.failure import Notes, message_of
from cutline.cli.inputs import Watch, shown_name
from cutline.cli.options import PATH, also_fits, encoding_choice, input_output
from cutline.cli.records import Rows, column_option
from cutline.cli.sending import template_options, with_file, with_record
from cutline.cli.sizes import read_sizes
from cutline.cli.streams import STDIN
from cutline.errors import CutlineError

if TYPE_CHECKING:
    from cutline import Encoding, Report
    from cutline.chunks import ChunkSize
    from cutline.template import Template
    from cutline.training.rows import Row

Reports = Iterator[tuple[str, "Report"]]
Given = list[dict[str, Any]]
Checked = Iterator[tuple[str, bool]]  # what is written, and whether it is good

_FROM_THERE = (
    "files are found by the names that rows give them: run `cutline verify` in the folder in which "
    "`cutline chunk` ran, or pass --source"
)
_NO_CHUNKS: tuple[int | None, Iterator[dict[str, Any]]] = (None, iter(()))


@command(
    "cutline verify --chunk-size 256 chunks.jsonl",
    "cutline verify --chunk-size 512 --overlap 64 --strip chunks.parquet",
    "cutline verify --sizes 2048,512,128 chunks.jsonl",
    "cutline verify -e cl100k_base --chunk-size 500 --source book.txt others.jsonl",
    "cutline verify --column body --chunk-size 256 chunks.jsonl",
)
@click.option(
    "--chunk-size",
    metavar="TOKENS",
    callback=lambda *given: given[-1] and chunk_size_of(*given),
    help="The budget; or `model`, as for `cutline chunk`.",
)
@click.option(
    "--sizes",
    metavar="N,N,...",
    callback=read_sizes,
    help="The budgets of the levels that rows have, instead of --chunk-size: as `cutline chunk "
    "--sizes`. The children of a chunk must make it up.",
)
@click.option(
    "--overlap",
    metavar="TOKENS",
    type=click.IntRange(min=0),
    default=0,
    help="Maximum tokens that a chunk shares with the text before it.",
)
@click.option("--strip", is_flag=True, help="White space between chunks may be missing.")
@template_options
@also_fits
@click.option(
    "--source",
    metavar="FILE",
    type=PATH,
    help="The text that was cut.  [default: the file that each row names]",
)
@encoding_choice
@column_option
@reads_text
@input_output
def verify(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    encoding: "Encoding",
    chunk_size: "ChunkSize | None",
    sizes: tuple[int, ...],
    overlap: int,
    strip: bool,
    template: "Template | None",
    also_fits: "dict[str | Encoding, int]",
    source: str | None,
    column: str | None,
) -> None:
    """Check chunks, of `cutline chunk` or anyone, against the texts they were cut from.

    FILEs are JSON Lines or Parquet, with a row for each chunk: its text as `text`,
    and if known its offsets and tokens, as `start_index`, `end_index` and
    `token_count`; and the `file` that it is of. The tokens are counted again, and
    text that is in no chunk is found. Exit code 1 if anything is wrong.

    With --column, as for `cutline chunk`, chunks are of the rows of that file: which
    row, metadata says. Rows without findings are only counted.
    """
    from cutline import verify as report_on
    from cutline import verify_levels
    from cutline.verification.report import some

    if (chunk_size is None) != bool(sizes):
        raise click.UsageError("pass either --chunk-size or --sizes")
    if sizes and (overlap or strip):
        raise click.UsageError("--sizes is for chunks without --overlap and --strip")
    budget = chunk_size and size_for(encoding, chunk_size, sent=template is not None)
    n_texts = n_bad = 0
    notes = Notes()

    def check(text: str, given: Given, place: str, template: "Template | None") -> Reports:
        options: dict[str, Any] = {
            "encoding": encoding, "template": template, "also_fits": also_fits,
        }  # fmt: skip
        if budget is None:
            levels = _levels(given, len(sizes))
            for level, report in enumerate(verify_levels(text, levels, sizes=sizes, **options)):
                yield f"{place}, level {level}", report
        elif given and "level" in given[0]:
            raise click.UsageError("these rows have levels: pass their --sizes")
        else:
            options |= {"chunk_size": budget, "chunk_overlap": overlap, "strip": strip}
            yield place, report_on(text, given, **options)

    def check_file(file: object, chunks: Iterator[dict[str, Any]], watch: Watch) -> Checked:
        name = _named(file)
        path, place, filled = Path(name), shown_name(name), with_file(template, name)
        if column is None:
            given = list(chunks)
            for part, report in check(_text_of(path, given, reader), given, place, filled):
                yield f"{part}: {report}", report.ok
            return
        others = () if filled is None else filled.missing
        rows = Rows(path, column, _Failures(watch), 1, reader.errors, others, reader)
        n_rows = n_chunks = n_wrong = 0
        for row, given in _with_chunks(rows, chunks):
            own = None if filled is None else with_record(filled, row.others)
            wrong = [
                f"{part}: {report}"
                for part, report in check(row.text, given, rows.place(row), own)
                if not report.ok
            ]
            yield from ((text, False) for text in wrong)
            n_rows, n_chunks, n_wrong = n_rows + 1, n_chunks + len(given), n_wrong + bool(wrong)
        found = f"findings in {n_wrong} of them" if n_wrong else "all exact"
        yield f"{place}: {some(n_chunks, 'chunk')} of {some(n_rows, 'row')}: {found}", not n_wrong

    def stream(_: str, path: Path, watch: Watch) -> Checked:
        # Not a generator: that a file has no rows is found while its name is known.
        return reports_on(Rows(path, "text", watch), watch)

    def reports_on(rows: Rows, watch: Watch) -> Checked:
        chunks = ({"text": row.text, **row.others} for row in rows)
        for file, of_file in groupby(chunks, key=lambda chunk: source or chunk.get("file")):
            try:
                yield from check_file(file, of_file, watch)
            except (OSError, CutlineError) as error:
                watch.fail(f"{shown_name(str(file))}: {message_of(error)}")
                if isinstance(error, FileNotFoundError) and not source:
                    notes.add(_FROM_THERE)

    def write(results: Iterable[tuple[str, Checked]]) -> Iterator[str]:
        nonlocal n_texts, n_bad
        for _, checked in results:
            for text, is_exact in checked:
                n_texts, n_bad = n_texts + 1, n_bad + (not is_exact)
                yield f"{text}\n"
        if n_bad and n_texts > 1:
            click.echo(f"cutline: findings in {n_bad} of {n_texts} texts", err=True)

    run(files, output, work=None, write=write, stream=stream)
    if n_bad:
        raise click.exceptions.Exit(1)


class _Failures(NamedTuple):
    """Tells of rows that fail, not of how far they are read: progress is that of the chunks."""

    watch: Watch

    def advance(self, n_bytes: int) -> None:
        """Show nothing."""

    def fail(self, problem: str) -> None:
        """Note that a row failed."""
        self.watch.fail(problem)


def _with_chunks(rows: Rows, chunks: Iterable[dict[str, Any]]) -> "Iterator[tuple[Row, Given]]":
    """Yield the rows of a file, each with its chunks, which are in the order of the rows.

    Raises:
        InputError: chunks name a row that there is not, or that failed or came before; names it.
    """
    of_rows = groupby(chunks, key=_row_number)
    number, given = next(of_rows, _NO_CHUNKS)
    for row in rows:
        if number == row.number:
            yield row, list(given)
            number, given = next(of_rows, _NO_CHUNKS)
        else:
            yield row, []
        if number is not None and number <= row.number:
            break
    if number is not None and rows.n_failed:
        raise InputError(f"chunks are not checked from those of row {number} on")
    if number is not None:
        raise InputError(
            f"chunks are of row {number}, which has no text, or whose chunks do not stand together "
            "in the order of the rows, as `cutline chunk` writes them"
        )


def _row_number(chunk: dict[str, Any]) -> int:
    """Return which row of its file a chunk is of.

    Raises:
        click.UsageError: it does not say so.
    """
    from cutline.verification.duck_typing import metadata_of

    number = metadata_of(chunk).get("row")
    if type(number) is not int:
        raise click.UsageError(
            "--column is for chunks of rows, which have the number of their row in metadata, as "
            "`cutline chunk --column` writes it"
        )
    return number


class _Node(NamedTuple):
    """A row of a hierarchy, for `verify_levels`."""

    chunk: dict[str, Any]
    id: object
    parent: int | None
    parent_id: object
    children: list[int]


def _levels(rows: list[dict[str, Any]], number: int) -> list[list[_Node]]:
    """Make the levels of a hierarchy of its rows, which name their parents.

    Raises:
        click.UsageError: a row has no such level.
    """
    levels: list[list[_Node]] = [[] for _ in range(number)]
    places: dict[object, int] = {}
    children: defaultdict[object, list[int]] = defaultdict(list)
    for row in rows:
        level, parent_id = row.get("level"), row.get("parent_id")
        if type(level) is not int or not 0 <= level < number:
            raise click.UsageError(
                f"a row has level {level!r}: it must be from 0 to {number - 1} for these --sizes, "
                "as `cutline chunk --sizes` writes it"
            )
        place = len(levels[level])
        children[level, parent_id].append(place)
        parent = places.get((level - 1, parent_id))
        own = children[level + 1, row.get("id")]
        levels[level].append(_Node(row, row.get("id"), parent, parent_id, own))
        places[level, row.get("id")] = place
    return levels


def _named(file: object) -> str:
    """Return the name of the file that chunks are of.

    Raises:
        click.UsageError: no row, and no option, says where it is.
    """
    if not isinstance(file, str) or file == STDIN:
        raise click.UsageError("these rows do not name the file that they are of: pass --source")
    return file


def _text_of(path: Path, chunks: Given, reader: TextReader) -> str:
    """Read the text that was cut: of a notebook its Markdown, if that is what was cut.

    Raises:
        click.UsageError: the chunks are of the rows of a file.
        InputError, OSError: it cannot be read.
    """
    from cutline import notebook_text
    from cutline.chunking.by_name import kind_of
    from cutline.verification.duck_typing import metadata_of

    if "row" in metadata_of(chunks[0]):
        raise click.UsageError("these chunks are of the rows of a file: pass their --column")
    text = reader.text(path.read_bytes())
    if kind_of(str(path)) == "notebook":
        # With --by, the JSON itself is cut.
        with suppress(ValueError):
            markdown, longest = notebook_text(text), max((one["text"] for one in chunks), key=len)
            if longest in markdown or longest not in text:
                return markdown
    return text
