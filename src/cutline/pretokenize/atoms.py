r"""Parsing one-character atoms to sets: literals, escapes, `\p{..}`, `.` and `[...]`.

Meanings are those of tiktoken's engine: `\s` is White_Space, `\w` is UTS #18's
word character, `.` is everything but a newline, and inside a class `&&` and
`--` combine their operands from left to right.
"""

import re
from collections.abc import Callable

from cutline.errors import PatternError, UnsupportedPatternError
from cutline.pretokenize.charset import CODE_POINTS, CharSet, union
from cutline.pretokenize.unicode import DIGIT, WHITE_SPACE, WORD, find_property, fold_closure

__all__ = ["MAX_PATTERN_LENGTH", "QUANTIFIER", "AtomReader"]

QUANTIFIER = re.compile(r"([?*+]|\{\d+(?:,\d*)?\}|\{,\d+\})([?+]?)")
"""A quantifier, and a sign that makes it lazy or possessive."""

_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}
_SHORTHANDS = {"s": WHITE_SPACE, "d": DIGIT, "w": WORD}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_MAX_DEPTH = 50
MAX_PATTERN_LENGTH = 1 << 16
"""Some twenty times the longest that is published."""
_NAMED_GROUP = re.compile(r"\(\?P?<[A-Za-z_]\w*>")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")


