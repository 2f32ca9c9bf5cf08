"""Where line ends are: of the kinds of Unicode, or newlines alone.

Guarded by tests/kernels/test_lines.py.
"""

from cutline.kernels.base.characters cimport Characters, char_at
from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "sixteen.h":
    uint32_t narrow_line_ends "cutline_narrow_line_ends"(const uint8_t* text) noexcept nogil
    uint32_t wide_line_ends "cutline_wide_line_ends"(const uint16_t* text) noexcept nogil
    uint32_t widest_line_ends "cutline_widest_line_ends"(const uint32_t* text) noexcept nogil
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil
    int top_bit "cutline_top_bit"(uint64_t word) noexcept nogil
    uint64_t matches_of "cutline_matches"(
        const uint8_t* text, int kind, uint32_t one, uint32_t other
    ) noexcept nogil

cdef enum:
    AT_ONCE = 16
    MANY = 64


cdef inline bint is_line_end(uint32_t code_point) noexcept nogil:
    return (
        0x0A <= code_point <= 0x0D or code_point == 0x85
        or code_point == 0x2028 or code_point == 0x2029
    )


cdef inline uint64_t newlines_in(const Characters* text, Py_ssize_t at) noexcept nogil:
    """Which of MANY characters are newlines: a bit for each."""
    return matches_of(<const uint8_t*> text.data + at * text.kind, text.kind, c"\n", c"\n")


cdef inline uint32_t line_ends_in(const Characters* text, Py_ssize_t at) noexcept nogil:
    """Which of AT_ONCE characters may end a line."""
    if text.kind == 1:
        return narrow_line_ends(<const uint8_t*> text.data + at)
    if text.kind == 2:
        return wide_line_ends(<const uint16_t*> text.data + at)
    return widest_line_ends(<const uint32_t*> text.data + at)


cdef inline uint64_t many_line_ends_in(const Characters* text, Py_ssize_t at) noexcept nogil:
    """Which of MANY characters may end a line."""
    return (
        <uint64_t> line_ends_in(text, at)
        | <uint64_t> line_ends_in(text, at + AT_ONCE) << AT_ONCE
        | <uint64_t> line_ends_in(text, at + 2 * AT_ONCE) << 2 * AT_ONCE
        | <uint64_t> line_ends_in(text, at + 3 * AT_ONCE) << 3 * AT_ONCE
    )


cdef inline Py_ssize_t last_candidate(
    const Characters* text, bint only_newlines, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """The last place after a newline, or any character that may end a line; `after`: none."""
    cdef uint64_t found = 0
    cdef uint32_t code_point
    while until - after >= MANY:
        until -= MANY
        found = newlines_in(text, until) if only_newlines else many_line_ends_in(text, until)
        if found:
            return until + top_bit(found) + 1
    if after < until and until >= MANY:
        # What is up to `after` is shifted out.
        until -= MANY
        found = newlines_in(text, until) if only_newlines else many_line_ends_in(text, until)
        found >>= after - until
        return after + top_bit(found) + 1 if found else after
    while until > after:
        code_point = char_at(text, until - 1)
        if code_point == c"\n" or (not only_newlines and is_line_end(code_point)):
            break
        until -= 1
    return until


cdef inline Py_ssize_t next_line_end(
    const Characters* text, Py_ssize_t at, Py_ssize_t until
) noexcept nogil:
    """The first place from `at` on where a character ends a line; `until`: none."""
    cdef uint32_t found
    while until - at >= AT_ONCE:
        found = line_ends_in(text, at)
        if found:
            return at + low_bit(found)
        at += AT_ONCE
    while at < until and not is_line_end(char_at(text, at)):
        at += 1
    return at
