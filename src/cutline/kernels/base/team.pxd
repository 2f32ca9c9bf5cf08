"""Parts of a job, for several threads: see team.h."""

cdef extern from "team.h":
    ctypedef struct Team "cutline_team":
        pass


cdef class Led:
    cdef Team team

    cdef void work(self, int part) noexcept nogil
    cdef bint share(self, int n_parts) noexcept nogil
