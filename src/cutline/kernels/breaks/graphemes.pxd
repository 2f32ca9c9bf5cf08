"""Where grapheme clusters end."""

from cutline.kernels.base.characters cimport Characters

cdef bint is_grapheme_boundary(
    const Characters* text, Py_ssize_t start, Py_ssize_t at
) noexcept nogil
