from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.words.model cimport Paths, WordModel

# Where a word can be cut: what lies before does not change which tokens come after, nor they it.
cdef struct Joint:
    Py_ssize_t at               # in the word
    Py_ssize_t tokens           # of the word before it
    double score                # the sum before it, if none began anew

cdef struct Joints:
    Joint* items
    Py_ssize_t count, slots

cdef extern from *:
    """
    #define CUTLINE_MOST_SUM 1e5
    #define CUTLINE_HALF_BIT (1 / 256.)
    """
    const double MOST_SUM "CUTLINE_MOST_SUM"    # so far from 0 sentencepiece begins sums anew
    const double HALF_BIT "CUTLINE_HALF_BIT"    # the most that 24 bits move one up to there

cdef enum:
    # In a number of tokens: the last one is unknown, and takes more such characters; or one of
    # them is spelled by its bytes, so that the number is compared with no other.
    HAS_UNKNOWN = 1 << 31
    # What a path is compared with: no other, those with another number of tokens, all.
    NEITHER = 0
    NUMBERS = 1
    PATHS = 2

cdef bint add_joint(
    Joints* joints, Py_ssize_t at, Py_ssize_t tokens, double score
) noexcept nogil
cdef int compared(const WordModel* model, const uint8_t* word, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t best_path(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n,
    double* score, uint32_t* out, Py_ssize_t* spans, Joints* joints, bint compares, double moved
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
    bint compares, double moved
) noexcept nogil
cdef double rounding_of(const WordModel* model, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t follow_part(
    const WordModel* model, Paths* paths, const uint8_t* part, Py_ssize_t n, double score,
    int compares, bint is_single
) noexcept nogil
cdef Py_ssize_t count_more_prefixes(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t begun, Py_ssize_t n,
    uint32_t* node, Py_ssize_t* counts
) noexcept nogil
cdef Py_ssize_t window_of(const WordModel* model) noexcept nogil
cdef void begin_path(Paths* paths, double score) noexcept nogil
cdef bint reserve_paths(Paths* paths, Py_ssize_t n) noexcept nogil
cdef void free_paths(Paths* paths) noexcept nogil
