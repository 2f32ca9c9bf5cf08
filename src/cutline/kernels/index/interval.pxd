"""The base class of `cutline.IntervalCounter`, for kernels that count with it."""

from cutline.kernels.base.common cimport int64_t
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.encode.encoder cimport Encoder
from cutline.kernels.index.text_index cimport Query, TextIndex


cdef class Intervals:
    cdef Encoder encoder
    cdef str held
    cdef TextIndex index
    cdef object words
    cdef object byte_words
    cdef list trees
    cdef bint byte_offsets
    cdef Py_ssize_t length
    cdef Py_ssize_t tree_bytes
    cdef int build(self, object owner) except -1
    cdef int provide(self, OwnedState owned, Py_ssize_t status, const Query* query) except -1
    cdef Py_ssize_t place_of(self, Py_ssize_t offset) noexcept nogil
    cdef Py_ssize_t count_one(self, Query* query, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t count_rows(
        self, Query* query, const int64_t* spans, Py_ssize_t n
    ) noexcept nogil
    cdef void prefetch_row(self, const int64_t* span) noexcept nogil
