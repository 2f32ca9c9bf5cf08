"""First words of the slices of a text, for kernels that count them."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t, uint32_t
from cutline.kernels.base.pairs cimport Pairs
from cutline.kernels.encode.batches cimport OwnedState, Source
from cutline.kernels.encode.encoder cimport Encoder

cdef enum:
    MOST_PREFIX = 8             # characters before a slice


cdef class FirstWords:
    cdef Encoder encoder
    cdef Source source
    cdef str held
    cdef Characters text
    cdef uint32_t[MOST_PREFIX] prefix
    cdef Py_ssize_t n_prefix
    cdef bint takes_blank
    cdef tuple tables
    cdef Pairs points
    cdef bint closes            # a boundary that no token lies across is a safe split point, too
    cdef Py_ssize_t end_of(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t find(
        self, OwnedState owned, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* word_end
    ) noexcept nogil
    cdef Py_ssize_t count_row(
        self, OwnedState owned, int64_t* span, int64_t* count
    ) noexcept nogil
