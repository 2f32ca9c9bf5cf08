"""What a pattern leaves unmatched, as further options of the pattern.

A splitting that keeps such text makes a piece of it: from one match to the next. That is a
pattern wherever it is known, from a character and at most the one after it, whether a match
starts there.
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
    """Add to a pattern what matches the text that it leaves out.

    Args:
        pattern: for runs of a class of characters, in a longer text.
        seen: the class.

    Returns:
        The pattern, which leaves nothing out of such runs.

    Raises:
        UnsupportedPatternError: text is left out that cannot be told by two characters.
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
    """Tell whether at every character of a class a match starts, whatever follows."""
    others = "" if seen == ANY else f"|[^{seen.source}]"
    return not compile_pattern(pattern + others).has_gaps


def _with_unsure(tables: Tables, gaps: CharSet, unsure: list[int], names: "_Names") -> str:
    """Match text between matches of which some start with an option such as a blank.

    A gap goes on over characters that start no match, and over unsure ones unless the next
    character confirms that one starts. So of the longest run of both, all is a gap, but for
    an unsure character at its end with such a next one.
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
    """Writes sets of characters, the way a pattern does where it has the same one."""

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
    """Yield the sets of a pattern that can be written within others."""
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
