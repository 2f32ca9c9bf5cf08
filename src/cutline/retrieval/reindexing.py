"""Re-indexing: which chunks of a changed text are stored already. Source: docs/re-indexing.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from cutline.chunks import Chunk
from cutline.errors import shown

__all__ = ["Plan", "plan"]

Stored: TypeAlias = "Chunk | Mapping[str, Any]"
Old = TypeVar("Old", bound=Stored)
New = TypeVar("New", bound=Stored)

_PLACES: Final = ("start_index", "end_index", "index")
_NONE: Final = -1


class Plan(NamedTuple, Generic[Old, New]):
    """What to do with stored chunks when their text has changed.

    Attributes:
        kept: pairs of an old chunk and the new one with the same content, in the new order.
        added: new chunks to embed, in order.
        removed: old chunks to delete, in order.
    """

    kept: list[tuple[Old, New]]
    added: list[New]
    removed: list[Old]

    @property
    def moved(self) -> list[tuple[Old, New]]:
        """The kept pairs that lie elsewhere now, whose offsets are to be updated.

        Compared are "start_index", "end_index" and "index", as far as both have them.
        """
        return [(old, new) for old, new in self.kept if _has_moved(old, new)]


def plan(old: Iterable[Old], new: Iterable[New]) -> Plan[Old, New]:
    """Compare the stored chunks of a text with its new chunks, by their content hashes.

    As many as possible are kept: of a content that occurs m times before and n times after,
    min(m, n). Which of equal chunks are paired is decided by their neighbours: those next to
    a pair first, the others in order.

    Args:
        old: what is stored, in the order of the text: chunks, or mappings that have
            "content_hash", such as rows of a database or of `cutline chunk`.
        new: the chunks of the new text, in order; the same types.

    Raises:
        TypeError: one is neither.
        ValueError: a mapping has no content hash.

    Cost: linear in the texts of the chunks; in the number of mappings.
    Source: docs/re-indexing.md.

    >>> import cutline
    >>> chunker = cutline.TextChunker("o200k_base", 8, stable=True)
    >>> stored = chunker("One fish, two fish. Red fish, blue fish.")
    >>> found = plan(stored, chunker("No fish. One fish, two fish. Red fish, blue fish."))
    >>> [chunk.text for chunk in found.added], [chunk.text for chunk in found.removed]
    (['No fish. '], [])
    >>> [(before.start_index, now.start_index) for before, now in found.moved]
    [(0, 9), (20, 29)]
    """
    for name, chunks in (("old", old), ("new", new)):
        if not isinstance(chunks, Iterable):
            raise TypeError(f"{name} must be chunks or mappings, got {type(chunks).__name__}")
    olds, news = list(old), list(new)
    partners = _partners(_hashes("old", olds), _hashes("new", news))
    taken = set(partners)
    return Plan(
        [(olds[at], one) for at, one in zip(partners, news, strict=True) if at != _NONE],
        [one for at, one in zip(partners, news, strict=True) if at == _NONE],
        [one for at, one in enumerate(olds) if at not in taken],
    )


def _hashes(name: str, chunks: Sequence[Stored]) -> list[str]:
    return [_hash(chunk, f"{name}[{at}]") for at, chunk in enumerate(chunks)]


def _hash(chunk: Stored, place: str) -> str:
    if isinstance(chunk, Chunk):
        return chunk.content_hash
    if not isinstance(chunk, Mapping):
        hint = ": pass its chunk" if hasattr(chunk, "chunk") else ""
        raise TypeError(f"{place} must be a Chunk or a mapping, got {type(chunk).__name__}{hint}")
    found = chunk.get("content_hash")
    if not isinstance(found, str):
        raise ValueError(
            f"{place} must have a str as 'content_hash', got {shown(found)}: store "
            "chunk.content_hash with each chunk"
        )
    return found


def _has_moved(old: Stored, new: Stored) -> bool:
    before, after = _places(old), _places(new)
    return any(before[name] != after[name] for name in before.keys() & after.keys())


def _places(chunk: Stored) -> dict[str, Any]:
    if isinstance(chunk, Chunk):
        return {name: getattr(chunk, name) for name in _PLACES}
    return {name: chunk[name] for name in _PLACES if name in chunk}


def _partners(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Return the place in `old` of each of `new`, or `_NONE`; each place at most once."""
    partners = [_NONE] * len(new)
    free = [True] * len(old)

    def pair(before: int, after: int) -> None:
        partners[after], free[before] = before, False

    def may_pair(before: int, after: int) -> bool:
        return free[before] and partners[after] == _NONE and old[before] == new[after]

    old_places, new_places = _places_of(old), _places_of(new)
    for content, (first, *more) in new_places.items():
        if not more and len(old_places[content]) == 1:
            pair(old_places[content][0], first)
    # What is equal beside a pair, or at the same end of the text, belongs together.
    if old and new and may_pair(0, 0):
        pair(0, 0)
    for here, following in pairwise(range(len(new))):
        before = partners[here] + 1
        if 0 < before < len(old) and may_pair(before, following):
            pair(before, following)
    if old and new and may_pair(len(old) - 1, len(new) - 1):
        pair(len(old) - 1, len(new) - 1)
    for here, following in pairwise(reversed(range(len(new)))):
        before = partners[here] - 1
        if before >= 0 and may_pair(before, following):
            pair(before, following)
    for content, afters in new_places.items():
        left = (place for place in old_places[content] if free[place])
        rest = (place for place in afters if partners[place] == _NONE)
        for before, after in zip([*left], rest, strict=False):
            pair(before, after)
    return partners


def _places_of(hashes: Sequence[str]) -> defaultdict[str, list[int]]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, content in enumerate(hashes):
        places[content].append(place)
    return places
