from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.words.model cimport WordModel

cdef Py_ssize_t longest_matches(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, uint32_t* out, Py_ssize_t* spans
) noexcept nogil
cdef void count_matches(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, Py_ssize_t* counts
) noexcept nogil
cdef Py_ssize_t match_settled(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, Py_ssize_t* matched
) noexcept nogil
cdef Py_ssize_t count_rest(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, Py_ssize_t matched
) noexcept nogil
