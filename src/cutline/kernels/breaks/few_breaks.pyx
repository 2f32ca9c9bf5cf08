"""Where to cut a text so that each chunk ends at its best break, where few slices are counted.

Chunks of many tokens that share nothing ask for few counts. So a pass over the text keeps few
*starts*, before and after which it is counted apart, with the tokens before each. A slice is
counted in three parts: up to its first start, from there to its last one by a difference, and from
there on. Source: docs/counting.md, "Few slices".

Guarded by tests/chunking/test_few_slices.py.
"""

from cython cimport auto_pickle
from libc.stdlib cimport free

from cutline.kernels.base.characters cimport Characters, characters_of
from cutline.kernels.base.common cimport INTERRUPTED, NO_LIMIT, NO_MEMORY, NOT_FOUND, UNKNOWN
from cutline.kernels.base.signals cimport raise_pending
from cutline.kernels.breaks.outlined cimport Places, cut_counted
from cutline.kernels.breaks.overlaps cimport Overlap
from cutline.kernels.cut.longest_fit cimport begin_search, free_search
from cutline.kernels.encode.encoder cimport utf8_data
from cutline.kernels.encode.few_starts cimport GAP, FewStart

cdef enum:
    NEAR_STARTS = 8             # that are looked over first


def cut_few_at_breaks(
    FewSums sums not None, Py_ssize_t start, Py_ssize_t floor, Py_ssize_t until, Py_ssize_t n,
    double min_fill, const int[::1] kinds not None, Overlap overlap=None, renew=None,
    Places places=None
):
    """Cut at the last breaks that fit, while they fill chunks: see `cut_at_breaks`.

    Args:
        sums: are known.
        places: of the text; None: there are none. See `cut_at_places`.

    Returns:
        int64, four of each chunk, at most so many; and the longest end of the chunk after them,
        which takes another kind of boundary, or -1.
    """
    cdef FewCut cut = sums.begin_cut()
    cut.limit_chunks(n, min_fill, kinds, renew)
    try:
        return cut_counted(cut, places, overlap, start, floor, until)
    finally:
        sums.encoder.release(cut.owned)


@auto_pickle(False)
cdef class FewSums:
    """The tokens before few places of a text.

    Args:
        encoder: counts.
        text: has neither surrogates nor added tokens.
        most: tokens from one place to the next, as many as a character finds around it on average.

    Attributes:
        are_known: False: places are so far apart that counting slices would take long.
    """

    def __cinit__(self, Encoder encoder not None, str text not None, double most, *_):
        cdef Characters characters = characters_of(text)
        self.encoder = encoder
        self.held = text
        self.starts.gap = GAP
        self.starts.most = most
        self.begin_text(&characters)

    def __dealloc__(self):
        free(self.starts.items)

    cdef void begin_text(self, const Characters* text) noexcept nogil:
        """Begin with a text, which outlives this or the next one."""
        self.text = text[0]
        self.starts.count = 0
        self.starts.gap = GAP
        self.starts.last = -GAP
        self.starts.squares = 0

    cdef int build(self, OwnedState owned, object owner) except -1:
        """Find the starts. The owner has the text's UTF-8, if that is read."""
        cdef Py_ssize_t n = 0, outcome
        cdef const uint8_t* utf8 = utf8_data(owner, &n)
        owned.state.lookups.watch.is_on = True
        with nogil:
            outcome = self.count_all(owned, utf8, n)
        if outcome == INTERRUPTED:
            raise_pending()
        if outcome == NO_MEMORY:
            raise MemoryError(f"no memory for the tokens of {self.text.n} characters of text")
        self.encoder.release(owned)
        self.are_known = outcome >= 0
        return 0

    cdef Py_ssize_t count_all(
        self, OwnedState owned, const uint8_t* utf8, Py_ssize_t n
    ) noexcept nogil:
        """Count the tokens of the text, and add starts. UNKNOWN: too far apart; or a status."""
        return UNKNOWN

    cdef FewCut begin_cut(self):
        """What cuts the text."""
        return FewCut(self)

    cdef Py_ssize_t last_start(
        self, Py_ssize_t near, Py_ssize_t at, Py_ssize_t tokens
    ) noexcept nogil:
        """The number of the last start up to a place, with at most so many tokens before it.

        It is looked for from a number on that is near, or NOT_FOUND. NOT_FOUND: there is none.
        """
        cdef const FewStart* starts = self.starts.items
        cdef Py_ssize_t low = near, step = NEAR_STARTS, high, middle
        if low >= self.starts.count or low >= 0 and (
            starts[low].at > at or starts[low].tokens > tokens
        ):
            low = NOT_FOUND
        # A bisection of all starts would wait for memory.
        while True:
            high = low + step
            if high >= self.starts.count:
                high = self.starts.count
                break
            if starts[high].at > at or starts[high].tokens > tokens:
                break
            low = high
            step *= 2
        while low + 1 < high:
            middle = (low + high) >> 1
            if starts[middle].at <= at and starts[middle].tokens <= tokens:
                low = middle
            else:
                high = middle
        return low


