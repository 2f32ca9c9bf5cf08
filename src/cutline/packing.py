"""Prompts that fit: `truncate` cuts a text to a token budget, `pack` joins many texts within one.

docs/budgets.md says what they promise and how to check it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import ge, index, sub
from typing import Literal, TypeAlias

from cutline.checks import plain_text
from cutline.counting import truncating
from cutline.counting.limits import AlsoFits, Limit, further_limits
from cutline.counting.truncating import Boundary, Keep, check_options
from cutline.protocols import TokenCounter
from cutline.registry import token_counter_of

__all__ = ["Boundary", "Item", "Keep", "Packed", "PackedItem", "pack", "truncate"]

# The cost of joining a text with its neighbours is counted on this many of their characters.
_CONTEXT = 128

Numbers: TypeAlias = list[int]  # one for each limit
Status = Literal["whole", "truncated", "dropped"]


def truncate(
    text: str,
    max_tokens: int,
    keep: Keep = "start",
    marker: str = "…",
    *,
    encoding: TokenCounter | str = "o200k_base",
    boundary: Boundary = "character",
    also_fits: AlsoFits = None,
) -> str:
    """Cut a text to a token budget, and mark where text is missing.

    A text that fits is returned unchanged. Otherwise the result, marker included and counted as
    one text, has at most `max_tokens` tokens, and is as long as possible: no result with up to
    64 more characters fits. Without a marker, a start is the longest of all. With "both", one
    more character of the end would not fit.

    Args:
        text: the text; special-token text in it is ordinary text.
        max_tokens: the budget, 0 or more.
        keep: the "start" of the text, its "end", or "both", with about as many tokens each.
        marker: replaces the removed text; may be empty.
        encoding: an `Encoding`, its name, or a wrapped tokenizer.
        boundary: cut only between "character"s (code points), "grapheme"s (user-perceived
            characters) or "word"s, by the default rules of Unicode; a cut between words leaves
            no white space at the marker. If no boundary within 4,096 characters leaves any
            text, the next finer kind is used.
        also_fits: further limits that the result fits at once: maximum numbers of tokens by
            encoding, name or wrapped tokenizer, and of "characters" or "bytes".

    Raises:
        BudgetError: (a ValueError) text must be cut, and the marker alone is over a budget.
        ValueError: max_tokens is negative, or `keep` or `boundary` none of the above.
        SurrogateError: (a ValueError) text must be cut where it has surrogate code points.
        UnsupportedPatternError: (a ValueError) text must be cut, and the encoding's split
            pattern runs on the `regex` module.

    Cost: linear in the kept text, not in the whole text; see docs/budgets.md.
    Source: docs/budgets.md, "Truncating".

    >>> truncate("The quick brown fox jumps over the lazy dog.", 6)
    'The quick brown fox jumps …'
    >>> truncate("The quick brown fox jumps over the lazy dog.", 6, "both", boundary="word")
    'The quick brown…dog.'
    >>> truncate("The quick brown fox jumps over the lazy dog.", 6, also_fits={"bytes": 20})
    'The quick brown f…'
    """
    counting, others = token_counter_of(encoding), further_limits(also_fits)
    return truncating.truncate(counting, text, max_tokens, keep, marker, boundary, others).text


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
    """

    text: str
    priority: float = 0
    min_tokens: int | None = None
    overhead_tokens: int = 0
    keep: Keep = "start"

    def __post_init__(self) -> None:
        plain_text(self.text)
        check_options(0, self.keep, "", "character")
        if self.min_tokens is not None and self.min_tokens < 0:
            raise ValueError(f"min_tokens must be 0 or more, or None, got {self.min_tokens}")
        if self.overhead_tokens < 0:
            raise ValueError(f"overhead_tokens must be 0 or more, got {self.overhead_tokens}")


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
class Packed:
    """A text within its budget, and the outcome for each item.

    Attributes:
        text: the placed texts with the separator between them.
        items: one for each given item, in the same order.
        token_count: the tokens of `text`, counted as one text; with separator=None, the sum of
            the placed texts' own.
        overhead_tokens: the overheads of the items that were placed.
        max_tokens: the budget.
    """

    text: str
    items: tuple[PackedItem, ...]
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


