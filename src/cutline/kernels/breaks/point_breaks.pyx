"""Cuts at breaks of any text that a tokenizer changes: starts are safe split points.

What counts a part between two of them may be slow; see `KnownParts`. Source: docs/tokenizers.md,
"Safe split points".

Guarded by tests/pipeline/test_known_parts.py.
"""

cimport cython
from cpython.exc cimport PyErr_SetObject

from cutline.kernels.base.common cimport INTERRUPTED, NO_MEMORY, UNKNOWN, int64_t, uint8_t
from cutline.kernels.breaks.few_breaks cimport FewCut, FewSums
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.encode.few_starts cimport append_start
from cutline.kernels.encode.known_parts cimport KnownParts

cdef enum:
    MOST_WORK = 16              # characters, for each one of a chunk that shares some of them
    LEAST_WORK = 4096
    WORK = 8                    # of a count, in characters
    MOST_ENDS = 32              # that are tried one after another
    NEAR_STARTS = 8             # characters from one to the next, or more: parts are looked up fast


@cython.auto_pickle(False)
cdef class PointSums(FewSums):
    """The tokens before some of the safe split points of a text.

    Args:
        encoder, text: see `FewSums`.
        most: is not read: what lies far from each start takes a longer search.
        parts: the text's.
        before: int64: the tokens from the first point to each.
        longest: finds the longest slice from one place, up to another, that has at most so many
            tokens; takes whether it is a slice of its own, or begins at a point.
    """

    cdef KnownParts parts
    cdef const int64_t[::1] before
    cdef object longest

    def __cinit__(
        self, encoder, text, double most, KnownParts parts not None,
        const int64_t[::1] before not None, longest not None
    ):
        if before.shape[0] < parts.points.shape[0]:
            raise ValueError(f"{parts.points.shape[0]} points need as many counts")
        self.parts = parts
        self.before = before
        self.longest = longest
        self.build(self.encoder.take_state(), "")

    cdef Py_ssize_t count_all(
        self, OwnedState owned, const uint8_t* utf8, Py_ssize_t n
    ) noexcept nogil:
        cdef Py_ssize_t place, at
        for place in range(self.parts.points.shape[0]):
            at = self.parts.points[place]
            if at - self.starts.last >= NEAR_STARTS and not append_start(
                &self.starts, at, self.before[place]
            ):
                return NO_MEMORY
        return 0

    cdef FewCut begin_cut(self):
        return KnownCut(self)


cdef class PointCut(FewCut):
    """A text that is cut at breaks, in which slices may take long to count."""

    cdef Py_ssize_t begin_to(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        self.work = 0
        self.most_work = LEAST_WORK + MOST_WORK * (end - start)
        return 0

    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        cdef Py_ssize_t tokens
        if self.work > self.most_work:
            return UNKNOWN
        tokens = FewCut.fits_to(self, start, end, most)
        self.work += WORK
        if self.first < self.sums.starts.count:
            self.work += self.sums.starts.items[self.first].at - start
        return tokens


@cython.internal
cdef class KnownCut(PointCut):
    """A text that is cut at breaks, counted by parts that are looked up."""

    cdef KnownParts parts
    cdef object longest

    def __cinit__(self, PointSums sums not None):
        self.parts = sums.parts
        self.longest = sums.longest
        self.owned.reserve_runs()

    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end, bint leads) noexcept nogil:
        return self.parts.count_part(self.owned, start, end, leads)

    cdef Py_ssize_t longest_alone(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint leads
    ) noexcept nogil:
        # The counts before and after a point add up: the last one that fits decides.
        cdef const int64_t[::1] points = self.parts.points
        cdef Py_ssize_t number = self.parts.first_after(start), tokens
        while number < points.shape[0] and points[number] <= end:
            tokens = self.parts.count_one(self.owned, start, points[number], leads)
            if tokens < 0:
                return tokens
            if tokens > n:
                end = points[number] - 1
                break
            n -= tokens
            start = points[number]
            leads = False
            number += 1
        if number < points.shape[0]:
            end = min(end, points[number] - 1)
        if end - start > MOST_ENDS:
            return self.ask_longest(start, end, n, leads)
        while end > start:
            tokens = self.parts.count_one(self.owned, start, end, leads)
            if tokens < 0:
                return tokens
            if tokens <= n:
                break
            end -= 1
        return end

    cdef Py_ssize_t ask_longest(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint leads
    ) noexcept with gil:
        """Find the same in Python; or INTERRUPTED."""
        try:
            return self.longest(start, end, n, leads)
        except BaseException as error:
            PyErr_SetObject(type(error), error)
            return INTERRUPTED
