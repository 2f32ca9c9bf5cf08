"""`cutline shorten`: fits the output of tools to a token budget, and keeps its structure."""

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from cutline.cli.commands import command, run
from cutline.cli.decoding import InputError, TextReader, reads_text
from cutline.cli.failure import Failure, Notes
from cutline.cli.inputs import shown_name
from cutline.cli.options import encoding_choice, input_output
from cutline.cli.streams import STDIN
from cutline.cli.truncation import marker_option, max_tokens_option

if TYPE_CHECKING:
    from cutline import Encoding, Shortened


@command(
    "cutline shorten --max-tokens 2000 answer.json > shorter.json",
    "pytest | cutline shorten -n 4000 --kind log",
    "cutline shorten -n 3000 --report src/app.py",
)
@max_tokens_option
@click.option(
    "--kind",
    metavar="NAME",
    default="auto",
    help="What the text is: json, jsonl, csv, tsv, psv, log, markdown, text, or a programming "
    "language; auto: as the file's name or else the text says.",
)
@marker_option
@click.option(
    "--report",
    "reports",
    is_flag=True,
    help="Write to standard error as what each text was shortened, and how much of it is left.",
)
@encoding_choice
@reads_text
@input_output
def shorten(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    encoding: "Encoding",
    max_tokens: int,
    kind: str,
    marker: str,
    reports: bool,
) -> None:
    """Leave out parts of each text until it fits a token budget; JSON stays JSON.

    Tables keep their header, logs the lines that tell of errors, Markdown its
    headings, code its definitions, and any other text its two ends. A text that
    fits stays as it is. Nothing is added between files.
    """
    from cutline import shorten as shortened
    from cutline.errors import BudgetError, UnparsedWarning
    from cutline.shortening import KINDS

    notes = Notes()

    def work(name: str, content: bytes) -> "tuple[int, Shortened]":
        text = reader.text(content)
        of_name = _kind_of(name, notes) if kind == "auto" else kind
        try:
            found = shortened(text, max_tokens, kind=of_name, encoding=encoding, marker=marker)
        except BudgetError as error:
            raise InputError(str(error)) from error
        return len(text), found

    def write(results: "Iterable[tuple[str, tuple[int, Shortened]]]") -> Iterator[str]:
        for name, (length, found) in results:
            if reports:
                left = sum(end - start for start, end in found.kept)
                click.echo(
                    f"{shown_name(name)}: {found.kind}, {found.token_count} tokens, "
                    f"{left} of {length} characters",
                    err=True,
                )
            yield found.text

    if kind not in KINDS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UnparsedWarning)
                shortened("", 0, kind=kind)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--kind") from error
        except UnparsedWarning as warning:
            raise Failure(f"--kind {kind}: {warning}") from warning
    run(files, output, work=work, write=write)


def _kind_of(name: str, notes: Notes) -> str:
    """Return the kind that a file's name tells of, or "auto"; with a note if it has no parser."""
    from cutline.chunking.by_name import MARKDOWN, NOTEBOOK, TEXT, kind_of
    from cutline.shortening import KINDS

    kind = "auto" if name == STDIN else kind_of(name).removeprefix("data/")
    if kind == NOTEBOOK:
        return "json"
    if kind in (TEXT, "transcript"):
        return "auto"
    if kind in KINDS or kind == MARKDOWN:
        return kind
    try:
        from cutline import code_languages

        return kind if kind in code_languages() else "auto"
    except ImportError as error:
        notes.add(f"code is shortened as text: {error}")
        return "auto"
