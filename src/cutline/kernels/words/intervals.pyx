"""What Python asks of the slices of a text: counts and cuts.

Guarded by tests/words/test_encoding.py.
"""

from array import array

from cpython.exc cimport PyErr_CheckSignals
from cython cimport auto_pickle

from cutline.kernels.base.late import numpy as np

from cutline.kernels.base.common cimport INTERRUPTED, int64_t
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.words.longest_end cimport LongestEnds
from cutline.kernels.words.word_state cimport OwnedWordState, WordState

cdef Py_ssize_t MOST_TOKENS = <Py_ssize_t> 1 << 60

cdef enum:
    NOGIL_CHARS = 1 << 16
    COST = 64               # of a character that is counted again and again, in bytes of work
    AHEAD = 12              # slices from one look at what they need to the next


@auto_pickle(False)
cdef class WordIntervals(LongestEnds):
    """Counts slices of one text, and cuts it. It is made of what `TextStarts` are."""

    cdef void begin(self, WordState* state):
        """Begin to work on slices, which signals may end."""
        self.encoder.begin(state, self.char_map, self.held)
        state.paths.watch.is_on = True

    def count(self, Py_ssize_t start, Py_ssize_t end):
        """Count the tokens of a slice; the offsets are right."""
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t count
        self.begin(&owned.state)
        if end - start < NOGIL_CHARS:
            count = self.count_slice(&owned.state, start, end)
        else:
            with nogil:
                count = self.count_slice(&owned.state, start, end)
        self.encoder.check(count)
        self.encoder.release(owned)
        return count

    def count_many(self, const int64_t[:, ::1] spans not None):
        """Count the tokens of many slices, whose offsets are right. int64, shape (n,)."""
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t row, count = 0, n = spans.shape[0]
        counts = np.zeros(n, dtype=np.int64)
        cdef int64_t[::1] out = counts
        self.begin(&owned.state)
        with nogil:
            for row in range(n + 2 * AHEAD):
                # Slices lie anywhere: memory is asked for what they need, then more is done.
                if row < n:
                    self.fetch_text(spans[row, 0])
                    self.fetch_text(spans[row, 1])
                if AHEAD <= row < n + AHEAD:
                    self.fetch_sums(spans[row - AHEAD, 0])
                    self.fetch_sums(spans[row - AHEAD, 1])
                if row < 2 * AHEAD:
                    continue
                count = self.count_slice(
                    &owned.state, spans[row - 2 * AHEAD, 0], spans[row - 2 * AHEAD, 1]
                )
                if is_interrupted(&owned.state.paths.watch, COST):
                    count = INTERRUPTED
                if count < 0:
                    break
                out[row - 2 * AHEAD] = count
        self.encoder.check(count)
        self.encoder.release(owned)
        return counts

    def split_at(self, Py_ssize_t start, n):
        """The greatest end of a slice from `start`, which is right, with at most n tokens."""
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t end, most = min(n, MOST_TOKENS)
        self.begin(&owned.state)
        with nogil:
            end = self.longest_from(&owned.state, start, most)
        self.encoder.check(end)
        self.encoder.release(owned)
        return end

    def cut_all(self, n, overlap=0):
        """Cut the text into slices of at most n tokens, each as long as possible.

        Args:
            n: tokens of a slice.
            overlap: tokens that it shares with the one before: it starts where stepping back, character
                by character, exceeds them, or at the next character from which it adds text.

        Returns:
            int64, shape (4 * slices,): start, end and tokens of each, and whether it ends at the
            text's end. The last one ends before it where the next character does not fit.
        """
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t start = 0, end = 0, floor = 0, most = min(n, MOST_TOKENS), count = 0
        cdef Py_ssize_t shared = min(overlap, MOST_TOKENS)
        rows = array("q")
        self.begin(&owned.state)
        while floor < self.starts.n:
            PyErr_CheckSignals()
            with nogil:
                if shared > 0:
                    start = self.farthest_overlap(&owned.state, start, floor, shared)
                end = self.longest_from(&owned.state, start, most) if start >= 0 else start
                while 0 <= end <= floor and start < floor:
                    start += 1
                    end = self.longest_from(&owned.state, start, most)
                    if is_interrupted(&owned.state.paths.watch, COST * (floor - start)):
                        end = INTERRUPTED
                if end > start:
                    count = self.count_slice(&owned.state, start, end)
            self.encoder.check(min(end, count))
            if end <= floor:
                break
            rows.extend((start, end, count, end == self.starts.n))
            floor = end
            if shared == 0:
                start = end
        self.encoder.release(owned)
        return memoryview(rows)

    cdef Py_ssize_t farthest_overlap(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        """Step back from a slice's end while the text stepped over fits; or a status."""
        cdef Py_ssize_t at = end, tokens
        while at - 1 > start:
            tokens = self.count_slice(state, at - 1, end)
            if tokens < 0:
                return tokens
            if tokens > most:
                break
            at -= 1
            if is_interrupted(&state.paths.watch, COST * (1 + self.characters_counted(at, end))):
                return INTERRUPTED
        return at
