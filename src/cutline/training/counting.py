"""`count_pieces`: documents, block by block -> how often each distinct piece occurs."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, Final

from cutline.errors import UnsupportedPatternError
from cutline.kernels.train.piece_counter import Tally
from cutline.pretokenize import fall_back
from cutline.special import SpecialFinder
from cutline.tables import build_scan_tables
from cutline.threads import checked_threads
from cutline.training.counters import RegexCounter, ScanCounter
from cutline.training.counts import PieceCounts, checked_special_texts
from cutline.training.progress import Progress
from cutline.training.sources import DocumentSource, Files, open_source
from cutline.vocabulary import O200K_PAT_STR

__all__ = ["checked_thread_limit", "count_pieces", "tally_pieces"]

MOST_THREADS: Final = 64

PROGRESS_SECONDS: Final = 0.1

# UTF-8 of a part of the text between special tokens, and whether it is the last part.
Part = tuple[bytes, bool]


def count_pieces(
    source: Files | Iterable[Any] | DocumentSource,
    *,
    pat_str: str | None = O200K_PAT_STR,
    special_tokens: Iterable[str] = (),
    column: str | None = None,
    num_threads: int | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> PieceCounts:
    r"""Count the pieces of a corpus: the first half of training.

    Each file, row or text is a separate document: no piece extends across two.

    Args:
        source: a file name or a pattern such as `corpus/**/*.txt`, or a list of these; or any
            other iterable of texts: pass a list of texts as `iter(texts)`. Files are text in
            UTF-8, .jsonl, .ndjson or .parquet; .gz, .zst and .zstd are decompressed.
        pat_str: the split pattern; None: each document is one piece.
        special_tokens: texts that split documents and are not counted; of several that start
            at the same place, the longest.
        column: the column of JSONL or Parquet files that has the text.
        num_threads: None: the number of processors. The result does not depend on it.
        progress: called with a `Progress` several times a second, in the calling thread.

    Raises:
        ValueError: the source has no text, or an argument is out of range.
        FileNotFoundError, OSError: a file cannot be read.
        SurrogateError: (a ValueError) a text has a surrogate code point; names the document.
        PatternError: the split pattern is no valid regular expression.
        OverflowError: more than 2**63 - 1 pieces.

    Cost: linear in the text, unless the pattern repeatedly needs a long lookahead. Memory: the
    distinct pieces, once for each thread, and some blocks of text; more if a single piece is
    longer than that. A split pattern outside the subset that compiles to an automaton runs on
    the `regex` module: slower, on whole documents; a `PatternFallbackWarning` says so.

    >>> counts = count_pieces(iter(["to be or not to be", "to be<end>"]), special_tokens=["<end>"])
    >>> counts.most_common(2)
    [(b' be', 3), (b'to', 2)]
    """
    special_tokens = checked_special_texts(special_tokens)
    n_threads = checked_thread_limit(num_threads)
    tallies = tally_pieces(
        open_source(source, column), pat_str, special_tokens, n_threads, progress
    )
    return PieceCounts.from_tallies(
        tallies, pat_str=pat_str, special_tokens=special_tokens, num_threads=n_threads
    )


def tally_pieces(
    documents: DocumentSource,
    pat_str: str | None,
    special_tokens: tuple[str, ...],
    num_threads: int,
    progress: Callable[[Progress], Any] | None = None,
) -> list[Tally]:
    """Count for `count_pieces`, in as many tallies as threads; the special tokens are checked."""
    byte_texts = [text.encode().decode("latin-1") for text in special_tokens]
    finder, longest = SpecialFinder(byte_texts), max(map(len, byte_texts), default=0)
    utf8_bytes, told_at = 0, time.monotonic()
    with closing(_make_counter(pat_str, num_threads)) as counter:
        for document in documents:
            parts = _parts(document.blocks())
            if special_tokens:
                parts = _cut_at_special(parts, finder, longest)
            for data, ends in parts:
                utf8_bytes += len(data)
                is_slow = counter.put(data, ends)
                if is_slow and progress and time.monotonic() >= told_at + PROGRESS_SECONDS:
                    progress(_progress(documents.bytes_read, utf8_bytes, counter.total))
                    told_at = time.monotonic()
        tallies = counter.finish()
    if progress is not None:
        progress(_progress(documents.bytes_read, utf8_bytes, counter.total))
    return tallies


def _parts(blocks: Iterable[bytes]) -> Iterator[Part]:
    """Make parts from a document's blocks, one behind: the last one must be known."""
    last = b""
    for block in blocks:
        if last:
            yield last, False
        last = block
    yield last, True


def _cut_at_special(parts: Iterable[Part], finder: SpecialFinder, longest: int) -> Iterator[Part]:
    """Remove special tokens, of at most `longest` bytes, from a document's parts.

    The finder searches text, in which each character stands for a byte here.
    """
    held = ""
    for part, ends in parts:
        text = held + part.decode("latin-1")
        # From here on a special token, or a longer one, may continue in the next part.
        undecided = len(text) if ends else max(0, len(text) - longest + 1)
        done = 0
        for start, found in finder.find_all(text):
            if start >= undecided:
                break
            yield text[done:start].encode("latin-1"), True
            done = start + len(found)
        undecided = max(undecided, done)
        yield text[done:undecided].encode("latin-1"), ends
        held = text[undecided:]


def _progress(disk_bytes: int | None, utf8_bytes: int, pieces: int) -> Progress:
    return Progress(
        "count", bytes_read=utf8_bytes if disk_bytes is None else disk_bytes, pieces=pieces
    )


def _make_counter(pat_str: str | None, num_threads: int) -> ScanCounter | RegexCounter:
    try:
        return ScanCounter(build_scan_tables(pat_str), num_threads)
    except UnsupportedPatternError as error:
        assert pat_str is not None
        fall_back(pat_str, error, stacklevel=4)
        return RegexCounter(pat_str)


def checked_thread_limit(num_threads: int | None) -> int:
    """Return the number of threads; of processors for None.

    Each has a table of pieces, so there are no more than could be of use.
    """
    n_processors = os.cpu_count() or 1
    if num_threads is None:
        return n_processors
    return min(checked_threads(num_threads), max(n_processors, MOST_THREADS))
