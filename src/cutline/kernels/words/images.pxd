from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t, uint32_t

cdef enum:
    BREAK = 0xFF            # in an image: a word ends here
    BLANK = 0xFE            # the same, before a blank of a run that collapses, unless that joins
    META = 0xFD             # the replacement of a blank, in one byte

# How splitters treat the characters that are in the same classes.
cdef struct Way:
    bint ends_before, ends_after
    uint8_t group
    bint is_removed

cdef struct Edges:
    uint8_t first_group     # 0: at its edge is a marker, or it is empty
    uint8_t last_group


cdef class ImageMaker:
    cdef Way ways[256]
    cdef bytes held
    cdef const uint8_t* classes
    cdef uint32_t replacement
    cdef bint splits
    cdef readonly bint collapses, joins, leads_all
    cdef Py_ssize_t write(self, const Characters* text, uint8_t* out, Edges* edges) noexcept nogil


cdef inline Py_ssize_t most_bytes(Py_ssize_t n_characters) noexcept nogil:
    """Of the image of so many characters: four each, and a marker on both sides of each."""
    return 7 * n_characters
