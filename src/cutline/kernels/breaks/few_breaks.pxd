"""Cuts at breaks with the tokens before few places of a text; subclasses count what is between."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.breaks.counted_breaks cimport CountedCut
from cutline.kernels.cut.longest_fit cimport Search
from cutline.kernels.encode.batches cimport OwnedState, Source
from cutline.kernels.encode.encoder cimport Encoder
from cutline.kernels.encode.few_starts cimport FewStarts


cdef class FewSums:
    cdef Encoder encoder
    cdef str held
    cdef Characters text
    cdef FewStarts starts
    cdef readonly bint are_known
    cdef void begin_text(self, const Characters* text) noexcept nogil
    cdef int build(self, OwnedState owned, object owner) except -1
    cdef Py_ssize_t count_all(
        self, OwnedState owned, const uint8_t* utf8, Py_ssize_t n
    ) noexcept nogil
    cdef FewCut begin_cut(self)
    cdef Py_ssize_t last_start(
        self, Py_ssize_t near, Py_ssize_t at, Py_ssize_t tokens
    ) noexcept nogil


cdef class FewCut(CountedCut):
    cdef FewSums sums
    cdef OwnedState owned
    cdef Source source
    cdef Search search
    cdef Py_ssize_t asked       # where the last slice began whose head was counted
    cdef Py_ssize_t first       # the number of its first start; that of all, if it has none
    cdef Py_ssize_t head        # the tokens before that; 0, if there is none
    cdef void begin_text(self) noexcept nogil
    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end, bint leads) noexcept nogil
    cdef Py_ssize_t longest_alone(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint leads
    ) noexcept nogil
    cdef Py_ssize_t find_head(self, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t tokens_before(self, Py_ssize_t place) noexcept nogil
    cdef Py_ssize_t last_start_within(self) noexcept nogil
