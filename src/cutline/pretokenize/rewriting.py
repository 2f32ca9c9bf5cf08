r"""Rewriting split patterns so that the `regex` module finds tiktoken's matches.

The module has another Unicode version than tiktoken's engine, other case folding,
and other meanings of `$`, `&&` and `\h`. So it never sees the text: every
one-character atom of the pattern becomes a set of character classes (classes.py),
every character of the text becomes a private-use character for its class, and the
module only does what engines agree on: sequence, choice, repetition, look-around.
Offsets are unchanged, since each character becomes one character.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import regex
from numpy.typing import NDArray

from cutline.errors import PatternError
from cutline.pretokenize.atoms import QUANTIFIER, AtomReader
from cutline.pretokenize.charset import CharSet, union
from cutline.pretokenize.classes import block_tables, partition
from cutline.pretokenize.compiled import BLOCK_SIZE
from cutline.pretokenize.unicode import WORD, find_property

__all__ = ["Splitter", "splitter"]

_MAX_DEPTH = 63  # as in tiktoken's engine; `regex` parses groups recursively
# Compile time of `regex` doubles with each nested repetition.
_MAX_REPEATS = 8
# Characters of the pattern with each repetition {n} written out: `regex` writes it out, too.
_MAX_WRITTEN_OUT = 100_000
_COUNT_DIGITS = 40  # of more the pattern parser says that they are too many
_COUNTS = re.compile(r"\d+")
_FIRST_CLASS = 0xE000  # class 0 is written as this private-use character
_PLAIN_OPENINGS = ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>")
_FLAGS = "imsu"

_Part = str | CharSet
_NEWLINE = CharSet.of("\n")


@dataclass(frozen=True, slots=True)
class Splitter:
    """A pattern over classes, and the table that turns code points into classes.

    Attributes:
        expression: the pattern; one private-use character stands for each class.
        block_index: uint16: block number by code point >> 6.
        block_class: uint32, shape (64 * blocks,): class by block and code point & 63.
    """

    expression: "regex.Pattern[str]"
    block_index: NDArray[np.uint16]
    block_class: NDArray[np.uint32]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Find all matches, as half-open code-point offsets."""
        return [match.span() for match in self.expression.finditer(self.write(text))]

    def write(self, text: str) -> str:
        """Write a text's classes, which the expression is for."""
        encoded = text.encode("utf-32-le", "surrogatepass")
        points = np.frombuffer(encoded, dtype="<u4").astype(np.uint32)
        blocks = self.block_index[points >> 6].astype(np.int64)
        classes = self.block_class[blocks * BLOCK_SIZE + (points & 63)] + _FIRST_CLASS
        written: bytes = classes.astype("<u4").tobytes()
        return written.decode("utf-32-le")


@lru_cache(maxsize=32)
def splitter(pattern: str) -> Splitter:
    """Rewrite a split pattern over classes.

    Raises:
        PatternError, UnsupportedPatternError: as `regex_spans`.
    """
    parts = _Rewriter(pattern).parts()
    sets = list(dict.fromkeys(part for part in parts if isinstance(part, CharSet)))
    found = partition(sets)
    rows = dict(zip(sets, found.members, strict=True))
    written = "".join(p if isinstance(p, str) else _write_set(rows[p]) for p in parts)
    try:
        expression = regex.compile(written)
    except regex.error as error:
        raise PatternError(f"split pattern {pattern!r} is invalid: {error.msg}") from error
    block_index, block_class = block_tables(found.starts, found.classes.astype(np.uint32))
    return Splitter(expression, block_index, block_class)


def _write_set(members: NDArray[np.bool_]) -> str:
    """Return the set of classes as a regular expression for one character."""
    classes = (np.flatnonzero(members) + _FIRST_CLASS).tolist()
    return f"[{''.join(map(chr, classes))}]" if classes else "(?:(?!))"


class _Rewriter:
    """Splits a pattern into literal syntax and sets of characters."""

    def __init__(self, pattern: str) -> None:
        self.reader = AtomReader(pattern)

    def parts(self) -> list[_Part]:
        reader = self.reader
        parts: list[_Part] = []
        outer: list[frozenset[str]] = []
        # Nesting depth of repetitions: in each open group, and in the part just read.
        repeats, just_read = [0], 0
        sizes, size = [0], 0  # written out: of each open group, and of the part just read
        while character := reader.peek():
            begun, just_read = just_read, 0
            repeated, size = size, 1
            if character == "(":
                if len(outer) == _MAX_DEPTH:
                    raise reader.unsupported("a group nested too deeply", reader.position)
                outer.append(reader.flags)
                opening = self.opening()
                if opening:
                    repeats.append(0)
                    sizes.append(0)
                else:
                    outer.pop()
                parts.append(opening)
            elif character == ")":
                if not outer:
                    raise reader.invalid("unmatched ')'", reader.position)
                reader.flags = outer.pop()
                reader.position += 1
                parts.append(")")
                just_read = repeats.pop()
                repeats[-1] = max(repeats[-1], just_read)
                size = sizes.pop()
            elif found := QUANTIFIER.match(reader.pattern, reader.position):
                if begun == _MAX_REPEATS:
                    raise reader.unsupported("a repetition nested too deeply", reader.position)
                repeats[-1] = max(repeats[-1], begun + 1)
                reader.position = found.end()
                parts.append(found.group())
                size = repeated * (_most_repeats(found[1]) - 1)
            elif reader.accept("|"):
                parts.append("|")
            else:
                parts.extend(self.assertion() or [reader.read_atom()])
            sizes[-1] += size
            if sizes[-1] > _MAX_WRITTEN_OUT:
                raise reader.unsupported(
                    f"a repetition that makes more than {_MAX_WRITTEN_OUT} parts", reader.position
                )
        return parts

    def opening(self) -> str:
        """Read the opening of a group; "" for flags that apply from here on."""
        opening = self.reader.read_opening(_PLAIN_OPENINGS, self.reader.unsupported)
        if isinstance(opening, str):
            return opening
        self.reader.apply_flags(opening, _FLAGS)
        return "" if opening[3] == ")" else "(?:"

    def assertion(self) -> list[_Part]:
        """Read an anchor or a word boundary; nothing if none comes next."""
        reader = self.reader
        multi_line = "m" in reader.flags
        ahead = reader.peek(2)
        simple: dict[str, list[_Part]] = {
            r"\A": [r"\A"],
            r"\G": [r"\G"],
            r"\z": [r"\Z"],
            r"\Z": ["(?=", _NEWLINE, r"?\Z)"],
            r"\b": _boundary("(?!", "(?="),
            r"\B": _boundary("(?=", "(?!"),
        }
        if ahead in simple:
            reader.position += 2
            return simple[ahead]
        if reader.accept("^"):
            return ["(?:\\A|(?<=", _NEWLINE, "))"] if multi_line else [r"\A"]
        if reader.accept("$"):
            return ["(?=", _NEWLINE, r"|\Z)"] if multi_line else [r"\Z"]
        return []


def _most_repeats(count: str) -> int:
    """Return how often a quantifier writes out its part: at most as often as its largest number."""
    return max((int(number) for number in _COUNTS.findall(count[:_COUNT_DIGITS])), default=1)


def _boundary(after_word: str, after_other: str) -> list[_Part]:
    """Match where word characters are on one side only (or, inverted, on both or none)."""
    word = find_property(WORD) or union([])
    return ["(?:(?<=", word, ")", after_word, word, ")|(?<!", word, ")", after_other, word, "))"]
