"""Where to cut a text so that each chunk ends at its best break within one or more budgets.

Where a chunk has no such break, how far it can go; where that is not known, a search that takes
longer finds both.

Guarded by tests/chunking/test_choice.py.
"""

from cutline.kernels.base.memory import zeroed_numbers

from libc.math cimport ceil
from libc.stdlib cimport calloc, free

from cutline.kernels.base.common cimport NO_MEMORY, NOT_FOUND, UNKNOWN, int64_t, memset
from cutline.kernels.breaks.breaks cimport GRAPHEME, SENTENCE, last_break, need_kind
from cutline.kernels.breaks.stable cimport (
    Candidates, best_candidate, find_candidates, free_candidates, next_candidate,
)
from cutline.kernels.breaks.wrapping cimport LINES
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.index.bitmaps cimport SAFE, next_bit
from cutline.kernels.index.interval cimport Intervals
from cutline.kernels.index.slices cimport (
    SafePoint, count_slice, flush, forget_row, seek, start_query,
)
from cutline.kernels.index.text_index cimport Query, TextIndex, byte_at

cdef enum:
    FAR = 256                   # characters between two safe split points
    NEAR = 64                   # of them to be tried one by one


def cut_at_breaks(
    Intervals counter not None, Py_ssize_t start, Py_ssize_t until, Py_ssize_t n, double min_fill,
    const int[::1] kinds not None, bint stable, further=(), renew=None
):
    """Cut at the last breaks that fit, while they fill chunks; see `best_break`.

    Args:
        counter: of the text's tokens.
        start: of the first chunk, in characters.
        until: no chunk begins here or later.
        n: tokens of a chunk at most.
        min_fill: the share of them that it has at least, unless it ends with the text; where
            other limits end it sooner, the share of what they leave.
        kinds: of breaks, the best first.
        stable: at the break of that kind which the text around it chooses, not at the last.
        further: counters of the same text by other tokenizers, or "characters" or "bytes", with
            the maximum of each.
        renew: from the start of a chunk to the last of the further limits for this chunk, a
            maximum and the place from which on it holds for each; None: not known.

    Returns:
        int64, four of each chunk: start, end, tokens and place in `kinds`; the text's end is
        after the last kind. So many at most, and fewer where a chunk takes another
        kind of boundary. Then the longest end of that chunk, if it is known; else -1.
    """
    cdef Py_ssize_t row = 0
    cdef int n_kinds = <int> kinds.shape[0], n_limits = 1 + <int> len(further), place
    cdef const int* first_kind = &kinds[0] if n_kinds > 0 else NULL
    cdef Break found
    cdef Limit* limits
    cdef Candidates candidates
    memset(&candidates, 0, sizeof(candidates))
    cuts = zeroed_numbers("q", 4 * MOST_CUTS)
    cdef int64_t[::1] rows = cuts
    if start < 0:
        raise ValueError(f"start must be 0 or more, got {start}")
    for place in range(n_kinds):
        need_kind(kinds[place])
    until = min(until, counter.index.text.n)
    found.end = found.longest = NOT_FOUND
    limits = <Limit*> calloc(n_limits, sizeof(Limit))
    if limits == NULL:
        raise MemoryError("no memory for the limits of chunks")
    taken = [take_limit(limits, counter, n)]
    for place, (one, most) in enumerate(further, start=1):
        if isinstance(one, Intervals):
            taken.append(take_limit(limits + place, one, most))
        else:
            limits[place].unit = CHARACTERS if one == "characters" else BYTES
            limits[place].index = limits.index
            limits[place].n = most
    try:
        with nogil:
            while start < until and row < MOST_CUTS:
                if renew is not None:
                    with gil:
                        if not renewed(limits, n_limits, renew(start)):
                            found.end = found.longest = NOT_FOUND
                            break
                found = chosen_break(
                    limits, n_limits, &candidates, start, min_fill, first_kind, n_kinds, stable
                )
                if found.end < 0:
                    break
                rows[4 * row] = start
                rows[4 * row + 1] = start = found.end
                rows[4 * row + 2] = found.tokens
                rows[4 * row + 3] = found.place
                row += 1
    finally:
        free_candidates(&candidates)
        free(limits)
        for one, owned in taken:
            give_back(one, owned)
    if found.end == NO_MEMORY:
        raise MemoryError("no memory for the places that a chunk may end at")
    return cuts[:4 * row], found.longest


