"""Build a trie of tokens, and look one up as a whole.

Guarded by tests/words/test_encoding.py.
"""

from libc.stdlib cimport calloc, free, malloc, qsort

from cutline.kernels.base.characters cimport utf8_width
from cutline.kernels.base.common cimport NONE, is_continuation, memset


cdef extern from "math.h":
    double HUGE_VAL


cdef bint start_trie(LooseTrie* loose, Py_ssize_t n_characters) noexcept nogil:
    """Make room for tokens of so many characters in all. False: no memory."""
    cdef uint64_t slots = 64
    while slots < <uint64_t> n_characters + n_characters // 4:
        slots <<= 1
    memset(loose, 0, sizeof(LooseTrie))
    if slots >> 30:
        return False
    loose.edges = <Edge*> malloc((n_characters + 1) * sizeof(Edge))
    loose.slots = <uint32_t*> calloc(slots, sizeof(uint32_t))
    loose.mask = slots - 1
    return loose.edges != NULL and loose.slots != NULL


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
    return (
        text[0] < 0xF8 and code_point < 0x110000 and not 0xD800 <= code_point < 0xE000
        and utf8_width(code_point) == width
    )


cdef inline uint64_t edge_slot(const LooseTrie* loose, uint64_t key) noexcept nogil:
    """The slot of the edge with a key, or an empty one."""
    cdef uint64_t slot = key * <uint64_t> 0x9E3779B97F4A7C15
    slot = (slot ^ slot >> 32) & loose.mask
    while loose.slots[slot] != 0 and loose.edges[loose.slots[slot] - 1].key != key:
        slot = (slot + 1) & loose.mask
    return slot


cdef void add_token(
    LooseTrie* loose, uint32_t root, const uint8_t* token, Py_ssize_t n, uint32_t number
) noexcept nogil:
    """Add a token, for which there is room. One that is no UTF-8 or empty is in no word."""
    cdef uint64_t node = root, slot, key
    cdef Py_ssize_t at = 0, width
    cdef Edge* edge
    while at < n:
        if not is_character(token + at, n - at):
            return
        key = node << LABEL_BITS | label_at(token + at, &width)
        at += width
        slot = edge_slot(loose, key)
        if loose.slots[slot] == 0:
            edge = &loose.edges[loose.n_edges]
            edge.key = key
            edge.token = NONE
            edge.n_bytes = <uint32_t> at
            loose.n_edges += 1
            loose.slots[slot] = loose.n_edges
        node = loose.slots[slot] - 1 + ROOTS
    if node >= ROOTS:
        loose.edges[node - ROOTS].token = number


cdef struct Child:
    uint32_t label
    uint32_t edge


cdef int compare_labels(const void* left, const void* right) noexcept nogil:
    cdef uint32_t one = (<const Child*> left).label, other = (<const Child*> right).label
    return (one > other) - (one < other)


cdef bint pack_trie(const LooseTrie* loose, Trie* trie) noexcept nogil:
    """Pack a trie, which is not linked yet. False: no memory."""
    cdef size_t n_nodes = <size_t> loose.n_edges + ROOTS
    cdef Child* children = <Child*> malloc(n_nodes * sizeof(Child))
    cdef uint32_t* begins = <uint32_t*> calloc(n_nodes + 1, sizeof(uint32_t))
    cdef uint32_t* loose_of = <uint32_t*> malloc(n_nodes * sizeof(uint32_t))
    cdef Py_ssize_t root
    cdef bint has_memory = children != NULL and begins != NULL and loose_of != NULL
    memset(trie, 0, sizeof(Trie))
    trie.n_nodes = <uint32_t> n_nodes
    trie.nodes = <Node*> calloc(n_nodes + 1, sizeof(Node))
    trie.labels = <uint32_t*> calloc(n_nodes, sizeof(uint32_t))
    has_memory = has_memory and trie.nodes != NULL and trie.labels != NULL
    for root in range(2):
        trie.first[root] = <uint32_t*> calloc(BMP, sizeof(uint32_t))
        has_memory = has_memory and trie.first[root] != NULL
    if has_memory:
        group_children(loose, begins, children)
        number_nodes(loose, begins, children, loose_of, trie)
        list_children(trie, 0, trie.first[0])
        trie.broad = trie.first[0][META_LABEL]
        if n_children(trie, trie.broad) < n_children(trie, 1) or trie.broad == 0:
            trie.broad = 1
        list_children(trie, trie.broad, trie.first[1])
    free(children)
    free(begins)
    free(loose_of)
    return has_memory


