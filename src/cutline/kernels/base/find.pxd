"""Bytes in others, for other kernels."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t

cdef Py_ssize_t find_bytes(
    const uint8_t* text, Py_ssize_t n, const Characters* wanted
) noexcept nogil
