"""Pairs of neighbouring tokens while a vocabulary is trained: how often, where, which first.

All places where two tokens stand side by side come to be when the younger of them is made,
in one step. After it a pair only loses places. Three things follow. A pair that is too rare
when it is first seen will never be merged, and is not kept. The heap may hold what a pair's
count once was: the pair is at most as high as that, so looking again when it comes to the
top is enough. And its places are one list, written once, read once.

Guarded by tests/kernels/test_trainer.py.
"""

from libc.stdlib cimport calloc, free, malloc

from cutline.kernels.base.common cimport NONE, grow, memcmp, memcpy, prefetch

cdef extern from "native.h":
    int top_bit "cutline_top_bit"(uint64_t word) noexcept nogil
    void in_large_pages "cutline_in_large_pages"(void* memory, size_t n) noexcept nogil

cdef enum:
    FIRST_SLOTS = 1 << 12


cdef bint start_pairs(
    Pairs* pairs, const Tokens* tokens, int ties, int64_t min_count
) noexcept nogil:
    """Begin without any pair, all fields zero before. False: no memory."""
    cdef Py_ssize_t bucket
    pairs.tokens = tokens
    pairs.ties = ties
    pairs.min_count = min_count
    pairs.free = NONE
    pairs.level = N_BUCKETS
    for bucket in range(N_BUCKETS):
        pairs.buckets[bucket] = NONE
    pairs.table = <uint64_t*> calloc(FIRST_SLOTS, sizeof(uint64_t))
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
    cdef uint64_t hashed = hash_pair(left, right), slot = hashed & pairs.table_mask
    cdef const Pair* pair
    while pairs.table[slot] != 0:
        if pairs.table[slot] >> 32 == hashed:
            pair = pairs.pairs + (<uint32_t> pairs.table[slot] - 1)
            if pair.left == left and pair.right == right:
                break
        slot = slot + 1 & pairs.table_mask
    return slot


cdef bint double_table(Pairs* pairs) noexcept nogil:
    cdef uint64_t slots = 2 * (pairs.table_mask + 1), old, slot
    cdef uint64_t* table = <uint64_t*> calloc(slots, sizeof(uint64_t))
    if table == NULL:
        return False
    in_large_pages(table, slots * sizeof(uint64_t))
    for old in range(pairs.table_mask + 1):
        if pairs.table[old] != 0:
            slot = pairs.table[old] >> 32 & slots - 1
            while table[slot] != 0:
                slot = slot + 1 & slots - 1
            table[slot] = pairs.table[old]
    free(pairs.table)
    pairs.table = table
    pairs.table_mask = slots - 1
    return True


cdef void clear_slot(Pairs* pairs, uint64_t slot) noexcept nogil:
    """Empty a slot; those after it that were pushed on by it move up."""
    cdef uint64_t at = slot, home
    while True:
        at = at + 1 & pairs.table_mask
        if pairs.table[at] == 0:
            break
        home = pairs.table[at] >> 32
        if (at - home & pairs.table_mask) >= (at - slot & pairs.table_mask):
            pairs.table[slot] = pairs.table[at]
            slot = at
    pairs.table[slot] = 0


cdef void lose(Pairs* pairs, uint32_t left, uint32_t right, int64_t count) noexcept nogil:
    """Take so many off a pair's count, if the pair is kept at all."""
    cdef uint64_t slot = slot_of(pairs, left, right)
    cdef Pair* pair
    if pairs.table[slot] != 0:
        pair = pairs.pairs + (<uint32_t> pairs.table[slot] - 1)
        pair.count -= count
        if pair.count < pairs.min_count:
            # It leaves the heap when it comes to its top, its bucket when that comes up.
            clear_slot(pairs, slot)
            pairs.n_kept -= 1
            pair.count = 0


# The heap, and the buckets of what is not in it yet


cdef inline int bucket_of(int64_t count) noexcept nogil:
    """Small counts have a bucket each, larger ones eight for each power of two."""
    cdef int bits
    if count < 16:
        return count
    bits = top_bit(count)
    return 16 + 8 * (bits - 4) + (count >> (bits - 3) & 7)


cdef int compare_tokens(const Tokens* tokens, uint32_t one, uint32_t other) noexcept nogil:
    cdef const Token* first = tokens.at + one
    cdef const Token* second = tokens.at + other
    cdef int order
    if first.head != second.head:
        return -1 if first.head < second.head else 1
    order = memcmp(first.start, second.start, min(first.length, second.length))
    if order != 0 or first.length == second.length:
        return order
    return -1 if first.length < second.length else 1


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


