"""The batch encoder: its state, and what the kernels above it call."""

from cutline.kernels.base.common cimport Key, int64_t, uint8_t, uint32_t, uint64_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Lookups
from cutline.kernels.scan.scan cimport Scanner

cdef enum:
    BATCH_PIECES = 256
    LEAST_STREAMED = 8      # pieces: for fewer, the plain scanner is as fast
    FRONT_TOKENS = 3
    LONG_PIECE = 31         # longest piece that the second cache holds
    LONG_TOKENS = 7

# One cache line holds two of these, or one LongEntry.
cdef struct FrontEntry:
    Key key
    uint32_t tokens[FRONT_TOKENS]
    uint32_t count

cdef struct LongEntry:
    uint64_t key[4]
    uint32_t tokens[LONG_TOKENS]
    uint32_t count

cdef struct Scratch:
    FrontEntry* front
    uint64_t front_mask
    LongEntry* longer
    uint64_t longer_mask
    bint stores             # False: the caches stay empty
    uint32_t* out
    Py_ssize_t out_slots
    uint64_t* bits          # for backtracking
    Py_ssize_t bits_words
    Lookups lookups

cdef struct Batch:
    Py_ssize_t count
    Py_ssize_t starts[BATCH_PIECES]
    Py_ssize_t ends[BATCH_PIECES]
    Py_ssize_t examined[BATCH_PIECES]
    uint32_t totals[BATCH_PIECES]       # tokens up to and with this piece, of this batch

# Where pieces come from: the scanner or, where that is NULL, spans found beforehand.
cdef struct Source:
    const Scanner* scanner
    const int64_t* starts
    const int64_t* ends
    Py_ssize_t n_spans
    Py_ssize_t next_span


cdef class Workspace:
    """Caches and buffers of one call at a time."""
    cdef Scratch scratch
    cdef uint8_t[::1] memory    # of the caches


cdef Py_ssize_t fill_batch(
    Source* source, const uint8_t* text, Py_ssize_t at, Py_ssize_t end,
    Py_ssize_t most, Batch* batch
) noexcept nogil
cdef bint reserve(Scratch* scratch, Py_ssize_t out_slots) noexcept nogil
cdef Py_ssize_t encode_batch(
    const Bpe* bpe, Scratch* scratch, const uint8_t* text, Py_ssize_t end,
    Batch* batch, uint32_t* out
) noexcept nogil
cdef Py_ssize_t encode_piece(
    const Bpe* bpe, Scratch* scratch, const uint8_t* piece, Py_ssize_t n,
    bint whole_characters, uint32_t* out
) noexcept nogil
cdef Py_ssize_t encode_text(
    const Bpe* bpe, Source* source, Scratch* scratch, const uint8_t* text, Py_ssize_t n,
    Py_ssize_t before, Py_ssize_t limit
) noexcept nogil
cdef void prefill(const Bpe* bpe, Scratch* scratch) noexcept nogil
