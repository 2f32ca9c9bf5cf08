"""`pack`: which texts are placed within a budget, and where each is cut.

docs/budgets.md, "Packing", defines the result, and says how it is checked.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import TypeAlias

from cutline.checks import checked_integer, plain_text, without_surrogates
from cutline.counting.limits import AlsoFits, further_limits, unit_of
from cutline.counting.truncating import (
    Boundary,
    Framed,
    check_options,
    cut,
    special_spans,
)
from cutline.errors import BudgetError
from cutline.packing.items import Group, Item, Packed, PackedGroup, PackedItem
from cutline.packing.layout import CONTEXT, Around, Layout
from cutline.packing.truncation import counter_allowing
from cutline.protocols import TokenCounter

__all__ = ["pack"]

Numbers: TypeAlias = list[int]  # one for each limit of a scope


def pack(
    items: Iterable[str | Item | Group],
    max_tokens: int,
    *,
    encoding: TokenCounter | str = "o200k_base",
    separator: str | None = "\n\n",
    marker: str = "…",
    boundary: Boundary = "character",
    also_fits: AlsoFits = None,
    allowed_special: Set[str] | str = frozenset(),
) -> Packed:
    r"""Join as many texts as fit a token budget, the most important ones first.

    Items are placed by priority, highest first, required ones before all others, and keep their
    order. An item that fits is placed whole; one that does not is truncated to what is left of
    the budget, if its `min_tokens` allows that, and dropped otherwise. The next item gets what is
    left then.

    The budget holds for the joined text, counted as one text, plus the overheads of the placed
    items: this count is checked at the end, and nothing over budget is returned.

    Args:
        items: texts, `Item`s, or `Group`s of them with budgets, separators and frames of their
            own; a str is `Item(text)`, which is never truncated.
        max_tokens: the budget, 0 or more.
        encoding: an `Encoding`, its name, or a wrapped tokenizer.
        separator: text between two placed texts, or groups. None: there is none, and each text,
            or group, is counted on its own, which is correct if special tokens separate them.
        marker: replaces the removed text; see `truncate`.
        boundary: where texts may be cut; see `truncate`.
        also_fits: further limits that the joined text fits at once, without overheads; see
            `truncate`.
        allowed_special: special tokens whose text is one token; see `truncate`.

    Raises:
        BudgetError: (a ValueError) a required item does not fit; says which.
        ValueError: max_tokens is negative, or boundary is unknown.
        SurrogateError, UnsupportedPatternError: (ValueErrors) as `truncate`, for an item that
            is truncated.
        TypeError: allowed_special, and `encoding` is a wrapped tokenizer.

    Cost: linear in the texts' lengths, plus some tens of microseconds per item.
    Source: docs/budgets.md, "Packing".

    >>> notes = Item("A long note that may be cut to its start.", min_tokens=4, overhead_tokens=2)
    >>> packed = pack(["Be brief.", notes, Item("What is new?", priority=1)], 16)
    >>> packed.text
    'Be brief.\n\nA long note that may be …\n\nWhat is new?'
    >>> [item.status for item in packed.items], packed.total_tokens
    (['whole', 'truncated', 'whole'], 16)
    """
    counting = counter_allowing(encoding, allowed_special)
    max_tokens = checked_integer(max_tokens, "max_tokens")
    marker = check_options(max_tokens, "start", marker, boundary)
    layout = Layout(items, None if separator is None else plain_text(separator, "separator"))
    limits = [Framed(counting, max_tokens), *(Framed(*one) for one in further_limits(also_fits))]
    scopes = [_Scope(None, limits)]
    for part, group in layout.groups.items():
        if group.max_tokens is not None:
            scopes.append(_Scope(part, [Framed(counting, group.max_tokens)]))
    room, order = _Room(layout, scopes, marker, boundary), layout.order()
    while True:
        for place in order:
            room.add(place)
        packed, over = room.packed()
        if all(max(own) <= 0 for own in over):
            return packed
        # Some neighbours merged across more than the context: pack again with that much less room.
        room.empty(over)


class _Scope:
    """What some limits hold for: the whole text, or a group.

    Args:
        part: the group's; None: the whole text.
        limits: the limits; overheads count against the first one.

    Attributes:
        part: as given.
        limits: as given.
        left: what is left of each.
        spared: how much of that is not used, but for required items that are whole.
    """

    def __init__(self, part: int | None, limits: list[Framed]) -> None:
        self.part = part
        self.limits = limits
        self.left = [limit.most for limit in limits]
        self.spared = [0] * len(limits)

    def over(self, around: Around, text: str, tokens: Numbers, overhead: int) -> Numbers:
        """Return by how much a text with these tokens would exceed what is left."""
        over = [
            _tokens_in_place(limit.measure.count, around, text, own) - left
            for own, limit, left in zip(tokens, self.limits, self.left, strict=False)
        ]
        return [over[0] + overhead, *over[1:]]

    def in_place(self, around: Around, overhead: int, shrunk: int) -> list[Framed]:
        """Return limits for a text alone, with what stands around it, less some tokens."""
        before, after = without_surrogates(around.before), without_surrogates(around.after)
        overheads = [overhead] + [0] * len(self.limits)
        return [
            Framed(
                measure, left + measure.count(around.apart) - less - shrunk - more, before, after
            )
            for (measure, *_), left, less, more in zip(
                self.limits, self.left, self.spared, overheads, strict=False
            )
        ]


class _Room:
    """The items placed so far, and what is left of each limit.

    Args:
        layout: the items, and what stands between them.
        scopes: the limits; the first is that of the whole text.
        marker: as of `pack`.
        boundary: as of `pack`.
    """

    def __init__(
        self, layout: Layout, scopes: Sequence[_Scope], marker: str, boundary: Boundary
    ) -> None:
        self._layout = layout
        self._scopes = scopes
        self._measures = [limit.measure for limit in scopes[0].limits]
        self._marker = marker
        self._boundary = boundary
        self._all_counts: dict[int, Numbers] = {}  # of whole items, by place
        self._closed: set[int] = set()  # groups without holes that take no more

    def empty(self, over: Sequence[Numbers]) -> None:
        """Remove all items, to try again: so much was over each limit.

        Raises:
            BudgetError: all of them are required and whole.
        """
        placed = self._layout.placed
        if all(one.item.required and one.status == "whole" for one in placed.values()):
            raise BudgetError(
                "the required items, joined, do not fit: they are over "
                f"max_tokens={self._scopes[0].limits[0].most} or another limit by "
                f"{max(map(max, over))}"
            )
        for scope, own in zip(self._scopes, over, strict=True):
            scope.left = [limit.most for limit in scope.limits]
            scope.spared = [
                spared if more <= 0 else max(2 * spared, spared + more)
                for spared, more in zip(scope.spared, own, strict=True)
            ]
        self._layout.clear()
        self._closed.clear()

    def add(self, place: int) -> None:
        """Place an item, whole or truncated, if it fits.

        Raises:
            BudgetError: it is required, and does not fit.
        """
        item, part, group = self._layout.entries[place]
        if part in self._closed and not item.required:
            return
        tokens = self._all_counts.get(place)
        if tokens is None:
            tokens = self._all_counts[place] = self._counts(item.text)
        over = self._over(place, item.text, tokens)
        if self._fits(place, over, spares=not item.required):
            whole = ((0, len(item.text)),) if item.text else ()
            self._place(place, PackedItem(item, "whole", item.text, tokens[0], kept=whole), over)
            return
        if group is not None and group.fill != "priority" and not item.required:
            self._closed.add(part)
        if not self._place_cut(place) and item.required:
            raise self._misfit(place, over)

    def _place_cut(self, place: int) -> bool:
        """Truncate an item to what is left, and place it. Returns whether that was possible."""
        item, overhead = self._layout.entries[place].item, self._overhead(place)
        if item.min_tokens is None or self._scopes[0].left[0] - overhead < item.min_tokens:
            return False
        shrunk = 0
        while item.text:
            limits = [
                limit
                for scope, around in self._around(place)
                for limit in scope.in_place(around, overhead, shrunk)
            ]
            if min(limit.most for limit in limits) < 0:
                return False
            uncut = special_spans(self._measures[0], item.text)
            text, kept = cut(limits, item.text, item.keep, self._marker, self._boundary, uncut)
            tokens = self._counts(text)
            if not kept or tokens[0] < item.min_tokens:
                return False
            over = self._over(place, text, tokens)
            if self._fits(place, over, spares=True):
                placed = PackedItem(item, "truncated", text, tokens[0], kept=kept)
                self._place(place, placed, over)
                return True
            shrunk += max(1, *map(max, over))
        return False

    def packed(self) -> tuple[Packed, list[Numbers]]:
        """Join what was placed, and count it as one text.

        Returns:
            The result, and by how much it is over the limits of each scope.
        """
        layout = self._layout
        text, spans = layout.joined()
        overheads = dict.fromkeys(spans, 0)
        for place, one in layout.placed.items():
            overheads[layout.entries[place].part] += one.item.overhead_tokens
        groups = {}
        for part, group in layout.groups.items():
            groups[part] = PackedGroup(group)
            if part in spans:
                start, end = spans[part]
                overheads[part] += group.overhead_tokens
                own = text[start:end]
                tokens = self._measures[0].count(own)
                groups[part] = PackedGroup(group, own, tokens, overheads[part], start, end)
        parts = (
            [text]
            if layout.separator is not None
            else [text[slice(*spans[part])] for part in spans]
        )
        counts = [sum(map(measure.count, parts)) for measure in self._measures]
        packed = Packed(
            text,
            tuple(
                layout.placed.get(place) or PackedItem(entry.item, "dropped")
                for place, entry in enumerate(layout.entries)
            ),
            tuple(groups.values()),
            counts[0],
            sum(overheads.values()),
            self._scopes[0].limits[0].most,
        )
        over = [
            [own - limit.most for own, limit in zip(counts, self._scopes[0].limits, strict=True)]
        ]
        over[0][0] += packed.overhead_tokens
        for scope in self._scopes[1:]:
            assert scope.part is not None
            made = groups[scope.part]
            over.append([made.token_count + made.overhead_tokens - scope.limits[0].most])
        return packed, over

    def _around(self, place: int) -> Iterator[tuple[_Scope, Around]]:
        """Yield the scopes that an item is in, and what stands around it there."""
        for scope in self._scopes_of(place):
            yield scope, self._layout.around(place, alone=scope.part is not None)

    def _over(self, place: int, text: str, tokens: Numbers) -> list[Numbers]:
        """Return by how much a text would exceed what is left, for each scope that it is in."""
        overhead = self._overhead(place)
        return [scope.over(around, text, tokens, overhead) for scope, around in self._around(place)]

    def _overhead(self, place: int) -> int:
        item, _, group = self._layout.entries[place]
        begins = group is not None and not self._layout.is_begun(place)
        return item.overhead_tokens + (group.overhead_tokens if group and begins else 0)

    def _place(self, place: int, placed: PackedItem, over: list[Numbers]) -> None:
        for scope, own in zip(self._scopes_of(place), over, strict=True):
            scope.left = [-more for more in own]
        self._layout.place(place, placed)

    def _counts(self, text: str) -> Numbers:
        return [measure.count(text) for measure in self._measures]

    def _fits(self, place: int, over: list[Numbers], *, spares: bool) -> bool:
        """Return whether nothing is over a limit, less what is to be spared."""
        return all(
            more + (spared if spares else 0) <= 0
            for scope, own in zip(self._scopes_of(place), over, strict=True)
            for more, spared in zip(own, scope.spared, strict=True)
        )

    def _scopes_of(self, place: int) -> Sequence[_Scope]:
        if len(self._scopes) == 1:
            return self._scopes
        part = self._layout.entries[place].part
        return [scope for scope in self._scopes if scope.part is None or scope.part == part]

    def _misfit(self, place: int, over: list[Numbers]) -> BudgetError:
        """Build the error for a required item; it names the first limit that is exceeded."""
        name = self._layout.name(place)
        for scope, own in zip(self._scopes_of(place), over, strict=True):
            for number, (more, limit) in enumerate(zip(own, scope.limits, strict=True)):
                if more <= 0:
                    continue
                unit = unit_of(limit.measure) if number else "tokens"
                budget = f"the {limit.most} of also_fits" if number else f"max_tokens={limit.most}"
                whose = "" if scope.part is None else f" of the group at {scope.part}"
                return BudgetError(
                    f"{name} is required and does not fit {budget}{whose}: it takes "
                    f"{more + scope.left[number]} {unit}, and the required items before it leave "
                    f"{scope.left[number]}"
                )
        raise AssertionError("nothing is over a limit")


def _tokens_in_place(count: Callable[[str], int], around: Around, text: str, own: int) -> int:
    """Count the tokens that a text with `own` tokens adds between its neighbours.

    Exact if the pieces of a text do not depend on text farther away than the context.
    """
    before, after, apart = around
    if not (before or after or apart):
        return own
    if len(text) <= 2 * CONTEXT:
        return count(before + text + after) - count(apart)
    first, last = text[:CONTEXT], text[-CONTEXT:]
    more = count(before + first) - count(first) + count(last + after) - count(last)
    return own + more - count(apart)
