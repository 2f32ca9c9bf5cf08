"""Characters of a str where they lie in memory: no UTF-8 copy is made.

Guarded by tests/counting/test_intervals.py.
"""

from libc.stdlib cimport malloc

from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    const void* PyUnicode_DATA(object text)
    bint PyUnicode_IS_ASCII(object text)

cdef enum:
    BLOCK = 240         # characters: the sum of what each adds fits a byte

# The buffer of a str that outlives this.
cdef struct Characters:
    const void* data
    int kind                    # bytes a character
    bint is_ascii
    Py_ssize_t n


cdef inline Characters characters_of(str text):
    cdef Characters characters
    characters.data = PyUnicode_DATA(text)
    characters.kind = PyUnicode_KIND(text)
    characters.is_ascii = PyUnicode_IS_ASCII(text)
    characters.n = len(text)
    return characters


cdef inline Characters slice_of(
    const Characters* text, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """The characters of text[start:end]."""
    cdef Characters part = text[0]
    part.data = <const char*> text.data + start * text.kind
    part.n = end - start
    return part


cdef inline uint32_t char_at(const Characters* text, Py_ssize_t at) noexcept nogil:
    if text.kind == 1:
        return (<const uint8_t*> text.data)[at]
    if text.kind == 2:
        return (<const uint16_t*> text.data)[at]
    return (<const uint32_t*> text.data)[at]


cdef inline Py_ssize_t utf8_width(uint32_t code_point) noexcept nogil:
    return 1 + (code_point >= 0x80) + (code_point >= 0x800) + (code_point >= 0x10000)


ctypedef fused Unit:
    uint8_t
    uint16_t
    uint32_t


cdef inline Py_ssize_t bytes_beyond_first(
    const Unit* text, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Bytes of text[start:end] in UTF-8, but one for each character; at most BLOCK characters."""
    cdef Unit total = 0
    cdef Py_ssize_t at
    for at in range(start, end):
        total += text[at] >= 0x80
        if Unit is not uint8_t:
            total += text[at] >= 0x800
        if Unit is uint32_t:
            total += text[at] >= 0x10000
    return total


cdef inline Py_ssize_t utf8_bytes(
    const Characters* text, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Bytes of text[start:end] in UTF-8."""
    cdef Py_ssize_t total = end - start, stop
    while start < end and not text.is_ascii:
        # In sums as wide as a character, that the compiler may take many at a time.
        stop = min(end, start + BLOCK)
        if text.kind == 1:
            total += bytes_beyond_first(<const uint8_t*> text.data, start, stop)
        elif text.kind == 2:
            total += bytes_beyond_first(<const uint16_t*> text.data, start, stop)
        else:
            total += bytes_beyond_first(<const uint32_t*> text.data, start, stop)
        start = stop
    return total


cdef inline Py_ssize_t write_utf8(uint32_t code_point, uint8_t* out) noexcept nogil:
    """Write a character's UTF-8. Returns its bytes."""
    if code_point < 0x80:
        out[0] = code_point
        return 1
    if code_point < 0x800:
        out[0] = 0xC0 | code_point >> 6
        out[1] = 0x80 | (code_point & 0x3F)
        return 2
    if code_point < 0x10000:
        out[0] = 0xE0 | code_point >> 12
        out[1] = 0x80 | (code_point >> 6 & 0x3F)
        out[2] = 0x80 | (code_point & 0x3F)
        return 3
    out[0] = 0xF0 | code_point >> 18
    out[1] = 0x80 | (code_point >> 12 & 0x3F)
    out[2] = 0x80 | (code_point >> 6 & 0x3F)
    out[3] = 0x80 | (code_point & 0x3F)
    return 4


cdef inline Py_ssize_t copy_utf8(
    const Characters* text, Py_ssize_t start, Py_ssize_t end, uint8_t* out
) noexcept nogil:
    """Write text[start:end] as UTF-8. Returns its bytes."""
    cdef Py_ssize_t n = 0, at
    for at in range(start, end):
        n += write_utf8(char_at(text, at), out + n)
    return n


cdef inline const uint8_t* utf8_of(
    const Characters* text, Py_ssize_t start, Py_ssize_t end,
    uint8_t** copied,           # out: to be freed
) noexcept nogil:
    """text[start:end] as UTF-8: where it lies, if it is ASCII. NULL: no memory."""
    copied[0] = NULL
    if text.is_ascii:
        return <const uint8_t*> text.data + start
    copied[0] = <uint8_t*> malloc(utf8_bytes(text, start, end) + 1)
    if copied[0] != NULL:
        copy_utf8(text, start, end, copied[0])
    return copied[0]
