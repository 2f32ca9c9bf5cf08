"""Where a text can be cut to normalize it, step by step.

Source: docs/words.md, "Slices and cuts".
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutline.normalizing import (
    SPACE,
    Form,
    Prepend,
    Replace,
    Step,
    Strip,
    Unknown,
    normalize,
    of_each,
)
from cutline.words.beginnings import looks
from cutline.words.charsmap import CharsMap
from cutline.words.neighbours import marks_stay, vanishes_next
from cutline.words.precompiled import Precompiled
from cutline.words.steps import ByCharacter, Collapse, CollapseWhite

__all__ = ["Cuts", "Part", "Places", "cuts_under", "parted"]

_KNOWN: Final = 4096
_SHORT: Final = 64  # characters
_NEVER: Final = 1 << 60

Places = NDArray[np.int64]


class Part:
    """Steps that are taken as one, and what is known of them.

    Args:
        steps: one that looks at neighbours, with what comes after it, or others.

    Attributes:
        clusters: the first step, if it looks at grapheme clusters.
        enough: so many characters at either end of a run stand for all of it.
        lengths: of what becomes of a character alone.
        begins: whether a character is independent of what is before it.
    """

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self._apply_known: Callable[[str], str] = lru_cache(_KNOWN)(partial(normalize, steps=steps))
        self.clusters = steps[0] if isinstance(steps[0], Precompiled) else None
        self.lengths = _OfCharacters(lambda one: len(normalize(one, steps)))
        first = steps[0]
        self.enough = 2 if isinstance(first, Collapse | CollapseWhite | Unknown) else _NEVER
        begins = first.begins if isinstance(first, Form | CharsMap) else first.keeps
        self.begins = _OfCharacters(begins)

    def apply(self, text: str) -> str:
        """Apply the steps to a text, which is kept if it is short: long ones take memory."""
        return self._apply_known(text) if len(text) <= _SHORT else normalize(text, self.steps)

    def leaves(self, text: str) -> bool:
        """Return whether a text stays as it is, cut anywhere, whatever comes after it."""
        match self.steps:
            case (Replace(old=old),):
                return old[0] not in text
        return False

    def is_apart(self, before: str, character: str) -> bool:
        """Return whether a text can be cut between two characters, whatever is around them."""
        match self.steps[0]:
            case Precompiled() as step:
                return step.begins_between(before, character)
            case CharsMap() as step:
                return not step.joins(before, character)
            case Replace(old=old) if len(old) > 1:
                return before + character not in old
            case Collapse():
                return not before == character == " "
            case CollapseWhite():
                return before not in SPACE or character not in SPACE
            case Unknown(fuses=True) as step:
                return step.keeps(before) or step.keeps(character)
            case step if looks(step):
                return bool(self.begins[character])
        return True

    def without_vanished(self, text: str) -> str:
        """Return a text without marks that are sorted, and removed next: the rest is as it was."""
        match self.steps:
            case (Form() as form, ByCharacter() as removing, *_):
                return "".join(one for one in text if not vanishes_next(form, removing, one))
        return text


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


class Cuts(NamedTuple):
    """Places at which a text can be cut to normalize it.

    Attributes:
        places: from 0 to the text's length: what is before each becomes a beginning of what the
            whole text becomes.
        needs: of each place, up to where the text must be as it is, and may go on otherwise, so
            that the place is one still; never falling.
        inside: of each place, whether it is inside a long cluster.
    """

    places: Places
    needs: Places
    inside: NDArray[np.bool_] | None = None


def parted(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Begin a part with each step that looks at neighbours: what follows has the same cuts.

    So has the removal of accents, which is the better for knowing what decomposed them. What acts
    at the ends of texts is a part of its own.
    """
    begun: tuple[Step, ...] = ()
    for step in steps:
        if begun and (looks(step) or isinstance(begun[0], Prepend | Strip)):
            yield begun
            begun = ()
        begun += (step,)
    if begun:
        yield begun


def cuts_under(part: Part, text: str) -> Cuts:
    """Find the places for the first step, after which characters are changed alone."""
    match part.steps:
        case Precompiled() as step, *_:
            return _cuts_of_clusters(step, text)
        case CharsMap() as step, *_:
            is_cut, needs = step.cuts(text)
            return Cuts(np.flatnonzero(is_cut), needs[is_cut])
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
    return Cuts(places, places)


def _cuts_of_form(begins: NDArray[np.int64], *, is_apart: bool) -> Cuts:
    """Cut before what begins anew; anywhere if each character of the text is changed alone."""
    n = len(begins)
    needs = np.arange(1, n + 2)
    needs[:1], needs[n:] = 0, _NEVER if n else 0
    cut = np.append(begins, 1).astype(np.bool_)
    cut[0] = True
    if not is_apart:
        return Cuts(np.flatnonzero(cut), needs[cut])
    # What comes next may change what is before other places.
    needs[~cut] = _NEVER
    return Cuts(np.arange(n + 1), np.minimum.accumulate(needs[::-1])[::-1])


def _cuts_beside_matches(old: str, text: str) -> Cuts:
    """Cut anywhere but inside a match; where none ends, one may begin before, and end after."""
    needs = np.arange(len(text) + 1) + len(old) - 1
    are_inside = np.zeros(len(text) + 1, dtype=np.bool_)
    needs[0], start = 0, text.find(old)
    while start >= 0:
        end = start + len(old)
        are_inside[start + 1 : end], needs[end] = True, end
        start = text.find(old, end)
    places = np.flatnonzero(~are_inside)
    return Cuts(places, needs[places])


def _cuts_of_runs(are_in_runs: NDArray[np.bool_]) -> Cuts:
    """Cut anywhere but between two characters of a run: of each run two or more are as one."""
    needs = np.arange(len(are_in_runs) + 1)
    needs[1:] += are_in_runs
    cut = np.ones(len(needs), dtype=np.bool_)
    cut[1:-1] = ~(are_in_runs[1:] & are_in_runs[:-1])
    return Cuts(np.flatnonzero(cut), needs[cut])


def _cuts_of_clusters(step: Precompiled, text: str) -> Cuts:
    """Cut between grapheme clusters, and inside of those that are long already."""
    needs = np.arange(1, len(text) + 2)
    needs[0] = 0
    cut = np.ones(len(text) + 1, dtype=np.bool_)
    inside = np.zeros(len(text) + 1, dtype=np.bool_)
    for start, long, end in step.clusters(text):
        cut[start + 1 : min(long, end)] = False
        inside[long : end + (end == len(text))] = True
    needs[inside] -= 1
    return Cuts(np.flatnonzero(cut), needs[cut], inside[cut])
