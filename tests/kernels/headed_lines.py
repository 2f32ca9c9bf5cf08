"""Headings, page numbers, entries, and where lines end that do not only wrap, in plain Python."""

import re
from collections.abc import Iterator
from unicodedata import category

from tests.kernels.wrapped_lines import LINE_END, is_wrapped

LOG_LEVEL = re.compile(r"\[?(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE)[:\] \t]")


def line_breaks(text: str, start: int, after: int, until: int) -> Iterator[int]:
    for match in LINE_END.finditer(text):
        place = match.end()
        is_below_heading = has_mark(text, start, place) and is_headed(text, start, place)
        if after < place <= until and not is_below_heading and not is_wrapped(text, start, place):
            yield place


def entry_breaks(text: str, start: int, after: int, until: int) -> list[int]:
    places = [start, *(match.end() for match in LINE_END.finditer(text, start))]
    begun = [place for place in places if begins_entry(text[place:])]
    if not begun or begun[0] not in places[:4]:
        return []
    return [place for place in begun[1:] if after < place <= until]


def begins_entry(text: str) -> bool:
    """Whether the first line begins with a time, a date or an address, soon, or a log's level."""
    if LOG_LEVEL.match(text):
        return True
    line = LINE_END.split(text[:32])[0]
    first = re.match("[0-9]|[A-Z[(\u200e][^0-9]{0,8}[0-9]", line)
    return first is not None and len(re.findall("(?<=[0-9])[:./-](?=[0-9])", line)) >= 2


def is_headed(text: str, start: int, place: int) -> bool:
    """Whether a heading, or a line alone that looks like one, ends at a place and has a body."""
    before = text[start:place].rstrip()
    first = before.rfind("\n") + 1
    line, above = before[first:], before[:first]
    if len(text[start:place]) - len(before) > 100 or not 0 < len(line) <= 80 or place >= len(text):
        return False
    if is_ruler(line):
        return is_title(above) and level_of(text[place:]) != 1
    if level := level_of(line.lstrip()):
        return not 0 < level_of(text[place:]) <= level
    is_first = not above or line[0] == "\f"  # of the text, or of a page
    alone = is_first or re.search(r"\n[^\S\n]{0,200}\n\Z", above) is not None
    begun = line.strip().lstrip("*_")
    could_begin = begun != "" and (is_capital(begun[0]) or begun[0] == "§")
    if not alone or not could_be_heading(before[first:]) or not could_begin:
        return False
    if ends_page(text, start + len(before)):
        return False
    if (second := below_heading(text, place, 100)) is None:
        return True
    while second < len(text) and text[second].isspace():
        second += 1
    is_near = second < len(text) and second <= place + 160
    return is_near and below_heading(text, second, 8) is None


def below_heading(text: str, place: int, most_after: int) -> int | None:
    """Where the blank line below ends, if the line here may be a heading, alone."""
    line, _, below = text[place:].partition("\n")
    is_alone = re.match(rf"[^\S\n]{{0,{most_after}}}(?:\n|\Z)", below)
    if is_alone is None or not could_be_heading(line):
        return None
    return min(place + len(line) + 1 + len(is_alone[0].rstrip("\n")), len(text))


def ends_page(text: str, place: int) -> bool:
    return re.match(r"\s*?\f", text[place : place + 100]) is not None


def is_page_number(line: str) -> bool:
    """Whether a short line begins or ends with a digit, but for signs."""
    found = re.findall(r"[^\W_]", line)
    return len(line) <= 80 and bool(found) and (found[0].isdecimal() or found[-1].isdecimal())


def is_page_number_after(text: str, place: int) -> bool:
    line = re.match(r"([^\n\r\v\f\x85\u2028\u2029]*)[\n\r]", text[place:])
    return line is not None and is_page_number(line[1]) and ends_page(text, line.end(1) + place)


def page_number_ends(text: str, start: int) -> list[int]:
    """Where a page ends below a line that stands alone, with its number."""
    return [
        match.end()
        for match in re.finditer(r"(?<=\n)(?=\f)(?![^\S\n]{0,200}\n)", text[start:])
        if (found := re.search(r"\n[^\S\n]{0,200}\n([^\n]*)\n\Z", text[start:][: match.end()]))
        and is_page_number(found[1])
    ]


def is_ruler(line: str) -> bool:
    return len(line) <= 80 and re.fullmatch(r"\s*([-=~^*+#])\1{2,}\s*", line) is not None


def is_title(text: str) -> bool:
    """Whether the last line is the title of a ruler after it."""
    above, _, line = text.removesuffix("\n").rpartition("\n")
    if len(line) > 80 or not re.match(r"\s*[^\W_]", line):
        return False
    is_first = len(text.removesuffix("\n")) == len(line)
    is_alone = re.search(r"\n[^\S\n]{0,200}\Z", above) is not None
    return is_first or is_alone or is_ruler(above.rpartition("\n")[2])


def is_capital(character: str) -> bool:
    return (character.isalpha() or character.isdigit()) and not character.islower()


def has_mark(text: str, start: int, place: int) -> bool:
    """Whether the last line before a place that is not blank begins as a heading does."""
    line = text[start:place].rstrip().rpartition("\n")[2]
    return level_of(line.lstrip()) > 0 or is_ruler(line)


def level_of(line: str) -> int:
    """The level of a heading of Markdown or AsciiDoc, or 0."""
    marks = re.match("(?:#{1,6}|={1,6})(?= )", line)
    return len(marks[0]) if marks else 0


def could_be_heading(line: str) -> bool:
    line = re.sub(r"[\s*_]*\Z", "", line) if len(line) <= 80 else ""
    is_marked = line != "" and category(line[-1]) in ("Mn", "Mc")
    return is_marked or re.search(r"[^\W_]\Z|[:)?？؟]\Z", line) is not None