cdef bint renewed(Limit* limits, int n_limits, object last) except -1:
    """Set the last limits to those of the next chunk. Returns whether they are known."""
    cdef int one
    if last is None:
        return False
    one = n_limits - <int> len(last)
    for most, known_from in last:
        if most < 0:
            return False
        limits[one].n = most
        limits[one].known_from = known_from
        one += 1
    return True


cdef object take_limit(Limit* limit, Intervals counter, Py_ssize_t most):
    """Begin with a limit. Returns its counter and an encoder state of its own, to give back."""
    cdef OwnedState owned = counter.encoder.take_state()
    limit.index = &counter.index
    limit.n = most
    start_query(&limit.query, owned, &limit.tokens)
    return counter, owned


cdef void give_back(Intervals counter, OwnedState owned):
    counter.encoder.release(owned)


cdef Break chosen_break(
    Limit* limits, int n_limits, Candidates* candidates, Py_ssize_t start, double min_fill,
    const int* kinds, int n_kinds, bint stable
) noexcept nogil:
    """The best break of a chunk from `start` on; with `stable` the one that the text chooses.

    An end of NO_MEMORY: there is none for the places to choose from. See best_break for others.
    """
    cdef Break found = best_break(limits, n_limits, start, min_fill, kinds, n_kinds)
    if stable and found.end != NOT_FOUND and found.place < n_kinds and found.tokens >= found.fill:
        choose(limits, n_limits, candidates, start, kinds[found.place], &found)
    return found


cdef Break best_break(
    Limit* limits, int n_limits, Py_ssize_t start, double min_fill, const int* kinds, int n_kinds
) noexcept nogil:
    """The end of a chunk from `start` on, within all limits.

    It is the text's end, if it fits; else the last break that fits, of the first kind whose
    last one fills the chunk, or of graphemes or characters. An end of NOT_FOUND: there
    is none, and `longest` is the end of the longest fitting prefix, or NOT_FOUND: not known.
    """
    cdef Break found
    cdef Py_ssize_t bound = last_place(limits, n_limits, start), size = limits.index.text.n
    cdef int fit = DOES_NOT
    found.end = found.longest = NOT_FOUND
    found.place = n_kinds
    found.tokens = 0
    found.fill = <Py_ssize_t> ceil(min_fill * limits.n)
    if bound == NOT_FOUND:
        return found
    if bound == size:
        fit = fits(limits, n_limits, start, size, &found.tokens)
        if fit == FITS:
            found.end = size
    if fit != DOES_NOT:
        return found
    if n_limits > 1:
        bound = found.longest = longest_nearby(limits, n_limits, start, bound)
        found.fill = fill_within(limits, n_limits, start, bound, min_fill)
        if found.fill == NOT_FOUND:
            found.longest = NOT_FOUND
            return found
    for found.place in range(n_kinds):
        if kinds[found.place] & ~LINES >= SENTENCE and found.longest == NOT_FOUND:
            # Where sentences end may depend on where they are searched: nowhere after this.
            bound = found.longest = longest_nearby(limits, n_limits, start, bound)
            if bound == NOT_FOUND:
                found.end = NOT_FOUND
                return found
        found.end = last_break(&limits.index.text, kinds[found.place], start, start, bound)
        while found.end != NOT_FOUND:
            fit = fits(limits, n_limits, start, found.end, &found.tokens)
            if fit != DOES_NOT:
                break
            found.end = last_break(
                &limits.index.text, kinds[found.place], start, start, found.end - 1
            )
        if fit == UNKNOWN:
            found.end = found.longest = NOT_FOUND
            return found
        if found.end != NOT_FOUND and (
            found.tokens >= found.fill or kinds[found.place] & ~LINES >= GRAPHEME
        ):
            found.longest = NOT_FOUND
            return found
    found.end = NOT_FOUND
    if found.longest == NOT_FOUND:
        found.longest = longest_nearby(limits, n_limits, start, bound)
    return found


