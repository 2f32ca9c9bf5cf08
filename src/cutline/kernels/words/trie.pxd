"""A trie of tokens, character by character, in one table of edges.

An edge's slot in the table is the number of the node that it leads to, so that what a step asks
for, where it leads, whether a token ends there and with which score, lies in one place. Linked, it
is an automaton (Aho and Corasick's) that reads a text once and finds all tokens that end at each
place.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.common cimport char_bytes, decode_char, uint8_t, uint32_t, uint64_t
from cutline.kernels.words.images cimport META

cdef enum:
    ROOTS = 2               # nodes 0 and 1: where a word begins, and where it goes on
    LABEL_BITS = 22
    META_LABEL = 0x110000
    BMP = 0x10000           # characters
    HAS_MORE = 62           # bits of an edge's key: the node has children
    ENDS = 63               # ... and a token ends there

cdef struct Edge:
    uint64_t key            # parent << LABEL_BITS | label + 1, and two bits; 0: there is no edge
    double score            # of the token that ends at its node
    uint32_t token          # that one
    uint32_t n_bytes        # of the characters up to its node
    # Where the trie is linked, of the texts that the characters up to its node end in but for these:
    uint32_t fallback       # the node of the longest that a token begins with, or 0
    uint32_t shorter        # the node of the longest that is a token, or 0

cdef struct Trie:
    Edge* edges
    uint64_t mask
    uint32_t* first[ROOTS]  # of each character of the BMP: the root's child, or 0


cdef inline uint32_t label_at(const uint8_t* text, Py_ssize_t* width) noexcept nogil:
    """The label of the character that begins there, and its bytes. META is a character, too."""
    if text[0] < 0x80:
        width[0] = 1
        return text[0]
    if text[0] == META:
        width[0] = 1
        return META_LABEL
    width[0] = char_bytes(text[0])
    return decode_char(text, width[0])


cdef inline uint64_t edge_slot(const Trie* trie, uint64_t key) noexcept nogil:
    key *= <uint64_t> 0x9E3779B97F4A7C15
    return (key ^ key >> 32) & trie.mask


cdef inline uint32_t child_of(const Trie* trie, uint32_t node, uint32_t label) noexcept nogil:
    """The child of a node, or 0."""
    cdef uint64_t key, slot, edge
    if node < ROOTS and label < BMP:
        return trie.first[node][label]
    key = <uint64_t> node << LABEL_BITS | (label + 1)
    slot = edge_slot(trie, key)
    while True:
        edge = trie.edges[slot].key
        if edge & ((<uint64_t> 1 << HAS_MORE) - 1) == key:
            return <uint32_t> slot + ROOTS
        if edge == 0:
            return 0
        slot = (slot + 1) & trie.mask


cdef inline bint has_more(const Trie* trie, uint32_t node) noexcept nogil:
    """Whether a node, which is no root, has children."""
    return trie.edges[node - ROOTS].key >> HAS_MORE & 1


cdef inline bint ends_token(const Trie* trie, uint32_t node) noexcept nogil:
    """Whether a token ends at a node, which is no root."""
    return trie.edges[node - ROOTS].key >> ENDS


cdef inline uint32_t token_at(const Trie* trie, uint32_t node) noexcept nogil:
    """The token that ends at a node."""
    return trie.edges[node - ROOTS].token


cdef inline uint32_t longest_end(const Trie* trie, uint32_t node) noexcept nogil:
    """The node of the longest token that the text up to a node, which is no root, ends in, or 0."""
    return node if ends_token(trie, node) else trie.edges[node - ROOTS].shorter


cdef inline uint32_t next_node(
    const Trie* trie, uint32_t node, uint32_t label, bint* anew
) noexcept nogil:
    """The node of the longest text up to a character that a token begins with, or 0.

    Args:
        node: the one up to the character before; the trie is linked.
        anew: out: nothing before the character is in that text.
    """
    cdef uint32_t child
    anew[0] = False
    while node != 0:
        if has_more(trie, node):
            child = child_of(trie, node, label)
            if child != 0:
                return child
        node = trie.edges[node - ROOTS].fallback
    anew[0] = True
    return child_of(trie, 0, label)


cdef bint start_trie(Trie* trie, Py_ssize_t n_characters) noexcept nogil
cdef void add_token(
    Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n, uint32_t number, double score
) noexcept nogil
cdef bint link_trie(Trie* trie) noexcept nogil
cdef uint32_t find_in_trie(
    const Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n
) noexcept nogil
cdef void free_trie(Trie* trie) noexcept nogil
