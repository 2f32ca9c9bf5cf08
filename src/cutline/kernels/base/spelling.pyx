"""Characters of a text that are not in a set, and their spelling by stand-ins for bytes.

Guarded by tests/kernels/test_spelling.py.
"""

cimport cython
from libc.stdlib cimport free

from cutline.kernels.base.late import numpy as np

from cutline.kernels.base.characters cimport (
    Characters, PyUnicode_DATA, PyUnicode_KIND, Unit, char_at, characters_of, utf8_width,
    write_utf8,
)
from cutline.kernels.base.common cimport grow, int64_t, memcpy, uint8_t, uint16_t, uint32_t

cdef extern from "Python.h":
    str PyUnicode_New(Py_ssize_t n, uint32_t highest)


cdef inline bint contains(const uint8_t* kept, uint32_t code_point) noexcept nogil:
    return kept[code_point >> 3] >> (code_point & 7) & 1


cdef inline Py_ssize_t next_other(
    const Unit* text, Py_ssize_t at, Py_ssize_t n, const uint8_t* kept, bint keeps_ascii
) noexcept nogil:
    """The first character from `at` on that is not in a set, or n."""
    cdef uint32_t seen
    cdef int more
    while at < n:
        if keeps_ascii and at + 16 <= n:
            seen = 0
            for more in range(16):
                seen |= text[at + more]
            if seen < 0x80:
                at += 16
                continue
        if not contains(kept, text[at]):
            return at
        at += 1
    return n


cdef Py_ssize_t other_from(
    const Characters* text, Py_ssize_t at, const uint8_t* kept, bint keeps_ascii
) noexcept nogil:
    if text.kind == 1:
        return next_other(<const uint8_t*> text.data, at, text.n, kept, keeps_ascii)
    if text.kind == 2:
        return next_other(<const uint16_t*> text.data, at, text.n, kept, keeps_ascii)
    return next_other(<const uint32_t*> text.data, at, text.n, kept, keeps_ascii)


cdef bint has_ascii(const uint8_t* kept) noexcept nogil:
    cdef int at
    for at in range(16):
        if kept[at] != 0xFF:
            return False
    return True


def first_other(str text not None, const uint8_t[::1] kept not None):
    """The offset of the first character that is not in a set; -1: there is none.

    Args:
        kept: a bit for each of the 0x110000 code points, the lowest first.
    """
    cdef Characters characters = characters_of(text)
    cdef const uint8_t* bits = &kept[0]
    cdef Py_ssize_t at
    with nogil:
        at = other_from(&characters, 0, bits, has_ascii(bits))
    return at if at < characters.n else -1


def spell(str text not None, SpelledPlaces places not None, str stand_ins not None):
    """Write a character of `stand_ins` for each byte of UTF-8 of what is not in a set.

    Args:
        places: of this text; the set has all of ASCII.
        stand_ins: for the bytes from 128 on: neighbours, of two bytes in memory each.

    Returns:
        The text; None: one of the characters is a surrogate.
    """
    cdef Characters characters = characters_of(text), spelling = characters_of(stand_ins)
    cdef Py_ssize_t at, written = 0, start = 0, byte, width, number
    cdef uint32_t first = char_at(&spelling, 0)
    cdef uint8_t utf8[4]
    cdef void* out
    cdef int kind
    if places.n != characters.n:
        raise ValueError(f"places of {characters.n} characters are needed, got {places.n}")
    if places.has_surrogates:
        return None
    if places.count == 0:
        return text
    # What stays may need less room than what was there.
    cdef str result = PyUnicode_New(
        places.n + places.beyond[places.count],
        0x10FFFF if count_longest(&characters) > places.n_longest else 0xFFFF,
    )
    out = <void*> PyUnicode_DATA(result)
    kind = PyUnicode_KIND(result)
    with nogil:
        for number in range(places.count):
            at = places.others[number]
            copy_characters(&characters, start, at, out, kind, written)
            written += at - start
            width = write_utf8(char_at(&characters, at), utf8)
            for byte in range(width):
                write_char(out, kind, written, first + utf8[byte] - 128)
                written += 1
            start = at + 1
        copy_characters(&characters, start, characters.n, out, kind, written)
    return result


cdef Py_ssize_t count_longest(const Characters* text) noexcept nogil:
    """Characters that take four bytes in memory."""
    cdef const uint32_t* points = <const uint32_t*> text.data
    cdef Py_ssize_t at, total = 0
    cdef uint32_t some
    if text.kind == 4:
        for at in range(0, text.n & ~<Py_ssize_t> 15, 16):
            some = 0
            for place in range(at, at + 16):
                some += points[place] > 0xFFFF
            total += some
        for at in range(text.n & ~<Py_ssize_t> 15, text.n):
            total += points[at] > 0xFFFF
    return total


