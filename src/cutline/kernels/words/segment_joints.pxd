"""Where the segments of a long word of Unigram can be cut."""

from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.words.model cimport WordModel
from cutline.kernels.words.unigram cimport Joints
from cutline.kernels.words.unsure_parts cimport UnsureParts
from cutline.kernels.words.word_state cimport WordState

cdef Py_ssize_t join_segments(
    const WordModel* model, WordState* state, const uint8_t* word, Py_ssize_t n, Py_ssize_t longest,
    bint are_few, Joints* joints, UnsureParts* unsure
) noexcept nogil
