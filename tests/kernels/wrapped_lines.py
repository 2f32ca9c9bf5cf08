"""Which line ends only wrap a text: the rule of `wrapping.pyx`, in plain Python."""

from dataclasses import dataclass
from itertools import pairwise

import regex

LINE_ENDS = "\n\v\f\r\x85\u2028\u2029"
LINE_END = regex.compile(rf"\r\n|[{LINE_ENDS}]")
WHITE = regex.compile(r"\p{White_Space}")
SENTENCE_END = regex.compile(r"[\p{SB=ATerm}\p{SB=STerm}][\p{SB=Close}*_]*$")
SIGN = regex.compile(r"[\p{Ps}\p{Pi}\"'`*_$]\P{White_Space}")
LOWER, UPPER, CASELESS, SIGNED, OTHERWISE = range(5)


@dataclass
class Line:
    text: str
    is_whole: bool

    @property
    def columns(self) -> int:
        return len(self.text) + sum(sign >= "\u2e80" for sign in self.text)

    @property
    def word(self) -> int:
        """Columns of the first word, with the blank before it."""
        for word in regex.split(r"\p{White_Space}+", self.text):
            if word and word[0] >= "\u2e80" and not "\uac00" <= word[0] <= "\ud7a3":
                return 2
            columns = 0
            for sign in word:
                columns += (1 + (sign >= "\u2e80")) * (columns < 64)
            if word:
                return columns + 1
        return 1

    @property
    def begins(self) -> int:
        if regex.match(r"[\p{L}\p{N}]", self.text):
            if regex.match(r"\p{SB=Lower}", self.text):
                return LOWER
            return CASELESS if regex.match(r"\p{SB=OLetter}", self.text) else UPPER
        return SIGNED if SIGN.match(self.text) else OTHERWISE

    @property
    def ends_sentence(self) -> bool:
        return bool(SENTENCE_END.search(self.text))

    @property
    def n_stamps(self) -> int:
        return len(regex.findall("[0-9][:./-](?=[0-9])", self.text[:32], overlapped=True))

    @property
    def n_separators(self) -> int:
        inner = self.text[1:-1]
        n_signs, n_tabs = sum(map(inner.count, ",;|")), inner.count("\t")
        if not n_tabs and n_signs < 2:
            return 0
        between = regex.findall(r"(?<=.)[,;|](?=\P{White_Space})", self.text, regex.DOTALL)
        numbers = regex.findall(r"(?<=[0-9])[,;|](?=[0-9])", self.text)
        return 2 * n_tabs + len(between) - len(numbers)

    @property
    def is_labeled(self) -> bool:
        return bool(regex.search(r"(?<=.):\p{White_Space}", self.text[:24], regex.DOTALL))


def divides_word(line: Line, following: Line) -> bool:
    return following.begins == LOWER and bool(
        regex.search(r"[\p{L}\p{N}][-\xad\u2010]$", line.text)
    )


def made(text: str, is_whole: bool) -> Line:
    return Line(regex.sub(r"\p{White_Space}+$", "", text), is_whole)


def lines_around(text: str, start: int, next_line: int) -> tuple[list[Line], list[Line]]:
    """The lines before and after a line end, up to blank ones; the nearest first."""
    earliest, limit = max(start, next_line - 640), min(len(text), next_line + 192)
    before, after = [], []
    begin = next_line
    while len(before) < 6 and begin > earliest:
        end = begin - 1 - (begin - 2 >= start and text[begin - 2 : begin] == "\r\n")
        ends = [match.end() for match in LINE_END.finditer(text, earliest, max(earliest, end))]
        begin = ends[-1] if ends else min(earliest, end)
        line = made(text[begin:end], begin > earliest)
        if before and not line.columns:
            break
        before.append(line)
        if not line.is_whole:
            break
    begin = next_line
    while len(after) < 3 and begin < limit:
        match = LINE_END.search(text, begin, limit)
        line = made(
            text[begin : match.start() if match else limit], bool(match) or limit == len(text)
        )
        if not line.columns:
            break
        after.append(line)
        if not match:
            break
        begin = match.end()
    return before, after


def is_wrapped(text: str, start: int, next_line: int) -> bool:
    if next_line == len(text):
        return False
    before, after = lines_around(text, start, next_line)
    if not (before and after):
        return False
    line, following = before[0], after[0]
    end = next_line - 1 - (text[max(start, next_line - 2) : next_line] == "\r\n")
    if not 30 <= line.columns <= 200 or following.begins == OTHERWISE:
        return False
    if regex.search(r"\p{White_Space}{2}$", text[start:end]):
        return False
    if following.n_stamps >= 2 and (following.text[0] in "0123456789" or line.n_stamps >= 2):
        return False
    if line.n_separators >= 2 and following.n_separators >= 2:
        return False
    if following.begins == UPPER and following.is_labeled:
        return False
    if line.word > min(line.columns, 64):
        return False
    if divides_word(line, following):
        return True
    if len(before) > 1 and goes_on(before[1], line, following):
        return True
    return fits_width([*before[:0:-1], line, *after], len(before) - 1)


def goes_on(before: Line, line: Line, following: Line) -> bool:
    width = max(before.columns, line.columns, following.columns)
    most = width - width // 10
    return (
        before.is_whole
        and following.begins == LOWER
        and line.begins != OTHERWISE
        and width >= 50
        and line.columns + following.word > most
        and before.columns + line.word > most
    )


def fits_width(paragraph: list[Line], own: int) -> bool:
    line, following = paragraph[own : own + 2]
    width = sorted(one.columns for one in paragraph)[-2]
    most = width - width // 10
    is_divided = any(divides_word(*pair) for pair in pairwise(paragraph))
    if max(width, line.columns) < 50 and not is_divided:
        return False
    if line.is_whole and line.columns + following.word <= most:
        return False
    others = [pair for at, pair in enumerate(pairwise(paragraph)) if at != own]
    short = [
        one.columns + after.word <= most
        for one, after in others
        if one.is_whole and after.begins != OTHERWISE and not one.ends_sentence
    ]
    n_short, n_full = short.count(True), short.count(False)
    if n_short >= 2 and n_short > n_full:
        return False
    if following.begins == LOWER:
        return True
    if line.ends_sentence:
        return False
    within = any(after.begins in (LOWER, CASELESS) for _, after in others)
    if following.begins != CASELESS and not within:
        return len(others) < 2 and following.begins != SIGNED
    return n_full >= n_short
