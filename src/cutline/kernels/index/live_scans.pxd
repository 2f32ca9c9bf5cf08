"""A text that grows at its end: the state of its scans, and what `append` calls."""

from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Prefixes
from cutline.kernels.encode.batches cimport EncoderState
from cutline.kernels.scan.scan cimport Scanner

cdef enum:
    N_TABLES = 4
    N_KNOWN = 8
    BLOCK_BYTES = 512       # read at once; a checkpoint for each, or for as many as there are scans

# A scan that may still find a later end of its piece.
cdef struct Scan:
    Py_ssize_t start
    Py_ssize_t accept           # the end that it has found so far; 0: none
    Py_ssize_t tokens           # of text[start:accept], or UNKNOWN
    Py_ssize_t tokens_after     # of the decided pieces from there to the next live scan
    uint32_t dfa_state

# The state as it was at a shorter length.
cdef struct Checkpoint:
    Py_ssize_t n
    Py_ssize_t chars
    Py_ssize_t first_scan       # its scans: saved_scans[first_scan:first_scan + n_scans]
    Py_ssize_t n_scans

# A piece of more than BLOCK_BYTES that was decided.
cdef struct Known:
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t tokens

cdef struct LiveText:
    const Bpe* bpe
    const Scanner* scanner
    EncoderState* state
    uint8_t* text
    Py_ssize_t text_slots
    Py_ssize_t n                # all scans have read text[:n]
    Py_ssize_t chars            # its code points
    Scan* scans                 # the first is the decided text: `tokens_after` is its tokens
    Py_ssize_t n_scans, scan_slots
    Checkpoint* checkpoints     # the first is that of the empty text
    Py_ssize_t n_checkpoints, checkpoint_slots
    Scan* saved_scans
    Py_ssize_t saved_slots
    # Of what were, at some time, long pieces: true of the text from their starts on. -1: free.
    Prefixes tables[N_TABLES]
    Known known[N_KNOWN]        # the last ones
    Py_ssize_t next_known


cdef inline bint is_far(
    const LiveText* live, Py_ssize_t checkpoint, Py_ssize_t n, Py_ssize_t n_scans
) noexcept nogil:
    """Whether a checkpoint here pays: all of them together stay linear in the text."""
    return n - live.checkpoints[checkpoint].n >= BLOCK_BYTES * n_scans


cdef bint begin(LiveText* live) noexcept nogil
cdef void end_live(LiveText* live) noexcept nogil
cdef bint copy_live(LiveText* twin, const LiveText* live) noexcept nogil
cdef bint reserve_text(LiveText* live, Py_ssize_t added) noexcept nogil
cdef Py_ssize_t read_blocks(
    LiveText* live, Py_ssize_t end, Py_ssize_t limit, bint keeps_checkpoints
) noexcept nogil
cdef Py_ssize_t read_while_open(LiveText* live, Py_ssize_t end, Py_ssize_t limit) noexcept nogil
cdef bint push_checkpoint(LiveText* live) noexcept nogil
cdef void go_back(LiveText* live, Py_ssize_t checkpoint) noexcept nogil
cdef Py_ssize_t last_checkpoint(const LiveText* live, Py_ssize_t chars) noexcept nogil
