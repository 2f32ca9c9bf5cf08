"""Textbook merge with a heap: the same merges in the same order, without searching for them.

The parts are a bit field, with a bit set where a part begins and at the end. A heap has the
candidates by rank, then by position. A merge clears one bit and adds at most two candidates;
stale candidates stay in the heap, and are recognized by their bits when popped.

Cost: O(n log n) for n bytes.
Source: `encode_via_bitfield` of the `bpe` crate in github/rust-gems.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

from bitarray import bitarray

from cutline.reference.pieces import encodes_pieces

__all__ = ["encode_heap", "merge_by_heap"]

Candidate = tuple[int, int, int]


@encodes_pieces
def encode_heap(ranks: Mapping[bytes, int], piece: bytes) -> list[bytes]:
    """Encode by merging from a heap.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258}
    >>> encode_heap(ranks, b"abcb")
    [258, 98]
    """
    return merge_by_heap(ranks, piece)


def merge_by_heap(ranks: Mapping[bytes, int], piece: bytes) -> list[bytes]:
    """Merge until nothing is left to join."""
    boundaries = bitarray(len(piece) + 1)
    boundaries.setall(True)

    def candidates(start: int, middle: int, end: int) -> list[Candidate]:
        """Return the pair of parts that meet in the middle, if their bytes are a token."""
        rank = ranks.get(piece[start:end]) if 0 <= start < middle < end else None
        return [] if rank is None else [(rank, start, end)]

    heap = [found for i in range(len(piece) - 1) for found in candidates(i, i + 1, i + 2)]
    heapify(heap)
    while heap:
        _, start, end = heappop(heap)
        if not (boundaries[start] and boundaries[end]):
            continue  # stale: one of the two parts was merged
        boundaries[boundaries.find(True, start + 1)] = False
        before = boundaries.find(True, 0, start, right=True)
        after = boundaries.find(True, end + 1)
        for found in candidates(before, start, end) + candidates(start, end, after):
            heappush(heap, found)
    return [piece[start:end] for start, end in pairwise(boundaries.search(True))]
