"""The kinds of text that are shortened, and what is left out of each first."""

import csv
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from io import StringIO
from itertools import chain, islice, zip_longest
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cutline.chunking.by_name import names_language
from cutline.chunking.code_structure import ALIASES, code_languages, code_structure
from cutline.chunking.table_structure import DELIMITERS
from cutline.errors import UnparsedWarning, shown, shown_type
from cutline.shortening.drafts import Draft, Render, fair_share
from cutline.shortening.json_drafts import JsonDrafts, is_json
from cutline.shortening.lines import (
    Clip,
    LineDrafts,
    both_ends,
    clip_middle,
    line_starts,
    lines_with,
    wide_cut,
)
from cutline.shortening.records import record_starts

__all__ = ["KINDS", "Make", "maker", "plain", "resolved"]

KINDS: Final = ("auto", "text", "json", "jsonl", *DELIMITERS, "log", "markdown")
"""The kinds that are no programming language."""

Make: TypeAlias = Callable[[str, str], Render]
"""From a text and a marker."""

_ERRORS: Final = ("error", "exception", "traceback", "fatal", "panic", "fail", "critical")
_SPELLINGS: Final = tuple(
    spelled for word in _ERRORS for spelled in (word, word.capitalize(), word.upper())
)
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]", re.M)
# A heading after an empty line, whose own next line is none: comments in other files are many.
_TITLE: Final = re.compile(r"\n[ \t]*\n#{1,6}[ \t]+[^\s#][^\n]*(?!\n#)(?=\n|\Z)")
# A line of a script, in which "# " begins a comment.
_STATEMENT: Final = re.compile(
    r"\s*(?:[\w.\[\]\"'$-]+ ?[:+]?=\s?\S|[\w.]+\(.*\)$|\[+[\w. \"'-]+\]+$"
    r"|[a-z][\w.-]*:(?: |$)|.*[({;]$|[@$]\w"
    r"|(?:import|from|def|class|export|set|use|return|if|for|while|echo|local|FROM|RUN|COPY)\b"
    r"(?!.*[.,!?]$))"
)
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n?", re.M)
_LOG_LINE: Final = re.compile(
    r"\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:)"
    r"|.{0,60}\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\b"
    r"|Traceback \(most recent call last\)"
)
_COLORS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # as programs write them to a terminal
_HEADER_END: Final = re.compile(r"[:{;=]\s*(?:(?:#|//|/\*).*)?$")
_MOST_HEADER: Final = 8  # lines of a definition's first lines
_SAMPLE: Final = 1 << 16


def resolved(text: str, kind: str) -> str:
    """Return as what a text is shortened: that kind if it is of it, else "text".

    Warns:
        UnparsedWarning: it is a programming language, whose parser is not installed.

    Raises:
        ValueError: there is no such kind.
        TypeError: it is no str.
    """
    if not isinstance(kind, str):
        raise TypeError(f"kind must be a str, got {shown_type(kind)}")
    name = kind.lower()
    if name == "auto":
        return _guess(text)
    if name == "json":
        return name if is_json(text.removeprefix("\ufeff")) else "text"
    if name in KINDS:
        return name
    language = ALIASES.get(name, name)
    problem = ""
    try:
        is_known = language in code_languages()
    except ImportError as error:
        is_known, problem = names_language(language), f"code is shortened as text: {error}"
    if not is_known:
        raise ValueError(
            f"kind must be one of {', '.join(map(repr, KINDS))}, or a language of "
            f"cutline.code_languages(), got {shown(kind)}"
        )
    if not problem:
        return name
    warnings.warn(problem, UnparsedWarning, stacklevel=3)  # where `shorten` is called
    return "text"


def maker(kind: str) -> Make:
    """Return what makes the drafts of a kind, as `resolved` returns it."""
    if kind in DELIMITERS:
        return partial(table, delimiters=DELIMITERS[kind])
    made: dict[str, Make] = {"text": plain, "json": valid_json, "jsonl": json_lines}
    made |= {"log": log, "markdown": markdown}
    return made.get(kind) or partial(code, language=kind)


def valid_json(text: str, marker: str) -> Render:
    """JSON stays valid JSON."""
    body = text.removeprefix("\ufeff")
    drafts, shift = JsonDrafts(body, marker), len(text) - len(body)
    if not shift:
        return drafts.render

    def render(size: int) -> Draft:
        draft = Draft(text)
        draft.add(drafts.render(size), shift)
        return draft

    return render


