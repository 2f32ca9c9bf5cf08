"""`cutline verify`: checks chunks against the texts that they are of."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cutline.cli.chunkers import template_options, with_file
from cutline.cli.commands import command, run
from cutline.cli.decoding import TextReader, reads_text
from cutline.cli.failure import message_of
from cutline.cli.inputs import Watch, shown_name
from cutline.cli.options import also_fits, encoding_choice, input_output
from cutline.cli.records import Rows
from cutline.cli.sizes import read_sizes
from cutline.cli.streams import STDIN
from cutline.errors import CutlineError

if TYPE_CHECKING:
    from cutline import Encoding, Report
    from cutline.template import Template

Reports = Iterator[tuple[str, "Report"]]


@command(
    "cutline verify --chunk-size 256 chunks.jsonl",
    "cutline verify --chunk-size 512 --overlap 64 --strip chunks.parquet",
    "cutline verify --sizes 2048,512,128 chunks.jsonl",
    "cutline verify -e cl100k_base --chunk-size 500 --source book.txt others.jsonl",
)
@click.option("--chunk-size", metavar="TOKENS", type=click.IntRange(min=1), help="The budget.")
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
    type=click.Path(),
    help="The text that was cut.  [default: the file that each row names]",
)
@encoding_choice
@reads_text
@input_output
def verify(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    encoding: "Encoding",
    chunk_size: int | None,
    sizes: tuple[int, ...],
    overlap: int,
    strip: bool,
    template: "Template | None",
    also_fits: "dict[str | Encoding, int]",
    source: str | None,
) -> None:
    """Check chunks, of `cutline chunk` or anyone, against the texts they were cut from.

    FILEs are JSON Lines or Parquet, with a row for each chunk: its text as `text`,
    and if known its offsets and tokens, as `start_index`, `end_index` and
    `token_count`; and the `file` that it is of. The tokens are counted again, and
    text that is in no chunk is found. Exit code 1 if anything is wrong.
    """
    from cutline import verify as report_on
    from cutline import verify_levels

    if (chunk_size is None) != bool(sizes):
        raise click.UsageError("pass either --chunk-size or --sizes")
    if sizes and (overlap or strip):
        raise click.UsageError("--sizes is for chunks without --overlap and --strip")
    is_right = True

    def check(text: str, given: list[dict[str, Any]], file: str) -> Reports:
        options: dict[str, Any] = {
            "encoding": encoding, "template": with_file(template, file), "also_fits": also_fits,
        }  # fmt: skip
        if chunk_size is None:
            levels = _levels(given, len(sizes))
            for level, report in enumerate(verify_levels(text, levels, sizes=sizes, **options)):
                yield f"{shown_name(file)}, level {level}", report
        elif "level" in given[0]:
            raise click.UsageError("these rows have levels: pass their --sizes")
        else:
            options |= {"chunk_size": chunk_size, "chunk_overlap": overlap, "strip": strip}
            yield shown_name(file), report_on(text, given, **options)

    def stream(_: str, path: Path, watch: Watch) -> Reports:
        # Not a generator: that a file has no rows is found while its name is known.
        return reports_on(Rows(path, "text", watch), watch)

    def reports_on(rows: Rows, watch: Watch) -> Reports:
        chunks = ({"text": row.text, **row.others} for row in rows)
        for file, of_file in groupby(chunks, key=lambda chunk: source or chunk.get("file")):
            given = list(of_file)
            try:
                text = _text_of(file, given, reader)
                yield from check(text, given, str(file))
            except (OSError, CutlineError) as error:
                watch.fail(f"{shown_name(str(file))}: {message_of(error)}")

    def write(results: Iterable[tuple[str, Reports]]) -> Iterator[str]:
        nonlocal is_right
        for _, reports in results:
            for file, report in reports:
                is_right = is_right and report.ok
                yield f"{file}: {report}\n"

    run(files, output, work=None, write=write, stream=stream)
    if not is_right:
        raise click.exceptions.Exit(1)


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


def _text_of(file: object, chunks: list[dict[str, Any]], reader: TextReader) -> str:
    """Read the text that was cut: of a notebook its Markdown, if that is what was cut.

    Raises:
        click.UsageError: no row, and no option, says where it is.
        InputError, OSError: it cannot be read.
    """
    if not isinstance(file, str) or file == STDIN:
        raise click.UsageError("these rows do not name the file that they are of: pass --source")
    from cutline import notebook_text
    from cutline.chunking.by_name import kind_of

    metadata = chunks[0].get("metadata")
    if isinstance(metadata, str):  # as in Parquet
        metadata = json.loads(metadata)
    if isinstance(metadata, dict) and "row" in metadata:
        raise click.UsageError("the chunks of --column are not verified: their texts are in rows")
    text = reader.text(Path(file).read_bytes())
    if kind_of(file) == "notebook":
        # With --by, the JSON itself is cut.
        with suppress(ValueError):
            markdown, longest = notebook_text(text), max((one["text"] for one in chunks), key=len)
            if longest in markdown or longest not in text:
                return markdown
    return text
