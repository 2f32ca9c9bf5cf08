"""What is settled of a text that grows, among added tokens. Source: docs/counting.md.

An added token ends a section, and what follows it is a text of its own. Whether one begins at a
place, the characters after it decide that the longest one has; and whether one lies across it, as
many before it.
"""

from collections.abc import Callable

from cutline.counting.recounted import Settled
from cutline.normalizing import SPACE
from cutline.pipeline.added import AddedFinder
from cutline.pipeline.pipeline import Pipeline
from cutline.spec import AddedToken

__all__ = ["are_plain", "sections_at_end", "settled_sections"]

_TRIES = 8  # places in matches
_counts = Pipeline.counting(frozenset())


class _Rules:
    """What is the same for all that is settled of a text.

    Args:
        finder: finds the tokens, and the special ones, which hide others.
        ordinary: finds the others alone.
        begin: begins a section.
        count: counts a whole one.
    """

    def __init__(
        self,
        finder: AddedFinder,
        ordinary: AddedFinder,
        begin: Callable[[], Settled],
        count: Callable[[str], int],
    ) -> None:
        self.finder = finder
        self.begin = begin
        self.count = count
        tokens = ordinary.texts
        self.strips_left = any(one.lstrip for one in tokens.values())
        self._strips_right = any(one.rstrip for one in tokens.values())
        self.end_white = any(text[-1] in SPACE for text in finder.texts)
        self.longest = max(map(len, finder.texts))

    def first_apart(self, text: str) -> int:
        """Find the first place that no token lies across, whatever comes before; 0: none."""
        across = set[int]()
        if self.finder.may_find(text):
            for written in self.finder.texts:
                start = text.find(written)
                while start >= 0:
                    across.update(range(start + 1, start + len(written)))
                    start = text.find(written, start + 1)
        for at in range(self.longest, len(text)):
            strips_left = self.strips_left and text[at - 1] in SPACE
            if text[at] in SPACE:
                strips = strips_left or self._strips_right
            else:  # what is before it is white space alone
                strips = strips_left and self.end_white
            if not strips and at not in across:
                return at
        return 0

    def count_sections(
        self,
        text: str,
        count_settled: Callable[[str], int | None],
        *,
        around: tuple[str, str],
        at_end: bool,
    ) -> int | None:
        """Count the tokens of a text of which one section is settled in part.

        Args:
            text: the rest of it.
            count_settled: counts the settled section if this is the rest of it; None: not known.
            around: the characters before and after the rest.
            at_end: it is the last one, or else the first.
        """
        sections = [*self.finder.cut(text, _counts, around)] if text else []
        settled = sections.pop(-1 if at_end else 0) if sections else (0, 0, None)
        if settled[2] is not None:
            sections.append(settled)
            settled = 0, 0, None
        tokens = count_settled(text[settled[0] : settled[1]])
        if tokens is None:
            return None
        for start, end, token in sections:
            tokens += self.count(text[start:end]) if token is None else 1
        return tokens


class SettledSections:
    """See `counting.recounted.Settled`; the text grows at its end.

    Args:
        rules: what added tokens there are.
        tokens: before the section.
        section: the settled beginning of what follows the last added token.
        last: its last character.
    """

    def __init__(self, rules: _Rules, tokens: int, section: Settled, last: str = "") -> None:
        self._rules = rules
        self._around = last, ""
        self._tokens = tokens
        self._section = section
        self.reach = rules.longest + section.reach
        self.gap = section.gap
        self.least = tokens + section.least

    def settle(self, more: str) -> "tuple[int, SettledSections] | None":
        """Settle more of a text; see `Settled`."""
        rules = self._rules
        most = len(more) - rules.longest  # where a token begins for sure, or does not
        matches = [*rules.finder.matches(more, _counts, self._around)]
        ends = [end for _, end, _, _ in matches if end <= most]
        if ends:
            place = max(ends)
            tokens = self.count_with(more[:place])
            return place, SettledSections(rules, tokens, rules.begin(), more[place - 1])
        place = min([most, *(start + 1 for start, *_ in matches[:1])])
        while place > 0:
            place -= 1
            if place and not self._may_cut(more, place):
                continue
            settled = self._section.settle(more[: place + 1])
            if settled is None:
                return None
            at, section = settled
            if at == place or self._may_cut(more, at):
                return at, SettledSections(rules, self._tokens, section, more[at - 1])
            place = min(at, place)
        return None

    def _may_cut(self, more: str, place: int) -> bool:
        """Return whether what is next in a section has the same tokens after a place in it.

        What is no token hides those inside it, and is not cut.
        """
        rules = self._rules
        if rules.strips_left and more[place - 1] in SPACE:
            return False
        return rules.finder.hides(more, place) == place

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        tokens = self._rules.count_sections(
            rest, self._section.count_with, around=self._around, at_end=False
        )
        assert tokens is not None  # that of a beginning always knows
        return self._tokens + tokens


