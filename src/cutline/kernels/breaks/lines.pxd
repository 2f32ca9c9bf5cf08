"""Where paragraphs, entries and lines of a text end."""

from cutline.kernels.base.characters cimport Characters


cdef Py_ssize_t last_paragraph(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
cdef Py_ssize_t last_entry(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
cdef Py_ssize_t last_line(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
