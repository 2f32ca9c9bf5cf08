"""Where phrases end: words after which a reader pauses."""

from cutline.kernels.base.characters cimport Characters

cdef bint ends_phrase(const Characters* text, Py_ssize_t start, Py_ssize_t at) noexcept nogil
