"""Characters before which a text can be cut to normalize it. Source: docs/words.md."""

from functools import cache

from cutline.normalizing import Form, Replace, Step
from cutline.words.characters import chars_of
from cutline.words.precompiled import Precompiled

__all__ = ["BeginsAnew"]


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

    def at(self, text: str, place: int) -> bool:
        """Return whether the character at a place, which is not 0, begins anew there."""
        if self._pairs and text[place - 1 : place + 1] not in self._pairs:
            return True
        return self[text[place]] and not (self.clusters_first and text[place - 1] in _prepends())

    def __missing__(self, character: str) -> bool:
        value = self[character] = self._decide(character)
        return value

    def _decide(self, text: str) -> bool:
        for place, step in enumerate(self._steps):
            if self._looking[place] and not self._begins(place, text[0]):
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
            case Precompiled() if place == self._last == 0:
                return Precompiled.begins(character)
        return step.keeps(character)


@cache
def _prepends() -> frozenset[str]:
    ranges = chars_of("prepends").ranges()
    return frozenset(chr(at) for start, end in ranges for at in range(start, end))
