"""Where a string first occurs in a long text.

Guarded by tests/kernels/test_find.py.
"""

from cutline.kernels.base.characters cimport Characters, Unit, char_at, characters_of
from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t

cdef extern from "native.h":
    bint has_byte "cutline_has_byte"(const uint8_t* text, uint8_t byte) noexcept nogil

cdef enum:
    LONG = 1 << 12      # characters
    BLOCK = 64          # places that are looked at together


def find(str text not None, str wanted not None):
    """`text.find(wanted)`, in a tenth of its time, and without the GIL if the text is long.

    Cost: linear in the text; times the length of `wanted`, in a text of its beginnings.

    >>> find("a <| b", "<|"), find("a <| b", "|>")
    (2, -1)
    """
    cdef Characters characters = characters_of(text), pattern = characters_of(wanted)
    cdef Py_ssize_t found
    if pattern.n < 2 or characters.n < LONG:
        return text.find(wanted)
    if pattern.kind > characters.kind:
        return -1       # it has a character that is wider than any of the text
    with nogil:
        if characters.kind == 1:
            found = find_in(<const uint8_t*> characters.data, characters.n, &pattern)
        elif characters.kind == 2:
            found = find_in(<const uint16_t*> characters.data, characters.n, &pattern)
        else:
            found = find_in(<const uint32_t*> characters.data, characters.n, &pattern)
    return found


cdef Py_ssize_t find_bytes(
    const uint8_t* text, Py_ssize_t n, const Characters* wanted
) noexcept nogil:
    """Where bytes first occur in n others; -1: nowhere. They are two or more, of kind 1."""
    return find_in(text, n, wanted)


cdef Py_ssize_t find_in(
    const Unit* text, Py_ssize_t n, const Characters* wanted
) noexcept nogil:
    cdef Unit first = <Unit> char_at(wanted, 0), second = <Unit> char_at(wanted, 1)
    cdef Py_ssize_t at = 0, stop, end = n - wanted.n + 1     # it can begin before there
    while at < end:
        while at + BLOCK <= end and not has_pair(text + at, first, second):
            at += BLOCK
        stop = min(at + BLOCK, end)
        while at < stop:
            if text[at] == first and begins_with(text + at, wanted):
                return at
            at += 1
    return -1


cdef inline bint has_pair(const Unit* text, Unit first, Unit second) noexcept nogil:
    """Whether these neighbours are at any of BLOCK places: without a branch, for vectors."""
    cdef Unit seen = 0
    cdef Py_ssize_t at
    if Unit is uint8_t and not has_byte(text, first):
        return False    # nearly always
    for at in range(BLOCK):
        seen |= <Unit> (text[at] == first) & <Unit> (text[at + 1] == second)
    return seen != 0


cdef inline bint begins_with(const Unit* text, const Characters* wanted) noexcept nogil:
    cdef Py_ssize_t at = 1
    while at < wanted.n and text[at] == char_at(wanted, at):
        at += 1
    return at == wanted.n
