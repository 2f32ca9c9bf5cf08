"""Build a trie of tokens, and look one up as a whole.

Guarded by tests/words/test_encoding.py.
"""

from libc.stdlib cimport calloc, free, malloc

from cutline.kernels.base.characters cimport utf8_width
from cutline.kernels.base.common cimport NONE, is_continuation, memset


cdef bint start_trie(Trie* trie, Py_ssize_t n_characters) noexcept nogil:
    """Make room for tokens of so many characters in all. False: no memory."""
    cdef uint64_t slots = 64
    cdef Py_ssize_t root
    memset(trie, 0, sizeof(Trie))
    while slots < <uint64_t> n_characters + n_characters // 4:
        slots <<= 1
    if slots >> 31:
        return False
    trie.edges = <Edge*> calloc(slots, sizeof(Edge))
    trie.mask = slots - 1
    for root in range(ROOTS):
        trie.first[root] = <uint32_t*> calloc(BMP, sizeof(uint32_t))
        if trie.first[root] == NULL:
            return False
    return trie.edges != NULL


cdef bint is_character(const uint8_t* text, Py_ssize_t n) noexcept nogil:
    """Whether META or a character is there as a whole, in UTF-8."""
    cdef Py_ssize_t at, width = char_bytes(text[0])
    cdef uint32_t code_point
    if text[0] == META:
        return True
    if width > n:
        return False
    for at in range(1, width):
        if not is_continuation(text[at]):
            return False
    code_point = decode_char(text, width)
    return text[0] < 0xF8 and code_point < META_LABEL and utf8_width(code_point) == width


cdef void add_token(
    Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n, uint32_t number, double score
) noexcept nogil:
    """Add a token, for which there is room. One that is no UTF-8 or empty is in no word."""
    cdef uint32_t node = root, child, label
    cdef uint64_t key, slot
    cdef Py_ssize_t at = 0, width
    while at < n:
        if not is_character(token + at, n - at):
            return
        label = label_at(token + at, &width)
        at += width
        child = child_of(trie, node, label)
        if child == 0:
            key = <uint64_t> node << LABEL_BITS | (label + 1)
            slot = edge_slot(trie, key)
            while trie.edges[slot].key != 0:
                slot = (slot + 1) & trie.mask
            trie.edges[slot].key = key
            trie.edges[slot].n_bytes = at
            child = <uint32_t> slot + ROOTS
            if node >= ROOTS:
                trie.edges[node - ROOTS].key |= <uint64_t> 1 << HAS_MORE
            elif label < BMP:
                trie.first[node][label] = child
        node = child
    if node >= ROOTS:
        trie.edges[node - ROOTS].key |= <uint64_t> 1 << ENDS
        trie.edges[node - ROOTS].score = score
        trie.edges[node - ROOTS].token = number


cdef bint link_trie(Trie* trie) noexcept nogil:
    """Link the nodes below the first root, when all tokens are there. False: no memory.

    Nodes with fewer bytes come first, for links lead to these.
    """
    cdef Py_ssize_t longest = 0, at
    cdef uint64_t slot
    cdef uint32_t* begins
    cdef uint32_t* order
    cdef Py_ssize_t n_nodes = 0
    for slot in range(trie.mask + 1):
        longest = max(longest, <Py_ssize_t> trie.edges[slot].n_bytes)
        n_nodes += trie.edges[slot].key != 0
    begins = <uint32_t*> calloc(longest + 2, sizeof(uint32_t))
    order = <uint32_t*> malloc((n_nodes + 1) * sizeof(uint32_t))
    if begins != NULL and order != NULL:
        for slot in range(trie.mask + 1):
            begins[trie.edges[slot].n_bytes + 1] += trie.edges[slot].key != 0
        for at in range(longest + 1):
            begins[at + 1] += begins[at]
        for slot in range(trie.mask + 1):
            if trie.edges[slot].key != 0:
                order[begins[trie.edges[slot].n_bytes]] = <uint32_t> slot
                begins[trie.edges[slot].n_bytes] += 1
        for at in range(n_nodes):
            link_node(trie, &trie.edges[order[at]])
    free(begins)
    free(order)
    return begins != NULL and order != NULL


cdef void link_node(Trie* trie, Edge* edge) noexcept nogil:
    """Link a node, after all that have fewer bytes."""
    cdef uint64_t key = edge.key & ((<uint64_t> 1 << HAS_MORE) - 1)
    cdef uint32_t parent = <uint32_t> (key >> LABEL_BITS)
    cdef uint32_t label = <uint32_t> (key & ((1 << LABEL_BITS) - 1)) - 1
    cdef bint anew
    if parent < ROOTS:
        return
    edge.fallback = next_node(trie, trie.edges[parent - ROOTS].fallback, label, &anew)
    if edge.fallback != 0:
        edge.shorter = longest_end(trie, edge.fallback)


cdef uint32_t find_in_trie(
    const Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n
) noexcept nogil:
    """The token with exactly these bytes, which are UTF-8, or NONE."""
    cdef uint32_t node = root
    cdef Py_ssize_t at = 0, width
    while at < n:
        node = child_of(trie, node, label_at(token + at, &width))
        if node == 0:
            return NONE
        at += width
    return token_at(trie, node) if node >= ROOTS and ends_token(trie, node) else NONE


cdef void free_trie(Trie* trie) noexcept nogil:
    cdef Py_ssize_t root
    free(trie.edges)
    for root in range(ROOTS):
        free(trie.first[root])
