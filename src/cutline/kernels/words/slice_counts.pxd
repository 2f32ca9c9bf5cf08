"""Counts of the slices of a text, for what cuts it."""

from cutline.kernels.words.text_starts cimport TextStarts
from cutline.kernels.words.word_state cimport WordState

# Where a slice begins, and its tokens up to its first start.
cdef struct SliceHead:
    Py_ssize_t asked            # for
    Py_ssize_t start            # after white space that is cut off
    Py_ssize_t first            # the first start; or NOT_FOUND
    Py_ssize_t tokens           # UNKNOWN: not counted yet
    double score                # ... and of the last word up to there: its sum


cdef class SliceCounts(TextStarts):
    cdef void fetch_text(self, Py_ssize_t at) noexcept nogil
    cdef void fetch_sums(self, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t find_head(
        self, WordState* state, Py_ssize_t start, SliceHead* head
    ) noexcept nogil
    cdef Py_ssize_t find_changed_head(self, WordState* state, SliceHead* head) noexcept nogil
    cdef Py_ssize_t count_slice(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t count_head(self, WordState* state, SliceHead* head) noexcept nogil
    cdef Py_ssize_t count_rounded_head(self, WordState* state, SliceHead* head) noexcept nogil
    cdef void find_moved(self, WordState* state, const SliceHead* head) noexcept nogil
    cdef Py_ssize_t changed_by_rounding(
        self, const WordState* state, Py_ssize_t first, Py_ssize_t last, bint may_change,
        Py_ssize_t* changes
    ) noexcept nogil
    cdef double rounding_after(
        self, const WordState* state, Py_ssize_t place, Py_ssize_t n
    ) noexcept nogil
    cdef Py_ssize_t count_from(
        self, WordState* state, SliceHead* head, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t count_after(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t count_sure_word(
        self, WordState* state, Py_ssize_t place, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t count_alone(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t first_start(self, WordState* state, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t prefix_reach(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil
    cdef Py_ssize_t after_white(self, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t characters_counted(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
