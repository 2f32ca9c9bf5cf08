"""Where paragraphs, entries and lines of a text end.

A paragraph ends after a run of blank lines, each at most 200 blanks long, unless it is the heading
of what follows. A page's number stands below the page's last paragraph, and ends with it: before the
form feed. An entry, as of a log or a chat, ends before a line that begins with a time, a date, an
address or the level of a log, if another one does before, among the first four lines from `start`
on. A line ends after a line end, unless the line only wraps: see `wrapping.pyx`.

Nothing before `start` counts, and nothing as far as 256 characters after a place.

Guarded by tests/kernels/test_lines.py.
"""

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport NOT_FOUND, uint32_t
from cutline.kernels.breaks.line_ends cimport last_candidate, next_line_end
from cutline.kernels.breaks.text_properties cimport (
    LETTER,
    SB_EXTEND,
    SB_LOWER,
    SB_NUMERIC,
    SENTENCE_MASK,
    SPACE,
    properties_of,
)
from cutline.kernels.breaks.wrapping cimport LINES_JOIN, STAMPED, Seen, is_wrapped_before, stamps

cdef enum:
    MOST_BLANKS = 200           # of a blank line
    MOST_HEADING = 80           # characters of a heading
    MOST_AFTER_HEADING = 100    # white space after it, or after a line that may be one
    MOST_TO_SECOND = 160        # characters from one to another below it
    MOST_AFTER_SECOND = 8       # white space after that
    DEEPEST = 6                 # level of a heading with marks
    UNDERLINED = 1              # that of a line with a ruler below it
    PLAIN = 7                   # that of a line without a mark that looks like a heading
    LEAST_RULER = 3             # signs
    SECTION_SIGN = 0xa7
    FULL_WIDTH_QUESTION = 0xff1f
    ARABIC_QUESTION = 0x061f
    FORM_FEED = 0x0C            # a page begins after it
    FEW_LINES = 4               # of a chunk, in which its first entry begins
    LATE = 10                   # characters of an entry before its first digit: a month, a weekday
    LEFT_TO_RIGHT = 0x200E      # before some messages of chats

cdef const char* LOG_LEVELS = "TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE|"


cdef bint has_blank_line_before(
    const Characters* text, Py_ssize_t start, Py_ssize_t line_end
) noexcept nogil:
    """Whether the line that this newline ends is blank, and begins after another one."""
    cdef Py_ssize_t at = line_end - 1, earliest = max(start, line_end - 1 - MOST_BLANKS)
    cdef uint32_t code_point
    while at >= earliest:
        code_point = char_at(text, at)
        if code_point == c"\n":
            return True
        if not properties_of(code_point) & SPACE:
            return False
        at -= 1
    return False


cdef bint has_blank_line_after(const Characters* text, Py_ssize_t place) noexcept nogil:
    cdef Py_ssize_t at
    cdef uint32_t code_point
    for at in range(place, min(text.n, place + MOST_BLANKS + 1)):
        code_point = char_at(text, at)
        if code_point == c"\n":
            return True
        if not properties_of(code_point) & SPACE:
            return False
    return False


cdef inline bint ends_heading(uint32_t code_point) noexcept nogil:
    """Whether a heading may end with it: no full stop, comma or quotation mark."""
    cdef uint32_t found = properties_of(code_point)
    return (
        found & LETTER or found & SENTENCE_MASK == SB_EXTEND    # a vowel sign of Hindi, say
        or code_point == c":" or code_point == c")"
        or code_point == c"?" or code_point == FULL_WIDTH_QUESTION or code_point == ARABIC_QUESTION
    )


cdef inline bint emphasizes(uint32_t code_point) noexcept nogil:
    return code_point == c"*" or code_point == c"_"


