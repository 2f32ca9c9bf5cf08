"""The next chunk, which may share text with the one before: where it may start, and from which start
it adds text. What counts slices and finds ends is given. Source: docs/chunking.md, "Overlap".

Guarded by tests/chunking/test_overlaps.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, NOT_FOUND, UNKNOWN, grow, memset,
)
from cutline.kernels.base.signals cimport Watch, is_interrupted, raise_pending
from cutline.kernels.breaks.breaks cimport GRAPHEME, SENTENCE, last_break, need_kind, says_any
from cutline.kernels.breaks.graphemes cimport is_grapheme_boundary
from cutline.kernels.breaks.sentences cimport Walk, begin_sentences, next_sentence
from cutline.kernels.breaks.wrapping cimport LINES

cdef enum:
    MOST_ROWS = 256             # at a time

cdef enum:
    ALL_FIT = 0
    IS_OVER = 1                 # stepping ends here
    WIDER = 4


cdef class Cutting:
    """A text that is being cut: counts its slices, and finds where chunks end."""

    cdef bint begin_chunk(self, Py_ssize_t start) except -1:
        """Get ready for a chunk from `start` on. Returns whether it can be cut here."""
        return True

    cdef Py_ssize_t find_end(
        self, Py_ssize_t start, Py_ssize_t floor, int64_t* row
    ) noexcept nogil:
        """Find where a chunk from `start` ends, after `floor`; fill the row but for its start.

        Returns the end; ADDS_NOTHING; NOT_FOUND, where that takes a longer search; or another
        status.
        """
        return NOT_FOUND

    cdef Py_ssize_t begin_to(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Get ready to count slices that end at `end` and begin after `start`. Returns a status."""
        return 0

    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        """Whether text[start:end] has at most so many tokens: 1, 0 or a status. UNKNOWN: so much
        was counted up to this end that one pass over the chunk would cost less.
        """
        return UNKNOWN

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """The tokens of a slice, or a status."""
        return UNKNOWN


cdef class Overlap:
    """What a chunk may share with the one before. Immutable.

    Args:
        most: tokens, more than 0.
        kinds: of breaks that an overlap may begin at, the best first; no overlap says nothing,
            unless the first is of graphemes or characters.
        keeps_graphemes: no overlap may make a chunk tear one.
        regions: starts and ends of regions, and the place of the region that most closely
            encloses each, or -1; sorted by (start, -end), and they nest or are disjoint (trusted).
        closed: for each region whether no overlap begins inside, unless an inner one is open.
    """

    def __cinit__(
        self, Py_ssize_t most, const int[::1] kinds not None, bint keeps_graphemes,
        tuple regions=None, const uint8_t[::1] closed=None
    ):
        cdef Py_ssize_t place
        if most < 1 or kinds.shape[0] == 0:
            raise ValueError(f"an overlap needs tokens and kinds, got {most}, {kinds.shape[0]}")
        for place in range(kinds.shape[0]):
            need_kind(kinds[place])
        self.most = most
        self.kinds = kinds
        self.takes_any = kinds[0] & ~LINES >= GRAPHEME
        self.keeps_graphemes = keeps_graphemes
        self.closed = closed
        if regions is not None:
            self.starts, self.ends, self.outer = regions
            if not (
                self.starts.shape[0] == self.ends.shape[0] == self.outer.shape[0]
                == self.closed.shape[0]
            ):
                raise ValueError("regions need as many starts, ends, outer ones and kinds")

    cdef bint is_closed(self, Py_ssize_t place) noexcept nogil:
        """Whether the innermost region that a place divides is closed."""
        cdef Py_ssize_t low = 0, high, middle
        if self.closed is None:
            return False
        high = self.starts.shape[0]
        while low < high:
            middle = (low + high) >> 1
            if self.starts[middle] < place:
                low = middle + 1
            else:
                high = middle
        low -= 1
        while low >= 0 and self.ends[low] <= place:
            low = self.outer[low]
        return low >= 0 and self.closed[low]


