"""The longest slices of a text within a budget, for what cuts it."""

from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.words.slice_counts cimport SliceCounts, SliceHead
from cutline.kernels.words.word_state cimport WordState


cdef class LongestEnds(SliceCounts):
    cdef Py_ssize_t longest_from(
        self, WordState* state, Py_ssize_t start, Py_ssize_t n
    ) noexcept nogil
    cdef Py_ssize_t longest_fit(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil
    cdef Py_ssize_t last_place(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil
    cdef bint is_changed(
        self, const WordState* state, Py_ssize_t first, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t longest_alone(
        self, WordState* state, Py_ssize_t start, Py_ssize_t n
    ) noexcept nogil
    cdef Py_ssize_t ask_longest_fit(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint inside
    ) noexcept with gil
    cdef Py_ssize_t end_in_window(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n
    ) noexcept nogil
    cdef void keep_prefixes(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil
    cdef bint is_settled(self, WordState* state, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t best_end(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t limit, Py_ssize_t n
    ) noexcept nogil
    cdef Py_ssize_t try_last(
        self, WordState* state, Py_ssize_t over, Py_ssize_t total, const Py_ssize_t* totals,
        Py_ssize_t n, bint inside, bint first, Py_ssize_t* best
    ) noexcept nogil
    cdef Py_ssize_t try_ends(
        self, WordState* state, Py_ssize_t word, Py_ssize_t before, Py_ssize_t n,
        bint inside, Py_ssize_t* best
    ) noexcept nogil
    cdef Py_ssize_t count_ends(
        self, WordState* state, const uint8_t* word, Py_ssize_t length, Py_ssize_t most, bint inside
    ) noexcept nogil
    cdef void try_blank(
        self, WordState* state, Py_ssize_t word, Py_ssize_t before, Py_ssize_t n, Py_ssize_t* best
    ) noexcept nogil
    cdef Py_ssize_t last_with_words(
        self, WordState* state, Py_ssize_t word, Py_ssize_t limit
    ) noexcept nogil
    cdef Py_ssize_t best_end_slowly(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t limit, Py_ssize_t n
    ) noexcept nogil
