"""The tables of a piece's prefixes and suffixes, and what the kernels above them call."""

from cutline.kernels.base.common cimport NONE, uint8_t, uint32_t, uint64_t
from cutline.kernels.base.signals cimport Watch
from cutline.kernels.bpe.bpe cimport Bpe, Segment
from cutline.kernels.bpe.matches cimport Automaton, Reading

# What a thread's long pieces share: what was found once.
cdef struct Lookups:
    uint64_t* pair_cache          # of cached_compatible; or NULL
    Segment* segments             # of merge_segments; or NULL
    uint64_t* first_matches       # of first_match; or NULL
    Automaton automata[2]         # of tokens; the second one is mirrored
    Watch watch                   # for signals, of the call that uses them now

# With a mirrored automaton all of it is meant from right to left: then these are suffixes, their
# first tokens, and `start` is where the piece ends.
cdef struct Prefixes:
    uint32_t* last              # last token of the prefix of each length
    uint32_t* counts            # its tokens; NONE: over budget
    uint32_t* depths            # of the automaton's node after it, if they are kept
    Py_ssize_t last_slots, count_slots, depth_slots
    bint keeps_depths           # needed to go on in a later call
    Py_ssize_t frontier         # the tables go up to this length; all beyond is over budget
    # Bit k set: no token reaches over the boundary k + 1 bytes before the length `closed_at`.
    uint64_t closed
    Py_ssize_t closed_at
    # What they were filled for.
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t budget
    # Of the call that fills them now.
    Automaton* automaton
    Py_ssize_t stamp            # of the automaton
    Reading reading             # after the prefix of length `closed_at`
    uint64_t* pair_cache        # of cached_compatible


cdef inline Py_ssize_t prefix_tokens(const Prefixes* prefixes, Py_ssize_t length) noexcept nogil:
    """Tokens of the prefix of this length; budget + 1 where it has more than the budget."""
    if length > prefixes.frontier or prefixes.counts[length] == NONE:
        return prefixes.budget + 1
    return prefixes.counts[length]


cdef bint start_prefixes(
    Prefixes* prefixes, const Bpe* bpe, Lookups* lookups, bint mirrored
) noexcept nogil
cdef bint take_lookups(
    Prefixes* prefixes, const Bpe* bpe, Lookups* lookups, const uint8_t* text, bint mirrored
) noexcept nogil
cdef bint extend_prefixes(
    Prefixes* prefixes, const Bpe* bpe, const uint8_t* text, Py_ssize_t budget
) noexcept nogil
cdef bint count_prefixes(
    Prefixes* prefixes, const Bpe* bpe, Lookups* lookups, const uint8_t* text,
    Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil
cdef bint count_by_segments(
    Prefixes* prefixes, const Bpe* bpe, Lookups* lookups, const uint8_t* text,
    Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil
cdef Py_ssize_t suffix_tokens(
    Prefixes* suffixes, const Bpe* bpe, Lookups* lookups, const uint8_t* text,
    Py_ssize_t start, Py_ssize_t end
) noexcept nogil
cdef Py_ssize_t encode_by_prefixes(
    const Bpe* bpe, Lookups* lookups, const uint8_t* piece, Py_ssize_t n, uint32_t* out
) noexcept nogil
cdef void free_prefixes(Prefixes* prefixes) noexcept nogil
cdef Py_ssize_t token_upper_bound(
    const Bpe* bpe, Automaton* automaton, const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t max_tokens, Py_ssize_t* furthest
) noexcept nogil
cdef Py_ssize_t token_reach(
    const Bpe* bpe, Automaton* automaton, const uint8_t* text, Py_ssize_t n, Py_ssize_t place
) noexcept nogil
