"""The last token of every prefix of a piece, and the first of every suffix.

The encoding of a prefix ends in exactly one token: the one that ends there and is
compatible with the last token of the prefix before it (docs/algorithm.md). So the
prefixes of a piece are counted one from another, in one pass of an Aho-Corasick
automaton; suffixes likewise, from the end.
"""

from cutline.kernels.bpe cimport (
    Node, find_token, is_closed, recall_compatible, step, token_bytes, trie_child,
)
from cutline.kernels.common cimport grow, memmove


cdef inline bint reserve_prefix(Prefixes* prefixes, Py_ssize_t length) noexcept nogil:
    """Make room for the prefix of this length. False: no memory."""
    return grow(
        <void**> &prefixes.last, &prefixes.last_slots, length + 1, sizeof(uint32_t)
    ) and grow(<void**> &prefixes.counts, &prefixes.count_slots, length + 1, sizeof(uint32_t))


cdef inline uint32_t grown_token(const Bpe* bpe, uint32_t token, uint8_t byte) noexcept nogil:
    """The token that has one byte more, or NONE."""
    cdef uint32_t node = token + 1
    if not bpe.nodes[node].children >> (byte & 31) & 1:
        return NONE
    node = trie_child(bpe, node, byte)
    return node - 1 if node <= bpe.n_tokens else NONE


cdef inline bint ends_in(
    const Bpe* bpe, uint64_t* verdicts,
    const uint32_t* last,           # in: last token of each prefix, from that of one byte on
    uint64_t closed,                # in: of Prefixes
    Py_ssize_t length, uint32_t token,
) noexcept nogil:
    """Whether this token, which a prefix ends in, is the last one of its encoding."""
    cdef Py_ssize_t n_bytes = bpe.nodes[token + 1].depth
    return (
        n_bytes <= 64 and closed >> (n_bytes - 1) & 1
        or n_bytes == length
        or recall_compatible(bpe, verdicts, last[length - n_bytes - 1], token)
    )


cdef inline bint try_token(
    Prefixes* prefixes, const Bpe* bpe, Py_ssize_t length, uint32_t token, Py_ssize_t budget
) noexcept nogil:
    """Whether this is the last token of the prefix, within budget; if so, note it."""
    cdef Py_ssize_t before = length - bpe.nodes[token + 1].depth
    if prefixes.counts[before] >= <uint64_t> budget or not ends_in(
        bpe, prefixes.verdicts, prefixes.last + 1, prefixes.closed, length, token
    ):
        return False
    prefixes.last[length] = token
    prefixes.counts[length] = prefixes.counts[before] + 1
    return True


cdef bint start_prefixes(Prefixes* prefixes) noexcept nogil:
    """Begin with the empty prefix. False: no memory."""
    prefixes.start = -1
    prefixes.frontier = 0
    prefixes.node = 0
    prefixes.closed_at = -1
    if not reserve_prefix(prefixes, 0):
        return False
    prefixes.counts[0] = 0
    return True


cdef bint extend_prefixes(
    Prefixes* prefixes, const Bpe* bpe, uint8_t byte, Py_ssize_t budget
) noexcept nogil:
    """Count the prefix that is one byte longer. False: no memory.

    Cost: amortised one step of the automaton, and the tokens tried at this place.
    """
    prefixes.node = step(bpe, prefixes.node, byte)
    return note_prefix(prefixes, bpe, byte, budget)


cdef inline bint note_prefix(
    Prefixes* prefixes, const Bpe* bpe, uint8_t byte, Py_ssize_t budget
) noexcept nogil:
    """Note last token and count of the next prefix, behind which `node` is. False: no memory."""
    cdef Py_ssize_t length = prefixes.frontier + 1
    cdef const Node* node = bpe.nodes + prefixes.node
    cdef uint32_t token = NONE
    if not reserve_prefix(prefixes, length):
        return False
    # Whoever shortens the tables need not care for the seams: none is known to be closed then.
    if prefixes.closed_at != prefixes.frontier:
        prefixes.closed = 0
    prefixes.closed = prefixes.closed << 1 | (node.depth == 1)
    prefixes.frontier = prefixes.closed_at = length
    prefixes.counts[length] = NONE
    # Any order of trying is right, for at most one token is. In long runs the token before,
    # grown by the byte, nearly always is it, where the longest would fail dozens of times.
    if node.depth > 1 and prefixes.counts[length - 1] != NONE:
        token = grown_token(bpe, prefixes.last[length - 1], byte)
    if token == NONE or not try_token(prefixes, bpe, length, token, budget):
        token = node.suffix_token
        while token != NONE and not try_token(prefixes, bpe, length, token, budget):
            token = bpe.next_suffix[token]
    return True


