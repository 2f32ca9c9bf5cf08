r"""Split patterns in the dialect of Oniguruma, the engine behind `tokenizers`.

The same pattern can have another meaning there: `$` also matches before a newline,
`\p{N}{1,3}+` repeats its repetition instead of being possessive, `\w` is another set (and yet
another one inside a class), `(?s:.)` is written `(?m:.)`, and `(?i:ss)` matches U+00DF. So only
constructs that are known to agree are copied, a few are written differently, and the rest is
refused. Both engines have the classes of Unicode 16; the tests compare them.
"""

import re
from functools import cache
from typing import Final

from cutline.pretokenize.atoms import QUANTIFIER, AtomReader
from cutline.pretokenize.pattern import parse_pattern
from cutline.pretokenize.unicode import script_names

__all__ = ["from_oniguruma", "from_oniguruma_for_search", "to_oniguruma"]

_PROPERTIES: Final = (
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po "
    "S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cn Co "
    "Letter Mark Number Punctuation Symbol Separator Other "
    "Alphabetic Uppercase Lowercase White_Space"
)
_WORD: Final = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
r"""The members of `\w` here, for Oniguruma."""

_WORD_IN_CLASS: Final = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"
r"""The members of `[\w]` there; `\w` alone has a few numbers of Latin-1 besides."""

_WORD_ALONE: Final = _WORD_IN_CLASS + r"\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}"
_HEX = "[0-9A-Fa-f]"
_ESCAPE = re.compile(
    r"\\(?:([pP])(?:\{(\^?)(?:sc=|[Ss]cript=)?([^{}]*)\}|([A-Za-z]))"
    rf"|[xuU]\{{({_HEX}+)\}}|(x{_HEX}{{2}}|u{_HEX}{{4}}|U{_HEX}{{8}})|(.))",
    re.DOTALL,
)
_KEPT_LETTERS = frozenset("sSdDnrtfvae")
_FOLDED_IN_PAIRS = frozenset("sSfF")  # ss, st, ff, fi, fl fold to one character
_SEARCHED: Final = {
    "^": r"(?:\A|(?<=\n)(?=[\s\S]))",
    r"\A": r"\A",
    r"\Z": r"\Z",
    r"\G": r"\G",
    r"\b": f"(?:(?<=[{_WORD_ALONE}])(?![{_WORD_ALONE}])|(?<![{_WORD_ALONE}])(?=[{_WORD_ALONE}]))",
    r"\B": f"(?:(?<=[{_WORD_ALONE}])(?=[{_WORD_ALONE}])|(?<![{_WORD_ALONE}])(?![{_WORD_ALONE}]))",
}
"""Anchors there that look behind, and what they are for a search here: there it is the same."""


@cache
def _same_properties() -> frozenset[str]:
    return frozenset([*_PROPERTIES.split(), *script_names()])


def to_oniguruma(pat_str: str) -> str:
    r"""Write a split pattern for Oniguruma.

    Raises:
        PatternError: not a regular expression.
        UnsupportedPatternError: outside the subset that compiles to an automaton, or with a
            construct that is not known to mean the same there; names it and its position.

    >>> to_oniguruma(r"\p{N}{1,3}+|\s++$|(?s:.)")
    '(?>\\p{N}{1,3})|\\s++\\z|(?m:.)'
    """
    parse_pattern(pat_str)
    return _Translator(pat_str, to_oniguruma=True).translate()


def from_oniguruma(pattern: str) -> str:
    r"""Read a pattern of Oniguruma: the inverse, except that `\w` and such are spelled differently.

    Raises:
        PatternError: not a regular expression.
        UnsupportedPatternError: as `to_oniguruma`.

    >>> from_oniguruma(r"(?>\p{N}{1,3})|\p{L}{2}+|\s++\z")
    '\\p{N}{1,3}+|(?:\\p{L}{2})+|\\s++$'
    """
    pat_str = _Translator(pattern, to_oniguruma=False).translate()
    parse_pattern(pat_str)
    return pat_str


def from_oniguruma_for_search(pattern: str) -> str:
    r"""Read a pattern of Oniguruma that may have no automaton, for the `regex` module.

    It may have look-behind, longer look-ahead, anchors, and lazy quantifiers, and match the empty
    string.

    Raises:
        PatternError: not a regular expression.
        UnsupportedPatternError: it has a construct that is not known to mean the same.

    >>> from_oniguruma_for_search(r"(?<=a)b+?(?=cd)")
    '(?<=a)b+?(?=cd)'
    """
    from cutline.pretokenize.rewriting import splitter  # imports `regex`

    pat_str = _Translator(pattern, to_oniguruma=False, compiles=False).translate()
    splitter(pat_str)
    return pat_str


class _Translator:
    """One walk over a pattern that copies, rewrites or refuses each construct."""

    def __init__(self, pattern: str, *, to_oniguruma: bool, compiles: bool = True) -> None:
        self.reader = AtomReader(pattern)
        self.outward = to_oniguruma
        self.compiles = compiles
        self.parts: list[str] = []
        # For each open group: its index in parts, and the flags outside it.
        self.outer: list[tuple[int, frozenset[str]]] = []

    def translate(self) -> str:
        reader, parts, outer = self.reader, self.parts, self.outer
        primary = 0  # index in parts of what a quantifier would repeat
        while character := reader.peek():
            if character == "(":
                outer.append((len(parts), reader.flags))
                opening = self.opening()
                if opening.endswith(")"):  # flags for the whole pattern
                    outer.pop()
                parts.append(opening)
            elif character == ")" and outer:
                start, reader.flags = outer.pop()
                reader.position += 1
                self.close(start, primary)
                primary = start
            elif character == "|":
                reader.position += 1
                parts.append("|")
            elif found := QUANTIFIER.match(reader.pattern, reader.position):
                self.quantify(found, primary)
            else:
                primary = len(parts)
                parts.append(self.anchor() or self.atom())
        return "".join(parts)

    def opening(self) -> str:
        """Read the opening of a group; capturing groups become plain ones."""
        plain: tuple[str, ...] = ("(?:", "(?=", "(?!", "(?>")
        if not self.compiles:
            plain = (*plain, "(?<=", "(?<!")
        opening = self.reader.read_opening(plain, self.reader.unsupported)
        return opening if isinstance(opening, str) else self.flags(opening)

    def close(self, start: int, primary: int) -> None:
        """Close a group; an atomic one around a braced quantifier becomes possessive."""
        parts, reader = self.parts, self.reader
        in_braces = primary == start + 1 and re.fullmatch(r"\{[\d,]+\}", parts[-1])
        repeated = QUANTIFIER.match(reader.pattern, reader.position)
        if not self.outward and parts[start] == "(?>" and in_braces and not repeated:
            parts[start] = ""
            parts[-1] += "+"
        else:
            parts.append(")")

    def flags(self, found: re.Match[str]) -> str:
        reader = self.reader
        if found[3] == ")" and found.start():
            raise reader.unsupported("flags after the start", found.start())
        dot_all, there = ("s", "m") if self.outward else ("m", "s")
        reader.apply_flags(found, f"i{dot_all}")
        return found.group().replace(dot_all, there)

    def quantify(self, found: re.Match[str], primary: int) -> None:
        """Copy a quantifier; Oniguruma has no possessive form of one with braces."""
        count, suffix = found.groups()
        is_one_or_none = count.startswith("{") and "," not in count  # as Ruby has {n}?
        if suffix == "?" and (self.compiles or is_one_or_none):
            raise self.reader.unsupported(f"lazy quantifier {found.group()!r}", found.start())
        self.reader.position = found.end()
        if suffix == "+" and count.startswith("{"):
            self.parts.insert(primary, "(?>" if self.outward else "(?:")
            self.parts.append(f"{count})" if self.outward else f"{count})+")
        else:
            self.parts.append(found.group())

    def anchor(self) -> str:
        """Read an anchor; "" if none comes next."""
        reader = self.reader
        if not self.compiles:
            for anchor, searched in _SEARCHED.items():
                if reader.accept(anchor):
                    return searched
        if reader.peek() == "^":
            raise reader.unsupported("anchor '^'", reader.position)
        if reader.accept("$"):
            return r"\z" if self.outward else r"(?![^\n])"
        if not self.outward and reader.accept(r"\z"):
            return "$"
        return ""

    def atom(self) -> str:
        """Read a one-character atom."""
        reader = self.reader
        start = reader.position
        reader.read_atom()
        source = reader.pattern[start : reader.position]
        if "i" in reader.flags:
            self.check_folding(source, start)
        if source in ("{", "}", "]"):
            return f"\\{source}"
        if source[0] == "[" and ("--" in source or "~~" in source):
            raise reader.unsupported(f"a set operation in '{source}'", start)
        return _ESCAPE.sub(lambda found: self.escape(found, start, source[0] == "["), source)

    def check_folding(self, source: str, start: int) -> None:
        """Refuse atoms that may match several characters under case folding."""
        reader = self.reader
        simple = source.isascii() and "\\" not in source
        if not simple or source.startswith("[^"):
            raise reader.unsupported(f"'{source}' where case is ignored", start)
        leaves = bool(self.outer) and "i" not in self.outer[-1][1]
        alone = reader.peek() in ("", "|") or (leaves and reader.peek() == ")")
        if source in _FOLDED_IN_PAIRS and not alone:
            raise reader.unsupported(
                f"{source!r} before {reader.peek()!r} where case is ignored", start
            )

    def escape(self, found: re.Match[str], start: int, in_class: bool) -> str:
        """Copy an escape, spelled so that both engines read it alike."""
        kind, inverted, name, letter, braced, digits, other = found.groups()
        if kind:
            if (name or letter) not in _same_properties():
                raise self.reader.unsupported(f"property '{found.group()}'", start)
            return f"\\{kind}{{{inverted or ''}{name or letter}}}"
        if braced or digits:
            if not self.outward and digits and digits[0] == "x" and int(digits[1:], 16) > 0x7F:
                raise self.reader.unsupported(f"byte '{found.group()}'", start)
            return f"\\x{{{braced or digits[1:]}}}"
        if other in ("w", "W"):
            members = _WORD if self.outward else _WORD_IN_CLASS if in_class else _WORD_ALONE
            inside = in_class and other == "w"
            return members if inside else f"[{'^' if other == 'W' else ''}{members}]"
        if other.isalnum() and other not in _KEPT_LETTERS:
            raise self.reader.unsupported(f"escape '{found.group()}'", start)
        return found.group()
