"""How far are bytes valid UTF-8?"""

from cutline.kernels.common cimport is_continuation, load64, uint8_t, uint64_t

cdef uint64_t HIGH_BITS = <uint64_t> 0x8080808080808080


def valid_bytes(const uint8_t[::1] data not None):
    """Bytes of the longest beginning that consists of whole characters in valid UTF-8.

    What follows it is no UTF-8, or a character whose end is missing. Releases the GIL.

    >>> valid_bytes("año".encode()), valid_bytes("añ".encode()[:-1]), valid_bytes(b"a\\xff")
    (4, 1, 1)
    """
    cdef Py_ssize_t n = data.shape[0], at = 0, width
    cdef const uint8_t* text = &data[0] if n else NULL
    with nogil:
        while at < n:
            if text[at] < 0x80:
                at += 1
                while at <= n - 8 and not load64(text + at) & HIGH_BITS:
                    at += 8
            else:
                width = valid_width(text + at, n - at)
                if not width:
                    break
                at += width
    return at


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
