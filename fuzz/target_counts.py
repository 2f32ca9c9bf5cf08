"""A file of piece counts is refused with its path named, or saves as it loads.

Input: a byte, then a file; where the byte is odd, what stands before its true checksum; where it is
twice an odd number, choices that change the header and the arrays of a file with true sizes.
"""

import hashlib
import json
import random
import struct
from typing import Any

from cutline.errors import CorruptDataError
from cutline.training import PieceCounts
from fuzz.grammar import Choices
from fuzz.scratch import scratch
from fuzz.target_tokenizer_json import change

PIECES = (b" be", b" or", b"to", "é".encode(), b"x" * 60, b"\xff")
NUMBERS = (0, 1, 2, 3, 63, 127, 2**31, 2**62, 2**63 - 1, -1, -(2**63))


def run(data: bytes) -> None:
    kind, body = data[0] if data else 0, data[1:]
    if kind & 2:
        body = changed(Choices(body))
    if kind & 3:
        body += hashlib.sha256(body).digest()
    path, again = scratch("fuzzed.counts"), scratch("again.counts")
    path.write_bytes(body)
    try:
        counts = PieceCounts.load(path)
    except CorruptDataError as error:
        refusal = str(error)
    else:
        counts.save(again)
        assert PieceCounts.load(again) == counts
        return
    assert str(path) in refusal


def changed(rng: random.Random) -> bytes:
    """Write a file without its checksum, with some of its parts changed."""
    pieces = [rng.choice(PIECES) for _ in range(rng.randrange(8))]
    header: Any = {"pat_str": rng.choice((r"\w+", None)), "special_tokens": ["<s>"], "note": {}}
    counts = [rng.choice(NUMBERS[1:4]) for _ in pieces]
    offsets = [sum(map(len, pieces[:end])) for end in range(len(pieces) + 1)]
    for _ in range(rng.randrange(4)):
        what = rng.randrange(4)
        if what == 0:
            header = change(rng, header)
        elif what == 1 or not counts:
            offsets[rng.randrange(len(offsets))] = rng.choice(NUMBERS)
        else:
            counts[rng.randrange(len(counts))] = rng.choice(NUMBERS)
    head, arena = json.dumps(header).encode(), b"".join(pieces)
    start = struct.pack("<6sHIQQ", b"cutcnt", 1, len(head), len(counts), len(arena))
    numbers = struct.pack(f"<{len(offsets) + len(counts)}q", *offsets, *counts)
    return start + head + numbers + arena
