"""Places of which a chunk's end is chosen by the text around it."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint64_t

cdef struct Candidate:
    uint64_t hashed
    Py_ssize_t place

# The best one, with the greatest hash, the last one of equals, is the first; sometimes a heap.
cdef struct Candidates:
    Candidate* heap
    Py_ssize_t count, slots
    bint is_heap
    uint64_t* points            # characters around the places
    Py_ssize_t point_slots


cdef Py_ssize_t best_candidate(const Candidates* candidates) noexcept nogil
cdef bint find_candidates(
    Candidates* candidates, const Characters* text, int kind, Py_ssize_t start,
    Py_ssize_t after, Py_ssize_t until
) noexcept nogil
cdef Py_ssize_t next_candidate(Candidates* candidates) noexcept nogil
cdef void free_candidates(Candidates* candidates) noexcept nogil
