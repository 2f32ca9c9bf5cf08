"""A packed vocabulary that anybody may have written is refused or makes a true encoding.

Input: a byte whose lowest bits say what of the rest is sealed with what a reader
checks first (1: the checksum; 2: the streams are compressed too), then the file after
its checksum: counts, widths, arrays, arena.
"""

import hashlib
import zlib

import cutline
from cutline.errors import CorruptDataError, VocabularyError
from cutline.vocabulary import Vocabulary, pack, unpack
from tests.oracles import Renumbered

MAGIC = b"cutvoc\x01\x00"
COUNTS_BYTES = 15
MAX_ORACLE_BYTES = 3_000


def run(data: bytes) -> None:
    file = sealed(data)
    try:
        vocabulary = unpack(file)
        encoding = cutline.Encoding.from_vocabulary(
            "fuzzed", pat_str=None, vocabulary=vocabulary, special_tokens={}
        )
    except (CorruptDataError, VocabularyError):
        return
    assert unpack(pack(vocabulary)) == vocabulary
    check_encoding(encoding, vocabulary)


def sealed(data: bytes) -> bytes:
    """Make the file that the input stands for."""
    how, body = data[:1], data[1:]
    if how and how[0] & 2 and len(body) >= COUNTS_BYTES:
        token_count = int.from_bytes(body[:4], "little")
        counts, rest = body[:COUNTS_BYTES], body[COUNTS_BYTES:]
        arrays_bytes = token_count * sum(counts[12:])
        stream = zlib.compress(rest[:arrays_bytes])
        arena = zlib.compress(rest[arrays_bytes:])
        counts = counts[:8] + len(stream).to_bytes(4, "little") + counts[12:]
        body = counts + stream + arena
    if how and how[0] & 1:
        return MAGIC + hashlib.sha256(body).digest() + body
    return MAGIC + body


def check_encoding(encoding: cutline.Encoding, vocabulary: Vocabulary) -> None:
    """Encode the tokens in a row: whatever the stored splits, it decodes to itself.

    Without stored splits, or with true ones, it is also what tiktoken gives.
    """
    text = vocabulary.arena[:MAX_ORACLE_BYTES]
    tokens = encoding._encode_single_piece(text)
    assert encoding.decode_bytes(tokens) == text
    if vocabulary.left_lengths is None:
        real = Renumbered(vocabulary, None)
        assert tokens == real._encode_single_piece(text)
