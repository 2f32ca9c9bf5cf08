"""Where a text pauses."""

from cutline.kernels.characters cimport Characters

cpdef enum:
    PARAGRAPH = 0
    LINE = 1
    SENTENCE = 2
    CHARACTER = 3


cdef int need_kind(int kind) except -1
cdef Py_ssize_t last_break(
    const Characters* text, int kind, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