cdef inline int marks_at(
    const Characters* text, Py_ssize_t at, Py_ssize_t end
) noexcept nogil:
    """The level of a heading that begins here, as `## ` in Markdown or `== ` in AsciiDoc; or 0."""
    cdef Py_ssize_t first = at
    cdef uint32_t mark
    if at == end:
        return 0
    mark = char_at(text, at)
    if mark != c"#" and mark != c"=":
        return 0
    while at < end and at - first <= DEEPEST and char_at(text, at) == mark:
        at += 1
    if at == end or at - first > DEEPEST or char_at(text, at) != c" ":
        return 0
    return <int> (at - first)


cdef bint is_ruler(const Characters* text, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
    """Whether a line is of one sign alone, as the one below a title."""
    cdef uint32_t sign
    cdef Py_ssize_t at
    while first < end and properties_of(char_at(text, first)) & SPACE:
        first += 1
    while first < end and properties_of(char_at(text, end - 1)) & SPACE:
        end -= 1
    if end - first < LEAST_RULER:
        return False
    sign = char_at(text, first)
    if not (
        sign == c"=" or sign == c"-" or sign == c"~" or sign == c"^" or sign == c"*"
        or sign == c"+" or sign == c"#"
    ):
        return False
    for at in range(first, end):
        if char_at(text, at) != sign:
            return False
    return True


cdef Py_ssize_t line_before(
    const Characters* text, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Where the short line before this newline begins; NOT_FOUND: it is longer than a heading."""
    cdef Py_ssize_t earliest = max(start, end - MOST_HEADING - 1)
    cdef Py_ssize_t first = last_candidate(text, True, earliest, end)
    return first if end - first <= MOST_HEADING else NOT_FOUND


cdef inline bint is_page_end_after(const Characters* text, Py_ssize_t place) noexcept nogil:
    """Whether a form feed is in the white space here."""
    cdef Py_ssize_t at
    for at in range(place, min(text.n, place + MOST_AFTER_HEADING)):
        if char_at(text, at) == FORM_FEED:
            return True
        if not properties_of(char_at(text, at)) & SPACE:
            return False
    return False


cdef bint has_number_at_end(
    const Characters* text, Py_ssize_t first, Py_ssize_t end
) noexcept nogil:
    """Whether a line begins or ends with a digit, but for signs, as `- 12 -` or `Page 3 of 10`."""
    cdef Py_ssize_t last = end - 1
    while first < end and not properties_of(char_at(text, first)) & LETTER:
        first += 1
    if first == end:
        return False
    while not properties_of(char_at(text, last)) & LETTER:
        last -= 1
    return (
        properties_of(char_at(text, first)) & SENTENCE_MASK == SB_NUMERIC
        or properties_of(char_at(text, last)) & SENTENCE_MASK == SB_NUMERIC
    )


cdef bint ends_page_number(
    const Characters* text, Py_ssize_t start, Py_ssize_t place
) noexcept nogil:
    """Whether the line above is a page's number, alone, and the page ends here."""
    cdef Py_ssize_t first
    if place == text.n or char_at(text, place) != FORM_FEED:
        return False
    first = line_before(text, start, place - 1)
    return (
        first != NOT_FOUND and first > start
        and has_blank_line_before(text, start, first - 1)
        and has_number_at_end(text, first, place - 1)
    )


cdef bint is_page_number_after(const Characters* text, Py_ssize_t place) noexcept nogil:
    """Whether the line here is a page's number, below which the page ends."""
    cdef Py_ssize_t until = min(text.n, place + MOST_HEADING + 1)
    cdef Py_ssize_t at = next_line_end(text, place, until)
    if at == until or (char_at(text, at) != c"\n" and char_at(text, at) != c"\r"):
        return False
    return is_page_end_after(text, at) and has_number_at_end(text, place, at)


cdef bint is_below_title(
    const Characters* text, Py_ssize_t start, Py_ssize_t ruler
) noexcept nogil:
    """Whether a line that begins with a letter or digit is above a ruler, and alone but for one."""
    cdef Py_ssize_t first, at, above
    if ruler == start:
        return False
    first = at = line_before(text, start, ruler - 1)
    if first == NOT_FOUND:
        return False
    while properties_of(char_at(text, at)) & SPACE and char_at(text, at) != c"\n":
        at += 1
    if not properties_of(char_at(text, at)) & LETTER:
        return False
    if first == start or has_blank_line_before(text, start, first - 1):
        return True
    above = line_before(text, start, first - 1)
    return above != NOT_FOUND and is_ruler(text, above, first - 1)


cdef int heading_before(
    const Characters* text, Py_ssize_t start, Py_ssize_t place
) noexcept nogil:
    """The level of the heading with marks that ends here: one short line. 0 if there is none.

    PLAIN if it has no mark, but looks like one and stands alone.
    """
    cdef Py_ssize_t end = place, last, first, at
    cdef uint32_t found
    cdef int level
    while end > start and place - end <= MOST_AFTER_HEADING:
        if not properties_of(char_at(text, end - 1)) & SPACE:
            break
        end -= 1
    if end == start or place - end > MOST_AFTER_HEADING:
        return 0
    first = at = line_before(text, start, end)
    if first == NOT_FOUND:
        return 0
    if is_ruler(text, first, end):
        return UNDERLINED if is_below_title(text, start, first) else 0
    while properties_of(char_at(text, at)) & SPACE:
        at += 1
    level = marks_at(text, at, end)
    while at < end and emphasizes(char_at(text, at)):       # as in **Care**
        at += 1
    last = last_but_emphasis(text, at, end)
    if level or last == at or not ends_heading(char_at(text, last - 1)):
        return level
    if is_page_end_after(text, end):
        return 0
    if (
        first > start and char_at(text, first) != FORM_FEED
        and not has_blank_line_before(text, start, first - 1)
    ):
        return 0
    found = properties_of(char_at(text, at))
    if char_at(text, at) == SECTION_SIGN or found & LETTER and found & SENTENCE_MASK != SB_LOWER:
        return PLAIN
    return 0


cdef inline Py_ssize_t last_but_emphasis(
    const Characters* text, Py_ssize_t first, Py_ssize_t end
) noexcept nogil:
    """Where a line ends but for blanks and signs of emphasis."""
    cdef uint32_t code_point
    while end > first:
        code_point = char_at(text, end - 1)
        if not emphasizes(code_point) and not properties_of(code_point) & SPACE:
            break
        end -= 1
    return end


cdef Py_ssize_t below_heading(
    const Characters* text, Py_ssize_t place, Py_ssize_t most_after
) noexcept nogil:
    """Where the blank line below ends, or the text, if the line here may be a heading, alone.

    NOT_FOUND: it says more. `most_after` blanks are looked at after it.
    """
    cdef Py_ssize_t at = place, last
    while at < text.n and char_at(text, at) != c"\n":
        at += 1
        if at > place + MOST_HEADING:
            return NOT_FOUND
    last = last_but_emphasis(text, place, at)
    if last == place or not ends_heading(char_at(text, last - 1)):
        return NOT_FOUND
    most_after += at
    at += 1
    while at < text.n and char_at(text, at) != c"\n":
        if at > most_after or not properties_of(char_at(text, at)) & SPACE:
            return NOT_FOUND
        at += 1
    return min(at, text.n)


cdef bint is_body_after(const Characters* text, Py_ssize_t place, int level) noexcept nogil:
    """Whether what follows belongs to a heading: is more than another line that may be a heading.

    Or than one that more follows on: a chapter's number may have its title below it. Below a
    heading with marks, whatever is not another section of its level or a higher one.
    """
    cdef Py_ssize_t at
    if level != PLAIN:
        return place < text.n and not 0 < marks_at(text, place, text.n) <= level
    if place == text.n:
        return False
    at = below_heading(text, place, MOST_AFTER_HEADING)
    if at == NOT_FOUND:
        return True
    while at < text.n and at <= place + MOST_TO_SECOND and properties_of(char_at(text, at)) & SPACE:
        at += 1
    if at == text.n or at > place + MOST_TO_SECOND:
        return False
    return below_heading(text, at, MOST_AFTER_SECOND) == NOT_FOUND


cdef Py_ssize_t last_paragraph(
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    cdef int level
    while True:
        until = last_candidate(text, True, after, until)
        if until <= after:
            return NOT_FOUND
        if (
            (has_blank_line_before(text, start, until - 1) or ends_page_number(text, start, until))
            and not has_blank_line_after(text, until)
            and not is_page_number_after(text, until)
        ):
            level = heading_before(text, start, until)
            if not (level and is_body_after(text, until, level)):
                return until
        until -= 1


cdef bint begins_with_level(const Characters* text, Py_ssize_t at) noexcept nogil:
    """Whether a line begins as `INFO:`, `[ERROR]` or `WARN  `."""
    cdef const char* word = LOG_LEVELS
    cdef uint32_t code_point
    cdef Py_ssize_t place
    if char_at(text, at) == c"[":
        at += 1
    while word[0]:
        place = at
        while word[0] != c"|" and place < text.n and char_at(text, place) == <uint32_t> word[0]:
            word += 1
            place += 1
        if word[0] == c"|" and place < text.n:
            code_point = char_at(text, place)
            if code_point == c":" or code_point == c"]" or code_point == c" " or code_point == c"\t":
                return True
        while word[0] != c"|":
            word += 1
        word += 1
    return False


cdef bint begins_entry(const Characters* text, Py_ssize_t at) noexcept nogil:
    """Whether a line begins with a time, a date or an address, or one after a word or a bracket.

    Or with the level of a log.
    """
    cdef uint32_t code_point = char_at(text, at)
    cdef Py_ssize_t place
    if not (
        c"0" <= code_point <= c"9" or c"A" <= code_point <= c"Z" or code_point == c"["
        or code_point == c"(" or code_point == LEFT_TO_RIGHT
    ):
        return False
    for place in range(at, min(text.n, at + LATE)):
        if c"0" <= char_at(text, place) <= c"9":
            if stamps(text, at, next_line_end(text, at, min(text.n, at + STAMPED))) >= 2:
                return True
            break
    return begins_with_level(text, at)


cdef Py_ssize_t first_entry(
    const Characters* text, Py_ssize_t start, Py_ssize_t until
) noexcept nogil:
    """Where an entry begins in the first few lines of a chunk, or NOT_FOUND."""
    cdef Py_ssize_t at = start
    cdef int line
    for line in range(FEW_LINES):
        if at >= until:
            break
        if begins_entry(text, at):
            return at
        at = next_line_end(text, at, until) + 1
        if at < until and char_at(text, at) == c"\n" and char_at(text, at - 1) == c"\r":
            at += 1
    return NOT_FOUND


cdef Py_ssize_t last_entry(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    cdef Py_ssize_t first
    if lines == LINES_JOIN:
        return NOT_FOUND
    # One alone may be a date in prose. And texts without entries are not searched for more.
    first = first_entry(text, start, until)
    if first == NOT_FOUND:
        return NOT_FOUND
    after = max(after, first)
    while True:
        until = last_candidate(text, False, after, until)
        if until <= after:
            return NOT_FOUND
        if until < text.n and begins_entry(text, until):
            return until
        until -= 1


cdef Py_ssize_t last_line(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    cdef bint is_between            # a return and its newline
    cdef int level
    cdef Seen seen
    seen.line.is_whole = False
    while True:
        until = last_candidate(text, False, after, until)
        if until <= after:
            return NOT_FOUND
        is_between = (
            until < text.n and char_at(text, until) == c"\n" and char_at(text, until - 1) == c"\r"
        )
        if not is_between and not is_wrapped_before(text, lines, start, until, &seen):
            level = heading_before(text, start, until)
            if level in (0, PLAIN) or not is_body_after(text, until, level):
                return until
        until -= 1
