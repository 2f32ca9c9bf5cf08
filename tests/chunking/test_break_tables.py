"""The packaged tables of text boundaries: what is read is what was written, or an error."""

import contextlib
import random
from pathlib import Path

import pytest

from cutline.chunking.break_tables import DATA_PATH, pack, unpack
from cutline.errors import CorruptDataError


def packaged() -> bytes:
    return Path(DATA_PATH).read_bytes()


def test_what_is_read_is_what_was_written() -> None:
    index, classes, properties = unpack(packaged())
    assert (index.format, classes.format, properties.format) == ("H", "B", "I")
    assert pack(bytes(index), bytes(classes), bytes(properties)) == packaged()
    # What the kernels trust.
    assert len(index) == 0x110000 >> 7
    assert max(index) < len(classes) >> 7
    assert max(classes) < len(properties)


def test_a_damaged_file_is_refused() -> None:
    data, content = packaged(), [*map(bytes, unpack(packaged()))]
    rng = random.Random(4)
    for _ in range(200):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        for other in (bytes(damaged), data[: rng.randrange(len(data))], b""):
            with contextlib.suppress(CorruptDataError):
                # Some bits of the stream's header say nothing of its content.
                assert [*map(bytes, unpack(other))] == content
    with pytest.raises(CorruptDataError, match=r"breaks-16\.bin is damaged \(.*: reinstall cut"):
        unpack(data[:100])