@cython.auto_pickle(False)
cdef class SpelledPlaces:
    """Where each character of a text begins in its spelling, and where that ends.

    Args:
        text: the text.
        kept: a bit for each of the 0x110000 code points, the lowest first: others are spelled. None:
            they are told otherwise.

    Cost: building is linear in the text; a place takes a search among the spelled characters, which
    take 16 bytes each.
    """

    def __cinit__(self, str text not None, const uint8_t[::1] kept=None, *_):
        cdef Characters characters = characters_of(text)
        cdef const uint8_t* bits
        cdef bint is_done
        self.n = characters.n
        if kept is None:
            return
        bits = &kept[0]
        with nogil:
            is_done = self.find(&characters, bits, has_ascii(bits))
        if not is_done:
            raise MemoryError("no memory for the characters that are no tokens")

    def __dealloc__(self):
        free(self.others)
        free(self.beyond)

    cdef bint find(
        self, const Characters* text, const uint8_t* kept, bint keeps_ascii
    ) noexcept nogil:
        """Find the spelled characters. False: no memory."""
        cdef Py_ssize_t at = other_from(text, 0, kept, keeps_ascii), slots = 0, more_slots = 0
        cdef int64_t beyond = 0
        cdef uint32_t point
        while True:
            if not (
                grow(<void**> &self.others, &slots, self.count + 1, sizeof(int64_t))
                and grow(<void**> &self.beyond, &more_slots, self.count + 1, sizeof(int64_t))
            ):
                return False
            self.beyond[self.count] = beyond
            if at == text.n:
                return True
            point = char_at(text, at)
            self.others[self.count] = at
            self.count += 1
            beyond += utf8_width(point) - 1
            self.n_longest += point > 0xFFFF
            self.has_surrogates |= point >> 11 == 0x1B
            at = other_from(text, at + 1, kept, keeps_ascii)

    cdef Py_ssize_t others_before(self, Py_ssize_t at) noexcept nogil:
        """How many spelled characters are before a place."""
        cdef Py_ssize_t low = 0, high = self.count, middle
        while low < high:
            middle = (low + high) >> 1
            if self.others[middle] < at:
                low = middle + 1
            else:
                high = middle
        return low

    def start_of(self, Py_ssize_t at):
        """Where the spelling of a slice starts that starts at a character."""
        return self.to_start(at)

    def span_of(self, Py_ssize_t start, Py_ssize_t end):
        """Where the spelling of a slice starts and ends."""
        cdef Py_ssize_t first = self.to_start(start)
        return first, first if self.becomes_nothing(start, end) else max(first, self.to_end(end))

    def character_at(self, Py_ssize_t place):
        """The last character before which a slice may end whose spelling ends there, or before."""
        return self.to_text(place)

    cdef Py_ssize_t to_spelling(self, Py_ssize_t at) noexcept nogil:
        return at + self.beyond[self.others_before(at)]

    cdef Py_ssize_t to_start(self, Py_ssize_t at) noexcept nogil:
        return self.to_spelling(at)

    cdef Py_ssize_t to_end(self, Py_ssize_t at) noexcept nogil:
        return self.to_spelling(at)

    cdef bint becomes_nothing(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Whether a slice is empty, or so far as the two places do not tell."""
        return start == end

    cdef Py_ssize_t to_text(self, Py_ssize_t place) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.count, middle
        while low < high:       # the spelled characters that begin there, or before
            middle = (low + high) >> 1
            if self.others[middle] + self.beyond[middle] <= place:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return min(place, self.n)
        return min(max(self.others[low - 1], place - <Py_ssize_t> self.beyond[low]), self.n)

    def rows_of(self, rows):
        """Where the spellings of many slices start and end: int64, shape (n, 2), of such an array."""
        cdef int64_t[:, ::1] found = np.array(rows, dtype=np.int64)
        cdef Py_ssize_t row, start, end
        with nogil:
            for row in range(found.shape[0]):
                start = self.to_start(found[row, 0])
                end = start
                if not self.becomes_nothing(found[row, 0], found[row, 1]):
                    end = max(start, self.to_end(found[row, 1]))
                found[row, 0] = start
                found[row, 1] = end
        return np.asarray(found)

    @property
    def nbytes(self):
        """The memory it uses in bytes."""
        return 16 * (self.count + 1)


cdef inline void copy_characters(
    const Characters* text, Py_ssize_t start, Py_ssize_t end, void* out, int kind, Py_ssize_t at
) noexcept nogil:
    """Copy text[start:end] to a place of another text."""
    if text.kind == kind:
        memcpy(<char*> out + kind * at, <const char*> text.data + kind * start, kind * (end - start))
        return
    while start < end:
        write_char(out, kind, at, char_at(text, start))
        start += 1
        at += 1


cdef inline void write_char(void* out, int kind, Py_ssize_t at, uint32_t point) noexcept nogil:
    if kind == 2:
        (<uint16_t*> out)[at] = <uint16_t> point
    else:
        (<uint32_t*> out)[at] = point
