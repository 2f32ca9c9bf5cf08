"""What is known of two characters side by side, asked for once for most pairs.

Guarded by tests/kernels/test_known_pairs.py.
"""

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport Characters, char_at, characters_of
from cutline.kernels.base.common cimport int64_t, uint32_t, uint64_t

cdef enum:
    ASCII_BITS = 7
    OTHER_BITS = 14             # of the slot of a pair that is not ASCII
    CODE_POINT_BITS = 21
    IS_KNOWN = 2
    HOLDS = 1


cdef class KnownPairs:
    """Tells of which pairs of characters something holds.

    Args:
        holds: tells it of two characters.

    Memory: 256 KB at most. A pair is forgotten if another one takes its slot.
    """

    cdef object holds
    cdef uint64_t[::1] slots    # of pairs of ASCII, and of others: the pair, and what is known of it

    def __cinit__(self, holds not None):
        self.holds = holds
        self.slots = zeroed_numbers("Q", (1 << 2 * ASCII_BITS) + (1 << OTHER_BITS))

    def places_of(self, str text not None, const int64_t[::1] places not None):
        """Return those of some places between two characters of which it holds: int64.

        Args:
            places: in the text, not at its ends.

        Cost: linear in the places.
        """
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t number, found = 0, n = places.shape[0]
        cdef int64_t at
        out = zeroed_numbers("q", n)
        cdef int64_t[::1] kept = out
        for number in range(n):
            at = places[number]
            if not 0 < at < characters.n:
                raise ValueError(f"no place between two characters of {characters.n}: {at}")
            kept[found] = at
            found += self.holds_of(char_at(&characters, at - 1), char_at(&characters, at))
        return out[:found]

    cdef inline int holds_of(self, uint32_t before, uint32_t after) except -1:
        """Whether it holds of two characters."""
        cdef uint64_t pair = <uint64_t> before << CODE_POINT_BITS | after
        cdef uint64_t* slot = &self.slots[slot_of(before, after)]
        cdef uint64_t known = slot[0]
        if known >> 2 != pair or not known & IS_KNOWN:
            known = pair << 2 | IS_KNOWN | (HOLDS if self.holds(chr(before), chr(after)) else 0)
            slot[0] = known
        return known & HOLDS


cdef inline Py_ssize_t slot_of(uint32_t before, uint32_t after) noexcept nogil:
    cdef uint64_t mixed
    if (before | after) >> ASCII_BITS == 0:
        return before << ASCII_BITS | after
    mixed = (<uint64_t> before << CODE_POINT_BITS ^ after) * <uint64_t> 0x9E3779B97F4A7C15
    return (1 << 2 * ASCII_BITS) + <Py_ssize_t> (mixed >> (64 - OTHER_BITS))
