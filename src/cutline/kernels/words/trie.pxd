"""A trie of tokens, character by character, packed: what a step looks at lies close together.

The children of a node have numbers that follow one another, in the order of their labels. Linked,
it is an automaton (Aho and Corasick's) that reads a text once and finds all tokens that end at each
place.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.common cimport (
    char_bytes, decode_char, int64_t, uint8_t, uint32_t, uint64_t,
)
from cutline.kernels.words.images cimport META

cdef enum:
    ROOTS = 2               # nodes 0 and 1: where a word begins, and where it goes on
    LABEL_BITS = 22
    NODE_BITS = 21          # of a node, if a step from node to node is to fit a word
    META_LABEL = 0xD800     # a surrogate, which no word has
    BMP = 0x10000           # characters
    EXACT = 1 << 30         # in `longest`
    ONLY = 1 << 30          # in `labels`
    LABEL_MASK = (1 << 22) - 1

# Small, since the nodes of a text lie far apart.
cdef struct Node:
    # Bits of its children's labels; of an only child ONLY and its label; 0: there are none.
    uint32_t labels
    uint32_t children       # the first of them; those of the next node come after its last one
    # Where the trie is linked, of the texts that the characters up to here end in but for these:
    uint32_t fallback       # the node of the longest that a token begins with, or 0
    # The token of all characters up to here, and EXACT; or of the longest text that they end in.
    uint32_t longest        # its number and 1; 0: there is none

# A token, where the trie is linked.
cdef struct End:
    double score
    uint32_t shorter        # the longest token that it ends in but for itself, or 0
    uint32_t n_bytes

cdef struct Trie:
    Node* nodes
    uint32_t* labels        # of each node
    End* ends               # of each token's number and 1; the first is none, and never best
    uint32_t n_nodes
    uint32_t broad          # a node with many children, whose are known by character, too
    uint32_t* first[2]      # of each character of the BMP: the child of node 0, of `broad`; or 0

# A token, while a trie is built.
cdef struct Spelling:
    const uint8_t* text
    uint32_t n              # bytes
    uint32_t token          # its number
    uint64_t key            # of its first bytes, to sort by
    uint32_t shared         # bytes that the one before begins with, too
    uint32_t depth          # ... and their characters

cdef struct Spellings:
    Spelling* of[2]         # each root
    uint32_t n[2]
    uint32_t longest        # bytes


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


cdef inline uint32_t label_bit(uint32_t label) noexcept nogil:
    """One of 30 bits."""
    return <uint32_t> 1 << (<uint64_t> (label * <uint32_t> 0x9E3779B1) * 30 >> 32)


cdef inline uint32_t child_of(const Trie* trie, uint32_t node, uint32_t label) noexcept nogil:
    """The child of a node, or 0."""
    cdef const Node* parent = &trie.nodes[node]
    cdef uint32_t child, n, half, may_have
    if label < BMP:
        if node == 0:
            return trie.first[0][label]
        if node == trie.broad:
            return trie.first[1][label]
    # One branch for both, since which one it is would not be foreseen.
    may_have = label_bit(label)
    if parent.labels & ONLY:
        may_have = parent.labels & LABEL_MASK == label
    else:
        may_have &= parent.labels
    if not may_have:
        return 0
    child = parent.children
    n = parent[1].children - child
    while n > 1:
        half = n >> 1
        child = child + half if trie.labels[child + half] <= label else child
        n -= half
    return child if trie.labels[child] == label else 0


cdef inline bint has_more(const Trie* trie, uint32_t node) noexcept nogil:
    """Whether a node has children."""
    return trie.nodes[node].labels != 0


cdef inline bint ends_token(const Trie* trie, uint32_t node) noexcept nogil:
    """Whether a token ends at a node."""
    return trie.nodes[node].longest & EXACT != 0


cdef inline uint32_t token_at(const Trie* trie, uint32_t node) noexcept nogil:
    """The number of the token that ends at a node."""
    return (trie.nodes[node].longest & ~EXACT) - 1


cdef inline uint32_t next_node(const Trie* trie, uint32_t node, uint32_t label) noexcept nogil:
    """The node of the longest text up to a character that a token begins with, or 0.

    Args:
        node: the one up to the character before; the trie is linked.
    """
    cdef uint32_t child
    while node != 0:
        child = child_of(trie, node, label)
        if child != 0:
            return child
        node = trie.nodes[node].fallback
    return child_of(trie, 0, label)


cdef inline bint begins_anew(const Trie* trie, uint32_t node) noexcept nogil:
    """Whether the text of a node has at most one character: the children of the root come first."""
    return node < trie.nodes[1].children


cdef bint start_spellings(Spellings* all, Py_ssize_t n_tokens) noexcept nogil
cdef void add_token(
    Spellings* all, int root, const uint8_t* token, Py_ssize_t n, Py_ssize_t readable,
    uint32_t number
) noexcept nogil
cdef bint pack_trie(Spellings* all, Trie* trie) noexcept nogil
cdef bint link_trie(
    Trie* trie, const int64_t* offsets, const double* scores, Py_ssize_t n_tokens
) noexcept nogil
cdef uint32_t find_in_trie(
    const Trie* trie, uint32_t root, const uint8_t* token, Py_ssize_t n
) noexcept nogil
cdef void free_spellings(Spellings* all) noexcept nogil
cdef void free_trie(Trie* trie) noexcept nogil
