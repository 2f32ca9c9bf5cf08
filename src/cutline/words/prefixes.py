"""What the prefixes of a text are normalized to. Source: docs/words.md, "Slices and cuts".

Most of what a prefix becomes is a beginning of what the whole text becomes. The steps follow one
another, and each adds at most a few characters that only this prefix has.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cutline.normalizing import (
    SPACE,
    Form,
    Lead,
    Prepend,
    Replace,
    Step,
    Strip,
    Unknown,
    normalize,
    of_each,
)
from cutline.words.beginnings import looks
from cutline.words.neighbours import marks_stay
from cutline.words.precompiled import Precompiled
from cutline.words.steps import ByCharacter, Collapse, CollapseWhite

__all__ = ["PrefixMaker", "Prefixes"]

_KNOWN: Final = 4096
_SHORT: Final = 64  # characters
_NEVER: Final = 1 << 60

Places = NDArray[np.int64]


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
        self._parts = [_at_ends(part[0]) or _Part(part) for part in _parted(steps)]

    def __call__(self, text: str) -> Prefixes:
        """Make it for a text. Cost: linear."""
        stages, normalized = list[_Stage](), text
        for part in self._parts:
            if not stages and part.leaves(text):
                continue
            stage = part.stage(normalized)
            stages.append(stage)
            normalized = stage.normalized
        return Prefixes(stages, len(text), normalized)


class _Part:
    """Steps that are taken as one, and what is known of them.

    Args:
        steps: one that looks at neighbours, with what comes after it, or others.
    """

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self._apply_known: Callable[[str], str] = lru_cache(_KNOWN)(partial(normalize, steps=steps))
        self.clusters = steps[0] if isinstance(steps[0], Precompiled) else None
        self.lengths = _OfCharacters(lambda one: len(normalize(one, steps)))
        first = steps[0]
        self.begins = _OfCharacters(first.begins if isinstance(first, Form) else first.keeps)

    def apply(self, text: str) -> str:
        """Apply the steps to a text, which is kept if it is short: long ones take memory."""
        return self._apply_known(text) if len(text) <= _SHORT else normalize(text, self.steps)

    def leaves(self, text: str) -> bool:
        """Return whether a text stays as it is, cut anywhere, whatever comes after it."""
        match self.steps:
            case (Replace(old=old),):
                return old[0] not in text
        return False

    def stage(self, text: str) -> "_Stage":
        """Take a text."""
        return _CutStage(self, text)


class _OfCharacters(dict[str, int]):
    """Remembers a value for each character."""

    def __init__(self, value_of: Callable[[str], int]) -> None:
        super().__init__()
        self._value_of = value_of

    def __missing__(self, character: str) -> int:
        if len(self) >= _KNOWN:
            self.clear()
        value = self[character] = self._value_of(character)
        return value

    def of(self, text: str) -> NDArray[np.int64]:
        """Return the value of each character of a text."""
        return np.fromiter(map(self.__getitem__, text), dtype=np.int64, count=len(text))


class _Cuts(NamedTuple):
    """Places at which a text can be cut to normalize it.

    Attributes:
        places: from 0 to the text's length: what is before each becomes a beginning of what the
            whole text becomes.
        needs: of each place, up to where the text must be as it is, and may go on otherwise, so
            that the place is one still; never falling.
        inside: of each place, whether it is inside a long cluster.
        enough: so many characters before any place stand for all of those from a cut on.
    """

    places: Places
    needs: Places
    inside: NDArray[np.bool_] | None = None
    enough: int = _NEVER


class _CutStage:
    """Cuts what one part of the steps gets.

    Args:
        part: the part.
        text: what it gets.
    """

    def __init__(self, part: _Part, text: str) -> None:
        self._part, self._text = part, text
        cuts = _cuts_under(part, text)
        self._places, self._needs = cuts.places.tolist(), cuts.needs
        self._inside = None if cuts.inside is None else cuts.inside.tolist()
        self._enough = cuts.enough
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


class _AtEnds:
    """A step that acts at the ends of texts alone.

    Args:
        stage: takes a text.
    """

    def __init__(self, stage: Callable[[str], _Stage]) -> None:
        self.stage = stage

    def leaves(self, _text: str) -> bool:
        """See `_Part.leaves`."""
        return False


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
            solid[1:][of_each(text, step.white.__contains__, np.bool_)] = 0
            solid = np.maximum.accumulate(solid)
        self._made = np.maximum(solid - self._begin, 0)

    def settled_after(self, settled: Places) -> Places:
        """See `_Stage`."""
        found: Places = self._made[settled]
        return found

    def after(self, place: int, rest: str) -> tuple[int, str]:
        """See `_Stage`."""
        if self._strip.right:
            rest = rest.rstrip(self._strip.white)
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


def _at_ends(step: Step) -> _AtEnds | None:
    """Return a step that acts at the ends of texts; None: it acts inside."""
    match step:
        case Strip():
            return _AtEnds(partial(_StripStage, step))
        case Prepend():
            return _AtEnds(partial(_PrependStage, step))
    return None


def _parted(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Begin a part with each step that looks at neighbours: what follows has the same cuts.

    So has the removal of accents, which is the better for knowing what decomposed them. What acts
    at the ends of texts is a part of its own.
    """
    begun: tuple[Step, ...] = ()
    for step in steps:
        if begun and (looks(step) or _at_ends(begun[0])):
            yield begun
            begun = ()
        begun += (step,)
    if begun:
        yield begun


