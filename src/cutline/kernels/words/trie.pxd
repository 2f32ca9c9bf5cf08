"""A trie of tokens, byte by byte, in one table of edges.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.common cimport NONE, uint8_t, uint32_t, uint64_t

cdef enum:
    NODE_BITS = 28
    ROOTS = 2               # nodes 0 and 1: where a word begins, and where it goes on

# An edge is `(node << 8 | byte) << NODE_BITS | child`; no child is a root, so that none is 0.
cdef struct Trie:
    uint64_t* edges
    uint64_t mask
    uint32_t* tokens            # node -> the token that ends there, or NONE
    Py_ssize_t n_nodes
    Py_ssize_t node_slots
    uint32_t first[ROOTS][256]  # children of the roots; 0: none


cdef inline uint64_t edge_slot(const Trie* trie, uint64_t key) noexcept nogil:
    key *= <uint64_t> 0x9E3779B97F4A7C15
    return (key ^ key >> 32) & trie.mask


cdef inline uint32_t child_of(const Trie* trie, uint32_t node, uint8_t byte) noexcept nogil:
    """The child of a node, or 0."""
    cdef uint64_t key, slot, edge
    if node < ROOTS:
        return trie.first[node][byte]
    key = <uint64_t> node << 8 | byte
    slot = edge_slot(trie, key)
    while True:
        edge = trie.edges[slot]
        if edge >> NODE_BITS == key:
            return edge & ((1 << NODE_BITS) - 1)
        if edge == 0:
            return 0
        slot = (slot + 1) & trie.mask


cdef bint start_trie(Trie* trie, Py_ssize_t n_bytes) noexcept nogil
cdef bint add_token(
    Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n, uint32_t number
) noexcept nogil
cdef uint32_t find_in_trie(
    const Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n
) noexcept nogil
cdef uint32_t* nodes_of_characters(const Trie* trie) noexcept nogil
cdef void free_trie(Trie* trie) noexcept nogil