cdef void group_children(const LooseTrie* loose, uint32_t* begins, Child* children) noexcept nogil:
    """Put the children of each node together: children[begins[node]:begins[node + 1]]."""
    cdef uint64_t key
    cdef uint32_t edge, parent, n_nodes = loose.n_edges + ROOTS, before = 0, n
    for edge in range(loose.n_edges):
        begins[loose.edges[edge].key >> LABEL_BITS] += 1
    for parent in range(n_nodes):
        n = begins[parent]
        begins[parent] = before
        before += n
    # Filled, each begins where the next one did.
    for edge in range(loose.n_edges):
        key = loose.edges[edge].key
        parent = <uint32_t> (key >> LABEL_BITS)
        children[begins[parent]].label = <uint32_t> (key & ((1 << LABEL_BITS) - 1))
        children[begins[parent]].edge = edge
        begins[parent] += 1
    parent = n_nodes
    while parent > 0:
        begins[parent] = begins[parent - 1]
        parent -= 1
    begins[0] = 0


cdef void number_nodes(
    const LooseTrie* loose, const uint32_t* begins, Child* children, uint32_t* loose_of, Trie* trie
) noexcept nogil:
    """Give numbers to all nodes, their children in the order of these, and write them."""
    cdef uint32_t node, n_found = ROOTS, place, stop
    cdef const Edge* edge
    for node in range(ROOTS):
        loose_of[node] = node
    for node in range(trie.n_nodes):
        trie.nodes[node].children = n_found
        place = begins[loose_of[node]]
        stop = begins[loose_of[node] + 1]
        if stop - place > 1:
            qsort(&children[place], stop - place, sizeof(Child), &compare_labels)
        while place < stop:
            edge = &loose.edges[children[place].edge]
            loose_of[n_found] = children[place].edge + ROOTS
            trie.nodes[node].labels |= label_bit(children[place].label)
            trie.labels[n_found] = children[place].label
            if edge.token != NONE:
                trie.nodes[n_found].longest = edge.token + 1 | EXACT
            n_found += 1
            place += 1
        if n_found - trie.nodes[node].children == 1:
            trie.nodes[node].labels = ONLY | trie.labels[n_found - 1]
    trie.nodes[trie.n_nodes].children = n_found


cdef inline uint32_t n_children(const Trie* trie, uint32_t node) noexcept nogil:
    return trie.nodes[node + 1].children - trie.nodes[node].children


cdef void list_children(const Trie* trie, uint32_t node, uint32_t* first) noexcept nogil:
    """Write the children of a node by their characters."""
    cdef uint32_t child
    for child in range(trie.nodes[node].children, trie.nodes[node + 1].children):
        if trie.labels[child] < BMP:
            first[trie.labels[child]] = child


cdef bint link_trie(
    Trie* trie, const LooseTrie* loose, const double* scores, Py_ssize_t n_tokens
) noexcept nogil:
    """Link the nodes below the first root. The links of a node lead to such with smaller numbers.

    False: no memory.
    """
    cdef uint32_t node, child, longest, at
    cdef Node* linked
    cdef const Edge* edge
    trie.ends = <End*> calloc(n_tokens + 1, sizeof(End))
    if trie.ends == NULL:
        return False
    trie.ends[0].score = -HUGE_VAL
    for at in range(loose.n_edges):
        edge = &loose.edges[at]
        if edge.token != NONE:
            trie.ends[edge.token + 1].score = scores[edge.token]
            trie.ends[edge.token + 1].n_bytes = edge.n_bytes
    for node in range(ROOTS, trie.n_nodes):
        for child in range(trie.nodes[node].children, trie.nodes[node + 1].children):
            linked = &trie.nodes[child]
            linked.fallback = next_node(trie, trie.nodes[node].fallback, trie.labels[child])
            longest = trie.nodes[linked.fallback].longest & ~EXACT
            if linked.longest:
                trie.ends[linked.longest & ~EXACT].shorter = longest
            else:
                linked.longest = longest
    return True


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
    return token_at(trie, node) if ends_token(trie, node) else NONE


cdef void free_loose(LooseTrie* loose) noexcept nogil:
    free(loose.edges)
    free(loose.slots)
    loose.edges = NULL
    loose.slots = NULL


cdef void free_trie(Trie* trie) noexcept nogil:
    cdef Py_ssize_t root
    free(trie.nodes)
    free(trie.labels)
    free(trie.ends)
    for root in range(2):
        free(trie.first[root])
