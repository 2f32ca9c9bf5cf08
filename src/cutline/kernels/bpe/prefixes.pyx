"""The last token of every prefix of a piece, and the first of every suffix.

The encoding of a prefix ends in exactly one token: the one that ends there and is
compatible with the last token of the prefix before it (docs/algorithm.md). So the
prefixes of a piece are counted one from another, in one pass of an Aho-Corasick
automaton; suffixes likewise, from the end.

Guarded by tests/kernels/test_matches.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, NOT_FOUND, char_bytes, grow, memmove,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.bpe.bpe cimport (
    cached_compatible, find_token, has_closed_boundaries, merge, next_closed_boundary, token_bytes,
)
from cutline.kernels.bpe.matches cimport ROOT, Node, grown, read_byte, resume

cdef enum:
    WATCHED = 1 << 14       # bytes of a piece that are added to the watch at a time
    SLOW = 4                # the work of a byte whose tables are kept
    MOST_SEGMENT = 24       # bytes: all prefixes of longer ones are better counted by the automaton


cdef inline bint reserve_prefix(Prefixes* prefixes, Py_ssize_t length) noexcept nogil:
    """Make room for the prefix of this length. False: no memory."""
    return grow(
        <void**> &prefixes.last, &prefixes.last_slots, length + 1, sizeof(uint32_t)
    ) and grow(
        <void**> &prefixes.counts, &prefixes.count_slots, length + 1, sizeof(uint32_t)
    ) and (not prefixes.keeps_depths or grow(
        <void**> &prefixes.depths, &prefixes.depth_slots, length + 1, sizeof(uint32_t)
    ))


cdef void free_prefixes(Prefixes* prefixes) noexcept nogil:
    free(prefixes.last)
    free(prefixes.counts)
    free(prefixes.depths)


cdef bint start_prefixes(
    Prefixes* prefixes, const Bpe* bpe, Lookups* lookups, bint mirrored
) noexcept nogil:
    """Begin with the empty prefix. False: no memory."""
    prefixes.frontier = 0
    prefixes.closed_at = -1
    if not reserve_prefix(prefixes, 0):
        return False
    prefixes.counts[0] = 0
    if prefixes.keeps_depths:
        prefixes.depths[0] = 0
    return take_lookups(prefixes, bpe, lookups, NULL, mirrored)


cdef bint take_lookups(
    Prefixes* prefixes, const Bpe* bpe, Lookups* lookups,
    const uint8_t* text,        # in: at the next byte that will be read; any, if there was none
    bint mirrored,
) noexcept nogil:
    """Get ready for reading on, with other memory than before. False: no memory."""
    cdef Automaton* automaton = &lookups.automata[mirrored]
    prefixes.pair_cache = lookups.pair_cache
    if prefixes.stamp == automaton.stamp and prefixes.closed_at == prefixes.frontier > 0:
        return True
    prefixes.automaton = automaton
    return resume(
        automaton, bpe, text,
        prefixes.depths[prefixes.frontier] if prefixes.frontier > 0 else 0, &prefixes.reading,
    )


# What is known of a piece's prefixes while the last token of the next one is looked for.
cdef struct LastTokenSearch:
    const Bpe* bpe
    const Automaton* automaton
    uint64_t* pair_cache
    const uint32_t* last        # last token of each prefix, from that of one byte on
    const uint32_t* counts      # tokens of each prefix, from the empty one on; NULL: any
    uint64_t budget             # no shorter prefix may have as many
    uint64_t closed             # of Prefixes


cdef inline bint ends_in(
    const LastTokenSearch* search, Py_ssize_t length, uint32_t node
) noexcept nogil:
    """Whether this token, which a prefix ends in, is the last one of its encoding."""
    cdef const Node* ending = &search.automaton.nodes[node]
    cdef Py_ssize_t n_bytes = ending.depth
    cdef uint32_t before
    if search.counts != NULL and search.counts[length - n_bytes] >= search.budget:
        return False
    if n_bytes == length or n_bytes <= 64 and search.closed >> (n_bytes - 1) & 1:
        return True
    before = search.last[length - n_bytes - 1]
    if search.automaton.mirrored:
        return cached_compatible(search.bpe, search.pair_cache, ending.token, before)
    return cached_compatible(search.bpe, search.pair_cache, before, ending.token)


cdef inline uint32_t last_token_node(
    const LastTokenSearch* search,
    const Reading* reading,     # in: after the prefix; `token_node` is that of the one before
    Py_ssize_t length,          # in: of the prefix
    uint8_t byte,               # in: its last one
) noexcept nogil:
    """The node of a prefix's last token; ROOT: the prefix has more tokens than the budget.

    Any order of trying is right, for at most one token is. In long runs the token before, grown
    by the byte, nearly always is it, where the longest would fail dozens of times.
    """
    cdef const Node* nodes = search.automaton.nodes
    cdef uint32_t ending = ROOT
    if nodes[reading.node].depth > 1:
        ending = grown(search.automaton, search.bpe, reading.token_node, byte)
    if ending == ROOT or not ends_in(search, length, ending):
        ending = nodes[reading.node].ending
        while ending != ROOT and not ends_in(search, length, ending):
            ending = nodes[ending].shorter
    return ending


cdef bint extend_prefixes(
    Prefixes* prefixes, const Bpe* bpe,
    const uint8_t* text,        # in: at the next byte of the piece; the others are beside it
    Py_ssize_t budget,
) noexcept nogil:
    """Count the prefix that is one byte longer. False: no memory.

    Cost: amortised one step of the automaton, and the tokens tried at this place.
    """
    return read_byte(prefixes.automaton, bpe, text, &prefixes.reading) and note_prefix(
        prefixes, bpe, text[0], budget
    )


cdef inline bint note_prefix(
    Prefixes* prefixes, const Bpe* bpe, uint8_t byte, Py_ssize_t budget
) noexcept nogil:
    """Note last token and count of the next prefix, whose last byte was read. False: no memory."""
    cdef Py_ssize_t length = prefixes.frontier + 1
    cdef const Automaton* automaton = prefixes.automaton
    cdef uint32_t node = prefixes.reading.node, ending
    cdef LastTokenSearch search
    if not reserve_prefix(prefixes, length):
        return False
    # Once the tables were shortened, no boundary is known to be closed.
    if prefixes.closed_at != prefixes.frontier:
        prefixes.closed = 0
    prefixes.closed = prefixes.closed << 1 | (automaton.nodes[node].depth == 1)
    prefixes.frontier = prefixes.closed_at = length
    prefixes.stamp = automaton.stamp
    prefixes.counts[length] = NONE
    if prefixes.keeps_depths:
        prefixes.depths[length] = automaton.nodes[node].depth
    search.bpe, search.automaton, search.pair_cache = bpe, automaton, prefixes.pair_cache
    search.last, search.counts, search.budget = prefixes.last + 1, prefixes.counts, budget
    search.closed = prefixes.closed
    ending = last_token_node(&search, &prefixes.reading, length, byte)
    if ending != ROOT:
        prefixes.last[length] = automaton.nodes[ending].token
        prefixes.counts[length] = prefixes.counts[length - automaton.nodes[ending].depth] + 1
    prefixes.reading.token_node = ending
    return True


cdef bint count_prefixes(
    Prefixes* prefixes, const Bpe* bpe, Lookups* lookups,
    const uint8_t* text, Py_ssize_t start, Py_ssize_t end,  # in: the piece
    Py_ssize_t budget,                                      # in: tokens of interest
) noexcept nogil:
    """Count the tokens of all prefixes of a piece that are within budget. False: no memory.

    Cost: linear in the longest prefix within budget, times the tokens tried at a place.
    """
    cdef const uint8_t* piece = text + start
    cdef Py_ssize_t n = end - start, length
    cdef Py_ssize_t extendable = 0      # the longest prefix yet that one more token may follow
    # The end only limits how far tokens may reach: tables for a later one do as well.
    if prefixes.start == start and prefixes.budget == budget and prefixes.end >= end:
        return True
    prefixes.start = -1
    if not start_prefixes(prefixes, bpe, lookups, False):
        return False
    if budget == 0:
        n = 0
    for length in range(1, n + 1):
        if not read_byte(prefixes.automaton, bpe, piece + length - 1, &prefixes.reading):
            return False
        # No token that is still open starts at a prefix that could take it.
        if length - <Py_ssize_t> depth(prefixes) > extendable:
            break
        if not note_prefix(prefixes, bpe, piece[length - 1], budget):
            return False
        if prefixes.counts[length] < <uint64_t> budget:
            extendable = length
    if bpe.max_unreachable_bytes > 0 and budget > 0 and not count_unreachable(
        prefixes, bpe, piece, end - start
    ):
        return False
    prefixes.start = start
    prefixes.end = end
    prefixes.budget = budget
    return True


cdef bint count_by_segments(
    Prefixes* prefixes, const Bpe* bpe, Lookups* lookups,
    const uint8_t* text, Py_ssize_t start, Py_ssize_t end,  # in: the piece, of whole characters
    Py_ssize_t budget,                                      # in: tokens of interest
) noexcept nogil:
    """What count_prefixes does, of prefixes of whole characters; the piece was encoded before.

    False: the vocabulary, or a segment, is one that it is not for; or there is no memory. What it
    reads was read for the piece's tokens, where the automaton waits for memory at each byte.
    """
    cdef const uint8_t* piece = text + start
    cdef uint32_t tokens[MOST_SEGMENT]
    cdef Py_ssize_t n = end - start, at = 0, length = 0, stop, before = 0, count = 0
    if not has_closed_boundaries(bpe):
        return False
    if prefixes.start == start and prefixes.budget == budget and prefixes.end >= end:
        return True
    prefixes.start = -1
    if not reserve_prefix(prefixes, 0):
        return False
    prefixes.counts[0] = 0
    while at < n and before < budget:
        stop = next_closed_boundary(bpe, piece, at, min(n, at + MOST_SEGMENT + 1))
        if stop - at > MOST_SEGMENT or not reserve_prefix(prefixes, stop):
            return False
        while length < stop:
            length += char_bytes(piece[length])
            count = merge(bpe, piece + at, length - at, True, lookups.segments, tokens)
            prefixes.counts[length] = <uint32_t> (before + count)
        before += count
        at = stop
    prefixes.frontier = at
    prefixes.closed_at = -1
    prefixes.start = start
    prefixes.end = end
    prefixes.budget = budget
    return True


cdef inline uint32_t depth(const Prefixes* prefixes) noexcept nogil:
    return prefixes.automaton.nodes[prefixes.reading.node].depth


cdef bint count_unreachable(
    Prefixes* prefixes, const Bpe* bpe, const uint8_t* piece, Py_ssize_t n
) noexcept nogil:
    """A piece that is a token is that token, though merging does not reach it. False: no memory."""
    cdef Py_ssize_t length
    for length in range(2, min(n, bpe.max_unreachable_bytes) + 1):
        if find_token(bpe, piece, length) == NONE:
            continue
        if not reserve_prefix(prefixes, length):
            return False
        while prefixes.frontier < length:
            prefixes.frontier += 1
            prefixes.counts[prefixes.frontier] = NONE
        prefixes.counts[length] = 1
    return True


cdef Py_ssize_t suffix_tokens(
    Prefixes* suffixes, const Bpe* bpe, Lookups* lookups,
    const uint8_t* text, Py_ssize_t start, Py_ssize_t end,      # in: the piece
) noexcept nogil:
    """Tokens of the piece text[start:end], by the mirrored table; or NO_MEMORY or INTERRUPTED.

    The encoding of a suffix begins with exactly one token: the one that is compatible
    with the first token of the suffix after it. Called with falling starts for the same
    end, it goes on where it stopped.
    """
    cdef bint ready
    if find_token(bpe, text + start, end - start) != NONE:
        return 1
    if suffixes.start == end and suffixes.frontier > 0:
        ready = take_lookups(suffixes, bpe, lookups, text + end - 1 - suffixes.frontier, True)
    else:
        suffixes.start = end
        ready = start_prefixes(suffixes, bpe, lookups, True)
    while ready and suffixes.frontier < end - start:
        ready = extend_prefixes(suffixes, bpe, text + end - 1 - suffixes.frontier, NONE)
        if suffixes.frontier % WATCHED == 0 and is_interrupted(&lookups.watch, SLOW * WATCHED):
            return INTERRUPTED
    if not ready:
        return NO_MEMORY    # as the other half of a conditional expression, it would be unsigned
    return suffixes.counts[end - start]


cdef Py_ssize_t encode_by_prefixes(
    const Bpe* bpe, Lookups* lookups,
    const uint8_t* piece, Py_ssize_t n,     # in: at least one byte
    uint32_t* out,                          # out: n slots
) noexcept nogil:
    """Encode a piece by the last tokens of its prefixes. Their number, NO_MEMORY or INTERRUPTED.

    The same speed for every text, and no memory but `out`, which holds the table first.
    """
    cdef Automaton* automaton = &lookups.automata[0]
    cdef Reading reading
    cdef Py_ssize_t at = 0, stop, length = n, free = n
    cdef uint32_t ending, token
    cdef LastTokenSearch search
    search.bpe, search.automaton, search.pair_cache = bpe, automaton, lookups.pair_cache
    search.last, search.counts = out, NULL
    search.budget = search.closed = 0
    if not resume(automaton, bpe, piece, 0, &reading):
        return NO_MEMORY
    while at < n:
        stop = min(at + WATCHED, n)
        if at > 0 and is_interrupted(&lookups.watch, WATCHED):
            return INTERRUPTED
        while at < stop:
            if not read_byte(automaton, bpe, piece + at, &reading):
                return NO_MEMORY
            search.closed = search.closed << 1 | (automaton.nodes[reading.node].depth == 1)
            ending = last_token_node(&search, &reading, at + 1, piece[at])
            out[at] = automaton.nodes[ending].token
            reading.token_node = ending
            at += 1
    # The tokens go after the prefixes that are still to be read.
    while length > 0:
        free -= 1
        token = out[length - 1]
        length -= token_bytes(bpe, token)
        out[free] = token
    memmove(out, out + free, (n - free) * sizeof(uint32_t))
    return n - free


cdef Py_ssize_t token_upper_bound(
    const Bpe* bpe, Automaton* automaton,
    const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t max_tokens,
    Py_ssize_t* furthest,        # scratch: max_tokens + 1 slots
) noexcept nogil:
    """An upper bound in text[start:end] of the ends of max_tokens tokens from `start`.

    Whatever the pieces: furthest[k] is the furthest end of a token that starts at or
    before furthest[k - 1]. Needs a vocabulary without unreachable tokens. Or NO_MEMORY.
    """
    cdef Py_ssize_t at, token_start, level, used = 0
    cdef Reading reading
    cdef const Node* node
    furthest[0] = start
    if max_tokens == 0:
        return start
    if not resume(automaton, bpe, text + start, 0, &reading):
        return NO_MEMORY
    for at in range(start + 1, end + 1):
        if not read_byte(automaton, bpe, text + at - 1, &reading):
            return NO_MEMORY
        node = &automaton.nodes[reading.node]
        if used == max_tokens and at - <Py_ssize_t> node.depth > furthest[max_tokens - 1]:
            break
        token_start = at - automaton.nodes[node.ending].depth
        # The fewest tokens that reach the token's start; most often all or all but one.
        level = used
        while level > 0 and furthest[level - 1] >= token_start:
            level -= 1
        if level == max_tokens:
            continue
        # One more token reaches here, and so do any more.
        level += 1
        used = max(used, level)
        while level <= used:
            furthest[level] = at
            level += 1
    return furthest[used]


cdef Py_ssize_t token_reach(
    const Bpe* bpe, Automaton* automaton, const uint8_t* text, Py_ssize_t n, Py_ssize_t place
) noexcept nogil:
    """The first end in text[:n] at which no token goes on that begins at `place` or before.

    NOT_FOUND: there is none; or NO_MEMORY.
    """
    cdef Py_ssize_t at
    cdef Reading reading
    if n == 0 or not resume(automaton, bpe, text, 0, &reading):
        return NOT_FOUND if n == 0 else NO_MEMORY
    for at in range(1, n + 1):
        if not read_byte(automaton, bpe, text + at - 1, &reading):
            return NO_MEMORY
        if at - <Py_ssize_t> automaton.nodes[reading.node].depth > place:
            return at
    return NOT_FOUND
