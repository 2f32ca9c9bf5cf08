"""Counts of slices of a text by its parts between safe split points.

A slice is counted in three parts: up to its first point, from there to its last one by a difference
of two sums, and from there on. The first and the last part are looked up by their characters. Source:
docs/tokenizers.md, "Parts that are known".

Guarded by tests/pipeline/test_known_slices.py.
"""

from cython cimport auto_pickle
from libc.stdint cimport int32_t

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport Characters, slice_of
from cutline.kernels.base.common cimport INTERRUPTED, int64_t, prefetch, uint8_t
from cutline.kernels.base.signals cimport raise_pending
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.encode.known_parts cimport KnownParts
from cutline.kernels.encode.runs cimport PARTS, count_known_parts

cdef enum:
    BLOCK_BITS = 6              # of a place: the points after each block of characters are numbered
    SLICES = PARTS // 2         # that are counted together
    NEW = 4                     # numbers that tell a new part

# What a slice has before its first point, and after its last one; the first is all, if it has none.
cdef struct SliceEnds:
    Py_ssize_t first, last      # the numbers of these points
    Characters head, tail
    Py_ssize_t place            # of the tail


@auto_pickle(False)
cdef class KnownSlices:
    """Counts slices of one text.

    Args:
        parts: the text's.
        before: int64: the tokens from the first point to each.

    Attributes:
        nbytes: the memory it uses in bytes, without both.
    """

    cdef KnownParts parts
    cdef const int64_t[::1] before
    cdef int64_t[::1] blocks    # the number of the first point in each block, or after it

    def __cinit__(self, KnownParts parts not None, const int64_t[::1] before not None):
        cdef Py_ssize_t block, number = 0, n = parts.points.shape[0]
        if before.shape[0] < n:
            raise ValueError(f"{n} points need as many counts")
        self.parts = parts
        self.before = before
        self.blocks = zeroed_numbers("q", ((parts.text.n + 1) >> BLOCK_BITS) + 1)
        with nogil:
            for block in range(self.blocks.shape[0]):
                while number < n and parts.points[number] < block << BLOCK_BITS:
                    number += 1
                self.blocks[block] = number

    @property
    def nbytes(self):
        return self.blocks.shape[0] * sizeof(int64_t)

    def count(self, Py_ssize_t start, Py_ssize_t end):
        """Count the tokens of a slice; the offsets are right. UNKNOWN: one of its ends is long."""
        cdef OwnedState owned = self.parts.take()
        cdef SliceEnds ends
        cdef Py_ssize_t tokens, tail = 0
        self.find_ends(start, end, &ends)
        tokens = self.parts.count_one(owned, start, start + ends.head.n, True)
        if tokens >= 0 and ends.tail.n:
            tail = self.parts.count_one(owned, ends.place, end, False)
        self.parts.encoder.release(owned)
        if min(tokens, tail) == INTERRUPTED:
            raise_pending()
        if min(tokens, tail) < 0:
            return min(tokens, tail)
        return tokens + self.tokens_between(&ends) + tail

    def count_many(self, const int64_t[:, ::1] spans not None):
        """Count the tokens of many slices, whose offsets are right, but for parts not met before.

        Returns:
            int64: the tokens of each; and four numbers of each part that is not counted: its slice,
            start and end, and whether the slice begins with it.
        """
        cdef Py_ssize_t row = 0, n = spans.shape[0], n_new = 0
        counts, new = zeroed_numbers("q", n), zeroed_numbers("q", 2 * NEW * n)
        cdef int64_t[::1] out = counts, told = new
        cdef OwnedState owned = self.parts.take()
        with nogil:
            while row < n:
                n_new = self.count_next(owned, spans, row, out, told, n_new)
                row += SLICES
        self.parts.encoder.release(owned)
        return counts, new[:NEW * n_new]

    cdef Py_ssize_t count_next(
        self, OwnedState owned, const int64_t[:, ::1] spans, Py_ssize_t row, int64_t[::1] counts,
        int64_t[::1] new, Py_ssize_t n_new
    ) noexcept nogil:
        """Count the next slices. Returns how many parts of all were not met before.

        They lie anywhere: memory is asked for what they need, then more is done.
        """
        cdef SliceEnds[SLICES] ends
        cdef Characters[PARTS] parts
        cdef bint[PARTS] leads
        cdef int32_t[PARTS] tokens
        cdef Py_ssize_t n = min(<Py_ssize_t> SLICES, spans.shape[0] - row), at
        for at in range(n):
            self.fetch(spans[row + at, 0])
            self.fetch(spans[row + at, 1])
        for at in range(n):
            self.find_ends(spans[row + at, 0], spans[row + at, 1], &ends[at])
            parts[2 * at], parts[2 * at + 1] = ends[at].head, ends[at].tail
            leads[2 * at], leads[2 * at + 1] = self.parts.changes_starts, False
            if ends[at].first <= ends[at].last:
                prefetch(&self.before[ends[at].first])
                prefetch(&self.before[ends[at].last])
        count_known_parts(
            owned.state.runs, parts, leads, 2 * n, &owned.state.run_store, tokens
        )
        for at in range(n):
            counts[row + at] = self.tokens_between(&ends[at])
            if tokens[2 * at] >= 0:
                counts[row + at] += tokens[2 * at]
            elif ends[at].head.n:
                n_new = tell_new(new, n_new, row + at, spans[row + at, 0], ends[at].head.n, True)
            if tokens[2 * at + 1] >= 0:
                counts[row + at] += tokens[2 * at + 1]
            elif ends[at].tail.n:
                n_new = tell_new(new, n_new, row + at, ends[at].place, ends[at].tail.n, False)
        return n_new

    cdef inline void fetch(self, Py_ssize_t at) noexcept nogil:
        """Fetch what is looked at first where a slice starts or ends."""
        cdef Py_ssize_t number = self.blocks[at >> BLOCK_BITS]
        prefetch(<const uint8_t*> self.parts.text.data + at * self.parts.text.kind)
        if number < self.parts.points.shape[0]:
            prefetch(&self.parts.points[number])

    cdef inline Py_ssize_t first_from(self, Py_ssize_t at) noexcept nogil:
        """The number of the first point that is not before a place; that of all, if there is none."""
        cdef Py_ssize_t number = self.blocks[at >> BLOCK_BITS], n = self.parts.points.shape[0]
        while number < n and self.parts.points[number] < at:
            number += 1
        return number

    cdef inline void find_ends(
        self, Py_ssize_t start, Py_ssize_t end, SliceEnds* ends
    ) noexcept nogil:
        # A slice is encoded like what comes after a point, unless its start is changed.
        ends.first = self.first_from(start + self.parts.changes_starts)
        ends.last = self.first_from(end + 1) - 1
        ends.place = end
        if ends.first <= ends.last:
            ends.place = self.parts.points[ends.last]
            ends.tail = slice_of(&self.parts.text, ends.place, end)
            end = self.parts.points[ends.first]
        else:
            ends.tail = slice_of(&self.parts.text, end, end)
        ends.head = slice_of(&self.parts.text, start, end)

    cdef inline Py_ssize_t tokens_between(self, const SliceEnds* ends) noexcept nogil:
        """The tokens from the first point of a slice to its last one."""
        if ends.first > ends.last:
            return 0
        return self.before[ends.last] - self.before[ends.first]


cdef inline Py_ssize_t tell_new(
    int64_t[::1] new, Py_ssize_t n_new, Py_ssize_t row, Py_ssize_t start, Py_ssize_t n, bint leads
) noexcept nogil:
    cdef Py_ssize_t at = NEW * n_new
    new[at], new[at + 1], new[at + 2], new[at + 3] = row, start, start + n, leads
    return n_new + 1
