"""A chunk of a text, and what the kernels above call to scan it by lanes."""

from cutline.kernels.base.common cimport uint8_t, uint32_t, uint64_t
from cutline.kernels.scan.scan cimport Scanner

cdef enum:
    LANES = 6
    CHUNK = LANES * 85 * 64     # bytes; what they decide stays in the nearest cache
    ENDS_SLOTS = LANES * 85 + 1         # words of 64 bits, and a bit for the end of a chunk
    DECIDED_SLOTS = CHUNK + 64 + 6      # a byte names ends of up to six bytes before it
    MOST_PIECES_A_WORD = 64
    LEAST_LANED = 640           # bytes of a text: for fewer, scanning by the stream is as fast
    # No decision on a piece read more bytes beyond the next piece's end, but where it `looked_far`.
    # A byte names ends of up to six before it; four are those of a character.
    MOST_BEYOND = 6 + 4

# What tests leave out of the join, to see that each is needed.
cdef enum:
    NO_STEP_BACK = 1        # rescan from the last end before a seam, not from the last but one
    NO_MEETING = 2          # trust a lane once a rescanned piece has ended in it
    NO_CLEARING = 4         # keep the ends inside rescanned pieces
    NO_CLEARING_BEYOND = 8  # keep them if the piece leaves the chunk
    NO_LOOK_BEYOND = 16     # rescan as if the text ended with the chunk
    NO_LOSS = 32            # where a lane was lost is no seam
    NO_UNDOING = 64         # end the chunk with its last end, not with the last but one
    NO_VECTORS = 128        # as on a processor without them
    NO_AVX512 = 256

# Some bytes of a text, and where their pieces end: a bit for each byte before which one does.
cdef struct Chunk:
    Py_ssize_t start            # in the text; a piece begins there
    Py_ssize_t n                # bytes scanned
    Py_ssize_t lane             # bytes of each lane
    Py_ssize_t stop             # in the text: the last end, which may lie beyond the chunk
    Py_ssize_t at               # the last end that was taken
    Py_ssize_t word             # the first word of `ends` not wholly taken
    Py_ssize_t n_rescanned      # bytes that joining read
    Py_ssize_t furthest         # in the text: where it read at most
    bint lost                   # somewhere, a lane was
    int vectors                 # which ones look at its reports; 0: none
    uint64_t ends[ENDS_SLOTS]
    uint64_t looked_far[ENDS_SLOTS]     # of ends: to find it, more than MOST_BEYOND after it was read
    uint8_t decided[DECIDED_SLOTS]


cdef void scan_chunk(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t at, Py_ssize_t end, Py_ssize_t size,
    uint32_t left_out, Chunk* chunk
) noexcept nogil
cdef void tell_lookahead(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t end, const Chunk* chunk,
    Py_ssize_t count, const Py_ssize_t* starts, const Py_ssize_t* ends,
    Py_ssize_t* lookahead_ends
) noexcept nogil
cdef Py_ssize_t next_that_looked_far(
    const Chunk* chunk, Py_ssize_t after, Py_ssize_t last
) noexcept nogil
cdef bint seek_piece(Chunk* chunk, Py_ssize_t at) noexcept nogil
cdef Py_ssize_t take_pieces(
    Chunk* chunk, Py_ssize_t most, Py_ssize_t* starts, Py_ssize_t* ends
) noexcept nogil
