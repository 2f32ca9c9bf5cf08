"""Which line ends only wrap a text."""

from cutline.kernels.base.characters cimport Characters

# Which line ends are read as blanks; added to a kind of breaks.
cpdef enum:
    LINES_AUTO = 0              # those that only wrap a text
    LINES_KEEP = 8              # none
    LINES_JOIN = 16             # all within a paragraph

cdef enum:
    LINES = LINES_KEEP | LINES_JOIN


cdef bint is_wrapped(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t next_line
) noexcept nogil
