"""Which tokens begin or end at a place of a text, of those that merging reaches.

Two filters of the vocabulary say whether some token begins with given bytes, and whether some
token ends in them. They have no false negatives and few false positives. Two things use them.
`next_match` gives the tokens that begin at a place, the longest first. The Aho-Corasick
automaton finds those that end at each place of a text; its states are made when a text first
needs them. Source: docs/algorithm.md, "Finding tokens".
"""

from cutline.kernels.base.common cimport NONE, load64, uint8_t, uint32_t, uint64_t
from cutline.kernels.bpe.bpe cimport Bpe, find_token

cdef extern from "native.h":
    const uint64_t FACTOR "CUTLINE_MATCH_FACTOR"
    const uint64_t INVERSE "CUTLINE_MATCH_INVERSE"
    # The part of an entry that tells the bytes: DECIDING_BITS less FIRST_MATCH_BITS, the highest.
    const uint64_t TAG "CUTLINE_FIRST_MATCH_TAG"

cdef enum:
    BEGINS = 1              # some token begins (or ends) with these bytes
    IS_TOKEN = 2            # these bytes are a token
    ROOT = 0                # the automaton's node of no bytes; node 1 + b is that of byte b

    # The cache of first matches: for six bytes of text, which decide a match of up to five.
    FIRST_MATCH_BITS = 13
    FIRST_MATCH_SLOTS = 1 << 13
    DECIDING_BITS = 48
    MOST_DECIDED = 5

# The first bytes of a text, so many that a token may begin with them.
cdef struct Match:
    uint64_t hashed         # of `length` bytes; 0: not known
    Py_ssize_t longest
    Py_ssize_t length       # the token that comes next has no more bytes

# A beginning of a token. Two share a cache line.
cdef struct Node:
    uint64_t hashed         # of its bytes
    uint32_t parent         # without its last byte
    uint32_t fail           # its longest proper suffix that is a node
    uint32_t ending         # its longest suffix, itself included, that is a token; a node
    uint32_t token          # which token it is, or NONE
    uint32_t depth          # its bytes
    uint32_t shorter        # the next shorter token that it ends in, itself not included; a node

# What has been made of the automaton. Mirrored, it reads texts from right to left: then its nodes
# are ends of tokens, and "last" is "first" in all that is said.
cdef struct Automaton:
    bint mirrored
    Node* nodes
    Py_ssize_t n_nodes, node_slots
    Py_ssize_t most_nodes   # with more, it begins again
    Py_ssize_t stamp        # of all that began, no two have the same
    uint32_t* children      # hash table of nodes, by the hash of their bytes; 0: free
    int child_shift

# Where a text's automaton is.
cdef struct Reading:
    uint32_t node
    uint32_t token_node     # any node that its reader wants kept, or ROOT: it began again


cdef inline uint64_t extended(uint64_t hashed, uint8_t byte) noexcept nogil:
    """The hash of some bytes and one more."""
    return (hashed + byte + 1) * FACTOR


cdef inline uint64_t filter_bits(const uint64_t* filter, int shift, uint64_t hashed) noexcept nogil:
    """What a filter says of the bytes with this hash, in the lowest two bits."""
    cdef uint64_t slot = hashed >> shift
    return filter[slot >> 5] >> ((slot & 31) << 1)


cdef inline Match longest_beginning(
    const Bpe* bpe, const uint8_t* text, Py_ssize_t n
) noexcept nogil:
    """The most of text[:n] that some token may begin with."""
    cdef Match match
    cdef uint64_t hashed
    if n > bpe.max_token_bytes:
        n = bpe.max_token_bytes
    match.hashed = 0
    match.length = 0
    while match.length < n:
        hashed = extended(match.hashed, text[match.length])
        if not filter_bits(bpe.beginnings, bpe.match_shift, hashed) & BEGINS:
            break
        match.hashed = hashed
        match.length += 1
    match.longest = match.length
    return match


cdef inline uint32_t next_match(const Bpe* bpe, const uint8_t* text, Match* match) noexcept nogil:
    """The longest token in a match, which then goes on with the shorter ones; NONE: no more.

    The token has a byte more than `match.length` then says.
    """
    cdef Py_ssize_t length
    cdef uint64_t bits
    cdef uint32_t token
    if match.hashed == 0:
        for length in range(match.length):
            match.hashed = extended(match.hashed, text[length])
    while match.length > 1:
        length = match.length
        bits = filter_bits(bpe.beginnings, bpe.match_shift, match.hashed)
        match.length -= 1
        match.hashed = match.hashed * INVERSE - text[match.length] - 1
        if bits & IS_TOKEN:
            token = find_token(bpe, text, length)
            if token != NONE and bpe.left[token] != NONE:
                return token
    if match.length == 0:
        return NONE
    match.length = 0
    return bpe.byte_token[text[0]]


