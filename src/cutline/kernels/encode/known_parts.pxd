"""Counts of parts of a text between safe split points, for what cuts it."""

from libc.stdint cimport int32_t

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.encode.encoder cimport Encoder

cdef class KnownParts:
    cdef Encoder encoder
    cdef str held
    cdef Characters text
    cdef const int64_t[::1] points
    cdef object count_alone
    cdef bint changes_starts
    cdef Py_ssize_t near        # the number of a point
    cdef OwnedState take(self)
    cdef int check(self, const int64_t[:, :] spans) except -1
    cdef Py_ssize_t look_up(
        self, OwnedState owned, Py_ssize_t first, int32_t* counts
    ) noexcept nogil
    cdef Py_ssize_t first_after(self, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t count_one(
        self, OwnedState owned, Py_ssize_t start, Py_ssize_t end, bint leads
    ) noexcept nogil
    cdef Py_ssize_t count_anew(
        self, OwnedState owned, Py_ssize_t start, Py_ssize_t end, bint leads
    ) noexcept nogil
    cdef Py_ssize_t count_part(
        self, OwnedState owned, Py_ssize_t start, Py_ssize_t end, bint leads
    ) noexcept nogil
    cdef Py_ssize_t ask(self, Py_ssize_t start, Py_ssize_t end, bint leads) noexcept with gil
