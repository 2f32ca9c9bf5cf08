"""Counts the parts of a text that were not met before by encoding a text that has each once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cutline.pipeline.offsets import changed_parts, untrimmed_offsets
from cutline.pipeline.pipeline import Pipeline
from cutline.text_encoder import TextEncoder

__all__ = ["count_new_parts", "tokens_before"]

_SHARE = 0.5
"""Of a text is the most that is encoded instead of it."""


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
    text: str,
    points: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Count the tokens of some parts of a text, or of most of them.

    Args:
        pipeline: changes the text.
        encoding: counts the changed text.
        text: without surrogates.
        points: its safe split points; one or more.
        numbers: of the parts to count, each between a point of this number and the next.

    Returns:
        The numbers of those that were counted, of equal ones only one; and the tokens of each.
        None: to count the whole text takes about as long.
    """
    spans = zip(
        numbers.tolist(), points[numbers].tolist(), points[numbers + 1].tolist(), strict=True
    )
    firsts = {text[start:end]: number for number, start, end in spans}
    if sum(map(len, firsts)) > _SHARE * len(text):
        return None
    shorter, counted, places = _joined(text, points, firsts, pipeline.safe_points.is_between)
    if not counted:
        return numbers[:0], numbers[:0]
    edges = np.array(places, dtype=np.int64)
    before = tokens_before(pipeline, encoding, shorter, edges).reshape(-1, 2)
    return np.array(counted, dtype=np.int64), before[:, 1] - before[:, 0]


def _joined(
    text: str,
    points: NDArray[np.int64],
    parts: dict[str, int],
    is_between: Callable[[str, str], bool],
) -> tuple[str, list[int], list[int]]:
    """Write parts of a text side by side, with safe split points between them.

    They stand between what comes before the first point of the text and after its last one, for a
    tokenizer may change starts and ends. One that cannot follow another comes after what is before
    it in the text, or is left out. Returns the new text; the numbers of the parts in it; and where
    each starts and ends, in turn.
    """
    written, length = [text[: points[0]]], int(points[0])
    counted: list[int] = []
    places: list[int] = []
    end = text[points[-1] :]
    for part, number in parts.items():
        if not is_between(written[-1][-1], part[0]):
            between = text[points[number - 1] : points[number]] if number else ""
            if not between or not is_between(written[-1][-1], between[0]):
                continue
            written.append(between)
            length += len(between)
        written.append(part)
        counted.append(number)
        places += (length, length + len(part))
        length += len(part)
    while counted and not is_between(written[-1][-1], end[0]):
        length -= len(written.pop())
        if places[-1] > length:
            del places[-2:], counted[-1]
    return "".join([*written, end]), counted, places
