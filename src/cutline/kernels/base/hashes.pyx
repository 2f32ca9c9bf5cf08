"""Hashes of chunks without headings, many at once: several times as fast as one after another.

Guarded by tests/kernels/test_hashes.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from cutline.kernels.base.common cimport int64_t, memcpy, memset, store64, uint8_t, uint64_t

cdef extern from "blake2.h":
    enum:
        LANES "CUTLINE_HASH_LANES"
        BLOCK "CUTLINE_BLAKE2_BLOCK"

    ctypedef struct Hashes "cutline_hashes":
        const uint8_t** block
        uint64_t* n_bytes
        uint64_t* last

    ctypedef void (*Take "cutline_take")(Hashes* hashes) noexcept nogil
    Take take_of "cutline_take_of"(int level) noexcept nogil
    void begin_hash "cutline_begin_hash"(Hashes* hashes, int lane) noexcept nogil
    void write_hash "cutline_write_hash"(const Hashes* hashes, int lane, uint8_t* out) noexcept nogil

cdef enum:
    DIGITS = 32         # of a hash, in hex
    LENGTH_BYTES = 8    # a message is the text's length, and the text
    MOST_LANES = 4
    ANY_LEVEL = 2

# A message: of which text, and how much of it was taken. Without one, a lane takes what is nothing's.
cdef struct Message:
    Py_ssize_t index            # -1: there is none
    const uint8_t* text
    Py_ssize_t n
    Py_ssize_t taken


def hash_texts(bytes utf8 not None, const int64_t[::1] byte_ends not None, int level=ANY_LEVEL):
    """The `content_hash` of each text without headings, 32 digits each. Releases the GIL.

    Args:
        utf8: the texts, one after another.
        byte_ends: where each ends there.
        level: of the instructions that may be used, see blake2.h; only tests pass it.

    >>> from array import array
    >>> hash_texts(b"onetwo", array("q", [3, 6]))[:32].decode()
    '70bb12dc18b4bfaf0c5f96afa3ce3d6a'
    """
    cdef Py_ssize_t n = byte_ends.shape[0]
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(utf8)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, DIGITS * n)
    cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(made)
    if n:
        with nogil:
            write_hashes(text, &byte_ends[0], n, take_of(level), out)
    return made


cdef void write_hashes(
    const uint8_t* text, const int64_t* byte_ends, Py_ssize_t n, Take take, uint8_t* out
) noexcept nogil:
    cdef Hashes hashes
    cdef Message[MOST_LANES] messages
    cdef uint8_t[MOST_LANES][BLOCK] copies     # of blocks that are no part of a text
    cdef Py_ssize_t index = 0, n_left = n
    cdef int lane
    for lane in range(LANES):
        index = begin(&hashes, &messages[lane], lane, text, byte_ends, index, n)
    while n_left:
        for lane in range(LANES):
            give_block(&hashes, &messages[lane], lane, copies[lane])
        take(&hashes)
        for lane in range(LANES):
            if messages[lane].index >= 0 and hashes.last[lane]:
                write_hash(&hashes, lane, out + DIGITS * messages[lane].index)
                n_left -= 1
                index = begin(&hashes, &messages[lane], lane, text, byte_ends, index, n)


cdef Py_ssize_t begin(
    Hashes* hashes, Message* message, int lane, const uint8_t* text, const int64_t* byte_ends,
    Py_ssize_t index, Py_ssize_t n
) noexcept nogil:
    """Begin the text `index` in a lane, if there is one. Returns the index of the one after it."""
    cdef Py_ssize_t start = byte_ends[index - 1] if 0 < index <= n else 0
    message.index = index if index < n else -1
    message.text = text + start
    message.n = byte_ends[index] - start if index < n else 0
    message.taken = 0
    begin_hash(hashes, lane)
    return min(index + 1, n)


cdef inline void give_block(
    Hashes* hashes, Message* message, int lane, uint8_t* copy
) noexcept nogil:
    """Have the next block of a message taken."""
    cdef Py_ssize_t left = LENGTH_BYTES + message.n - message.taken
    hashes.last[lane] = 0 - <uint64_t> (left <= BLOCK)
    if message.taken and left >= BLOCK:
        hashes.block[lane] = message.text + message.taken - LENGTH_BYTES
    else:
        memset(copy, 0, BLOCK)
        if message.taken:
            memcpy(copy, message.text + message.taken - LENGTH_BYTES, left)
        else:
            store64(copy, message.n)
            memcpy(copy + LENGTH_BYTES, message.text, min(message.n, BLOCK - LENGTH_BYTES))
        hashes.block[lane] = copy
    message.taken += min(left, BLOCK)
    hashes.n_bytes[lane] = message.taken
