"""Where to cut a text so that each chunk ends at its best break, for models whose texts are counted
by their runs.

Few starts of runs are kept, with the tokens before each. A slice is counted in three parts: up to
its first start, from there to its last one by a difference, and from there on.

Guarded by tests/chunking/test_spelled.py.
"""

cimport cython
from libc.stdlib cimport free

from cutline.kernels.base.characters cimport Characters, characters_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NO_MEMORY, NOT_FOUND, grow, memset, uint8_t,
)
from cutline.kernels.base.signals cimport raise_pending
from cutline.kernels.breaks.counted_breaks cimport CountedCut
from cutline.kernels.breaks.overlaps cimport cut_rows
from cutline.kernels.cut.longest_fit cimport (
    Cut, Search, begin_search, free_search, longest_fitting_prefix,
)
from cutline.kernels.encode.batches cimport OwnedState, Source
from cutline.kernels.encode.encoder cimport Encoder
from cutline.kernels.encode.run_counts cimport (
    CHARACTER_BYTES, RunRules, RunStarts, Spelling, count_by_runs, prefix_of, spell_part,
)
from cutline.kernels.encode.runs cimport NO_PREFIX, Separators

cdef enum:
    GAP = 24                    # characters from one start to the next, or more


def cut_runs_at_breaks(
    RunSums sums not None, Py_ssize_t start, Py_ssize_t until, Py_ssize_t n, double min_fill,
    const int[::1] kinds not None, renew=None
):
    """Cut at the last breaks that fit, while they fill chunks, which share nothing: see
    `cut_at_breaks`.

    Args:
        sums: are known.

    Returns:
        int64, four of each chunk, at most so many; and the longest end of the chunk after them,
        which takes another kind of boundary, or -1.
    """
    cdef RunCut cut = RunCut(sums, n, min_fill, kinds, renew)
    try:
        rows, status = cut_rows(
            cut, &sums.text, None, start, start, until, renew is not None
        )
    finally:
        sums.encoder.release(cut.owned)
    if status == NO_MEMORY:
        raise MemoryError("no memory for the tokens of a chunk")
    return rows, cut.longest if status == NOT_FOUND else NOT_FOUND


@cython.auto_pickle(False)
cdef class RunSums:
    """The tokens before some of the runs of a text.

    Args:
        encoder: counts.
        text: has neither surrogates nor added tokens.
        rules: of the encoder.

    Attributes:
        are_known: False: runs are so long that counting slices would take long.
    """

    def __cinit__(self, Encoder encoder not None, str text not None, RunRules rules not None):
        cdef OwnedState owned = encoder.take_state()
        cdef Source source = encoder.source()
        cdef Py_ssize_t total
        self.encoder = encoder
        self.rules = rules
        self.held = text
        self.text = characters_of(text)
        memset(&self.starts, 0, sizeof(RunStarts))
        self.starts.gap = GAP
        self.starts.last = -GAP
        owned.reserve_runs()
        owned.state.lookups.watch.is_on = True
        with nogil:
            total = count_by_runs(
                &encoder.tables.bpe, &source, &owned.state, &rules.separators, &rules.spelling,
                &self.text, &self.starts,
            )
        if total == INTERRUPTED:
            raise_pending()
        if total == NO_MEMORY:
            raise MemoryError(f"no memory for the tokens of {len(text)} characters of text")
        encoder.release(owned)
        self.are_known = total >= 0

    def __dealloc__(self):
        free(self.starts.items)

    cdef Py_ssize_t last_start(self, Py_ssize_t at, Py_ssize_t tokens) noexcept nogil:
        """The number of the last start up to a place, with at most so many tokens before it.

        NOT_FOUND: there is none.
        """
        cdef Py_ssize_t low = NOT_FOUND, high = self.starts.count, middle
        while low + 1 < high:
            middle = (low + high) >> 1
            if self.starts.items[middle].at <= at and self.starts.items[middle].tokens <= tokens:
                low = middle
            else:
                high = middle
        return low