cdef class FewCut(CountedCut):
    """A text that is cut at breaks."""

    def __cinit__(self, FewSums sums not None):
        self.sums = sums
        self.text = &sums.text
        self.begin_text()
        self.source = sums.encoder.source()
        self.owned = sums.encoder.take_state()
        begin_search(
            &self.search, &sums.encoder.tables.bpe, self.source, &self.owned.state,
            sums.encoder.scan_tables is not None and sums.encoder.scan_tables.has_gaps,
        )

    def __dealloc__(self):
        free_search(&self.search)

    cdef void begin_text(self) noexcept nogil:
        """Begin with another text of the sums."""
        self.asked = NOT_FOUND
        self.first = 0

    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end, bint leads) noexcept nogil:
        """Count the tokens of a slice, with what is put before texts or without; or a status."""
        return UNKNOWN

    cdef Py_ssize_t longest_alone(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint leads
    ) noexcept nogil:
        """The greatest end, up to one, of such a slice with at most n tokens; or a status."""
        return UNKNOWN

    cdef Py_ssize_t find_head(self, Py_ssize_t start) noexcept nogil:
        """Count the tokens of slices from a place up to the first start after it; or a status."""
        if self.asked == start:
            return 0
        self.asked = NOT_FOUND
        self.head = 0
        self.first = self.sums.last_start(self.first - 1, start, NO_LIMIT) + 1
        if self.first < self.sums.starts.count:
            self.head = self.count(start, self.sums.starts.items[self.first].at, True)
            if self.head < 0:
                return self.head
        self.asked = start
        return 0

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t status = self.find_head(start), last, tail = 0
        if status < 0:
            return status
        if self.first == self.sums.starts.count or end < self.sums.starts.items[self.first].at:
            return self.count(start, end, True)
        last = self.sums.last_start(self.first, end, NO_LIMIT)
        if self.sums.starts.items[last].at < end:
            tail = self.count(self.sums.starts.items[last].at, end, False)
            if tail < 0:
                return tail
        return self.tokens_before(last) + tail

    cdef Py_ssize_t tokens_before(self, Py_ssize_t place) noexcept nogil:
        """The tokens from where the last slice begins to its first start or a later one."""
        return (
            self.head + self.sums.starts.items[place].tokens
            - self.sums.starts.items[self.first].tokens
        )

    cdef Py_ssize_t last_start_within(self) noexcept nogil:
        """The last start before which the last slice has at most `most` tokens.

        NOT_FOUND: there is none, not even its first one.
        """
        if self.first == self.sums.starts.count or self.head > self.most:
            return NOT_FOUND
        return self.sums.last_start(
            self.first, self.text.n, self.sums.starts.items[self.first].tokens + self.most - self.head
        )

    cdef Py_ssize_t last_place(self, Py_ssize_t start) noexcept nogil:
        # Nothing fits that goes beyond a start with too many tokens before it.
        cdef Py_ssize_t status = self.find_head(start), place
        if status < 0:
            return status
        place = self.last_start_within()
        place = self.first if place == NOT_FOUND else place + 1
        if place == self.sums.starts.count:
            return self.text.n
        return self.sums.starts.items[place].at - 1

    cdef Py_ssize_t longest_fit(self, Py_ssize_t start) noexcept nogil:
        cdef Py_ssize_t bound = self.last_place(start), place
        if bound < 0:
            return bound
        place = self.last_start_within()
        if place == NOT_FOUND:
            return self.longest_alone(start, bound, self.most, True)
        return self.longest_alone(
            self.sums.starts.items[place].at, bound, self.most - self.tokens_before(place), False
        )
