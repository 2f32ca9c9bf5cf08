"""Long words of Unigram, from one blank inside them to the next."""

from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.words.model cimport WordModel
from cutline.kernels.words.word_state cimport WordState


cdef bint has_late_blank(const uint8_t* token, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t encode_segments(
    const WordModel* model, WordState* state, const uint8_t* word, Py_ssize_t n, uint32_t* out
) noexcept nogil
