"""Chunks that end at the last breaks that fit, for whatever counts slices."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t
from cutline.kernels.breaks.overlaps cimport Cutting


cdef class CountedCut(Cutting):
    cdef const Characters* text
    cdef Py_ssize_t n           # tokens of a chunk at most
    cdef Py_ssize_t most        # ... of the present one, of which something else may leave less
    cdef Py_ssize_t known_from  # ... if it ends here or later
    cdef double min_fill        # the share of them that it has at least, unless it ends the text
    cdef object renew           # see `cut_at_breaks`
    cdef const int[::1] kinds
    cdef Py_ssize_t longest     # of a chunk that ends at no break
    cdef Py_ssize_t bound       # of the present chunk: no end after this fits
    cdef bint is_longest        # ... and this one does
    cdef Py_ssize_t floor       # where it adds text, for who counts by `longest_nearby`

    cdef object limit_chunks(self, Py_ssize_t n, double min_fill, const int[::1] kinds, renew)
    cdef Py_ssize_t fits_within(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef void pass_to(self, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t least_tokens(self, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t last_place(self, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t longest_fit(self, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t find_longest(self, Py_ssize_t start, Py_ssize_t floor) noexcept nogil
    cdef Py_ssize_t last_that_fits(
        self, int kind, Py_ssize_t start, Py_ssize_t floor, Py_ssize_t* tokens
    ) noexcept nogil
