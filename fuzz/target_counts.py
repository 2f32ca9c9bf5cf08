"""A file of piece counts is refused with its path named, or saves as it loads.

Input: a byte, then a file; where the byte is odd, what stands before its true checksum.
"""

import hashlib
import tempfile
from pathlib import Path

from cutline.errors import CorruptDataError
from cutline.training import PieceCounts


def run(data: bytes) -> None:
    body = data[1:]
    if data[:1] and data[0] & 1:
        body += hashlib.sha256(body).digest()
    with tempfile.TemporaryDirectory(prefix="cutline-fuzz-") as folder:
        path, again = Path(folder) / "fuzzed.counts", Path(folder) / "again.counts"
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
