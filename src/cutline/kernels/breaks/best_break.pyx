"""Where to cut a text so that each chunk ends at its best break within the budget.

Where a chunk has no such break, how far it can go; where that is not known, a search that takes
longer finds both.

Guarded by tests/chunking/test_choice.py.
"""

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.common cimport NO_MEMORY, NOT_FOUND, UNKNOWN, int64_t, memset
from cutline.kernels.breaks.breaks cimport GRAPHEME, SENTENCE, last_break, need_kind
from cutline.kernels.breaks.stable cimport (
    Candidates, best_candidate, find_candidates, free_candidates, next_candidate,
)
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.index.bitmaps cimport SAFE, next_bit
from cutline.kernels.index.interval cimport Intervals
from cutline.kernels.index.slices cimport (
    SafePoint, count_slice, flush, forget_row, seek, start_query,
)
from cutline.kernels.index.text_index cimport Query, TextIndex

cdef enum:
    FAR = 256                   # characters between two safe split points
    NEAR = 64                   # of them to be tried one by one
    FITS = 1
    DOES_NOT = 0
    MOST_CUTS = 256             # at a time

cdef struct Break:
    Py_ssize_t end
    Py_ssize_t tokens
    int place                   # of its kind among those asked for; after them: the text's end
    Py_ssize_t longest          # without an end: the end of the longest that fits


def cut_at_breaks(
    Intervals counter not None, Py_ssize_t start, Py_ssize_t until, Py_ssize_t n, Py_ssize_t fill,
    const int[::1] kinds not None, bint stable
):
    """Cut at the last breaks that fit, while they fill chunks; see `best_break`.

    Args:
        counter: of the text's tokens.
        start: of the first chunk, in characters.
        until: no chunk begins here or later.
        n: tokens of a chunk at most.
        fill: and at least, but for a chunk that ends with the text.
        kinds: of breaks, the best first.
        stable: at the break of that kind which the text around it chooses, not at the last.

    Returns:
        int64, four of each chunk: start, end, tokens and place in `kinds`; the text's end is
        after the last kind. So many at most, and fewer where a chunk takes another
        kind of boundary. Then the longest end of that chunk, if it is known; else -1.
    """
    cdef int64_t tokens
    cdef Py_ssize_t row
    cdef int n_kinds = <int> kinds.shape[0], place
    cdef const int* first_kind = &kinds[0] if n_kinds > 0 else NULL
    cdef Query query
    cdef Break found
    cdef OwnedState owned
    cdef Candidates candidates
    memset(&candidates, 0, sizeof(candidates))
    cuts = zeroed_numbers("q", 4 * MOST_CUTS)
    cdef int64_t[::1] rows = cuts
    if start < 0:
        raise ValueError(f"start must be 0 or more, got {start}")
    for place in range(n_kinds):
        need_kind(kinds[place])
    row = 0
    until = min(until, counter.index.text.n)
    found.longest = NOT_FOUND
    owned = counter.encoder.take_state()
    start_query(&query, owned, &tokens)
    with nogil:
        while start < until and row < MOST_CUTS:
            found = best_break(&counter.index, &query, start, n, fill, first_kind, n_kinds)
            if stable and found.end != NOT_FOUND and found.place < n_kinds and found.tokens >= fill:
                choose(
                    &counter.index, &query, &candidates, start, n, fill, first_kind[found.place],
                    &found,
                )
            if found.end < 0:
                break
            rows[4 * row] = start
            rows[4 * row + 1] = start = found.end
            rows[4 * row + 2] = found.tokens
            rows[4 * row + 3] = found.place
            row += 1
    free_candidates(&candidates)
    counter.encoder.release(owned)
    if found.end == NO_MEMORY:
        raise MemoryError("no memory for the places that a chunk may end at")
    return cuts[:4 * row], found.longest


