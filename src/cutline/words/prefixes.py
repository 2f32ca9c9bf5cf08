"""What the prefixes of a text are normalized to. Source: docs/words.md, "Slices and cuts".

Most of what a prefix becomes is a beginning of what the whole text becomes. The steps follow one
another, and each adds at most a few characters that only this prefix has.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from cutline.normalizing import (
    Lead,
    Prepend,
    Step,
    Strip,
    normalize,
    of_each,
)
from cutline.words.cuts import Part, Places, cuts_under, parted

__all__ = ["PrefixMaker", "Prefixes"]


class _Stage(Protocol):
    """What some of the steps make of the prefixes of what they get.

    Attributes:
        normalized: what all of it becomes.
    """

    normalized: str

    def settled_after(self, settled: Places) -> Places:
        """Return how much of `normalized` is settled where so much of the text is."""

    def after(self, place: int, rest: str) -> tuple[int, str]:
        """Return what becomes of a beginning of the text, up to a place, and a rest."""


class Prefixes:
    """What the prefixes of one text are normalized to.

    Args:
        stages: the steps, each with what it gets of the text.
        normalized: what the text becomes.

    Attributes:
        normalized: see above.
        settled: int64, shape (characters + 1,): with so many characters of `normalized` each text
            begins that begins with a prefix of this length, once it is normalized. Never falls.
    """

    def __init__(self, stages: "list[_Stage]", length: int, normalized: str) -> None:
        self._stages = stages
        self.normalized = normalized
        self.settled: Places = np.arange(length + 1)
        for stage in stages:
            self.settled = stage.settled_after(self.settled)

    @property
    def known(self) -> str:
        """With this each text begins, once it is normalized, that begins with all of this one."""
        return self.normalized[: self.settled[-1]]

    def first_beyond(self, place: int) -> int:
        """Return from which length on a prefix has settled this much; more than the text's: none.

        Each text that begins with such a prefix, once normalized, begins like `normalized`.
        """
        return int(np.searchsorted(self.settled, place))

    def of(self, end: int) -> tuple[int, str]:
        """Return how much of `normalized` a prefix becomes, and what comes after that."""
        rest = ""
        for stage in self._stages:
            end, rest = stage.after(end, rest)
        return end, rest


class PrefixMaker:
    """Makes `Prefixes`.

    Args:
        steps: all of a normalizer.
    """

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._parts = [*map(_stages_of, parted(steps))]

    def __call__(self, text: str) -> Prefixes:
        """Make it for a text. Cost: linear."""
        stages, normalized = list[_Stage](), text
        for begin, part in self._parts:
            if not stages and part is not None and part.leaves(text):
                continue
            stage = begin(normalized)
            stages.append(stage)
            normalized = stage.normalized
        return Prefixes(stages, len(text), normalized)


class _CutStage:
    """Cuts what one part of the steps gets.

    Args:
        part: the part.
        text: what it gets.
    """

    def __init__(self, part: Part, text: str) -> None:
        self._part, self._text = part, text
        cuts = cuts_under(part, text)
        self._places, self._needs = cuts.places.tolist(), cuts.needs
        self._inside = None if cuts.inside is None else cuts.inside.tolist()
        self._enough = part.enough
        self.normalized = normalize(text, part.steps)
        # Of what is between two cuts, a character alone is changed like this everywhere.
        lengths = part.lengths.of(text)[cuts.places[:-1]]
        for at in np.flatnonzero(np.diff(cuts.places) > 1).tolist():
            start, end = self._places[at : at + 2]
            lengths[at] = len(part.apply(text[start:end]))
        self._made = np.append(0, np.cumsum(lengths))

    def settled_after(self, settled: Places) -> Places:
        """Return how much of `normalized` is settled where so much of the text is."""
        found: Places = self._made[np.searchsorted(self._needs, settled, side="right") - 1]
        return found

    def after(self, place: int, rest: str) -> tuple[int, str]:
        """Return what becomes of a beginning of the text, up to a place, and a rest."""
        if not rest:
            at = bisect_left(self._places, place)
            if self._places[at] == place:
                return int(self._made[at]), ""
        at = bisect_right(self._needs, place) - 1
        rest = self._text[max(self._places[at], place - self._enough) : place] + rest
        return int(self._made[at]), self._made_after(at, rest)

    def _made_after(self, at: int, rest: str) -> str:
        """Return what becomes of a rest that begins at one of the places."""
        if self._inside is None or not self._inside[at]:
            return self._part.apply(rest)
        # The cluster is long, whatever joins it.
        clusters = self._part.clusters
        assert clusters is not None
        if clusters.all_join(rest):
            return normalize(clusters.apart(rest), self._part.steps[1:])
        first = at
        while self._inside[first]:
            first -= 1
        begun = self._text[self._places[first] : self._places[at]]
        return self._part.apply(begun + rest)[int(self._made[at] - self._made[first]) :]


class _StripStage:
    """Cuts white space off: what comes next decides whether it is at the end.

    Args:
        step: what does so.
        text: what it gets.
    """

    def __init__(self, step: Strip, text: str) -> None:
        self._text, self._strip = text, step
        self.normalized = step.apply(text)
        self._begin = len(text) - len(text.lstrip(step.white)) if step.left else 0
        solid = np.arange(len(text) + 1)
        if step.right:
            solid[1:][of_each(text, step.white_at_end.__contains__, np.bool_)] = 0
            solid = np.maximum.accumulate(solid)
        self._made = np.maximum(solid - self._begin, 0)

    def settled_after(self, settled: Places) -> Places:
        """See `_Stage`."""
        found: Places = self._made[settled]
        return found

    def after(self, place: int, rest: str) -> tuple[int, str]:
        """See `_Stage`."""
        if self._strip.right:
            rest = rest.rstrip(self._strip.white_at_end)
        if not rest:
            return int(self._made[place]), ""
        if place > self._begin:
            return place - self._begin, rest
        return 0, rest.lstrip(self._strip.white) if self._strip.left else rest


class _PrependStage:
    """Puts something before a text.

    Args:
        step: what does so.
        text: what it gets.
    """

    def __init__(self, step: Prepend, text: str) -> None:
        self._text, self._step = text, step
        self.normalized = step.apply(text)
        self._added = len(self.normalized) - len(text)
        # So much of a text decides whether it gets it.
        self._seen = len(step.prefix) if isinstance(step, Lead) else 1

    def settled_after(self, settled: Places) -> Places:
        """See `_Stage`."""
        return np.where(settled < self._seen, 0, settled + self._added)

    def after(self, place: int, rest: str) -> tuple[int, str]:
        """See `_Stage`."""
        if place < self._seen:
            return 0, self._step.apply(self._text[:place] + rest)
        return place + self._added, rest


def _stages_of(steps: tuple[Step, ...]) -> tuple[Callable[[str], _Stage], Part | None]:
    """Return what takes a text for a part of the steps, and the part if it acts inside texts."""
    match steps[0]:
        case Strip() as strip:
            return partial(_StripStage, strip), None
        case Prepend() as prepend:
            return partial(_PrependStage, prepend), None
    part = Part(steps)
    return partial(_CutStage, part), part
