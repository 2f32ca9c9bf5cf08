from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.words.model cimport Paths, WordModel

# Where a word can be cut: what lies before does not change which tokens come after, nor they it.
cdef struct Joint:
    Py_ssize_t at               # in the word
    Py_ssize_t tokens           # of the word before it

cdef struct Joints:
    Joint* items
    Py_ssize_t count, slots

cdef extern from *:
    """
    #define CUTLINE_MOST_SUM 1e5
    """
    const double MOST_SUM "CUTLINE_MOST_SUM"    # so far from 0 sentencepiece begins sums anew

cdef bint add_joint(Joints* joints, Py_ssize_t at, Py_ssize_t tokens) noexcept nogil
cdef Py_ssize_t best_path(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n,
    double* score, uint32_t* out, Py_ssize_t* spans, Joints* joints, bint compares,
    Py_ssize_t before
) noexcept nogil
cdef Py_ssize_t count_path(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n, double* score
) noexcept nogil
cdef Py_ssize_t sure_path(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n, double risk,
    uint32_t* tokens
) noexcept nogil
cdef bint sure_prefixes(
    const Paths* paths, const uint8_t* word, Py_ssize_t n, double risk, uint8_t* counts
) noexcept nogil
cdef Py_ssize_t count_prefixes(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n, Py_ssize_t* counts,
    bint compares, Py_ssize_t before
) noexcept nogil
cdef Py_ssize_t count_more_prefixes(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t begun, Py_ssize_t n,
    uint32_t* node, Py_ssize_t* counts
) noexcept nogil
cdef Py_ssize_t window_of(const WordModel* model) noexcept nogil
cdef void begin_path(Paths* paths, double score) noexcept nogil
cdef bint reserve_paths(Paths* paths, Py_ssize_t n) noexcept nogil
cdef void free_paths(Paths* paths) noexcept nogil
