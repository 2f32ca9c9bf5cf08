"""The normal form of a text that grows, at its end or at its beginning.

Each part of the steps gets what the one before it has settled, settles most of that, and holds
the rest: the few characters on which those that come next may have an effect.
Proof: docs/words.md, "Growing texts".
"""

from dataclasses import dataclass, replace
from typing import Final, Protocol, Self

import numpy as np

from cutline.normalizing import Lead, Prepend, Step, Strip, normalize
from cutline.words.cuts import Part, cuts_under, parted

__all__ = ["GrowingForm"]

_NEAR: Final = 128  # characters


class _Growing(Protocol):
    """What a part of the steps has got, and made of it. It never changes.

    Attributes:
        held: what it has got, and made nothing of yet; or the end of it, see `skip`.
        rereads: whether it reads again what it holds.
    """

    @property
    def held(self) -> str: ...
    @property
    def rereads(self) -> bool: ...

    def grow(self, text: str, /) -> "tuple[str, _Growing]":
        """Take what comes next; return what is settled with it, and what it is then."""

    def ended(self, text: str, /) -> str:
        """Return what comes after all that is settled if the text ends with this."""


class GrowingForm:
    """What is settled of the normal form of a text, whatever comes next.

    Args:
        parts: of the steps.
    """

    def __init__(self, parts: tuple[_Growing, ...]) -> None:
        self._parts = parts

    @classmethod
    def of(cls, steps: tuple[Step, ...], *, at_end: bool) -> Self:
        """Return that of an empty text.

        Args:
            steps: all of a normalizer.
            at_end: whether it grows at its end, or else at its beginning.
        """
        return cls(tuple(_begun(part, at_end=at_end) for part in parted(steps)))

    @property
    def n_held(self) -> int:
        """How many characters it holds."""
        return sum(len(part.held) for part in self._parts)

    def grow(self, text: str) -> tuple[str, Self] | None:
        """Take what comes next; return what is settled with it, and what it is then.

        None: it would be most of the text that is held, and read again each time.
        """
        parts, n, made = list[_Growing](), len(text), text
        for part in self._parts:
            if made:
                made, part = part.grow(made)
            parts.append(part)
        old, new = (sum(len(one.held) for one in x if one.rereads) for x in (self._parts, parts))
        return None if 2 * new > old + n else (made, type(self)(tuple(parts)))

    def ended(self, text: str) -> str:
        """Return what comes after all that is settled if the text ends with this."""
        for part in self._parts:
            text = part.ended(text)
        return text


@dataclass(frozen=True, slots=True)
class _AtEnd:
    """A part that acts inside a text that grows at its end.

    Attributes:
        part: the steps.
        held: what it holds.
        skip: so much of what that becomes is settled already: it is the end of a long cluster.
    """

    part: Part
    held: str = ""
    skip: int = 0
    rereads = True

    def grow(self, text: str) -> tuple[str, "_AtEnd"]:
        """See `_Growing`."""
        part, text = self.part, self.held + text
        begin = self._late_cut(text)
        cuts = cuts_under(part, text[begin:])
        at = int(np.searchsorted(cuts.needs, len(text) - begin, side="right")) - 1
        place = begin + int(cuts.places[at])
        made = self._made_of(text[:place])
        if cuts.inside is not None and cuts.inside[at]:
            start = begin + int(cuts.places[:at][~cuts.inside[:at]][-1])
            return made, self._inside_cluster(text[start:])
        held = text[max(place, len(text) - part.enough) :]
        return made, replace(self, held=held[:1] + part.without_vanished(held[1:]), skip=0)

    def _late_cut(self, text: str) -> int:
        """Find a place, not far from the end, at which a text can be cut: 0 always is one."""
        if len(text) - _NEAR <= len(self.held):
            return 0
        places = range(len(text) - _NEAR, len(self.held), -1)
        return next((at for at in places if self.part.is_apart(text[at - 1], text[at])), 0)

    def _inside_cluster(self, cluster: str) -> "_AtEnd":
        """Go on inside a long cluster."""
        assert self.part.clusters is not None
        held = self.part.clusters.stand_in(cluster) or cluster
        return replace(self, held=held, skip=len(normalize(held, self.part.steps)))

    def ended(self, text: str) -> str:
        """See `_Growing`."""
        return self._made_of(self.held + text)

    def _made_of(self, text: str) -> str:
        return normalize(text, self.part.steps)[self.skip :]


