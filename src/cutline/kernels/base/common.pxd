"""Types, constants and the hash of a piece, shared by all kernels.

Guarded by tests/kernels/test_encoders.py.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport realloc

cdef extern from "native.h":
    const uint32_t NONE "CUTLINE_NONE"     # no token, no node, no rank
    const Py_ssize_t NO_LIMIT "CUTLINE_NO_LIMIT"    # more than any text has, and room to add one
    const void* barrier "cutline_barrier"(const void* address) noexcept nogil
    bint likely "cutline_likely"(bint condition) noexcept nogil
    bint unlikely "cutline_unlikely"(bint condition) noexcept nogil
    void prefetch "cutline_prefetch"(const void* address) noexcept nogil
    uint64_t load32 "cutline_load32"(const uint8_t* source) noexcept nogil
    uint64_t load64 "cutline_load64"(const uint8_t* source) noexcept nogil
    void store64 "cutline_store64"(uint8_t* target, uint64_t word) noexcept nogil
    Py_ssize_t continuations "cutline_continuations"(const uint8_t* text, Py_ssize_t n) noexcept nogil
    const uint64_t* low_bytes "cutline_low_bytes"   # [n]: mask of the lowest n bytes, -8 to 16
    const uint64_t HIGH_BITS "CUTLINE_HIGH_BITS"    # of each byte of a word
    const uint64_t LONGER "cutline_longer"      # in the key of a piece that is not short

cdef extern from "string.h" nogil:
    void* memcpy(void* to, const void* source, size_t n)
    void* memmove(void* to, const void* source, size_t n)
    void* memset(void* to, int value, size_t n)
    int memcmp(const void* left, const void* right, size_t n)

cdef enum:
    SHORT_PIECE = 15        # longest piece whose bytes fit a two-word key

# The longest piece that is merged by arrays; above it, backtracking is faster.
cdef enum:
    MERGE_LIMIT = 64

# Instead of a place or a number of tokens: all are negative.
cdef enum:
    NOT_FOUND = -1          # there is none
    NO_MEMORY = -2
    UNKNOWN = -3            # what is at hand does not tell
    NEED_TREE = -4          # the token tree of a long piece must be built first
    BAD_OFFSET = -5         # it is outside the text, or inside a character
    PAUSED = -6             # to look for Ctrl-C
    TOO_MANY = -7           # the sum of all counts would leave int64
    INTERRUPTED = -8        # a signal's handler raised

cdef struct Key:
    uint64_t low
    uint64_t high


cdef inline uint64_t reversed_bytes(uint64_t word) noexcept nogil:
    """The word whose lowest byte is the other one's highest."""
    word = word >> 32 | word << 32
    word = (word & <uint64_t> 0xFFFF0000FFFF0000) >> 16 | (word & <uint64_t> 0x0000FFFF0000FFFF) << 16
    return (
        (word & <uint64_t> 0xFF00FF00FF00FF00) >> 8 | (word & <uint64_t> 0x00FF00FF00FF00FF) << 8
    )


cdef inline Key short_key(const uint8_t* piece, Py_ssize_t n, const uint8_t* limit) noexcept nogil:
    """Bytes of a piece of at most 15 bytes, and its length in the top byte.

    The length tells "\\0" from "\\0\\0" and makes the all-zero key that of the
    empty piece only. Reads nothing at or beyond `limit`.
    """
    return last_key(piece, n) if unlikely(limit - piece < 16) else padded_key(piece, n)


cdef inline Key padded_key(const uint8_t* piece, Py_ssize_t n) noexcept nogil:
    """What short_key gives where 16 bytes can be read."""
    cdef Key key
    key.low = load64(piece) & low_bytes[n]
    key.high = load64(piece + 8) & low_bytes[n - 8]
    key.high |= <uint64_t> n << 56
    return key


cdef inline Key last_key(const uint8_t* piece, Py_ssize_t n) noexcept nogil:
    """What short_key gives, from loads that overlap and read nothing but the piece.

    To copy its bytes first would take longer: a load waits for all stores that it spans.
    """
    cdef Key key
    key.low = 0
    key.high = <uint64_t> n << 56
    if n >= 8:
        key.low = load64(piece)
        key.high |= load64(piece + n - 8) >> (8 * (15 - n)) >> 8
    elif n >= 4:
        key.low = load32(piece) | load32(piece + n - 4) << (8 * (n - 4))
    elif n > 0:
        key.low = piece[0]
        key.low |= <uint64_t> piece[n >> 1] << (8 * (n >> 1))
        key.low |= <uint64_t> piece[n - 1] << (8 * (n - 1))
    return key


