"""Characters of a text that are not in a set, and their spelling by stand-ins for bytes.

Guarded by tests/kernels/test_spelling.py.
"""

from cutline.kernels.base.characters cimport (
    Characters, PyUnicode_DATA, PyUnicode_KIND, char_at, characters_of, utf8_width, write_utf8,
)
from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t

cdef extern from "Python.h":
    str PyUnicode_New(Py_ssize_t n, uint32_t highest)


cdef inline bint contains(const uint8_t* kept, uint32_t code_point) noexcept nogil:
    return kept[code_point >> 3] >> (code_point & 7) & 1


def first_other(str text not None, const uint8_t[::1] kept not None):
    """The offset of the first character that is not in a set; -1: there is none.

    Args:
        kept: a bit for each of the 0x110000 code points, the lowest first.
    """
    cdef Characters characters = characters_of(text)
    cdef Py_ssize_t at = 0
    cdef const uint8_t* bits = &kept[0]
    with nogil:
        while at < characters.n and contains(bits, char_at(&characters, at)):
            at += 1
    return at if at < characters.n else -1


def spell(str text not None, const uint8_t[::1] kept not None, str stand_ins not None):
    """Write a character of `stand_ins` for each byte of UTF-8 of what is not in a set.

    Args:
        kept: as for `first_other`; has all of ASCII.
        stand_ins: for the bytes from 128 on.

    Returns:
        The text; None: one of the characters is a surrogate.
    """
    cdef Characters characters = characters_of(text), spelling = characters_of(stand_ins)
    cdef const uint8_t* bits = &kept[0]
    cdef Py_ssize_t at, written = 0, n = 0, byte, width
    cdef uint32_t point, highest = 0x7F
    cdef uint8_t utf8[4]
    cdef void* out
    cdef int kind
    with nogil:
        for at in range(characters.n):
            point = char_at(&characters, at)
            if contains(bits, point):
                n += 1
            else:
                if 0xD800 <= point < 0xE000:
                    n = -1
                    break
                n += utf8_width(point)
                point = char_at(&spelling, spelling.n - 1)
            highest = max(highest, point)
    if n < 0:
        return None
    cdef str result = PyUnicode_New(n, highest)
    out = <void*> PyUnicode_DATA(result)
    kind = PyUnicode_KIND(result)
    with nogil:
        for at in range(characters.n):
            point = char_at(&characters, at)
            if contains(bits, point):
                write_char(out, kind, written, point)
                written += 1
                continue
            width = write_utf8(point, utf8)
            for byte in range(width):
                write_char(out, kind, written, char_at(&spelling, utf8[byte] - 128))
                written += 1
    return result


cdef inline void write_char(void* out, int kind, Py_ssize_t at, uint32_t point) noexcept nogil:
    if kind == 1:
        (<uint8_t*> out)[at] = <uint8_t> point
    elif kind == 2:
        (<uint16_t*> out)[at] = <uint16_t> point
    else:
        (<uint32_t*> out)[at] = point
