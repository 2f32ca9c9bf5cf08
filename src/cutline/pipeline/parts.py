"""One long text in threads: cut at safe split points into parts, one call for each."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

from cutline.pipeline.safe_points import SafePoints
from cutline.threads import map_threads

__all__ = ["is_long", "map_parts"]

_PART = 1 << 19  # characters or bytes: a millisecond of work or more
_SEARCHED = 1 << 12  # after each place that is good for a cut: little beside a part
_REACH = 2  # characters before a safe split point that decide about it

Result = TypeVar("Result")


def is_long(text: str | bytes) -> bool:
    """Return whether a text is worth several threads."""
    return len(text) >= 2 * _PART


def map_parts(
    work: Callable[[Any, bool], Result],
    text: str | bytes,
    points: SafePoints | None,
    num_threads: int,
) -> list[Result]:
    """Apply `work` to consecutive parts of a text, in threads if there are several.

    Args:
        work: takes a part, of the text's type, and whether it is the beginning of the text.
        text: a str, or valid UTF-8.
        points: finds safe split points; None: there is one part. Where it finds none, a part
            is as long as need be.
        num_threads: maximum number of threads.

    Raises:
        ValueError: num_threads is below 1.
    """
    cuts: list[int | None] = []
    if points is not None:
        places = range(_PART, len(text) - _PART // 2, _PART)
        cuts = [_cut_after(text, place, points) for place in places]
    spans = list(pairwise([0, *(cut for cut in cuts if cut is not None), len(text)]))

    def part(span: tuple[int, int]) -> Result:
        return work(text[span[0] : span[1]], span[0] == 0)

    return map_threads(part, spans, num_threads)


def _cut_after(text: str | bytes, place: int, points: SafePoints) -> int | None:
    """Find a safe split point soon after a place; of UTF-8, in bytes."""
    if isinstance(text, str):
        before, searched = text[max(0, place - _REACH) : place], text[place : place + _SEARCHED]
        found = points.first(before + searched, max(0, len(before) - 1))
        return None if found is None else place + found - len(before)
    while text[place] & 0xC0 == 0x80:  # inside a character
        place += 1
    before = text[max(0, place - 4 * _REACH) : place].decode(errors="ignore")[-_REACH:]
    searched = text[place : place + _SEARCHED].decode(errors="ignore")
    found = points.first(before + searched, max(0, len(before) - 1))
    if found is None:
        return None
    return place + len(searched[: found - len(before)].encode())