cdef void free_starts(Starts* starts) noexcept nogil:
    free(starts.places)


cdef tuple cut_rows(
    Cutting cutting, const Characters* text,
    Overlap overlap,            # None: chunks share nothing
    Py_ssize_t start,           # of the chunk before; that of the first chunk, if it has none
    Py_ssize_t floor,           # where the first chunk adds text
    Py_ssize_t until,           # no chunk adds text from here on
    bint renews                 # see `next_row`
):
    """Find chunks, many at a time. Returns their numbers, four of each; and a status, that of the
    chunk which ends them.
    """
    cdef Py_ssize_t row = 0, status = 0
    cdef int64_t last[3]
    cdef Starts starts
    cdef Watch watch
    memset(&starts, 0, sizeof(starts))
    memset(&watch, 0, sizeof(watch))
    watch.is_on = True
    if not (0 <= floor and (overlap is None or 0 <= start <= floor <= text.n)):
        raise ValueError(f"0 <= start <= floor <= length must hold, got {start} and {floor}")
    cuts = zeroed_numbers("q", 4 * MOST_ROWS)
    cdef int64_t[::1] rows = cuts
    until = min(until, text.n)
    last[0] = start
    last[1] = floor
    last[2] = 0
    try:
        with nogil:
            if overlap is not None and start < floor < until:
                status = last[2] = cutting.tokens_between(start, floor)
            while status >= 0 and last[1] < until and row < MOST_ROWS:
                status = next_row(
                    overlap, &starts, cutting, text, last, last[1], renews, &rows[4 * row]
                )
                if status >= 0:
                    last[0] = rows[4 * row]
                    last[1] = rows[4 * row + 1]
                    last[2] = rows[4 * row + 2]
                    row += 1
                    if is_interrupted(&watch, work_of(last)):
                        status = INTERRUPTED
    finally:
        free_starts(&starts)
    if status == INTERRUPTED:
        raise_pending()
    return cuts[:4 * row], status


cdef Py_ssize_t next_row(
    Overlap overlap,            # None: chunks share nothing
    Starts* starts, Cutting cutting, const Characters* text,
    const int64_t* last,        # in: start, end and tokens of the chunk before
    Py_ssize_t floor,           # in: its end
    bint renews,                # in: each start is told by `begin_chunk`
    int64_t* row                # out: start, end, tokens, place of the boundary
) except? RAISED nogil:
    """Find the next chunk: from the earliest start that the overlap allows and that adds text.

    Returns its end; or a negative status: NOT_FOUND or UNKNOWN, where that takes a longer search.
    """
    cdef Py_ssize_t place, status
    starts.count = 0
    if overlap is not None and floor > last[0]:
        status = find_starts(overlap, starts, cutting, text, last)
        if status < 0:
            return status
    for place in range(starts.count - 1, -2, -1):
        row[0] = floor if place < 0 else starts.places[place]
        if renews:
            with gil:
                if not cutting.begin_chunk(row[0]):
                    return UNKNOWN
        status = cutting.find_end(row[0], floor, row)
        if status == ADDS_NOTHING:
            continue
        if (
            status >= 0 and place >= 0 and overlap.keeps_graphemes
            and not is_grapheme_boundary(text, row[0], status)
        ):
            return NOT_FOUND
        return status
    return NOT_FOUND


cdef Py_ssize_t find_starts(
    Overlap overlap, Starts* starts, Cutting cutting, const Characters* text, const int64_t* last
) noexcept nogil:
    """Step back at the best level whose overlap says something. Returns a status."""
    cdef Py_ssize_t start = last[0], end = last[1], place, status
    status = cutting.begin_to(start, end)
    if status < 0:
        return status
    for place in range(overlap.kinds.shape[0]):
        status = step_back(overlap, starts, cutting, text, overlap.kinds[place], last)
        if status < 0:
            return status
        if starts.count > 0 and (
            overlap.takes_any or says_any(text, starts.places[starts.count - 1], end)
        ):
            return 0
    starts.count = 0
    return 0


