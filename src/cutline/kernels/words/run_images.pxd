"""How runs are written by the images of their characters, where a normalizer changes these.

Guarded by tests/pipeline/test_run_images.py.
"""

from cpython.ref cimport PyObject

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.base.spelling cimport SpelledPlaces
from cutline.kernels.encode.run_counts cimport RunRules
from cutline.kernels.words.char_map cimport CharBlock, CharMap

cdef struct Images:
    CharBlock** blocks
    const uint8_t* closes       # a bit for each code point: whether a run may end in it
    uint32_t fused              # the bytes of a stand-in of which several become one; 0: none do
    bint strips_end             # a blank at the end of a text is cut off
    PyObject* normalize         # parts whose characters change one another


cdef class ImageRules(RunRules):
    cdef Images images
    cdef CharMap char_map
    cdef const uint8_t[::1] held_closes
    cdef object normalize


cdef class ImagePlaces(SpelledPlaces):
    cdef uint8_t* merged        # how what they become begins with what is there already
    cdef Py_ssize_t slots, more_slots, merged_slots
    cdef bint strips            # a slice that ends in a blank becomes what ends before that
    cdef str held
    cdef Characters changed
    cdef bint add(self, Py_ssize_t at, Py_ssize_t beyond, uint8_t merged) noexcept nogil
