"""Pairs of neighbouring tokens while a vocabulary is trained: how often, where, which first.

All places where two tokens stand side by side come to be when the younger of them is made,
in one step. After it a pair only loses places. Three things follow. A pair that is too rare
when it is first seen will never be merged, and is not kept. The heap may hold what a pair's
count once was: the pair is at most as high as that, so looking again when it comes to the
top is enough. And its places are one list, written once, read once.

Guarded by tests/kernels/test_trainer.py.
"""

from libc.stdlib cimport calloc, free, malloc

from cutline.kernels.base.common cimport NONE, grow, memcmp, memcpy, scramble

cdef enum:
    FIRST_SLOTS = 1 << 12


cdef bint start_pairs(
    Pairs* pairs, const Tokens* tokens, int ties, int64_t min_count
) noexcept nogil:
    """Begin without any pair, all fields zero before. False: no memory."""
    pairs.tokens = tokens
    pairs.ties = ties
    pairs.min_count = min_count
    pairs.free = NONE
    pairs.table = <uint32_t*> calloc(FIRST_SLOTS, sizeof(uint32_t))
    pairs.table_mask = FIRST_SLOTS - 1
    return pairs.table != NULL


cdef void free_pairs(Pairs* pairs) noexcept nogil:
    free(pairs.pairs)
    free(pairs.heap)
    free(pairs.table)
    free(pairs.places)


# The table


cdef inline uint64_t slot_of(const Pairs* pairs, uint32_t left, uint32_t right) noexcept nogil:
    """The slot that holds a pair, or the empty one where it belongs."""
    cdef uint64_t slot = scramble(<uint64_t> left << 32 | right) & pairs.table_mask
    cdef const Pair* pair
    while pairs.table[slot] != 0:
        pair = pairs.pairs + (pairs.table[slot] - 1)
        if pair.left == left and pair.right == right:
            break
        slot = slot + 1 & pairs.table_mask
    return slot


cdef bint double_table(Pairs* pairs) noexcept nogil:
    cdef uint64_t slots = 2 * (pairs.table_mask + 1)
    cdef uint32_t* table = <uint32_t*> calloc(slots, sizeof(uint32_t))
    cdef Py_ssize_t pair
    if table == NULL:
        return False
    free(pairs.table)
    pairs.table = table
    pairs.table_mask = slots - 1
    for pair in range(pairs.n_pairs):
        if pairs.pairs[pair].count > 0:
            table[slot_of(pairs, pairs.pairs[pair].left, pairs.pairs[pair].right)] = pair + 1
    return True


cdef void clear_slot(Pairs* pairs, uint64_t slot) noexcept nogil:
    """Empty a slot; those after it that were pushed on by it move up."""
    cdef uint64_t at = slot, home
    cdef const Pair* pair
    while True:
        at = at + 1 & pairs.table_mask
        if pairs.table[at] == 0:
            break
        pair = pairs.pairs + (pairs.table[at] - 1)
        home = scramble(<uint64_t> pair.left << 32 | pair.right) & pairs.table_mask
        if (at - home & pairs.table_mask) >= (at - slot & pairs.table_mask):
            pairs.table[slot] = pairs.table[at]
            slot = at
    pairs.table[slot] = 0


cdef void lose(Pairs* pairs, uint32_t left, uint32_t right, int64_t count) noexcept nogil:
    """Take so many off a pair's count, if the pair is kept at all."""
    cdef uint32_t entry = pairs.table[slot_of(pairs, left, right)]
    cdef Pair* pair
    if entry != 0:
        pair = pairs.pairs + (entry - 1)
        pair.count -= count
        if pair.count < pairs.min_count:
            # It leaves the heap when it comes to its top.
            clear_slot(pairs, slot_of(pairs, left, right))
            pairs.n_kept -= 1
            pair.count = 0


# The heap


cdef inline uint32_t head(const Tokens* tokens, uint32_t token) noexcept nogil:
    """The first four bytes of a token as a number; zeros where it is shorter."""
    cdef uint32_t number = 0
    cdef Py_ssize_t at, n = min(4, tokens.lengths[token])
    for at in range(n):
        number |= <uint32_t> tokens.starts[token][at] << (24 - 8 * at)
    return number


cdef int compare_tokens(const Tokens* tokens, uint32_t one, uint32_t other) noexcept nogil:
    cdef uint32_t n = tokens.lengths[one], m = tokens.lengths[other]
    cdef int order = memcmp(tokens.starts[one], tokens.starts[other], min(n, m))
    if order != 0 or n == m:
        return order
    return -1 if n < m else 1


cdef bint wins_tie(const Pairs* pairs, uint32_t first, uint32_t second) noexcept nogil:
    """Whether one pair goes before another that is as frequent and has the same hint."""
    cdef const Pair* one = pairs.pairs + first
    cdef const Pair* other = pairs.pairs + second
    cdef int order
    if pairs.ties == TIES_IDS:
        return one.right < other.right if one.left == other.left else one.left < other.left
    order = 0 if one.left == other.left else compare_tokens(pairs.tokens, one.left, other.left)
    if order == 0:
        order = compare_tokens(pairs.tokens, one.right, other.right)
    return order < 0 if pairs.ties == TIES_SMALLEST else order > 0


