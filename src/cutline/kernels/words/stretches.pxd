"""The tokens of stretches of a text, for what counts its parts."""

from cutline.kernels.base.common cimport uint32_t
from cutline.kernels.words.model cimport WordModel
from cutline.kernels.words.word_state cimport WordState

cdef enum:
    ANY_LENGTH = 0x7FFFFFFF     # bytes, where words of all lengths are counted


cdef inline Py_ssize_t out_slots_of(Py_ssize_t n) noexcept nogil:
    """The most ids of a word of n bytes: four for each, of unknown ones."""
    return 4 * max(n, 1) + 4


cdef Py_ssize_t count_stretch(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil
cdef Py_ssize_t count_batches(
    const WordModel* model, WordState* state, Py_ssize_t n
) noexcept nogil
cdef Py_ssize_t encode_stretch(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes,
    Py_ssize_t before
) noexcept nogil
cdef Py_ssize_t trace_stretch(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes,
    Py_ssize_t before
) noexcept nogil
cdef Py_ssize_t count_words(
    const WordModel* model, WordState* state, Py_ssize_t longest, Py_ssize_t* totals
) noexcept nogil
cdef Py_ssize_t encode_word(
    const WordModel* model, WordState* state, Py_ssize_t word, uint32_t* out, Py_ssize_t* spans
) noexcept nogil
