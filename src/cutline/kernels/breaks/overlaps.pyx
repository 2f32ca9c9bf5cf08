"""The next chunk, which may share text with the one before: where it may start, and from which start
it adds text. What counts slices and finds ends is given. Source: docs/chunking.md, "Overlap".

Guarded by tests/chunking/test_overlaps.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.common cimport NO_MEMORY, NOT_FOUND, grow
from cutline.kernels.breaks.breaks cimport GRAPHEME, SENTENCE, last_break, need_kind, says_any
from cutline.kernels.breaks.graphemes cimport is_grapheme_boundary
from cutline.kernels.breaks.sentences cimport Walk, begin_sentences, next_sentence
from cutline.kernels.breaks.wrapping cimport LINES

cdef enum:
    ALL_FIT = 0
    IS_OVER = 1                 # stepping ends here
    WIDER = 4


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
        if regions is not None:
            self.starts, self.ends, self.outer = regions
            self.closed = closed
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


cdef Py_ssize_t next_row(
    Overlap overlap,            # None: chunks share nothing
    Starts* starts, Measure* measure, const Characters* text,
    const int64_t* last,        # in: start, end and tokens of the chunk before
    Py_ssize_t floor,           # in: its end
    int64_t* row                # out: start, end, tokens, place of the boundary
) noexcept nogil:
    """Find the next chunk: from the earliest start that the overlap allows and that adds text.

    Returns its end; or a negative status: NOT_FOUND, where that takes a longer search.
    """
    cdef Py_ssize_t place, status
    starts.count = 0
    if overlap is not None and floor > last[0]:
        status = find_starts(overlap, starts, measure, text, last)
        if status < 0:
            return status
    for place in range(starts.count - 1, -2, -1):
        row[0] = floor if place < 0 else starts.places[place]
        status = measure.find_end(measure.by, row[0], floor, row)
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
    Overlap overlap, Starts* starts, Measure* measure, const Characters* text, const int64_t* last
) noexcept nogil:
    """Step back at the best level whose overlap says something. Returns a status."""
    cdef Py_ssize_t start = last[0], end = last[1], place, status
    status = measure.begin_to(measure.by, start, end)
    if status < 0:
        return status
    for place in range(overlap.kinds.shape[0]):
        status = step_back(overlap, starts, measure, text, overlap.kinds[place], last)
        if status < 0:
            return status
        if starts.count > 0 and (
            overlap.takes_any or says_any(text, starts.places[starts.count - 1], end)
        ):
            return 0
    starts.count = 0
    return 0


cdef Py_ssize_t step_back(
    Overlap overlap, Starts* starts, Measure* measure, const Characters* text, int kind,
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
            status = step_within(overlap, starts, measure, text, kind, start, begin, end)
            if status != ALL_FIT:
                return status
        if begin == start:
            return ALL_FIT
        status = measure.fits_to(measure.by, begin, end, overlap.most)
        if status == 0:
            return step_from(overlap, starts, measure, text, kind, start, begin, end)
        if status < 0:
            return status
        width *= WIDER


cdef Py_ssize_t step_within(
    Overlap overlap, Starts* starts, Measure* measure, const Characters* text, int kind,
    Py_ssize_t start, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """Step to the breaks b with begin < b < end, from the last one on. ALL_FIT, IS_OVER, a status."""
    cdef Py_ssize_t place, status
    if kind & ~LINES == SENTENCE:
        return step_through_sentences(
            overlap, starts, measure, text, kind & LINES, start, begin, end
        )
    place = last_break(text, kind, start, begin, end - 1)
    while place != NOT_FOUND:
        status = step_to(overlap, starts, measure, place, end)
        if status != ALL_FIT:
            return status
        place = last_break(text, kind, start, begin, place - 1)
    return ALL_FIT


cdef Py_ssize_t step_through_sentences(
    Overlap overlap, Starts* starts, Measure* measure, const Characters* text, int lines,
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
        status = step_to(overlap, starts, measure, starts.places[at], end)
        if status != ALL_FIT:
            return status
    return ALL_FIT


cdef Py_ssize_t step_from(
    Overlap overlap, Starts* starts, Measure* measure, const Characters* text, int kind,
    Py_ssize_t start, Py_ssize_t place, Py_ssize_t end
) noexcept nogil:
    """Step on from a place that is over: usually the first break is, too. Returns a status."""
    cdef Py_ssize_t status
    while True:
        place = last_break(text, kind, start, start, place)
        if place == NOT_FOUND:
            return ALL_FIT
        status = step_to(overlap, starts, measure, place, end)
        if status != ALL_FIT:
            return status
        place -= 1


cdef Py_ssize_t step_to(
    Overlap overlap, Starts* starts, Measure* measure, Py_ssize_t place, Py_ssize_t end
) noexcept nogil:
    """Step to a break. ALL_FIT; IS_OVER: the text from there is over the overlap; or a status."""
    cdef Py_ssize_t status
    if overlap.is_closed(place):
        return ALL_FIT
    status = measure.fits_to(measure.by, place, end, overlap.most)
    if status <= 0:
        return IS_OVER if status == 0 else status
    if not grow(<void**> &starts.places, &starts.slots, starts.count + 1, sizeof(int64_t)):
        return NO_MEMORY
    starts.places[starts.count] = place
    starts.count += 1
    return ALL_FIT
