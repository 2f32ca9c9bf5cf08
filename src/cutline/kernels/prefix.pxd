"""The tables of a piece's prefixes and suffixes, for `cut`."""

from cutline.kernels.bpe cimport Bpe
from cutline.kernels.common cimport NONE, uint8_t, uint32_t, uint64_t

cdef struct Prefixes:
    uint32_t* last              # last token of the prefix of each length
    uint32_t* counts            # its tokens; NONE: over budget
    Py_ssize_t last_slots, count_slots
    Py_ssize_t frontier         # the tables go up to this length; all beyond is over budget
    uint32_t node               # of the automaton, behind the prefix of this length
    # Bit k set: no token reaches over the seam k + 1 bytes before the length `closed_at`.
    uint64_t closed
    Py_ssize_t closed_at
    # What they were filled for.
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t budget
    uint64_t* verdicts          # of recall_compatible


cdef inline Py_ssize_t prefix_tokens(const Prefixes* prefixes, Py_ssize_t length) noexcept nogil:
    """Tokens of the prefix of this length; budget + 1 where it has more than the budget."""
    if length > prefixes.frontier or prefixes.counts[length] == NONE:
        return prefixes.budget + 1
    return prefixes.counts[length]


# The suffixes of a growing text that ends at `end`.
cdef struct Suffixes:
    uint32_t* first             # first token of the suffix of each length
    uint32_t* counts            # its tokens
    Py_ssize_t first_slots, count_slots
    Py_ssize_t end
    Py_ssize_t length           # the tables go up to this length
    uint64_t* verdicts          # of recall_compatible


cdef Py_ssize_t suffix_tokens(
    Suffixes* suffixes, const Bpe* bpe, const uint8_t* text, Py_ssize_t start, Py_ssize_t end
) noexcept nogil
cdef bint start_prefixes(Prefixes* prefixes) noexcept nogil
cdef bint extend_prefixes(
    Prefixes* prefixes, const Bpe* bpe, uint8_t byte, Py_ssize_t budget
) noexcept nogil
cdef bint count_prefixes(
    Prefixes* prefixes, const Bpe* bpe, const uint8_t* text,
    Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil
cdef Py_ssize_t encode_by_prefixes(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n, uint64_t* verdicts, uint32_t* out
) noexcept nogil
cdef Py_ssize_t furthest(
    const Bpe* bpe, const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t max_tokens, Py_ssize_t* reached
) noexcept nogil
