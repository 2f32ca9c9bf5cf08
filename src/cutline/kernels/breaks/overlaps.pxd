"""The next chunk, which may share text with the one before."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t, uint8_t

cdef enum:
    ADDS_NOTHING = -16          # from such a start, no chunk ends after the one before
    RAISED = -17                # maybe, which Python says
    # In bytes, for the watch of signals, which takes the GIL from other threads: what a chunk may
    # cost, and each of its characters.
    CHUNK_WORK = 1 << 11
    CHARACTER_WORK = 4

# Where the next chunk may start, before the end of the last one: falling.
cdef struct Starts:
    int64_t* places
    Py_ssize_t slots
    Py_ssize_t count


cdef class Cutting:
    cdef bint begin_chunk(self, Py_ssize_t start) except -1
    cdef Py_ssize_t find_end(
        self, Py_ssize_t start, Py_ssize_t floor, int64_t* row
    ) noexcept nogil
    cdef Py_ssize_t begin_to(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil
    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil


cdef class Overlap:
    cdef Py_ssize_t most        # tokens
    cdef const int[::1] kinds
    cdef bint takes_any         # a plain window of tokens, whatever it says
    cdef bint keeps_graphemes
    cdef const int64_t[::1] starts, ends, outer
    cdef const uint8_t[::1] closed
    cdef bint is_closed(self, Py_ssize_t place) noexcept nogil


cdef inline Py_ssize_t work_of(const int64_t* row) noexcept nogil:
    """What finding a chunk may have cost."""
    return CHUNK_WORK + CHARACTER_WORK * (row[1] - row[0])


cdef void free_starts(Starts* starts) noexcept nogil
cdef Py_ssize_t next_row(
    Overlap overlap, Starts* starts, Cutting cutting, const Characters* text,
    const int64_t* last, Py_ssize_t floor, bint renews, int64_t* row
) except? RAISED nogil
cdef tuple cut_rows(
    Cutting cutting, const Characters* text, Overlap overlap, Py_ssize_t start, Py_ssize_t floor,
    Py_ssize_t until, bint renews
)