@dataclass(frozen=True, slots=True)
class _AtBeginning:
    """A part that acts inside a text that grows at its beginning.

    Attributes:
        part: the steps.
        held: what it holds.
    """

    part: Part
    held: str = ""
    rereads = True

    def grow(self, text: str) -> tuple[str, "_AtBeginning"]:
        """See `_Growing`."""
        part, text = self.part, text + self.held
        places = range(1, len(text))
        place = next((at for at in places if part.is_apart(text[at - 1], text[at])), len(text))
        made, held = normalize(text[place:], part.steps), text[:place]
        if part.clusters is None:
            held = held[:1] + part.without_vanished(held[1 : part.enough])
        elif clusters := [*part.clusters.clusters(held)]:
            _, long, end = clusters[-1]
            if long < end == len(held):  # whatever it begins with, the rest is looked up apart
                made = normalize(part.clusters.apart(held[long:]), part.steps[1:]) + made
                held = held[:long]
        return made, replace(self, held=held)

    def ended(self, text: str) -> str:
        """See `_Growing`."""
        return normalize(text + self.held, self.part.steps)


@dataclass(frozen=True, slots=True)
class _Stripped:
    """What cuts white space off.

    Attributes:
        near: off the end that grows.
        far: off the other one, as long as nothing is settled.
        at_end: whether the text grows at its end.
        held: white space that is next to the end that grows.
    """

    near: Strip
    far: Strip
    at_end: bool
    held: str = ""
    rereads = False

    def grow(self, text: str) -> tuple[str, "_Stripped"]:
        """See `_Growing`."""
        text = text if self.held else self.far.apply(text)
        solid = self.near.apply(text)
        if not solid:
            return "", replace(self, held=self._next_to(self.held, text)) if text else self
        held = text[len(solid) :] if self.at_end else text[: len(text) - len(solid)]
        made = self._next_to(self.held, solid)
        return made, replace(self, held=held, far=Strip(False, False))

    def ended(self, text: str) -> str:
        """See `_Growing`."""
        solid = self.near.apply(text if self.held else self.far.apply(text))
        return self._next_to(self.held, solid) if solid else ""

    def _next_to(self, text: str, more: str) -> str:
        return text + more if self.at_end else more + text


@dataclass(frozen=True, slots=True)
class _Led:
    """What puts something before a text that grows at its end.

    Attributes:
        step: what does so.
        seen: so many characters decide whether it does.
        held: those that there are, if they are fewer.
        has_begun: there were as many.
    """

    step: Prepend
    seen: int
    held: str = ""
    has_begun: bool = False
    rereads = False

    def grow(self, text: str) -> tuple[str, "_Led"]:
        """See `_Growing`."""
        if self.has_begun:
            return text, self
        text = self.held + text
        if len(text) < self.seen:
            return "", replace(self, held=text)
        return self.step.apply(text), replace(self, held="", has_begun=True)

    def ended(self, text: str) -> str:
        """See `_Growing`."""
        return text if self.has_begun else self.step.apply(self.held + text)


@dataclass(frozen=True, slots=True)
class _LedAtBeginning:
    """What puts something before a text that grows at its beginning; see `_Led`."""

    step: Prepend
    seen: int
    held: str = ""
    rereads = False

    def grow(self, text: str) -> tuple[str, "_LedAtBeginning"]:
        """See `_Growing`."""
        text += self.held
        return text[self.seen :], replace(self, held=text[: self.seen])

    def ended(self, text: str) -> str:
        """See `_Growing`."""
        return self.step.apply(text + self.held)


def _begun(steps: tuple[Step, ...], *, at_end: bool) -> _Growing:
    """Return a part of the steps that has got nothing."""
    match steps[0]:
        case Strip(left=left, right=right) as step:
            first, last = type(step)(left, False), type(step)(False, right)
            near, far = (last, first) if at_end else (first, last)
            return _Stripped(near, far, at_end)
        case Prepend() as step:
            seen = len(step.prefix) if isinstance(step, Lead) else 1
            return _Led(step, seen) if at_end else _LedAtBeginning(step, seen)
    return _AtEnd(Part(steps)) if at_end else _AtBeginning(Part(steps))
