"""The one pass over a text that its marks take."""

from cutline.kernels.common cimport uint8_t
from cutline.kernels.encode cimport Scratch
from cutline.kernels.counter cimport Counter


cdef Py_ssize_t mark_all(
    Counter* counter, Scratch* scratch, const uint8_t* utf8, Py_ssize_t n
) noexcept nogil
