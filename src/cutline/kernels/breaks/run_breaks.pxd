"""Some places of a text where runs start, with the tokens before each."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.encode.encoder cimport Encoder
from cutline.kernels.encode.run_counts cimport RunRules, RunStarts


cdef class RunSums:
    cdef Encoder encoder
    cdef RunRules rules
    cdef str held
    cdef Characters text
    cdef RunStarts starts
    cdef readonly bint are_known
    cdef Py_ssize_t last_start(self, Py_ssize_t at, Py_ssize_t tokens) noexcept nogil
