"""Adding options to a pattern that match the text in its gaps.

A splitting that keeps gaps makes each a piece, from one match to the next. This can be written
as a pattern if a character and at most the one after it determine whether a match starts
there.
"""

from collections.abc import Iterator

from cutline.errors import UnsupportedPatternError
from cutline.pretokenize.analysis import START, Tables
from cutline.pretokenize.charset import CharSet
from cutline.pretokenize.pattern import Chars, Choice, Node, Repeat, Sequence, parse_pattern
from cutline.pretokenize.restricting import ANY, CharClass, write_ranges
from cutline.pretokenize.store import compile_pattern

__all__ = ["fill_gaps"]


def fill_gaps(pattern: str, seen: CharClass) -> str:
    """Add options to a pattern that match the text in its gaps.

    Args:
        pattern: a pattern for runs of a class of characters, in a longer text.
        seen: the class.

    Returns:
        The pattern, without gaps in such runs.

    Raises:
        UnsupportedPatternError: there are gaps that two characters do not determine.
    """
    if _covers(pattern, seen):
        return pattern
    tables = Tables(pattern)
    names = _Names(pattern)
    starts, never = tables.meets_match()[START], tables.is_dead()[START]
    classes = tables.classes_of(seen.chars)
    gaps = tables.members([one for one in classes if never[one]]) & seen.chars
    unsure = [one for one in classes if not never[one] and not starts[one]]
    added = _with_unsure(tables, gaps, unsure, names) if unsure else f"{names.write(gaps)}+"
    filled = f"{pattern}|{added}"
    if not _covers(filled, seen):
        raise _refusal(pattern)
    return filled


def _covers(pattern: str, seen: CharClass) -> bool:
    """Return whether a match starts at every character of a class, whatever follows."""
    others = "" if seen == ANY else f"|[^{seen.source}]"
    return not compile_pattern(pattern + others).has_gaps


def _with_unsure(tables: Tables, gaps: CharSet, unsure: list[int], names: "_Names") -> str:
    """Match gaps before matches that may start with an optional character such as a blank.

    A gap continues over characters that start no match, and over unsure ones unless the next
    character confirms that one starts. So the longest run of both is a gap, except for an
    unsure character at its end that is followed by such a character.
    """
    confirming: set[int] | None = None
    met, dead = tables.meets_match(), tables.is_dead()
    for first in unsure:
        state = int(tables.targets[START, first])
        found = {one for one in range(tables.end + 1) if met[state, one]}
        is_decided = all(dead[state, one] for one in range(tables.end + 1) if one not in found)
        if not is_decided or confirming not in (None, found):
            raise _refusal(names.pattern)
        confirming = found
    assert confirming is not None
    opening = tables.members(unsure)
    after = tables.members(sorted(confirming))
    if tables.end in confirming or len((gaps | opening) & after):
        raise _refusal(names.pattern)
    in_run, in_after = names.write(gaps | opening), names.write(after)
    at_end = f"{in_run}+(?!{in_after})"
    if not len(gaps):
        return at_end
    in_gaps = f"[{in_run}&&[^{names.write(opening)}]]"
    return f"{in_run}*{in_gaps}(?={in_after})|{at_end}"


class _Names:
    """Writes sets of characters; if a pattern has the same set, in the same way."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._written: dict[CharSet, str] = {}
        for chars, source in _atoms(parse_pattern(pattern)):
            self._written.setdefault(chars, source)
            self._written.setdefault(~chars, f"[^{source}]")

    def write(self, chars: CharSet) -> str:
        """Write a set as an atom."""
        return self._written.get(chars) or write_ranges(chars)


def _atoms(tree: Node) -> Iterator[tuple[CharSet, str]]:
    """Yield the sets of a pattern that can be written inside other sets."""
    match tree:
        case Chars(chars, source) if source.startswith(("[", "\\")):
            yield chars, source
        case Sequence(parts) | Choice(parts):
            for part in parts:
                yield from _atoms(part)
        case Repeat(body):
            yield from _atoms(body)


def _refusal(pattern: str) -> UnsupportedPatternError:
    return UnsupportedPatternError(
        f"split pattern {pattern!r} leaves gaps that are to be pieces of their own, and where "
        "they end is not known to be one pattern"
    )
