"""Restricting a pattern to runs of some characters, as if there were no others.

If an earlier splitting has cut the text into runs of a class of characters, a later one sees each
run as a separate text. To match the same in the whole text, a pattern must have the other
characters removed from its sets, and treat them as the end of the text.
"""

from dataclasses import dataclass

from cutline.pretokenize.charset import CharSet
from cutline.pretokenize.pattern import Chars, Choice, LookAhead, Node, Repeat, Sequence

__all__ = ["ANY", "CharClass", "restrict", "write_ranges"]


@dataclass(frozen=True, slots=True)
class CharClass:
    """A set of characters, with its source as an atom such as `[a-z]`."""

    chars: CharSet
    source: str

    def __and__(self, other: "CharClass") -> "CharClass":
        both = self.chars & other.chars
        for one in (self, other):
            if one.chars == both:
                return one
        return CharClass(both, f"[{self.source}&&{other.source}]")

    def __invert__(self) -> "CharClass":
        return CharClass(~self.chars, f"[^{self.source}]")


def restrict(tree: Node, seen: CharClass) -> str:
    """Write a pattern for runs of a class in a longer text.

    Args:
        tree: the pattern for a text of such characters only.
        seen: the class; matches have no other character.

    Returns:
        The pattern; "" if it can match nothing.
    """
    return _write(tree, seen) or ""


def _write(tree: Node, seen: CharClass) -> str | None:
    """Write a part; None if it cannot match."""
    match tree:
        case Chars(chars, source):
            return _write_chars(chars, source, seen)
        case Sequence(parts):
            written = [_write(part, seen) for part in parts]
            grouped = [
                _grouped(text) if isinstance(part, Choice) and text is not None else text
                for part, text in zip(parts, written, strict=True)
            ]
            return None if None in grouped else "".join(filter(None, grouped))
        case Choice(options):
            possible = [text for one in options if (text := _write(one, seen)) is not None]
            return "|".join(possible) if possible else None
        case Repeat(body, minimum, maximum, possessive):
            inner = _write(body, seen)
            if inner is None:
                return "" if minimum == 0 else None
            if not isinstance(body, Chars):
                inner = _grouped(inner)
            return inner + _quantifier(minimum, maximum) + "+" * possessive
        case LookAhead(chars, at_end, _, source):
            return _write_look_ahead(chars, at_end, source, seen)


def _grouped(text: str) -> str:
    return f"(?:{text})"


def _write_chars(chars: CharSet, source: str, seen: CharClass) -> str | None:
    both = chars & seen.chars
    if not len(both):
        return None
    if both == chars:
        return source
    if both == seen.chars:
        return seen.source
    if source.startswith("(?s:"):
        source = r"[\s\S]"
    elif source.startswith("(?i:"):
        source = write_ranges(chars)
    elif source == ".":
        source = r"[^\n]"
    return f"[{source}&&{seen.source}]"


def _write_look_ahead(chars: CharSet, at_end: bool, source: str, seen: CharClass) -> str | None:
    """Write a look-ahead; characters outside the class count as the end."""
    if not at_end:
        written = _write_chars(chars, source, seen)
        return f"(?={written})" if written is not None else None
    if not source:  # '$'
        return f"(?!{seen.source})" if len(seen.chars) < len(ANY.chars) else "$"
    written = _write_chars(~chars, source, seen)
    return f"(?!{written})" if written is not None else ""


def _quantifier(minimum: int, maximum: int | None) -> str:
    simple = {(0, 1): "?", (0, None): "*", (1, None): "+", (1, 1): "{1}"}
    if (minimum, maximum) in simple:
        return simple[minimum, maximum]
    if maximum is None:
        return f"{{{minimum},}}"
    return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


def write_ranges(chars: CharSet) -> str:
    """Write a set as an atom with all its ranges."""
    return "[" + "".join(f"\\x{{{a:X}}}-\\x{{{b - 1:X}}}" for a, b in chars.ranges()) + "]"


ANY = CharClass(CharSet.from_ranges([(0, 0x110000)]), r"[\s\S]")
