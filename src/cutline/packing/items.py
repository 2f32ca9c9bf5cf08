"""What `pack` takes and returns: items, groups of them, and what became of each."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from cutline.checks import (
    checked_flag,
    checked_integer,
    checked_order,
    hint_for,
    need_several,
    plain_text,
)
from cutline.counting.truncating import Keep, check_options
from cutline.errors import shown

__all__ = ["Fill", "Group", "Item", "Packed", "PackedGroup", "PackedItem", "Status", "item_of"]

Status = Literal["whole", "truncated", "dropped"]
Fill = Literal["priority", "newest", "oldest"]


@dataclass(frozen=True, slots=True)
class Item:
    """A text to place within a budget.

    Attributes:
        text: the text.
        priority: items of higher priority are placed first; of equal ones, the earlier.
        min_tokens: the fewest tokens it may be truncated to, marker included; otherwise it is
            dropped. None: it is never truncated.
        overhead_tokens: its cost besides its text, such as the template of a chat message.
        keep: which part to keep if it is truncated: "start", "end" or "both".
        required: it is placed before all that are not, whatever their priority, and that it
            does not fit is an error.
    """

    text: str
    priority: float = 0
    min_tokens: int | None = None
    overhead_tokens: int = 0
    keep: Keep = "start"
    required: bool = False

    def __post_init__(self) -> None:
        plain_text(self.text)
        check_options(0, self.keep, "", "character")
        checked_order(self.priority, "priority")
        if self.min_tokens is not None and checked_integer(self.min_tokens, "min_tokens") < 0:
            raise ValueError(f"min_tokens must be 0 or more, or None, got {self.min_tokens}")
        _check_overhead(self.overhead_tokens)
        checked_flag(self.required, "required")


@dataclass(frozen=True, slots=True)
class Group:
    r"""Items that stand together, such as the passages in one message.

    Attributes:
        items: texts, or objects of `Item`; kept as a tuple of the latter.
        max_tokens: a budget of their own, for the group's text with its frame, counted on its
            own, and for its overheads. None: there is only that of `pack`.
        separator: text between two of them.
        before: text before the first of them that is placed; none if none is placed.
        after: text after the last of them that is placed; the same.
        overhead_tokens: the group's cost besides its text and its items' overheads, if any item
            is placed.
        fill: among items of the group of equal priority, which are placed first. "priority":
            the earlier. "newest": the last, and after the first that is not placed whole no
            further one, so that there are no holes. "oldest": the same from the first on.

    >>> from cutline import Group, pack
    >>> history = Group(["a long, old question", "Hello?", "Yes?"], separator="\n", fill="newest")
    >>> pack(["Be brief.", history], 9).text
    'Be brief.\n\nHello?\nYes?'
    """

    items: tuple[Item, ...]
    max_tokens: int | None = None
    separator: str = "\n\n"
    before: str = ""
    after: str = ""
    overhead_tokens: int = 0
    fill: Fill = "priority"

    def __init__(
        self,
        items: Iterable[str | Item],
        max_tokens: int | None = None,
        *,
        separator: str = "\n\n",
        before: str = "",
        after: str = "",
        overhead_tokens: int = 0,
        fill: Fill = "priority",
    ) -> None:
        need_several(items, "items")
        if max_tokens is not None:
            check_options(max_tokens, "start", "", "character")
        if fill not in ("priority", "newest", "oldest"):
            raise ValueError(f"fill must be 'priority', 'newest' or 'oldest', got {shown(fill)}")
        _check_overhead(overhead_tokens)
        for name, value in (
            ("items", tuple(map(item_of, items))),
            ("max_tokens", max_tokens),
            ("separator", plain_text(separator, "separator")),
            ("before", plain_text(before, "before")),
            ("after", plain_text(after, "after")),
            ("overhead_tokens", overhead_tokens),
            ("fill", fill),
        ):
            object.__setattr__(self, name, value)


def item_of(one: str | Item) -> Item:
    """Return an item, given as one or as its text.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(one, Item):
        return one
    if isinstance(one, str):
        return Item(one)
    hint = ": pass its text" if hasattr(one, "text") else hint_for(one)
    raise TypeError(f"items must be texts or Items, got {type(one).__name__}{hint}")


def _check_overhead(tokens: int) -> None:
    if checked_integer(tokens, "overhead_tokens") < 0:
        raise ValueError(f"overhead_tokens must be 0 or more, got {shown(tokens)}")


@dataclass(frozen=True, slots=True)
class PackedItem:
    """The outcome for one item: whole, truncated or dropped.

    Attributes:
        item: the item.
        status: "whole", "truncated" or "dropped".
        text: the placed text, with the marker if it was truncated.
        token_count: the tokens of `text` on its own, without the item's overhead.
        start_index: the start of `text` in the packed text, in code points.
        end_index: its end. Both are None for a dropped item.
        kept: the half-open spans of the item's own text that were placed.
    """

    item: Item
    status: Status
    text: str = ""
    token_count: int = 0
    start_index: int | None = None
    end_index: int | None = None
    kept: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PackedGroup:
    """The outcome for one group.

    Attributes:
        group: the group.
        text: its items that were placed, joined, in its frame; "" if none was.
        token_count: the tokens of `text` on its own.
        overhead_tokens: its overhead, and those of its items that were placed.
        start_index: the start of `text` in the packed text, in code points.
        end_index: its end. Both are None if nothing was placed.
    """

    group: Group
    text: str = ""
    token_count: int = 0
    overhead_tokens: int = 0
    start_index: int | None = None
    end_index: int | None = None


@dataclass(frozen=True, slots=True)
class Packed:
    """A text within its budget, and the outcome for each item.

    Attributes:
        text: the placed texts with the separators and frames.
        items: one for each given item, in the same order; those of a group in its place.
        groups: one for each given group, in the same order.
        token_count: the tokens of `text`, counted as one text; with separator=None, the sum of
            the placed texts' and groups' own.
        overhead_tokens: the overheads of the items that were placed, and of their groups.
        max_tokens: the budget.
    """

    text: str
    items: tuple[PackedItem, ...]
    groups: tuple[PackedGroup, ...]
    token_count: int
    overhead_tokens: int
    max_tokens: int

    @property
    def total_tokens(self) -> int:
        """The tokens of the text and the overheads together, at most `max_tokens`."""
        return self.token_count + self.overhead_tokens

    @property
    def tokens_left(self) -> int:
        """What is left of the budget."""
        return self.max_tokens - self.total_tokens

    def report(self) -> str:
        """Return a report: a line for each item, and a line with the totals."""
        lines = [
            f"{place:>5}  {one.status:<9}  {one.token_count + one.item.overhead_tokens:>8} tokens"
            if one.status != "dropped"
            else f"{place:>5}  {one.status}"
            for place, one in enumerate(self.items)
        ]
        total = f"{self.total_tokens} of {self.max_tokens} tokens, {self.tokens_left} left"
        return "\n".join([*lines, total])
