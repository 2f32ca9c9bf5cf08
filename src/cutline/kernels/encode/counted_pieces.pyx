"""Pieces of a text, found and counted once from its start to its end while it is cut.

Those before the present chunk are forgotten, but not each time: to move the others takes time, too.

Guarded by tests/kernels/test_whole_text.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.common cimport grow, memcpy, memmove

cdef enum:
    AT_ONCE = 8


cdef bint begin_pieces(CountedPieces* pieces, Py_ssize_t at) noexcept nogil:
    """Know no more than that a piece begins at text[at]. False: no memory."""
    pieces.n = 0
    if not reserve(pieces, 1):
        return False
    pieces.ends[0] = at
    pieces.tokens[0] = 0
    pieces.n = 1
    return True


cdef bint reserve(CountedPieces* pieces, Py_ssize_t more) noexcept nogil:
    more += pieces.n
    return (
        grow(<void**> &pieces.ends, &pieces.ends_slots, more, sizeof(Py_ssize_t))
        and grow(<void**> &pieces.tokens, &pieces.tokens_slots, more, sizeof(Py_ssize_t))
    )


cdef bint add_pieces(CountedPieces* pieces, const Batch* batch) noexcept nogil:
    """Add the pieces of a batch of which each was counted. False: no memory."""
    cdef Py_ssize_t* tokens
    cdef Py_ssize_t piece = 0, last
    cdef int one
    if not reserve(pieces, batch.count):
        return False
    memcpy(pieces.ends + pieces.n, batch.ends, batch.count * sizeof(Py_ssize_t))
    last = pieces.tokens[pieces.n - 1]
    tokens = pieces.tokens + pieces.n
    while piece + AT_ONCE <= batch.count:
        for one in range(AT_ONCE):      # which the compiler writes one after another
            last += batch.totals[piece + one]
            tokens[piece + one] = last
        piece += AT_ONCE
    for piece in range(piece, batch.count):
        last += batch.totals[piece]
        tokens[piece] = last
    pieces.n += batch.count
    return True


cdef void forget_pieces(CountedPieces* pieces, Py_ssize_t first) noexcept nogil:
    """Forget what is before the end of this number, which becomes the first."""
    cdef size_t kept
    pieces.n -= first
    kept = pieces.n * sizeof(Py_ssize_t)
    memmove(pieces.ends, pieces.ends + first, kept)
    memmove(pieces.tokens, pieces.tokens + first, kept)


cdef void free_pieces(CountedPieces* pieces) noexcept nogil:
    free(pieces.ends)
    free(pieces.tokens)
