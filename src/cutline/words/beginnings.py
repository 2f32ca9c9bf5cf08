"""Characters before which a text can be cut to normalize it. Source: docs/words.md."""

from collections.abc import Iterable
from functools import cache

from cutline.normalizing import Form, Lower, Prepend, Replace, Spell, Step, Strip, Unknown
from cutline.words.characters import chars_of
from cutline.words.charsmap import CharsMap
from cutline.words.precompiled import Precompiled
from cutline.words.steps import ByCharacter, ByteLetters, ReplaceEach

__all__ = ["BeginsAnew", "looks"]


class BeginsAnew(dict[str, bool]):
    """Of each character, whether it begins anew, if it is not after a Prepend.

    Args:
        steps: what changes characters.
        looking: for each whether it looks at neighbours.
    """

    def __init__(self, steps: tuple[Step, ...], looking: list[bool]) -> None:
        super().__init__()
        self._steps, self._looking = steps, looking
        self._last = max((at for at, looks in enumerate(looking) if looks), default=-1)
        # Two characters that what is replaced has side by side, if nothing else is done.
        self._pairs = set[str]()
        match steps:
            case (Replace(old=old, new=new),) if new:
                self._pairs = {old[at : at + 2] for at in range(len(old) - 1)}
        self.clusters_first = bool(steps) and isinstance(steps[0], Precompiled)
        self._following = dict[str, bool]()

    @classmethod
    def inside(cls, steps: Iterable[Step]) -> "BeginsAnew":
        """Return it for a normalizer, of which all act inside a text but Prepend and Strip."""
        changing = tuple(step for step in steps if not isinstance(step, Prepend | Strip))
        return cls(changing, [*map(looks, changing)])

    def at(self, text: str, place: int) -> bool:
        """Return whether the character at a place, which is not 0, begins anew there."""
        before, character = text[place - 1], text[place]
        if self._pairs and before + character not in self._pairs:
            return True
        if self[character]:
            return not (self.clusters_first and before in _prepends())
        return self._may_follow(character) and Precompiled.begins_after(before, character)

    def places(self, text: str) -> list[int]:
        """Return all places, 0 apart, of characters of a text that begin anew."""
        present = set(text)
        looks = self._pairs or (
            self.clusters_first
            and not (present.isdisjoint(_prepends()) and not any(map(self._may_follow, present)))
        )
        if looks:
            return [at for at in range(1, len(text)) if self.at(text, at)]
        beginning = {character for character in present if self[character]}
        if not beginning:
            return []
        return [at for at, character in enumerate(text) if character in beginning and at]

    def _may_follow(self, character: str) -> bool:
        """Return whether a character that does not begin anew does so after some other one."""
        if not self.clusters_first:
            return False
        if character not in self._following:
            self._following[character] = not self[character] and self._decide(character, start=1)
        return self._following[character]

    def __missing__(self, character: str) -> bool:
        value = self[character] = self._decide(character)
        return value

    def _decide(self, text: str, start: int = 0) -> bool:
        """Decide for a character; where its place in clusters is known, from step 1 on."""
        if start and self._last:  # the map must be the last one that looks
            return False
        for place, step in enumerate(self._steps):
            if self._looking[place] and place >= start and not self._begins(place, text[0]):
                return False
            text = step.apply(text)
            if not text:
                return False
        return True

    def _begins(self, place: int, character: str) -> bool:
        """Decide for a step that looks at neighbours.

        Unless it is the last such step, the one after the character must not change what it begins
        with.
        """
        match step := self._steps[place]:
            case Form(name="NFD" | "NFKD"):
                return step.begins(character)
            case Form():
                return place == self._last and step.begins(character)
            case CharsMap():
                is_last = place == self._last
                return step.begins(character) and (is_last or not step.goes_on(character))
            case Precompiled() if place == self._last == 0:
                return Precompiled.begins(character)
        return step.keeps(character)


@cache
def _prepends() -> frozenset[str]:
    ranges = chars_of("prepends").ranges()
    return frozenset(chr(at) for start, end in ranges for at in range(start, end))


def looks(step: Step) -> bool:
    """Return whether what a step makes of a character may depend on its neighbours."""
    match step:
        case Replace(old=old):
            return len(old) != 1
        case Unknown(fuses=fuses):
            return fuses
    return not isinstance(step, ByCharacter | ByteLetters | Lower | ReplaceEach | Spell)
