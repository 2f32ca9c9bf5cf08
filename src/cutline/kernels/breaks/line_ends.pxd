"""Where line ends are: of the kinds of Unicode, or newlines alone.

Guarded by tests/kernels/test_lines.py.
"""

from cutline.kernels.base.characters cimport Characters, char_at
from cutline.kernels.base.common cimport memcpy, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    AT_ONCE = 16                # characters that vector instructions compare


cdef inline bint is_line_end(uint32_t code_point) noexcept nogil:
    return (
        0x0A <= code_point <= 0x0D or code_point == 0x85
        or code_point == 0x2028 or code_point == 0x2029
    )


cdef inline Py_ssize_t skip_back(
    const Characters* text, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """A place down to `after` with no newline between it and `until`, and one soon before it."""
    cdef const uint8_t* data = <const uint8_t*> text.data
    cdef Py_ssize_t at_once = 8 // text.kind
    cdef uint64_t ones = <uint64_t> -1 // ((<uint64_t> 1 << (8 * text.kind)) - 1), word
    while until - after >= at_once:
        # Of each character that is a newline, and of no one below the first, the top bit stays.
        memcpy(&word, data + (until - at_once) * text.kind, 8)  # a character's bytes as they lie
        word ^= ones * c"\n"
        if (word - ones) & ~word & ones << (8 * text.kind - 1):
            break
        until -= at_once
    return until


cdef inline bint ends_narrow_lines(const uint8_t* characters) noexcept nogil:
    """Whether any of the next AT_ONCE characters may end a line."""
    cdef uint8_t found = 0, code_point
    cdef Py_ssize_t at
    for at in range(AT_ONCE):
        code_point = characters[at]
        found |= (<uint8_t> (code_point - 0x0A) <= 3) | (code_point == 0x85)
    return found


cdef inline bint ends_wide_lines(const uint16_t* characters) noexcept nogil:
    """The same of characters of two bytes each."""
    cdef uint16_t found = 0, code_point
    cdef Py_ssize_t at
    for at in range(AT_ONCE):
        code_point = characters[at]
        found |= (
            (<uint16_t> (code_point - 0x0A) <= 3) | (code_point == 0x85)
            | (code_point >> 1 == 0x2028 >> 1)
        )
    return found


cdef inline Py_ssize_t last_candidate(
    const Characters* text, bint only_newlines, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """The last place after a newline, or any character that may end a line; `after`: none.

    A loop for each kind: this passes over nearly all of a text.
    """
    if only_newlines:
        until = skip_back(text, after, until)
    cdef const uint8_t* narrow = <const uint8_t*> text.data
    cdef const uint16_t* wide = <const uint16_t*> text.data
    cdef uint32_t code_point
    if text.kind == 1:
        if only_newlines:
            while until > after and narrow[until - 1] != c"\n":
                until -= 1
        else:
            while until - after >= AT_ONCE and not ends_narrow_lines(narrow + until - AT_ONCE):
                until -= AT_ONCE
            while until > after and not is_line_end(narrow[until - 1]):
                until -= 1
        return until
    if text.kind == 2:
        while (
            not only_newlines and until - after >= AT_ONCE
            and not ends_wide_lines(wide + until - AT_ONCE)
        ):
            until -= AT_ONCE
        while until > after:
            code_point = wide[until - 1]
            if code_point == c"\n" or (not only_newlines and is_line_end(code_point)):
                break
            until -= 1
        return until
    while until > after:
        code_point = (<const uint32_t*> text.data)[until - 1]
        if code_point == c"\n" or (not only_newlines and is_line_end(code_point)):
            break
        until -= 1
    return until


cdef inline Py_ssize_t next_line_end(
    const Characters* text, Py_ssize_t at, Py_ssize_t until
) noexcept nogil:
    """The first place from `at` on where a character ends a line; `until`: none."""
    cdef const uint8_t* narrow = <const uint8_t*> text.data
    cdef const uint16_t* wide = <const uint16_t*> text.data
    while until - at >= AT_ONCE and (
        (text.kind == 1 and not ends_narrow_lines(narrow + at))
        or (text.kind == 2 and not ends_wide_lines(wide + at))
    ):
        at += AT_ONCE
    while at < until and not is_line_end(char_at(text, at)):
        at += 1
    return at