class SectionsAtEnd:
    """See `counting.recounted.Settled`; the text grows at its beginning.

    Args:
        rules: what added tokens there are.
        tokens: after the section.
        section: the settled end of what precedes the first added token that is settled.
        first: the first character of what is settled.
        reach: see `Settled`.
        strips: that begins a token that strips the white space before it.
    """

    def __init__(
        self,
        rules: _Rules,
        tokens: int,
        section: Settled,
        first: str = "",
        reach: int = 1,
        *,
        strips: bool = False,
    ) -> None:
        self._rules = rules
        self._around = "", first
        self._tokens = tokens
        self._section = section
        self._strips = strips
        self.reach = reach
        self.gap = section.gap
        self.least = tokens + section.least

    def settle(self, more: str) -> "tuple[int, SectionsAtEnd] | None":
        """Settle more of a text; see `Settled`."""
        rules = self._rules
        begin = rules.first_apart(more)
        if not begin:
            return None
        # What is found from there on is what is found in the text.
        around = more[begin - 1], self._around[1]
        sections = rules.finder.cut(more[begin:], _counts, around)

        def hides(at: int) -> int:  # what strips blanks may begin in a match that is no token
            return begin + rules.finder.hides(more[begin:], at - begin)

        found = [(begin + start, token) for start, _, token in sections if token is not None]
        if found:
            place, token = next((one for one in found if hides(one[0]) == one[0]), (0, None))
            return self._settle_from(more, place, token) if token is not None else None
        place, kept = begin, self._kept(more)
        for _ in range(_TRIES):
            settled = self._section.settle(kept[place:]) if place < len(kept) else None
            if settled is None:
                return None
            section = settled[1]
            place = len(kept) - settled[0]
            if hides(place) == place:
                length = len(more) - place
                return length, SectionsAtEnd(rules, self._tokens, section, more[place], place)
            while place < len(more) and hides(place) < place:
                place += 1
        return None

    def _settle_from(
        self, more: str, place: int, token: AddedToken
    ) -> "tuple[int, SectionsAtEnd] | None":
        """Settle an added token that begins at a place, and what is after it."""
        rules = self._rules
        tokens = self._count(more[place:], more[place - 1])
        if tokens is None:
            return None
        strips = token.lstrip and not rules.end_white  # or it begins where such a token ends
        return len(more) - place, SectionsAtEnd(
            rules, tokens, rules.begin(), more[place], place, strips=strips
        )

    def _kept(self, text: str) -> str:
        """Return what is left of the text before what is settled."""
        return text.rstrip(SPACE) if self._strips else text

    def count_with(self, rest: str) -> int | None:
        """Count the tokens of the text if it begins like this; None: not known."""
        return self._count(rest, "")

    def _count(self, rest: str, before: str) -> int | None:
        kept = self._kept(rest)
        around = before, rest[len(kept) : len(kept) + 1] or self._around[1]
        tokens = self._rules.count_sections(
            kept, self._section.count_with, around=around, at_end=True
        )
        return None if tokens is None else self._tokens + tokens


def settled_sections(
    finder: AddedFinder,
    ordinary: AddedFinder,
    begin: Callable[[], Settled],
    count: Callable[[str], int],
    first: Settled,
) -> Settled:
    """Begin a text that grows at its end, with added tokens that `are_plain`; see `_Rules`.

    `first` is the section at the start of the text.
    """
    if not ordinary.texts:
        return first
    return SettledSections(_Rules(finder, ordinary, begin, count), 0, first)


def sections_at_end(
    finder: AddedFinder,
    ordinary: AddedFinder,
    begin: Callable[[], Settled],
    count: Callable[[str], int],
) -> Settled:
    """Begin a text that grows at its beginning; see `settled_sections`."""
    if not ordinary.texts:
        return begin()
    return SectionsAtEnd(_Rules(finder, ordinary, begin, count), 0, begin())


def are_plain(finder: AddedFinder, ordinary: AddedFinder) -> bool:
    """Return whether what a token strips is never the text of one, or part of it."""
    if not any(token.rstrip for token in ordinary.texts.values()):
        return True
    return not any(space in text for text in finder.texts for space in SPACE)
