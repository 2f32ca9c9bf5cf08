"""A text's UTF-8, and what is a character in it, for other kernels."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport is_continuation, uint8_t

cdef enum:
    MOST_AT_WORST = 1 << 23     # characters: memory for the UTF-8 of more is as large as that
    # Up to 28 bytes are written for eight characters. Each of those after them writes at least one: so
    # many must be left where nothing may be written behind the text's UTF-8.
    UTF8_ROOM = 32

cpdef bytes encode_utf8(str text)
cdef Py_ssize_t write_text(const Characters* text, bint is_wide, uint8_t* out) noexcept nogil


cdef inline Py_ssize_t utf8_at_worst(const Characters* text) noexcept nogil:
    """The most bytes that a text's UTF-8 can have: to count them takes as long as to write them."""
    return text.n * min(text.kind + 1, 4)


cdef inline Py_ssize_t valid_width(const uint8_t* text, Py_ssize_t n) noexcept nogil:
    """Bytes of the character that is not ASCII at the start of `n` bytes; 0: it is not valid."""
    cdef uint8_t lead = text[0]
    if n < 2 or not is_continuation(text[1]):
        return 0
    if 0xC2 <= lead < 0xE0:
        return 2
    if n < 3 or not is_continuation(text[2]):
        return 0
    if 0xE0 <= lead < 0xF0:
        # Neither a longer form of what has a shorter one, nor a surrogate.
        if lead == 0xE0 and text[1] < 0xA0 or lead == 0xED and text[1] >= 0xA0:
            return 0
        return 3
    if n < 4 or not is_continuation(text[3]) or not 0xF0 <= lead < 0xF5:
        return 0
    if lead == 0xF0 and text[1] < 0x90 or lead == 0xF4 and text[1] >= 0x90:
        return 0
    return 4
