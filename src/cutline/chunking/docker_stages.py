"""The stages of a Dockerfile: its grammar knows instructions alone."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cutline.chunking.syntax_rows import SyntaxRows

__all__ = ["add_stages"]

_MOST_TITLE: Final = 80
_MEMBER: Final = 1  # the depth of what is in a stage
_FROM: Final = re.compile(r"[ \t]*FROM[ \t]+\S[^\r\n]*", re.IGNORECASE).match
_NO_INSTRUCTION: Final = re.compile(r"[ \t]*(?:#[^\r\n]*)?[\r\n]*\Z").match
_HEREDOC: Final = re.compile(r"[ \t]*(?:RUN|COPY|ADD)\b[^\r\n]*<<-?[\"']?(\w+)", re.I).match
_GOES_ON: Final = re.compile(r"\\[ \t]*[\r\n]*\Z").search
_GOES_ON_BY_BACKQUOTE: Final = re.compile(r"`[ \t]*[\r\n]*\Z").search
_BACKQUOTE: Final = re.compile(r"\ufeff?(?:#[^\r\n]*[\r\n]+)*?#\s*escape\s*=\s*`", re.I).match


def add_stages(rows: "SyntaxRows", text: str, lines: list[int]) -> None:
    """Make a definition of each stage, from `FROM` to the next one.

    Of several, the first level of cuts is between them; one alone only is a heading.

    Args:
        rows: of the instructions; is changed.
        text: the Dockerfile.
        lines: the offset of each row.
    """
    starts = {0, *(row for row, _ in rows.cuts)}
    stages: list[tuple[int, str]] = []  # the row at which each begins, with its comments
    for row, title in _froms(text, lines):
        first = row
        while first not in starts and first > 0:
            first -= 1  # comments
        stages.append((first, title))
    if len(stages) > 1:
        of_stages = {row for row, _ in stages}
        rows.cuts[:] = [
            (row, 0 if row in of_stages else max(depth, _MEMBER)) for row, depth in rows.cuts
        ]
    spans = [
        (first, end - 1, title)
        for (first, title), (end, _) in pairwise([*stages, (len(lines), "")])
    ]
    rows.units.extend((first, last) for first, last, _ in spans)
    rows.titles[:] = sorted([*rows.titles, *spans], key=lambda span: (span[0], -span[1]))


def _froms(text: str, lines: list[int]) -> Iterator[tuple[int, str]]:
    """Yield the rows of `FROM`, which begin no line that goes on from above."""
    goes_on_below = _GOES_ON_BY_BACKQUOTE if _BACKQUOTE(text) else _GOES_ON
    goes_on, heredoc = False, ""
    for row, (start, end) in enumerate(pairwise([*lines, len(text)])):
        line = text[start:end]
        if heredoc:
            heredoc = "" if line.strip() == heredoc else heredoc
            continue
        if not goes_on and (found := _FROM(line)):
            yield row, " ".join(found[0].split())[:_MOST_TITLE]
        if not _NO_INSTRUCTION(line):
            goes_on = goes_on_below(line) is not None
            found = _HEREDOC(line)
            heredoc = "" if found is None else found[1]
