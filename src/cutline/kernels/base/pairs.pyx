"""Places in a text between two characters whose classes make a pair.

Guarded by tests/kernels/test_pairs.py.
"""

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport Characters, Unit, char_at, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, int64_t, uint8_t, uint16_t, uint32_t

def places_of_pairs(
    str text not None, const uint16_t[::1] class_of not None, const uint8_t[:, ::1] pairs not None
):
    """The places between two characters that make a pair, in order: int64.

    Args:
        class_of: for each of the 0x110000 code points, less than the rows of `pairs`.
        pairs: square; 1 for a class and the one behind it, if they are a pair, else 0.

    Cost: linear in the text.
    """
    cdef Characters characters = characters_of(text)
    cdef Pairs wanted = pairs_of(class_of, pairs)
    cdef Py_ssize_t n = 0
    places = zeroed_numbers("q", characters.n)      # what is not written takes no memory, if long
    cdef int64_t[::1] out = places
    if characters.n < 2:
        return places[:0]
    with nogil:
        if characters.kind == 1:
            n = write_places(<const uint8_t*> characters.data, characters.n, &wanted, &out[0])
        elif characters.kind == 2:
            n = write_places(<const uint16_t*> characters.data, characters.n, &wanted, &out[0])
        else:
            n = write_places(<const uint32_t*> characters.data, characters.n, &wanted, &out[0])
    return places[:n]


cdef Py_ssize_t write_places(
    const Unit* text, Py_ssize_t n, const Pairs* wanted, int64_t* out
) noexcept nogil:
    """Write the places, and beyond them; returns how many there are."""
    cdef Py_ssize_t at, found = 0
    cdef uint16_t number
    cdef const uint8_t* row = wanted.rows + wanted.n * wanted.class_of[text[0]]
    for at in range(1, n):
        number = wanted.class_of[text[at]]
        out[found] = at
        found += row[number]
        row = wanted.rows + wanted.n * number
    return found


cdef Pairs pairs_of(const uint16_t[::1] class_of, const uint8_t[:, ::1] pairs):
    cdef Pairs wanted
    if class_of.shape[0] != 0x110000 or pairs.shape[0] != pairs.shape[1] or not pairs.shape[0]:
        raise ValueError("a class for each code point and a square of pairs are needed")
    wanted.class_of = &class_of[0]
    wanted.rows = &pairs[0, 0]
    wanted.n = pairs.shape[0]
    return wanted


def next_pair(
    str text not None, Py_ssize_t at, Py_ssize_t until, const uint16_t[::1] class_of not None,
    const uint8_t[:, ::1] pairs not None
):
    """The first of these places after `at`, up to `until`; -1: there is none.

    Cost: linear in the characters up to it.
    """
    cdef Characters characters = characters_of(text)
    cdef Pairs wanted = pairs_of(class_of, pairs)
    cdef Py_ssize_t found
    if at < 0:
        raise ValueError(f"a place in the text is needed, got {at}")
    with nogil:
        found = next_place(&characters, at, min(until, characters.n - 1), &wanted)
    return found


cdef Py_ssize_t next_place(
    const Characters* text, Py_ssize_t at, Py_ssize_t until, const Pairs* wanted
) noexcept nogil:
    """See `next_pair`; `until` is in the text. NOT_FOUND: there is none."""
    cdef uint16_t number
    cdef const uint8_t* row
    if at >= until:
        return NOT_FOUND
    row = wanted.rows + wanted.n * wanted.class_of[char_at(text, at)]
    while at < until:
        at += 1
        number = wanted.class_of[char_at(text, at)]
        if row[number]:
            return at
        row = wanted.rows + wanted.n * number
    return NOT_FOUND
