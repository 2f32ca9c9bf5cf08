"""Cuts at breaks of a text that has added tokens: starts are safe split points.

Guarded by tests/pipeline/test_among_added.py.
"""

cimport cython
from cpython.exc cimport PyErr_SetObject

from cutline.kernels.base.characters cimport Characters, slice_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NOT_FOUND, UNKNOWN, characters_in, int64_t, uint8_t,
)
from cutline.kernels.breaks.few_breaks cimport FewCut, FewSums
from cutline.kernels.breaks.point_breaks cimport PointCut
from cutline.kernels.cut.longest_fit cimport Cut, longest_fitting_prefix
from cutline.kernels.encode.among_added cimport AmongAdded
from cutline.kernels.encode.batches cimport OwnedState, Source
from cutline.kernels.encode.encoder cimport text_utf8
from cutline.kernels.encode.few_starts cimport add_few_start, end_starts


@cython.auto_pickle(False)
cdef class AddedSums(FewSums):
    """The tokens before some of the safe split points of a text.

    Args:
        encoder, text, most: see `FewSums`; but there are added tokens.
        added: the text's.
        points: int64: its safe split points, in order (trusted); none is inside an added token.
        count: counts a text; called for slices that begin or end inside an added token.
    """

    cdef AmongAdded added
    cdef const int64_t[::1] points
    cdef Source source
    cdef object count_alone

    def __cinit__(
        self, encoder, text, double most, AmongAdded added not None,
        const int64_t[::1] points not None, count not None
    ):
        self.added = added
        self.points = points
        self.count_alone = count
        self.source = self.encoder.source()
        cdef OwnedState owned = self.encoder.take_state()
        if added.rules is not None:
            owned.reserve_runs()
        self.build(owned, "")

    cdef Py_ssize_t count_all(
        self, OwnedState owned, const uint8_t* utf8, Py_ssize_t n
    ) noexcept nogil:
        cdef Py_ssize_t place, at = 0, total = 0, tokens
        for place in range(self.points.shape[0]):
            if self.points[place] - self.starts.last < self.starts.gap:
                continue
            tokens = self.added.count_part(owned, &self.source, at, self.points[place])
            if tokens < 0:
                return tokens
            total += tokens
            at = self.points[place]
            tokens = add_few_start(&self.starts, at, total)
            if tokens < 0:
                return tokens
        tokens = self.added.count_part(owned, &self.source, at, self.text.n)
        if tokens < 0:
            return tokens
        return end_starts(&self.starts, self.text.n, total + tokens)

    cdef FewCut begin_cut(self):
        return AddedCut(self)


@cython.internal
cdef class AddedCut(PointCut):
    """A text with added tokens that is cut at breaks."""

    cdef AmongAdded added
    cdef object count_alone

    def __cinit__(self, AddedSums sums not None):
        self.added = sums.added
        self.count_alone = sums.count_alone
        if self.added.rules is not None:
            self.owned.reserve_runs()

    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end, bint leads) noexcept nogil:
        cdef Py_ssize_t tokens = self.added.count_part(self.owned, &self.source, start, end)
        return self.ask_count(start, end) if tokens == UNKNOWN else tokens

    cdef Py_ssize_t ask_count(self, Py_ssize_t start, Py_ssize_t end) noexcept with gil:
        """Count the tokens of a slice in Python; or INTERRUPTED."""
        try:
            return self.count_alone(self.added.held[start:end])
        except BaseException as error:
            PyErr_SetObject(type(error), error)
            return INTERRUPTED

    cdef Py_ssize_t longest_alone(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint leads
    ) noexcept nogil:
        # Up to the first added token that does not fit, any end has the tokens of the text.
        cdef Py_ssize_t number = self.added.first_after(start), at = start, left = n, tokens, stop
        cdef const int64_t[:, ::1] spans = self.added.spans
        while number < spans.shape[0] and spans[number, 0] < end:
            if spans[number, 0] < at:
                stop = self.longest_counted(start, start, end, n)
                return start if stop == NOT_FOUND else stop
            tokens = self.added.count_between(self.owned, &self.source, at, spans[number, 0])
            if tokens < 0:
                return tokens
            stop = min(end, spans[number, 1])
            if tokens + 1 > left:
                # Nor does what begins with a token here, if another one.
                stop = min(stop, spans[number, 0] + self.added.surest - 1)
            if tokens + 1 > left or spans[number, 1] > end:
                stop = self.longest_counted(at, spans[number, 0], stop, left)
                if stop != NOT_FOUND:
                    return stop
                return self.longest_between(at, spans[number, 0], left)
            left -= tokens + 1
            at = spans[number, 1]
            number += 1
        return self.longest_between(at, end, left)

    cdef Py_ssize_t longest_counted(
        self, Py_ssize_t start, Py_ssize_t place, Py_ssize_t end, Py_ssize_t n
    ) noexcept nogil:
        """The greatest end after a place of a slice with at most n tokens; NOT_FOUND or a status."""
        cdef Py_ssize_t tokens
        while end > place:
            tokens = self.count(start, end, False)
            if tokens < 0:
                return tokens
            if tokens <= n:
                return end
            end -= 1
        return NOT_FOUND

    cdef Py_ssize_t longest_between(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n
    ) noexcept nogil:
        """The same of a slice without added tokens."""
        cdef Characters part = slice_of(self.text, start, end)
        cdef const uint8_t* utf8 = NULL
        cdef Py_ssize_t n_bytes
        cdef Cut cut
        if self.added.rules is not None:
            n_bytes = self.longest_counted(start, start, end, n)
            return start if n_bytes == NOT_FOUND else n_bytes
        n_bytes = text_utf8(&self.owned.state, &part, &utf8)
        if n_bytes < 0:
            return n_bytes
        self.search.text = utf8
        self.search.n = n_bytes
        self.search.prefixes.start = NOT_FOUND
        cut = longest_fitting_prefix(&self.search, 0, n)
        if cut.end < 0:
            return cut.end
        return start + characters_in(utf8, cut.end, n_bytes - cut.end)
