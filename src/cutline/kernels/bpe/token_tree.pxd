"""The token tree of one long piece."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint32_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Lookups

# Node p is the prefix of p bytes; its parent is that prefix without its last token.
cdef struct Tree:
    Py_ssize_t n_bytes
    uint32_t* last              # last token
    uint32_t* depth             # tokens
    uint32_t* first             # number of the node; those below it follow,
    uint32_t* stop              # up to here


cdef class TokenTree:
    """Owns the arrays of a Tree."""
    cdef Tree tree


cdef inline bint is_ancestor(const Tree* tree, Py_ssize_t node, Py_ssize_t below) noexcept nogil:
    """Whether `node` is `below`, or above it."""
    return tree.first[node] <= tree.first[below] < tree.stop[node]


cdef TokenTree grow_tree(
    const Bpe* bpe, const Characters* text, Py_ssize_t start, Py_ssize_t end, Lookups* lookups
)
