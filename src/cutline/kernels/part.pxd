"""Tokens of a part of a piece."""

from cutline.kernels.counter cimport Counter, Query


cdef Py_ssize_t count_part(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n_bytes
) noexcept nogil
