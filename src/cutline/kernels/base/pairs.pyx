"""Places in a text between two characters whose classes make a pair.

Guarded by tests/kernels/test_pairs.py.
"""

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport Characters, Unit, characters_of
from cutline.kernels.base.common cimport int64_t, uint8_t, uint16_t, uint32_t

# Which classes make a pair, one behind the other.
cdef struct Pairs:
    const uint16_t* class_of    # of each code point
    const uint8_t* rows         # of each class and the one after it
    Py_ssize_t n                # classes


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
    cdef Pairs wanted
    cdef Py_ssize_t n
    if class_of.shape[0] != 0x110000 or pairs.shape[0] != pairs.shape[1] or not pairs.shape[0]:
        raise ValueError("a class for each code point and a square of pairs are needed")
    wanted.class_of = &class_of[0]
    wanted.rows = &pairs[0, 0]
    wanted.n = pairs.shape[0]
    with nogil:
        n = each_place(&characters, &wanted, NULL)
    places = zeroed_numbers("q", n)
    cdef int64_t[::1] out = places
    if n > 0:
        with nogil:
            each_place(&characters, &wanted, &out[0])
    return places


cdef Py_ssize_t each_place(
    const Characters* text, const Pairs* wanted, int64_t* out
) noexcept nogil:
    """Count the places, and write them unless `out` is NULL."""
    if text.kind == 1:
        return places_in(<const uint8_t*> text.data, text.n, wanted, out)
    if text.kind == 2:
        return places_in(<const uint16_t*> text.data, text.n, wanted, out)
    return places_in(<const uint32_t*> text.data, text.n, wanted, out)


cdef Py_ssize_t places_in(
    const Unit* text, Py_ssize_t n, const Pairs* wanted, int64_t* out
) noexcept nogil:
    cdef Py_ssize_t at, found = 0
    cdef const uint8_t* row
    if n == 0:
        return 0
    row = wanted.rows + wanted.n * wanted.class_of[text[0]]
    for at in range(1, n):
        if out != NULL and row[wanted.class_of[text[at]]]:
            out[found] = at
        found += row[wanted.class_of[text[at]]]
        row = wanted.rows + wanted.n * wanted.class_of[text[at]]
    return found
