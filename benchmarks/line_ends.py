"""Where chunks of many kinds of documents end: `python -m benchmarks.line_ends`.

Percent of the cuts, for several chunk sizes: of records those at the end of a line, of wrapped
prose those at the end of a sentence, by the rules of `chunk_judge`. Then the mean fill.
"""

import argparse
from collections.abc import Sequence
from typing import Final, Protocol

from benchmarks.chunk_judge import levels_at
from benchmarks.document_kinds import PROSE, RECORDS

_CHUNK_SIZES: Final = (64, 128, 256, 512)


class Ending(Protocol):
    """A chunk."""

    @property
    def end_index(self) -> int:
        """Where it ends."""


def share_at(level: str, text: str, chunks: Sequence[Ending]) -> float:
    """Return the share of the cuts that are at a level of `chunk_judge`; 1 without any."""
    cuts = [chunk.end_index for chunk in chunks[:-1]]
    if not cuts:
        return 1.0
    return sum(level in levels_at(text, cut) for cut in cuts) / len(cuts)


def main() -> None:
    """Print a line for each kind."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.line_ends",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--encoding", default="o200k_base")
    parser.add_argument("--markdown", action="store_true", help="by MarkdownChunker")
    options = parser.parse_args()
    from cutline.chunking import MarkdownChunker, TextChunker

    make = MarkdownChunker if options.markdown else TextChunker
    print(f"{make.__name__}, {options.encoding}, tokens:", *_CHUNK_SIZES)
    for level, kinds in (("line", RECORDS), ("sentence", PROSE)):
        for name, document in kinds.items():
            text, cells = document(), []
            for size in _CHUNK_SIZES:
                chunks = make(options.encoding, size).chunk(text)
                fill = sum(chunk.token_count for chunk in chunks) / len(chunks) / size
                cells.append(f"{100 * share_at(level, text, chunks):6.1f} ({fill:.2f})")
            print(f"{name:28} at {level:8}", *cells)


if __name__ == "__main__":
    main()
