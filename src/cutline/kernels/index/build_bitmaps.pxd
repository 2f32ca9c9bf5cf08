"""The one pass over a text that makes its bitmaps."""

from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.encode.batches cimport EncoderState
from cutline.kernels.index.text_index cimport TextIndex


cdef Py_ssize_t index_text(
    TextIndex* index, EncoderState* state, const uint8_t* utf8, Py_ssize_t n
) noexcept nogil
