r"""Documents and choices that are spelled by bytes, so that a byte more is an element more.

A mutation of single bytes of Markdown or HTML is seldom another tag or fence; here each byte stands
for one, and libFuzzer finds out which of them together reach new code.
"""

import random
from typing import Any, Final

_WORDS: Final = (
    "a",
    "b ",
    " ",
    "One two. ",
    "é",
    "中文。",
    "👩\u200d👧",
    "e\u0301",
    "1",
    "\u200b",
    "x" * 40,
)
_ENDS: Final = ("\n", "\n\n", "\r\n", "\n", "\f", "\r", "\u2028", "\t")

_MARKDOWN: Final = (
    "# ", "## ", "### ", "\n# A\n\n", "\n## B\n", "===\n", "---\n", "- ", "* ", "1. ", "  ", "    ",
    "> ", "```", "```py\n", "~~~\n", "`", "**", "_", "[a](b)", "[a]: b\n", "![", "](", "<div>",
    "</div>", "<!--", "-->", "| a | b |\n|---|---|\n", "| 1 | 2 |\n", "|", "\\", "<br>", "&amp;",
    "$$\n", ":::\n", "+++\n", "- [ ] ", "[^1]: ", "***\n", "<details>\n", "<table>", "<pre>",
    "\ufeff", "\0",
)  # fmt: skip
_HTML: Final = (
    "<p>", "</p>", "<div>", "</div>", "<h1>", "</h1>", "<h2 class='x'>", "</h2>", "<ul>", "<li>",
    "</ul>", "<table>", "<thead>", "<tr>", "<th>", "<td>", "</td>", "</tr>", "</table>", "<br/>",
    "<script>", "</script>", "<style>", "<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE html>",
    "<html>", "<body>", "</body>", "<pre>", "<", ">", "</", "=", '"', "'", "&lt;", "<textarea>",
    "<template>", "<svg>", "<option>", "</", "<a href=", "/>", "\0", "<section>", "<article>",
    "<tbody>", "<caption>", "<plaintext>", "<title>", "<P", "<!", "<?", "</h3 >",
)  # fmt: skip
_JSON: Final = (
    "{", "}", "[", "]", ",", ":", '"', '"a"', '"b": ', "1", "-1.5e9", "true", "null", '{"a": 1}',
    "[1, 2]", "\\", '\\"', "\\u00e9", "{}", "[]", '{"a": {"b": [1, 2]}}', "//", "NaN", "\ufeff",
    "\0", '{"id": 1}\n', '"é"',
)  # fmt: skip
_TABLE: Final = (
    ",", ";", "\t", "|", '"', '""', "a,b\n", "1,2\n", '"a\nb",c\n', "a\tb\n", "a|b\n", "#", "'",
    "\ufeff", "\0",
)  # fmt: skip
_TRANSCRIPT: Final = (
    "1\n", "00:00:01,000 --> 00:00:02,000\n", "00:01.000 --> 00:02.000\n", "WEBVTT\n", "A: ",
    "ANNA: ", "[00:01] ", "NOTE ", "<v B>", "</v>", "-->", ":", "- ", "STYLE\n", "(laughs)",
)  # fmt: skip
_CODE: Final = (
    "def f():\n", "class A:\n", "    ", "return x\n", "if x:\n", "(", ")", "[", "]", "{", "}",
    '"""', "'", "#", "@d\n", "\\\n", "import a\n", "else:\n", "x = 1\n", "lambda: ", ";",
)  # fmt: skip
_LOG: Final = (
    "2026-11-23 10:00:00 INFO ", "ERROR ", "WARN ", "Traceback (most recent call last):\n",
    '  File "a.py", line 1\n', "  at x.y(Z.java:1)\n", "ValueError: ", "=" * 30, "step 17 of 30",
)  # fmt: skip
_DIFF: Final = (
    "diff --git a/x b/x\n", "--- a\n", "+++ b\n", "@@ -1,2 +1,3 @@ f\n", "@@ -1 +1 @@", "+", "-",
    f"commit {'0' * 40}\n", f"From {'a' * 40}\n", "Subject: [P] ", "    ", "Index: x\n", "\\ ", " ",
    "@@@ -1", "\n",
)  # fmt: skip
_MAIL: Final = (
    "From a Mon Mar  3 09:10:40 2025\n", "Subject: a\n", "To: b,\n c\n", "\n", "--x\n", "--y\n",
    "--x--\n", "Content-Type: m/m; boundary=x\n", "Content-Type: m/m;\n boundary=y\n", "From ",
    "Content-Disposition: a; filename=b\n", "=?utf-8?Q?a?=", "> ", " ", "Subject: =?utf-8?B?",
)  # fmt: skip
_CALENDAR: Final = (
    "BEGIN:VCALENDAR\n", "END:VCALENDAR\n", "BEGIN:VEVENT\n", "END:VEVENT\n", "BEGIN:VALARM\n",
    "END:VALARM\n", "SUMMARY:a\\, b\\n", "FN:c\n", "N:a;b;;\n", 'X;Y="a:b":c\n', "\n ", "\n\t",
    "\n", "BEGIN:VCARD\n", "END:VCARD\n", "ical.NAME:x\n", ";", ":", "\\",
)  # fmt: skip
_MARKUP: Final = (
    "* ", "** TODO ", "= ", "== ", "====\n", "----\n", "~~~~\n", "===\n", "|===\n", "....\n",
    "Care\n----\n", "====\nSaws\n====\n", "#+begin_src py\n", "#+end_src\n", ":a:\n", ":END:\n",
    "  ", ".. note:: ", ".. _a:\n", "::\n\n", ">>> ", "==== ====\n", "+----+----+\n", "| a |\n",
    "[[a]]\n", "[discrete]\n", ":a: b\n", ".A\n", "// ", "+\n", "```py\n", "`a`", "*a*", ": ",
    " :b:\n", "\ufeff", "\0",
)  # fmt: skip
_LATEX: Final = (
    "\\section{", "\\subsection*{a}\n", "\\paragraph[", "]{", "}", "{", "\\begin{verbatim}\n",
    "\\end{verbatim}\n", "\\begin{table*}\n", "\\end{table*}\n", "\\begin{a}", "\\end{a}\n", "\\[",
    "\\]\n", "% ", "\\", "\\begin{frame}{a}\n", "\\end{frame}\n", "\\item ", "$x$", "~", "#1", "\0",
    "\\footnote{", '\\"o',
)  # fmt: skip

