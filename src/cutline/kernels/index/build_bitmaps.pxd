"""The one pass over a text that its marks take."""

from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.encode.batches cimport Scratch
from cutline.kernels.index.text_index cimport Counter


cdef Py_ssize_t mark_all(
    Counter* counter, Scratch* scratch, const uint8_t* utf8, Py_ssize_t n
) noexcept nogil