def _cuts_under(part: _Part, text: str) -> _Cuts:
    """Find the places for the first step, after which characters are changed alone."""
    match part.steps:
        case Precompiled() as step, *_:
            return _cuts_of_clusters(step, text)
        case Replace(old=old), *_ if len(old) > 1:
            return _cuts_beside_matches(old, text)
        case Collapse(), *_:
            return _cuts_of_runs(of_each(text, " ".__eq__, np.bool_))
        case CollapseWhite(), *_:
            return _cuts_of_runs(of_each(text, SPACE.__contains__, np.bool_))
        case Unknown(fuses=True) as step, *_:
            return _cuts_of_runs(~of_each(text, step.keeps, np.bool_))
        case (
            Form(name="NFD" | "NFKD") as step,
            ByCharacter(kind="bert accents" | "accents" as kind),
            *_,
        ):
            return _cuts_of_form(part.begins.of(text), is_apart=marks_stay(step, kind, text))
        case Form() as step, *_:
            return _cuts_of_form(part.begins.of(text), is_apart=step.keeps_slices(text))
        case first, *_ if looks(first):
            return _cuts_of_form(part.begins.of(text), is_apart=False)
    places = np.arange(len(text) + 1)
    return _Cuts(places, places)


def _cuts_of_form(begins: NDArray[np.int64], *, is_apart: bool) -> _Cuts:
    """Cut before what begins anew; anywhere if each character of the text is changed alone."""
    n = len(begins)
    needs = np.arange(1, n + 2)
    needs[:1], needs[n:] = 0, _NEVER if n else 0
    cut = np.append(begins, 1).astype(np.bool_)
    cut[0] = True
    if not is_apart:
        return _Cuts(np.flatnonzero(cut), needs[cut])
    # What comes next may change what is before other places.
    needs[~cut] = _NEVER
    return _Cuts(np.arange(n + 1), np.minimum.accumulate(needs[::-1])[::-1])


def _cuts_beside_matches(old: str, text: str) -> _Cuts:
    """Cut anywhere but inside a match; where none ends, one may begin before, and end after."""
    needs = np.arange(len(text) + 1) + len(old) - 1
    are_inside = np.zeros(len(text) + 1, dtype=np.bool_)
    needs[0], start = 0, text.find(old)
    while start >= 0:
        end = start + len(old)
        are_inside[start + 1 : end], needs[end] = True, end
        start = text.find(old, end)
    places = np.flatnonzero(~are_inside)
    return _Cuts(places, needs[places])


def _cuts_of_runs(are_in_runs: NDArray[np.bool_]) -> _Cuts:
    """Cut anywhere but between two characters of a run: of each run two or more are as one."""
    needs = np.arange(len(are_in_runs) + 1)
    needs[1:] += are_in_runs
    cut = np.ones(len(needs), dtype=np.bool_)
    cut[1:-1] = ~(are_in_runs[1:] & are_in_runs[:-1])
    return _Cuts(np.flatnonzero(cut), needs[cut], enough=2)


def _cuts_of_clusters(step: Precompiled, text: str) -> _Cuts:
    """Cut between grapheme clusters, and inside of those that are long already."""
    needs = np.arange(1, len(text) + 2)
    needs[0] = 0
    cut = np.ones(len(text) + 1, dtype=np.bool_)
    inside = np.zeros(len(text) + 1, dtype=np.bool_)
    for start, long, end in step.clusters(text):
        cut[start + 1 : min(long, end)] = False
        inside[long : end + (end == len(text))] = True
    needs[inside] -= 1
    return _Cuts(np.flatnonzero(cut), needs[cut], inside[cut])
