"""Starts: the characters of a text at which it can be cut, with the tokens before each.

Guarded by tests/words/test_sparse_starts.py.
"""

from cutline.kernels.base.common cimport NOT_FOUND, grow, int64_t, prefetch, uint32_t, uint64_t

cdef extern from "native.h":
    int popcount "cutline_popcount"(uint64_t word) noexcept nogil
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil
    int top_bit "cutline_top_bit"(uint64_t word) noexcept nogil

cdef enum:
    NEAR_STARTS = 32        # where one is looked for at first
    NEAR_WORDS = 8          # of bits

# Bit k: at character k begins what is counted apart. `ranks` has the bits before each word of 64,
# `sums` the tokens before each bit; bits inside words are set in `joined`, too, and those of parts
# with entangled characters in `entangled`.
cdef struct Starts:
    uint64_t* bits
    uint64_t* joined
    uint64_t* entangled         # NULL: there are no such parts
    uint32_t* ranks
    int64_t* sums
    Py_ssize_t count, slots
    Py_ssize_t n                # characters


cdef inline bint have_room(Starts* starts, Py_ssize_t more) noexcept nogil:
    """Have room for more starts. False: no memory."""
    return grow(<void**> &starts.sums, &starts.slots, starts.count + more + 1, sizeof(int64_t))


cdef inline bint add_start(Starts* starts, Py_ssize_t at, int64_t tokens) noexcept nogil:
    """Add a start after all others, or the last one again. False: no memory."""
    if not have_room(starts, 1):
        return False
    add_ready_start(starts, at, tokens)
    return True


cdef inline void add_ready_start(Starts* starts, Py_ssize_t at, int64_t tokens) noexcept nogil:
    """Add a start after all others, or the last one again: there is room."""
    cdef uint64_t* bits = &starts.bits[at >> 6]
    cdef bint is_new = bits[0] >> (at & 63) & 1 ^ 1
    bits[0] |= <uint64_t> 1 << (at & 63)
    starts.sums[starts.count] = tokens
    starts.count += is_new


cdef inline void add_ready_joint(Starts* starts, Py_ssize_t at, int64_t tokens) noexcept nogil:
    """The same inside a word."""
    add_ready_start(starts, at, tokens)
    starts.joined[at >> 6] |= <uint64_t> 1 << (at & 63)


