"""A `.cutline` file is refused with its path named, or makes an encoding that saves as it loads.

Input: a byte, then a file; where the byte is odd, a header, NUL and what the target `packed`
reads, for a file with true sizes and checksums. Nothing after the NUL: the single bytes and
two more.
"""

import hashlib
import struct
import warnings
from pathlib import Path

import cutline
from cutline.errors import PatternError, PatternFallbackWarning, VocabularyError
from cutline.vocabulary import Vocabulary, pack
from fuzz import target_packed
from fuzz.scratch import scratch

START = b"cutenc\x01\x00"
TOKENS = [*(bytes([i]) for i in range(256)), b"ab", b"abc"]
PLAIN = pack(Vocabulary.from_ranks({token: rank for rank, token in enumerate(TOKENS)}))


def run(data: bytes) -> None:
    path, again = scratch("fuzzed.cutline"), scratch("again.cutline")
    path.write_bytes(sealed(data[1:]) if data[:1] and data[0] & 1 else data[1:])
    encoding = load(path)
    if encoding is None:
        return
    encoding.save(again)
    saved = load(again)
    assert saved is not None
    assert parts(saved) == parts(encoding)
    target_packed.check_encoding(encoding, encoding._vocabulary)


def sealed(data: bytes) -> bytes:
    """Make the file that the input stands for."""
    header, _, rest = data.partition(b"\0")
    vocabulary = target_packed.sealed(rest) if rest else PLAIN
    body = struct.pack("<I", len(header)) + header + vocabulary
    return START + hashlib.sha256(body).digest() + body


def load(path: Path) -> cutline.Encoding | None:
    """Load a file; None: it was refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternFallbackWarning)
        try:
            return cutline.load(path)
        except (VocabularyError, PatternError) as error:
            refusal = str(error)
    assert str(path) in refusal, refusal
    return None


def parts(encoding: cutline.Encoding) -> tuple[object, ...]:
    return (
        encoding.name, encoding._pat_str, encoding._special_tokens, encoding._vocabulary,
    )  # fmt: skip