def json_lines(text: str, marker: str) -> Render:
    """Lines of JSON: from both ends in turn; a long line is shortened as JSON."""
    clip_text = clip_middle(marker)

    @lru_cache(maxsize=16)
    def drafts_of(start: int, end: int) -> JsonDrafts | None:
        line = text[start:end]
        return JsonDrafts(line, marker) if is_json(line) else None

    def clip(text: str, start: int, end: int, room: int) -> Draft:
        drafts = drafts_of(start, end)
        if drafts is None:
            return clip_text(text, start, end, room)
        draft = Draft(text)
        draft.add(drafts.render(room), start)
        return draft

    starts = line_starts(text)
    gap = _Gap(marker, "lines")
    return LineDrafts(
        text,
        starts,
        lambda: both_ends(0, len(starts) - 1),
        lambda missing: json.dumps(gap(missing), ensure_ascii=False),
        clip,
    ).render


def table(text: str, marker: str, delimiters: str) -> Render:
    """Keep a table's header, and records from both ends in turn; long fields are cut."""
    starts, delimiter = record_starts(text, delimiters)
    header = text[starts[0] : starts[1]] if len(starts) > 1 else ""
    empty = _fields(delimiter).sub("", header)  # as many fields as the header has

    def gap(missing: int) -> str:
        said = f"{marker} {missing:,} rows {marker}".replace('"', '""')
        return (f'"{said}"' if any(mark in said for mark in f'{delimiter}"\r\n') else said) + empty

    def order() -> Iterator[int]:
        return chain([0], both_ends(1, len(starts) - 1))

    return LineDrafts(text, starts, order, gap, _clip_fields(delimiter, marker)).render


def _fields(delimiter: str) -> re.Pattern[str]:
    """Return what finds the fields of a table that are not empty."""
    other = re.escape(delimiter)
    return re.compile(rf'"(?:[^"]++|"")*+"?[^{other}]*+|[^{other}]++')


def _clip_fields(delimiter: str, marker: str) -> Clip:
    """Make a clip of a record that cuts its longest fields, and keeps their number."""
    find = _fields(delimiter)

    def clip(text: str, start: int, end: int, room: int) -> Draft:
        fields = [found.span() for found in find.finditer(text, start, end)]
        lengths = [last - first for first, last in fields]
        share = fair_share(lengths, room - (end - start) + sum(lengths))
        draft = Draft(text)
        at = start
        for first, last in fields:
            draft.keep(at, first)
            at = last
            if last - first <= max(share, 2 + len(marker)):
                draft.keep(first, last)
                continue
            quoted = text[first] == '"'
            cut = first + max(share - len(marker) - quoted, quoted)
            if quoted:  # not between two quotes that stand for one
                quotes = text[first + 1 : cut]
                cut -= (len(quotes) - len(quotes.rstrip('"'))) % 2
            draft.keep(first, cut)
            draft.insert(marker + '"' * quoted)
        draft.keep(at, end)
        return draft

    return clip


def log(text: str, marker: str) -> Render:
    """Keep a log's lines that tell of errors, with the indented one after, and both ends."""
    starts = line_starts(text)
    places = starts.data
    n_lines = len(starts) - 1
    errors = lines_with(text, places, _SPELLINGS)

    def order() -> Iterator[int]:
        seen: set[int] = set()
        ends = both_ends(0, n_lines)
        found = chain.from_iterable(
            _with_next(text, places, errors[at]) for at in both_ends(0, len(errors))
        )
        for line in chain.from_iterable(zip_longest(ends, found)):
            if line is not None and line not in seen:
                seen.add(line)
                yield line

    return LineDrafts(text, starts, order, _Gap(marker, "lines"), clip_middle(marker)).render


def _with_next(text: str, starts: memoryview, line: int) -> Iterator[int]:
    yield line
    if line + 2 < len(starts) and text[starts[line + 1]] in " \t":
        yield line + 1


