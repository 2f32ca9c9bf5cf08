"""Encode a long piece exactly, by merging short windows of it. Source: docs/algorithm.md.

Guarded by tests/kernels/test_merge_windows.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from cutline.kernels.base.late import numpy as np

from cutline.kernels.base.common cimport INTERRUPTED, hash_long, memcpy, memset, same_bytes
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.bpe.bpe cimport BpeTables, cached_compatible, merge_parts, token_bytes
from cutline.kernels.bpe.matches cimport free_automaton
from cutline.kernels.bpe.prefixes cimport encode_by_prefixes

cdef extern from "native.h":
    int popcount "cutline_popcount"(uint64_t word) noexcept nogil

cdef enum:
    SHORT = 32              # bytes of a window: merging takes time quadratic in them
    LONG = 320              # two of the longest tokens of most vocabularies, and more
    LONG_PIECE = 1 << 12    # where some long windows cost less than they can save
    UNCERTAIN = 3           # bytes at the end of a window, at least, that the next one decides
    KNOWN_BITS = 6          # of the number of windows remembered
    SAMPLE = 256            # tokens
    SEEN_WORDS = 16
    FEW_SEEN = 96           # bits of a sample that repeats itself

# A window that was merged: where it is, where in `out` the tokens kept of it are, their bytes.
cdef struct Window:
    Py_ssize_t start, first, kept, n_bytes


cdef Py_ssize_t encode_by_windows(
    const Bpe* bpe,
    const uint8_t* piece, Py_ssize_t n,
    Lookups* lookups,
    uint32_t* out,              # out: at most n tokens
) noexcept nogil:
    """Encode a piece of any length in linear time. Returns the number of tokens; 0: gave up; or INTERRUPTED.

    Fastest where most pairs of tokens are new, for it looks at few tables, and where the text
    repeats itself exactly, for then it merges nothing.
    """
    cdef Py_ssize_t count = encode_windows(bpe, piece, n, SHORT, lookups, out)
    if count == 0 and n >= LONG_PIECE and 2 * bpe.max_token_bytes < LONG:
        count = encode_windows(bpe, piece, n, LONG, lookups, out)
    return count


def merge_in_windows(BpeTables tables not None, bytes piece not None, bint long_ones):
    """The ranks of the tokens of some bytes, by windows of one width alone; None: it gave up."""
    cdef Py_ssize_t n = PyBytes_GET_SIZE(piece), count
    cdef uint32_t[::1] out = np.empty(max(n, 1), dtype=np.uint32)
    cdef Lookups lookups
    memset(&lookups, 0, sizeof(lookups))
    count = encode_windows(
        &tables.bpe, <const uint8_t*> PyBytes_AS_STRING(piece), n,
        LONG if long_ones else SHORT, &lookups, &out[0],
    )
    free_automaton(&lookups.automata[0])
    return np.asarray(out[:count]).tolist() if count > 0 else None


cdef Py_ssize_t encode_windows(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n,
    Py_ssize_t width,           # in: bytes of a window
    Lookups* lookups, uint32_t* out,
) noexcept nogil:
    """The same with windows of one width.

    Tokens that each fit the one before are the encoding, wherever they come from: those of a
    window fit one another, and the last one kept and the first one of the next window are tried.
    If they do not fit, the next window begins a token earlier.
    """
    cdef uint32_t tokens[LONG]
    cdef uint32_t ranks[SHORT]
    cdef Window known[1 << KNOWN_BITS]
    cdef Window new
    cdef Window* slot
    cdef const uint32_t* source
    cdef uint64_t seen[SEEN_WORDS]
    cdef Py_ssize_t count = 0, start = 0, end, at, sample = SAMPLE
    cdef Py_ssize_t merged = 0      # bytes, of windows that were not known or did not fit
    memset(known, 0, sizeof(known))
    memset(seen, 0, sizeof(seen))
    while merged <= 8 * width + (2 * start if width == SHORT else start >> 4):
        if is_interrupted(&lookups.watch, width):
            return INTERRUPTED
        end = min(start + width, n)
        slot = &new
        new.kept = 0
        if end - start == width:
            slot = &known[hash_long(piece + start, width) >> (64 - KNOWN_BITS)]
        if slot.kept > 0 and same_bytes(piece + slot.start, piece + start, width):
            source = out + slot.first
        else:
            slot.start, slot.first, slot.n_bytes = start, count, end - start
            if width == SHORT:
                slot.kept = merge_parts(bpe, piece + start, end - start, tokens, ranks)
            else:
                slot.kept = encode_by_prefixes(bpe, lookups, piece + start, end - start, tokens)
            if slot.kept <= 0:
                return 0    # no memory: who needs none may have more luck
            source = tokens
            merged += end - start
            while slot.kept > 1 and end < n and slot.n_bytes > width - UNCERTAIN:
                slot.kept -= 1
                slot.n_bytes -= token_bytes(bpe, tokens[slot.kept])
            for at in range(slot.kept):
                seen[tokens[at] & (SEEN_WORDS - 1)] |= <uint64_t> 1 << (tokens[at] >> 4 & 63)
        if count > 0 and not cached_compatible(
            bpe, lookups.pair_cache, out[count - 1], source[0]
        ):
            count -= 1
            start -= token_bytes(bpe, out[count])
            merged += width
            memset(known, 0, sizeof(known))     # their tokens may be written over
            continue
        memcpy(out + count, source, slot.kept * sizeof(uint32_t))
        count += slot.kept
        start += slot.n_bytes
        if start == n:
            return count
        if count >= sample:
            sample = n      # there is one
            if width == SHORT and 2 * merged > start and bits_in(seen) < FEW_SEEN:
                return 0
    return 0


cdef inline int bits_in(const uint64_t* words) noexcept nogil:
    cdef int at, bits = 0
    for at in range(SEEN_WORDS):
        bits += popcount(words[at])
    return bits