cdef inline bint goes_before(
    const Pairs* pairs, const Ranked* one, const Ranked* other
) noexcept nogil:
    if one.count != other.count:
        return one.count > other.count
    if one.hint != other.hint:
        return one.hint < other.hint
    return wins_tie(pairs, one.pair, other.pair)


cdef void sift_up(Pairs* pairs, Py_ssize_t at, Ranked moved) noexcept nogil:
    cdef Py_ssize_t parent
    while at > 0:
        parent = (at - 1) >> 2
        if not goes_before(pairs, &moved, &pairs.heap[parent]):
            break
        pairs.heap[at] = pairs.heap[parent]
        at = parent
    pairs.heap[at] = moved


cdef void sift_down(Pairs* pairs, Ranked moved) noexcept nogil:
    """Let what is to stand at the top sink to its place."""
    cdef Py_ssize_t at = 0, child, best, last
    while 4 * at + 1 < pairs.n_ranked:
        best = 4 * at + 1
        last = min(best + 4, pairs.n_ranked)
        for child in range(best + 1, last):
            if goes_before(pairs, &pairs.heap[child], &pairs.heap[best]):
                best = child
        if not goes_before(pairs, &pairs.heap[best], &moved):
            break
        pairs.heap[at] = pairs.heap[best]
        at = best
    pairs.heap[at] = moved


cdef void drop_best(Pairs* pairs) noexcept nogil:
    """Let the pair at the top go, with its places."""
    cdef uint32_t dropped = pairs.heap[0].pair
    cdef Pair* pair = pairs.pairs + dropped
    if pair.count > 0:
        clear_slot(pairs, slot_of(pairs, pair.left, pair.right))
        pairs.n_kept -= 1
        pair.count = 0
    pair.n_places = 0
    pair.left = pairs.free
    pairs.free = dropped
    pairs.n_ranked -= 1
    if pairs.n_ranked > 0:
        sift_down(pairs, pairs.heap[pairs.n_ranked])


cdef uint32_t best_pair(Pairs* pairs) noexcept nogil:
    """The pair to merge next, which comes to stand at the heap's top; NONE: there is none."""
    cdef Ranked top
    while pairs.n_ranked > 0:
        top = pairs.heap[0]
        if pairs.pairs[top.pair].count == 0:
            drop_best(pairs)
        elif pairs.pairs[top.pair].count != top.count:
            top.count = pairs.pairs[top.pair].count
            sift_down(pairs, top)
        else:
            return top.pair
    return NONE


# Adding


cdef bint reserve_places(Pairs* pairs, Py_ssize_t added) noexcept nogil:
    """Make room for so many more places, first by leaving out those of dropped pairs."""
    cdef uint32_t* kept
    cdef Py_ssize_t at = 0, pair, slots = added
    cdef Pair* moved
    if pairs.n_places + added <= pairs.places_slots:
        return True
    for pair in range(pairs.n_pairs):
        if pairs.pairs[pair].count > 0:
            slots += pairs.pairs[pair].n_places
    slots += slots // 2 + 64
    kept = <uint32_t*> malloc(slots * sizeof(uint32_t))
    if kept == NULL:
        return False
    for pair in range(pairs.n_pairs):
        moved = pairs.pairs + pair
        if moved.count > 0:
            memcpy(kept + at, pairs.places + moved.start, moved.n_places * sizeof(uint32_t))
            moved.start = at
            at += moved.n_places
    free(pairs.places)
    pairs.places = kept
    pairs.n_places = at
    pairs.places_slots = slots
    return True


cdef uint32_t add_pair(
    Pairs* pairs, uint32_t left, uint32_t right, int64_t count, Py_ssize_t n_places
) noexcept nogil:
    """Keep a new pair; its places, for which there is room, are the caller's to write.

    Returns its number, or NONE: no memory.
    """
    cdef uint32_t added = pairs.free
    cdef Pair* pair
    cdef Ranked ranked
    if not grow(
        <void**> &pairs.heap, &pairs.heap_slots, pairs.n_ranked + 1, sizeof(Ranked)
    ):
        return NONE
    if added == NONE:
        if pairs.n_pairs >= NONE - 1 or not grow(
            <void**> &pairs.pairs, &pairs.pairs_slots, pairs.n_pairs + 1, sizeof(Pair)
        ):
            return NONE
        added = pairs.n_pairs
        pairs.pairs[added].count = 0
        pairs.n_pairs += 1
    else:
        pairs.free = pairs.pairs[added].left
    if 4 * pairs.n_kept > 3 * <Py_ssize_t> pairs.table_mask and not double_table(pairs):
        return NONE
    pair = pairs.pairs + added
    pair.left, pair.right, pair.count = left, right, count
    pair.start, pair.n_places = pairs.n_places, n_places
    pairs.n_places += n_places
    pairs.table[slot_of(pairs, left, right)] = added + 1
    pairs.n_kept += 1
    ranked.count = count
    ranked.pair = added
    ranked.hint = left if pairs.ties == TIES_IDS else head(pairs.tokens, left)
    if pairs.ties == TIES_LARGEST:
        ranked.hint = ~ranked.hint
    pairs.n_ranked += 1
    sift_up(pairs, pairs.n_ranked - 1, ranked)
    return added
