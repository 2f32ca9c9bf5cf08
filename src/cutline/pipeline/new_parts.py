"""Counts the parts of a text that were not met before, side by side in a text that has each once."""

from collections.abc import Iterator
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.encode.distinct_parts import distinct_parts
from cutline.kernels.encode.known_parts import KnownParts
from cutline.pipeline.offsets import changed_parts, untrimmed_offsets
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.safe_points import SafePoints
from cutline.text_encoder import TextEncoder

__all__ = ["count_new_parts", "count_side_by_side", "tokens_before"]

_FEW = 4  # parts: they are counted one by one
_SEPARATORS = " ", "\n", ".", "a", "0"
"""One of them has a safe split point before and after it beside most characters."""
_MOST = 1 << 18  # characters that are encoded at once: each takes some hundred bytes meanwhile


def tokens_before(
    pipeline: Pipeline, encoding: TextEncoder, text: str, points: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the tokens before each of some safe split points of a text.

    Cost: some 10 MB/s; less where what the tokenizer changes is not known to a kernel.
    """
    parts = changed_parts(pipeline, text, frozenset())
    _, spans = untrimmed_offsets(encoding, encoding._decoder_of_normalized, text, parts)
    # No token has characters on both sides of a point.
    found: NDArray[np.int64] = np.searchsorted(spans[:, 0], points)
    return found


def count_new_parts(
    pipeline: Pipeline,
    encoding: TextEncoder,
    known: KnownParts,
    text: str,
    spans: NDArray[np.int64],
    most: int | None = None,
) -> NDArray[np.int64] | None:
    """Count the tokens of parts of a text, and keep them.

    Args:
        pipeline: changes the text.
        encoding: counts the changed text.
        known: keeps the tokens of parts.
        text: without surrogates.
        spans: of the parts, int64, shape (n, 2); each begins at a safe split point, or as if it did,
            and has 1 to LONGEST_KNOWN characters.
        most: characters.

    Returns:
        int64: the tokens of each. None: those that differ have more characters than `most`.
    """
    firsts, numbers = map(np.asarray, distinct_parts(text, spans))
    apart = spans[firsts]
    if most is not None and np.diff(apart).sum() > most:
        return None
    tokens = count_side_by_side(pipeline, encoding, text, apart)
    alone = np.flatnonzero(tokens < 0)
    tokens[alone] = known.count(apart[alone], leads=False)
    known.keep(apart, tokens)
    counted: NDArray[np.int64] = tokens[numbers]
    return counted


def count_side_by_side(
    pipeline: Pipeline, encoding: TextEncoder, text: str, spans: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the tokens of parts of a text by encoding texts that have one after another.

    They are separated by characters that have a safe split point on both sides. See
    `count_new_parts`. -1: there is none for a part.
    """
    tokens = np.full(len(spans), -1, dtype=np.int64)
    if len(spans) <= _FEW:
        return tokens
    parts = [text[start:end] for start, end in spans.tolist()]
    left = np.arange(len(parts))
    for separator in _SEPARATORS:
        fits = _may_be_between(pipeline.safe_points, [parts[at] for at in left], separator)
        for some in _batches(left[fits], spans):
            joined = separator.join(["", *[parts[at] for at in some], ""])
            lengths = spans[some, 1] - spans[some, 0]
            ends = np.cumsum(lengths + 1)
            places = np.stack([ends - lengths, ends], axis=1)
            before = tokens_before(pipeline, encoding, joined, places.reshape(-1)).reshape(-1, 2)
            tokens[some] = before[:, 1] - before[:, 0]
        left = left[~fits]
        if len(left) <= _FEW:
            break
    return tokens


def _may_be_between(
    safe_points: SafePoints, parts: list[str], separator: str
) -> NDArray[np.bool_]:
    """Return whether each part has a safe split point between it and a separator on both sides."""
    first, last, is_between = itemgetter(0), itemgetter(-1), safe_points.is_between
    firsts = {one for one in {*map(first, parts)} if is_between(separator, one)}
    lasts = {one for one in {*map(last, parts)} if is_between(one, separator)}
    fits = (part[0] in firsts and part[-1] in lasts for part in parts)
    return np.fromiter(fits, np.bool_, len(parts))


def _batches(numbers: NDArray[np.int64], spans: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield numbers of parts, of some that have about `_MOST` characters at a time."""
    ends = np.cumsum(spans[numbers, 1] - spans[numbers, 0])
    last = int(ends[-1]) if len(ends) else 0
    edges = np.searchsorted(ends, np.arange(_MOST, last, _MOST))
    yield from (batch for batch in np.split(numbers, edges) if len(batch))
