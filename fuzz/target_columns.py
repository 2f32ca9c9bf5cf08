"""A damaged Arrow column or Parquet file is refused, or counted as its texts are.

Input: form, type, number of rows (a byte each); where the form is even, offsets of a byte each and
the data of a column; where it is 1 or 3 modulo 8, changes of a Parquet file (place and byte, three
bytes each); else, choices that change its metadata.
"""

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import cutline
from cutline.errors import SourceError
from cutline.integrations import arrow
from fuzz import thrift
from fuzz.grammar import Choices
from fuzz.scratch import scratch

ENCODING = cutline.get_encoding("o200k_base")
TEXTS = ["hello world", None, "", "é 中文", "x" * 60, "a\nb", "the end"] * 3
COMPRESSIONS = ("none", "snappy", "zstd", "gzip")


def run(data: bytes) -> None:
    if len(data) < 3:
        return
    if data[0] & 1:
        change = with_metadata if data[0] & 4 else changed
        check_file(change(FILES[data[1] % 8], data[3:]))
    else:
        batch = None
        with suppress(pa.ArrowInvalid):  # Arrow itself looks at some offsets
            column = column_of(data[1], data[2] % 16, data[3:])
            batch = pa.RecordBatch.from_arrays([column], ["text"])
        if batch is not None:
            check_column(batch)


def column_of(form: int, n: int, data: bytes) -> Any:
    """Make a column of buffers that nobody checked: large or small offsets, with nulls or not."""
    offsets = np.frombuffer(data[: n + 1].ljust(n + 1, b"\xff"), np.uint8).astype(np.int64)
    if form & 8:
        offsets = np.sort(offsets)
    if form & 1:
        offsets -= 2
    kind, width = (pa.large_string(), np.int64) if form & 2 else (pa.string(), np.int32)
    known = pa.py_buffer(data[-4:].ljust(4, b"\0")) if form & 4 else None
    buffers = [known, pa.py_buffer(offsets.astype(width)), pa.py_buffer(data[n + 1 :])]
    column = pa.Array.from_buffers(kind, n, buffers)
    return column.slice(min(n, form // 16 % 3))


def check_column(batch: Any) -> None:
    """Compare with the texts, one by one."""
    try:
        counts = arrow.count_batch(batch, ENCODING, num_threads=1)["token_count"].to_pylist()
    except SourceError:
        for use in (arrow.encode_batch, arrow.chunk_batch):
            refuses(use, batch)
        return
    texts = batch["text"].to_pylist()
    assert counts == [None if text is None else ENCODING.count(text) for text in texts]
    tokens = arrow.encode_batch(batch, ENCODING, num_threads=1)["tokens"].to_pylist()
    assert tokens == [None if text is None else ENCODING.encode_ordinary(text) for text in texts]
    chunks = arrow.chunk_batch(batch, cutline.TokenChunker(ENCODING, 8), num_threads=1)
    want = (cutline.TokenChunker(ENCODING, 8)(text or "") for text in texts)
    assert chunks["text"].to_pylist() == [chunk.text for found in want for chunk in found]


def refuses(use: Any, batch: Any) -> None:
    try:
        use(batch, cutline.TokenChunker(ENCODING, 8) if use is arrow.chunk_batch else ENCODING)
    except SourceError:
        return
    raise AssertionError(f"{use} took what count_batch refuses")


def file_of(number: int) -> bytes:
    """Write a small Parquet file, compressed or not, with a dictionary or not."""
    sink = pa.BufferOutputStream()
    table = pa.table({"id": range(len(TEXTS)), "text": TEXTS})
    how = COMPRESSIONS[number % len(COMPRESSIONS)]
    pq.write_table(table, sink, compression=how, use_dictionary=number > 3)
    return bytes(sink.getvalue())


FILES = tuple(map(file_of, range(8)))


def changed(file: bytes, data: bytes) -> bytes:
    """Change some bytes of a file; the last change may cut it off."""
    made = bytearray(file)
    for at in range(0, len(data) - 2, 3):
        made[int.from_bytes(data[at : at + 2]) % len(made)] ^= data[at + 2]
    return bytes(made if len(data) % 3 != 1 else made[: data[-1] * len(made) // 256])


def with_metadata(file: bytes, data: bytes) -> bytes:
    """Change the metadata of a file, which say of themselves how long they are."""
    rng, end = Choices(data), len(file) - 8
    start = end - int.from_bytes(file[end : end + 4], "little")
    metadata = thrift.read(file[start:end])
    for _ in range(rng.choice((1, 1, 2, 4))):
        metadata = thrift.changed(rng, metadata)
    written = thrift.written(metadata)
    return file[:start] + written + len(written).to_bytes(4, "little") + b"PAR1"


def check_file(content: bytes) -> None:
    """Count the pieces of its texts, or be told why not."""
    path = scratch("fuzzed.parquet")
    path.write_bytes(content)
    try:
        counts = cutline.count_pieces(path, column="text", num_threads=1)
    except SourceError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert str(path) in refusal
        assert content not in FILES
        return
    try:
        texts = pq.ParquetFile(path, pre_buffer=False).read(["text"])["text"].to_pylist()
    except OSError:  # so many rows that only a batch of them can be read
        return
    want = cutline.count_pieces((text for text in texts if text is not None), num_threads=1)
    assert dict(counts.items()) == dict(want.items())
