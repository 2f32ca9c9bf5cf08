"""What is known of each character of a text, 64 of them a block, so that ranks cost one look.

A block is 4 words, or 6 where the text is not ASCII. Bit k of a word is about character k:

    0  tokens before the block (a number)
    1  a safe split point: see below
    2  here a piece begins, or what belongs to none
    3  here a token begins
    4  inside the character one more token begins
    5  inside the character two more tokens begin

In a piece of at most SHORT_PIECE bytes tokens may be said to begin elsewhere: only longer pieces
are taken apart at their tokens.

A boundary of pieces is a safe split point if it stays one for every text that is cut off after it.

Guarded by tests/counting/test_intervals.py.
"""

from cutline.kernels.base.common cimport NOT_FOUND, uint64_t

cdef extern from "native.h":
    int popcount "cutline_popcount"(uint64_t word) noexcept nogil
    int top_bit "cutline_top_bit"(uint64_t word) noexcept nogil

cdef enum:
    TOKENS = 0
    SAFE = 1
    PIECES = 2
    STARTS = 3
    NARROW_WORDS = 4
    INNER_ONES = 4
    INNER_TWOS = 5
    WIDE_WORDS = 6

cdef struct RankBitmaps:
    uint64_t* words
    Py_ssize_t stride           # words a block
    Py_ssize_t n_blocks


cdef inline uint64_t below(Py_ssize_t bit) noexcept nogil:
    """The bits below this one of a word."""
    return (<uint64_t> 1 << (bit & 63)) - 1


cdef inline uint64_t* word_at(
    const RankBitmaps* bitmaps, Py_ssize_t at, Py_ssize_t word
) noexcept nogil:
    """The word of the block that holds this character."""
    return bitmaps.words + (at >> 6) * bitmaps.stride + word


cdef inline void set_bit(const RankBitmaps* bitmaps, Py_ssize_t at, Py_ssize_t word) noexcept nogil:
    word_at(bitmaps, at, word)[0] |= <uint64_t> 1 << (at & 63)


cdef inline bint has_bit(const RankBitmaps* bitmaps, Py_ssize_t at, Py_ssize_t word) noexcept nogil:
    return word_at(bitmaps, at, word)[0] >> (at & 63) & 1


cdef inline Py_ssize_t next_bit(
    const RankBitmaps* bitmaps, Py_ssize_t start, Py_ssize_t end, Py_ssize_t word
) noexcept nogil:
    """The first character from start on, and before end, that has the bit; or NOT_FOUND."""
    cdef uint64_t bits
    while start < end:
        bits = word_at(bitmaps, start, word)[0] & ~below(start)
        if bits != 0:
            start = start & ~<Py_ssize_t> 63 | top_bit(bits & (~bits + 1))
            return start if start < end else NOT_FOUND
        start = (start | 63) + 1
    return NOT_FOUND


cdef inline Py_ssize_t last_bit(
    const RankBitmaps* bitmaps, Py_ssize_t start, Py_ssize_t end, Py_ssize_t word
) noexcept nogil:
    """The last character before end, and from start on, that has the bit; or NOT_FOUND."""
    cdef uint64_t bits
    while start < end:
        end -= 1
        bits = word_at(bitmaps, end, word)[0] & (below(end) | <uint64_t> 1 << (end & 63))
        if bits != 0:
            end = end & ~<Py_ssize_t> 63 | top_bit(bits)
            return end if start <= end else NOT_FOUND
        end &= ~<Py_ssize_t> 63
    return NOT_FOUND


cdef inline Py_ssize_t tokens_in(
    const RankBitmaps* bitmaps, Py_ssize_t block, uint64_t mask
) noexcept nogil:
    """Tokens that begin in those characters of a block."""
    cdef const uint64_t* words = bitmaps.words + block * bitmaps.stride
    cdef Py_ssize_t tokens = popcount(words[STARTS] & mask)
    if bitmaps.stride == WIDE_WORDS and words[INNER_ONES] | words[INNER_TWOS]:
        tokens += popcount(words[INNER_ONES] & mask) + 2 * popcount(words[INNER_TWOS] & mask)
    return tokens


cdef inline Py_ssize_t tokens_before(const RankBitmaps* bitmaps, Py_ssize_t at) noexcept nogil:
    """Tokens that begin before this character."""
    return <Py_ssize_t> word_at(bitmaps, at, TOKENS)[0] + tokens_in(bitmaps, at >> 6, below(at))


cdef inline bint has_inner(
    const RankBitmaps* bitmaps, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Whether a token begins inside one of the characters start to end."""
    return bitmaps.stride == WIDE_WORDS and (
        next_bit(bitmaps, start, end, INNER_ONES) != NOT_FOUND
        or next_bit(bitmaps, start, end, INNER_TWOS) != NOT_FOUND
    )