cdef void drop_top(Pairs* pairs) noexcept nogil:
    pairs.n_ranked -= 1
    if pairs.n_ranked > 0:
        sift_down(pairs, pairs.heap[pairs.n_ranked])


cdef void release(Pairs* pairs, uint32_t number) noexcept nogil:
    """Let another pair have the number of one that is in no heap, bucket or table."""
    pairs.pairs[number].n_places = 0
    pairs.pairs[number].next = pairs.free
    pairs.free = number


cdef void drop_best(Pairs* pairs) noexcept nogil:
    """Let the pair at the top, which is kept, go, with its places."""
    cdef uint32_t dropped = pairs.heap[0].pair
    cdef Pair* pair = pairs.pairs + dropped
    clear_slot(pairs, slot_of(pairs, pair.left, pair.right))
    pairs.n_kept -= 1
    pair.count = 0
    release(pairs, dropped)
    drop_top(pairs)


cdef bint rank(Pairs* pairs, uint32_t number) noexcept nogil:
    """Put a pair into the heap, or where it waits to come into it. False: no memory."""
    cdef Pair* pair = pairs.pairs + number
    cdef int bucket = bucket_of(pair.count)
    cdef Ranked ranked
    if bucket < pairs.level:
        pair.next = pairs.buckets[bucket]
        pairs.buckets[bucket] = number
        return True
    if not grow(<void**> &pairs.heap, &pairs.heap_slots, pairs.n_ranked + 1, sizeof(Ranked)):
        return False
    ranked.count = pair.count
    ranked.pair = number
    ranked.hint = pair.left if pairs.ties == TIES_IDS else pairs.tokens.at[pair.left].head
    if pairs.ties == TIES_LARGEST:
        ranked.hint = ~ranked.hint
    pairs.n_ranked += 1
    sift_up(pairs, pairs.n_ranked - 1, ranked)
    return True


cdef bint lower_level(Pairs* pairs) noexcept nogil:
    """Rank the pairs of the highest bucket, now that the heap is empty. False: no memory."""
    cdef uint32_t number, after
    pairs.level -= 1
    while pairs.level > 0 and pairs.buckets[pairs.level] == NONE:
        pairs.level -= 1
    number = pairs.buckets[pairs.level]
    pairs.buckets[pairs.level] = NONE
    while number != NONE:
        after = pairs.pairs[number].next
        if after != NONE:
            prefetch(pairs.pairs + after)
        if pairs.pairs[number].count == 0:
            release(pairs, number)
        elif not rank(pairs, number):
            return False
        number = after
    return True


cdef bint find_best(Pairs* pairs, uint32_t* best) noexcept nogil:
    """The pair to merge next, which comes to stand at the heap's top; NONE: there is none.

    False: no memory.
    """
    cdef Ranked top
    while pairs.n_ranked > 0 or pairs.level > 0:
        if pairs.n_ranked == 0:
            if not lower_level(pairs):
                return False
            continue
        top = pairs.heap[0]
        best[0] = top.pair
        if pairs.pairs[top.pair].count == top.count:
            return True
        top.count = pairs.pairs[top.pair].count
        if bucket_of(top.count) >= pairs.level:
            sift_down(pairs, top)
            continue
        drop_top(pairs)
        if top.count == 0:
            release(pairs, top.pair)
        elif not rank(pairs, top.pair):
            return False
    best[0] = NONE
    return True


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
    in_large_pages(kept, slots * sizeof(uint32_t))
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
    if added == NONE:
        if pairs.n_pairs >= NONE - 1 or not grow(
            <void**> &pairs.pairs, &pairs.pairs_slots, pairs.n_pairs + 1, sizeof(Pair)
        ):
            return NONE
        added = pairs.n_pairs
        pairs.n_pairs += 1
    else:
        pairs.free = pairs.pairs[added].next
    if 4 * pairs.n_kept > 3 * <Py_ssize_t> pairs.table_mask and not double_table(pairs):
        return NONE
    pair = pairs.pairs + added
    pair.left, pair.right, pair.count = left, right, count
    pair.start, pair.n_places = pairs.n_places, n_places
    pairs.n_places += n_places
    pairs.table[slot_of(pairs, left, right)] = hash_pair(left, right) << 32 | <uint64_t> added + 1
    pairs.n_kept += 1
    return added if rank(pairs, added) else NONE
