"""Prefixes of long words of Unigram."""

from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.words.model cimport WordModel
from cutline.kernels.words.word_state cimport WordState


cdef Py_ssize_t count_segment_prefixes(
    const WordModel* model, WordState* state, const uint8_t* word, Py_ssize_t n, Py_ssize_t most,
    Py_ssize_t* counts
) noexcept nogil
