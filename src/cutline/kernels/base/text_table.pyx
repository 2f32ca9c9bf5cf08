"""Many texts, found by their bytes.

Guarded by tests/kernels/test_text_table.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int16_t

from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.common cimport (
    NONE, char_bytes, characters_in, decode_char, hash_key, hash_long, int64_t, last_key, memcmp, memcpy, prefetch, same_bytes, scramble,
    uint8_t, uint32_t, uint64_t,
)

cdef enum:
    AHEAD = 16      # how many texts ahead memory is fetched
    ROOM = 64       # texts up to this length are joined on the stack


cdef inline uint64_t hash_of(const uint8_t* text, Py_ssize_t n) noexcept nogil:
    return scramble(hash_key(last_key(text, n))) if n < 16 else hash_long(text, n)


cdef class TextTable:
    """Texts, found by their bytes.

    Args:
        arena: the texts, joined; kept.
        offsets: int64, shape (n + 1,); text k is `arena[offsets[k]:offsets[k + 1]]`; kept.

    Attributes:
        equal: two equal texts, the later of which is not found; None if all differ.

    Cost: linear in the bytes.

    >>> import numpy as np
    >>> table = TextTable(b"aba", np.array([0, 1, 2, 3]))
    >>> table.find(b"b"), table.find(b"c"), table.equal
    (1, -1, (0, 2))
    """
    cdef const uint8_t[::1] arena
    cdef const int64_t[::1] offsets
    cdef uint64_t[::1] slots        # the high half of the hash, and the text's number
    cdef uint64_t mask
    cdef readonly object equal

    def __init__(self, const uint8_t[::1] arena not None, const int64_t[::1] offsets not None):
        cdef Py_ssize_t n = offsets.shape[0] - 1, place
        cdef uint64_t[AHEAD] hashed
        cdef uint32_t other
        self.arena = arena
        self.offsets = offsets
        self.mask = (1 << max(4, (2 * n).bit_length())) - 1
        self.slots = np.full(self.mask + 1, NONE, dtype=np.uint64)
        self.equal = None
        for place in range(n + AHEAD):
            if place >= AHEAD:
                other = self.put(hashed[place % AHEAD], place - AHEAD)
                if other != NONE and self.equal is None:
                    self.equal = (<int64_t> other, place - AHEAD)
            if place < n:
                hashed[place % AHEAD] = hash_of(
                    self.text(place), self.offsets[place + 1] - self.offsets[place]
                )
                prefetch(&self.slots[0] + (hashed[place % AHEAD] & self.mask))

    cdef inline const uint8_t* text(self, Py_ssize_t place) noexcept nogil:
        # An empty text may begin after the last byte, and is not read.
        return &self.arena[0] + self.offsets[place]

    cdef uint32_t put(self, uint64_t hashed, uint32_t place) noexcept nogil:
        """Put a text into a slot. Returns NONE, or an equal one that is there."""
        cdef uint64_t slot = hashed & self.mask
        cdef Py_ssize_t n = self.offsets[place + 1] - self.offsets[place]
        while <uint32_t> self.slots[slot] != NONE:
            if self.is_it(slot, hashed, self.text(place), n):
                return <uint32_t> self.slots[slot]
            slot = slot + 1 & self.mask
        self.slots[slot] = (hashed >> 32 << 32) | place
        return NONE

    cdef inline bint is_it(
        self, uint64_t slot, uint64_t hashed, const uint8_t* text, Py_ssize_t n
    ) noexcept nogil:
        cdef uint64_t entry = self.slots[slot]
        cdef uint32_t place = <uint32_t> entry
        return (
            entry >> 32 == hashed >> 32
            and self.offsets[place + 1] - self.offsets[place] == n
            and same_bytes(self.text(place), text, n)
        )

    cdef uint32_t found(
        self, uint64_t hashed, const uint8_t* text, Py_ssize_t n
    ) noexcept nogil:
        cdef uint64_t slot = hashed & self.mask
        while <uint32_t> self.slots[slot] != NONE:
            if self.is_it(slot, hashed, text, n):
                return <uint32_t> self.slots[slot]
            slot = slot + 1 & self.mask
        return NONE

    def find(self, bytes text not None):
        """The number of a text, or -1."""
        cdef const uint8_t* start = text
        cdef uint32_t place = self.found(hash_of(start, len(text)), start, len(text))
        return -1 if place == NONE else <int64_t> place

    def find_all(self, const uint8_t[::1] arena not None, const int64_t[::1] offsets not None):
        """The number of each of many texts, as int64; -1: it is not here."""
        cdef Py_ssize_t n = offsets.shape[0] - 1, place
        cdef uint64_t[AHEAD] hashed
        cdef uint32_t one
        cdef const uint8_t* text
        found = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] out = found
        if n == 0:
            return found
        with nogil:
            for place in range(n + AHEAD):
                if place >= AHEAD:
                    text = &arena[0] + offsets[place - AHEAD]
                    one = self.found(
                        hashed[place % AHEAD], text,
                        offsets[place - AHEAD + 1] - offsets[place - AHEAD],
                    )
                    out[place - AHEAD] = -1 if one == NONE else <int64_t> one
                if place < n:
                    hashed[place % AHEAD] = hash_of(
                        &arena[0] + offsets[place], offsets[place + 1] - offsets[place]
                    )
                    prefetch(&self.slots[0] + (hashed[place % AHEAD] & self.mask))
        return found


def count_characters(const uint8_t[::1] arena not None, const int64_t[::1] lengths not None):
    """The characters of each of some texts in UTF-8, which follow one another: int64.

    Args:
        lengths: the bytes of each.
    """
    cdef Py_ssize_t text, at = 0, n = lengths.shape[0], n_bytes = arena.shape[0]
    counts = zeroed_numbers("q", n)
    cdef int64_t[::1] out = counts
    for text in range(n):
        if not 0 <= lengths[text] <= n_bytes - at:
            raise ValueError("the lengths of texts go beyond their bytes")
        if lengths[text] > 0:
            out[text] = characters_in(&arena[at], lengths[text], n_bytes - at)
        at += lengths[text]
    return counts


cdef Py_ssize_t bytes_in(
    const uint8_t[::1] arena, const int64_t[::1] offsets, const int64_t[::1] places
) except -1:
    """How many bytes some of many texts have. A ValueError where there is none in a place."""
    cdef Py_ssize_t at, n_bytes = 0
    cdef int64_t place
    for at in range(places.shape[0]):
        place = places[at]
        if not 0 <= place < offsets.shape[0] - 1 or not (
            0 <= offsets[place] <= offsets[place + 1] <= arena.shape[0]
        ):
            raise ValueError("there is no text in a place")
        n_bytes += offsets[place + 1] - offsets[place]
    return n_bytes


def take_texts(
    const uint8_t[::1] arena not None, const int64_t[::1] offsets not None,
    const int64_t[::1] places not None,
):
    """The bytes of some of many texts, joined.

    Args:
        arena: all texts, joined.
        offsets: of each in it, and its end.
        places: the numbers of texts.
    """
    cdef Py_ssize_t at, n, n_bytes = bytes_in(arena, offsets, places)
    cdef int64_t place
    cdef bytes taken = PyBytes_FromStringAndSize(NULL, n_bytes)
    cdef char* out = PyBytes_AS_STRING(taken)
    with nogil:
        for at in range(places.shape[0]):
            place = places[at]
            n = offsets[place + 1] - offsets[place]
            if n > 0:
                memcpy(out, &arena[offsets[place]], n)
            out += n
    return taken


def replace_in_texts(
    const uint8_t[::1] arena not None, const int64_t[::1] lengths not None, str old not None,
    uint8_t new
):
    """Some texts in UTF-8, which follow one another, with a byte for each `old`.

    Args:
        lengths: the bytes of each.
        old: a character or more.

    Returns:
        The texts, joined, and their lengths: int64.

    >>> import numpy as np
    >>> replaced, lengths = replace_in_texts("_ab_c".encode(), np.array([3, 2]), "b_", ord("!"))
    >>> replaced, list(lengths)
    (b'_ab_c', [3, 2])
    """
    cdef bytes wanted = old.encode()
    cdef const uint8_t* piece = <const uint8_t*> PyBytes_AS_STRING(wanted)
    cdef Py_ssize_t n = lengths.shape[0], n_old = len(wanted), at = 0, place, end, start
    cdef bytes replaced = PyBytes_FromStringAndSize(NULL, arena.shape[0])
    cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(replaced)
    cdef Py_ssize_t written = 0
    new_lengths = zeroed_numbers("q", n)
    cdef int64_t[::1] length_of = new_lengths
    if n_old == 0:
        raise ValueError("there is nothing to replace")
    for place in range(n):
        if not 0 <= lengths[place] <= arena.shape[0] - at:
            raise ValueError("the lengths of texts go beyond their bytes")
        start = written
        end = at + lengths[place]
        while at < end:
            if arena[at] == piece[0] and end - at >= n_old and (
                memcmp(&arena[at], piece, n_old) == 0
            ):
                out[written] = new
                at += n_old
            else:
                out[written] = arena[at]
                at += 1
            written += 1
        length_of[place] = written - start
    return replaced[:written], new_lengths


def texts_that_end(
    const uint8_t[::1] arena not None, const int64_t[::1] offsets not None, bytes end not None
):
    """A byte for each of some texts: 1 if it ends so.

    Args:
        arena: the texts, joined.
        offsets: of each in it, and its end.
    """
    cdef const uint8_t* wanted = <const uint8_t*> PyBytes_AS_STRING(end)
    cdef Py_ssize_t n = offsets.shape[0] - 1, n_end = len(end), place, left
    found = zeroed_numbers("B", n)
    cdef uint8_t[::1] out = found
    for place in range(n):
        if not 0 <= offsets[place] <= offsets[place + 1] <= arena.shape[0]:
            raise ValueError("there is no text in a place")
        left = n_end
        if offsets[place + 1] - offsets[place] >= n_end:
            while left and arena[offsets[place + 1] - 1 - n_end + left] == wanted[left - 1]:
                left -= 1
            out[place] = left == 0
    return found


def replace_ends(
    const uint8_t[::1] arena not None, const int64_t[::1] offsets not None,
    const int64_t[::1] places not None, bytes old not None, bytes new not None,
):
    """Some of many texts, with `new` for the `old` that they end in.

    Args:
        arena: all texts, joined.
        offsets: of each in it, and its end.
        places: the numbers of texts.

    Returns:
        The texts, joined, and their lengths: int64.

    >>> import numpy as np
    >>> replaced, lengths = replace_ends(
    ...     b"ab.a.a", np.array([0, 3, 5, 6]), np.array([2, 0]), b".", b"!!"
    ... )
    >>> replaced, list(lengths)
    (b'aab!!', [1, 4])
    """
    ended = texts_that_end(arena, offsets, old)
    cdef const uint8_t[::1] has_end = ended
    cdef Py_ssize_t n = places.shape[0], n_old = len(old), n_new = len(new), at, kept, n_bytes = 0
    cdef int64_t place
    lengths = zeroed_numbers("q", n)
    cdef int64_t[::1] length_of = lengths
    for at in range(n):
        place = places[at]
        if not 0 <= place < has_end.shape[0]:
            raise ValueError("there is no text in a place")
        length_of[at] = offsets[place + 1] - offsets[place] + has_end[place] * (n_new - n_old)
        n_bytes += length_of[at]
    cdef bytes replaced = PyBytes_FromStringAndSize(NULL, n_bytes)
    cdef char* out = PyBytes_AS_STRING(replaced)
    for at in range(n):
        place = places[at]
        kept = length_of[at] - has_end[place] * n_new
        if kept > 0:
            memcpy(out, &arena[offsets[place]], kept)
        if has_end[place]:
            memcpy(out + kept, PyBytes_AS_STRING(new), n_new)
        out += length_of[at]
    return replaced, lengths


def read_letters(
    const uint8_t[::1] arena not None, const int64_t[::1] offsets not None,
    const int64_t[::1] places not None, const int16_t[::1] byte_of not None,
):
    """The bytes that the letters of some of many texts stand for.

    Args:
        arena: all texts, joined, in valid UTF-8 (trusted).
        offsets: of each in it, and its end.
        places: the numbers of texts.
        byte_of: of the letter of each number; -1 for those that stand for none, as all further do.

    Returns:
        The bytes, joined; how many each text has, int64; and which text is the first with another
        letter, -1 if all have none.
    """
    cdef Py_ssize_t n = places.shape[0], n_letters = byte_of.shape[0], at, width, written = 0
    cdef Py_ssize_t from_byte, to_byte, start
    cdef uint32_t letter
    cdef bytes read = PyBytes_FromStringAndSize(NULL, bytes_in(arena, offsets, places))
    cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(read)
    lengths = zeroed_numbers("q", n)
    cdef int64_t[::1] length_of = lengths
    for at in range(n):
        from_byte, to_byte = offsets[places[at]], offsets[places[at] + 1]
        start = written
        while from_byte < to_byte:
            width = min(char_bytes(arena[from_byte]), to_byte - from_byte)
            letter = decode_char(&arena[from_byte], width)
            if letter >= n_letters or byte_of[letter] < 0:
                return b"", lengths, at
            out[written] = <uint8_t> byte_of[letter]
            written += 1
            from_byte += width
        length_of[at] = written - start
    return read[:written], lengths, -1


def code_points_of(const uint8_t[::1] utf8 not None):
    """The code points of valid UTF-8 (trusted): uint32, in half the time of two codecs."""
    cdef Py_ssize_t n = utf8.shape[0], at = 0, count = 0, width
    found = np.empty(n, dtype=np.uint32)
    cdef uint32_t[::1] out = found
    while at < n:
        width = min(char_bytes(utf8[at]), n - at)
        out[count] = decode_char(&utf8[at], width)
        at += width
        count += 1
    return found[:count]
