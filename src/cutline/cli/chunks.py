"""`cutline chunk`: files in, rows out."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutline.chunks import Chunk
from cutline.cli.chunkers import Chunkers
from cutline.cli.commands import command, run
from cutline.cli.cutting import Cutting, chunking_options
from cutline.cli.decoding import TextReader, reads_text
from cutline.cli.failure import Failure
from cutline.cli.finding import BEGINNINGS, Selection, finds_files
from cutline.cli.inputs import Watch
from cutline.cli.options import encoding_choice, input_output, jobs, output_format
from cutline.cli.parallel import ahead, begun
from cutline.cli.records import Rows, column_option
from cutline.cli.rows import Found, Render, json_rows
from cutline.cli.sizes import sizes_option
from cutline.cli.streams import writes_to_terminal
from cutline.extras import check
from cutline.kernels.base.utf8 import encode_utf8

if TYPE_CHECKING:
    from cutline import Encoding
    from cutline.chunking.chunk_run import ChunkRun

FORM_FEED = "\f"
Results = Iterable[tuple[str, Found]]


@command(
    "cutline chunk --chunk-size 256 --overlap 32 book.txt > chunks.jsonl",
    "cutline chunk -e cl100k_base --also-fits bytes=40000 book.txt > chunks.jsonl",
    "cutline chunk --format parquet -o chunks.parquet docs src",
    "cutline chunk --sizes 2048,512,128 docs > chunks.jsonl",
    "cutline chunk --by token 'docs/**/*.md' > chunks.jsonl",
    "cutline chunk --prefix 'passage: ' --with-headings docs > chunks.jsonl",
    "cutline chunk --format text --separator ---- -o chunks.txt book.txt",
    "cat book.txt | cutline chunk --model gpt-4o | head -1",
)
@chunking_options
@sizes_option
@output_format(
    "jsonl", "parquet", text="JSON Lines or Parquet, with the same columns, or plain text."
)
@click.option(
    "--separator",
    metavar="LINE",
    help="With --format text: the line written between chunks.  [default: a form feed]",
)
@encoding_choice
@column_option
@click.option(
    "--carry",
    metavar="NAME",
    multiple=True,
    help="With --column: of the other columns, which are all in the metadata, only this one, and "
    "those of --template. May be repeated.",
)
@finds_files
@reads_text
@jobs
@input_output
def chunk(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    selection: Selection,
    n_jobs: int,
    encoding: "Encoding",
    cutting: Cutting,
    sizes: tuple[int, ...],
    form: str,
    separator: str | None,
    column: str | None,
    carry: tuple[str, ...],
) -> None:
    """Cut text into chunks of at most --chunk-size tokens, and within --also-fits.

    A row has file, index, start_index, end_index (in code points), token_count,
    text, headings (those above it), metadata and content_hash. With --template,
    --prefix or --with-headings it also has sent, what is sent for the chunk, and
    metadata has sent_tokens, their number. With --sizes it also has level, 0 for the
    largest chunks, id and parent_id, null at level 0. With --line-numbers it has
    start_line and end_line, from 1.

    As text, chunks, or what is sent for them, are joined by a newline, the
    separator line and a newline; where the text itself may contain that line, use
    jsonl.

    A folder stands for all files in it and its subfolders, in the order of their
    names, except hidden ones.
    """
    if separator is not None and form != "text":
        raise click.UsageError("--separator needs --format text")
    if carry and column is None:
        raise click.UsageError("--carry needs --column")
    if column in carry:
        raise click.UsageError(f"--carry {column} is the --column, which chunks are cut from")
    if output.lower().endswith(".parquet") and form != "parquet":
        raise click.UsageError(f"{output} would contain {form}: add --format parquet")
    if form == "parquet":
        if writes_to_terminal(output):
            raise click.UsageError("--format parquet is not for terminals: give --output FILE")
        _check_pyarrow()
    if sizes:
        if form == "text":
            raise click.UsageError("--sizes needs --format jsonl or parquet")
        cutting = cutting.with_sizes(sizes)
    chunkers = Chunkers(encoding, cutting, sizes, of_rows=column is not None, carry=carry)
    line = FORM_FEED if separator is None else separator

    def write(results: Results) -> Iterator[str | bytes]:
        yield from written(results)
        chunkers.note_unseen()

    def written(results: Results) -> Iterator[str | bytes]:
        if form == "text":
            return _texts(results, line, chunkers.render)
        sent = None if cutting.template is None else chunkers.render
        if form == "jsonl":
            return json_rows(results, sent, are_families=bool(sizes))
        results = begun(results)  # threads work while the imports take a while
        from cutline.cli.parquet import parquet

        return parquet(results, n_jobs, sent, lines=cutting.line_numbers, are_families=bool(sizes))

    def work(name: str, content: bytes) -> Found:
        return chunkers.chunk(name, chunkers.text_of(name, content, reader))

    def stream(name: str, path: Path, watch: Watch) -> Found:
        if column is not None:
            others = chunkers.carried_from(name)
            rows = Rows(path, column, watch, n_jobs, reader.errors, others, reader)
            return chunkers.chunk_rows(name, rows)
        found = chunkers.stream(name, path, watch, reader)
        return found if n_jobs == 1 or isinstance(found, list) else begun(ahead(found, _n_chunks))

    run(
        files,
        output,
        work=work if column is None else None,
        write=write,
        selection=selection,
        begins=BEGINNINGS.get(form, b""),
        reader=reader,
        stream=stream,
        n_jobs=n_jobs,
    )


def _check_pyarrow() -> None:
    """Refuse Parquet where pyarrow is not installed, before anything is read.

    Raises:
        Failure: it is not; says how to install it.
    """
    try:
        check("pyarrow", "--format parquet", "arrow")
    except ImportError as error:
        raise Failure(str(error)) from error


def _n_chunks(item: "Chunk | ChunkRun") -> int:
    return 1 if isinstance(item, Chunk) else len(item)


def _texts(results: Results, line: str, render: Render) -> Iterator[bytes]:
    from cutline.chunking.chunk_run import each_chunk

    between = b""
    for file, found in results:
        for piece in each_chunk(found):
            yield between + encode_utf8(render(file, piece))
            # A line that is not UTF-8 is written as it was given.
            between = b"\n%b\n" % line.encode(errors="surrogateescape")
