"""A `.tiktoken` file is refused with its path named, or read as what its lines say.

Input: a byte, then lines; where the byte is odd, the 256 single bytes with ids from
1,000 on are put before them.
"""

from base64 import b64decode, b64encode

import cutline
from cutline.errors import VocabularyError
from fuzz.scratch import scratch
from tests.oracles import tiktoken_of

SINGLE_BYTES = b"".join(b64encode(bytes([i])) + b" %d\n" % (1_000 + i) for i in range(256))
MAX_ORACLE_BYTES = 3_000


def run(data: bytes) -> None:
    content = (SINGLE_BYTES if data[:1] and data[0] & 1 else b"") + data[1:]
    encoding = load(content)
    if encoding is None:
        return
    lines = [line.split() for line in content.splitlines() if line]
    ranks = {b64decode(token): int(rank) for token, rank in lines if token != b"="}
    assert encoding._mergeable_ranks == ranks
    piece = b"".join(token for token in ranks if len(token) > 1)[:MAX_ORACLE_BYTES]
    if piece:
        want = tiktoken_of(ranks, None)._encode_single_piece(piece)
        assert encoding._encode_single_piece(piece) == want


def load(content: bytes) -> cutline.Encoding | None:
    """Load what the file of this content holds; None: it was refused."""
    path = scratch("fuzzed.tiktoken")
    path.write_bytes(content)
    try:
        return cutline.load(path, pat_str=None)
    except VocabularyError as error:
        refusal = str(error)
    assert str(path) in refusal
    return None
