"""What a template sends for the chunks of one text, as further limits that slices must fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from cutline.counting.framed import FramedSlices
from cutline.errors import BudgetError
from cutline.template import TABLE_HEADER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutline.counting.limits import Limit
    from cutline.protocols import SliceCounter, TokenCounter
    from cutline.template import Template

__all__ = ["Around", "Sending"]

_SHARE: Final = 4  # of chunk_size: a quarter is the most that headings take


class Around(NamedTuple):
    """What is sent around the chunks below some headings."""

    before: str
    after: str
    left_out: int  # of the headings, the outermost
    table_header: str


class Sending:
    """Counts what is sent for slices of a text.

    Args:
        template: says what is sent.
        encoding: counts its tokens.
        chunk_size: the most tokens of what is sent, special tokens included.
        text: the text.
        own: counts slices of the text.
        others: counters and maxima of further limits, which hold for what is sent, too.
        limits: their measures.

    Attributes:
        limits: counters of what is sent, with their maxima; the first in tokens of the encoding.
        special_tokens: how many are sent besides.
    """

    def __init__(
        self,
        template: Template,
        encoding: TokenCounter,
        chunk_size: int,
        text: str,
        own: SliceCounter,
        others: Sequence[tuple[SliceCounter, int]],
        limits: Sequence[Limit],
    ) -> None:
        template.need_values()
        self._template = template
        self._encoding = encoding
        self._most_of_headings = chunk_size // _SHARE
        self.special_tokens: Final = template.special_tokens_of(encoding)
        self._sent = FramedSlices(encoding, own, text)
        self.limits: Final = [(self._sent, chunk_size - self.special_tokens)]
        for (counter, most), limit in zip(others, limits, strict=True):
            self.limits.append((FramedSlices(limit.measure, counter, text), most))
        self._known: dict[tuple[tuple[str, ...], str, bool, int], Around] = {}

    def begin(
        self, headings: tuple[str, ...], table_header: str, *, bare: bool, index: int
    ) -> Around:
        """Count what is sent with these headings from now on.

        Args:
            headings: of the chunk.
            table_header: of the table that it goes on with; or "".
            bare: leave all of this out.
            index: of the chunk.
        """
        if "index" not in self._template.fields:
            index = 0
        if TABLE_HEADER not in self._template.fields:
            table_header = ""
        key = headings, table_header, bare, index
        around = self._known.get(key)
        if around is None:
            around = self._known[key] = self._around(*key)
        if around.before is not self._sent.before or around.after is not self._sent.after:
            for counter, _ in self.limits:
                counter.before, counter.after = around.before, around.after
        return around

    def _around(
        self, headings: tuple[str, ...], table_header: str, bare: bool, index: int
    ) -> Around:
        left_out = 0
        if bare or self._is_too_much(table_header):
            table_header = ""
        if "headings" in self._template.fields:
            left_out = len(headings) if bare else self._too_many(headings)
        frame = self._template.frame(headings[left_out:], index, table_header)
        return Around(*frame, left_out, table_header)

    def _too_many(self, headings: tuple[str, ...]) -> int:
        """Return how many of the outermost are left out, so that the others take their share."""
        join = self._template.joined_by.join
        for left_out in range(len(headings)):
            if not self._is_too_much(join(headings[left_out:])):
                return left_out
        return len(headings)

    def _is_too_much(self, text: str) -> bool:
        """Return whether a text is more than the share that headings may take."""
        return self._encoding.count_till_limit(text, self._most_of_headings) is None

    def tokens(self, start: int, end: int) -> int:
        """Count the tokens that are sent for a slice, special tokens included."""
        return self._sent.count(start, end) + self.special_tokens

    @property
    def is_before(self) -> bool:
        """Whether the same is sent before each slice, where there are no headings, and no more."""
        return "index" not in self._template.fields and not self._template.frame(()).after

    def limits_from(self, more: dict[int, int], start: int) -> list[tuple[int, int]] | None:
        """Return the limits of slices from a start on, in what they have themselves.

        Args:
            more: gets, for this start, how many tokens are sent besides those of such a slice.
            start: of the slices.

        Returns:
            The maximum of each, and the end from which on it holds; None: not known.
        """
        found = []
        for counter, most in self.limits:
            head = counter.head(start)
            if head is None:
                return None
            found.append((most - head.more, head.end))
        more[start] = self.limits[0][1] - found[0][0] + self.special_tokens
        return found

    def no_room(self, character: str, offset: int) -> BudgetError:
        """Build the error for a character that fits only without what is sent around it."""
        measure = "chunk_size or a limit of also_fits" if len(self.limits) > 1 else "chunk_size"
        sent = self._encoding.count(self._sent.before + character + self._sent.after)
        special = f" and {self.special_tokens} special ones" if self.special_tokens else ""
        return BudgetError(
            f"the template leaves no room at offset {offset}: with character {character!r} alone "
            f"{sent} tokens{special} would be sent, over {measure}; shorten the template, or raise "
            "chunk_size"
        )
