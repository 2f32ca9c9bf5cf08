"""The automaton of tokens, state by state.

Guarded by tests/kernels/test_matches.py.
"""

from libc.stdlib cimport calloc, free

from cutline.kernels.base.common cimport NO_LIMIT, grow, memset

cdef extern from "native.h":
    Py_ssize_t next_stamp "cutline_add"(Py_ssize_t* place, Py_ssize_t added) noexcept nogil

cdef Py_ssize_t stamps = 0
cdef Py_ssize_t most_nodes = MOST_NODES

cdef enum:
    BYTE_NODES = 257            # the root's and those of single bytes: always there
    FIRST_CHILD_BITS = 12
    MOST_NODES = 1 << 18        # 13 MB


def limit_nodes(Py_ssize_t most):
    """Let automata that begin from now on begin again with more nodes than this: for tests.

    Returns the limit before.
    """
    global most_nodes
    before, most_nodes = most_nodes, most
    return before


cdef bint begin(Automaton* automaton, const Bpe* bpe) noexcept nogil:
    """Make the nodes that are always there, and forget all others. False: no memory."""
    cdef Node* node
    cdef Py_ssize_t byte
    free(automaton.children)
    automaton.child_shift = 64 - FIRST_CHILD_BITS
    automaton.children = <uint32_t*> calloc(1 << FIRST_CHILD_BITS, sizeof(uint32_t))
    automaton.n_nodes = 0
    if automaton.children == NULL or not grow(
        <void**> &automaton.nodes, &automaton.node_slots, 2 * BYTE_NODES, sizeof(Node)
    ):
        return False
    memset(automaton.nodes, 0, BYTE_NODES * sizeof(Node))
    automaton.nodes[ROOT].token = NONE
    for byte in range(256):
        node = &automaton.nodes[1 + byte]
        node.hashed = extended(0, byte)
        node.ending = 1 + byte
        node.token = bpe.byte_token[byte]
        node.depth = 1
    automaton.n_nodes = BYTE_NODES
    automaton.stamp = next_stamp(&stamps, 1)
    return True


cdef void free_automaton(Automaton* automaton) noexcept nogil:
    """Free all memory; the direction of reading stays."""
    free(automaton.nodes)
    free(automaton.children)
    automaton.nodes = NULL
    automaton.children = NULL
    automaton.n_nodes = automaton.node_slots = 0


cdef bint resume(
    Automaton* automaton, const Bpe* bpe,
    const uint8_t* text,        # in: where the next byte will be read
    Py_ssize_t depth,           # in: the depth that the reading had there; 0: it begins
    Reading* reading,           # out
) noexcept nogil:
    """Come to the node that a reading was at, in any automaton. False: no memory."""
    cdef Py_ssize_t step = -1 if automaton.mirrored else 1
    if automaton.n_nodes == 0:
        automaton.most_nodes = most_nodes
        if not begin(automaton, bpe):
            return False
    reading.node = reading.token_node = ROOT
    while depth > 0:
        if not read_byte(automaton, bpe, text - step * depth, reading):
            return False
        depth -= 1
    return True


cdef bint begin_again(
    Automaton* automaton, const Bpe* bpe, const uint8_t* text, Reading* reading
) noexcept nogil:
    """Drop all nodes but those that the reading needs: the automaton must stay small."""
    cdef Py_ssize_t depth = automaton.nodes[reading.node].depth
    cdef bint done
    automaton.most_nodes = NO_LIMIT
    done = begin(automaton, bpe) and resume(automaton, bpe, text, depth, reading)
    automaton.most_nodes = max(most_nodes, 2 * automaton.n_nodes)
    return done


cdef bint add_nodes(
    Automaton* automaton, const Bpe* bpe,
    const uint8_t* text,        # in: at the byte that is being read
    Reading* reading,           # in: before the byte; out: after it
    uint32_t node,              # in: it lacks a child, and so may its suffixes
) noexcept nogil:
    """Make the nodes that reading a byte lacks. False: no memory."""
    cdef Py_ssize_t first = automaton.n_nodes, new
    cdef Node* made
    cdef uint32_t child = 1 + text[0]
    cdef uint64_t hashed
    if first > automaton.most_nodes:
        return begin_again(automaton, bpe, text, reading) and read_byte(
            automaton, bpe, text, reading
        )
    while node != ROOT:
        hashed = extended(automaton.nodes[node].hashed, text[0])
        if may_grow(automaton, bpe, node, hashed):
            child = child_of(automaton, node, hashed)
            if child != ROOT:
                break
            child = 1 + text[0]
            if not grow(
                <void**> &automaton.nodes, &automaton.node_slots, automaton.n_nodes + 1,
                sizeof(Node),
            ):
                automaton.n_nodes = first
                return False
            made = &automaton.nodes[automaton.n_nodes]
            made.hashed = hashed
            made.parent = node
            made.depth = automaton.nodes[node].depth + 1
            automaton.n_nodes += 1
            made.fail = automaton.n_nodes       # unless it is the last
        node = automaton.nodes[node].fail
    automaton.nodes[automaton.n_nodes - 1].fail = child
    # A suffix comes after what it is a suffix of.
    for new in range(automaton.n_nodes - 1, first - 1, -1):
        made = &automaton.nodes[new]
        made.token = token_of(automaton, bpe, text, made)
        made.shorter = automaton.nodes[made.fail].ending
        made.ending = new if made.token != NONE else made.shorter
    if not put_children(automaton, first):
        automaton.n_nodes = first
        return False
    reading.node = first
    return True


cdef inline uint32_t token_of(
    const Automaton* automaton, const Bpe* bpe, const uint8_t* text, const Node* node
) noexcept nogil:
    """Which token the bytes of a node are, the last one of which is text[0]; or NONE."""
    cdef uint32_t token
    if not filter_bits(filter_of(automaton, bpe), bpe.match_shift, node.hashed) & IS_TOKEN:
        return NONE
    token = find_token(bpe, text if automaton.mirrored else text + 1 - node.depth, node.depth)
    return token if token != NONE and bpe.left[token] != NONE else NONE


cdef bint put_children(Automaton* automaton, Py_ssize_t first) noexcept nogil:
    """Put the nodes from `first` on into the hash table. False: no memory."""
    cdef Py_ssize_t slots = <Py_ssize_t> 1 << (64 - automaton.child_shift), node
    cdef uint64_t slot
    cdef uint32_t* children
    if 2 * automaton.n_nodes > slots:
        while 2 * automaton.n_nodes > slots:
            slots *= 2
        slots *= 2
        children = <uint32_t*> calloc(slots, sizeof(uint32_t))
        if children == NULL:
            return False
        free(automaton.children)
        automaton.children = children
        while <Py_ssize_t> 1 << (64 - automaton.child_shift) < slots:
            automaton.child_shift -= 1
        first = BYTE_NODES
    for node in range(first, automaton.n_nodes):
        slot = automaton.nodes[node].hashed >> automaton.child_shift
        while automaton.children[slot] != ROOT:
            slot = (slot + 1) & (slots - 1)
        automaton.children[slot] = node
    return True
