"""Counts of the slices of a text, for other kernels that cut it."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t, uint32_t, uint64_t
from cutline.kernels.base.signals cimport Watch
from cutline.kernels.words.char_map cimport CharMap
from cutline.kernels.words.encoder cimport WordEncoder, WordState
from cutline.kernels.words.unigram cimport Joints

# Bit k: at character k begins what is counted apart. `ranks` has the bits before each word of 64,
# `sums` the tokens before each bit; bits inside words are set in `joined`, too, and those of parts
# with entangled characters in `entangled`.
cdef struct Starts:
    uint64_t* bits
    uint64_t* joined
    uint64_t* entangled         # NULL: there are no such parts
    uint32_t* ranks
    int64_t* sums
    Py_ssize_t count, slots
    Py_ssize_t n                # characters


# Where a slice begins, and its tokens up to its first start.
cdef struct SliceHead:
    Py_ssize_t asked            # for
    Py_ssize_t start            # after white space that is cut off
    Py_ssize_t first            # the first start; or NOT_FOUND
    Py_ssize_t tokens           # UNKNOWN: not counted yet


cdef class WordIntervals:
    cdef WordEncoder encoder
    cdef str held
    cdef Characters text
    cdef Starts starts
    cdef list memory
    cdef CharMap char_map
    cdef bint strips_start
    cdef object parts
    cdef Py_ssize_t gap         # tokens from one start to the next; 0: no start is left out
    cdef readonly int64_t total
    cdef int reserve(self, bint has_parts) except -1
    cdef void rank(self) noexcept nogil
    cdef Py_ssize_t build(
        self, WordState* state, const int64_t* edges, Py_ssize_t n_edges
    ) noexcept nogil
    cdef Py_ssize_t add_entangled(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t add_words(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Joints* joints
    ) noexcept nogil
    cdef Py_ssize_t add_stretch(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Joints* joints
    ) noexcept nogil
    cdef Py_ssize_t add_runs(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil
    cdef Py_ssize_t next_closed(
        self, WordState* state, Py_ssize_t at, Py_ssize_t stop
    ) noexcept nogil
    cdef bint add_gap(self, Py_ssize_t start, Py_ssize_t end, int64_t tokens) noexcept nogil
    cdef Py_ssize_t add_joints(
        self, WordState* state, Py_ssize_t word, int64_t before, Joints* joints
    ) noexcept nogil
    cdef Py_ssize_t count_after(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t count_sure_word(
        self, WordState* state, Py_ssize_t place, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t first_start(self, WordState* state, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t prefix_reach(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil
    cdef Py_ssize_t count_slice(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t find_head(
        self, WordState* state, Py_ssize_t start, SliceHead* head
    ) noexcept nogil
    cdef Py_ssize_t count_head(self, WordState* state, SliceHead* head) noexcept nogil
    cdef Py_ssize_t count_from(
        self, WordState* state, SliceHead* head, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t characters_counted(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t farthest_overlap(
        self, WordState* state, Watch* watch, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil
    cdef Py_ssize_t after_white(self, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t count_alone(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t ask_count(
        self, Py_ssize_t start, Py_ssize_t end, bint inside
    ) noexcept with gil
    cdef Py_ssize_t ask_longest_fit(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint inside
    ) noexcept with gil
    cdef Py_ssize_t last_place(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil
    cdef Py_ssize_t last_rank(
        self, Py_ssize_t rank, int64_t most
    ) noexcept nogil
    cdef Py_ssize_t longest_fit(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil
    cdef Py_ssize_t longest_from(
        self, WordState* state, Py_ssize_t start, Py_ssize_t n
    ) noexcept nogil
    cdef Py_ssize_t end_in_window(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n
    ) noexcept nogil
    cdef bint is_settled(self, WordState* state, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t rank_of(self, Py_ssize_t at) noexcept nogil
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
    cdef void try_blank(
        self, WordState* state, Py_ssize_t word, Py_ssize_t before, Py_ssize_t n, Py_ssize_t* best
    ) noexcept nogil
    cdef Py_ssize_t best_end_slowly(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t limit, Py_ssize_t n
    ) noexcept nogil