def markdown(text: str, marker: str) -> Render:
    """Markdown keeps headings, and of each section about as many of its first lines.

    A fenced block counts as a line: it is whole, or its middle is missing.
    """
    starts = line_starts(text)
    fences = [*_fenced(text)]
    if fences:
        begins, ends = np.array(fences).T
        steps = np.zeros(len(starts) + 1, dtype=np.int64)
        np.add.at(steps, np.searchsorted(starts, begins, "right"), 1)
        np.add.at(steps, np.searchsorted(starts, ends), -1)
        starts = starts[np.cumsum(steps[:-1]) == 0]
    levels = np.full(len(starts) - 1, 0, dtype=np.int64)
    for found in _HEADING.finditer(text):
        at = int(np.searchsorted(starts, found.start()))
        if at < len(levels) and starts[at] == found.start():
            levels[at] = len(found[1])
    places = np.arange(len(levels))
    heads = np.maximum.accumulate(np.where(levels > 0, places, 0))
    ranks = np.where(levels > 0, levels - 7, places - heads)
    return _ranked(text, starts, ranks, _Gap(marker, "lines"), marker)


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of fenced blocks; one that is not closed ends with the text."""
    opening: re.Match[str] | None = None
    for found in _FENCE.finditer(text):
        if opening is None:
            opening = found
        elif found[1].startswith(opening[1]) and not found[0].strip().strip(found[1][0]):
            yield opening.start(), found.end()
            opening = None
    if opening is not None:
        yield opening.start(), len(text)


def code(text: str, marker: str, language: str) -> Render:
    """Source code keeps the first lines of definitions, outer ones first, then other lines.

    Raises:
        ImportError: tree-sitter is not installed.
        ValueError: there is no such language.
    """
    structure = code_structure(text, language)
    starts = line_starts(text)
    places = starts.tolist()
    n_lines = len(places) - 1
    depth = np.zeros(n_lines, dtype=np.int64)
    header = np.zeros(n_lines, dtype=np.bool_)
    begins = np.zeros(n_lines, dtype=np.int64)
    for start, end in structure.units:
        first, last = bisect_right(places, start) - 1, bisect_right(places, end - 1) - 1
        depth[first : last + 1] += 1
        begins[first : last + 1] = first
        header[first : last + 1] = False
    for start, end in structure.units:
        first, last = bisect_right(places, start) - 1, bisect_right(places, end - 1) - 1
        for line in range(first, min(first + _MOST_HEADER, last + 1)):
            header[line] = True
            if _HEADER_END.search(text, places[line], places[line + 1]):
                break
    body = np.arange(n_lines) - begins
    ranks = np.where(header, depth - (1 << 40), np.where(depth == 0, 0, body))
    return _ranked(text, starts, ranks, _Gap(marker, "lines"), marker)


def _ranked(
    text: str, starts: NDArray[np.int64], ranks: NDArray[np.int64], gap: "_Gap", marker: str
) -> Render:
    order = np.argsort(ranks, kind="stable").tolist()
    return LineDrafts(text, starts, lambda: order, gap, clip_middle(marker)).render


class _Gap:
    """Says how many are missing."""

    def __init__(self, marker: str, unit: str) -> None:
        self._marker, self._unit = marker, unit

    def __call__(self, missing: int) -> str:
        unit = self._unit[:-1] if missing == 1 else self._unit
        return f"{self._marker} {missing:,} {unit} {self._marker}".strip()


def plain(text: str, marker: str, *, says_how_many: bool = True) -> Render:
    """Any text keeps its two ends, and says how many characters are missing."""
    count = _Gap(marker, "characters")

    def render(size: int) -> Draft:
        draft = Draft(text)
        first = wide_cut(text, 0, min(size - size // 2, len(text)), -1)
        last = wide_cut(text, max(len(text) - size // 2, 0), len(text), 1)
        if first >= last:
            draft.keep(0, len(text))
            return draft
        draft.keep(0, first)
        if says_how_many:
            own_line = first > 0 and text[first - 1] == "\n"
            draft.insert(count(last - first) + ("\n" if own_line else " "))
        else:
            draft.insert(marker)
        draft.keep(last, len(text))
        return draft

    return render


def _guess(text: str) -> str:
    """Guess the kind of a text from its beginning, and for JSON from all of it."""
    sample = _COLORS.sub("", text[:_SAMPLE].removeprefix("\ufeff"))
    lines = [line for line in sample.splitlines() if line.strip()][:50]
    if not lines:
        return "text"
    if sample.lstrip()[:1] in ("{", "[", '"'):
        if is_json(text.removeprefix("\ufeff")):
            return "json"
        whole = lines[:-1] if len(text) > _SAMPLE else lines
        if len(lines) > 1 and all(line[0] in "{[" for line in whole) and all(map(is_json, whole)):
            return "jsonl"
    if _is_markdown(sample, lines):
        return "markdown"
    if 2 * sum(_LOG_LINE.match(line) is not None for line in lines) >= len(lines):
        return "log"
    for kind, marks in (("tsv", "\t"), ("csv", ",;")):
        if any(_is_table(sample, mark) for mark in marks):
            return kind
    return "text"


def _is_markdown(sample: str, lines: list[str]) -> bool:
    """Tell whether a text has fences, or headings that are no comments of a script."""
    if "\n```" in sample:
        return True
    if sample.startswith("#!") or len(_TITLE.findall(f"\n\n{sample}")) <= (sample[0] != "#"):
        return False
    others = [line for line in lines if line[0] != "#"]
    return 4 * sum(_STATEMENT.match(line) is not None for line in others) <= len(others)


def _is_table(sample: str, delimiter: str) -> bool:
    """Tell whether the first records have all the same number of fields; the last may be cut."""
    try:
        rows = [row for row in islice(csv.reader(StringIO(sample), delimiter=delimiter), 50) if row]
    except csv.Error:  # a field is too long
        return False
    return len(rows) > 2 and len(rows[0]) > 1 and len({len(row) for row in rows[:-1]}) == 1
