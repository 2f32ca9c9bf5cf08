"""Which line ends only wrap a text."""

from cutline.kernels.base.characters cimport Characters

# What is done with line ends.
cdef enum:
    LINES_AUTO = 0              # those that only wrap a text are read as blanks
    LINES_KEEP = 8              # none is
    LINES_JOIN = 16             # all within a paragraph are
    LINES = 24                  # mask


cdef bint is_wrapped(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t next_line
) noexcept nogil
