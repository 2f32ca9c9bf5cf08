"""Which encoding a file that is not UTF-8 says it has."""

import codecs
import re
from typing import Final

__all__ = ["declared_codec"]

_META_BYTES: Final = 1024  # HTML's standard looks no further
_XML: Final = re.compile(rb"""\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']\s*([\w.:-]{1,40})""")
_META: Final = re.compile(
    rb"""<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE
)
# PEP 263, in the first two lines, and the sign of it that Emacs knows in other languages.
_COMMENT: Final = re.compile(
    rb"(?:[^\n]*\n)?(?:[ \t\f]*\#[^\n]{0,200}?|[^\n]{0,200}?-\*-[^\n]{0,200}?)"
    rb"coding[:=][ \t]*([\w.-]{1,40})"
)
# Browsers read the former as the latter, which has more characters, and pages rely on it.
_WIDER: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# Others that Python knows are UTF, or no encoding of files.
_OF_FILES: Final = ("iso8859", "cp", "koi8", "mac", "kz", "gb", "big5", "euc", "shift_jis")


def declared_codec(head: bytes) -> str | None:
    r"""Return the codec that a file's first bytes declare, as HTML, XML and sources do, or None.

    None also for UTF, since what is asked about is not UTF-8, and for names that are unknown.

    >>> declared_codec(b'<html><head><meta charset="ISO-8859-1">'), declared_codec(b"Hello")
    ('cp1252', None)
    >>> declared_codec(b'<?xml version="1.0" encoding="Shift_JIS"?>')
    'cp932'
    >>> declared_codec(b"#!/usr/bin/python\n# -*- coding: koi8-r -*-\n")
    'koi8-r'
    """
    found = _XML.match(head) or _META.search(head, 0, _META_BYTES) or _COMMENT.match(head)
    if found is None:
        return None
    label = found[1].decode().lower()
    try:
        name = codecs.lookup(_known_name(label)).name
    except LookupError:
        return None
    name = _WIDER.get(name, name)
    return name if name.startswith(_OF_FILES) else None


def _known_name(label: str) -> str:
    """Return what Python may know of the names that browsers know."""
    if label == "windows-31j":
        return "cp932"
    return label.removeprefix("x-").removesuffix("-i").replace("windows-", "cp")
