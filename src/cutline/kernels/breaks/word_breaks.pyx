"""Where to cut a text so that each chunk ends at its best break, for models that encode words.

Guarded by tests/words/test_encoding.py.
"""

cimport cython
from libc.math cimport ceil

from cutline.kernels.base.common cimport NOT_FOUND, UNKNOWN, int64_t
from cutline.kernels.breaks.breaks cimport GRAPHEME, last_break, need_kind
from cutline.kernels.breaks.overlaps cimport ADDS_NOTHING, Cutting, Overlap, cut_rows
from cutline.kernels.breaks.wrapping cimport LINES
from cutline.kernels.words.encoder cimport OwnedWordState
from cutline.kernels.words.intervals cimport WordIntervals

cdef enum:
    MOST_WORK = 4               # characters, for each one of a chunk that shares some of them
    LEAST_WORK = 4096
    WORK = 8                    # of a count, in characters


def cut_words_at_breaks(
    WordIntervals counter not None, Py_ssize_t start, Py_ssize_t floor, Py_ssize_t until,
    Py_ssize_t n, double min_fill, const int[::1] kinds not None, Overlap overlap=None
):
    """Cut at the last breaks that fit, while they fill chunks: see `cut_at_breaks`.

    Returns:
        int64, four of each chunk, at most so many; and the longest end of the chunk after them,
        which takes another kind of boundary, or -1.
    """
    cdef WordCut cut = WordCut(counter, n, min_fill, kinds)
    rows, status = cut_rows(cut, &counter.text, overlap, start, floor, until, False)
    if status < 0 and status not in (NOT_FOUND, UNKNOWN):
        counter.encoder.check(status)
    counter.encoder.release(cut.owned)
    return rows, cut.longest if overlap is None and status == NOT_FOUND else NOT_FOUND


@cython.internal
cdef class WordCut(Cutting):
    """A text that is cut at breaks.

    Args:
        counter, n, min_fill, kinds: see `cut_words_at_breaks`.
    """

    cdef WordIntervals counter
    cdef OwnedWordState owned
    cdef Py_ssize_t n
    cdef double min_fill
    cdef const int[::1] kinds
    cdef Py_ssize_t longest     # of a chunk that ends at no break
    cdef Py_ssize_t work, most_work     # up to one end of slices

    def __cinit__(
        self, WordIntervals counter not None, Py_ssize_t n, double min_fill,
        const int[::1] kinds not None
    ):
        cdef Py_ssize_t place
        for place in range(kinds.shape[0]):
            need_kind(kinds[place])
        self.counter = counter
        self.n = n
        self.min_fill = min_fill
        self.kinds = kinds
        self.owned = counter.encoder.take()
        counter.encoder.begin(&self.owned.state, counter.char_map, counter.held)

    cdef Py_ssize_t find_end(
        self, Py_ssize_t start, Py_ssize_t floor, int64_t* row
    ) noexcept nogil:
        """See `Cutting`. It is the text's end, if it fits; else the last break that fits, of the
        first kind whose last one fills the chunk, or of graphemes or characters.
        """
        cdef Py_ssize_t bound = self.counter.longest_fit(&self.owned.state, start, self.n), at
        cdef Py_ssize_t fill = <Py_ssize_t> ceil(self.min_fill * self.n), tokens = 0, place
        self.longest = NOT_FOUND
        if bound <= floor:
            return bound if bound < 0 else ADDS_NOTHING
        if bound == self.counter.text.n:
            row[1] = bound
            row[2] = tokens = self.tokens_between(start, bound)
            row[3] = self.kinds.shape[0]
            return bound if tokens >= 0 else tokens
        for place in range(self.kinds.shape[0]):
            at = self.last_that_fits(self.kinds[place], start, floor, bound, &tokens)
            if at != NOT_FOUND and (
                at < 0 or tokens >= fill or self.kinds[place] & ~LINES >= GRAPHEME
            ):
                row[1] = at
                row[2] = tokens
                row[3] = place
                return at
        self.longest = bound
        return NOT_FOUND

    cdef Py_ssize_t last_that_fits(
        self, int kind, Py_ssize_t start, Py_ssize_t floor, Py_ssize_t bound,
        Py_ssize_t* tokens      # out
    ) noexcept nogil:
        """The last break up to `bound` that fits; NOT_FOUND or another status."""
        cdef Py_ssize_t at = last_break(&self.counter.text, kind, start, floor, bound)
        while at != NOT_FOUND:
            tokens[0] = self.tokens_between(start, at)
            if tokens[0] < 0:
                return tokens[0]
            if tokens[0] <= self.n:
                break
            at = last_break(&self.counter.text, kind, start, floor, at - 1)
        return at

    cdef Py_ssize_t begin_to(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        self.work = 0
        self.most_work = LEAST_WORK + MOST_WORK * (end - start)
        return 0

    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        cdef Py_ssize_t tokens
        if self.work > self.most_work:
            return UNKNOWN
        self.work += WORK + self.counter.characters_counted(start, end)
        tokens = self.tokens_between(start, end)
        if tokens < 0:
            return tokens
        return 1 if tokens <= most else 0

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        return self.counter.count_slice(&self.owned.state, start, end)
