"""Forms of a language that its grammar does not know, written as it knows them."""

import re
from typing import Final

__all__ = ["as_grammar_knows"]


def _blank(found: re.Match[bytes]) -> bytes:
    return b" " * len(found[0].decode())


# In INI files `key: value`; then keys alone, and lines that continue a value.
_FORMS: Final = {
    "ini": (
        (re.compile(rb"(?m)^([^\s#;\[=:][^\n=:]*):"), rb"\1="),
        (re.compile(rb"(?m)^[ \t]*[^\s#;\[=][^\n=]*$"), _blank),
    )
}


def as_grammar_knows(source: bytes, language: str) -> bytes:
    r"""Return a source of as many characters, in which every line is at its place.

    Cost: linear.

    >>> as_grammar_knows(b"[tool]\nwidth: 3\nfiles =\n  a.py\n", "ini")
    b'[tool]\nwidth= 3\nfiles =\n      \n'
    """
    for form, known in _FORMS.get(language, ()):
        source = form.sub(known, source)
    return source
