"""Where to cut a text whose structure is known, so that each chunk ends at its best place.

It is what `ChunkFinder` chooses by plain rules, with the levels of the structure before the kinds
of breaks, and the places inside units that fit a chunk of their own left out.

Guarded by tests/chunking/test_outlined.py.
"""

cimport cython

from libc.math cimport ceil
from libc.stdlib cimport calloc, free

from cutline.kernels.base.common cimport (
    NO_MEMORY, NOT_FOUND, UNKNOWN, grow, int64_t, load64, uint8_t, uint64_t,
)
from cutline.kernels.breaks.best_break cimport (
    DOES_NOT, FITS, Break, Limit, LimitEnd, begin_limit_to, fits, give_back, last_place,
    limit_fits_to, longest_nearby, take_limit, tokens_within,
)
from cutline.kernels.breaks.breaks cimport GRAPHEME, last_break
from cutline.kernels.breaks.counted_breaks cimport CountedCut
from cutline.kernels.breaks.overlaps cimport ADDS_NOTHING, Cutting, Overlap, cut_rows
from cutline.kernels.breaks.wrapping cimport LINES
from cutline.kernels.index.bitmaps cimport RankBitmaps, last_bit
from cutline.kernels.index.interval cimport Intervals

cdef enum:
    BITS = 0                    # the only word of a block in the bitmaps of places
    NOT_ASKED = -4

# The units that begin where a chunk adds text, each counted once at most: what is too large may nest
# deep.
cdef struct Units:
    Py_ssize_t first            # the place of the first one
    Py_ssize_t after            # and after the last one
    int64_t* outermost          # of those around each, itself included, that fit a chunk
    Py_ssize_t slots
    Py_ssize_t asked            # from the first on, so many may have been asked for


