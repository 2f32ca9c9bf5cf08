"""The next chunk, which may share text with the one before."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t, uint8_t

cdef enum:
    ADDS_NOTHING = -16          # from such a start, no chunk ends after the one before

# What counts the slices of a text, and finds where chunks end. All functions get `by`.
cdef struct Measure:
    void* by
    # Where a chunk from `start` ends, after `floor`: fills the row but for its start. Returns the
    # end; ADDS_NOTHING; NOT_FOUND, where that takes a longer search; or another status.
    Py_ssize_t (*find_end)(
        void* by, Py_ssize_t start, Py_ssize_t floor, int64_t* row
    ) noexcept nogil
    # Get ready to count what ends at `end`, and begins after `start`. Returns a status.
    Py_ssize_t (*begin_to)(void* by, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    # Whether text[start:end] has at most so many tokens; UNKNOWN: that takes too long to count.
    Py_ssize_t (*fits_to)(
        void* by, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil

# Where the next chunk may start, before the end of the last one: falling.
cdef struct Starts:
    int64_t* places
    Py_ssize_t slots
    Py_ssize_t count


cdef class Overlap:
    cdef Py_ssize_t most        # tokens
    cdef const int[::1] kinds
    cdef bint takes_any         # a plain window of tokens, whatever it says
    cdef bint keeps_graphemes
    cdef const int64_t[::1] starts, ends, outer
    cdef const uint8_t[::1] closed
    cdef bint is_closed(self, Py_ssize_t place) noexcept nogil


cdef void free_starts(Starts* starts) noexcept nogil
cdef Py_ssize_t next_row(
    Overlap overlap, Starts* starts, Measure* measure, const Characters* text,
    const int64_t* last, Py_ssize_t floor, int64_t* row
) noexcept nogil
