"""Counting the pieces of texts that come in parts, with threads if that is faster.

A text is counted as far as its pieces are decided; the rest waits for the next part. If the
rest is long, as inside one giant piece, it is scanned again only when it has doubled, so that
all scans together stay linear. Short texts are counted in batches.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.errors import SourceError
from cutline.kernels.scan.scan import ScanTables
from cutline.kernels.train.piece_counter import Guess, Tally
from cutline.pretokenize import regex_spans
from cutline.training.file_reader import character_start
from cutline.training.workers import Job, Workers

__all__ = ["RegexCounter", "ScanCounter"]

BATCH_BYTES: Final = 1 << 20
"""Short texts are gathered up to this many bytes, or a thousandth of this number of texts."""

SHORT_BYTES: Final = 1 << 17
THREAD_BYTES: Final = 1 << 17
"""Under a millisecond of work: less is not worth a thread."""

WAITING_TASKS: Final = 2
"""For each thread: so many are read before they are counted, so that no thread waits for text."""

MAX_PIECE_BYTES: Final = 1 << 26
"""A piece is held in memory, some copies of it: without a limit, a small compressed file could
fill it."""

SEAM_BYTES: Final = 1 << 12
"""Text that nearly always decides the pieces that the part before left undecided."""


@dataclass(slots=True)
class _Task:
    """What any thread may count: short texts, or a part of a text.

    Attributes:
        data: their UTF-8.
        offsets: where each short text ends, after 0; None: it is a part.
        begins: whether the part is the first of its text.
        ends: whether it is the last one.
        job: the counting, if another thread may do it.
    """

    data: bytes
    offsets: NDArray[np.int64] | None = None
    begins: bool = True
    ends: bool = True
    job: Job[Tally] | None = None
    guess: Guess | None = None

    def count(self, tally: Tally) -> None:
        """Count the texts, or the part as a guess: where its pieces begin is not known yet."""
        if self.offsets is not None:
            tally.add_documents(self.data, self.offsets)
        else:
            n = len(self.data)
            self.guess = tally.guess(self.data, character_start(self.data, 0), n, n, self.ends)


class ScanCounter:
    """Counts with the scanner; `close` ends its threads.

    With threads, `put` leaves the counting to them while few tasks wait, so that the next parts
    are read meanwhile. When enough wait, the calling thread counts as well: the newest, which is
    in its cache. The guesses are reconciled in the order of the text.

    Args:
        scan_tables: the tables of the split pattern.
        num_threads: maximum number of threads, the calling one included.
    """

    def __init__(self, scan_tables: ScanTables, num_threads: int) -> None:
        self._own = Tally(scan_tables)
        self._others = [Tally(scan_tables) for _ in range(num_threads - 1)]
        self._workers = Workers(self._others)
        self._most_waiting = WAITING_TASKS * num_threads if num_threads > 1 else 0
        self._tasks: deque[_Task] = deque()
        self._short: list[bytes] = []
        self._short_bytes = 0
        self._is_inside = False
        # Of the text that is reconciled: what is undecided, and parts after it that are shorter.
        self._rest = b""
        self._after: list[bytes] = []
        self._after_bytes = 0

    @property
    def total(self) -> int:
        """Pieces counted so far; a few may be revoked."""
        return self._own.total + sum(tally.total for tally in self._others)

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
            self._put_short()
        else:
            self._put_task(_Task(part, begins=not self._is_inside, ends=ends))
            self._is_inside = not ends
        return True

    def finish(self) -> list[Tally]:
        """Count the remaining text, and end; the counts are right in the sum of the tallies."""
        self._put_short()
        self._work(0)
        return [self._own, *self._others]

    def close(self) -> None:
        """End the threads, which only have work left after an error."""
        self._workers.close()

    # Tasks, and who does them

    def _put_short(self) -> None:
        """Make a task of the waiting short texts."""
        offsets = np.cumsum([0, *map(len, self._short)], dtype=np.int64)
        texts, self._short, self._short_bytes = b"".join(self._short), [], 0
        self._put_task(_Task(texts, offsets))

    def _put_task(self, task: _Task) -> None:
        # Where one piece goes on and on, guesses would be of no use.
        is_small = len(task.data) < max(THREAD_BYTES, len(self._rest))
        if self._others and not is_small:
            task.job = Job(task.count)
            self._workers.put(task.job)
        self._tasks.append(task)
        self._work(self._most_waiting)

    def _work(self, most_waiting: int) -> None:
        """Reconcile what is counted; count until at most so many tasks wait."""
        while self._tasks:
            job = self._tasks[0].job
            if job is None or self._workers.has_done(job):
                self._reconcile(self._tasks.popleft())
            elif len(self._tasks) <= most_waiting:
                return
            elif not self._workers.do_newest(self._own):
                self._workers.wait(job)

    # Where the pieces of parts begin

    def _reconcile(self, task: _Task) -> None:
        """Make the counts of a task right; those before it are."""
        if task.offsets is not None:
            if task.job is None:
                task.count(self._own)
            return
        n, guess, final = len(task.data), task.guess, task.ends
        at = 0 if task.begins else self._arrive(task)
        if at is None:
            if guess is not None:
                self._own.refuse(guess, task.data, n, final)
            return
        if guess is not None:
            at = self._own.reconcile(guess, task.data, at, n, final)
        else:
            at = self._own.add(task.data, at, n, n, final)
        self._keep(b"" if final else task.data[at:])

    def _arrive(self, task: _Task) -> int | None:
        """Count the pieces that begin before a part; return where in it the last of them ends.

        None: the part leaves one undecided, and is kept with it.
        """
        if not self._rest:
            return 0
        self._after.append(task.data)
        self._after_bytes += len(task.data)
        # The rest is scanned again from its start: wait until it has doubled.
        if self._after_bytes < len(self._rest) and not task.ends:
            return None
        text = b"".join(self._after)
        before = len(text) - len(task.data)
        self._after, self._after_bytes = [], 0
        at = self._count_rest(text, task.ends)
        if at is not None and at < before:
            at = self._own.add(text, at, before, len(text), task.ends)
            if at < before:
                self._keep(text[at:])
                return None
        return None if at is None else at - before

    def _count_rest(self, text: bytes, final: bool) -> int | None:
        """Count the undecided pieces, given what follows; return where in that the last one ends.

        None: it leaves one undecided, and is kept with it.
        """
        size = max(SEAM_BYTES, len(self._rest))
        while True:
            cut = min(character_start(text, size), len(text))
            seam, n = self._rest + text[:cut], len(self._rest)
            at = self._own.add(seam, 0, n, len(seam), final and cut == len(text))
            if at >= n:
                return at - n
            self._rest = self._rest[at:]
            if cut == len(text):
                self._keep(self._rest + text)
                return None
            size *= 4

    def _keep(self, rest: bytes) -> None:
        """Keep the undecided text for the next part."""
        self._rest = rest
        _check_piece(len(rest))


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

    def finish(self) -> list[Tally]:
        """Return the counts."""
        return [self._tally]

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
