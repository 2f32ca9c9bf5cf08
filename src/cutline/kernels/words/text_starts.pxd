"""The starts of a text, for what counts slices with them."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t, uint8_t, uint64_t
from cutline.kernels.words.char_map cimport CharMap
from cutline.kernels.words.encoder cimport WordEncoder
from cutline.kernels.words.unsure_parts cimport UnsureParts
from cutline.kernels.words.starts cimport Starts
from cutline.kernels.words.unigram cimport Joints
from cutline.kernels.words.word_state cimport WordState


cdef class TextStarts:
    cdef WordEncoder encoder
    cdef str held
    cdef Characters text
    cdef Starts starts
    cdef uint64_t* memory
    cdef Py_ssize_t memory_slots
    cdef CharMap char_map
    cdef bint strips_start
    cdef object parts
    cdef bint by_runs           # characters are entangled, and runs with such are looked up
    cdef Py_ssize_t gap         # tokens from one start to the next; 0: no start is left out
    cdef Py_ssize_t before      # bytes that may come before the first word
    cdef Py_ssize_t longest_word    # bytes of those with joints
    cdef bint are_few           # slices are: joints are, too
    cdef UnsureParts unsure     # between joints
    cdef Py_ssize_t n_joined    # words with joints
    cdef bint is_rounded        # ... whose sums have 24 bits
    cdef bint has_scores
    cdef double* scores         # of each start inside a word: the sum before it in the word
    cdef Py_ssize_t score_slots
    cdef readonly int64_t total
    cdef Py_ssize_t build_with(self, WordState* state, parts) except? -1
    cdef void begin_starts(self) noexcept nogil
    cdef bint reserve(self, bint has_parts) noexcept nogil
    cdef Py_ssize_t take_text(self, WordState* state, const Characters* text) noexcept nogil
    cdef void rank(self) noexcept nogil
    cdef Py_ssize_t build(
        self, WordState* state, const int64_t* edges, Py_ssize_t n_edges
    ) noexcept nogil
    cdef Py_ssize_t add_entangled(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t add_stretch(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Joints* joints
    ) noexcept nogil
    cdef Py_ssize_t add_changed(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil
    cdef Py_ssize_t before_removed(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t next_closed(
        self, WordState* state, Py_ssize_t at, Py_ssize_t stop
    ) noexcept nogil
    cdef Py_ssize_t add_runs(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil
    cdef Py_ssize_t add_some_words(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil
    cdef bint add_batch(self, WordState* state, const Py_ssize_t* totals) noexcept nogil
    cdef bint is_start(self, const WordState* state, Py_ssize_t word) noexcept nogil
    cdef Py_ssize_t add_words(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Joints* joints
    ) noexcept nogil
    cdef bint add_gap(self, Py_ssize_t start, Py_ssize_t end, int64_t tokens) noexcept nogil
    cdef Py_ssize_t add_joints(
        self, WordState* state, Py_ssize_t word, int64_t before, Joints* joints
    ) noexcept nogil
    cdef void locate_unsure(
        self, const WordState* state, Py_ssize_t word, Py_ssize_t part, int64_t before
    ) noexcept nogil
    cdef Py_ssize_t join(
        self, WordState* state, const uint8_t* word, Py_ssize_t n, Joints* joints
    ) noexcept nogil
    cdef bint has_entangled(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef bint begins_entangled(self, Py_ssize_t place, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t ask_count(
        self, Py_ssize_t start, Py_ssize_t end, bint inside
    ) noexcept with gil
