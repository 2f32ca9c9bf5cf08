"""Backtracking, for `batches`."""

from cutline.kernels.base.common cimport uint8_t, uint32_t, uint64_t
from cutline.kernels.bpe.prefixes cimport Lookups
from cutline.kernels.bpe.bpe cimport Bpe


cdef Py_ssize_t backtrack(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n, uint64_t* open_ends,
    Lookups* lookups, Py_ssize_t budget, uint32_t* out
) noexcept nogil
cdef bint suits_backtracking(const uint8_t* piece, Py_ssize_t n) noexcept nogil