cdef inline uint32_t first_match(
    const Bpe* bpe,
    uint64_t* cache,        # in and out: FIRST_MATCH_SLOTS, all zero at first; or NULL
    const uint8_t* text, Py_ssize_t n,
    Match* match,           # out
) noexcept nogil:
    """The longest token that text[:n] begins with, and the match that has the shorter ones.

    Text that repeats few bytes, as that of a genome, asks for the same beginnings again and
    again. An entry holds the rest of a product, of which the slot is the highest bits: as the
    factor is odd, both tell the six bytes; then the token, and the lengths of the match.
    """
    cdef uint64_t* slot = NULL
    cdef uint64_t product, entry
    cdef uint32_t token
    if cache != NULL and n >= 8:
        product = load64(text) * FACTOR << (64 - DECIDING_BITS)
        slot = cache + (product >> (64 - FIRST_MATCH_BITS))
        product <<= FIRST_MATCH_BITS
        entry = slot[0]
        if ((entry ^ product) & TAG) == 0 and entry & 7:
            match.hashed = 0
            match.longest = entry & 7
            match.length = entry >> 3 & 7
            return entry >> 6 & 0x1FFFFF
    match[0] = longest_beginning(bpe, text, n)
    token = next_match(bpe, text, match)
    if slot != NULL and match.longest <= MOST_DECIDED and token != NONE:
        slot[0] = product | <uint64_t> token << 6 | match.length << 3 | match.longest
    return token


cdef inline const uint64_t* filter_of(
    const Automaton* automaton, const Bpe* bpe
) noexcept nogil:
    return bpe.endings if automaton.mirrored else bpe.beginnings


cdef inline bint may_grow(
    const Automaton* automaton, const Bpe* bpe, uint32_t node, uint64_t hashed
) noexcept nogil:
    """Whether a node has a child with this hash: some token may begin with its bytes."""
    return (
        filter_bits(filter_of(automaton, bpe), bpe.match_shift, hashed) & BEGINS
        and automaton.nodes[node].depth < <uint64_t> bpe.max_token_bytes
    )


cdef inline uint32_t child_of(
    const Automaton* automaton, uint32_t node, uint64_t hashed
) noexcept nogil:
    """The child whose bytes have this hash, or ROOT: there is none yet.

    The same hash below the same node is the same byte: the multiplication is invertible.
    """
    cdef uint64_t slot = hashed >> automaton.child_shift
    cdef uint64_t mask = (<uint64_t> 1 << (64 - automaton.child_shift)) - 1
    cdef uint32_t child = automaton.children[slot]
    while child != ROOT:
        if automaton.nodes[child].hashed == hashed and automaton.nodes[child].parent == node:
            return child
        slot = (slot + 1) & mask
        child = automaton.children[slot]
    return ROOT


cdef bint add_nodes(
    Automaton* automaton, const Bpe* bpe, const uint8_t* text, Reading* reading, uint32_t node
) noexcept nogil
cdef bint resume(
    Automaton* automaton, const Bpe* bpe, const uint8_t* text, Py_ssize_t depth, Reading* reading
) noexcept nogil
cdef void free_automaton(Automaton* automaton) noexcept nogil


cdef inline bint read_byte(
    Automaton* automaton, const Bpe* bpe,
    const uint8_t* text,    # in: at the byte; those of the node are beside it
    Reading* reading,
) noexcept nogil:
    """Go to the longest suffix of node + byte that is a node. False: no memory.

    Cost: amortised constant; a look-up in the vocabulary more for a node that is new.
    """
    cdef const Node* nodes = automaton.nodes
    cdef uint32_t node = reading.node, child
    cdef uint64_t hashed
    while node != ROOT:
        hashed = extended(nodes[node].hashed, text[0])
        if may_grow(automaton, bpe, node, hashed):
            child = child_of(automaton, node, hashed)
            if child == ROOT:
                return add_nodes(automaton, bpe, text, reading, node)
            reading.node = child
            return True
        node = nodes[node].fail
    reading.node = 1 + text[0]
    return True


cdef inline uint32_t grown(
    const Automaton* automaton, const Bpe* bpe, uint32_t node, uint8_t byte
) noexcept nogil:
    """The node of a byte more if it is a token; else ROOT. The byte must have been read."""
    cdef uint32_t child
    if node == ROOT:
        return ROOT
    child = child_of(automaton, node, extended(automaton.nodes[node].hashed, byte))
    return child if child != ROOT and automaton.nodes[child].token != NONE else ROOT
