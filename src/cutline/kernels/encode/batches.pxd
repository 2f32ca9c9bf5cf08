"""The batch encoder: its state, and what the kernels above it call."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t, uint8_t, uint32_t, uint64_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Lookups
from cutline.kernels.encode.caches cimport FirstEntry, Store
from cutline.kernels.encode.runs cimport Runs
from cutline.kernels.scan.lanes cimport Chunk
from cutline.kernels.scan.scan cimport Scanner

cdef enum:
    BATCH_PIECES = 256
    MOST_SHORT = 63             # bytes of a text: where its pieces end, with its own end, fits a word
    LEAST_STREAMED = 8          # pieces: for fewer, the plain scanner is as fast
    MOST_UNWANTED = 64          # bytes of a string that is looked for meanwhile

# Caches and buffers: what encoding remembers from one call to the next.
cdef struct EncoderState:
    uint64_t* few_bytes     # the shortest pieces with their counts: for short texts
    FirstEntry* first_level
    uint64_t line_mask
    Store store
    bint stores             # False: the caches stay empty
    uint32_t* out
    Py_ssize_t out_slots
    uint64_t* bits          # for backtracking
    Py_ssize_t bits_words
    Lookups lookups
    Chunk* chunk            # of a text that is scanned by lanes; or NULL
    Runs* runs              # of a text that is counted by them, and their caches; or NULL
    FirstEntry* run_lines
    uint64_t run_mask
    Store run_store
    uint8_t* utf8           # room for a text that is not ASCII
    Py_ssize_t utf8_bytes
    # The UTF-8, of two bytes or more, of a string that encode_text looks for; NULL: of none, or it was
    # found. While a text is encoded it is in the processor's cache.
    const Characters* unwanted
    bint found_unwanted

cdef struct Batch:
    Py_ssize_t count
    Py_ssize_t starts[BATCH_PIECES]
    Py_ssize_t ends[BATCH_PIECES]
    Py_ssize_t lookahead_end[BATCH_PIECES]
    uint32_t totals[BATCH_PIECES]       # tokens up to and with this piece, of this batch; see count_each

# Where pieces come from: the scanner or, where that is NULL, spans found beforehand.
cdef struct Source:
    const Scanner* scanner
    const int64_t* starts
    const int64_t* ends
    Py_ssize_t n_spans
    Py_ssize_t next_span
    Chunk* chunk                    # for a scan by lanes; or NULL
    bint tells_lookahead            # False: by lanes, lookahead ends are not told
    Py_ssize_t laned_from           # in the text: lanes do not pay before


cdef class OwnedState:
    """Owns an encoder state; one call at a time uses it."""
    cdef EncoderState state
    cdef uint8_t[::1] memory    # of the caches
    cdef uint8_t[::1] run_memory
    cdef int first_level_bits, store_bits
    cdef bint in_large_pages
    cdef int reserve_runs(self) except -1


cdef inline void add_to_batch(Batch* batch, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Add a piece that is known. There is room."""
    batch.starts[batch.count] = start
    batch.ends[batch.count] = end
    batch.count += 1


cdef void use_lanes(
    Source* source, EncoderState* state, Py_ssize_t n, bint tells_lookahead
) noexcept nogil
cdef Py_ssize_t fill_batch(
    Source* source, const uint8_t* text, Py_ssize_t at, Py_ssize_t end,
    Py_ssize_t most, Batch* batch
) noexcept nogil
cdef void pieces_by_lanes(
    Source* source, const uint8_t* text, Py_ssize_t at, Py_ssize_t end, Batch* batch
) noexcept nogil
cdef bint reserve(EncoderState* state, Py_ssize_t out_slots) noexcept nogil
cdef Py_ssize_t encode_batch(
    const Bpe* bpe, EncoderState* state, const uint8_t* text, Py_ssize_t end,
    Batch* batch, uint32_t* out
) noexcept nogil
cdef Py_ssize_t count_batch(
    const Bpe* bpe, EncoderState* state, const uint8_t* text, Py_ssize_t end, Batch* batch
) noexcept nogil
cdef Py_ssize_t count_each(
    const Bpe* bpe, EncoderState* state, const uint8_t* text, Py_ssize_t end, Batch* batch
) noexcept nogil
cdef Py_ssize_t encode_after(
    const Bpe* bpe, EncoderState* state, Py_ssize_t kept, const uint8_t* text, Py_ssize_t end,
    Batch* batch
) noexcept nogil
cdef Py_ssize_t encode_piece(
    const Bpe* bpe, EncoderState* state, const uint8_t* piece, Py_ssize_t n,
    bint whole_characters, uint32_t* out
) noexcept nogil
cdef Py_ssize_t count_short(
    const Scanner* scanner, EncoderState* state, const uint8_t* text, Py_ssize_t n
) noexcept nogil
cdef Py_ssize_t encode_text(
    const Bpe* bpe, Source* source, EncoderState* state, const uint8_t* text, Py_ssize_t n,
    Py_ssize_t before, Py_ssize_t limit
) noexcept nogil
cdef Py_ssize_t add_tokens(
    const Bpe* bpe, EncoderState* state, const uint8_t* text, Py_ssize_t end, Batch* batch,
    Py_ssize_t before
) noexcept nogil
cdef Py_ssize_t look_for_unwanted(
    EncoderState* state, const uint8_t* text, Py_ssize_t at, Py_ssize_t n
) noexcept nogil
cdef void prefill(const Bpe* bpe, EncoderState* state) noexcept nogil
