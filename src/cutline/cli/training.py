"""`cutline train`: files in, an encoding out."""

import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutline.cli.commands import command
from cutline.cli.corpus import Corpus, count, count_and_save
from cutline.cli.failure import Failure, message_of
from cutline.cli.options import PATH
from cutline.cli.output import STDOUT, open_output
from cutline.cli.saved_counts import SavedCounts, need_folder
from cutline.cli.status import status_line
from cutline.cli.streams import STDIN
from cutline.cli.summary import summary
from cutline.errors import PatternFallbackWarning

if TYPE_CHECKING:
    from cutline.training import Ties

DEFAULT_PATTERN = "o200k_base"
NO_PATTERN = "none"
_NAME = re.compile(r"[\w-]+")
_STDIN_PATH = "/dev/stdin"


@command(
    "cutline train corpus/*.txt --vocab-size 32000 --out mine.cutline",
    "cutline train 'corpus/**/*.jsonl.gz' --column text -n 50000 -o tokenizer.json",
    "cutline train book.txt -n 8192 --pattern cl100k_base --special '<|end|>' -o b.tiktoken",
    "cutline train big/*.txt -n 100000 --counts big.counts -o big.cutline",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--vocab-size",
    "-n",
    metavar="TOKENS",
    type=click.IntRange(min=256),
    required=True,
    help="Tokens in all: 256 bytes, merges and special tokens.",
)
@click.option(
    "--out",
    "--output",
    "-o",
    metavar="FILE",
    type=PATH,
    required=True,
    help="Where to write; ends in .cutline, .tiktoken, tokenizer.json or vocab.json.",
)
@click.option(
    "--pattern",
    metavar="NAME|REGEX",
    default=DEFAULT_PATTERN,
    help="Split pattern: that of an encoding, a regular expression, or none.",
)
@click.option(
    "--special",
    "special_tokens",
    metavar="TEXT",
    multiple=True,
    help="A special token; can be given again. It cuts the text and is not trained on.",
)
@click.option(
    "--min-frequency",
    metavar="N",
    type=click.IntRange(min=1),
    default=2,
    help="Stop when no pair occurs as often.",
)
@click.option(
    "--ties",
    type=click.Choice(["smallest", "largest", "ids"]),
    default="smallest",
    help="Which of equally frequent pairs goes first: by their bytes, or the lower ids.",
)
@click.option(
    "--max-token-length", metavar="BYTES", type=click.IntRange(min=1), help="Make no longer tokens."
)
@click.option("--column", metavar="NAME", help="Which column of JSONL or Parquet is the text.")
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(min=1),
    help="For counting.  [default: one for each processor]",
)
@click.option(
    "--counts",
    "counts_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Keep counts in FILE, also when interrupted, and continue from those in it.",
)
@click.option(
    "--held-out",
    metavar="SHARE",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Do not train on this share of the text, such as 0.01: measure compression on it.",
)
@click.option("--quiet", "-q", is_flag=True, help="Show neither progress nor summary.")
def train(
    files: tuple[str, ...],
    vocab_size: int,
    out: str,
    pattern: str,
    special_tokens: tuple[str, ...],
    min_frequency: int,
    ties: "Ties",
    max_token_length: int | None,
    column: str | None,
    threads: int | None,
    counts_path: Path | None,
    held_out: float | None,
    quiet: bool,
) -> None:
    """Train an encoding on text.

    FILEs are UTF-8 text, .jsonl or .parquet, also packed as .gz or .zst, or
    patterns of file names in quotes. Each file, or row, is a separate document.
    A file that fails ends the run. The result depends on the text alone: not on
    threads, nor on the order of files. It appears whole or not at all.
    """
    from cutline.training.trainer import check_limits, train_from_counts

    try:
        check_limits(vocab_size, special_tokens, min_frequency, ties, max_token_length)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if counts_path is not None and held_out is not None:
        raise click.UsageError("--counts and --held-out exclude each other: give one of them")
    pat_str = _pattern_of(pattern)
    with _failures():
        from cutline.training.sources import find_files

        paths = find_files([_input_path(name) for name in files])
        corpus = Corpus(paths, column, pat_str, special_tokens, threads, quiet)
        _try_output(Path(out), corpus)
        if counts_path is None:
            counts, texts = count(corpus, held_out)
        else:
            counts, texts = count_and_save(corpus, SavedCounts(counts_path, column)), None
        with status_line(corpus.is_quiet) as status:
            encoding = train_from_counts(
                counts,
                vocab_size,
                min_frequency=min_frequency,
                ties=ties,
                max_token_length=max_token_length,
                num_threads=threads,
                progress=status,
                name=Path(out).stem,
            )
        encoding.save(out)
        if not quiet:
            with open_output(STDOUT) as sink:
                for line in summary(encoding, counts, texts):
                    sink.write(f"{line}\n".encode())
                if encoding.n_vocab < vocab_size:
                    short = f" of at most {max_token_length} bytes" if max_token_length else ""
                    line = f"no pair{short} is left that occurs {min_frequency} times\n"
                    sink.write(line.encode())


