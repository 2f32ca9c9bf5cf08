"""Parsing a split pattern: from regular expression to syntax tree.

The subset is that of an automaton without look-behind: alternation,
groups, one-character atoms, greedy and possessive quantifiers, and a
one-character look-ahead. Everything else is refused, with its name and position.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from cutline.pretokenize.atoms import QUANTIFIER, AtomReader
from cutline.pretokenize.charset import CharSet, union

__all__ = ["Chars", "Choice", "LookAhead", "Node", "Repeat", "Sequence", "parse_pattern"]

_MAX_DEPTH = 50
_MAX_QUANTIFIER = len("{999999999,999999999}")
_FLAGS = "isu"
_REFUSED_GROUPS = {
    "(?<=": "look-behind '(?<='",
    "(?<!": "look-behind '(?<!'",
    "(?P=": "back-reference '(?P='",
    "(?(": "condition '(?('",
    "(?#": "comment '(?#'",
    "(?|": "branch reset '(?|'",
    "(?&": "subroutine call '(?&'",
    "(?R": "recursion '(?R'",
}


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set; `source` is its text in the pattern, without flags."""

    chars: CharSet
    source: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sequence:
    """A concatenation of parts."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives, in order of preference."""

    options: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A body, repeated as often as possible; `maximum` None is no limit.

    An atomic group is the possessive repetition {1,1}.
    """

    body: "Node"
    minimum: int
    maximum: int | None
    possessive: bool
    position: int


@dataclass(frozen=True, slots=True)
class LookAhead:
    """A condition on the next character, which is not part of the match.

    `$` is no character or the end of the text; `(?!x)` any but x, or the end. `source` is
    the text of x in the pattern, "" for `$`.
    """

    chars: CharSet
    at_end: bool
    position: int
    source: str = field(default="", compare=False, repr=False)


Node = Chars | Sequence | Choice | Repeat | LookAhead


@lru_cache(maxsize=32)
def parse_pattern(pattern: str) -> Node:
    """Parse a split pattern. Reading one from a file asks for the same tree several times.

    Args:
        pattern: the regular expression, as in `tiktoken.Encoding(pat_str=...)`.

    Returns:
        The tree's root.

    Raises:
        PatternError: not a regular expression.
        UnsupportedPatternError: valid but outside the subset.

    >>> parse_pattern("a|b{2,}")
    Choice(options=(Chars(chars=<CharSet of 1: 61-61>), Repeat(body=Chars(chars=<CharSet of 1: \
62-62>), minimum=2, maximum=None, possessive=False, position=2)))
    """
    return _Parser(pattern).parse()


class _Parser:
    """Recursive descent over one pattern."""

    def __init__(self, pattern: str) -> None:
        self.reader = AtomReader(pattern)
        self.depth = 0

    def parse(self) -> Node:
        while (flags := self.reader.find_flags()) and flags[3] == ")":
            self.reader.apply_flags(flags, _FLAGS)
        tree = self._choice()
        if self.reader.peek():
            raise self.reader.invalid("unmatched ')'", self.reader.position)
        return tree

    def _choice(self) -> Node:
        options = [self._sequence()]
        while self.reader.accept("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.reader.peek() not in ("", "|", ")"):
            parts.append(self._quantified())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _quantified(self) -> Node:
        reader = self.reader
        position = reader.position
        if reader.peek() in ("?", "*", "+"):
            raise reader.invalid("nothing to repeat", position)
        body = self._primary()
        found = QUANTIFIER.match(reader.pattern, reader.position)
        if found is None:
            return body
        count, suffix = found.groups()
        if isinstance(body, LookAhead):
            raise reader.unsupported("a repeated look-ahead", position)
        if len(count) > _MAX_QUANTIFIER:
            raise reader.invalid("a repetition count far too large", reader.position)
        minimum, maximum = _bounds(count)
        if maximum is not None and minimum > maximum:
            raise reader.invalid(f"repetition {count!r} is reversed", found.start())
        if suffix == "?":
            raise reader.unsupported(f"lazy quantifier {found.group()!r}", found.start())
        reader.position = found.end()
        if QUANTIFIER.match(reader.pattern, reader.position):
            raise reader.invalid("multiple repeat", reader.position)
        return Repeat(body, minimum, maximum, suffix == "+", position)

    def _primary(self) -> Node:
        reader = self.reader
        if reader.peek() == "(":
            return self._group()
        if reader.peek() == "^":
            raise reader.unsupported("anchor '^'", reader.position)
        if reader.accept("$"):
            return LookAhead(union([]), at_end=True, position=reader.position - 1)
        position = reader.position
        chars = reader.read_atom()
        return Chars(chars, self._source(reader.pattern[position : reader.position]))

    def _source(self, written: str) -> str:
        """Write an atom so that it means the same without the flags around it."""
        if "i" in self.reader.flags and (written.isalpha() or len(written) > 1):
            return f"(?i:{written})"
        return "(?s:.)" if written == "." and "s" in self.reader.flags else written

    def _group(self) -> Node:
        reader = self.reader
        start = reader.position
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise reader.unsupported("a group nested too deeply", start)
        outer = reader.flags
        opening = self._open_group()
        body = self._choice()
        if not reader.accept(")"):
            raise reader.invalid("group '(' is not closed, opened", start)
        self.depth -= 1
        reader.flags = outer
        if opening == "(?>":
            return _atomic(body, start)
        if opening not in ("(?=", "(?!"):
            return body
        if not isinstance(body, Chars):
            raise reader.unsupported(f"look-ahead {opening!r} at more than one character", start)
        negative = opening == "(?!"
        chars = ~body.chars if negative else body.chars
        return LookAhead(chars, at_end=negative, position=start, source=body.source)

    def _open_group(self) -> str:
        """Read the opening of a group, apply its flags, and return it."""
        reader = self.reader
        for opening, name in _REFUSED_GROUPS.items():
            if reader.peek(len(opening)) == opening:
                raise reader.unsupported(name, reader.position)
        found = reader.read_opening(("(?:", "(?=", "(?!", "(?>"), reader.invalid)
        if isinstance(found, str):
            return found
        if found[3] == ")":
            raise reader.unsupported("flags after the start", reader.position)
        reader.apply_flags(found, _FLAGS)
        return "(?:"


def _bounds(count: str) -> tuple[int, int | None]:
    """Return minimum and maximum of a quantifier."""
    simple: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
    if count in simple:
        return simple[count]
    at_least, comma, at_most = count[1:-1].partition(",")
    if not comma:
        return int(at_least), int(at_least)
    return int(at_least or 0), int(at_most) if at_most else None


def _atomic(body: Node, position: int) -> Node:
    """Return an atomic group; around a repeated character it is a possessive quantifier."""
    if isinstance(body, Chars):
        return body
    if isinstance(body, Repeat) and isinstance(body.body, Chars):
        return Repeat(body.body, body.minimum, body.maximum, True, body.position)
    return Repeat(body, 1, 1, True, position)
