"""What cuts one text after another, for those that do so by indexes, by words and so on."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.chunks cimport Rows
from cutline.kernels.base.signals cimport Watch
from cutline.kernels.breaks.overlaps cimport Cutting, Overlap, Starts


cdef class TextCutter:
    cdef Overlap overlap        # None: chunks share nothing
    cdef Starts starts
    cdef Watch watch
    cdef int prepare(self, list texts) except -1
    cdef Py_ssize_t cut(
        self, Py_ssize_t number, const Characters* text, Rows* rows
    ) noexcept nogil
    cdef int close(self) except -1
    cdef Py_ssize_t cut_by(
        self, Cutting cutting, const Characters* text, Rows* rows
    ) noexcept nogil
