"""Chunk a stream in a process of its own, which prints what it took.

    python -m benchmarks.chunk_stream NAME ENCODING FILE MEGABYTES

The stream repeats the file, in parts of 64 KB, until there are so many megabytes.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.memory import peak_bytes

CHUNK_SIZE: Final = 256
_PART_CHARACTERS: Final = 1 << 16


def _parts(text: str, n_bytes: int) -> Iterator[str]:
    left = n_bytes
    while left > 0:
        for start in range(0, len(text), _PART_CHARACTERS):
            part = text[start : start + _PART_CHARACTERS]
            yield part
            left -= len(part.encode())
            if left <= 0:
                return


def main() -> None:
    name, encoding, file, megabytes = sys.argv[1:]
    from cutline import chunking

    text = Path(file).read_text("utf-8")
    chunker = getattr(chunking, name)(encoding, CHUNK_SIZE)
    end = n_chunks = most = 0
    start = time.process_time()
    for chunk in chunker.iter_chunks(_parts(text, int(float(megabytes) * 1e6))):
        if chunk.start_index != end:
            raise SystemExit(f"chunk {chunk.index} starts at {chunk.start_index}, not at {end}")
        end, n_chunks, most = chunk.end_index, n_chunks + 1, max(most, chunk.token_count)
    seconds = time.process_time() - start
    print(json.dumps([seconds, peak_bytes() / 1e6, n_chunks, end, most]))


if __name__ == "__main__":
    main()
