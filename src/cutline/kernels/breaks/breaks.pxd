"""Where a text pauses."""

from cutline.kernels.base.characters cimport Characters

cpdef enum:
    PARAGRAPH = 0
    LINE = 1
    SENTENCE = 2
    PHRASE = 3
    WORD = 4
    GRAPHEME = 5
    CHARACTER = 6


cdef int need_kind(int kind) except -1
cdef Py_ssize_t last_break(
    const Characters* text, int kind, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
cdef bint says_any(const Characters* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil
