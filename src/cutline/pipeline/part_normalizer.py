"""Normalizes the parts of a text whose characters change one another, and traces them.

What lies between two sure boundaries is changed by nothing around it. Such parts are mostly words
with marks, and come again.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cutline.checks import without_surrogates
from cutline.normalizing import Prepend, Step, Strip, Traced, normalize, trace

__all__ = ["PartNormalizer"]

_KNOWN_PARTS: Final = 4096
_SHORT: Final = 32  # characters
_BETWEEN: Final = 64  # characters of what lies between two parts that are traced together
_TOGETHER: Final = 4096  # ... and of all that is
_Part: TypeAlias = tuple[bytes, NDArray[np.int64]]
"""What a part becomes, and of each character the span of the part it comes from."""


class PartNormalizer:
    """Normalizes parts of a text for which no prefix is due, and keeps what short ones become.

    Args:
        steps: all of the tokenizer; of these, Strip acts on the part that ends the text.
    """

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = tuple(one for one in steps if not isinstance(one, Prepend))
        self._inside = tuple(one for one in self._steps if not isinstance(one, Strip))
        self._strips = self._inside != self._steps
        self._known = lru_cache(_KNOWN_PARTS)(self._normal)
        self._traced: dict[str, _Part] = {}

    def __call__(self, part: str, at_end: bool) -> bytes:
        """Normalize a part, which may end the text."""
        if at_end and self._strips:
            return without_surrogates(normalize(part, self._steps)).encode()
        return self._known(part) if len(part) <= _SHORT else self._normal(part)

    def _normal(self, part: str) -> bytes:
        return without_surrogates(normalize(part, self._inside)).encode()

    def trace_parts(self, text: str, parts: Sequence[tuple[int, int]]) -> list[_Part]:
        """Normalize parts of a text that change nothing around them, and trace them.

        Args:
            text: without surrogates.
            parts: their starts and ends, in order; no two meet.
        """
        kept = [self._traced.get(text[start:end]) for start, end in parts]
        last = len(parts) - 1 if parts and parts[-1][1] == len(text) else len(parts)
        if self._strips and last < len(parts):
            start, end = parts[last]
            kept[last] = _part_of(trace(text[start:end], self._steps))
        missed = [place for place, one in enumerate(kept) if one is None]
        for places in _near(parts, missed):
            start = parts[places[0]][0]
            traced = trace(text[start : parts[places[-1]][1]], self._inside)
            for place in places:
                edges = np.searchsorted(traced.spans[:, 0], np.array(parts[place]) - start)
                part = traced.part(*edges.tolist())
                moved = Traced(part.text, part.spans - (parts[place][0] - start))
                kept[place] = self._keep(text[slice(*parts[place])], _part_of(moved))
        return [one for one in kept if one is not None]

    def _keep(self, text: str, part: _Part) -> _Part:
        if len(text) <= _SHORT:
            if len(self._traced) >= _KNOWN_PARTS:
                self._traced.clear()
            self._traced[text] = part
        return part


def _near(parts: Sequence[tuple[int, int]], places: list[int]) -> Iterator[list[int]]:
    """Divide the numbers of some parts into those that are traced together, with what is between.

    To trace a text takes as long as many characters of it.
    """
    group: list[int] = []
    for place in places:
        start, end = parts[place]
        if group and (
            start - parts[group[-1]][1] > _BETWEEN or end - parts[group[0]][0] > _TOGETHER
        ):
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _part_of(traced: Traced) -> _Part:
    return without_surrogates(traced.text).encode(), np.ascontiguousarray(traced.spans)
