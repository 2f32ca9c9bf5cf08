"""Where to cut a text so that each chunk ends at its best break within one or more budgets.

Where a chunk has no such break, how far it can go; where that is not known, a search that takes
longer finds both.

Guarded by tests/chunking/test_choice.py.
"""

from libc.math cimport ceil
from libc.stdlib cimport calloc, free

from cutline.kernels.base.common cimport NO_MEMORY, NOT_FOUND, UNKNOWN, int64_t
from cutline.kernels.breaks.breaks cimport GRAPHEME, SENTENCE, last_break, need_kind
from cutline.kernels.breaks.stable cimport (
    Candidates, best_candidate, find_candidates, free_candidates, next_candidate,
)
from cutline.kernels.breaks.wrapping cimport LINES
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.index.bitmaps cimport SAFE, next_bit
from cutline.kernels.index.interval cimport Intervals
from cutline.kernels.breaks.overlaps cimport ADDS_NOTHING, Cutting, Overlap, cut_rows
from cutline.kernels.index.slices cimport (
    SafePoint, begin_to, count_slice, fits_to, flush, forget_row, seek, start_query,
)
from cutline.kernels.index.text_index cimport byte_at

cdef enum:
    FAR = 256                   # characters between two safe split points
    NEAR = 64                   # of them to be tried one by one
    SCANNED = 4                 # characters, for each one of a chunk that shares some of them
    SCANNED_AT_LEAST = 4096     # ... or what a pass from the chunk's end costs, too


def cut_at_breaks(
    Intervals counter not None, Py_ssize_t start, Py_ssize_t floor, Py_ssize_t until, Py_ssize_t n,
    double min_fill, const int[::1] kinds not None, bint stable, further=(), renew=None,
    Overlap overlap=None
):
    """Cut at the last breaks that fit, while they fill chunks; see `best_break`.

    Args:
        counter: of the text's tokens.
        start: of the chunk before, in characters; that of the first chunk, where none is before.
        floor: the end of the chunk before; where chunks share nothing, the first one starts here.
        until: no chunk adds text from here on.
        n: tokens of a chunk at most.
        min_fill: the share of them that it has at least, unless it ends with the text; where
            other limits end it sooner, the share of what they leave.
        kinds: of breaks, the best first.
        stable: at the break of that kind which the text around it chooses, not at the last.
        further: counters of the same text by other tokenizers, or "characters" or "bytes", with
            the maximum of each.
        renew: from the start of a chunk to the last of the further limits for this chunk, a
            maximum and the place from which on it holds for each; None: not known.
        overlap: what chunks share; None: nothing.

    Returns:
        int64, four of each chunk: start, end, tokens and place in `kinds`; the text's end is
        after the last kind. So many at most, and fewer where a chunk takes another
        kind of boundary. Then the longest end of that chunk, if it is known and has no
        overlap; else -1.
    """
    cdef BreakCut cut = BreakCut(kinds, 1 + len(further), min_fill, stable)
    cdef int place
    taken = [take_limit(cut.limits, counter, n)]
    for place, (one, most) in enumerate(further, start=1):
        if isinstance(one, Intervals):
            taken.append(take_limit(cut.limits + place, one, most))
        else:
            cut.limits[place].unit = CHARACTERS if one == "characters" else BYTES
            cut.limits[place].index = cut.limits.index
            cut.limits[place].n = most
    try:
        cut.renew = renew
        rows, status = cut_rows(
            cut, &counter.index.text, overlap, start, floor, until, renew is not None
        )
    finally:
        for one, owned in taken:
            give_back(one, owned)
    if status == NO_MEMORY:
        raise MemoryError("no memory for the places that a chunk may start or end at")
    return rows, cut.longest if overlap is None and status == NOT_FOUND else NOT_FOUND


