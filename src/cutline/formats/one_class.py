"""Patterns of a `tokenizer.json` that match one character of a class, or a run of such."""

from typing import Any, NamedTuple

from cutline.errors import PatternError
from cutline.pretokenize.oniguruma import from_oniguruma
from cutline.pretokenize.pattern import Chars, Repeat, parse_pattern

__all__ = ["OneClass", "literal", "read_class"]


class OneClass(NamedTuple):
    """What such a pattern matches.

    Attributes:
        members: the class as a split pattern writes it.
        are_runs: a match is as many of them as there are, instead of one.
    """

    members: str
    are_runs: bool


def read_class(pattern: Any) -> OneClass | None:
    r"""Read the field "pattern" of a Split or a Replace; None: it is another pattern.

    >>> read_class({"Regex": "[0-9]+"}), read_class({"String": "-"}), read_class({"Regex": "ab"})
    (OneClass(members='[0-9]', are_runs=True), OneClass(members='\\x{2D}', are_runs=False), None)
    """
    match pattern:
        case {"String": str() as text} if len(text) == 1:
            return OneClass(literal(text), are_runs=False)
        case {"Regex": str() as written}:
            try:
                tree = parse_pattern(from_oniguruma(written))
            except PatternError:
                return None
            match tree:
                case Chars(_, source) if not source.startswith("(?"):  # flags
                    return OneClass(source, are_runs=False)
                case Repeat(Chars(_, source), 1, None) if not source.startswith("(?"):
                    return OneClass(source, are_runs=True)
    return None


def literal(text: str) -> str:
    """Write a pattern that matches a text."""
    return "".join(rf"\x{{{ord(character):X}}}" for character in text)
