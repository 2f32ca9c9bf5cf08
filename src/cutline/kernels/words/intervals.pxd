"""Counts and cuts of a text, for other kernels that cut it."""

from cutline.kernels.words.longest_end cimport LongestEnds
from cutline.kernels.words.word_state cimport WordState


cdef class WordIntervals(LongestEnds):
    cdef void begin(self, WordState* state)
    cdef Py_ssize_t farthest_overlap(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil
