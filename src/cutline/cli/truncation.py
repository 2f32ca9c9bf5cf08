"""`cutline truncate`: cuts texts to a token budget."""

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from cutline.cli.commands import command, run
from cutline.cli.decoding import TextReader, reads_text
from cutline.cli.inputs import Watch, opened
from cutline.cli.options import also_fits, encoding_choice, input_output

if TYPE_CHECKING:
    from cutline import Encoding


max_tokens_option = click.option(
    "--max-tokens",
    "-n",
    metavar="TOKENS",
    type=click.IntRange(min=0),
    required=True,
    help="Maximum tokens of the output, marker included.",
)
marker_option = click.option(
    "--marker", metavar="TEXT", default="…", help="Replaces the removed text; may be empty."
)
boundary_option = click.option(
    "--boundary",
    type=click.Choice(["character", "grapheme", "word"]),
    default="character",
    help="What no cut splits: code points, graphemes (user-perceived characters), or words.",
)


@command(
    "cutline truncate --max-tokens 8000 book.txt > prompt.txt",
    "cutline truncate -n 500 --keep end --marker '[...] ' app.log",
    "git diff | cutline truncate -n 4000 --keep both",
)
@max_tokens_option
@also_fits
@click.option(
    "--keep",
    type=click.Choice(["start", "end", "both"]),
    default="start",
    help="Which part of the text is kept.",
)
@marker_option
@boundary_option
@encoding_choice
@reads_text
@input_output
def truncate(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    encoding: "Encoding",
    max_tokens: int,
    keep: str,
    marker: str,
    boundary: str,
    also_fits: "dict[str | Encoding, int]",
) -> None:
    """Cut each text to a token budget; one that fits stays as it is.

    Nothing else is added: no newline, neither at the end nor between files. With
    --keep start, no more is read than decides what is kept.
    """
    from cutline.packing import truncate as truncated

    def cut(text: str) -> str:
        return truncated(
            text,
            max_tokens,
            keep,  # type: ignore[arg-type]
            marker,
            encoding=encoding,
            boundary=boundary,  # type: ignore[arg-type]
            also_fits=also_fits,
        )

    def cut_beginning(name: str, path: Path, _watch: Watch) -> str:
        with opened(name, path) as file:
            return cut(_beginning(file, reader, encoding, max_tokens, also_fits))

    reads_all = keep != "start"
    run(
        files,
        output,
        work=(lambda _, content: cut(reader.text(content))) if reads_all else None,
        stream=None if reads_all else cut_beginning,
        write=lambda results: (text for _, text in results),
    )


def _beginning(
    file: BinaryIO,
    reader: TextReader,
    encoding: "Encoding",
    max_tokens: int,
    also_fits: "dict[str | Encoding, int]",
) -> str:
    """Read as much of a text as decides what is kept of its start."""
    from cutline.counting.beginnings import BeginningRead
    from cutline.counting.limits import Limit, further_limits

    read = BeginningRead([Limit(encoding, max_tokens), *further_limits(also_fits)])
    whole = reader.beginning(file, read.add)
    return read.text if whole is None else whole
