"""Where sentences end."""

from cutline.kernels.base.characters cimport Characters

cdef Py_ssize_t last_sentence(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
cdef list list_sentences(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
)
