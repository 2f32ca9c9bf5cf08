from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.words.model cimport WordModel

# A word that is matched beside others.
cdef struct Lane:
    const uint8_t* word
    Py_ssize_t n                    # bytes, 1 or more
    uint32_t* tokens                # room for as many
    uint32_t count                  # of its tokens
    Py_ssize_t start                # of the token that is looked for
    Py_ssize_t end                  # of the longest that was found; `start`: none
    Py_ssize_t at                   # the end of the text whose slot is looked at
    uint32_t parent                 # the slot that this one's parent must be
    uint32_t slot
    uint32_t token                  # the id of the longest that was found


cdef void match_together(const WordModel* model, Lane* lanes, Py_ssize_t n) noexcept nogil
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