def pack(
    items: Iterable[str | Item],
    max_tokens: int,
    *,
    encoding: TokenCounter | str = "o200k_base",
    separator: str | None = "\n\n",
    marker: str = "…",
    boundary: Boundary = "character",
    also_fits: AlsoFits = None,
) -> Packed:
    r"""Join as many texts as fit a token budget, the most important ones first.

    Items are placed by priority, highest first, and keep their order. An item that fits is
    placed whole; one that does not is truncated to what is left of the budget, if its
    `min_tokens` allows that, and dropped otherwise. The next item gets what is left then.

    The budget holds for the joined text, counted as one text, plus the overheads of the placed
    items: this count is checked at the end, and nothing over budget is returned.

    Args:
        items: texts or `Item`s; a str is `Item(text)`, which is never truncated.
        max_tokens: the budget, 0 or more.
        encoding: an `Encoding`, its name, or a wrapped tokenizer.
        separator: text between two placed texts. None: there is none, and each text is counted
            on its own, which is correct if special tokens separate them.
        marker: replaces the removed text; see `truncate`.
        boundary: where texts may be cut; see `truncate`.
        also_fits: further limits that the joined text fits at once, without overheads; see
            `truncate`.

    Raises:
        ValueError: max_tokens is negative, or boundary is unknown.
        SurrogateError, UnsupportedPatternError: (ValueErrors) as `truncate`, for an item that
            is truncated.

    Cost: linear in the texts' lengths, plus some tens of microseconds per item.
    Source: docs/budgets.md, "Packing".

    >>> notes = Item("A long note that may be cut to its start.", min_tokens=4, overhead_tokens=2)
    >>> packed = pack(["Be brief.", notes, Item("What is new?", priority=1)], 16)
    >>> packed.text
    'Be brief.\n\nA long note that may be …\n\nWhat is new?'
    >>> [item.status for item in packed.items], packed.total_tokens
    (['whole', 'truncated', 'whole'], 16)
    """
    counting, max_tokens = token_counter_of(encoding), index(max_tokens)
    marker = check_options(max_tokens, "start", marker, boundary)
    limits = (Limit(counting, max_tokens), *further_limits(also_fits))
    given = [one if isinstance(one, Item) else Item(one) for one in items]
    if separator is not None:
        separator = plain_text(separator)
    by_priority = sorted(range(len(given)), key=lambda place: (-given[place].priority, place))
    counts: dict[int, Numbers] = {}
    less = [0] * len(limits)
    while True:
        rooms = [limit.most - spared for limit, spared in zip(limits, less, strict=True)]
        room = _Room(counting, limits, separator, rooms, counts)
        for place in by_priority:
            room.add(place, given[place], marker, boundary)
        packed, left = room.packed(given)
        if min(left) >= 0:
            return packed
        # Some neighbours merged across more than _CONTEXT: pack again with that much less room.
        less = [
            spared if own >= 0 else max(2 * spared, spared - own)
            for spared, own in zip(less, left, strict=True)
        ]


