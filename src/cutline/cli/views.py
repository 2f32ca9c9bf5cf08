"""`cutline view`: shows chunks, as a page or in the terminal."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutline.checks import without_surrogates
from cutline.cli.chunkers import Chunkers
from cutline.cli.commands import command, run
from cutline.cli.cutting import Cutting, chunking_options
from cutline.cli.decoding import TextReader, reads_text
from cutline.cli.failure import Failure
from cutline.cli.options import PATH, encoding_choice, output_option
from cutline.cli.output import STDOUT
from cutline.cli.sizes import read_sizes
from cutline.cli.streams import STDIN, writes_to_terminal

if TYPE_CHECKING:
    from cutline import Chunk, Encoding, Node

    Shown = list[Chunk] | list[list[Node]]
    Results = Iterable[tuple[str, tuple[str, Shown]]]


@command(
    "cutline view --chunk-size 256 notes.txt",
    "cutline view --by markdown --open README.md",
    "cutline view --by code -o page.html src/app.py",
    "cutline view --sizes 2048,512,128 -o page.html README.md",
    "cutline view --color always book.txt | less -R",
)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=PATH)
@chunking_options
@click.option(
    "--sizes",
    metavar="N,N,...",
    callback=read_sizes,
    help="Maximum tokens at several levels, as for `cutline chunk`, instead of --chunk-size: the "
    "chunks of the last are shown, and on a page where those of the others begin.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "text"]),
    help="A page, or text.  [default: html with --output or --open, else text]",
)
@click.option("--open", "opens", is_flag=True, help="Show the page in a browser.")
@click.option(
    "--color",
    "colors",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Of text: auto means on a terminal, unless NO_COLOR is set.",
)
@encoding_choice
@reads_text
@output_option
def view(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    encoding: "Encoding",
    cutting: Cutting,
    sizes: tuple[int, ...],
    form: str | None,
    opens: bool,
    colors: str,
) -> None:
    """Show the chunks of files: tokens, overlap, how full they are.

    In the terminal chunks, and tokens in them, take turns in colour; what chunks
    share is grey, or without colours between ⟪ and ⟫. With --output or --open it
    is a page for the browser, in one file that loads nothing from the network; a
    page shows one FILE.
    """
    if opens and form == "text":
        raise click.UsageError("--open shows a page: leave out --format text")
    chunkers = Chunkers(encoding, cutting.with_sizes(sizes) if sizes else cutting, sizes)
    is_page = form == "html" or (form is None and (opens or output != STDOUT))
    if is_page and len(files) > 1:
        raise click.UsageError("a page shows one FILE; --format text shows several")
    if opens and output == STDOUT:
        output = _new_page()

    def work(name: str, content: bytes) -> "tuple[str, Shown]":
        text = chunkers.text_of(name, content, reader)
        return text, chunkers.levels(name, text) if sizes else chunkers.chunk(name, text)

    def write(results: "Results") -> Iterator[str]:
        from cutline.view import html_page, terminal_view

        for name, (text, chunks) in results:
            title = "standard input" if name == STDIN else without_surrogates(name)
            size = sizes[-1] if sizes else chunkers.chunk_size
            template = chunkers.template_for(name)
            if is_page:
                yield html_page(
                    text, chunks, encoding, title=title, chunk_size=size, template=template
                )
            else:
                has_colors = _has_colors(colors, output)
                yield from terminal_view(
                    text,
                    chunks,
                    encoding,
                    title=title,
                    chunk_size=size,
                    has_colors=has_colors,
                    template=template,
                )

    run(files, output, work=work, write=write)
    if opens:
        _open(Path(output))


def _has_colors(colors: str, output: str) -> bool:
    if colors != "auto":
        return colors == "always"
    return (
        writes_to_terminal(output)
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def _new_page() -> str:
    import tempfile

    handle, path = tempfile.mkstemp(prefix="cutline-", suffix=".html")
    os.close(handle)
    return path


def _open(page: Path) -> None:
    """Show a page in a browser, and print its path.

    Raises:
        Failure: there is no browser.
    """
    import webbrowser

    click.echo(f"cutline: the page is {click.format_filename(page)}", err=True)
    if not webbrowser.open(page.resolve().as_uri()):
        raise Failure("no browser found: open the page in one yourself")