class AtomReader:
    """A cursor over a pattern that reads its one-character atoms.

    Attributes:
        pattern: the whole regular expression.
        position: offset of the next character to read.
        flags: the flags in force here. With "i", sets are closed under simple case folding; with
            "s", `.` matches a newline too.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MAX_PATTERN_LENGTH:
            raise UnsupportedPatternError(
                f"a split pattern has at most {MAX_PATTERN_LENGTH} characters, and this one has "
                f"{len(pattern)}: {pattern[:40]!r}..."
            )
        self.pattern = pattern
        self.position = 0
        self.flags: frozenset[str] = frozenset()
        self._folded: dict[CharSet, CharSet] = {}

    def invalid(self, problem: str, position: int) -> PatternError:
        """Return the error for something that no regular expression may contain."""
        return PatternError(f"{problem} at position {position} of split pattern {self.pattern!r}")

    def unsupported(self, construct: str, position: int) -> UnsupportedPatternError:
        """Return the error for a construct that is valid but not supported."""
        return UnsupportedPatternError(
            f"{construct} at position {position} of split pattern {self.pattern!r} is not supported"
        )

    def peek(self, length: int = 1) -> str:
        """Return the next characters without reading them; fewer at the end."""
        return self.pattern[self.position : self.position + length]

    def accept(self, text: str) -> bool:
        """Read `text` if it comes next; return whether it did."""
        found = self.pattern.startswith(text, self.position)
        self.position += len(text) * found
        return found

    def read_opening(
        self, plain: tuple[str, ...], refusal: Callable[[str, int], PatternError]
    ) -> str | re.Match[str]:
        """Read the opening of a group; captures are not kept. Flags are found, not read.

        Args:
            plain: the known openings.
            refusal: `invalid` or `unsupported`, for unknown openings.
        """
        for opening in plain:
            if self.accept(opening):
                return opening
        if named := _NAMED_GROUP.match(self.pattern, self.position):
            self.position = named.end()
            return "(?:"
        if flags := self.find_flags():
            return flags
        if self.peek(2) in ("(?", "(*"):
            raise refusal(f"unknown group {self.peek(3)!r}", self.position)
        self.position += 1
        return "(?:"

    def find_flags(self) -> re.Match[str] | None:
        """Find flags here: groups are letters to set, letters to clear, and ":" or ")"."""
        return _FLAGS.match(self.pattern, self.position)

    def apply_flags(self, found: re.Match[str], known: str) -> None:
        """Read the flags that `find_flags` has found.

        Raises:
            UnsupportedPatternError: one is not among the known ones.
        """
        to_set, to_clear = found[1], found[2] or ""
        for letter in to_set + to_clear:
            if letter not in known:
                raise self.unsupported(f"flag {letter!r}", found.start())
        self.flags = self.flags.union(to_set).difference(to_clear)
        self.position = found.end()

    def read_atom(self) -> CharSet:
        """Read one atom; the caller knows that one starts here."""
        character = self.peek()
        if character == "[":
            return self._read_class(depth=0)
        if character == "\\":
            return self._read_escape()[0]
        self.position += 1
        if character == ".":
            newline = CharSet.of("\n")
            return newline | ~newline if "s" in self.flags else ~newline
        return self._fold(self._single(ord(character), self.position - 1))

    def _fold(self, characters: CharSet) -> CharSet:
        if "i" not in self.flags:
            return characters
        if characters not in self._folded:
            self._folded[characters] = fold_closure(characters)
        return self._folded[characters]

    def _single(self, code_point: int, position: int) -> CharSet:
        if 0xD800 <= code_point < 0xE000 or code_point >= CODE_POINTS:
            raise self.invalid(f"U+{code_point:04X} is not a Unicode scalar value", position)
        return CharSet.from_ranges([(code_point, code_point + 1)])

    def _read_escape(self) -> tuple[CharSet, int | None]:
        """Read a backslash escape: its set, and its code point if it stands for one."""
        start = self.position
        letter = self.pattern[start + 1 : start + 2]
        if not letter:
            raise self.invalid("a backslash ends the pattern", start)
        self.position += 2
        if letter in "pP":
            return self._read_property(start, negated=letter == "P"), None
        if letter.lower() in _SHORTHANDS:
            found = find_property(_SHORTHANDS[letter.lower()])
            assert found is not None
            folded = self._fold(found)
            return (~folded if letter.isupper() else folded), None
        code_point = self._escaped_code_point(letter, start)
        return self._fold(self._single(code_point, start)), code_point

    def _escaped_code_point(self, letter: str, start: int) -> int:
        if letter in _CONTROLS:
            return ord(_CONTROLS[letter])
        if letter in _HEX_DIGITS:
            return self._read_hex(start, _HEX_DIGITS[letter])
        if letter == "0" and not re.match("[0-7]", self.peek()):
            return 0
        if letter.isalnum() or letter in "<>":
            raise self.unsupported(f"escape '\\{letter}'", start)
        return ord(letter)

    def _read_hex(self, start: int, digits: int) -> int:
        wanted = rf"\{{([0-9A-Fa-f]{{1,8}})\}}|([0-9A-Fa-f]{{{digits}}})"
        found = re.compile(wanted).match(self.pattern, self.position)
        if found is None:
            raise self.invalid(f"expected {digits} hexadecimal digits or {{..}} in escape", start)
        self.position = found.end()
        return int(found.group(1) or found.group(2), 16)

    def _read_property(self, start: int, *, negated: bool) -> CharSet:
        found = re.compile(r"\{(\^?)([^{}]+)\}|()([A-Za-z])").match(self.pattern, self.position)
        if found is None:
            raise self.invalid("expected a property name after '\\p'", start)
        self.position = found.end()
        name = found.group(2) or found.group(4)
        name, unequal, value = name.partition("!=")
        characters = find_property(f"{name}={value}" if unequal else name)
        if characters is None:
            raise self.unsupported(f"unknown property {name!r}", start)
        folded = self._fold(characters)
        inverted = negated ^ bool(found.group(1)) ^ bool(unequal)
        return ~folded if inverted else folded

    def _read_class(self, depth: int) -> CharSet:
        """Read `[...]`, with nested classes and set operations."""
        start = self.position
        if depth > _MAX_DEPTH:
            raise self.unsupported("a class nested too deeply", start)
        self.position += 1
        negated = self.accept("^")
        items = []
        while self.accept("-"):
            items.append(CharSet.of("-"))
        if not items and self.accept("]"):
            items.append(CharSet.of("]"))
        result: CharSet | None = None
        operator = ""
        while not self.accept("]"):
            ahead = self.peek(2)
            if ahead in ("&&", "--", "]", ""):
                result = _combine(result, operator, union(items))
                operator, items = ahead, []
                self.position += len(ahead)
                if not ahead:
                    raise self.invalid("class '[' is not closed, opened", start)
            elif ahead == "~~" or (ahead == "[:" and ":]" in self.pattern[self.position :]):
                raise self.unsupported(f"{ahead!r} in a class", self.position)
            elif ahead[0] == "[":
                items.append(self._read_class(depth + 1))
            else:
                items.append(self._read_class_item())
        result = _combine(result, operator, union(items))
        return ~result if negated else result

    def _read_class_item(self) -> CharSet:
        """Read a character, a range or an escape inside a class."""
        start = self.position
        characters, first = self._read_class_atom()
        ahead = self.peek(2)
        if ahead[:1] != "-" or ahead in ("--", "-]"):
            return characters
        self.position += 1
        _, last = self._read_class_atom()
        if first is None or last is None:
            raise self.unsupported("a range to or from a set", start)
        if first > last:
            raise self.invalid(f"reversed range {chr(first)!r} to {chr(last)!r}", start)
        return self._fold(CharSet.from_ranges([(first, last + 1)]))

    def _read_class_atom(self) -> tuple[CharSet, int | None]:
        character = self.peek()
        if character == "\\":
            return self._read_escape()
        if character in ("[", ""):
            raise self.invalid("expected the end of a range", self.position)
        self.position += 1
        single = self._single(ord(character), self.position - 1)
        return self._fold(single), ord(character)


def _combine(left: CharSet | None, operator: str, right: CharSet) -> CharSet:
    if left is None:
        return right
    return left & right if operator == "&&" else left - right
