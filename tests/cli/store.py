"""Put the chunks of a Parquet file into a vector store: `python -m tests.cli.store CHUNKS STORE`.

The store is a table of SQLite. A key is that of the chunk's content in its file, so a run that was
killed can be run again: what is there is not embedded again, and what is no chunk any more goes.
"""

import sqlite3
import sys
import zlib
from collections import Counter

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 64


def embed(text: str) -> NDArray[np.float32]:
    """A toy: words hashed to numbers."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    for word in text.lower().split():
        vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1
    return vector / max(float(np.linalg.norm(vector)), 1)


def fill(chunks: str, path: str) -> None:
    """Make the store that of the chunks; every batch of rows is one transaction."""
    import pyarrow.parquet as pq

    store = sqlite3.connect(path)
    store.execute(
        "CREATE TABLE IF NOT EXISTS chunks (key TEXT PRIMARY KEY, file TEXT, start_index INTEGER,"
        " text TEXT, vector BLOB) WITHOUT ROWID"
    )
    store.execute("CREATE TEMP TABLE seen (key TEXT PRIMARY KEY) WITHOUT ROWID")
    place, seen = "", Counter[str]()
    columns = ["file", "start_index", "text", "content_hash"]
    for batch in pq.ParquetFile(chunks).iter_batches(2000, columns=columns):
        for file, start, text, content in zip(*map(list, batch.to_pydict().values()), strict=True):
            if file != place:
                place, seen = file, Counter()
            seen[content] += 1
            key = f"{file}\0{content}\0{seen[content]}"
            store.execute("INSERT INTO seen VALUES (?)", [key])
            moved = store.execute("UPDATE chunks SET start_index = ? WHERE key = ?", [start, key])
            if not moved.rowcount:
                row = [key, file, start, text, embed(text).tobytes()]
                store.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", row)
        store.commit()
    store.execute("DELETE FROM chunks WHERE key NOT IN (SELECT key FROM seen)")
    store.commit()
    store.close()


if __name__ == "__main__":
    fill(*sys.argv[1:])
