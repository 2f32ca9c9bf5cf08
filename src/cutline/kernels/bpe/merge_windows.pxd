"""What encodes a long piece by merging windows of it."""

from cutline.kernels.base.common cimport uint8_t, uint32_t, uint64_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Lookups

cdef Py_ssize_t encode_by_windows(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n, Lookups* lookups, uint32_t* out
) noexcept nogil