def _pattern_of(name: str) -> str | None:
    """Return the pattern of --pattern.

    Raises:
        click.BadParameter: it looks like a name, but no encoding has it.
    """
    from cutline.vocabulary import list_encoding_names, packaged_encoding

    known = list_encoding_names()
    if name == NO_PATTERN:
        return None
    if name in known:
        return packaged_encoding(name).pat_str
    if _NAME.fullmatch(name):
        near = get_close_matches(name, known, cutoff=0.4) or known
        raise click.BadParameter(
            f"{name!r} is no encoding, and would match only itself; did you mean "
            f"{' or '.join(near)}?",
            param_hint="--pattern",
        )
    return name


def _input_path(name: str) -> str:
    """Return the path of an input.

    Raises:
        click.UsageError: standard input has none, as on Windows.
    """
    if name != STDIN:
        return name
    if not Path(_STDIN_PATH).exists():
        raise click.UsageError("standard input cannot be trained on here: name files")
    return _STDIN_PATH


@contextmanager
def _failures() -> Iterator[None]:
    """Turn errors into one line.

    Raises:
        Failure: an error occurred.
    """
    try:
        with warnings.catch_warnings():
            # `_try_output` has shown it.
            warnings.simplefilter("ignore", PatternFallbackWarning)
            yield
    except BrokenPipeError:
        raise
    except OSError as error:
        name = f"{click.format_filename(error.filename)}: " if error.filename else ""
        raise Failure(name + message_of(error)) from error
    except (ValueError, OverflowError, ImportError) as error:
        raise Failure("; ".join([str(error), *getattr(error, "__notes__", [])])) from error


def _try_output(out: Path, corpus: Corpus) -> None:
    """Write an encoding without merges to a temporary folder.

    This finds an invalid pattern, name or folder before the work.

    Raises:
        click.BadParameter, Failure: the file could not be written.
        ValueError: the format cannot store the encoding, or there is no such encoding.
    """
    from cutline import Encoding
    from cutline.formats.writing import format_by_name

    if not out.is_dir() and format_by_name(out) is None:
        raise click.BadParameter(
            f"cannot infer the format from {click.format_filename(out)}: let it end in .cutline, "
            ".tiktoken, tokenizer.json or vocab.json",
            param_hint="--out",
        )
    need_folder(out, out if out.is_dir() else out.parent)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PatternFallbackWarning)
        blank = Encoding(
            "blank",
            pat_str=corpus.pat_str,
            mergeable_ranks={bytes([value]): value for value in range(256)},
            special_tokens={text: 256 + k for k, text in enumerate(corpus.special_tokens)},
        )
        blank.save(scratch if out.is_dir() else Path(scratch, out.name))
    for warning in caught:
        click.echo(f"cutline: warning: {warning.message}", err=True)