cdef bint count_prefixes(
    Prefixes* prefixes, const Bpe* bpe,
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
    if not start_prefixes(prefixes):
        return False
    if budget == 0:
        n = 0
    for length in range(1, n + 1):
        # Where no token holds the last two bytes, the automaton need not be asked.
        if length > 1 and is_closed(bpe, piece[length - 2], piece[length - 1]):
            prefixes.node = 0
        prefixes.node = step(bpe, prefixes.node, piece[length - 1])
        # No token that is still open starts at a prefix that could take it.
        if length - <Py_ssize_t> bpe.nodes[prefixes.node].depth > extendable:
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


cdef Py_ssize_t encode_by_prefixes(
    const Bpe* bpe,
    const uint8_t* piece, Py_ssize_t n,     # in: at least one byte
    uint64_t* verdicts,                     # of recall_compatible
    uint32_t* out,                          # out: n slots
) noexcept nogil:
    """Encode a piece by the last tokens of its prefixes. Returns the number of tokens.

    The same speed for every text, and no memory but `out`, which holds the table first.
    """
    cdef Py_ssize_t at, length = n, free = n
    cdef uint64_t closed = 0
    cdef uint32_t node = 0, token
    for at in range(n):
        if at > 0 and is_closed(bpe, piece[at - 1], piece[at]):
            node = 0
        node = step(bpe, node, piece[at])
        closed = closed << 1 | (bpe.nodes[node].depth == 1)
        token = NONE
        if bpe.nodes[node].depth > 1:
            token = grown_token(bpe, out[at - 1], piece[at])
        if token == NONE or not ends_in(bpe, verdicts, out, closed, at + 1, token):
            token = bpe.nodes[node].suffix_token
            while not ends_in(bpe, verdicts, out, closed, at + 1, token):
                token = bpe.next_suffix[token]
        out[at] = token
    # The tokens go behind the prefixes that are still to be read.
    while length > 0:
        free -= 1
        token = out[length - 1]
        length -= token_bytes(bpe, token)
        out[free] = token
    memmove(out, out + free, (n - free) * sizeof(uint32_t))
    return n - free


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
    Suffixes* suffixes, const Bpe* bpe,
    const uint8_t* text, Py_ssize_t start, Py_ssize_t end,      # in: the piece
) noexcept nogil:
    """Tokens of the piece text[start:end], by the mirrored table. -1: no memory.

    The encoding of a suffix begins with exactly one token: the one that is compatible
    with the first token of the suffix after it. Called with falling starts for the same
    end, it goes on where it stopped.
    """
    cdef Py_ssize_t length, shorter, at
    cdef uint32_t node, token
    if find_token(bpe, text + start, end - start) != NONE:
        return 1
    if suffixes.end != end or suffixes.counts == NULL:
        suffixes.end = end
        suffixes.length = 0
    if not grow(
        <void**> &suffixes.first, &suffixes.first_slots, end - start + 1, sizeof(uint32_t)
    ) or not grow(
        <void**> &suffixes.counts, &suffixes.count_slots, end - start + 1, sizeof(uint32_t)
    ):
        return -1
    suffixes.counts[0] = 0
    for length in range(suffixes.length + 1, end - start + 1):
        node = 0
        for at in range(end - length, end):
            node = trie_child(bpe, node, text[at])
            if node == NONE:
                break
            if node > bpe.n_tokens:
                continue
            token = node - 1
            shorter = end - at - 1
            if shorter == 0 or recall_compatible(
                bpe, suffixes.verdicts, token, suffixes.first[shorter]
            ):
                suffixes.first[length] = token
                suffixes.counts[length] = suffixes.counts[shorter] + 1
                break
        suffixes.length = length
    return suffixes.counts[end - start]


cdef Py_ssize_t furthest(
    const Bpe* bpe,
    const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t max_tokens,
    Py_ssize_t* reached,        # scratch: max_tokens + 1 slots
) noexcept nogil:
    """A place in text[start:end] beyond which max_tokens tokens can't reach from `start`.

    Whatever the pieces: reached[k] is the furthest end of a token that starts at or
    before reached[k - 1]. Needs a vocabulary without unreachable tokens.
    """
    cdef Py_ssize_t at, token_start, level, used = 0
    cdef uint32_t node = 0
    reached[0] = start
    if max_tokens == 0:
        return start
    for at in range(start + 1, end + 1):
        node = step(bpe, node, text[at - 1])
        if used == max_tokens and at - <Py_ssize_t> bpe.nodes[node].depth > reached[max_tokens - 1]:
            break
        token_start = at - token_bytes(bpe, bpe.nodes[node].suffix_token)
        # The fewest tokens that reach the token's start; most often all or all but one.
        level = used
        while level > 0 and reached[level - 1] >= token_start:
            level -= 1
        if level == max_tokens:
            continue
        # One more token reaches here, and so do any more.
        level += 1
        used = max(used, level)
        while level <= used:
            reached[level] = at
            level += 1
    return reached[used]
