"""The best break within a budget: what most chunks of a text end at.

Where there is none, how far a chunk can reach; where that is not known, a search that takes
longer finds both.
"""

from cutline.kernels.breaks.breaks cimport GRAPHEME, SENTENCE, last_break
from cutline.kernels.index.text_index cimport Counter, Query
from cutline.kernels.index.bitmaps cimport NOWHERE, SETTLED, next_bit
from cutline.kernels.index.slices cimport Landing, count_slice, flush, forget_row, land

cdef enum:
    FAR = 256                   # characters between two settled boundaries
    NEAR = 64                   # of them to be tried one by one
    FITS = 1
    DOES_NOT = 0
    UNKNOWN = -1


cdef Break best_break(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t n, Py_ssize_t fill,
    const int* kinds, int n_kinds
) noexcept nogil:
    """The end of a chunk from `start` on, of at most n tokens.

    It is the text's end, if it fits; else the last break that fits, of the first kind whose
    last one has at least `fill` tokens, or of graphemes or characters. An end of NOWHERE: there
    is none, and `reach` is the greatest end of all; or that is NOWHERE too: it is not known.
    """
    cdef Break found
    cdef Py_ssize_t bound = last_place(counter, query, start, n), size = counter.text.n
    cdef int fit = DOES_NOT
    found.end = found.reach = NOWHERE
    found.place = n_kinds
    found.tokens = 0
    if bound == NOWHERE:
        return found
    if bound == size:
        fit = fits(counter, query, start, size, n, &found.tokens)
        if fit == FITS:
            found.end = size
    if fit != DOES_NOT:
        return found
    for found.place in range(n_kinds):
        if kinds[found.place] >= SENTENCE and found.reach == NOWHERE:
            # Where sentences end may depend on where they are searched: nowhere behind this.
            bound = found.reach = greatest_end(counter, query, start, bound, n)
            if bound == NOWHERE:
                found.end = NOWHERE
                return found
        found.end = last_break(&counter.text, kinds[found.place], start, start, bound)
        while found.end != NOWHERE:
            fit = fits(counter, query, start, found.end, n, &found.tokens)
            if fit != DOES_NOT:
                break
            found.end = last_break(
                &counter.text, kinds[found.place], start, start, found.end - 1
            )
        if fit == UNKNOWN:
            found.end = found.reach = NOWHERE
            return found
        if found.end != NOWHERE and (found.tokens >= fill or kinds[found.place] >= GRAPHEME):
            found.reach = NOWHERE
            return found
    found.end = NOWHERE
    if found.reach == NOWHERE:
        found.reach = greatest_end(counter, query, start, bound, n)
    return found


cdef Py_ssize_t greatest_end(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t bound, Py_ssize_t n
) noexcept nogil:
    """The greatest end up to `bound` of at most n tokens; NOWHERE: it is not found nearby."""
    cdef Py_ssize_t end, tokens
    cdef int fit
    for end in range(bound, max(start, bound - NEAR), -1):
        fit = fits(counter, query, start, end, n, &tokens)
        if fit != DOES_NOT:
            return end if fit == FITS else NOWHERE
    return NOWHERE


cdef Py_ssize_t last_place(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t n
) noexcept nogil:
    """A place behind which nothing fits; NOWHERE, if none is known nearby.

    A boundary that is settled has the same tokens before it for all cuts behind it: once they
    are more than n, none of these fits.
    """
    cdef Py_ssize_t size = counter.text.n, bound
    cdef Landing landing
    forget_row(query)
    landing = land(counter, query, start, n, size + 1)
    forget_row(query)
    if landing.at == start:
        return NOWHERE
    bound = next_bit(&counter.marks, landing.at + 1, min(size, landing.at + FAR), SETTLED)
    if bound == NOWHERE and size <= landing.at + FAR:
        return size
    return bound


cdef int fits(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n,
    Py_ssize_t* tokens
) noexcept nogil:
    """Whether a slice has at most n tokens. UNKNOWN: that takes tables that are not there."""
    forget_row(query)
    if count_slice(counter, query, start, end) != 0 or not flush(counter, query):
        return UNKNOWN
    tokens[0] = query.sums[0]
    return FITS if tokens[0] <= n else DOES_NOT
