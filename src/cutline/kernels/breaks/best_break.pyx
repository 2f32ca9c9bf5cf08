"""Where to cut a text so that each chunk ends at its best break within the budget.

Where a chunk has no such break, how far it can go; where that is not known, a search that takes
longer finds both.

Guarded by tests/chunking/test_choice.py.
"""

import numpy as np

from cutline.kernels.base.common cimport NOT_FOUND, UNKNOWN, int64_t
from cutline.kernels.breaks.breaks cimport GRAPHEME, SENTENCE, last_break, need_kind
from cutline.kernels.encode.batches cimport Workspace
from cutline.kernels.index.bitmaps cimport SETTLED, next_bit
from cutline.kernels.index.interval cimport Intervals
from cutline.kernels.index.slices cimport Landing, count_slice, flush, forget_row, land, start_query
from cutline.kernels.index.text_index cimport Counter, Query

cdef enum:
    FAR = 256                   # characters between two settled boundaries
    NEAR = 64                   # of them to be tried one by one
    FITS = 1
    DOES_NOT = 0
    MOST_CUTS = 256             # at a time

cdef struct Break:
    Py_ssize_t end
    Py_ssize_t tokens
    int place                   # of its kind among those asked for; after them: the text's end
    Py_ssize_t reach            # without an end: the greatest one that any kind could have


def cut_at_breaks(
    Intervals counter not None, Py_ssize_t start, Py_ssize_t until, Py_ssize_t n, Py_ssize_t fill,
    const int[::1] kinds not None
):
    """Cut at the last breaks that fit, while they fill chunks; see `best_break`.

    Args:
        counter: of the text's tokens.
        start: of the first chunk, in characters.
        until: no chunk begins here or later.
        n: tokens of a chunk at most.
        fill: and at least, but for a chunk that ends with the text.
        kinds: of breaks, the best first.

    Returns:
        int64, shape (chunks, 4): start, end, tokens and place in `kinds` of each; the text's
        end is after the last kind. So many at most, and fewer where a chunk takes another
        kind of boundary. Then the greatest end of that chunk, if it is known; else -1.
    """
    cdef int64_t tokens
    cdef Py_ssize_t row
    cdef int n_kinds = <int> kinds.shape[0], place
    cdef const int* first_kind = &kinds[0] if n_kinds > 0 else NULL
    cdef Query query
    cdef Break found
    cdef Workspace work
    cuts = np.empty((MOST_CUTS, 4), dtype=np.int64)
    cdef int64_t[:, ::1] rows = cuts
    if start < 0:
        raise ValueError(f"start must be 0 or more, got {start}")
    for place in range(n_kinds):
        need_kind(kinds[place])
    row = 0
    until = min(until, counter.counter.text.n)
    found.reach = NOT_FOUND
    work = counter.encoder.workspace()
    start_query(&query, work, &tokens)
    with nogil:
        while start < until and row < MOST_CUTS:
            found = best_break(&counter.counter, &query, start, n, fill, first_kind, n_kinds)
            if found.end == NOT_FOUND:
                break
            rows[row, 0] = start
            rows[row, 1] = start = found.end
            rows[row, 2] = found.tokens
            rows[row, 3] = found.place
            row += 1
    counter.encoder.release(work)
    return cuts[:row], found.reach


cdef Break best_break(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t n, Py_ssize_t fill,
    const int* kinds, int n_kinds
) noexcept nogil:
    """The end of a chunk from `start` on, of at most n tokens.

    It is the text's end, if it fits; else the last break that fits, of the first kind whose
    last one has at least `fill` tokens, or of graphemes or characters. An end of NOT_FOUND: there
    is none, and `reach` is the greatest end of all; or that is NOT_FOUND too: it is not known.
    """
    cdef Break found
    cdef Py_ssize_t bound = last_place(counter, query, start, n), size = counter.text.n
    cdef int fit = DOES_NOT
    found.end = found.reach = NOT_FOUND
    found.place = n_kinds
    found.tokens = 0
    if bound == NOT_FOUND:
        return found
    if bound == size:
        fit = fits(counter, query, start, size, n, &found.tokens)
        if fit == FITS:
            found.end = size
    if fit != DOES_NOT:
        return found
    for found.place in range(n_kinds):
        if kinds[found.place] >= SENTENCE and found.reach == NOT_FOUND:
            # Where sentences end may depend on where they are searched: nowhere behind this.
            bound = found.reach = greatest_end(counter, query, start, bound, n)
            if bound == NOT_FOUND:
                found.end = NOT_FOUND
                return found
        found.end = last_break(&counter.text, kinds[found.place], start, start, bound)
        while found.end != NOT_FOUND:
            fit = fits(counter, query, start, found.end, n, &found.tokens)
            if fit != DOES_NOT:
                break
            found.end = last_break(
                &counter.text, kinds[found.place], start, start, found.end - 1
            )
        if fit == UNKNOWN:
            found.end = found.reach = NOT_FOUND
            return found
        if found.end != NOT_FOUND and (found.tokens >= fill or kinds[found.place] >= GRAPHEME):
            found.reach = NOT_FOUND
            return found
    found.end = NOT_FOUND
    if found.reach == NOT_FOUND:
        found.reach = greatest_end(counter, query, start, bound, n)
    return found


cdef Py_ssize_t greatest_end(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t bound, Py_ssize_t n
) noexcept nogil:
    """The greatest end up to `bound` of at most n tokens; NOT_FOUND: it is not found nearby."""
    cdef Py_ssize_t end, tokens
    cdef int fit
    for end in range(bound, max(start, bound - NEAR), -1):
        fit = fits(counter, query, start, end, n, &tokens)
        if fit != DOES_NOT:
            return end if fit == FITS else NOT_FOUND
    return NOT_FOUND


cdef Py_ssize_t last_place(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t n
) noexcept nogil:
    """A place behind which nothing fits; NOT_FOUND, if none is known nearby.

    A boundary that is settled has the same tokens before it for all cuts behind it: once they
    are more than n, none of these fits.
    """
    cdef Py_ssize_t size = counter.text.n, bound
    cdef Landing landing
    forget_row(query)
    landing = land(counter, query, start, n, size + 1)
    forget_row(query)
    if landing.at == start:
        return NOT_FOUND
    bound = next_bit(&counter.marks, landing.at + 1, min(size, landing.at + FAR), SETTLED)
    if bound == NOT_FOUND and size <= landing.at + FAR:
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
