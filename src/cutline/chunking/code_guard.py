"""Detects sources that are not parsed, because a grammar takes quadratic time on them.

tree-sitter can be stopped after some time only if it reads by a callback, and then it never frees
what it read. Besides, chunks should not depend on the speed of a machine.
"""

import re
from collections import Counter
from typing import Final

__all__ = ["is_parsed"]

MOST_OPEN: Final = 500
"""Maximum number of open elements; the grammar iterates over all of them at every tag."""
MOST_UNCLOSED_COMMENTS: Final = 100
"""Maximum number of unclosed comments; for each, the rest of the source is searched."""

_OPENING_RUN: Final = re.compile(rb"([\[({<])\1{999}")
_TAGGED: Final = frozenset({"astro", "html", "svelte", "vue"})
_C_LIKE: Final = frozenset({
    *("arduino", "c", "cpp", "csharp", "css", "cuda", "d", "dart", "glsl", "go", "groovy", "hlsl"),
    *("java", "javascript", "kotlin", "objc", "php", "rust", "scala", "scss", "solidity", "swift"),
    *("tsx", "typescript", "verilog"),
})  # fmt: skip
_TAG: Final = re.compile(rb"""<(/?)([A-Za-z][^\s/<>]*+)((?:"[^"]*+"|'[^']*+'|[^<>"'])*+)""")
# With unbalanced quotes, either reading is possible.
_TAG_WITHOUT_QUOTES: Final = re.compile(rb"<(/?)([A-Za-z][^\s/<>]*+)([^<>]*+)")
_COMMENT: Final = re.compile(rb"<!--(?:[^-]++|-(?!->))*+-->")
_MARKUP_MARK: Final = re.compile(rb"(<!--)|-->")
_C_MARK: Final = re.compile(rb"(/\*)|\*/")
_RAW: Final = frozenset({b"script", b"style"})
# Void elements: no closing tag.
_VOID: Final = frozenset(
    b"area base basefont bgsound br col command embed frame hr image img input isindex keygen "
    b"link menuitem meta nextid param source track wbr".split()
)
# Closed implicitly by the next one of their kind.
_ENDED: Final = frozenset(b"dd dt li p rb rp rt td th tr".split())
# Languages with nested block comments.
_NESTING: Final = frozenset({"dart", "kotlin", "rust", "scala", "swift"})


def is_parsed(source: bytes, language: str) -> bool:
    """Return whether a source can be parsed in linear time.

    Args:
        source: UTF-8.
        language: tree-sitter's name for it.

    Cost: linear.

    >>> is_parsed(b"<b>" * 500, "html"), is_parsed(b"<b>" * 501, "html"), is_parsed(b"(" * 999, "c")
    (True, False, True)
    """
    if _OPENING_RUN.search(source):
        return False
    if language in _C_LIKE:
        n_unclosed = _n_unclosed(source, _C_MARK, nesting=language in _NESTING)
        return n_unclosed <= MOST_UNCLOSED_COMMENTS
    if language in _TAGGED:
        if _n_unclosed(source, _MARKUP_MARK, nesting=False) > MOST_UNCLOSED_COMMENTS:
            return False
        markup = _COMMENT.sub(b"", source)
        return _are_closed(markup, _TAG) and _are_closed(markup, _TAG_WITHOUT_QUOTES)
    return True


def _n_unclosed(source: bytes, mark: "re.Pattern[bytes]", *, nesting: bool) -> int:
    """Count unclosed comments.

    Args:
        source: UTF-8.
        mark: matches the beginning of a comment, as its group, or the end.
        nesting: an end closes one open comment, not all.
    """
    n_open = 0
    for found in mark.finditer(source):
        n_open = n_open + 1 if found[1] else max(n_open - 1, 0) if nesting else 0
    return n_open


def _are_closed(source: bytes, tag_pattern: "re.Pattern[bytes]") -> bool:
    """Return whether no more than `MOST_OPEN` elements are ever open."""
    is_open: list[bytes] = []
    n_of = Counter[bytes]()
    at = 0
    while len(is_open) <= MOST_OPEN and (tag := tag_pattern.search(source, at)):
        at = tag.end()
        name = tag[2].lower()
        if tag[1]:
            # Closes inner elements, too.
            while n_of[name]:
                inner = is_open.pop()
                n_of[inner] -= 1
                if inner == name:
                    break
            continue
        if name in _RAW:
            # Raw text up to its closing tag, or to the end.
            end = source.find(b"</" + name, at)
            at = end if end >= 0 else len(source)
        ends_last = name in _ENDED and is_open[-1:] == [name]
        if name not in _VOID and not ends_last and not tag[3].endswith(b"/"):
            is_open.append(name)
            n_of[name] += 1
    return len(is_open) <= MOST_OPEN