PARTS: Final[dict[str, tuple[str, ...]]] = {
    "markdown": _MARKDOWN + _WORDS + _ENDS,
    "html": _HTML + _WORDS + _ENDS,
    "json": _JSON + _WORDS + _ENDS,
    "jsonl": _JSON + _WORDS + _ENDS,
    **dict.fromkeys(("csv", "tsv", "psv"), _TABLE + _WORDS + _ENDS),
    "transcript": _TRANSCRIPT + _WORDS + _ENDS,
    **dict.fromkeys(("rst", "org", "asciidoc"), _MARKUP + _WORDS + _ENDS),
    "email": _MAIL + _WORDS + _ENDS,
    **dict.fromkeys(("icalendar", "vcard"), _CALENDAR + _WORDS + _ENDS),
    "diff": _DIFF + _WORDS + _ENDS,
    "latex": _LATEX + _WORDS + _ENDS,
    "python": _CODE + _WORDS + _ENDS,
    "log": _LOG + _WORDS + _ENDS,
    "text": _WORDS + _ENDS + (".", "? ", "!", "”", "Dr. ", "a" * 9),
}
"""By format, what a byte stands for."""


def spelled(kind: str, data: bytes) -> str:
    """Write a document of a format, one part for each byte."""
    parts = PARTS[kind]
    return "".join(parts[byte % len(parts)] for byte in data)


class Choices(random.Random):
    """Random choices that bytes make, each of its own; after the last byte, the first of each."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._rest = iter(data)

    def getrandbits(self, k: int) -> int:
        """Read as many bytes as have the bits."""
        read = bytes(next(self._rest, 0) for _ in range(-(-k // 8)))
        return int.from_bytes(read, "little") & ((1 << k) - 1)

    def random(self) -> float:
        """Read one byte."""
        return self.getrandbits(8) / 256

    def rest(self) -> bytes:
        """Take the bytes that are left."""
        return bytes(self._rest)


def json_value(choices: random.Random, depth: int = 0) -> Any:
    """Make a value of JSON, of a few levels."""
    kind = choices.randrange(8 if depth < 4 else 6)
    n = choices.randrange(12) if kind > 4 else 0
    if kind == 5:
        return choices.choice(PARTS["text"]) * n
    if kind == 6:
        return [json_value(choices, depth + 1) for _ in range(n)]
    if kind == 7:
        keys = (choices.choice(PARTS["text"]) for _ in range(n))
        return {key: json_value(choices, depth + 1) for key in keys}
    return (None, True, choices.randrange(256), -1.5e300, 'a\n"\\é')[kind]
