"""Counts the parts of a text that were not met before, side by side in one that has each once."""

from itertools import compress
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

_FEW = 8  # parts: they are counted one by one
_ALONE = 64  # characters of a long text that are encoded in the time that one part takes
_SEPARATORS = "\n", "0", ".", " ", "a"
"""One of them has a safe split point before and after it beside most characters."""
_AT_ONCE = 1 << 12
"""Parts that are encoded together: a character takes some hundred bytes meanwhile."""


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
        spans: of the parts, int64, shape (n, 2). Each begins at a safe split point, or as if it
            did, and has 1 to LONGEST_KNOWN characters.
        most: characters that are encoded instead.

    Returns:
        int64: the tokens of each. None: that takes as long as it does to encode `most`.
    """
    firsts, numbers = map(np.asarray, distinct_parts(text, spans))
    apart = spans[firsts]
    if most is not None and (apart[:, 1] - apart[:, 0]).sum() > most:
        return None
    tokens = count_side_by_side(pipeline, encoding, text, apart)
    alone = np.flatnonzero(tokens < 0)
    if most is not None and len(alone) * _ALONE > most:
        return None
    if len(alone):
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
    starts, ends = spans.T.tolist()
    parts = list(map(text.__getitem__, map(slice, starts, ends)))
    left = np.arange(len(parts))
    for separator in _SEPARATORS:
        fits = _stand_beside(pipeline.safe_points, parts, separator)
        if fits is None:
            continue
        fitting, fitting_parts = left[fits], [*compress(parts, fits)]
        for at in range(0, len(fitting), _AT_ONCE):
            some = fitting_parts[at : at + _AT_ONCE]
            counts = _count_separated(pipeline, encoding, some, separator)
            tokens[fitting[at : at + _AT_ONCE]] = counts
        left = left[~fits]
        if len(left) <= _FEW:
            break
        parts = [*compress(parts, ~fits)]
    return tokens


def _stand_beside(
    safe_points: SafePoints, parts: list[str], separator: str
) -> NDArray[np.bool_] | None:
    """Tell which parts have a safe split point between them and a separator on both sides.

    None: none has.
    """
    first, last, is_between = itemgetter(0), itemgetter(-1), safe_points.is_between
    firsts = {one for one in {*map(first, parts)} if is_between(separator, one)}
    lasts = {one for one in {*map(last, parts)} if is_between(one, separator)} if firsts else ()
    if not lasts:
        return None
    fits = (part[0] in firsts and part[-1] in lasts for part in parts)
    return np.fromiter(fits, np.bool_, len(parts))


def _count_separated(
    pipeline: Pipeline, encoding: TextEncoder, parts: list[str], separator: str
) -> NDArray[np.int64]:
    """Count the tokens of parts that all stand beside a separator."""
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    places = np.cumsum(lengths + 1)
    joined = separator.join(["", *parts, ""])
    edges = np.concatenate([places - lengths, places])
    before = tokens_before(pipeline, encoding, joined, edges)
    return before[len(parts) :] - before[: len(parts)]
