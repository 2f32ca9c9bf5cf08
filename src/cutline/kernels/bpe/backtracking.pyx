"""Encode a long piece exactly, by backtracking with the pair check. Source: docs/algorithm.md.

Guarded by tests/kernels/test_runs.py.
"""

from cutline.kernels.base.common cimport INTERRUPTED, NONE, load64, memset
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.bpe.bpe cimport cached_compatible, token_bytes
from cutline.kernels.bpe.matches cimport DECIDING_BITS, FACTOR, Match, first_match, next_match

cdef extern from "native.h":
    int popcount "cutline_popcount"(uint64_t word) noexcept nogil

cdef enum:
    FAIR_MATCHES = 4        # bytes matched for each byte encoded: as slow as counting prefixes
    WATCHED = 1 << 14       # bytes of a piece that are added to the watch at a time
    SAMPLE = 64             # bytes that are looked at
    FEW_BYTES = 5           # with more, merging was faster: random letters of six are even


cdef bint suits_backtracking(const uint8_t* piece, Py_ssize_t n) noexcept nogil:
    """Whether a piece looks drawn from few letters, as a genome is: a guess, for speed alone.

    Then few matches are new, while nothing recurs that windows could copy; in runs, and where
    few letters recur in the same order, it does.
    """
    cdef uint64_t letters = 0, beginnings = 0
    cdef Py_ssize_t at
    n = min(n, SAMPLE)
    for at in range(n):
        letters |= <uint64_t> 1 << (piece[at] & 63)
    if popcount(letters) > FEW_BYTES:
        return False
    for at in range(n - 7):
        beginnings |= <uint64_t> 1 << (load64(piece + at) * FACTOR << (64 - DECIDING_BITS) >> 58)
    return 2 * popcount(beginnings) > n - 7 > 0


cdef Py_ssize_t backtrack(
    const Bpe* bpe,
    const uint8_t* piece, Py_ssize_t n,
    uint64_t* open_ends,        # scratch: n // 64 + 1 words
    Lookups* lookups,
    Py_ssize_t budget,          # in: of backtracking: bytes matched to no use before it gives up
    uint32_t* out,              # out: at most n tokens
) noexcept nogil:
    """Encode a piece of any length in linear time. Their number; 0: gave up; or INTERRUPTED.

    Takes the longest token that is compatible with the one before it, else the next
    shorter one; where none is left, the last token was wrong and its place is ruled
    out for good. `open_ends` holds one bit a position, cleared once it is ruled out.
    """
    cdef Py_ssize_t count = 0, start = 0, end, matched, watched = 0
    cdef uint64_t* pair_cache = lookups.pair_cache
    cdef uint64_t* matches = lookups.first_matches
    cdef Match match
    cdef uint32_t token = first_match(bpe, matches, piece, n, &match)
    # Places that are left again cost a match each, most of all in runs of one character.
    matched = match.longest
    memset(open_ends, 0xFF, (n // 64 + 1) * sizeof(uint64_t))
    while True:
        if token == NONE:
            open_ends[start >> 6] &= ~(<uint64_t> 1 << (start & 63))
            count -= 1
            end = start
            start -= token_bytes(bpe, out[count])
            token = first_match(bpe, matches, piece + start, end - start - 1, &match)
            matched += match.longest
            continue
        end = start + match.length + 1
        if open_ends[end >> 6] >> (end & 63) & 1 and (
            count == 0 or cached_compatible(bpe, pair_cache, out[count - 1], token)
        ):
            out[count] = token
            count += 1
            start = end
            if end == n:
                return count
            if matched - FAIR_MATCHES * start > budget:
                return 0
            if start - watched >= WATCHED:
                if is_interrupted(&lookups.watch, start - watched):
                    return INTERRUPTED
                watched = start
            token = first_match(bpe, matches, piece + start, n - start, &match)
            matched += match.longest
        else:
            token = next_match(bpe, piece + start, &match)
