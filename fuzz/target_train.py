"""Counting in blocks and threads, and merging, are what the reference makes of the text at once.

Input: split pattern, block size, threads, special tokens, ties and least frequency, longest token
(a byte each), then the text as UTF-8; what is no UTF-8 is replaced.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from unittest.mock import patch

import numpy as np

from cutline import reference
from cutline.kernels.scan.scan import ScanTables, scan_pieces
from cutline.special import SpecialFinder
from cutline.tables import build_scan_tables
from cutline.training import PieceCounts, counters, counting
from cutline.training.merging import train_vocabulary
from cutline.vocabulary import CL100K_PAT_STR, O200K_PAT_STR, R50K_PAT_STR

# Scans that look far, meet late or never, and leave gaps stand beside those in use.
PATTERNS = (
    *(O200K_PAT_STR, CL100K_PAT_STR, R50K_PAT_STR, None),
    *(r"a*b|a", r"(?:aa)*b|a|\s", r"x\w+|\w+!|[\s\S]", r"a{1,70}|b+", r"a+(?!\S)|\S|\s+", r"b+"),
)
BLOCK_SIZES = (1, 2, 3, 7, 40, 10_000)
SPECIALS = ((), ("aa",), ("ab", "abb", "b b"), ("<|end|>", " "))
TIES = ("smallest", "largest", "ids")
N_MERGES = 40


class _Blocks:
    """A source of one document that comes in blocks."""

    bytes_read = size_bytes = text = None
    name = "fuzzed"

    def __init__(self, text: str, block_size: int) -> None:
        starts = range(0, len(text), block_size)
        self._parts = [text[start : start + block_size].encode() for start in starts]

    def __iter__(self) -> Iterator["_Blocks"]:
        yield self

    def blocks(self) -> Iterator[bytes]:
        yield from self._parts


def run(data: bytes) -> None:
    if len(data) < 6:
        return
    pat_str = PATTERNS[data[0] % len(PATTERNS)]
    specials = SPECIALS[data[3] % len(SPECIALS)]
    text = data[6:].decode("utf-8", "replace")
    source = _Blocks(text, BLOCK_SIZES[data[1] % len(BLOCK_SIZES)])
    with (
        patch.object(counting, "open_source", lambda *_: source),
        # Small enough for several threads to share what is fuzzed.
        patch.object(counters, "THREAD_BYTES", 4),
        patch.object(counters, "WAITING_TASKS", data[2] // 8 % 4),
        patch.object(counters, "SHORT_BYTES", data[2] // 4 % 2 * 20),
    ):
        counts = counting.count_pieces(
            "fuzzed", pat_str=pat_str, special_tokens=specials, num_threads=1 + data[2] % 4
        )
    want = Counter[bytes]()
    for part in parts(text, specials):
        want.update(pieces(tables(pat_str), part.encode()))
    assert dict(counts.items()) == dict(want)
    check_merges(counts, data[4], data[5])


def parts(text: str, specials: tuple[str, ...]) -> Iterator[str]:
    done = 0
    for start, found in SpecialFinder(specials).find_all(text):
        yield text[done:start]
        done = start + len(found)
    yield text[done:]


@lru_cache(maxsize=len(PATTERNS))
def tables(pat_str: str | None) -> ScanTables:
    return build_scan_tables(pat_str)


def pieces(scan_tables: ScanTables, text: bytes) -> list[bytes]:
    starts, ends, _ = scan_pieces(scan_tables, text)
    return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def check_merges(counts: PieceCounts, rules: int, longest: int) -> None:
    ties, min_frequency = TIES[rules % len(TIES)], 1 + rules // len(TIES) % 3
    max_token_length = 1 + longest % 8 if longest < 128 else None
    merges = reference.train(
        dict(counts.items()),
        256 + N_MERGES,
        min_frequency=min_frequency,
        ties=ties,
        max_token_length=max_token_length,
    )
    vocabulary = train_vocabulary(
        *counts.arrays(),
        n_merges=N_MERGES,
        min_frequency=min_frequency,
        ties=ties,
        max_token_length=max_token_length,
        progress=None,
    )
    assert vocabulary.tokens()[256:] == [merge.left + merge.right for merge in merges]
    assert vocabulary.left_lengths is not None
    lefts = np.array([len(merge.left) for merge in merges], dtype=np.uint32)
    assert np.array_equal(vocabulary.left_lengths[256:], lefts)
