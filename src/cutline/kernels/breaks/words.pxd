"""Where words end."""

from cutline.kernels.base.characters cimport Characters

cdef bint ends_word(const Characters* text, Py_ssize_t start, Py_ssize_t at) noexcept nogil
cdef bint suits_word(const Characters* text, Py_ssize_t start, Py_ssize_t at) noexcept nogil
cdef bint ends_reference(const Characters* text, Py_ssize_t start, Py_ssize_t at) noexcept nogil
