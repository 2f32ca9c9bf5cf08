"""Texts that come part by part -> tallies of their pieces, in threads where that pays.

A text is counted as far as its pieces are decided; what is left waits for the next part.
Where that is much, as inside one giant piece, it is scanned again only when it has doubled,
so that all scans together stay linear. Short texts are counted many at a time.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cutline.kernels.scan.scan import ScanTables
from cutline.kernels.train.piece_counter import Tally
from cutline.pretokenize import regex_spans
from cutline.training.file_reader import character_start

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["RegexCounter", "ScanCounter"]

BATCH_BYTES: Final = 1 << 20
"""Short texts wait until there are so many bytes, or a thousandth as many texts, of them."""

SHORT_BYTES: Final = 1 << 17
THREAD_BYTES: Final = 1 << 17
"""Under a millisecond of work: less is not worth handing to a thread."""

GATHERED_BYTES: Final = 1 << 21
"""So much of a long text waits for each thread: threads that meet too often wait in turn."""


class ScanCounter:
    """Counts with the scanner; `close` ends its threads.

    With threads, `put` returns while they are at work, so that the next part is read meanwhile;
    what they found is reconciled when the next part is there.

    Args:
        scan_tables: of the split pattern.
        num_threads: at most so many are at work.
    """

    def __init__(self, scan_tables: ScanTables, num_threads: int) -> None:
        first = Tally(scan_tables)
        self._tallies = [first, *(Tally(scan_tables, first) for _ in range(num_threads - 1))]
        self._pool = _make_pool(num_threads) if num_threads > 1 else None
        self._running: list[Future[Any]] = []
        self._guessed: tuple[bytes, bool] | None = None
        self._short: list[bytes] = []
        self._short_bytes = 0
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        # A long text is counted once this many bytes are buffered.
        self._gathered_bytes = GATHERED_BYTES * num_threads if num_threads > 1 else 0
        self._due_bytes = self._gathered_bytes

    @property
    def total(self) -> int:
        """Pieces counted so far; a few may be taken back."""
        return sum(tally.total for tally in self._tallies)

    def put(self, part: bytes, ends: bool) -> bool:
        """Take the next part of a text; `ends`: that was all of it.

        Returns:
            Whether something was counted, which may have taken a while.
        """
        if self._guessed is not None:
            self._reconcile()
        if ends and not self._waiting and len(part) < SHORT_BYTES:
            self._short.append(part)
            self._short_bytes += len(part)
            if self._short_bytes < BATCH_BYTES and len(self._short) < BATCH_BYTES >> 5:
                return False
            self._reconcile()
            self._count_short()
            return True
        self._waiting.append(part)
        self._waiting_bytes += len(part)
        if not ends and self._waiting_bytes < self._due_bytes:
            return False
        text = b"".join(self._waiting)
        self._waiting = []
        self._reconcile()
        self._count_text(text, ends)
        return True

    def finish(self) -> Tally:
        """Count what waits, and end."""
        self._reconcile()
        self._count_short()
        self._reconcile()
        first, *others = self._tallies
        while others:
            first.merge(others.pop())
        return first

    def close(self) -> None:
        """End the threads, which have no work left but after an error."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _count_text(self, text: bytes, final: bool) -> None:
        """Count the decided pieces of a text, or let threads begin to."""
        n = len(text)
        n_parts = self._n_parts(n)
        if self._pool is None or n_parts == 1:
            self._keep(text, self._tallies[0].add(text, 0, n, n, final), final)
            return
        cuts = [character_start(text, n * k // n_parts) for k in range(n_parts)]
        self._guessed = text, final
        self._running = [self._pool.submit(self._tallies[0].add, text, 0, cuts[1], n, final)]
        for tally, start, stop in zip(self._tallies[1:], cuts[1:], [*cuts[2:], n], strict=False):
            self._running.append(self._pool.submit(tally.guess, text, start, stop, n, final))

    def _reconcile(self) -> None:
        """Wait for the threads, and replace what they guessed by what is so."""
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
        """Let what is undecided wait for the next part."""
        self._waiting = [] if final or arrived == len(text) else [text[arrived:]]
        self._waiting_bytes = 0 if final else len(text) - arrived
        # The rest is rescanned from its start: wait until it has doubled.
        self._due_bytes = max(2 * self._waiting_bytes, self._gathered_bytes)

    def _count_short(self) -> None:
        """Count the short texts that wait, or let threads begin to; each takes some."""
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
    """Counts with the `regex` module, for patterns that the scanner can't run: whole texts."""

    def __init__(self, pat_str: str) -> None:
        self._pat_str = pat_str
        self._tally = Tally(None)
        self._waiting: list[bytes] = []

    @property
    def total(self) -> int:
        """Pieces counted so far."""
        return self._tally.total

    def put(self, part: bytes, ends: bool) -> bool:
        """Take the next part of a text: see `ScanCounter.put`."""
        self._waiting.append(part)
        if not ends:
            return False
        text = b"".join(self._waiting)
        self._waiting = []
        starts, stops = regex_spans(self._pat_str, text.decode())
        lead_bytes = (np.frombuffer(text, dtype=np.uint8) & 0xC0) != 0x80
        places = np.append(np.flatnonzero(lead_bytes), len(text))
        self._tally.add_spans(text, places[starts], places[stops])
        return True

    def finish(self) -> Tally:
        """Give what was counted."""
        return self._tally

    def close(self) -> None:
        """Nothing to end."""


def _make_pool(num_threads: int) -> "ThreadPoolExecutor":
    # Imported here: it pulls in `logging`, several milliseconds at startup.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(num_threads)
