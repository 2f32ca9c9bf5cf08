"""The token tree: all prefixes of a long piece, and which of them goes on to which.

Every prefix of a piece ends in one token; without it, it is a shorter prefix, its parent.
So the prefixes are a tree, the way from the root to a node is that prefix's encoding, and
numbering the nodes in preorder tells in one comparison whether one prefix's encoding begins
with another's. docs/algorithm.md proves what is made of it; the idea is that of the `bpe`
crate of GitHub's rust-gems.

A tree takes 16 bytes for each byte of the piece: it is grown when it is first asked for.

Guarded by tests/counting/test_intervals.py.
"""

from libc.stdlib cimport free, malloc

from cython cimport auto_pickle

from cutline.kernels.base.characters cimport utf8_bytes, utf8_of
from cutline.kernels.base.common cimport NO_LIMIT, memset, uint8_t
from cutline.kernels.bpe.bpe cimport token_bytes
from cutline.kernels.bpe.prefixes cimport Prefixes, extend_prefixes, start_prefixes


@auto_pickle(False)
cdef class TokenTree:

    def __dealloc__(self):
        free(self.tree.last)
        free(self.tree.depth)
        free(self.tree.first)
        free(self.tree.stop)


cdef TokenTree grow_tree(
    const Bpe* bpe, const Characters* text,
    Py_ssize_t start, Py_ssize_t end,       # in: where the tree's text lies
    Lookups* lookups,
):
    """Grow the tree of the piece at `start`, and of what follows it up to `end`.

    Cost: linear in the bytes, times the tokens tried at a place.
    """
    cdef TokenTree grown = TokenTree()
    cdef Tree* tree = &grown.tree
    cdef bint done
    tree.n_bytes = utf8_bytes(text, start, end)
    with nogil:
        done = count_all(tree, bpe, text, start, end, lookups) and number(tree, bpe)
    if not done:
        raise MemoryError(f"no memory for the token tree of {tree.n_bytes} bytes of text")
    return grown


cdef bint count_all(
    Tree* tree, const Bpe* bpe, const Characters* text, Py_ssize_t start, Py_ssize_t end,
    Lookups* lookups
) noexcept nogil:
    """Last token and depth of every prefix. False: no memory."""
    cdef Prefixes prefixes
    cdef uint8_t* copied
    cdef const uint8_t* utf8 = utf8_of(text, start, end, &copied)
    cdef bint done
    memset(&prefixes, 0, sizeof(Prefixes))
    done = utf8 != NULL and start_prefixes(&prefixes, bpe, lookups, False)
    while done and prefixes.frontier < tree.n_bytes:
        done = extend_prefixes(&prefixes, bpe, utf8 + prefixes.frontier, NO_LIMIT)
    free(copied)
    tree.last = prefixes.last
    tree.depth = prefixes.counts
    return done


cdef bint number(Tree* tree, const Bpe* bpe) noexcept nogil:
    """Number the nodes in preorder. False: no memory."""
    cdef size_t nodes = tree.n_bytes + 1
    cdef Py_ssize_t node, parent
    cdef uint32_t size
    tree.first = <uint32_t*> malloc(nodes * sizeof(uint32_t))
    tree.stop = <uint32_t*> malloc(nodes * sizeof(uint32_t))
    if tree.first == NULL or tree.stop == NULL:
        return False
    # First, how many nodes each has below it, itself included.
    for node in range(tree.n_bytes + 1):
        tree.first[node] = 1
    for node in range(tree.n_bytes, 0, -1):
        tree.first[node - token_bytes(bpe, tree.last[node])] += tree.first[node]
    # Then give every node as many numbers, out of its parent's; `stop` is the next to give.
    tree.first[0] = 0
    tree.stop[0] = 1
    for node in range(1, tree.n_bytes + 1):
        parent = node - token_bytes(bpe, tree.last[node])
        size = tree.first[node]
        tree.first[node] = tree.stop[parent]
        tree.stop[parent] += size
        tree.stop[node] = tree.first[node] + 1
    return True
