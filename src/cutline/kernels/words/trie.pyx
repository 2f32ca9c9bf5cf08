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
    trie.tokens = <uint32_t*> malloc(slots * sizeof(uint32_t))
    trie.mask = slots - 1
    for root in range(ROOTS):
        trie.first[root] = <uint32_t*> calloc(BMP, sizeof(uint32_t))
        if trie.first[root] == NULL:
            return False
    return trie.edges != NULL and trie.tokens != NULL


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
            child = <uint32_t> slot + ROOTS
            if node >= ROOTS:
                trie.edges[node - ROOTS].key |= <uint64_t> 1 << HAS_MORE
            elif label < BMP:
                trie.first[node][label] = child
        node = child
    if node >= ROOTS:
        trie.edges[node - ROOTS].key |= <uint64_t> 1 << ENDS
        trie.edges[node - ROOTS].score = score
        trie.tokens[node - ROOTS] = number


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
    free(trie.tokens)
    for root in range(ROOTS):
        free(trie.first[root])
