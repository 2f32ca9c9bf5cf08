"""The sections of a document, from its headings: see sections.pyx."""


cdef class Sections:
    cdef readonly list paths, starts
    cdef list levels, titles    # of the path; titles that are empty are none of it
    cdef Py_ssize_t start       # of the last heading, or of those around it that follow directly
    cdef int level              # of the last heading of a group; 0: a group begins

    cdef int add(self, Py_ssize_t offset, int level, str title) except -1
    cdef int end_group(self) except -1
    cdef int end_path(self) except -1