class _Room:
    """The items placed so far, and what is left of each limit.

    Args:
        encoding: the tokenizer of the first limit.
        limits: the limits; overheads count against the first one only.
        separator: as of `pack`.
        left: what is left of each.
        counts: of whole items, by place; shared by all attempts.
    """

    def __init__(
        self,
        encoding: TokenCounter,
        limits: Sequence[Limit],
        separator: str | None,
        left: list[int],
        counts: dict[int, Numbers],
    ) -> None:
        self._encoding = encoding
        self._limits = limits
        self._separator = separator
        self._left = left
        self._all_counts = counts
        self._places: list[int] = []  # sorted
        self._placed: dict[int, PackedItem] = {}

    def add(self, place: int, item: Item, marker: str, boundary: Boundary) -> None:
        """Place an item, whole or truncated, if it fits."""
        tokens = self._all_counts.get(place)
        if tokens is None:
            tokens = self._all_counts[place] = self._counts(item.text)
        over = self._over(place, item, item.text, tokens)
        if max(over) <= 0:
            whole = ((0, len(item.text)),) if item.text else ()
            self._place(place, PackedItem(item, "whole", item.text, tokens[0], kept=whole), over)
            return
        if item.min_tokens is None:
            return
        fewest = [max(own, 1) for own in self._counts(marker)]
        fewest[0] = max(fewest[0], item.min_tokens)
        room = [*map(sub, tokens, over)]
        while all(map(ge, room, fewest)):
            others = [
                Limit(one.measure, most) for one, most in zip(self._limits, room, strict=True)
            ]
            text, kept = truncating.truncate(
                self._encoding, item.text, room[0], item.keep, marker, boundary, others[1:]
            )
            tokens = self._counts(text)
            if not kept or tokens[0] < item.min_tokens:
                return
            over = self._over(place, item, text, tokens)
            if max(over) <= 0:
                placed = PackedItem(item, "truncated", text, tokens[0], kept=kept)
                self._place(place, placed, over)
                return
            room = [*map(min, room, map(sub, tokens, over))]

    def packed(self, given: Sequence[Item]) -> tuple[Packed, list[int]]:
        """Join what was placed, and count it as one text.

        Returns:
            The result, and what it leaves of each limit: a negative number is over it.
        """
        separator = self._separator or ""
        placed = [self._placed[place] for place in self._places]
        at = 0
        for place, one in zip(self._places, placed, strict=True):
            end = at + len(one.text)
            self._placed[place] = replace(one, start_index=at, end_index=end)
            at = end + len(separator)
        text = separator.join(one.text for one in placed)
        if self._separator is None:
            alone = [self._counts(one.text) for one in placed]
            tokens = [*map(sum, zip(*alone, strict=True))] if alone else [0] * len(self._limits)
        else:
            tokens = self._counts(text)
        packed = Packed(
            text,
            tuple(
                self._placed.get(place) or PackedItem(item, "dropped")
                for place, item in enumerate(given)
            ),
            tokens[0],
            sum(one.item.overhead_tokens for one in placed),
            self._limits[0].most,
        )
        left = [limit.most - own for limit, own in zip(self._limits, tokens, strict=True)]
        return packed, [packed.tokens_left, *left[1:]]

    def _place(self, place: int, placed: PackedItem, over: Numbers) -> None:
        self._places.insert(bisect_left(self._places, place), place)
        self._placed[place] = placed
        self._left = [-own for own in over]

    def _counts(self, text: str) -> Numbers:
        return [limit.measure.count(text) for limit in self._limits]

    def _over(self, place: int, item: Item, text: str, tokens: Numbers) -> Numbers:
        """Return by how much a text with these tokens would exceed what is left of each limit."""
        joining = self._joining_tokens(place, text)
        over = [
            own + more - left for own, more, left in zip(tokens, joining, self._left, strict=True)
        ]
        return [over[0] + item.overhead_tokens, *over[1:]]

    def _joining_tokens(self, place: int, text: str) -> Numbers:
        """Count the tokens that joining a text at a place adds to its own tokens.

        Exact if the pieces of a text do not depend on text farther away than the context.
        """
        if self._separator is None or not self._places:
            return [0] * len(self._limits)
        at = bisect_left(self._places, place)
        left, right = self._left_context(at), self._right_context(at)
        before = "" if left is None else left + self._separator
        after = "" if right is None else self._separator + right
        apart = right or "" if left is None else left + after
        return [
            _joining_tokens(measure.count, before, text, after) - measure.count(apart)
            for measure, _ in self._limits
        ]

    def _left_context(self, at: int) -> str | None:
        """Return the end of the placed text before; None if there is none."""
        places = reversed(self._places[max(0, at - _CONTEXT) : at])
        near = self._near(places, slice(-_CONTEXT, None))
        return None if near is None else (self._separator or "").join(reversed(near))

    def _right_context(self, at: int) -> str | None:
        """Return the beginning of the placed text after; None if there is none."""
        near = self._near(self._places[at : at + _CONTEXT], slice(_CONTEXT))
        return None if near is None else (self._separator or "").join(near)

    def _near(self, places: Iterable[int], part: slice) -> list[str] | None:
        """Collect texts, the nearest first, until they have _CONTEXT characters."""
        texts: list[str] = []
        length = 0
        for place in places:
            texts.append(self._placed[place].text[part])
            length += len(texts[-1]) + len(self._separator or "")
            if length >= _CONTEXT:
                break
        return texts or None


def _joining_tokens(count: Callable[[str], int], before: str, text: str, after: str) -> int:
    """Count the tokens that a text has more than on its own, with its context and all of that."""
    if len(text) <= 2 * _CONTEXT:
        return count(before + text + after) - count(text)
    first, last = text[:_CONTEXT], text[-_CONTEXT:]
    return count(before + first) - count(first) + count(last + after) - count(last)
