"""Where a text may be cut, the best places first, and cuts there by whatever counts slices."""

from cutline.kernels.base.common cimport int64_t
from cutline.kernels.breaks.counted_breaks cimport CountedCut
from cutline.kernels.breaks.overlaps cimport Overlap
from cutline.kernels.index.bitmaps cimport RankBitmaps


cdef class Places:
    cdef RankBitmaps* levels
    cdef int n_levels
    cdef int64_t* starts        # of the units
    cdef int64_t* ends
    cdef int64_t* outer         # the place of the unit that most closely encloses each, or -1
    cdef Py_ssize_t n_units
    cdef int64_t end            # of the last unit
    cdef int add_level(self, bytes bits) except -1
    cdef void nest(self) noexcept
    cdef Py_ssize_t last_before(
        self, Py_ssize_t place, Py_ssize_t low, Py_ssize_t high
    ) noexcept nogil


cdef tuple cut_counted(
    CountedCut counts, Places places, Overlap overlap, Py_ssize_t start, Py_ssize_t floor,
    Py_ssize_t until
)
