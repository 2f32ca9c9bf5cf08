"""Counts of parts of a text that has added tokens, for what cuts it."""

from cutline.kernels.base.alignment cimport Alignment
from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t
from cutline.kernels.encode.batches cimport OwnedState, Source
from cutline.kernels.encode.encoder cimport Encoder
from cutline.kernels.encode.run_counts cimport RunRules
from cutline.kernels.encode.runs cimport Separators


cdef class AmongAdded:
    cdef Encoder encoder
    cdef str held
    cdef Characters text
    cdef const int64_t[:, ::1] spans
    cdef readonly object token_spans    # the array of these
    cdef Py_ssize_t shortest, surest
    cdef RunRules rules
    cdef Separators separators
    cdef Py_ssize_t first_after(self, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t count_between(
        self, OwnedState owned, Source* source, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t count_part(
        self, OwnedState owned, Source* source, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t encode_between(
        self, OwnedState owned, Source* source, Py_ssize_t start, Py_ssize_t end,
        Py_ssize_t before, bint aligns, Alignment alignment
    ) noexcept nogil
