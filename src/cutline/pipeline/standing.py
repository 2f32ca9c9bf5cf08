"""Which added tokens a text has whose texts may overlap. Source: docs/words.md, "Added tokens"."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutline.pipeline.token_search import Found

__all__ = ["NO_TOKENS", "Standing", "standing_tokens"]

# Of texts that overlap one another, for each end among them is looked at:
_MOST: Final = 64
_LONGEST: Final = 1024  # characters of all of them
_ALONE: Final = ({(False, False)}, {(False, True)})  # which of special, and normalized


class Standing(NamedTuple):
    """The added tokens of a text: int64, shape (n, 2), starts and ends.

    Attributes:
        texts: of all their texts, by starts and then by ends. Of these a slice has those that
            start first, of them the longest, and no other ones.
        spans: the tokens of the text, from left to right.
        groups: of each token, where the texts start and end that overlap one another there.
    """

    texts: NDArray[np.int64]
    spans: NDArray[np.int64]
    groups: NDArray[np.int64]


NO_TOKENS: Final = Standing(*3 * (np.empty((0, 2), dtype=np.int64),))


def standing_tokens(found: list[Found]) -> Standing | None:
    """Tell which tokens a text has, of all those that its slices may have.

    None: special ones, which hide others, or tokens found in the text and in its normal form
    overlap; or too many do.
    """
    if not found:
        return NO_TOKENS
    found.sort(key=lambda one: one[:2])
    spans = np.array([one[:2] for one in found], dtype=np.int64)
    reached = np.maximum.accumulate(spans[:, 1])
    firsts = np.flatnonzero(np.concatenate(([True], spans[1:, 0] >= reached[:-1])))
    lasts = np.concatenate((firsts[1:], [len(spans)]))
    is_special = np.array([token.special for _, _, token in found])
    is_match = np.ones(len(spans), dtype=bool)
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if last - first > 1:
            kinds = {(token.special, token.normalized) for _, _, token in found[first:last]}
            length = reached[last - 1] - spans[first, 0]
            if max(last - first - _MOST, length - _LONGEST) > 0 or kinds not in _ALONE:
                return None
            is_match[first:last] = _matches(spans[first:last].tolist())
    groups = np.stack((spans[firsts, 0], reached[lasts - 1]), axis=1)
    groups = np.repeat(groups, lasts - firsts, axis=0)
    is_match &= ~is_special
    return Standing(
        *map(np.ascontiguousarray, (spans[~is_special], spans[is_match], groups[is_match]))
    )


def _matches(spans: list[list[int]]) -> list[bool]:
    """Tell which texts are found, of those that overlap."""
    are_found, done = [False] * len(spans), 0
    for at, (start, end) in enumerate(spans):
        is_longest = at + 1 == len(spans) or spans[at + 1][0] > start
        if start >= done and is_longest:
            are_found[at], done = True, end
    return are_found
