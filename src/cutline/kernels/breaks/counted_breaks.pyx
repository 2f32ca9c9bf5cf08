"""Where to cut a text so that each chunk ends at its best break, for whatever counts its slices.

Guarded by tests/words/test_encoding.py.
"""

from libc.math cimport ceil

from cutline.kernels.base.common cimport NOT_FOUND, UNKNOWN
from cutline.kernels.breaks.breaks cimport GRAPHEME, last_break, need_kind
from cutline.kernels.breaks.overlaps cimport ADDS_NOTHING
from cutline.kernels.breaks.wrapping cimport LINES


cdef class CountedCut(Cutting):
    """A text that is cut at breaks: subclasses count, by `tokens_between`."""

    cdef object limit_chunks(self, Py_ssize_t n, double min_fill, const int[::1] kinds):
        """Set what chunks are like; see `cut_at_breaks`."""
        cdef Py_ssize_t place
        for place in range(kinds.shape[0]):
            need_kind(kinds[place])
        self.n = n
        self.min_fill = min_fill
        self.kinds = kinds

    cdef Py_ssize_t longest_fit(self, Py_ssize_t start) noexcept nogil:
        """The greatest end of a slice that has at most n tokens, or a status."""
        return UNKNOWN

    cdef Py_ssize_t find_end(
        self, Py_ssize_t start, Py_ssize_t floor, int64_t* row
    ) noexcept nogil:
        """See `Cutting`. It is the text's end, if it fits; else the last break that fits, of the
        first kind whose last one fills the chunk, or of graphemes or characters.
        """
        cdef Py_ssize_t bound = self.longest_fit(start), at, place
        cdef Py_ssize_t fill = <Py_ssize_t> ceil(self.min_fill * self.n), tokens = 0
        self.longest = NOT_FOUND
        if bound <= floor:
            return bound if bound < 0 else ADDS_NOTHING
        if bound == self.text.n:
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
        cdef Py_ssize_t at = last_break(self.text, kind, start, floor, bound)
        while at != NOT_FOUND:
            tokens[0] = self.tokens_between(start, at)
            if tokens[0] < 0:
                return tokens[0]
            if tokens[0] <= self.n:
                break
            at = last_break(self.text, kind, start, floor, at - 1)
        return at
