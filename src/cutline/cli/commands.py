"""The command group, the simple commands, and `run`, which all commands use."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from cutline.cli.decoding import TextReader, reads_text
from cutline.cli.failure import Program
from cutline.cli.finding import Finder, Selection
from cutline.cli.ids import decode_ids
from cutline.cli.inputs import Inputs, Stream
from cutline.cli.options import (
    DEFAULT_ENCODING,
    encoding_choice,
    input_output,
    output_format,
)
from cutline.cli.output import STDOUT, open_output
from cutline.cli.streams import STDIN, is_terminal, writes_to_terminal
from cutline.errors import UnparsedWarning
from cutline.version import __version__

if TYPE_CHECKING:
    from cutline import Encoding

T = TypeVar("T")
Named = Iterable[tuple[str, T]]

_MODELS_WIDTH = 60
_WITHOUT_DOCSTRINGS = (
    "What the commands do is not said here, because Python runs with -OO (or PYTHONOPTIMIZE=2): "
    "ask for help without it."
)


def examples(*lines: str) -> str:
    """Write a help text's examples, and why there is nothing else where docstrings are stripped."""
    # The backspace keeps click from re-wrapping the paragraph.
    shown = "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))
    return shown if sys.flags.optimize < 2 else f"{shown}\n\n{_WITHOUT_DOCSTRINGS}"


def run(
    files: Sequence[str],
    output: str,
    *,
    work: Callable[[str, bytes], T] | None,
    write: Callable[[Named[T]], Iterator[str | bytes]],
    selection: Selection | None = None,
    begins: bytes = b"",
    reader: TextReader | None = None,
    stream: Stream[T] | None = None,
    n_jobs: int = 1,
) -> None:
    """Read every file, apply `work` to its content, and output the results with `write`.

    With `selection`, names may also be folders and patterns, in which the output file is skipped,
    if it `begins` like one that was written before. With `stream`, it processes large
    files, or without `work` all. With several jobs, `work` processes several files at a time.
    """
    # Rows on the same terminal would break up a progress bar.
    may_show_progress = is_terminal(sys.stderr) and not writes_to_terminal(output)
    names = selection.names if selection else None
    inputs = Inputs(
        files or ([STDIN] if names is None else []),
        names or (),
        may_show_progress=may_show_progress,
        finder=Finder(selection, output, begins) if selection else None,
        reader=reader,
    )
    with warnings.catch_warnings(), open_output(output) as sink:
        # A note names the file. Here, since several threads cannot each catch warnings.
        warnings.simplefilter("ignore", UnparsedWarning)
        for part in write(inputs.results(work, stream, n_jobs)):
            # A --marker that is not UTF-8 is written as it was given.
            sink.write(part.encode(errors="surrogateescape") if isinstance(part, str) else part)
    inputs.end()


@click.group(
    cls=Program,
    modules={
        "chunk": "cutline.cli.chunks",
        "count": "cutline.cli.counts",
        "eval": "cutline.cli.evaluating",
        "languages": "cutline.cli.languages",
        "messages": "cutline.cli.messages",
        "pack": "cutline.cli.packing",
        "shorten": "cutline.cli.shortening",
        "train": "cutline.cli.training",
        "truncate": "cutline.cli.truncation",
        "verify": "cutline.cli.verifying",
        "view": "cutline.cli.views",
    },
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=examples(
        "cutline count *.md",
        "cutline chunk --chunk-size 256 book.txt > chunks.jsonl",
        "cutline view --by markdown README.md",
        "cutline encode --model gpt-4o < prompt.txt",
        "cutline train corpus/*.txt --vocab-size 32000 --out mine.cutline",
        "cutline chunk --help",
    ),
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Count and cut text by tokens, exactly; train encodings.

    Commands read the FILEs, or standard input where FILE is "-" or missing, as
    UTF-8. For chunk and count, FILE can be a folder, which stands for all files
    in it, or a pattern in quotes, such as 'docs/**/*.md'. What is found so and is
    no text is skipped. A file that fails is reported and the others are still
    processed.
    Exit codes: 0 all done, 1 something failed, 2 wrong usage.
    """
    # numpy starts a thread for each processor, which spins; no command needs them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def command(*lines: str, name: str | None = None) -> Callable[[Callable[..., None]], click.Command]:
    """Add a command, with examples for its help text; its name is by default the function's."""
    return main.command(name, epilog=examples(*lines))


@command(
    "cutline encode prompt.txt",
    "cutline encode --format jsonl *.txt > ids.jsonl",
    "printf 'a<|endoftext|>' | cutline encode --allow-special",
)
@click.option(
    "--allow-special",
    is_flag=True,
    help="Encode the text of special tokens, such as <|endoftext|>, as those tokens.",
)
@output_format(default="text")
@encoding_choice
@reads_text
@input_output
def encode(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    encoding: "Encoding",
    form: str,
    allow_special: bool,
) -> None:
    """Write the token ids of each file.

    One line per file, ids separated by spaces. A JSON line has file,
    token_count and tokens. The text of special tokens is ordinary text unless
    --allow-special is given.
    """

    def work(_: str, content: bytes) -> list[int]:
        text = reader.text(content)
        if allow_special:
            return encoding.encode(text, allowed_special="all")
        return encoding.encode_ordinary(text)

    run(files, output, work=work, write=_id_rows if form == "jsonl" else _id_lines)


def _id_rows(results: Named[list[int]]) -> Iterator[str]:
    from cutline.cli.rows import json_of

    for file, tokens in results:
        yield json_of({"file": file, "token_count": len(tokens), "tokens": tokens}) + "\n"


def _id_lines(results: Named[list[int]]) -> Iterator[str]:
    for _, tokens in results:
        yield " ".join(map(str, tokens)) + "\n"


@command(
    "cutline encode notes.txt | cutline decode",
    "echo '[24912, 2375]' | cutline decode --encoding o200k_base",
    "cutline decode -o notes.txt notes.ids",
)
@encoding_choice
@input_output
def decode(files: tuple[str, ...], output: str, encoding: "Encoding") -> None:
    """Write the exact bytes of token ids.

    Ids are whole numbers, separated by white space or in JSON arrays. Nothing
    is added: no newline, neither at the end nor between files.
    """
    run(
        files,
        output,
        work=lambda _, content: decode_ids(encoding, content),
        write=lambda results: (content for _, content in results),
    )


@command("cutline encodings")
def encodings() -> None:
    """List the encodings: name, vocabulary size, models.

    The one marked * is the default.
    """
    import cutline

    with open_output(STDOUT) as sink:
        sink.write(f"  {'NAME':<15}{'TOKENS':>7}  MODELS\n".encode())
        for name in cutline.list_encoding_names():
            mark = "*" if name == DEFAULT_ENCODING else " "
            size = cutline.get_encoding(name).n_vocab
            row = f"{mark} {name:<15}{size:>7}  {_model_examples(name)}"
            sink.write(f"{row.rstrip()}\n".encode())


def _model_examples(encoding_name: str) -> str:
    from textwrap import shorten

    from cutline.vocabulary.models import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING

    encodings = MODEL_TO_ENCODING | {f"{k}*": name for k, name in MODEL_PREFIX_TO_ENCODING.items()}
    models = ", ".join(model for model, name in encodings.items() if name == encoding_name)
    return shorten(models, width=_MODELS_WIDTH, placeholder=" ...")
