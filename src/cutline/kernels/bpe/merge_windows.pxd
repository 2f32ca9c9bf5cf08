"""What encodes a long piece by merging windows of it."""

from cutline.kernels.base.common cimport uint8_t, uint32_t, uint64_t
from cutline.kernels.bpe.bpe cimport Bpe

cdef Py_ssize_t encode_by_windows(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n, uint64_t* pair_cache, uint32_t* out
) noexcept nogil
