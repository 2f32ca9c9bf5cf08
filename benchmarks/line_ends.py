"""Where chunks of many kinds of documents end: `python -m benchmarks.line_ends`.

In percent of the cuts: of records at a line's end, of wrapped prose at a sentence's end, by the
rules of `chunk_judge`; and the mean fill.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache

from benchmarks.chunk_judge import levels_at
from benchmarks.document_kinds import PROSE, RECORDS


def shares(chunker: Callable[[str], list], text: str) -> tuple[dict[str, float], float]:
    """Return how many of the cuts are at each level, and the mean tokens of a chunk."""
    chunks = chunker(text)
    cuts = [chunk.end_index for chunk in chunks[:-1]]
    at = Counter(level for cut in cuts for level in levels_at(text, cut))
    # The white space before a cut, too: a chunk that ends before a line's end does not end at it.
    found = {level: at[level] / max(1, len(cuts)) for level in ("line", "sentence")}
    tokens = sum(chunk.token_count for chunk in chunks) / max(1, len(chunks))
    return found, tokens
