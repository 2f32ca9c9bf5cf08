"""Which source is not parsed, for it would take a grammar time that is quadratic in its length.

tree-sitter can be stopped by time only where it reads by a callback, and then it keeps what it
reads forever; and chunks should not depend on how fast a machine is.
"""

import re
from collections import Counter
from typing import Final

__all__ = ["is_parsed"]

MOST_OPEN: Final = 500
"""Elements that may be open at once; the grammar goes through all of them at every tag."""
MOST_UNCLOSED_COMMENTS: Final = 100
"""Comments without an end; each is looked for to the end of the source."""

_OPENING_RUN: Final = re.compile(rb"([\[({<])\1{999}")
_TAGGED: Final = frozenset({"astro", "html", "svelte", "vue"})
_C_LIKE: Final = frozenset({
    *("arduino", "c", "cpp", "csharp", "css", "cuda", "d", "dart", "glsl", "go", "groovy", "hlsl"),
    *("java", "javascript", "kotlin", "objc", "php", "rust", "scala", "scss", "solidity", "swift"),
    *("tsx", "typescript", "verilog"),
})  # fmt: skip
_TAG: Final = re.compile(rb"<(/?)([A-Za-z][^\s/<>]*+)([^<>]*+)")
_RAW: Final = frozenset({b"script", b"style"})
# What another tag ends, or what has no end.
_ENDED: Final = frozenset(
    b"area base basefont bgsound br col command dd dt embed frame hr image img input isindex "
    b"keygen li link menuitem meta nextid p param rb rp rt source td th tr track wbr".split()
)


def is_parsed(source: bytes, language: str) -> bool:
    """Tell whether a grammar can be let loose on a source.

    Args:
        source: UTF-8.
        language: as tree-sitter calls it.

    Cost: linear.

    >>> is_parsed(b"<b>" * 500, "html"), is_parsed(b"<b>" * 501, "html"), is_parsed(b"(" * 999, "c")
    (True, False, True)
    """
    if _OPENING_RUN.search(source):
        return False
    if language in _C_LIKE:
        return _n_unclosed(source, b"/*", b"*/") <= MOST_UNCLOSED_COMMENTS
    if language in _TAGGED:
        n_unclosed = _n_unclosed(source, b"<!--", b"-->")
        return n_unclosed <= MOST_UNCLOSED_COMMENTS and _are_closed(source)
    return True


def _n_unclosed(source: bytes, opening: bytes, closing: bytes) -> int:
    """Count the comments that begin behind the last end of one."""
    return source.count(opening, source.rfind(closing) + 1)


def _are_closed(source: bytes) -> bool:
    """Tell whether never more than `MOST_OPEN` elements are open."""
    is_open = Counter[bytes]()
    n_open = at = 0
    while n_open <= MOST_OPEN and (tag := _TAG.search(source, at)):
        at = tag.end()
        name = tag[2].lower()
        if tag[1]:
            n_open -= is_open[name] > 0
            is_open[name] = max(is_open[name] - 1, 0)
        elif name in _RAW:
            # What is in it is no tag; without an end it takes all.
            end = source.find(b"</" + name, at)
            at = end if end >= 0 else len(source)
            n_open += 1
            is_open[name] += 1
        elif name not in _ENDED and not tag[3].endswith(b"/"):
            n_open += 1
            is_open[name] += 1
    return n_open <= MOST_OPEN
