"""Which line ends only wrap a text."""

from cutline.kernels.base.characters cimport Characters

# Which line ends are read as blanks; added to a kind of breaks.
cpdef enum:
    LINES_AUTO = 0              # those that only wrap a text
    LINES_KEEP = 8              # none
    LINES_JOIN = 16             # all within a paragraph

cdef enum:
    STAMPED = 32                # characters at the beginning of a line that may hold its time
    LINES = LINES_KEEP | LINES_JOIN

cdef struct Line:
    Py_ssize_t begin, end       # without the blanks at its end
    Py_ssize_t columns          # where it is not whole: at least
    Py_ssize_t word             # columns that its first word takes on the line before
    bint is_whole               # it is seen from its beginning to its end
    int begins

# What stepping back from line end to line end remembers: the line that one ends, and that before.
cdef struct Seen:
    Line before, line           # where they are not whole, they are looked at again


cdef int stamps(const Characters* text, Py_ssize_t begin, Py_ssize_t line_end) noexcept nogil
cdef bint is_wrapped(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t next_line
) noexcept nogil
cdef bint is_wrapped_before(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t next_line, Seen* seen
) noexcept nogil
