"""The items in their order, what stands between those that are placed, and the joined text."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from cutline.checks import need_several
from cutline.packing.items import Group, Item, PackedItem, item_of

__all__ = ["CONTEXT", "Around", "Entry", "Layout"]

CONTEXT: Final = 128
"""The cost of joining a text with its neighbours is counted on this many of their characters."""


class Entry(NamedTuple):
    """An item, the group it is in, and the number of this part among those given."""

    item: Item
    part: int
    group: Group | None


class Around(NamedTuple):
    """What stands next to a place: with an item there, before and after it; and without one."""

    before: str
    after: str
    apart: str


class Layout:
    """The items and groups, and those items that are placed so far.

    Args:
        given: as of `pack`.
        separator: as of `pack`.

    Attributes:
        entries: the items, in their order.
        groups: the groups by their part.
        separator: as given.
        placed: the placed ones by place.
    """

    def __init__(self, given: Iterable[str | Item | Group], separator: str | None) -> None:
        need_several(given, "items")
        self.separator = separator
        self.entries: list[Entry] = []
        self.groups: dict[int, Group] = {}
        for part, one in enumerate(given):
            if isinstance(one, Group):
                self.groups[part] = one
                self.entries += (Entry(item, part, one) for item in one.items)
            else:
                self.entries.append(Entry(item_of(one), part, None))
        self.clear()

    def clear(self) -> None:
        """Remove all that is placed."""
        self.placed: dict[int, PackedItem] = {}
        self._places: list[int] = []  # sorted

    def order(self) -> list[int]:
        """Return the places in the order in which they are tried."""

        def rank(place: int) -> tuple[bool, bool, float, int, int]:
            item, part, group = self.entries[place]
            within = -place if group is not None and group.fill == "newest" else place
            may_be_cut = item.required and item.min_tokens is not None
            return not item.required, may_be_cut, -item.priority, part, within

        return sorted(range(len(self.entries)), key=rank)

    def name(self, place: int) -> str:
        """Return an item's name, for messages."""
        _, part, group = self.entries[place]
        if group is None:
            return f"item {part}"
        first = next(at for at, entry in enumerate(self.entries) if entry.part == part)
        return f"item {place - first} of the group at {part}"

    def place(self, place: int, item: PackedItem) -> None:
        """Place an item."""
        self._places.insert(bisect_left(self._places, place), place)
        self.placed[place] = item

    def is_begun(self, place: int) -> bool:
        """Return whether another item of the same part is placed."""
        at = bisect_left(self._places, place)
        return self._neighbour(at - 1, place, True) is not None or (
            self._neighbour(at, place, True) is not None
        )

    def around(self, place: int, *, alone: bool) -> Around:
        """Return the text next to a place, up to some CONTEXT characters and a separator.

        Args:
            place: where nothing is placed.
            alone: only the text of its part.
        """
        alone = alone or self.separator is None
        at = bisect_left(self._places, place)
        before, after = self._neighbour(at - 1, place, alone), self._neighbour(at, place, alone)
        left, right = self._left_of(at, place, alone), self._right_of(at, place, alone)
        return Around(
            left + self._between(before, place),
            self._between(place, after) + right,
            left + self._between(before, after) + right,
        )

    def _neighbour(self, at: int, place: int, alone: bool) -> int | None:
        if not 0 <= at < len(self._places):
            return None
        found = self._places[at]
        return None if alone and self.entries[found].part != self.entries[place].part else found

    def _between(self, left: int | None, right: int | None) -> str:
        """Return what stands between two placed neighbours; None is an end of the text."""
        if not self.groups:
            return "" if left is None or right is None else self.separator or ""
        of_left, of_right = (
            None if place is None else self.entries[place] for place in (left, right)
        )
        if of_left is not None and of_right is not None and of_left.part == of_right.part:
            assert of_left.group is not None
            return of_left.group.separator
        after = of_left.group.after if of_left is not None and of_left.group is not None else ""
        before = (
            of_right.group.before if of_right is not None and of_right.group is not None else ""
        )
        separator = self.separator if of_left is not None and of_right is not None else ""
        return after + (separator or "") + before

    def _left_of(self, at: int, place: int, alone: bool) -> str:
        """Return the end of the placed text before."""
        texts: list[str] = []
        length = 0
        here = self._neighbour(at - 1, place, alone)
        while here is not None and length < CONTEXT:
            text = self.placed[here].text
            if len(text) > CONTEXT:
                texts.append(text[-CONTEXT:])
                break
            at -= 1
            further = self._neighbour(at - 1, place, alone)
            texts += text, self._between(further, here)
            length += len(text) + len(texts[-1])
            here = further
        return "".join(reversed(texts))

    def _right_of(self, at: int, place: int, alone: bool) -> str:
        """Return the beginning of the placed text after."""
        texts: list[str] = []
        length = 0
        here = self._neighbour(at, place, alone)
        while here is not None and length < CONTEXT:
            text = self.placed[here].text
            if len(text) > CONTEXT:
                texts.append(text[:CONTEXT])
                break
            at += 1
            further = self._neighbour(at, place, alone)
            texts += text, self._between(here, further)
            length += len(text) + len(texts[-1])
            here = further
        return "".join(texts)

    def joined(self) -> tuple[str, dict[int, tuple[int, int]]]:
        """Join what is placed; `placed` gets offsets.

        Returns:
            The text, and the span of each part with something placed, with its frame.
        """
        texts: list[str] = []
        spans: dict[int, tuple[int, int]] = {}
        end = 0
        for at, place in enumerate(self._places):
            _, part, group = self.entries[place]
            before = self._neighbour(at - 1, place, False)
            is_first = before is None or self.entries[before].part != part
            texts.append(self._between(before, place))
            start = end + len(texts[-1])
            end = start + len(self.placed[place].text)
            self.placed[place] = replace(self.placed[place], start_index=start, end_index=end)
            texts.append(self.placed[place].text)
            framed = (group.before, group.after) if group is not None else ("", "")
            first = start - len(framed[0]) if is_first else spans[part][0]
            spans[part] = first, end + len(framed[1])
        if self._places:
            texts.append(self._between(self._places[-1], None))
        return "".join(texts), spans