cdef Break best_break(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t n, Py_ssize_t fill,
    const int* kinds, int n_kinds
) noexcept nogil:
    """The end of a chunk from `start` on, of at most n tokens.

    It is the text's end, if it fits; else the last break that fits, of the first kind whose
    last one has at least `fill` tokens, or of graphemes or characters. An end of NOT_FOUND: there
    is none, and `longest` is the end of the longest fitting prefix, or NOT_FOUND: not known.
    """
    cdef Break found
    cdef SafePoint point = last_within_budget(index, query, start, n)
    cdef Py_ssize_t bound = last_place(index, start, &point), size = index.text.n
    cdef int fit = DOES_NOT
    found.end = found.longest = NOT_FOUND
    found.place = n_kinds
    found.tokens = 0
    if bound == NOT_FOUND:
        return found
    if bound == size:
        fit = fits(index, query, start, &point, size, n, &found.tokens)
        if fit == FITS:
            found.end = size
    if fit != DOES_NOT:
        return found
    for found.place in range(n_kinds):
        if kinds[found.place] >= SENTENCE and found.longest == NOT_FOUND:
            # Where sentences end may depend on where they are searched: nowhere after this.
            bound = found.longest = longest_nearby(index, query, start, &point, bound, n)
            if bound == NOT_FOUND:
                found.end = NOT_FOUND
                return found
        found.end = last_break(&index.text, kinds[found.place], start, start, bound)
        while found.end != NOT_FOUND:
            fit = fits(index, query, start, &point, found.end, n, &found.tokens)
            if fit != DOES_NOT:
                break
            found.end = last_break(
                &index.text, kinds[found.place], start, start, found.end - 1
            )
        if fit == UNKNOWN:
            found.end = found.longest = NOT_FOUND
            return found
        if found.end != NOT_FOUND and (found.tokens >= fill or kinds[found.place] >= GRAPHEME):
            found.longest = NOT_FOUND
            return found
    found.end = NOT_FOUND
    if found.longest == NOT_FOUND:
        found.longest = longest_nearby(index, query, start, &point, bound, n)
    return found


cdef void choose(
    const TextIndex* index, Query* query, Candidates* candidates,
    Py_ssize_t start, Py_ssize_t n, Py_ssize_t fill, int kind,
    Break* found                # in: at the last break of the kind; out: at the chosen one
) noexcept nogil:
    """Choose a break with at least `fill` tokens by the text around it.

    An end of NOT_FOUND: it is not known from where on chunks are filled.
    """
    cdef Py_ssize_t too_few = max(fill - 1, 0), place, tokens
    cdef SafePoint point = last_within_budget(index, query, start, too_few)
    cdef Py_ssize_t after = last_place(index, start, &point)
    cdef int fit
    if after != NOT_FOUND:
        after = longest_nearby(index, query, start, &point, after, too_few)
    if after == NOT_FOUND:
        found.end = NOT_FOUND
        return
    # Counts are not monotonic.
    if not find_candidates(
        candidates, &index.text, kind, start, min(after, found.end), found.end
    ):
        found.end = NO_MEMORY
        return
    point = last_within_budget(index, query, start, n)
    place = best_candidate(candidates)
    while place != NOT_FOUND:
        fit = fits(index, query, start, &point, place, n, &tokens)
        if fit == UNKNOWN:
            found.end = NOT_FOUND
            return
        if fit == FITS and tokens >= fill:
            found.end = place
            found.tokens = tokens
            return
        place = next_candidate(candidates)


cdef Py_ssize_t longest_nearby(
    const TextIndex* index, Query* query, Py_ssize_t start, const SafePoint* point,
    Py_ssize_t bound, Py_ssize_t n
) noexcept nogil:
    """The end of the longest prefix of at most n tokens, up to `bound`; NOT_FOUND: not nearby."""
    cdef Py_ssize_t end, tokens
    cdef int fit
    for end in range(bound, max(start, bound - NEAR), -1):
        fit = fits(index, query, start, point, end, n, &tokens)
        if fit != DOES_NOT:
            return end if fit == FITS else NOT_FOUND
    return NOT_FOUND


cdef SafePoint last_within_budget(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t n
) noexcept nogil:
    """The last safe split point with at most n tokens before it; the start: none is known."""
    cdef SafePoint point
    forget_row(query)
    point = seek(index, query, start, n, index.text.n + 1)
    forget_row(query)
    return point


cdef Py_ssize_t last_place(
    const TextIndex* index, Py_ssize_t start, const SafePoint* point
) noexcept nogil:
    """A place after which nothing fits; NOT_FOUND, if none is known nearby.

    A safe split point has the same tokens before it for all cuts after it: once they
    are more than n, none of these fits.
    """
    cdef Py_ssize_t size = index.text.n, bound
    if point.at == start:
        return NOT_FOUND
    bound = next_bit(&index.bitmaps, point.at + 1, min(size, point.at + FAR), SAFE)
    if bound == NOT_FOUND and size <= point.at + FAR:
        return size
    return bound


cdef int fits(
    const TextIndex* index, Query* query, Py_ssize_t start,
    const SafePoint* point,     # in: of text[start:]
    Py_ssize_t end, Py_ssize_t n,
    Py_ssize_t* tokens          # out
) noexcept nogil:
    """Whether a slice has at most n tokens. UNKNOWN: that takes tables that are not there."""
    cdef Py_ssize_t before = 0
    forget_row(query)
    if end > point.at:
        start = point.at
        before = point.tokens
    if count_slice(index, query, start, end) != 0 or not flush(index, query):
        return UNKNOWN
    tokens[0] = before + query.sums[0]
    return FITS if tokens[0] <= n else DOES_NOT
