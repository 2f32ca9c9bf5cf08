"""`cutline pack`: joins texts within a token budget."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutline.cli.commands import command, run
from cutline.cli.decoding import InputError, TextReader, reads_text
from cutline.cli.inputs import Watch, shown_name
from cutline.cli.options import also_fits, encoding_choice, input_output
from cutline.cli.records import Rows, column_option
from cutline.cli.truncation import boundary_option, marker_option, max_tokens_option

if TYPE_CHECKING:
    from cutline import Encoding, Item
    from cutline.training.rows import Row

Items = Iterable["Item"]

_OF_ROWS = ("priority", "min_tokens", "overhead_tokens", "keep", "required")


@command(
    "cutline pack --max-tokens 8000 system.txt history.txt question.txt > prompt.txt",
    "cutline pack -n 8000 --column text hits.jsonl > passages.txt",
    "cutline pack -n 2000 --min-tokens 50 --report notes/*.md > context.txt",
)
@max_tokens_option
@also_fits
@click.option(
    "--separator",
    metavar="TEXT",
    default="\n\n",
    show_default="an empty line",
    help="Text between two texts.",
)
@click.option(
    "--min-tokens",
    metavar="TOKENS",
    type=click.IntRange(min=0),
    help="Truncate a text that does not fit, if so many tokens of it remain.  [default: leave it "
    "out]",
)
@marker_option
@boundary_option
@click.option(
    "--report",
    "reports",
    is_flag=True,
    help="Write to standard error what was placed, truncated and left out.",
)
@column_option
@encoding_choice
@reads_text
@input_output
def pack(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    encoding: "Encoding",
    max_tokens: int,
    separator: str,
    min_tokens: int | None,
    marker: str,
    boundary: str,
    reports: bool,
    column: str | None,
    also_fits: "dict[str | Encoding, int]",
) -> None:
    """Join as many texts as fit a token budget, the most important first.

    Each FILE is a text, and what comes first is the most important; with --column,
    each row is, and the row's `priority` (highest first, 0 without one) counts
    before its place. Rows may have `min_tokens`, `overhead_tokens`, `keep` and
    `required`, too; that a required one does not fit is an error. The texts that
    are placed keep their order. If a FILE fails, the others are packed,
    and the exit code is 1.
    """
    from cutline.packing import Item
    from cutline.packing import pack as packed_of

    def work(_: str, content: bytes) -> Items:
        return [Item(reader.text(content), min_tokens=min_tokens)]

    def stream(_: str, path: Path, watch: Watch) -> Items:
        # Not a generator: that a file has no rows is found while its name is known.
        return items_of(
            Rows(path, str(column), watch, errors=reader.errors, reader=reader), path, watch
        )

    def items_of(rows: Rows, path: Path, watch: Watch) -> Items:
        for row in rows:
            try:
                yield _item(row, min_tokens)
            except InputError as error:
                watch.fail(f"{shown_name(str(path))}: {error}")

    def write(results: Iterable[tuple[str, Items]]) -> Iterator[str]:
        named = [(name, item) for name, items in results for item in items]
        packed = packed_of(
            [item for _, item in named],
            max_tokens,
            encoding=encoding,
            separator=separator,
            marker=marker,
            boundary=boundary,  # type: ignore[arg-type]
            also_fits=also_fits,
        )
        if reports:
            *lines, total = packed.report().splitlines()
            for line, (name, _) in zip(lines, named, strict=True):
                click.echo(f"{line}  {shown_name(name)}", err=True)
            click.echo(total, err=True)
        elif not packed.text and any(item.status == "dropped" for item in packed.items):
            hint = "; with --min-tokens they are truncated" if min_tokens is None else ""
            click.echo(f"cutline: no text fits --max-tokens {max_tokens}{hint}", err=True)
        yield packed.text

    run(
        files,
        output,
        work=work if column is None else None,
        write=write,
        stream=None if column is None else stream,
    )


def _item(row: "Row", min_tokens: int | None) -> "Item":
    """Read a row.

    Raises:
        InputError: what it says of its item is wrong.
    """
    from cutline.packing import Item

    options = {"min_tokens": min_tokens} | {
        name: row.others[name] for name in _OF_ROWS if row.others.get(name) is not None
    }
    try:
        if not isinstance(required := options.get("required", False), bool):
            raise TypeError(f"required must be true or false, got {required!r}")
        return Item(row.text, **options)
    except (TypeError, ValueError) as error:
        raise InputError(f"row {row.number}: {error}") from error