cdef Py_ssize_t fill_within(
    Limit* limits, int n_limits, Py_ssize_t start, Py_ssize_t longest, double min_fill
) noexcept nogil:
    """The fewest tokens of a chunk whose longest prefix within all limits ends here.

    NOT_FOUND: it is not known whether the first limit alone lets it end later.
    """
    cdef Py_ssize_t alone, tokens
    if longest == NOT_FOUND:
        return NOT_FOUND
    if longest < limits.index.text.n and fits(limits, 1, start, longest + 1, &tokens) == FITS:
        if fits(limits, 1, start, longest, &tokens) != FITS:
            return NOT_FOUND
        return <Py_ssize_t> ceil(min_fill * tokens)
    alone = last_place(limits, 1, start)
    if alone != NOT_FOUND:
        alone = longest_nearby(limits, 1, start, alone)
    if alone == NOT_FOUND:
        return NOT_FOUND
    if alone == longest:
        return <Py_ssize_t> ceil(min_fill * limits.n)
    if fits(limits, 1, start, longest, &tokens) != FITS:
        return NOT_FOUND
    return <Py_ssize_t> ceil(min_fill * tokens)


cdef void choose(
    Limit* limits, int n_limits, Candidates* candidates, Py_ssize_t start, int kind,
    Break* found                # in: at the last break of the kind; out: at the chosen one
) noexcept nogil:
    """Choose a break that fills the chunk by the text around it.

    An end of NOT_FOUND: it is not known from where on chunks are filled.
    """
    cdef Py_ssize_t n = limits.n, place, tokens, after
    cdef int fit
    limits.n = max(found.fill - 1, 0)
    after = last_place(limits, 1, start)
    if after != NOT_FOUND:
        after = longest_nearby(limits, 1, start, after)
    limits.n = n
    if after == NOT_FOUND:
        found.end = NOT_FOUND
        return
    # Counts are not monotonic.
    if not find_candidates(
        candidates, &limits.index.text, kind, start, min(after, found.end), found.end
    ):
        found.end = NO_MEMORY
        return
    last_place(limits, 1, start)    # back to the point of n tokens
    place = best_candidate(candidates)
    while place != NOT_FOUND:
        fit = fits(limits, n_limits, start, place, &tokens)
        if fit == UNKNOWN:
            found.end = NOT_FOUND
            return
        if fit == FITS and tokens >= found.fill:
            found.end = place
            found.tokens = tokens
            return
        place = next_candidate(candidates)


cdef Py_ssize_t longest_nearby(
    Limit* limits, int n_limits, Py_ssize_t start, Py_ssize_t bound
) noexcept nogil:
    """The end of the longest fitting prefix, up to `bound`; NOT_FOUND: not nearby."""
    cdef Py_ssize_t end, tokens
    cdef int fit
    for end in range(bound, max(start, bound - NEAR), -1):
        fit = fits(limits, n_limits, start, end, &tokens)
        if fit != DOES_NOT:
            return end if fit == FITS else NOT_FOUND
    return NOT_FOUND


