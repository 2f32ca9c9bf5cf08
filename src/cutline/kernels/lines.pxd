"""Where paragraphs and lines of a text end."""

from cutline.kernels.characters cimport Characters
from cutline.kernels.common cimport uint32_t

cdef extern from "Python.h":
    bint is_space "Py_UNICODE_ISSPACE"(uint32_t code_point) nogil


cdef inline bint is_line_end(uint32_t code_point) noexcept nogil:
    return (
        0x0A <= code_point <= 0x0D or code_point == 0x85
        or code_point == 0x2028 or code_point == 0x2029
    )


cdef Py_ssize_t last_paragraph(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
cdef Py_ssize_t last_line(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
cdef bint is_wrapped(const Characters* text, Py_ssize_t start, Py_ssize_t next_line) noexcept nogil