cdef inline Key key_inside(
    uint64_t low, uint64_t high, Py_ssize_t at, Py_ssize_t n
) noexcept nogil:
    """What short_key gives for the n bytes from `at` on of 16 that are in two words."""
    cdef Key key
    cdef int shift = <int> (at & 7) << 3
    low = high if at & 8 else low
    high = 0 if at & 8 else high
    key.low = (low >> shift | high << 1 << (63 - shift)) & low_bytes[n]
    key.high = (high >> shift & low_bytes[n - 8]) | <uint64_t> n << 56
    return key


cdef inline Py_ssize_t write_key(Key key, uint8_t* piece) noexcept nogil:
    """Write the bytes of a key's piece into 16 slots. Returns their number."""
    store64(piece, key.low)
    store64(piece + 8, key.high)
    return <Py_ssize_t> (key.high >> 56)


cdef inline uint64_t hash_key(Key key) noexcept nogil:
    return (key.low ^ key.high * <uint64_t> 0x9E3779B97F4A7C15) * <uint64_t> 0xD6E8FEB86659FD93


cdef inline uint64_t scramble(uint64_t hashed) noexcept nogil:
    """Spread a hash over all bits, for tables that probe by neighbouring slots."""
    hashed ^= hashed >> 32
    hashed *= <uint64_t> 0xD6E8FEB86659FD93
    return hashed ^ hashed >> 29


cdef inline uint64_t hash_long(const uint8_t* piece, Py_ssize_t n) noexcept nogil:
    """Hash of 8 bytes or more."""
    cdef uint64_t hashed = <uint64_t> n * <uint64_t> 0x9E3779B97F4A7C15
    cdef Py_ssize_t at = 0
    while at < n - 8:
        hashed = (hashed ^ load64(piece + at)) * <uint64_t> 0xD6E8FEB86659FD93
        hashed ^= hashed >> 32
        at += 8
    hashed = (hashed ^ load64(piece + n - 8)) * <uint64_t> 0xD6E8FEB86659FD93
    return scramble(hashed)


cdef inline bint same_bytes(
    const uint8_t* left, const uint8_t* right, Py_ssize_t n
) noexcept nogil:
    """Whether n bytes are equal. Most are few: calling memcmp would take longer."""
    cdef Py_ssize_t at = 0
    while at + 8 <= n:
        if load64(left + at) != load64(right + at):
            return False
        at += 8
    if n >= 8:
        return load64(left + n - 8) == load64(right + n - 8)
    while at < n and left[at] == right[at]:
        at += 1
    return at == n


cdef inline bint is_continuation(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef inline Py_ssize_t count_dense(const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    """How many of the first ids are their own places."""
    cdef Py_ssize_t at = 0
    while at < n and ids[at] == <uint64_t> at:
        at += 1
    return at


cdef inline Py_ssize_t char_bytes(uint8_t lead) noexcept nogil:
    """Bytes of the UTF-8 character that begins with this byte."""
    if lead < 0x80:
        return 1
    if lead < 0xE0:
        return 2
    return 3 if lead < 0xF0 else 4


cdef inline uint32_t decode_char(const uint8_t* at, Py_ssize_t width) noexcept nogil:
    """The code point of the UTF-8 character of `width` bytes that stands at `at`."""
    if width == 1:
        return at[0]
    if width == 2:
        return (at[0] & 0x1F) << 6 | (at[1] & 0x3F)
    if width == 3:
        return (at[0] & 0x0F) << 12 | (at[1] & 0x3F) << 6 | (at[2] & 0x3F)
    return (at[0] & 0x07) << 18 | (at[1] & 0x3F) << 12 | (at[2] & 0x3F) << 6 | (at[3] & 0x3F)


cdef inline Py_ssize_t characters_in(
    const uint8_t* text, Py_ssize_t n, Py_ssize_t readable
) noexcept nogil:
    """Characters that begin in text[:n]. Reads nothing at or beyond text[readable]."""
    cdef Py_ssize_t at = n & ~<Py_ssize_t> 15, count = n - continuations(text, at)
    cdef uint64_t word
    while at < n and at + 8 <= readable:
        word = load64(text + at) & low_bytes[min(n - at, 8)]
        # The top bit of each byte that continues a character: it is 10......
        word &= ~(word << 1) & HIGH_BITS
        if word != 0:
            count -= (word >> 7) * <uint64_t> 0x0101010101010101 >> 56
        at += 8
    while at < n:
        count -= is_continuation(text[at])
        at += 1
    return count


cdef inline bint grow(
    void** memory, Py_ssize_t* slots, Py_ssize_t needed, size_t slot_bytes
) noexcept nogil:
    """Make room for so many slots, and half as many again; keeps the others. False: no memory."""
    cdef void* grown
    if needed <= slots[0]:
        return True
    needed += needed // 2 + 64
    grown = realloc(memory[0], needed * slot_bytes)
    if grown == NULL:
        return False
    memory[0] = grown
    slots[0] = needed
    return True
