"""Where characters of a text are in its spelling."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t, uint8_t


cdef class SpelledPlaces:
    cdef Py_ssize_t n               # characters
    cdef readonly Py_ssize_t count  # ... that are spelled
    cdef Py_ssize_t n_longest       # of these, those that take four bytes in memory
    cdef readonly bint has_surrogates
    cdef int64_t* others            # these
    cdef int64_t* beyond            # characters that the spelling has more, before each and at the end
    cdef bint find(
        self, const Characters* text, const uint8_t* kept, bint keeps_ascii
    ) noexcept nogil
    cdef Py_ssize_t others_before(self, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t to_spelling(self, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t to_start(self, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t to_end(self, Py_ssize_t at) noexcept nogil
    cdef bint becomes_nothing(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t to_text(self, Py_ssize_t place) noexcept nogil
