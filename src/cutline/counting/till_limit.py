"""Whether a long text has more tokens than a limit, by as much of it as decides that.

The tokens before a safe split point count, whatever follows it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from cutline.errors import SurrogateError

__all__ = ["count_till_limit", "is_sure_to_exceed"]

_LEAST: Final = 1 << 16  # characters: up to so many are counted as they are
_CHARACTERS_A_TOKEN: Final = 8  # more than most texts have
_GROWTH: Final = 4  # so that no more than a third of the text is counted in vain
_REACH: Final = 2  # characters on each side that decide about a point, at most


def count_till_limit(
    text: str,
    limit: int,
    count: Callable[[str], int],
    find_points: Callable[[str, int], Iterable[int]],
    split_at: Callable[[str, int], int] | None = None,
) -> int | None:
    """Count the tokens of a text, or return None if there are more than a limit.

    See `is_sure_to_exceed`.
    """
    if is_sure_to_exceed(text, limit, count, find_points, split_at):
        return None
    tokens = count(text)
    return tokens if tokens <= limit else None


def is_sure_to_exceed(
    text: str,
    limit: int,
    count: Callable[[str], int],
    find_points: Callable[[str, int], Iterable[int]],
    split_at: Callable[[str, int], int] | None = None,
) -> bool:
    """Return whether a part of a text has more tokens than a limit; False: perhaps the whole has.

    Args:
        text: any text.
        limit: a number of tokens.
        count: counts the tokens of a text.
        find_points: lists safe split points of a text that lie after a place.
        split_at: finds the longest prefix that fits, for texts without safe split points.

    Cost: linear in the part that has more tokens, up to a safe split point; none for a short text,
    or a limit near its count.
    """
    end = max(_LEAST, _CHARACTERS_A_TOKEN * min(limit, len(text)))
    while end < len(text):
        points = [at for at in find_points(text[:end], end // 2) if at <= end - _REACH]
        if points and count(text[: points[-1]]) > limit:
            return True
        if not points and split_at is not None:
            with suppress(SurrogateError):  # which may be counted, but not cut
                return split_at(text, limit) < len(text)
        end *= _GROWTH
    return False
