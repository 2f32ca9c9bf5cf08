"""Pairs of neighbouring tokens while a vocabulary is trained: how often, where, which first."""

from cutline.kernels.base.common cimport (
    int64_t, prefetch, scramble, uint8_t, uint32_t, uint64_t,
)

cdef enum:
    TIES_SMALLEST = 0       # of pairs that are equally frequent: bytes in order
    TIES_LARGEST = 1        # bytes in reverse order
    TIES_IDS = 2            # the lower ids

cdef struct Token:
    const uint8_t* start    # where its bytes lie, in some piece that has it
    uint32_t length
    uint32_t head           # its first four bytes as a number; zeros where it is shorter

cdef struct Tokens:
    Token* at               # by id
    Py_ssize_t n

cdef struct Pair:
    uint32_t left
    uint32_t right
    int64_t count           # 0: no pair is here
    Py_ssize_t start        # its places: places[start:start + n_places]
    uint32_t n_places
    uint32_t next           # in its bucket, or of the free ones; NONE: the last

# A pair as it stood when it was put into the heap: counts only fall, so none is higher by now.
cdef struct Ranked:
    int64_t count
    uint32_t hint           # decides most ties
    uint32_t pair

cdef enum:
    N_BUCKETS = 16 + 8 * 60     # of counts, by `bucket_of`

# Where the table is looked up for a pair: each entry has its hash, and its number + 1.
cdef struct Pairs:
    const Tokens* tokens
    int ties
    int64_t min_count       # rarer pairs are not kept
    Pair* pairs
    Py_ssize_t n_pairs
    Py_ssize_t pairs_slots
    Py_ssize_t n_kept       # pairs that are in the table
    uint32_t free           # head of the list of free pairs, NONE: empty
    Ranked* heap            # pairs whose bucket is `level` or higher
    Py_ssize_t n_ranked
    Py_ssize_t heap_slots
    int level
    uint32_t[N_BUCKETS] buckets     # below the level: the first pair of each, NONE: empty
    uint64_t* table
    uint64_t table_mask
    uint32_t* places
    Py_ssize_t n_places
    Py_ssize_t places_slots


cdef bint start_pairs(
    Pairs* pairs, const Tokens* tokens, int ties, int64_t min_count
) noexcept nogil
cdef void free_pairs(Pairs* pairs) noexcept nogil
cdef bint reserve_places(Pairs* pairs, Py_ssize_t added) noexcept nogil
cdef uint32_t add_pair(
    Pairs* pairs, uint32_t left, uint32_t right, int64_t count, Py_ssize_t n_places
) noexcept nogil
cdef void lose(Pairs* pairs, uint32_t left, uint32_t right, int64_t count) noexcept nogil
cdef bint find_best(Pairs* pairs, uint32_t* best) noexcept nogil
cdef void drop_best(Pairs* pairs) noexcept nogil


cdef inline uint64_t hash_pair(uint32_t left, uint32_t right) noexcept nogil:
    """32 bits."""
    return scramble(<uint64_t> left << 32 | right) >> 32


cdef inline void expect(const Pairs* pairs, uint32_t left, uint32_t right) noexcept nogil:
    """Fetch into the cache what the table has of a pair that is soon looked up."""
    prefetch(pairs.table + (hash_pair(left, right) & pairs.table_mask))