@cython.internal
cdef class RunCut(CountedCut):
    """A text that is cut at breaks.

    Args:
        sums, n, min_fill, kinds, renew: see `cut_runs_at_breaks`.
    """

    cdef RunSums sums
    cdef OwnedState owned
    cdef Source source
    cdef Search search
    cdef uint8_t* utf8          # that is searched
    cdef Py_ssize_t utf8_bytes
    cdef Py_ssize_t asked       # where the last slice began whose head was counted
    cdef Py_ssize_t first       # the number of its first start; that of all, if it has none
    cdef Py_ssize_t head        # the tokens before that; 0, if there is none

    def __cinit__(
        self, RunSums sums not None, Py_ssize_t n, double min_fill,
        const int[::1] kinds not None, renew
    ):
        self.limit_chunks(n, min_fill, kinds, renew)
        self.sums = sums
        self.text = &sums.text
        self.asked = NOT_FOUND
        self.source = sums.encoder.source()
        self.owned = sums.encoder.take_state()
        self.owned.reserve_runs()
        begin_search(
            &self.search, &sums.encoder.tables.bpe, self.source, &self.owned.state,
            sums.encoder.scan_tables.has_gaps,
        )

    def __dealloc__(self):
        free_search(&self.search)
        free(self.utf8)

    cdef Characters part(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """The characters of a slice."""
        cdef Characters part = self.text[0]
        part.data = <const uint8_t*> part.data + start * part.kind
        part.n = end - start
        return part

    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end, bint leads) noexcept nogil:
        """Count the tokens of a slice, with what is put before texts or without; or a status."""
        cdef Characters part = self.part(start, end)
        cdef Separators separators = self.sums.rules.separators
        if not leads:
            separators.prefix = NO_PREFIX
        return count_by_runs(
            &self.sums.encoder.tables.bpe, &self.source, &self.owned.state, &separators,
            &self.sums.rules.spelling, &part, NULL,
        )

    cdef Py_ssize_t find_head(self, Py_ssize_t start) noexcept nogil:
        """Count the tokens of slices from a start up to their first start of a run; or a status.

        That is after the slice's own, before which a blank may be put.
        """
        if self.asked == start:
            return 0
        self.asked = NOT_FOUND
        self.head = 0
        self.first = self.sums.last_start(start, NO_LIMIT) + 1
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
        last = self.sums.last_start(end, NO_LIMIT)
        if self.sums.starts.items[last].at < end:
            tail = self.count(self.sums.starts.items[last].at, end, False)
            if tail < 0:
                return tail
        return self.tokens_before(last) + tail

    cdef Py_ssize_t tokens_before(self, Py_ssize_t place) noexcept nogil:
        """The tokens from the last slice's start to a start of a run, the first or a later one."""
        return (
            self.head + self.sums.starts.items[place].tokens
            - self.sums.starts.items[self.first].tokens
        )

    cdef Py_ssize_t last_start_within(self) noexcept nogil:
        """The last start of a run before which the last slice has at most `most` tokens.

        NOT_FOUND: there is none, not even its first one.
        """
        if self.first == self.sums.starts.count or self.head > self.most:
            return NOT_FOUND
        return self.sums.last_start(
            self.text.n, self.sums.starts.items[self.first].tokens + self.most - self.head
        )

    cdef Py_ssize_t last_place(self, Py_ssize_t start) noexcept nogil:
        # Each run has a token: nothing fits that goes beyond a start with too many before it.
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

    cdef Py_ssize_t longest_alone(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint leads
    ) noexcept nogil:
        """The greatest end, up to one, of a slice with at most n tokens, found in its UTF-8."""
        cdef const Spelling* spelling = &self.sums.rules.spelling
        cdef Characters part = self.part(start, end)
        cdef Py_ssize_t written = 0, width
        cdef Cut cut
        cdef uint8_t character[CHARACTER_BYTES]
        if not grow(
            <void**> &self.utf8, &self.utf8_bytes, CHARACTER_BYTES * part.n + 1, 1
        ):
            return NO_MEMORY
        if leads and part.n > 0:
            written = prefix_of(&part, self.sums.rules.separators.prefix, spelling)
        self.utf8[0] = c" "
        self.search.text = self.utf8
        self.search.n = written + spell_part(spelling, &part, 0, part.n, self.utf8 + written)
        self.search.prefixes.start = NOT_FOUND
        cut = longest_fitting_prefix(&self.search, 0, n)
        if cut.end < 0:
            return cut.end
        while start < end:
            width = spell_part(spelling, self.text, start, start + 1, character)
            if written + width > cut.end:
                break
            written += width
            start += 1
        return start
