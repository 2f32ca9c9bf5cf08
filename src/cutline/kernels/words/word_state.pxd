"""Caches and buffers, for what encodes words."""

from cutline.kernels.base.common cimport uint8_t, uint32_t, uint64_t, unlikely
from cutline.kernels.encode.caches cimport FirstEntry, Store, spread_lines
from cutline.kernels.encode.runs cimport Runs
from cutline.kernels.words.model cimport Paths
from cutline.kernels.words.reader cimport Reader, Words
from cutline.kernels.words.singles cimport SINGLE_WORDS, Singles

cdef extern from "native.h":
    void in_large_pages "cutline_in_large_pages"(void* memory, size_t n) noexcept nogil

cdef enum:
    FIRST_LINES = 1 << 9        # that are in use: as long as little is kept, few pages are met
    SPREAD = 4                  # times as many are next

# The tokens of the slices that begin at a place, inside a long word.
cdef struct Prefixes:
    Py_ssize_t start, end       # text[start:k] is counted for each k up to `end`; or NOT_FOUND
    Py_ssize_t* counts
    Py_ssize_t slots
    Py_ssize_t n, longest       # the greatest end of one with at most n tokens
    Py_ssize_t width            # characters that told this of the last ones
    Py_ssize_t counted          # bytes of the word that was looked into last

# What is known of sums in a slice.
cdef struct SliceSums:
    # Where sums have 24 bits, and the slice's first start is inside a word:
    double moved                # by so much those of the word are greater than in the text
    Py_ssize_t tokens           # of the text before this start
    # After the last joint: by so much rounding may move one less another, with each token.
    double rounding

# What one call works with: caches, buffers.
cdef struct WordState:
    FirstEntry* first_level
    uint64_t line_mask          # of the lines that are in use; more are as soon as these fill up
    uint64_t most_lines
    uint64_t kept               # words and runs that were put into lines
    uint64_t lines_a_piece      # with fewer for each of these, more are used
    Store store
    Reader reader
    Words words
    Runs runs
    Singles singles             # runs of a batch that were not met, and are counted together
    Py_ssize_t single_runs[SINGLE_WORDS]
    Paths paths
    Prefixes prefixes           # of the text that is read
    uint32_t* out
    Py_ssize_t out_slots
    Py_ssize_t* spans
    Py_ssize_t span_slots
    SliceSums sums
    bint may_change             # characters of the text change with one another
    void* changed_runs          # the object that counts runs with such


cdef class OwnedWordState:
    cdef WordState state
    cdef uint8_t[::1] memory


cdef inline void make_room(WordState* state) noexcept nogil:
    """Use more lines if they are few for their pieces. No line may be pointed to."""
    cdef uint64_t n_lines = state.line_mask + 1
    if unlikely(state.lines_a_piece * state.kept > n_lines and n_lines < state.most_lines):
        state.line_mask = min(SPREAD * n_lines, state.most_lines) - 1
        in_large_pages(
            state.first_level + 2 * n_lines,
            2 * sizeof(FirstEntry) * (state.line_mask + 1 - n_lines),
        )
        spread_lines(state.first_level, n_lines, state.line_mask)
