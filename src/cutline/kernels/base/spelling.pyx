"""Characters of a text that are not in a set, and their spelling by stand-ins for bytes.

Guarded by tests/kernels/test_spelling.py.
"""

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport (
    Characters, PyUnicode_DATA, PyUnicode_KIND, Unit, char_at, characters_of, utf8_width,
    write_utf8,
)
from cutline.kernels.base.common cimport int64_t, memcpy, uint8_t, uint16_t, uint32_t

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


def spell(str text not None, const uint8_t[::1] kept not None, str stand_ins not None):
    """Write a character of `stand_ins` for each byte of UTF-8 of what is not in a set.

    Args:
        kept: as for `first_other`; has all of ASCII.
        stand_ins: for the bytes from 128 on: neighbours, of two bytes in memory each.

    Returns:
        The text; None: one of the characters is a surrogate.
    """
    cdef Characters characters = characters_of(text), spelling = characters_of(stand_ins)
    cdef const uint8_t* bits = &kept[0]
    cdef Py_ssize_t at, written = 0, n = characters.n, start, byte, width
    cdef uint32_t point, first = char_at(&spelling, 0)
    cdef bint is_long = False, changes = False
    cdef uint8_t utf8[4]
    cdef void* out
    cdef int kind
    with nogil:
        at = other_from(&characters, 0, bits, True)
        while at < characters.n:
            changes = True
            point = char_at(&characters, at)
            if 0xD800 <= point < 0xE000:
                n = -1
                break
            n += utf8_width(point) - 1
            at = other_from(&characters, at + 1, bits, True)
        if characters.kind == 4 and n > 0:
            # What stays may need less room than what was there.
            for at in range(characters.n):
                point = char_at(&characters, at)
                if point > 0xFFFF and contains(bits, point):
                    is_long = True
                    break
    if n < 0:
        return None
    if not changes:
        return text
    cdef str result = PyUnicode_New(n, 0x10FFFF if is_long else 0xFFFF)
    out = <void*> PyUnicode_DATA(result)
    kind = PyUnicode_KIND(result)
    with nogil:
        start = 0
        while True:
            at = other_from(&characters, start, bits, True)
            copy_characters(&characters, start, at, out, kind, written)
            written += at - start
            if at == characters.n:
                break
            width = write_utf8(char_at(&characters, at), utf8)
            for byte in range(width):
                write_char(out, kind, written, first + utf8[byte] - 128)
                written += 1
            start = at + 1
    return result


def spelled_places(str text not None, const uint8_t[::1] kept not None):
    """Where each character of a text begins in its spelling, and where that ends: int64.

    Args:
        kept: as for `spell`.
    """
    cdef Characters characters = characters_of(text)
    cdef const uint8_t* bits = &kept[0]
    places = zeroed_numbers("q", characters.n + 1)
    cdef int64_t[::1] out = places
    with nogil:
        if characters.kind == 1:
            write_places(<const uint8_t*> characters.data, characters.n, bits, &out[0])
        elif characters.kind == 2:
            write_places(<const uint16_t*> characters.data, characters.n, bits, &out[0])
        else:
            write_places(<const uint32_t*> characters.data, characters.n, bits, &out[0])
    return places


cdef void write_places(
    const Unit* text, Py_ssize_t n, const uint8_t* kept, int64_t* out
) noexcept nogil:
    cdef Py_ssize_t at, place = 0
    for at in range(n):
        out[at] = place
        place += 1 if contains(kept, text[at]) else utf8_width(text[at])
    out[n] = place


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
