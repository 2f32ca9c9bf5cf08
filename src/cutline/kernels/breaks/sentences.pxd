"""Where sentences end."""

from cutline.kernels.base.characters cimport Characters

cdef struct Walk:
    const Characters* text
    int lines                   # what is done with line ends: see `wrapping.pxd`
    Py_ssize_t start            # the chunk's
    Py_ssize_t first            # where it began
    Py_ssize_t at
    Py_ssize_t until            # ends after this are not wanted
    Py_ssize_t end              # what is after this is not looked at
    bint is_open                # at `until` a bracket opens: what ends after it, ends before it


cdef Py_ssize_t last_sentence(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil
cdef void begin_sentences(
    Walk* walk, const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after,
    Py_ssize_t until
) noexcept nogil
cdef Py_ssize_t next_sentence(Walk* walk, Py_ssize_t last) noexcept nogil
cdef list list_sentences(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
)