cdef class Places:
    """Where a text may be cut, the best places first, and what should stay whole. Immutable.

    Args:
        bitmaps: bytes, one of each level: bit p is set, the lowest of a byte first, where the text
            may be cut before character p.
        units: start and end of each, sorted by (start, -end); any two nest or are disjoint.
    """

    def __cinit__(self, list bitmaps not None, tuple units not None):
        self.n_units = len(units)
        # All numbers in one piece of memory: most texts are short.
        self.starts = <int64_t*> calloc(max(1, 3 * self.n_units), sizeof(int64_t))
        self.levels = <RankBitmaps*> calloc(max(1, len(bitmaps)), sizeof(RankBitmaps))
        if self.starts == NULL or self.levels == NULL:
            raise MemoryError("no memory for the structure of a text")
        self.ends = self.starts + self.n_units
        self.outer = self.ends + self.n_units
        for place, (start, end) in enumerate(units):
            self.starts[place] = start
            self.ends[place] = end
        self.nest()
        for bits in bitmaps:
            self.add_level(bits)

    def __dealloc__(self):
        cdef int level
        for level in range(self.n_levels):
            free(self.levels[level].words)
        free(self.levels)
        free(self.starts)

    cdef int add_level(self, bytes bits) except -1:
        cdef RankBitmaps* level = self.levels + self.n_levels
        cdef const uint8_t* source = bits
        cdef Py_ssize_t at, n = len(bits)
        level.stride = 1
        level.n_blocks = (n + 7) // 8
        level.words = <uint64_t*> calloc(max(1, level.n_blocks), sizeof(uint64_t))
        if level.words == NULL:
            raise MemoryError("no memory for a level of a structure")
        self.n_levels += 1
        for at in range(n // 8):
            level.words[at] = load64(source + 8 * at)
        for at in range(n & ~7, n):
            level.words[at >> 3] |= <uint64_t> source[at] << 8 * (at & 7)
        return 0

    cdef void nest(self) noexcept:
        cdef Py_ssize_t place, around = NOT_FOUND
        for place in range(self.n_units):
            while around != NOT_FOUND and self.ends[around] <= self.starts[place]:
                around = self.outer[around]
            self.outer[place] = around
            self.end = max(self.end, self.ends[place])
            around = place

    cdef Py_ssize_t last_before(
        self, Py_ssize_t place, Py_ssize_t low, Py_ssize_t high
    ) noexcept nogil:
        """The last unit from `low` to before `high` that starts before a place, or low - 1."""
        cdef Py_ssize_t middle
        while low < high:
            middle = (low + high) >> 1
            if self.starts[middle] < place:
                low = middle + 1
            else:
                high = middle
        return low - 1


def enclosing(spans not None):
    """The place of the span that most closely encloses each, or -1.

    Args:
        spans: tuples that begin with start and end; sorted by (start, -end), and any two nest or
            are disjoint.
    """
    cdef list ends = [], outer = []
    cdef Py_ssize_t around = NOT_FOUND, place = 0, start
    cdef tuple span
    for span in spans:
        start = span[0]
        while around != NOT_FOUND and <Py_ssize_t> ends[around] <= start:
            around = outer[around]
        outer.append(around)
        ends.append(span[1])
        around = place
        place += 1
    return outer


def cut_at_places(
    Intervals counter not None, Places places not None, Py_ssize_t start, Py_ssize_t floor,
    Py_ssize_t until, Py_ssize_t n, double min_fill, const int[::1] kinds not None,
    Overlap overlap=None
):
    """Cut at the last places and breaks that fit, of the best level that fills a chunk.

    Args:
        counter: of the text's tokens.
        places: of the same text.
        start, floor, until: see `cut_at_breaks`.
        n: tokens of a chunk at most.
        min_fill: the share of them, or of what ends before a unit, that it has at least, unless
            it ends with the text or no other level is left.
        kinds: of breaks after the levels of places, the best first.
        overlap: what chunks share; None: nothing.

    Returns:
        int64, four of each chunk: start, end, tokens and place among the levels of places, then
        those of kinds; the text's end is after all. So many at most, and fewer where the next
        chunk takes a longer search. And -1, as `cut_at_breaks` for a chunk of which no more is known.
    """
    cdef LimitCounts counts = LimitCounts()
    counts.text = &counter.index.text
    counts.limit_chunks(n, min_fill, kinds, None)
    _, owned = take_limit(&counts.limit, counter, n)
    try:
        return cut_counted(counts, places, overlap, start, floor, until)
    finally:
        give_back(counter, owned)


cdef tuple cut_counted(
    CountedCut counts, Places places, Overlap overlap, Py_ssize_t start, Py_ssize_t floor,
    Py_ssize_t until
):
    """Cut at the last places that fit, and breaks, by whatever counts slices.

    Args:
        counts: knows what chunks are like, by `limit_chunks`.
        places: None: there are none; then see `cut_at_breaks`.
        overlap, start, floor, until: see `cut_at_places`.

    Returns:
        The rows of `cut_at_places`; and the longest end of the chunk after these, which takes another
        kind of boundary, or -1: only where there are no places.
    """
    cdef Cutting cut = counts if places is None else PlaceCut(counts, places)
    rows, status = cut_rows(
        cut, counts.text, overlap, start, floor, until, counts.renew is not None
    )
    if status == NO_MEMORY:
        raise MemoryError("no memory for the places that a chunk may start or end at")
    if status == NOT_FOUND and places is None and overlap is None:
        return rows, counts.longest
    return rows, NOT_FOUND


@cython.internal
cdef class LimitCounts(CountedCut):
    """Counts the slices of a text by a limit, which is to be taken."""

    cdef Limit limit
    cdef LimitEnd to            # of slices that an overlap may share
    cdef Py_ssize_t begun       # where the limit's point is that of slices from here

    def __cinit__(self):
        self.begun = NOT_FOUND

    cdef Py_ssize_t begin_to(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        return begin_limit_to(&self.to, &self.limit, start, end)

    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        return limit_fits_to(&self.to, &self.limit, start, most)

    cdef Py_ssize_t fits_within(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t tokens = tokens_within(&self.limit, start, end)
        if tokens < 0:
            return tokens
        return 1 if tokens <= self.most else 0

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t tokens
        if start != self.begun:
            return tokens_within(&self.limit, start, end)
        return UNKNOWN if fits(&self.limit, 1, start, end, &tokens) == UNKNOWN else tokens

    cdef Py_ssize_t last_place(self, Py_ssize_t start) noexcept nogil:
        self.begun = start
        self.bound = last_place(&self.limit, 1, start)
        return UNKNOWN if self.bound == NOT_FOUND else self.bound

    cdef Py_ssize_t longest_fit(self, Py_ssize_t start) noexcept nogil:
        cdef Py_ssize_t longest = longest_nearby(&self.limit, 1, start, self.floor, self.bound)
        return UNKNOWN if longest == NOT_FOUND else longest


@cython.internal
cdef class PlaceCut(Cutting):
    """A text that is cut at places.

    Args:
        counts: counts the text's slices, and knows what chunks are like; nothing limits them anew.
        places: see `cut_at_places`.
    """

    cdef CountedCut counts
    cdef Places places
    cdef Units units

    def __cinit__(self, CountedCut counts not None, Places places not None):
        cdef int place
        for place in range(places.n_levels):
            if counts.text.n >= 64 * places.levels[place].n_blocks:
                raise ValueError(f"a level has fewer places than the text of {counts.text.n}")
        if places.end > counts.text.n:
            raise ValueError(f"a unit ends at {places.end}, after the text of {counts.text.n}")
        self.counts = counts
        self.places = places
        self.units.after = places.n_units

    def __dealloc__(self):
        free(self.units.outermost)

    cdef Py_ssize_t find_end(
        self, Py_ssize_t start, Py_ssize_t floor, int64_t* row
    ) noexcept nogil:
        cdef Break found
        self.counts.pass_to(start)
        self.counts.floor = floor
        found = best_place(self.counts, self.places, &self.units, start, floor)
        row[1] = found.end
        row[2] = found.tokens
        row[3] = found.place
        return found.end

    cdef Py_ssize_t begin_to(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        return self.counts.begin_to(start, end)

    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        return self.counts.fits_to(start, end, most)

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        return self.counts.tokens_between(start, end)


cdef inline int fit_of(
    CountedCut counts, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t* tokens          # out
) noexcept nogil:
    """Whether a slice fits, or a status."""
    tokens[0] = counts.tokens_between(start, end)
    if tokens[0] < 0:
        return <int> tokens[0]
    return FITS if tokens[0] <= counts.most else DOES_NOT


cdef Break best_place(
    CountedCut counts, Places places, Units* units, Py_ssize_t start, Py_ssize_t floor
) noexcept nogil:
    """The end of a chunk from `start` on, after `floor`; an end of ADDS_NOTHING: none is; of
    NOT_FOUND: that takes a longer search; or another status.
    """
    cdef Break found
    cdef Py_ssize_t bound = counts.last_place(start), at, too_early = floor
    cdef int n_levels = places.n_levels + <int> counts.kinds.shape[0], fit = DOES_NOT
    cdef bint is_vital
    found.end = NOT_FOUND
    found.place = n_levels
    if bound < 0:
        found.end = bound
        return found
    if bound == counts.text.n:
        fit = fit_of(counts, start, bound, &found.tokens)
        if fit != DOES_NOT:
            found.end = bound if fit == FITS else fit
            return found
    bound = longest_whole(counts, places, units, start, floor, &found.fill)
    if bound <= floor:
        found.end = bound if bound < 0 else ADDS_NOTHING
        return found
    for found.place in range(n_levels):
        is_vital = (
            found.place >= places.n_levels
            and counts.kinds[found.place - places.n_levels] & ~LINES >= GRAPHEME
        )
        at = last_of(counts, places, found.place, start, floor, bound)
        if at == NOT_FOUND or at == too_early and not is_vital:
            continue    # mostly a place of a better level is one of this, too
        at = last_whole(
            counts, places, units, found.place, start, floor, at, is_vital, &found.tokens
        )
        if at == NOT_FOUND:
            continue
        if at < 0 or found.tokens >= found.fill or is_vital:
            found.end = at
            return found
        too_early = at
    return found


cdef Py_ssize_t longest_whole(
    CountedCut counts, Places places, Units* units, Py_ssize_t start, Py_ssize_t floor,
    Py_ssize_t* fill            # out: tokens that a chunk must have
) noexcept nogil:
    """The end of the longest fitting prefix that cuts no unit which fits; `floor`, if it ends no
    later; or a status.

    Begins with the units of the chunk; NO_MEMORY: there is none for them.
    """
    cdef Py_ssize_t longest = counts.longest_fit(start), end, tokens = counts.most
    if longest <= floor:
        return longest
    if not begin_units(units, places, floor, longest):
        return NO_MEMORY
    end = before_unit(counts, places, units, longest)
    if end <= floor:
        return floor if end >= 0 else end
    if end < longest and fit_of(counts, start, end, &tokens) < 0:
        return tokens
    fill[0] = <Py_ssize_t> ceil(counts.min_fill * min(tokens, counts.most))
    return end


cdef Py_ssize_t last_whole(
    CountedCut counts, Places places, Units* units, int level, Py_ssize_t start, Py_ssize_t floor,
    Py_ssize_t at,              # the last place of the level
    bint is_vital,
    Py_ssize_t* tokens          # out
) noexcept nogil:
    """The last place of a level whose chunk fits, in no unit that fits; NOT_FOUND or another status."""
    cdef Py_ssize_t free_end
    cdef int fit
    while at != NOT_FOUND:
        free_end = at if is_vital else before_unit(counts, places, units, at)
        if free_end < 0:
            return free_end
        if free_end == at:
            fit = fit_of(counts, start, at, tokens)
            if fit != DOES_NOT:
                return at if fit == FITS else fit
        at = last_of(counts, places, level, start, floor, min(free_end, at - 1))
    return NOT_FOUND


cdef Py_ssize_t last_of(
    CountedCut counts, Places places, int level, Py_ssize_t start, Py_ssize_t floor,
    Py_ssize_t until
) noexcept nogil:
    """The last place p of a level with floor < p <= until, or NOT_FOUND."""
    if until <= floor:
        return NOT_FOUND
    if level < places.n_levels:
        return last_bit(&places.levels[level], floor + 1, until + 1, BITS)
    return last_break(counts.text, counts.kinds[level - places.n_levels], start, floor, until)


cdef bint begin_units(
    Units* units, Places places, Py_ssize_t floor, Py_ssize_t longest
) noexcept nogil:
    """Begin with the units of a chunk that ends at `longest` or before. False: no memory.

    It adds text where the one before ends, or is the first; or it only starts elsewhere than one
    that was asked for, whose units are still known.
    """
    cdef Py_ssize_t place, count, n_units = places.n_units, before = units.first
    units.first = places.last_before(floor, before, units.after) + 1
    units.after = places.last_before(longest, units.first, n_units) + 1
    count = units.after - units.first
    if not grow(<void**> &units.outermost, &units.slots, count, sizeof(int64_t)):
        return False
    if units.first > before:
        units.asked = 0
    for place in range(units.asked, count):
        units.outermost[place] = NOT_ASKED
    units.asked = max(units.asked, count)
    return True


cdef Py_ssize_t before_unit(
    CountedCut counts, Places places, Units* units, Py_ssize_t end
) noexcept nogil:
    """Where the outermost unit of the chunk starts that has this end inside, and fits a chunk of
    its own; the end itself, if there is none; or a status.
    """
    cdef Py_ssize_t place = places.last_before(end, units.first, units.after)
    while place >= units.first and places.ends[place] <= end:
        place = places.outer[place]
    if place < units.first:
        return end
    place = outermost_that_fits(counts, places, units, place)   # all around it end later
    if place < 0:
        return end if place == NOT_FOUND else place
    return places.starts[place]


cdef Py_ssize_t outermost_that_fits(
    CountedCut counts, Places places, Units* units, Py_ssize_t place
) noexcept nogil:
    """The outermost unit of the chunk, of one and those around it, that fits; NOT_FOUND or another
    status.

    The way out is written down for the way back.
    """
    cdef int64_t* known = units.outermost
    cdef Py_ssize_t first = units.first, inner = NOT_FOUND, found, fit
    while place >= first and known[place - first] == NOT_ASKED:
        known[place - first] = inner
        inner = place
        place = places.outer[place]
    found = known[place - first] if place >= first else NOT_FOUND
    while inner != NOT_FOUND:
        place = inner
        if found == NOT_FOUND:
            fit = counts.fits_within(places.starts[place], places.ends[place])
            if fit < 0:
                return fit      # the end of the run: nothing is asked after this
            if fit == FITS:
                found = place
        inner = known[place - first]
        known[place - first] = found
    return found
