"""Counting the pieces of files for `cutline train`."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutline.cli.failure import Failure
from cutline.cli.saved_counts import SavedCounts
from cutline.cli.status import status_line

if TYPE_CHECKING:
    from cutline.training import PieceCounts, Progress
    from cutline.training.sources import DocumentSource

__all__ = ["Corpus", "count", "count_and_save"]

# With --counts, a batch of files has this many bytes, or this share of those counted before:
# an interruption loses little, and merging stays cheap for many files.
COUNTED_AT_ONCE_BYTES = 1 << 22
COUNTED_AT_ONCE_SHARE = 1 / 16

# Writing the counts of a large corpus takes seconds.
SECONDS_BETWEEN_SAVES = 60.0


@dataclass(frozen=True)
class Corpus:
    """The files to count, and how to count them."""

    paths: list[Path]
    column: str | None
    pat_str: str | None
    special_tokens: tuple[str, ...]
    threads: int | None
    is_quiet: bool


def count(corpus: Corpus, held_out: float | None) -> tuple["PieceCounts", list[str] | None]:
    """Count all files except for a held-out share of their text, which is returned, too.

    It is None if none is asked for.
    """
    from cutline.training.held_out import HeldOut
    from cutline.training.sources import FileSource

    files = FileSource(corpus.paths, corpus.column)
    with status_line(corpus.is_quiet, files.size_bytes, lambda: files.bytes_read) as status:
        if held_out is None:
            return _count_source(files, corpus, status), None
        source = HeldOut(files, held_out)
        return _count_source(source, corpus, status), source.texts


def _count_source(
    source: "DocumentSource", corpus: Corpus, progress: "Callable[[Progress], None]"
) -> "PieceCounts":
    from cutline.training import count_pieces

    return count_pieces(
        source,
        pat_str=corpus.pat_str,
        special_tokens=corpus.special_tokens,
        num_threads=corpus.threads,
        progress=progress,
    )


def count_and_save(corpus: Corpus, saved: SavedCounts) -> "PieceCounts":
    """Count the files that are not counted yet; save the counts, whatever happens.

    They are also saved now and then: a process may be killed.

    Raises:
        Failure: the saved counts are not of these files; or there is no text.
    """
    saved.check(corpus.pat_str, corpus.special_tokens)
    try:
        _count_missing(corpus, saved)
    except BaseException:
        if saved.save():
            click.echo(
                f"cutline: counts of {saved.n_files} of {len(corpus.paths)} files are kept in "
                f"{click.format_filename(saved.path)}; the same command continues from there",
                err=True,
            )
        raise
    saved.save()
    if saved.counts is None or not saved.counts.total:
        raise Failure("no text to train on: nothing in any of the files")
    return saved.counts


def _count_missing(corpus: Corpus, saved: SavedCounts) -> None:
    from cutline.training.sources import FileSource

    paths = saved.missing(corpus.paths)
    done_bytes, saved_at = 0, time.monotonic()
    # Open all files before counting, so that errors show early.
    files = FileSource(paths, corpus.column)
    size_bytes = files.size_bytes

    def bytes_read() -> int:
        return done_bytes + files.bytes_read

    with status_line(corpus.is_quiet, size_bytes, bytes_read) as status:
        for batch in _batches(paths):
            files = FileSource(batch, corpus.column, may_be_empty=True)
            counts = _count_source(files, corpus, status)
            saved.add(batch, counts)
            if time.monotonic() >= saved_at + SECONDS_BETWEEN_SAVES:
                saved.save()
                saved_at = time.monotonic()
            done_bytes += files.size_bytes
            status.pieces_before += counts.total


def _batches(paths: Sequence[Path]) -> Iterator[list[Path]]:
    batch: list[Path] = []
    done_bytes = batch_bytes = 0
    for path in paths:
        batch.append(path)
        batch_bytes += path.stat().st_size
        if batch_bytes >= max(COUNTED_AT_ONCE_BYTES, COUNTED_AT_ONCE_SHARE * done_bytes):
            yield batch
            done_bytes += batch_bytes
            batch, batch_bytes = [], 0
    if batch:
        yield batch