cdef inline Py_ssize_t next_start(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """The first start from `at` on, or NOT_FOUND."""
    cdef Py_ssize_t place = at >> 6, near = min(place + NEAR_WORDS, starts.n >> 6)
    cdef uint64_t word = starts.bits[place] >> (at & 63) << (at & 63)
    while word == 0:
        place += 1
        if place > near:
            return far_start(starts, place)
        word = starts.bits[place]
    return (place << 6) + low_bit(word)


cdef inline Py_ssize_t far_start(const Starts* starts, Py_ssize_t place) noexcept nogil:
    """The first start in a word of bits or after it, or NOT_FOUND: in a long word there is none."""
    if place > starts.n >> 6 or starts.ranks[place] >= starts.count:
        return NOT_FOUND
    return start_of_rank(starts, starts.ranks[place], place << 6)


cdef inline Py_ssize_t last_start(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """The last start up to `at`, at least one of which there is."""
    cdef Py_ssize_t place = at >> 6, near = place - NEAR_WORDS
    cdef uint64_t word = starts.bits[place] << (63 - (at & 63)) >> (63 - (at & 63))
    while word == 0:
        if place <= near:
            return start_of_rank(starts, starts.ranks[place] - 1, 0)
        place -= 1
        word = starts.bits[place]
    return (place << 6) + top_bit(word)


cdef inline Py_ssize_t last_unranked_start(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """The same while starts are added."""
    cdef Py_ssize_t place = at >> 6
    cdef uint64_t word = starts.bits[place] << (63 - (at & 63)) >> (63 - (at & 63))
    while word == 0:
        place -= 1
        word = starts.bits[place]
    return (place << 6) + top_bit(word)


cdef inline Py_ssize_t next_word_start(
    const Starts* starts, Py_ssize_t at, Py_ssize_t stop
) noexcept nogil:
    """The first start from `at` up to `stop` that is no joint, or NOT_FOUND."""
    cdef Py_ssize_t place = at >> 6, found
    cdef uint64_t word = (starts.bits[place] & ~starts.joined[place]) >> (at & 63) << (at & 63)
    while word == 0:
        place += 1
        if place > stop >> 6:
            return NOT_FOUND
        word = starts.bits[place] & ~starts.joined[place]
    found = (place << 6) + low_bit(word)
    return found if found <= stop else NOT_FOUND


cdef inline Py_ssize_t last_word_start(
    const Starts* starts, Py_ssize_t at, Py_ssize_t least
) noexcept nogil:
    """The last start from `least` up to `at` that is no joint; if there is none, `least`."""
    cdef Py_ssize_t place = at >> 6
    cdef uint64_t word = starts.bits[place] & ~starts.joined[place]
    word = word << (63 - (at & 63)) >> (63 - (at & 63))
    while word == 0:
        place -= 1
        if place < least >> 6:
            return least
        word = starts.bits[place] & ~starts.joined[place]
    return max(least, (place << 6) + top_bit(word))


cdef inline Py_ssize_t rank_of(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """How many starts are before a start."""
    cdef uint64_t below = starts.bits[at >> 6] & ((<uint64_t> 1 << (at & 63)) - 1)
    return starts.ranks[at >> 6] + popcount(below)


cdef inline void fetch_start(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """Fetch what tells the rank of the starts near a place."""
    prefetch(&starts.bits[at >> 6])
    prefetch(&starts.joined[at >> 6])
    prefetch(&starts.ranks[at >> 6])


cdef inline int64_t tokens_before(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """The tokens before a start."""
    return starts.sums[rank_of(starts, at)]


cdef inline bint is_joint(const Starts* starts, Py_ssize_t at) noexcept nogil:
    return starts.joined[at >> 6] >> (at & 63) & 1


cdef inline bint begins_entangled(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """Whether at a start begins a part whose characters are entangled."""
    return starts.entangled != NULL and starts.entangled[at >> 6] >> (at & 63) & 1


cdef inline bint has_entangled(const Starts* starts, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Whether a slice has characters of such a part."""
    cdef Py_ssize_t at
    if starts.entangled == NULL or start >= end:
        return False
    at = last_start(starts, start)
    while 0 <= at < end:
        if begins_entangled(starts, at):
            return True
        at = next_start(starts, at + 1)
    return False


cdef inline Py_ssize_t start_of_rank(
    const Starts* starts, Py_ssize_t rank, Py_ssize_t after
) noexcept nogil:
    """The character of the start with so many others before it; it is not before another one."""
    cdef Py_ssize_t low = after >> 6, high, middle, n = (starts.n >> 6) + 1, step = NEAR_WORDS
    cdef uint64_t word
    # It is usually near.
    while low + step < n and <Py_ssize_t> starts.ranks[low + step] <= rank:
        low += step
        step *= 2
    high = min(low + step, n)
    while low + 1 < high:
        middle = (low + high) >> 1
        if <Py_ssize_t> starts.ranks[middle] <= rank:
            low = middle
        else:
            high = middle
    word = starts.bits[low]
    rank -= starts.ranks[low]
    while rank > 0:
        word &= word - 1
        rank -= 1
    return (low << 6) + low_bit(word)


cdef inline Py_ssize_t last_rank(
    const Starts* starts, Py_ssize_t rank, int64_t most
) noexcept nogil:
    """The rank of the last start, from a given one on, with at most so many tokens before it."""
    cdef Py_ssize_t low = rank, high, middle, step = NEAR_STARTS
    while low + step < starts.count and starts.sums[low + step] <= most:
        low += step
        step *= 2
    high = min(low + step, starts.count)
    while low + 1 < high:
        middle = (low + high) >> 1
        if starts.sums[middle] <= most:
            low = middle
        else:
            high = middle
    return low


cdef inline Py_ssize_t end_before(
    const Starts* starts, Py_ssize_t rank, Py_ssize_t after
) noexcept nogil:
    """The last place before the start of a rank, or the text's end where there is none."""
    return start_of_rank(starts, rank, after) - 1 if rank < starts.count else starts.n
