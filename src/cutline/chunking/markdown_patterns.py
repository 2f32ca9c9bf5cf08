"""What the lines of a Markdown text are told apart by."""

import re
from typing import Final

__all__ = [
    "ALIGNMENT",
    "BLANK_LINES",
    "BREAK",
    "DEFINITION",
    "DELIMITER_ROW",
    "FENCE",
    "HEADING",
    "HTML",
    "HTML_ENDS",
    "ITEM",
    "LINE",
    "LINE_BREAK",
    "LONE_TAG",
    "PIPE",
    "PLAIN_LINES",
    "STARTS",
    "UNDERLINE",
    "WHITE",
]

_LINE_END = r"(?:\r\n?|\n|\Z)"
LINE = re.compile(r"[^\r\n]*+").match
LINE_BREAK = re.compile(r"\r\n?|\n|\Z").match
WHITE = re.compile(r"[ \t]*+").match
BLANK_LINES = re.compile(r"(?:[ \t]*+(?:\r\n?|\n))++").match
# No block but a paragraph begins with a letter, and nothing that does ends one.
PLAIN_LINES = re.compile(rf"(?:([^\W\d_][^\r\n]*+){_LINE_END})++").match
STARTS: Final = frozenset("#>`~<*+-_=|:[0123456789")

HEADING = re.compile(r"(#{1,6})(?=[ \t\r\n]|\Z)").match
FENCE = re.compile(rf"(`{{3,}}+)[^`\r\n]*+{_LINE_END}|(~{{3,}}+)").match
BREAK = re.compile(
    rf"(?:(?:\*[ \t]*+){{3,}}+|(?:-[ \t]*+){{3,}}+|(?:_[ \t]*+){{3,}}+){_LINE_END}"
).match
UNDERLINE = re.compile(rf"(=++|-++)[ \t]*+{_LINE_END}").match
ITEM = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=[ \t\r\n]|\Z)", re.ASCII).match
DELIMITER_ROW = re.compile(rf"(?!-[ \t])[|:-][|: \t-]++{_LINE_END}").match
ALIGNMENT = re.compile(r"\s*:?-+:?\s*\Z").match
PIPE = re.compile(r"(?<!\\)\|")
DEFINITION = re.compile(
    r"\[(?![ \t]*\])(?:[^\[\]\\\r\n]|\\[^\r\n])++\]:[ \t]*+(?:<[^<>\r\n]*+>|[^\s<]\S*+)"
    rf"(?:[ \t]++(?:\"[^\"\r\n]*+\"|'[^'\r\n]*+'|\([^()\r\n]*+\)))?+[ \t]*+{_LINE_END}"
).match

# Source: CommonMark 0.31.2, section 4.6, "HTML blocks".
_HTML_BLOCKS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|"
    "header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|"
    "param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_ATTRIBUTE = (
    r"[ \t]++[A-Za-z_:][A-Za-z0-9_.:-]*+"
    r"(?:[ \t]*+=[ \t]*+(?:[^\s\"'=<>`]++|'[^'\r\n]*+'|\"[^\"\r\n]*+\"))?+"
)
_TAG = rf"<(?:[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+[ \t]*+/?|/[A-Za-z][A-Za-z0-9-]*+[ \t]*+)>"
HTML = re.compile(
    r"(?ai:<(?:(script|pre|style|textarea)(?=[\s>]|\Z)|(!--)|(\?)|(![a-z])|(!\[CDATA\[)"
    rf"|/?({_HTML_BLOCKS})(?=\s|/?>|\Z)))|({_TAG}[ \t]*+{_LINE_END})"
).match
# What ends each kind of them; a blank line ends the others.
HTML_ENDS = (
    re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE | re.ASCII),
    re.compile("-->"),
    re.compile(r"\?>"),
    re.compile(">"),
    re.compile(r"\]\]>"),
    None,
    None,
)
LONE_TAG: Final = 7
