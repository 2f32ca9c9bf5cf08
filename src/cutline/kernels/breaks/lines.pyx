"""Where paragraphs and lines of a text end.

A paragraph ends after a run of blank lines, each at most 200 blanks long. A line ends
after a line end, unless the line only wraps: see `wrapping.pyx`.

Nothing before `start` counts, and nothing as far as 256 characters after a place.

Guarded by tests/kernels/test_lines.py.
"""

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport NOT_FOUND, uint32_t
from cutline.kernels.breaks.line_ends cimport last_candidate
from cutline.kernels.breaks.text_properties cimport SPACE, properties_of
from cutline.kernels.breaks.wrapping cimport is_wrapped

cdef enum:
    MOST_BLANKS = 200           # of a blank line


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


cdef Py_ssize_t last_line(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    cdef bint is_between            # a return and its newline
    while True:
        until = last_candidate(text, False, after, until)
        if until <= after:
            return NOT_FOUND
        is_between = (
            until < text.n and char_at(text, until) == c"\n" and char_at(text, until - 1) == c"\r"
        )
        if not is_between and not is_wrapped(text, lines, start, until):
            return until
        until -= 1
