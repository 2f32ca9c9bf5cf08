"""The settled beginning of a text that grows, among added tokens. Source: docs/counting.md.

An added token ends a section, and what follows it is a text of its own. Whether one begins at a
place, the characters after it decide that the longest one has.
"""

from collections.abc import Callable

from cutline.counting.recounted import Settled
from cutline.pipeline.added import AddedFinder
from cutline.pipeline.pipeline import Pipeline
from cutline.spec import AddedToken

__all__ = ["SettledSections", "looks_around", "settled_sections"]

_counts = Pipeline.counting(frozenset())


class _Rules:
    """What is the same for all that is settled of a text.

    Args:
        finder: finds the tokens.
        begin: begins a section.
        count: counts a whole one.
    """

    def __init__(
        self, finder: AddedFinder, begin: Callable[[], Settled], count: Callable[[str], int]
    ) -> None:
        self.finder = finder
        self.begin = begin
        self.count = count
        self.longest = max(map(len, finder.texts))


class SettledSections:
    """See `counting.recounted.Settled`.

    Args:
        rules: what added tokens there are.
        tokens: before the section.
        section: the settled beginning of what follows the last added token.
    """

    def __init__(self, rules: _Rules, tokens: int, section: Settled) -> None:
        self._rules = rules
        self._tokens = tokens
        self._section = section
        self.reach = rules.longest + section.reach
        self.gap = section.gap

    def settle(self, more: str) -> "tuple[int, SettledSections] | None":
        """Settle more of a text; see `Settled`."""
        rules = self._rules
        most = len(more) - rules.longest  # where a token begins for sure, or does not
        found = [span for span in rules.finder.cut(more, _counts) if span[2] is not None]
        place = max((end for start, end, _ in found if start <= most), default=0)
        if place:
            tokens = self.count_with(more[:place])
            return place, SettledSections(rules, tokens, rules.begin())
        while most > 0:
            settled = self._section.settle(more[:most])
            if settled is None:
                return None
            place, section = settled
            # What is no token hides those inside it, and is not cut.
            most = rules.finder.hides(more, place)
            if most == place:
                return place, SettledSections(rules, self._tokens, section)
        return None

    def count_with(self, rest: str) -> int:
        """Count the tokens of the text if it ends like this."""
        rules = self._rules
        sections = [*rules.finder.cut(rest, _counts)] if rest else []
        first = sections[0] if sections and sections[0][2] is None else (0, 0, None)
        tokens = self._section.count_with(rest[: first[1]])
        assert tokens is not None  # that of a beginning always knows
        for start, end, token in sections:
            if token is not None:
                tokens += 1
            elif start > 0:
                tokens += rules.count(rest[start:end])
        return self._tokens + tokens


def settled_sections(
    finder: AddedFinder,
    ordinary: AddedFinder,
    begin: Callable[[], Settled],
    count: Callable[[str], int],
) -> Settled:
    """Begin a text with added tokens, none of which looks at what is around it.

    Args:
        finder: finds the tokens, and the special ones, which hide others.
        ordinary: finds the others alone.
        begin: begins a section.
        count: counts a whole one.
    """
    if not ordinary.texts:
        return begin()
    return SettledSections(_Rules(finder, begin, count), 0, begin())


def looks_around(token: AddedToken) -> bool:
    """Return whether a token strips white space, or depends on what is beside it."""
    return token.lstrip or token.rstrip or token.single_word
