"""The tags and comments of an HTML page, as the standard's tokenizer finds them."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t

cdef enum:
    MOST_NAME = 10              # characters of a name that matters

cdef struct Tag:
    Py_ssize_t start
    Py_ssize_t end
    bint is_end                 # an end tag
    int n_name                  # 0: a comment, or a tag that has no end or no known name
    uint8_t name[MOST_NAME]     # in lower case


cdef bint next_tag(const Characters* text, Py_ssize_t at, Tag* tag) noexcept nogil
cdef Py_ssize_t end_of_raw(
    const Characters* text, Py_ssize_t at, const uint8_t* name, Py_ssize_t n_name
) noexcept nogil
