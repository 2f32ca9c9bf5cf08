"""Encode a long piece exactly, by backtracking with the pair check. Source: docs/algorithm.md.

Guarded by tests/kernels/test_runs.py.
"""

from cutline.kernels.base.common cimport INTERRUPTED, NONE, memset
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.bpe.bpe cimport cached_compatible, token_bytes
from cutline.kernels.bpe.matches cimport Match, longest_beginning, next_match

cdef enum:
    FAIR_MATCHES = 4        # bytes matched for each byte encoded: as slow as counting prefixes
    WATCHED = 1 << 14       # bytes of a piece that are added to the watch at a time


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
    cdef Match match = longest_beginning(bpe, piece, n)
    cdef uint32_t token
    # Places that are left again cost a match each, most of all in runs of one character.
    matched = match.length
    token = next_match(bpe, piece, &match)
    memset(open_ends, 0xFF, (n // 64 + 1) * sizeof(uint64_t))
    while True:
        if token == NONE:
            open_ends[start >> 6] &= ~(<uint64_t> 1 << (start & 63))
            count -= 1
            end = start
            start -= token_bytes(bpe, out[count])
            match = longest_beginning(bpe, piece + start, end - start - 1)
            matched += match.length
            token = next_match(bpe, piece + start, &match)
            continue
        end = start + token_bytes(bpe, token)
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
            match = longest_beginning(bpe, piece + start, n - start)
            matched += match.length
            token = next_match(bpe, piece + start, &match)
        else:
            token = next_match(bpe, piece + start, &match)