cdef class BreakCut(Cutting):
    """A text that is cut at breaks; its limits are to be taken."""

    def __cinit__(
        self, const int[::1] kinds not None, int n_limits, double min_fill, bint stable
    ):
        cdef int place
        for place in range(kinds.shape[0]):
            need_kind(kinds[place])
        self.held = kinds
        self.n_kinds = <int> kinds.shape[0]
        self.kinds = &kinds[0] if self.n_kinds > 0 else NULL
        self.n_limits = n_limits
        self.min_fill = min_fill
        self.stable = stable
        self.limits = <Limit*> calloc(n_limits, sizeof(Limit))
        if self.limits == NULL:
            raise MemoryError("no memory for the limits of chunks")

    def __dealloc__(self):
        free_candidates(&self.candidates)
        free(self.limits)

    cdef Py_ssize_t find_end(
        self, Py_ssize_t start, Py_ssize_t floor, int64_t* row
    ) noexcept nogil:
        cdef Break found = chosen_break(
            self.limits, self.n_limits, &self.candidates, start, floor, self.min_fill, self.kinds,
            self.n_kinds, self.stable,
        )
        self.longest = found.longest if found.end == NOT_FOUND else NOT_FOUND
        row[1] = found.end
        row[2] = found.tokens
        row[3] = found.place
        return found.end

    cdef bint begin_chunk(self, Py_ssize_t start) except -1:
        """Set the last limits to those of the next chunk, if they are known."""
        cdef object last = self.renew(start)
        cdef int one
        if last is None:
            return False
        one = self.n_limits - <int> len(last)
        for most, known_from in last:
            if most < 0:
                return False
            self.limits[one].n = most
            self.limits[one].known_from = known_from
            one += 1
        return True

    cdef Py_ssize_t begin_to(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        return begin_limit_to(&self.to, self.limits, start, end)

    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        return limit_fits_to(&self.to, self.limits, start, most)

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        return tokens_within(self.limits, start, end)


cdef Py_ssize_t begin_limit_to(
    LimitEnd* to, Limit* limit, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Get ready to count slices that end here: see `begin_to`."""
    cdef Py_ssize_t status
    limit.query.scanned = 0
    to.most_scanned = SCANNED_AT_LEAST + SCANNED * (end - start)
    status = begin_to(limit.index, &limit.query, start, end, &to.end)
    forget_row(&limit.query)
    return status


cdef Py_ssize_t limit_fits_to(
    const LimitEnd* to, Limit* limit, Py_ssize_t start, Py_ssize_t most
) noexcept nogil:
    """Whether such a slice has at most so many tokens: see `fits_to`. UNKNOWN, if it was asked for
    so many places that all of them should be counted in one pass.
    """
    cdef Py_ssize_t fit
    if limit.query.scanned > to.most_scanned:
        return UNKNOWN
    fit = fits_to(limit.index, &limit.query, start, &to.end, most)
    forget_row(&limit.query)
    return fit


cdef Py_ssize_t tokens_within(Limit* limit, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """The tokens of a slice, or UNKNOWN."""
    cdef Py_ssize_t tokens
    return tokens if counted(limit, start, end, &tokens) else UNKNOWN


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
    Limit* limits, int n_limits, Candidates* candidates, Py_ssize_t start, Py_ssize_t floor,
    double min_fill, const int* kinds, int n_kinds, bint stable
) noexcept nogil:
    """The best break of a chunk from `start` on; with `stable` the one that the text chooses.

    An end of NO_MEMORY: there is none for the places to choose from. See best_break for others.
    """
    cdef Break found = best_break(limits, n_limits, start, floor, min_fill, kinds, n_kinds)
    if stable and found.end >= 0 and found.place < n_kinds and found.tokens >= found.fill:
        choose(limits, n_limits, candidates, start, floor, kinds[found.place], &found)
    return found


cdef Break best_break(
    Limit* limits, int n_limits, Py_ssize_t start, Py_ssize_t floor, double min_fill,
    const int* kinds, int n_kinds
) noexcept nogil:
    """The end of a chunk from `start` on, after `floor` (>= start), within all limits.

    It is the text's end, if it fits; else the last break that fits, of the first kind whose
    last one fills the chunk, or of graphemes or characters. An end of ADDS_NOTHING: nothing after
    `floor` fits. Of NOT_FOUND: there is none of these kinds, and `longest` is the end of the
    longest fitting prefix, or NOT_FOUND: not known.
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
    if bound > floor and n_limits > 1:
        bound = found.longest = longest_nearby(limits, n_limits, start, floor, bound)
        if bound == NOT_FOUND:
            return found
    if bound <= floor:
        found.end = ADDS_NOTHING
        return found
    if n_limits > 1:
        found.fill = fill_within(limits, start, bound, min_fill)
        if found.fill == NOT_FOUND:
            found.longest = NOT_FOUND
            return found
    for found.place in range(n_kinds):
        if kinds[found.place] & ~LINES >= SENTENCE and found.longest == NOT_FOUND:
            # Where sentences end may depend on where they are searched: nowhere after this.
            bound = found.longest = longest_nearby(limits, n_limits, start, floor, bound)
            if bound <= floor:
                found.end = NOT_FOUND if bound == NOT_FOUND else ADDS_NOTHING
                return found
        found.end = last_break(&limits.index.text, kinds[found.place], start, floor, bound)
        while found.end != NOT_FOUND:
            fit = fits(limits, n_limits, start, found.end, &found.tokens)
            if fit != DOES_NOT:
                break
            found.end = last_break(
                &limits.index.text, kinds[found.place], start, floor, found.end - 1
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
        found.longest = longest_nearby(limits, n_limits, start, floor, bound)
        if floor >= found.longest > NOT_FOUND:
            found.end = ADDS_NOTHING
    return found


cdef Py_ssize_t fill_within(
    Limit* limits, Py_ssize_t start, Py_ssize_t longest, double min_fill
) noexcept nogil:
    """The fewest tokens of a chunk whose longest prefix within all limits ends here.

    NOT_FOUND: it is not known whether the first limit alone lets it end later.
    """
    cdef Py_ssize_t alone, tokens
    if longest < limits.index.text.n and fits(limits, 1, start, longest + 1, &tokens) == FITS:
        if fits(limits, 1, start, longest, &tokens) != FITS:
            return NOT_FOUND
        return <Py_ssize_t> ceil(min_fill * tokens)
    alone = last_place(limits, 1, start)
    if alone != NOT_FOUND:
        alone = longest_nearby(limits, 1, start, start, alone)
    if alone == NOT_FOUND:
        return NOT_FOUND
    if alone == longest:
        return <Py_ssize_t> ceil(min_fill * limits.n)
    if fits(limits, 1, start, longest, &tokens) != FITS:
        return NOT_FOUND
    return <Py_ssize_t> ceil(min_fill * tokens)


cdef void choose(
    Limit* limits, int n_limits, Candidates* candidates, Py_ssize_t start, Py_ssize_t floor,
    int kind,
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
        after = longest_nearby(limits, 1, start, start, after)
    limits.n = n
    if after == NOT_FOUND:
        found.end = NOT_FOUND
        return
    # Counts are not monotonic.
    if not find_candidates(
        candidates, &limits.index.text, kind, start, min(max(after, floor), found.end), found.end
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
    Limit* limits, int n_limits, Py_ssize_t start, Py_ssize_t floor, Py_ssize_t bound
) noexcept nogil:
    """The end of the longest fitting prefix, up to `bound`, or `floor` (>= start), if that ends no
    later; NOT_FOUND: not nearby.
    """
    cdef Py_ssize_t end, tokens
    cdef int fit
    for end in range(bound, max(floor, bound - NEAR), -1):
        fit = fits(limits, n_limits, start, end, &tokens)
        if fit != DOES_NOT:
            return end if fit == FITS else NOT_FOUND
    return floor if bound - NEAR <= floor else NOT_FOUND


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
