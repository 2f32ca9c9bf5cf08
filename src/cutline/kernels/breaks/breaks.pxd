"""Where a text pauses."""

from cutline.kernels.base.characters cimport Characters

cpdef enum:
    PARAGRAPH = 0
    ENTRY = 1
    LINE = 2
    SENTENCE = 3
    PHRASE = 4
    WORD = 5
    GRAPHEME = 6
    CHARACTER = 7


cdef int need_kind(int kind) except -1
cdef Py_ssize_t last_break(
    const Characters* text, int kind, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
cdef bint says_any(const Characters* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil
