"""Places in a text between two characters whose classes make a pair."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t, uint16_t

# Which classes make a pair, one behind the other.
cdef struct Pairs:
    const uint16_t* class_of    # of each code point
    const uint8_t* rows         # of each class and the one after it
    Py_ssize_t n                # classes


cdef Pairs pairs_of(const uint16_t[::1] class_of, const uint8_t[:, ::1] pairs)
cdef Py_ssize_t next_place(
    const Characters* text, Py_ssize_t at, Py_ssize_t until, const Pairs* wanted
) noexcept nogil
