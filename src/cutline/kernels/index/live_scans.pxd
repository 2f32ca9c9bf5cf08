"""A text that grows at its end: the state of its scans, and what `append` calls."""

from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Prefixes
from cutline.kernels.encode.batches cimport Scratch
from cutline.kernels.scan.scan cimport Scanner

cdef enum:
    N_TABLES = 4
    N_KNOWN = 8
    BLOCK_BYTES = 512           # read at once; a mark for each, or for as many as there are scans

# A scan that may still find a later end of its piece.
cdef struct Scan:
    Py_ssize_t start
    Py_ssize_t accept           # the end that it has found so far; 0: none
    Py_ssize_t tokens           # of text[start:accept], or UNKNOWN
    Py_ssize_t behind           # of the decided pieces from there to the next live scan
    uint32_t row

# The state as it was at a shorter length.
cdef struct Mark:
    Py_ssize_t n
    Py_ssize_t chars
    Py_ssize_t first_scan       # its scans: marked_scans[first_scan:first_scan + n_scans]
    Py_ssize_t n_scans

# A piece of more than BLOCK_BYTES that was decided.
cdef struct Known:
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t tokens

cdef struct State:
    const Bpe* bpe
    const Scanner* scanner
    Scratch* scratch
    uint8_t* text
    Py_ssize_t text_slots
    Py_ssize_t n                # all scans have read text[:n]
    Py_ssize_t chars            # its code points
    Scan* scans                 # the first stands for the decided text: `behind` is its tokens
    Py_ssize_t n_scans, scan_slots
    Mark* marks                 # the first is that of the empty text
    Py_ssize_t n_marks, mark_slots
    Scan* marked_scans
    Py_ssize_t marked_slots
    # Of what were, at some time, long pieces: true of the text from their starts on. -1: free.
    Prefixes tables[N_TABLES]
    Known known[N_KNOWN]        # the last ones
    Py_ssize_t next_known


cdef inline bint is_far(
    const State* state, Py_ssize_t mark, Py_ssize_t n, Py_ssize_t n_scans
) noexcept nogil:
    """Whether a mark here pays: all of them together stay linear in the text."""
    return n - state.marks[mark].n >= BLOCK_BYTES * n_scans


cdef bint begin(State* state) noexcept nogil
cdef void end_state(State* state) noexcept nogil
cdef bint copy_state(State* twin, const State* state) noexcept nogil
cdef bint reserve_text(State* state, Py_ssize_t added) noexcept nogil
cdef Py_ssize_t read_blocks(
    State* state, Py_ssize_t end, Py_ssize_t limit, bint keeps_marks
) noexcept nogil
cdef bint push_mark(State* state) noexcept nogil
cdef void go_back(State* state, Py_ssize_t mark) noexcept nogil
cdef Py_ssize_t last_mark(const State* state, Py_ssize_t chars) noexcept nogil
