"""Build a trie of tokens, and look one up as a whole.

Guarded by tests/words/test_encoding.py.
"""

from libc.stdlib cimport calloc, free

from cutline.kernels.base.common cimport grow, memset


cdef bint start_trie(Trie* trie, Py_ssize_t n_bytes) noexcept nogil:
    """Make room for tokens of so many bytes in all. False: no memory."""
    cdef uint64_t slots = 64
    while slots < <uint64_t> n_bytes + n_bytes // 4:
        slots <<= 1
    memset(trie, 0, sizeof(Trie))
    trie.edges = <uint64_t*> calloc(slots, sizeof(uint64_t))
    trie.mask = slots - 1
    if trie.edges == NULL:
        return False
    if not grow(<void**> &trie.tokens, &trie.node_slots, n_bytes + ROOTS, sizeof(uint32_t)):
        return False
    trie.tokens[0] = trie.tokens[1] = NONE
    trie.n_nodes = ROOTS
    return True


cdef bint add_token(
    Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n, uint32_t number
) noexcept nogil:
    """Add a token of at least one byte, for which there is room. False: too many nodes."""
    cdef uint32_t node = root, child
    cdef uint64_t key, slot
    cdef Py_ssize_t at
    for at in range(n):
        child = child_of(trie, node, token[at])
        if child == 0:
            if trie.n_nodes >> NODE_BITS:
                return False
            child = <uint32_t> trie.n_nodes
            trie.n_nodes += 1
            trie.tokens[child] = NONE
            if node < ROOTS:
                trie.first[node][token[at]] = child
            else:
                key = <uint64_t> node << 8 | token[at]
                slot = edge_slot(trie, key)
                while trie.edges[slot] != 0:
                    slot = (slot + 1) & trie.mask
                trie.edges[slot] = key << NODE_BITS | child
        node = child
    trie.tokens[node] = number
    return True


cdef uint32_t find_in_trie(
    const Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n
) noexcept nogil:
    """The token with exactly these bytes, or NONE."""
    cdef uint32_t node = root
    cdef Py_ssize_t at
    for at in range(n):
        node = child_of(trie, node, token[at])
        if node == 0:
            return NONE
    return trie.tokens[node]


cdef uint32_t* nodes_of_characters(const Trie* trie) noexcept nogil:
    """The node that each character of two or three bytes leads to from the first root, or 0.

    65,536 numbers, to be freed; NULL: no memory.
    """
    cdef uint32_t* nodes = <uint32_t*> calloc(1 << 16, sizeof(uint32_t))
    cdef uint32_t lead, first, second, one, two
    if nodes == NULL:
        return NULL
    for lead in range(0xC2, 0xF0):
        one = trie.first[0][lead]
        if one == 0:
            continue
        for first in range(0x80, 0xC0):
            two = child_of(trie, one, first)
            if two == 0:
                continue
            if lead < 0xE0:
                nodes[(lead & 0x1F) << 6 | (first & 0x3F)] = two
                continue
            for second in range(0x80, 0xC0):
                nodes[(lead & 0x0F) << 12 | (first & 0x3F) << 6 | (second & 0x3F)] = child_of(
                    trie, two, second
                )
    return nodes


cdef void free_trie(Trie* trie) noexcept nogil:
    free(trie.edges)
    free(trie.tokens)
