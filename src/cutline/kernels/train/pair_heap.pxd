"""Pairs of neighbouring tokens while a vocabulary is trained: how often, where, which first."""

from cutline.kernels.base.common cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    TIES_SMALLEST = 0       # of pairs that are equally frequent: bytes in order
    TIES_LARGEST = 1        # bytes in reverse order
    TIES_IDS = 2            # the lower ids

cdef struct Tokens:
    const uint8_t** starts  # where each token's bytes lie, in some piece that has it
    uint32_t* lengths
    Py_ssize_t n

cdef struct Pair:
    uint32_t left
    uint32_t right
    int64_t count           # 0: no pair is here
    Py_ssize_t start        # its places: places[start:start + n_places]
    Py_ssize_t n_places

# A pair as it stood when it was put there: counts only fall, so none is higher by now.
cdef struct Ranked:
    int64_t count
    uint32_t hint           # decides most ties
    uint32_t pair

cdef struct Pairs:
    const Tokens* tokens
    int ties
    int64_t min_count       # rarer pairs are not kept
    Pair* pairs
    Py_ssize_t n_pairs
    Py_ssize_t pairs_slots
    Py_ssize_t n_kept       # pairs that are in the table
    uint32_t free           # head of the list of free pairs, NONE: empty
    Ranked* heap
    Py_ssize_t n_ranked
    Py_ssize_t heap_slots
    uint32_t* table         # hash of left and right -> pair + 1
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
cdef uint32_t best_pair(Pairs* pairs) noexcept nogil
cdef void drop_best(Pairs* pairs) noexcept nogil
