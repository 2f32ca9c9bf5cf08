"""Where paragraphs and lines of a text end.

A paragraph ends after a run of blank lines, each at most 200 blanks long. A line ends
after a line end, unless the line only wraps: it has 50 characters or more, neither it nor the
next one has anything but letters and digits at the line end, and it is no short line's end.

Nothing before `start` counts, and nothing as far as 256 characters after a place.

Guarded by tests/kernels/test_lines.py.
"""

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport NOT_FOUND, load64, uint8_t, uint16_t, uint32_t, uint64_t
from cutline.kernels.breaks.text_properties cimport LETTER, SPACE, properties_of

cdef enum:
    AT_ONCE = 16                # characters that vector instructions compare
    MOST_BLANKS = 200           # of a blank line
    WRAPPED_CHARACTERS = 50     # a shorter line ends where its author wanted


cdef inline bint is_line_end(uint32_t code_point) noexcept nogil:
    return (
        0x0A <= code_point <= 0x0D or code_point == 0x85
        or code_point == 0x2028 or code_point == 0x2029
    )


cdef bint has_blank_line_before(
    const Characters* text, Py_ssize_t start, Py_ssize_t line_end
) noexcept nogil:
    """Whether the line that this newline ends is blank, and begins after another one."""
    cdef Py_ssize_t at = line_end - 1, earliest = max(start, line_end - 1 - MOST_BLANKS)
    cdef uint32_t code_point
    while at >= earliest:
        code_point = char_at(text, at)
        if code_point == c"\n":
            return True
        if not properties_of(code_point) & SPACE:
            return False
        at -= 1
    return False


cdef bint has_blank_line_after(const Characters* text, Py_ssize_t place) noexcept nogil:
    cdef Py_ssize_t at
    cdef uint32_t code_point
    for at in range(place, min(text.n, place + MOST_BLANKS + 1)):
        code_point = char_at(text, at)
        if code_point == c"\n":
            return True
        if not properties_of(code_point) & SPACE:
            return False
    return False


cdef inline Py_ssize_t skip_back(
    const Characters* text, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """A place down to `after` with no newline between it and `until`, and one soon before it."""
    cdef const uint8_t* data = <const uint8_t*> text.data
    cdef Py_ssize_t at_once = 8 // text.kind
    cdef uint64_t ones = <uint64_t> -1 // ((<uint64_t> 1 << (8 * text.kind)) - 1), word
    while until - after >= at_once:
        # Of each character that is a newline, and of no one below the first, the top bit stays.
        word = load64(data + (until - at_once) * text.kind) ^ ones * c"\n"
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


cdef Py_ssize_t last_paragraph(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    while True:
        until = last_candidate(text, True, after, until)
        if until <= after:
            return NOT_FOUND
        if has_blank_line_before(text, start, until - 1) and not has_blank_line_after(text, until):
            return until
        until -= 1


cdef bint is_wrapped(const Characters* text, Py_ssize_t start, Py_ssize_t next_line) noexcept nogil:
    """Whether the line end before a place stands in the middle of a sentence."""
    cdef Py_ssize_t line_end = next_line - 1, at
    cdef uint32_t before
    if (
        line_end > start and char_at(text, line_end) == c"\n"
        and char_at(text, line_end - 1) == c"\r"
    ):
        line_end -= 1
    if line_end - start < WRAPPED_CHARACTERS or next_line == text.n:
        return False
    before = char_at(text, line_end - 1)
    if not (before == c"," or before == c"-" or properties_of(before) & LETTER):
        return False
    if not properties_of(char_at(text, next_line)) & LETTER:
        return False
    for at in range(line_end - WRAPPED_CHARACTERS, line_end):
        if is_line_end(char_at(text, at)):
            return False
    return True


cdef Py_ssize_t last_line(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    cdef bint is_between            # a return and its newline
    while True:
        until = last_candidate(text, False, after, until)
        if until <= after:
            return NOT_FOUND
        is_between = (
            until < text.n and char_at(text, until) == c"\n" and char_at(text, until - 1) == c"\r"
        )
        if not is_between and not is_wrapped(text, start, until):
            return until
        until -= 1
