"""Which characters of a text those come from that it became.

Guarded by tests/kernels/test_alignment.py.
"""

from cython cimport auto_pickle
from libc.stdlib cimport free

from cutline.kernels.base.common cimport grow, int64_t, memmove


@auto_pickle(False)
cdef class Alignment:
    """What a text became, and which of its characters that comes from.

    Cost: memory for what does not become one character only; to ask for many spans takes one pass
    over them and over that.
    """

    def __dealloc__(self):
        free(self.blocks)

    cdef bint add(
        self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil:
        """Say that the characters from `first` to `last` come from all of text[start:end].

        Called in order, for all that does not come from the next character alone. False: no memory.
        """
        if not grow(<void**> &self.blocks, &self.slots, self.count + 1, sizeof(Block)):
            return False
        self.blocks[self.count] = Block(first, last, start, end, end)
        self.count += 1
        return True

    cdef bint add_next(self, Py_ssize_t n, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Say the same of n characters: what lies before comes from one character each."""
        cdef Py_ssize_t first = start
        if self.count > 0:
            first += self.blocks[self.count - 1].last - self.blocks[self.count - 1].resumed
        return self.add(first, first + n, start, end)

    cdef bint merge(self, Py_ssize_t place, Py_ssize_t end) noexcept nogil:
        """Say that the last character, which is at a place, comes from all up to `end`, too."""
        cdef Py_ssize_t number = self.count, start
        cdef Block* block
        while number > 0 and self.blocks[number - 1].first > place:
            number -= 1         # what vanished after it
        self.count = number
        if number == 0:
            return self.add(place, place + 1, place, end)
        block = &self.blocks[number - 1]
        if place < block.last:
            if block.first == place:
                block.end = block.resumed = end
                return True
            block.last = place
            start = block.start
        else:
            start = block.resumed + place - block.last
        return self.add(place, place + 1, start, end)

    cdef bint lead(self) noexcept nogil:
        """Say that what was told comes after one character more: it comes from the first one."""
        cdef Py_ssize_t number, start = self.first_start()
        if not self.add(0, 1, 0, 0):
            return False
        memmove(self.blocks + 1, self.blocks, (self.count - 1) * sizeof(Block))
        for number in range(1, self.count):
            self.blocks[number].first += 1
            self.blocks[number].last += 1
        self.blocks[0] = Block(0, 1, start, start + 1, 0)
        return True

    cdef Py_ssize_t first_start(self) noexcept nogil:
        """Where the first character comes from."""
        cdef Py_ssize_t number = 0
        while number < self.count and self.blocks[number].first == 0:
            number += 1
        if number == 0:
            return 0
        return self.blocks[number - 1].start if self.blocks[number - 1].last > 0 else (
            self.blocks[number - 1].resumed
        )

    def length_of(self, Py_ssize_t n):
        """How many characters a text of n characters became."""
        cdef const Block* last
        if self.count == 0:
            return n
        last = &self.blocks[self.count - 1]
        return last.last + n - last.resumed

    cdef Span span_in(self, Py_ssize_t number, Py_ssize_t place) noexcept nogil:
        """The span of what a place in a block, or after it and before the next, comes from."""
        cdef const Block* block = &self.blocks[number]
        if place < block.last:
            return Span(block.start, block.end)
        return Span(block.resumed + place - block.last, block.resumed + place - block.last + 1)

    def spans_of(self, int64_t[:, ::1] parts not None):
        """Write the spans of the text over those of what it became; returns the array.

        Args:
            parts: int64, shape (n, 2); none is empty, and none begins before the last character of
                the one before.
        """
        cdef Py_ssize_t row, number = 0, place
        if self.count == 0:
            return parts.base
        with nogil:
            for row in range(parts.shape[0]):
                place = parts[row, 0]
                while number < self.count and self.blocks[number].first <= place:
                    number += 1
                if number:
                    parts[row, 0] = self.span_in(number - 1, place).start
                place = parts[row, 1] - 1
                while number < self.count and self.blocks[number].first <= place:
                    number += 1
                if number:
                    parts[row, 1] = self.span_in(number - 1, place).end
        return parts.base


def aligned(str text not None, blocks):
    """An alignment of text that another one became, by blocks in order: `Alignment.add`'s arguments."""
    cdef Alignment made = Alignment()
    made.text = text
    for first, last, start, end in blocks:
        if not made.add(first, last, start, end):
            raise MemoryError("no memory for an alignment")
    return made