cdef Py_ssize_t last_place(Limit* limits, int n_limits, Py_ssize_t start) noexcept nogil:
    """Set the limits' points. Returns a place after which nothing fits; NOT_FOUND, if for one of
    them none is known nearby.
    """
    cdef Py_ssize_t bound = limits.index.text.n, place
    cdef int one
    for one in range(n_limits):
        if limits[one].unit != TOKENS:
            bound = min(bound, last_place_of_unit(&limits[one], start))
            continue
        limits[one].point = last_within_budget(&limits[one], start)
        place = last_place_of(&limits[one], start)
        if place == NOT_FOUND or place < limits[one].known_from:
            return NOT_FOUND
        bound = min(bound, place)
    return bound


cdef SafePoint last_within_budget(Limit* limit, Py_ssize_t start) noexcept nogil:
    """The last safe split point with at most n tokens before it; the start: none is known."""
    cdef SafePoint point
    forget_row(&limit.query)
    point = seek(limit.index, &limit.query, start, limit.n, limit.index.text.n + 1)
    forget_row(&limit.query)
    return point


cdef Py_ssize_t last_place_of(const Limit* limit, Py_ssize_t start) noexcept nogil:
    """A place after which nothing fits one limit; NOT_FOUND, if none is known nearby.

    A safe split point has the same tokens before it for all cuts after it: once they
    are more than n, none of these fits. Nor does anything after the text's end.
    """
    cdef Py_ssize_t size = limit.index.text.n, at = limit.point.at, bound
    if at == start:
        return size if size <= at + FAR else NOT_FOUND
    bound = next_bit(&limit.index.bitmaps, at + 1, min(size, at + FAR), SAFE)
    if bound == NOT_FOUND and size <= at + FAR:
        return size
    return bound


cdef Py_ssize_t last_place_of_unit(const Limit* limit, Py_ssize_t start) noexcept nogil:
    """The greatest end that fits a unit, whose counts add up."""
    cdef Py_ssize_t size = limit.index.text.n, low, high, middle, most
    if limit.n >= 4 * (size - start):
        return size
    if limit.unit == CHARACTERS or limit.index.text.is_ascii:
        return min(size, start + limit.n)
    high = min(size, start + limit.n)
    low = start + limit.n // 4
    most = byte_at(limit.index, start) + limit.n
    while low < high:
        middle = (low + high + 1) >> 1
        if byte_at(limit.index, middle) <= most:
            low = middle
        else:
            high = middle - 1
    return low


cdef int fits(
    Limit* limits, int n_limits, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t* tokens          # out: of the first limit
) noexcept nogil:
    """Whether a slice fits all limits. UNKNOWN: that takes tables that are not there."""
    cdef int fit = fits_one(limits, start, end, tokens), one
    cdef Py_ssize_t others
    for one in range(1, n_limits):
        if fit != FITS:
            break
        if end < limits[one].known_from:
            return UNKNOWN
        if limits[one].unit == TOKENS and limits[one].index == limits.index:
            fit = FITS if tokens[0] <= limits[one].n else DOES_NOT
        else:
            fit = fits_one(&limits[one], start, end, &others)
    return fit


cdef int fits_one(
    Limit* limit, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* tokens
) noexcept nogil:
    cdef Py_ssize_t before = 0
    if limit.unit == CHARACTERS:
        tokens[0] = end - start
        return FITS if tokens[0] <= limit.n else DOES_NOT
    if limit.unit == BYTES:
        tokens[0] = byte_at(limit.index, end) - byte_at(limit.index, start)
        return FITS if tokens[0] <= limit.n else DOES_NOT
    if end > limit.point.at:
        start = limit.point.at
        before = limit.point.tokens
    if not counted(limit, start, end, tokens):
        return UNKNOWN
    tokens[0] += before
    return FITS if tokens[0] <= limit.n else DOES_NOT


cdef bint counted(
    Limit* limit, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* tokens
) noexcept nogil:
    """Count the tokens of a slice. Returns whether the tables for that are there."""
    forget_row(&limit.query)
    if (
        count_slice(limit.index, &limit.query, start, end) != 0
        or not flush(limit.index, &limit.query)
    ):
        return False
    tokens[0] = limit.tokens
    return True
