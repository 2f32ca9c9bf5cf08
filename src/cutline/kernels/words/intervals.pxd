"""Counts and cuts of a text, for other kernels that cut it."""

from cutline.kernels.base.signals cimport Watch
from cutline.kernels.words.longest_end cimport LongestEnds
from cutline.kernels.words.word_state cimport WordState


cdef class WordIntervals(LongestEnds):
    cdef Py_ssize_t farthest_overlap(
        self, WordState* state, Watch* watch, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil
