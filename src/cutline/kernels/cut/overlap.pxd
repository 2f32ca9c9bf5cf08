"""How far back the next chunk may start: what is kept from one chunk to the next."""

from cutline.kernels.base.common cimport int64_t, uint32_t
from cutline.kernels.bpe.prefixes cimport Prefixes
from cutline.kernels.cut.longest_fit cimport Search

# The first piece of a text that begins here, and ends where the chunk does.
cdef struct FirstPiece:
    Py_ssize_t start                # of the text; NOT_FOUND: the slot is free
    Py_ssize_t end
    Py_ssize_t lookahead_end        # for a chunk that ends here or later, it is the same
    uint32_t tokens                 # of the piece
    uint32_t tokens_to_end          # of the text up to the end of the present chunk

cdef struct Overlap:
    FirstPiece* pieces              # of the places up to the chunk's end; by place, modulo
    Py_ssize_t slots                # a power of two, or 0
    uint32_t* dfa_states            # the automaton's state after each character of the chunk
    Py_ssize_t state_slots
    Py_ssize_t states_low           # states are those of the scan from here
    Py_ssize_t states_high          # up to here
    Py_ssize_t states_piece_end     # whose piece ends here
    Py_ssize_t states_lookahead_end
    Prefixes suffixes               # of a long piece; mirrored


cdef void begin_overlaps(Overlap* overlap) noexcept nogil
cdef void forget_text(Overlap* overlap) noexcept nogil
cdef void free_overlaps(Overlap* overlap) noexcept nogil
cdef Py_ssize_t farthest_overlap(
    Search* search, Overlap* overlap, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget,
    int64_t* counts
) noexcept nogil
