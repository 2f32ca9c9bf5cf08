"""Cuts at breaks for texts that are split as they are: starts are where pieces end between two
characters that no piece has side by side.

Guarded by tests/chunking/test_few_slices.py.
"""

cimport cython

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NOT_FOUND, UNKNOWN, characters_in, is_continuation, uint8_t,
    uint32_t,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.breaks.few_breaks cimport FewCut, FewSums
from cutline.kernels.cut.longest_fit cimport Cut, longest_fitting_prefix
from cutline.kernels.encode.batches cimport (
    Batch, OwnedState, Source, count_batch, fill_batch, use_lanes,
)
from cutline.kernels.encode.encoder cimport text_utf8
from cutline.kernels.encode.few_starts cimport add_few_start, end_starts
from cutline.kernels.scan.scan cimport Scanner, next_class

cdef enum:
    PASSED_OVER = 4             # pieces after a start: they are seldom longer than the gap


@cython.auto_pickle(False)
cdef class PieceSums(FewSums):
    """The tokens before some of the pieces of a text.

    Args:
        encoder, text, most: see `FewSums`; nothing changes the text before it is split.
        owner: its UTF-8: bytes, or the text itself where it is ASCII. Not kept.
    """

    cdef Source source

    def __cinit__(self, encoder, text, double most, owner not None):
        self.source = self.encoder.source()
        if self.source.scanner != NULL and self.source.scanner.apart != NULL:
            self.build(self.encoder.take_state(), owner)

    cdef bint is_start(self, const uint8_t* utf8, Py_ssize_t at) noexcept nogil:
        """Whether what is before and after a place inside the text is counted apart."""
        cdef const Scanner* scanner = self.source.scanner
        cdef Py_ssize_t before = at - 1
        cdef uint32_t first
        while is_continuation(utf8[before]):
            before -= 1
        first = next_class(scanner, utf8, &before)
        return scanner.apart[first * scanner.end_class + next_class(scanner, utf8, &at)]

    cdef Py_ssize_t count_all(
        self, OwnedState owned, const uint8_t* utf8, Py_ssize_t n
    ) noexcept nogil:
        cdef Batch batch
        cdef Py_ssize_t at = 0, done, added, total = 0, status
        cdef Py_ssize_t told = 0, characters = 0    # bytes up to the last start, their characters
        use_lanes(&self.source, &owned.state, n, tells_lookahead=False)
        while at < n:
            done = at
            at = fill_batch(&self.source, utf8, at, n, NO_LIMIT, &batch)
            added = count_batch(&self.encoder.tables.bpe, &owned.state, utf8, n, &batch)
            if added < 0:
                return added
            status = self.add_starts(utf8, n, &batch, total, &told, &characters)
            if status < 0:
                return status
            total += added
            if is_interrupted(&owned.state.lookups.watch, at - done):
                return INTERRUPTED
        characters += characters_in(utf8 + told, n - told, n - told)
        return total if end_starts(&self.starts, characters, total) == 0 else UNKNOWN

    cdef Py_ssize_t add_starts(
        self, const uint8_t* utf8, Py_ssize_t n, const Batch* batch, Py_ssize_t total,
        Py_ssize_t* told, Py_ssize_t* characters    # in and out
    ) noexcept nogil:
        """Add some of the places where pieces of a batch end. 0, NO_MEMORY or UNKNOWN."""
        cdef Py_ssize_t piece = 0, end, status
        while piece < batch.count:
            end = batch.ends[piece]
            piece += 1
            if end - told[0] < self.starts.gap or end == n or not self.is_start(utf8, end):
                continue
            characters[0] += characters_in(utf8 + told[0], end - told[0], n - told[0])
            told[0] = end
            if characters[0] - self.starts.last < self.starts.gap:
                continue
            status = add_few_start(&self.starts, characters[0], total + batch.totals[piece - 1])
            if status < 0:
                return status
            piece += PASSED_OVER
        return 0

    cdef FewCut begin_cut(self):
        return PieceCut(self)


@cython.internal
cdef class PieceCut(FewCut):
    """A text that is cut at breaks, counted by its pieces."""

    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end, bint leads) noexcept nogil:
        cdef Characters part = self.part(start, end)
        return self.sums.encoder.encode_one(self.owned, &self.source, &part, -1, NO_LIMIT)

    cdef Py_ssize_t longest_alone(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint leads
    ) noexcept nogil:
        cdef Characters part = self.part(start, end)
        cdef Cut cut
        self.search.n = text_utf8(&self.owned.state, &part, &self.search.text)
        if self.search.n < 0:
            return self.search.n
        self.search.prefixes.start = NOT_FOUND
        cut = longest_fitting_prefix(&self.search, 0, n)
        if cut.end < 0:
            return cut.end
        return start + characters_in(self.search.text, cut.end, self.search.n)
