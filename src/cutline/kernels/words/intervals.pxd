"""Counts and cuts of a text, for other kernels that cut it."""

from cutline.kernels.base.signals cimport Watch
from cutline.kernels.words.encoder cimport WordState
from cutline.kernels.words.longest_end cimport LongestEnds


cdef class WordIntervals(LongestEnds):
    cdef Py_ssize_t farthest_overlap(
        self, WordState* state, Watch* watch, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil
