"""Titles of LaTeX: the argument of a command, and its plain text."""

import re
from typing import Final
from unicodedata import normalize

from cutline.chunking.markup_blocks import MOST_TITLE

__all__ = ["argument_of", "plain_title"]

# Rows and characters in which an argument is looked for, so that none takes long.
_MOST_ROWS: Final = 20
_MOST_SOURCE: Final = 2_000
_COMMENT: Final = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_SIGN: Final = re.compile(r"\\.|[][{}]", re.S).finditer
_TOKEN: Final = re.compile(
    r"\\(?P<command>[A-Za-z]+)\*?\s*|\\(?P<escaped>.?)|(?P<formula>\$[^$]*\$)|(?P<group>[{}])"
    r"|(?P<text>[^\\${}]+)|.",
    re.S,
).finditer
_ACCENTS: Final = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306",
    ".": "\u0307", '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323",
    "c": "\u0327", "k": "\u0328", "b": "\u0331",
}  # fmt: skip
_LETTERS: Final = {
    "AA": "\u00c5", "AE": "\u00c6", "DH": "\u00d0", "DJ": "\u0110", "L": "\u0141", "NG": "\u014a",
    "O": "\u00d8", "OE": "\u0152", "S": "\u00a7", "TH": "\u00de", "aa": "\u00e5", "ae": "\u00e6",
    "dh": "\u00f0", "dj": "\u0111", "dots": "\u2026", "i": "i", "j": "j", "l": "\u0142",
    "ldots": "\u2026", "ng": "\u014b", "o": "\u00f8", "oe": "\u0153", "ss": "\u00df",
    "th": "\u00fe", "LaTeX": "LaTeX", "TeX": "TeX", "newline": " ", "quad": " ", "qquad": " ",
    "textbackslash": "\\",
}  # fmt: skip
_SPACES: Final = "\\ ,;:\n"
# Commands whose argument is no part of the title, or the first of two.
_SILENT: Final = frozenset({
    "cite", "color", "footnote", "footnotemark", "href", "hspace", "index", "label",
    "texorpdfstring", "textcolor", "thanks", "vspace",
})  # fmt: skip


def argument_of(lines: list[str], row: int, place: int) -> tuple[str, int] | None:
    """Read the argument of a command in braces, after an optional one in brackets.

    Args:
        lines: of a document.
        row: the command's.
        place: where in it the command ends.

    Returns:
        Its source without comments, and the row after it. None: there is none, or no end near.
    """
    rows = [lines[row][place : place + _MOST_SOURCE]]
    for line in lines[row + 1 : row + _MOST_ROWS]:
        if not line:
            break
        rows.append(line[:_MOST_SOURCE])
    text = "\n".join(_COMMENT.sub(r"\1", line) for line in rows)[:_MOST_SOURCE]
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] == "[" and (end := _after_group(text, start)) is not None:
        start = len(text) - len(text[end:].lstrip())
    end = _after_group(text, start) if text[start : start + 1] == "{" else None
    if end is None:
        return None
    return text[start + 1 : end - 1], row + 1 + text.count("\n", 0, end)


def _after_group(text: str, start: int) -> int | None:
    """Return the place after the group that begins at a place; None: it has no end."""
    closing, depth = {"[": "]", "{": "}"}[text[start]], 0
    for found in _SIGN(text, start + 1):
        sign = found[0]
        if sign == closing and not depth:
            return found.end()
        depth += (sign == "{") - (sign == "}")
    return None


def plain_title(source: str) -> str:
    r"""Return the source of a title as plain text: what most readers make of it.

    >>> plain_title(r"Saws \& \emph{glue}\footnote{Of 1931.}, Section~\textbf{2}")
    'Saws & glue, Section 2'
    """
    written: list[str] = [""]  # of the groups around the place, the innermost last
    waiting = [""]  # for each, what it is the argument of
    command = ""  # whose argument is next
    for found in _TOKEN(source[:MOST_TITLE]):
        kind, text = found.lastgroup, found[0]
        if kind == "group" and text == "{":
            written.append("")
            waiting.append(command)
            command = ""
        elif kind == "group":
            if len(written) > 1:
                inner, of = written.pop(), waiting.pop()
                written[-1] += _applied(of, inner)
        elif kind in ("command", "escaped"):
            name = found[kind]
            is_accent = name in _ACCENTS
            command = name if is_accent or name in _SILENT else ""
            if not is_accent:
                written[-1] += _LETTERS.get(name, "") if kind == "command" else _sign(name)
        elif text.startswith("[") and command in _SILENT:
            pass  # an optional argument
        elif kind == "text" and command in _ACCENTS:
            written[-1] += _applied(command, text)
            command = ""
        elif text.strip() or kind == "text":
            written[-1] += text.replace("~", " ") if kind == "text" else text
    for of in reversed(waiting[1:]):
        inner = written.pop()
        written[-1] += _applied(of, inner)
    return " ".join(normalize("NFC", written[0]).split())


def _applied(command: str, text: str) -> str:
    """Return what a command makes of its argument."""
    if command in _SILENT:
        return ""
    return text[:1] + _ACCENTS[command] + text[1:] if command in _ACCENTS and text else text


def _sign(escaped: str) -> str:
    return " " if escaped in _SPACES else escaped if escaped in "&%$#_{}" else ""
