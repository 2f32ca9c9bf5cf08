"""Counting the pieces of texts that come in parts, with threads if that is faster.

A text is counted as far as its pieces are decided; the rest waits for the next part. If the
rest is long, as inside one giant piece, it is scanned again only when it has doubled, so that
all scans together stay linear. Short texts are counted in batches.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cutline.errors import SourceError
from cutline.kernels.scan.scan import ScanTables
from cutline.kernels.train.piece_counter import Tally
from cutline.pretokenize import regex_spans
from cutline.training.file_reader import character_start

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["RegexCounter", "ScanCounter"]

BATCH_BYTES: Final = 1 << 20
"""Short texts are gathered up to this many bytes, or a thousandth of this number of texts."""

SHORT_BYTES: Final = 1 << 17
THREAD_BYTES: Final = 1 << 17
"""Under a millisecond of work: less is not worth a thread."""

GATHERED_BYTES: Final = 1 << 21
"""Bytes of a long text to gather per thread: threads that synchronize too often wait."""

MAX_PIECE_BYTES: Final = 1 << 26
"""A piece is held in memory, some copies of it: without a limit, a small compressed file could
fill it."""

SEAM_BYTES: Final = 1 << 12
"""Text that nearly always decides the pieces that the part before left undecided."""


class ScanCounter:
    """Counts with the scanner; `close` ends its threads.

    With threads, `put` returns while they work, so that the next parts are read meanwhile;
    their results are reconciled when there is as much text again.

    Args:
        scan_tables: the tables of the split pattern.
        num_threads: maximum number of threads.
    """

    def __init__(self, scan_tables: ScanTables, num_threads: int) -> None:
        self._tallies = [Tally(scan_tables) for _ in range(num_threads)]
        self._pool = _make_pool(num_threads) if num_threads > 1 else None
        self._running: list[Future[Any]] = []
        self._guessed: tuple[bytes, bool] | None = None
        self._short: list[bytes] = []
        self._short_bytes = 0
        # Of the text that a part was taken of last: what is undecided, and the parts after it.
        self._rest = b""
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._is_inside = False
        # A long text is counted once this many bytes are buffered.
        self._gathered_bytes = GATHERED_BYTES * num_threads if num_threads > 1 else 0

    @property
    def total(self) -> int:
        """Pieces counted so far; a few may be revoked."""
        return sum(tally.total for tally in self._tallies)

    def put(self, part: bytes, ends: bool) -> bool:
        """Take the next part of a text; `ends`: it is the last one.

        Returns:
            Whether something was counted, which may have taken a while.
        """
        if ends and not self._is_inside and len(part) < SHORT_BYTES:
            self._short.append(part)
            self._short_bytes += len(part)
            if self._short_bytes < BATCH_BYTES and len(self._short) < BATCH_BYTES >> 5:
                return False
            self._reconcile()
            self._count_short()
            return True
        self._is_inside = not ends
        self._waiting.append(part)
        self._waiting_bytes += len(part)
        # The rest is rescanned from its start: wait until it has doubled.
        if not ends and self._waiting_bytes < max(self._gathered_bytes, len(self._rest)):
            return False
        text = b"".join(self._waiting)
        self._reconcile()
        if not ends and len(text) < len(self._rest):
            self._waiting = [text]
            return True
        self._waiting, self._waiting_bytes = [], 0
        self._count_text(*self._join_rest(text), ends)
        return True

    def finish(self) -> Tally:
        """Count the remaining text, and end."""
        self._reconcile()
        self._count_short()
        self._reconcile()
        first, *others = self._tallies
        while others:
            first.merge(others.pop())
        return first

    def close(self) -> None:
        """End the threads, which only have work left after an error."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _join_rest(self, text: bytes) -> tuple[bytes, int]:
        """Return the undecided text with what follows it, and where in it to go on.

        If the beginning of `text` decides the rest, they need not be copied into one.
        """
        rest, at = self._rest, 0
        if 0 < len(rest) < SEAM_BYTES:
            seam = rest + text[: character_start(text, SEAM_BYTES)]
            at = self._tallies[0].add(seam, 0, len(rest), len(seam), False)
            if at >= len(rest):
                return text, at - len(rest)
        return rest[at:] + text, 0

    def _count_text(self, text: bytes, start: int, final: bool) -> None:
        """Count the decided pieces of text[start:], or start threads that do."""
        n = len(text)
        n_parts = self._n_parts(n)
        self._rest = b""
        if self._pool is None or n_parts == 1:
            self._keep(text, self._tallies[0].add(text, start, n, n, final), final)
            return
        cuts = [character_start(text, n * k // n_parts) for k in range(n_parts)]
        self._guessed = text, final
        self._running = [self._pool.submit(self._tallies[0].add, text, start, cuts[1], n, final)]
        for tally, cut, stop in zip(self._tallies[1:], cuts[1:], [*cuts[2:], n], strict=False):
            self._running.append(self._pool.submit(tally.guess, text, cut, stop, n, final))

    def _reconcile(self) -> None:
        """Wait for the threads, and correct their speculative counts."""
        running, guessed = self._running, self._guessed
        if not running:
            return
        results = [job.result() for job in running]
        self._running, self._guessed = [], None
        if guessed is not None:
            text, final = guessed
            at = results[0] or 0
            for tally in self._tallies[1 : len(results)]:
                at = tally.reconcile(text, at, len(text), final)
            self._keep(text, at, final)

    def _keep(self, text: bytes, arrived: int, final: bool) -> None:
        """Keep the undecided text for the next part."""
        self._rest = b"" if final else text[arrived:]
        _check_piece(len(self._rest))

    def _count_short(self) -> None:
        """Count the waiting short texts, or start threads that do; each takes some."""
        texts = b"".join(self._short)
        offsets = np.cumsum([0, *map(len, self._short)], dtype=np.int64)
        self._short = []
        self._short_bytes = 0
        n_parts = self._n_parts(len(texts))
        if self._pool is None or n_parts == 1:
            self._tallies[0].add_documents(texts, offsets)
            return
        cuts = [int(np.searchsorted(offsets, len(texts) * k // n_parts)) for k in range(n_parts)]
        for tally, first, last in zip(
            self._tallies, cuts, [*cuts[1:], len(offsets) - 1], strict=False
        ):
            job = self._pool.submit(tally.add_documents, texts, offsets[first : last + 1])
            self._running.append(job)

    def _n_parts(self, n_bytes: int) -> int:
        return max(1, min(len(self._tallies), n_bytes // THREAD_BYTES))


class RegexCounter:
    """Counts whole texts with the `regex` module, for patterns that the scanner cannot run."""

    def __init__(self, pat_str: str) -> None:
        self._pat_str = pat_str
        self._tally = Tally(None)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    @property
    def total(self) -> int:
        """Pieces counted so far."""
        return self._tally.total

    def put(self, part: bytes, ends: bool) -> bool:
        """Take the next part of a text: see `ScanCounter.put`."""
        self._waiting.append(part)
        self._waiting_bytes += len(part)
        _check_piece(self._waiting_bytes)
        if not ends:
            return False
        text = b"".join(self._waiting)
        self._waiting_bytes = 0
        self._waiting = []
        starts, stops = regex_spans(self._pat_str, text.decode())
        lead_bytes = (np.frombuffer(text, dtype=np.uint8) & 0xC0) != 0x80
        places = np.append(np.flatnonzero(lead_bytes), len(text))
        self._tally.add_spans(text, places[starts], places[stops])
        return True

    def finish(self) -> Tally:
        """Return the counts."""
        return self._tally

    def close(self) -> None:
        """Do nothing: there are no threads."""


def _check_piece(n_bytes: int) -> None:
    """Refuse a text whose next piece has more bytes than the limit.

    Raises:
        SourceError: (a ValueError) says so.
    """
    if n_bytes > MAX_PIECE_BYTES:
        raise SourceError(
            f"a piece of the text is longer than {MAX_PIECE_BYTES} bytes: is it text, and the "
            "split pattern the right one? (One without an automaton needs shorter documents.)"
        )


def _make_pool(num_threads: int) -> "ThreadPoolExecutor":
    # Imported here: it pulls in `logging`, several milliseconds at startup.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(num_threads)
