"""Counts of a text by its parts between safe split points, of which most were met before.

What counts a part may be as slow as it likes: the tokens of a short one are looked up by its
characters. Source: docs/tokenizers.md, "Safe split points".

Guarded by tests/pipeline/test_known_parts.py.
"""

from cpython.exc cimport PyErr_SetObject
from cython cimport auto_pickle
from libc.stdint cimport int32_t

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport characters_of, slice_of
from cutline.kernels.base.common cimport INTERRUPTED, UNKNOWN, int64_t, uint32_t
from cutline.kernels.base.signals cimport is_interrupted, raise_pending
from cutline.kernels.encode.runs cimport (
    LONGEST_PART, PARTS, PartKey, count_known_parts, count_of_part, keep_part,
)

cdef enum:
    NEAR_POINTS = 4             # that are looked over first

LONGEST_KNOWN = LONGEST_PART
"""Characters of a part whose tokens are looked up."""


@auto_pickle(False)
cdef class KnownParts:
    """Counts parts of one text.

    Args:
        encoder: keeps the counts of parts.
        text: a plain str without surrogates.
        points: int64: its safe split points, in order (trusted).
        count: counts a part; takes whether it is a slice of its own, or goes on at such a point.
        changes_starts: that matters. Then what begins at a point is a slice of its own up to the
            next one.
    """

    def __cinit__(
        self, Encoder encoder not None, str text not None, const int64_t[::1] points not None,
        count not None, bint changes_starts
    ):
        self.encoder = encoder
        self.held = text
        self.text = characters_of(text)
        self.points = points
        self.count_alone = count
        self.changes_starts = changes_starts

    def known(self):
        """Return the tokens of each part between two points: int64; -1: it was not met before."""
        cdef Py_ssize_t first = 0, part, n = self.points.shape[0] - 1
        tokens = zeroed_numbers("q", max(n, 0))
        cdef int64_t[::1] out = tokens
        cdef int32_t[PARTS] counts
        cdef OwnedState owned = self.take()
        with nogil:
            while first < n:
                for part in range(self.look_up(owned, first, counts)):
                    out[first + part] = counts[part]
                first += PARTS
        self.encoder.release(owned)
        return tokens

    cdef Py_ssize_t look_up(
        self, OwnedState owned, Py_ssize_t first, int32_t* counts
    ) noexcept nogil:
        """Tell the counts of the next parts, NOT_FOUND of those not met before. Returns how many."""
        cdef Characters[PARTS] parts
        cdef Py_ssize_t n = min(<Py_ssize_t> PARTS, self.points.shape[0] - 1 - first), part
        for part in range(n):
            parts[part] = slice_of(
                &self.text, self.points[first + part], self.points[first + part + 1]
            )
        count_known_parts(owned.state.runs, parts, NULL, n, &owned.state.run_store, counts)
        return n

    def count(self, const int64_t[:, :] spans not None, bint leads):
        """Count the tokens of some parts, one by one: int64. Short ones are kept.

        Args:
            spans: of 1 character or more, shape (n, 2).
            leads: whether they are slices of their own, or begin at points.
        """
        cdef Py_ssize_t number, tokens = 0
        counted = zeroed_numbers("q", spans.shape[0])
        cdef int64_t[::1] out = counted
        cdef OwnedState owned
        self.check(spans)
        owned = self.take()
        leads = leads and self.changes_starts
        with nogil:
            for number in range(spans.shape[0]):
                tokens = self.count_anew(owned, spans[number, 0], spans[number, 1], leads)
                if tokens < 0:
                    break
                out[number] = tokens
        self.encoder.release(owned)
        if tokens == INTERRUPTED:
            raise_pending()
        return counted

    cdef int check(self, const int64_t[:, :] spans) except -1:
        cdef Py_ssize_t number
        for number in range(spans.shape[0]):
            if not 0 <= spans[number, 0] < spans[number, 1] <= self.text.n:
                raise ValueError(
                    f"no part from {spans[number, 0]} to {spans[number, 1]} of {self.text.n} "
                    "characters"
                )
        return 0

    def keep(self, const int64_t[:, :] spans not None, const int64_t[::1] tokens not None):
        """Keep what was counted otherwise: the tokens of parts that begin at points."""
        cdef Py_ssize_t number, n = spans.shape[0]
        cdef OwnedState owned
        cdef Characters part
        cdef PartKey key
        if tokens.shape[0] != n:
            raise ValueError(f"{n} parts need as many counts, got {tokens.shape[0]}")
        self.check(spans)
        owned = self.take()
        with nogil:
            for number in range(n if owned.state.stores else 0):
                part = slice_of(&self.text, spans[number, 0], spans[number, 1])
                if part.n <= LONGEST_PART and count_of_part(
                    owned.state.runs, &part, False, &owned.state.run_store, &key
                ) < 0:
                    keep_part(&key, &owned.state.run_store, <uint32_t> tokens[number])
        self.encoder.release(owned)

    cdef OwnedState take(self):
        cdef OwnedState owned = self.encoder.take_state()
        owned.reserve_runs()
        owned.state.lookups.watch.is_on = True
        self.near = 0
        return owned

    cdef Py_ssize_t first_after(self, Py_ssize_t at) noexcept nogil:
        """The number of the first point after a place; that of all, if there is none."""
        cdef Py_ssize_t low = self.near, n = self.points.shape[0], high, middle
        if low > 0 and self.points[low - 1] > at:
            low = 0
        high = n
        for middle in range(low, min(low + NEAR_POINTS, n)):
            if self.points[middle] > at:
                low = high = middle
                break
        while low < high:
            middle = (low + high) >> 1
            if self.points[middle] <= at:
                low = middle + 1
            else:
                high = middle
        self.near = low
        return low

    cdef Py_ssize_t count_part(
        self, OwnedState owned, Py_ssize_t start, Py_ssize_t end, bint leads
    ) noexcept nogil:
        """Count the tokens of a slice; or a status. `leads`: it is one of its own."""
        cdef Py_ssize_t number = self.first_after(start), total = 0, tokens
        while number < self.points.shape[0] and self.points[number] < end:
            tokens = self.count_one(owned, start, self.points[number], leads)
            if tokens < 0:
                return tokens
            total += tokens
            start = self.points[number]
            leads = False
            number += 1
        tokens = self.count_one(owned, start, end, leads)
        return tokens if tokens < 0 else total + tokens

    cdef Py_ssize_t count_one(
        self, OwnedState owned, Py_ssize_t start, Py_ssize_t end, bint leads
    ) noexcept nogil:
        """The same of what has no point inside.

        UNKNOWN: it is long, and would be counted again and again.
        """
        cdef Characters part = slice_of(&self.text, start, end)
        cdef PartKey key
        cdef Py_ssize_t tokens
        if part.n == 0:
            return 0
        if part.n > LONGEST_PART:
            return UNKNOWN
        leads = leads and self.changes_starts
        tokens = count_of_part(owned.state.runs, &part, leads, &owned.state.run_store, &key)
        return tokens if tokens >= 0 else self.count_anew(owned, start, end, leads)

    cdef Py_ssize_t count_anew(
        self, OwnedState owned, Py_ssize_t start, Py_ssize_t end, bint leads
    ) noexcept nogil:
        """Count the tokens of a part that was not met before, and keep them if it is short."""
        cdef Characters part = slice_of(&self.text, start, end)
        cdef PartKey key
        cdef Py_ssize_t tokens
        if is_interrupted(&owned.state.lookups.watch, part.n):
            return INTERRUPTED
        tokens = self.ask(start, end, leads)
        if part.n <= LONGEST_PART and tokens >= 0 and owned.state.stores:
            count_of_part(owned.state.runs, &part, leads, &owned.state.run_store, &key)
            keep_part(&key, &owned.state.run_store, <uint32_t> tokens)
        return tokens

    cdef Py_ssize_t ask(self, Py_ssize_t start, Py_ssize_t end, bint leads) noexcept with gil:
        """Count the tokens of a part in Python; or INTERRUPTED."""
        try:
            return self.count_alone(self.held[start:end], leads)
        except BaseException as error:
            PyErr_SetObject(type(error), error)
            return INTERRUPTED
