"""Long words of Unigram, from one blank inside them to the next."""

from cutline.kernels.base.common cimport uint8_t, uint32_t, uint64_t
from cutline.kernels.encode.caches cimport STORED_BYTES
from cutline.kernels.words.model cimport WordModel
from cutline.kernels.words.word_state cimport WordState

cdef enum:
    SEGMENTS_AT_ONCE = 64
    RECORD_HEAD = 2         # numbers before what its path has
    RECORD_SLOTS = RECORD_HEAD + STORED_BYTES + (STORED_BYTES + 3) // 4
    # Beside how many parts a path has:
    SOME_UNKNOWN = 1        # some may be unknown
    SURE_PREFIXES = 2       # the tokens up to each byte are known
    FLAG_BITS = 2

cdef struct Segment:
    const uint8_t* text
    Py_ssize_t n
    uint64_t hashed


cdef bint has_late_blank(const uint8_t* token, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t find_segments(
    WordState* state, const uint8_t* word, Py_ssize_t* at, Py_ssize_t n, Segment* segments
) noexcept nogil
cdef bint may_be_kept(
    const WordModel* model, const Segment* segment, Py_ssize_t n, double score
) noexcept nogil
cdef Py_ssize_t known_parts(
    const WordModel* model, WordState* state, const Segment* segment, uint32_t* found,
    const uint32_t** record
) noexcept nogil
cdef void add_scores(
    const WordModel* model, const uint32_t* parts, Py_ssize_t n, double* score
) noexcept nogil
cdef Py_ssize_t encode_segments(
    const WordModel* model, WordState* state, const uint8_t* word, Py_ssize_t n, uint32_t* out
) noexcept nogil
cdef Py_ssize_t add_word(
    const WordModel* model, WordState* state, Py_ssize_t word, double* score
) noexcept nogil