cdef Py_ssize_t step_back(
    Overlap overlap, Starts* starts, Cutting cutting, const Characters* text, int kind,
    const int64_t* last
) noexcept nogil:
    """Step back from break to break while the text up to the end fits the overlap; a status."""
    cdef Py_ssize_t start = last[0], end = last[1], width = end - start, begin, status
    if overlap.most < last[2]:
        # Estimate from the chunk's characters per token, plus half.
        width = 3 * overlap.most * width // (2 * last[2]) + 1
    while True:
        begin = max(start, end - width)
        starts.count = 0
        if overlap.takes_any or says_any(text, begin, end):
            status = step_within(overlap, starts, cutting, text, kind, start, begin, end)
            if status != ALL_FIT:
                return status
        if begin == start:
            return ALL_FIT
        status = cutting.fits_to(begin, end, overlap.most)
        if status == 0:
            return step_from(overlap, starts, cutting, text, kind, start, begin, end)
        if status < 0:
            return status
        width *= WIDER


cdef Py_ssize_t step_within(
    Overlap overlap, Starts* starts, Cutting cutting, const Characters* text, int kind,
    Py_ssize_t start, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """Step to the breaks b with begin < b < end, from the last one on. ALL_FIT, IS_OVER, a status."""
    cdef Py_ssize_t place, status
    if kind & ~LINES == SENTENCE:
        return step_through_sentences(
            overlap, starts, cutting, text, kind & LINES, start, begin, end
        )
    place = last_break(text, kind, start, begin, end - 1)
    while place != NOT_FOUND:
        status = step_to(overlap, starts, cutting, place, end)
        if status != ALL_FIT:
            return status
        place = last_break(text, kind, start, begin, place - 1)
    return ALL_FIT


cdef Py_ssize_t step_through_sentences(
    Overlap overlap, Starts* starts, Cutting cutting, const Characters* text, int lines,
    Py_ssize_t start, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """The same for sentences, which are listed forwards: where they end depends on the beginning."""
    cdef Py_ssize_t place, status, n = 0, at
    cdef Walk walk
    begin_sentences(&walk, text, lines, start, begin, end - 1)
    place = next_sentence(&walk, begin)
    while place != NOT_FOUND:
        if not grow(<void**> &starts.places, &starts.slots, n + 1, sizeof(int64_t)):
            return NO_MEMORY
        starts.places[n] = place
        n += 1
        place = next_sentence(&walk, place)
    for at in range(n // 2):
        place = starts.places[at]
        starts.places[at] = starts.places[n - 1 - at]
        starts.places[n - 1 - at] = place
    for at in range(n):     # those that are kept take the place of ones that were read
        status = step_to(overlap, starts, cutting, starts.places[at], end)
        if status != ALL_FIT:
            return status
    return ALL_FIT


cdef Py_ssize_t step_from(
    Overlap overlap, Starts* starts, Cutting cutting, const Characters* text, int kind,
    Py_ssize_t start, Py_ssize_t place, Py_ssize_t end
) noexcept nogil:
    """Step on from a place that is over: usually the first break is, too. Returns a status."""
    cdef Py_ssize_t status
    while True:
        place = last_break(text, kind, start, start, place)
        if place == NOT_FOUND:
            return ALL_FIT
        status = step_to(overlap, starts, cutting, place, end)
        if status != ALL_FIT:
            return status
        place -= 1


cdef Py_ssize_t step_to(
    Overlap overlap, Starts* starts, Cutting cutting, Py_ssize_t place, Py_ssize_t end
) noexcept nogil:
    """Step to a break. ALL_FIT; IS_OVER: the text from there is over the overlap; or a status."""
    cdef Py_ssize_t status
    if overlap.is_closed(place):
        return ALL_FIT
    status = cutting.fits_to(place, end, overlap.most)
    if status <= 0:
        return IS_OVER if status == 0 else status
    if not grow(<void**> &starts.places, &starts.slots, starts.count + 1, sizeof(int64_t)):
        return NO_MEMORY
    starts.places[starts.count] = place
    starts.count += 1
    return ALL_FIT
