"""Which line ends only wrap a text, and which ones end a line that is whole: a record, a verse.

Who wraps a text fills each line as far as it goes: the next line's first word would not have
fitted the width that the lines around share. And most lines then begin within a sentence, in
lower case. Records begin alike, end where they end, and have stamps and separators.

Nothing before `start` counts. Lines are looked at in the same paragraph only, up to BEHIND
characters before a line end and up to AHEAD characters after it.

Guarded by tests/kernels/test_wrapping.py.
"""

from cutline.kernels.base.characters cimport Unit, char_at
from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t
from cutline.kernels.breaks.line_ends cimport is_line_end, last_candidate, next_line_end
from cutline.kernels.breaks.text_properties cimport (
    LETTER, OPENING, SB_ATERM, SB_CLOSE, SB_LOWER, SB_OLETTER, SB_STERM, SENTENCE_MASK, SPACE,
    properties_of,
)

cdef enum:
    BEHIND = 640                # characters
    AHEAD = 192
    LINES_BEFORE = 5
    LINES_AFTER = 3             # the next one is one of them
    LEAST_COLUMNS = 30          # of a wrapped line
    MOST_COLUMNS = 200
    LEAST_WIDTH = 50            # of a wrapped text
    MOST_BLANKS = 200           # of a blank line
    LONGEST_WORD = 64           # more characters of a word are not looked at
    LABELED = 24                # characters at the beginning of a line that may name a speaker

# How a line begins.
cdef enum:
    IN_LOWER_CASE = 0
    IN_UPPER_CASE = 1           # or with a digit
    WITHOUT_CASE = 2
    WITH_A_SIGN = 3             # that may open a word
    OTHERWISE = 4               # so as no wrapped line does

# The lines around a line end: [first:last], that before it is [LINES_BEFORE].
cdef struct Paragraph:
    Line[9] lines               # LINES_BEFORE + 1 + LINES_AFTER
    int first, last


cdef inline bint is_wide(uint32_t code_point) noexcept nogil:
    """Whether a character takes two columns, roughly: Chinese, Japanese, Korean, emoji."""
    return code_point >= 0x2E80


cdef inline bint is_ideograph(uint32_t code_point) noexcept nogil:
    """Whether a line may wrap on either side of a character that is no blank."""
    return is_wide(code_point) and not 0xAC00 <= code_point <= 0xD7A3       # Korean has blanks


cdef inline Py_ssize_t count_wide(const Unit* text, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Unit found = 0
    cdef Py_ssize_t at
    for at in range(begin, end):        # at most some hundred
        found += text[at] >= 0x2E80
    return found


cdef inline Py_ssize_t columns_of(
    const Characters* text, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    if text.kind == 1:
        return end - begin
    if text.kind == 2:
        return end - begin + count_wide(<const uint16_t*> text.data, begin, end)
    return end - begin + count_wide(<const uint32_t*> text.data, begin, end)


cdef inline bint is_blank(const Characters* text, Py_ssize_t at) noexcept nogil:
    return properties_of(char_at(text, at)) & SPACE != 0


cdef int beginning(const Characters* text, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    """How a line begins that is not blank."""
    cdef uint32_t code_point = char_at(text, at), found = properties_of(code_point), kind
    if found & LETTER:
        kind = found & SENTENCE_MASK
        if kind == SB_LOWER:
            return IN_LOWER_CASE
        return WITHOUT_CASE if kind == SB_OLETTER else IN_UPPER_CASE
    if (
        found & OPENING or code_point == c'"' or code_point == c"'" or code_point == c"`"
        or code_point == c"*" or code_point == c"_" or code_point == c"$"
    ) and at + 1 < end and not is_blank(text, at + 1):
        return WITH_A_SIGN
    return OTHERWISE


cdef inline bint ends_sentence(const Characters* text, const Line* line) noexcept nogil:
    return is_after_sentence(text, line.begin, line.end)


cdef bint is_after_sentence(
    const Characters* text, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """Whether a sentence ends where text[begin:end] does, which has no white space there."""
    cdef uint32_t kind
    while end > begin:
        end -= 1
        kind = properties_of(char_at(text, end)) & SENTENCE_MASK
        if kind == SB_ATERM or kind == SB_STERM:
            return True
        if kind != SB_CLOSE and char_at(text, end) != c"*" and char_at(text, end) != c"_":
            return False
    return False


cdef bint divides_word(const Characters* text, const Line* line) noexcept nogil:
    """Whether a line ends within a word, which the next one ends: after a letter and a hyphen."""
    cdef uint32_t sign
    if line[1].begins != IN_LOWER_CASE or line.end - line.begin < 2:
        return False
    sign = char_at(text, line.end - 1)
    return (
        (sign == c"-" or sign == 0xAD or sign == 0x2010)
        and properties_of(char_at(text, line.end - 2)) & LETTER != 0
    )


cdef Line look_at(
    const Characters* text, Py_ssize_t begin, Py_ssize_t end, bint is_whole
) noexcept nogil:
    """What is to be known of the line text[begin:end]; it has no columns if it is blank."""
    cdef Line line
    cdef Py_ssize_t at = begin
    cdef uint32_t code_point
    while end > begin and is_blank(text, end - 1):
        end -= 1
    line.begin, line.end, line.is_whole = begin, end, is_whole
    line.columns = columns_of(text, begin, end)
    line.word = 0
    while at < end and is_blank(text, at):
        at += 1
    line.begins = beginning(text, at, end) if at == begin < end else OTHERWISE
    if at < end and is_ideograph(char_at(text, at)):
        line.word = 2
        return line
    while at < end and line.word < LONGEST_WORD:
        code_point = char_at(text, at)
        if code_point == c" " or (
            (code_point < 0x20 or code_point >= 0x80) and properties_of(code_point) & SPACE
        ):
            break
        line.word += 1 + is_wide(code_point)
        at += 1
    line.word += 1              # the blank before it
    return line


cdef inline Py_ssize_t without_line_end(
    const Characters* text, Py_ssize_t start, Py_ssize_t next_line
) noexcept nogil:
    """Where a line ends, without its line end."""
    if (
        next_line - 2 >= start and char_at(text, next_line - 1) == c"\n"
        and char_at(text, next_line - 2) == c"\r"
    ):
        return next_line - 2
    return next_line - 1


cdef Line line_before(
    const Characters* text, Py_ssize_t start, Py_ssize_t earliest, Py_ssize_t next_line
) noexcept nogil:
    """The line that ends before a place."""
    cdef Py_ssize_t end = without_line_end(text, start, next_line)
    cdef Py_ssize_t begin = last_candidate(text, False, min(earliest, end), end)
    return look_at(text, begin, end, begin > earliest)


cdef Line line_after(
    const Characters* text, Py_ssize_t begin, Py_ssize_t limit
) noexcept nogil:
    """The line that begins at a place."""
    cdef Py_ssize_t end = next_line_end(text, begin, limit)
    return look_at(text, begin, end, end < limit or limit == text.n)


cdef bint add_before(
    Paragraph* paragraph, const Characters* text, Py_ssize_t start, Py_ssize_t earliest
) noexcept nogil:
    """Add a line before the first, if the paragraph has one that is seen."""
    cdef const Line* line = &paragraph.lines[paragraph.first]
    if paragraph.first == 0 or not line.is_whole:
        return False
    paragraph.lines[paragraph.first - 1] = line_before(text, start, earliest, line.begin)
    if paragraph.lines[paragraph.first - 1].columns == 0:
        return False
    paragraph.first -= 1
    return True


cdef bint add_after(
    Paragraph* paragraph, const Characters* text, Py_ssize_t limit
) noexcept nogil:
    """Add a line after the last, if the paragraph has one that is seen."""
    cdef const Line* line = &paragraph.lines[paragraph.last - 1]
    cdef Py_ssize_t at
    if paragraph.last == LINES_BEFORE + 1 + LINES_AFTER or not line.is_whole:
        return False
    at = next_line_end(text, line.end, limit)
    if at == limit:
        return False
    at += 1 + (at + 1 < limit and char_at(text, at) == c"\r" and char_at(text, at + 1) == c"\n")
    if at == limit:
        return False
    paragraph.lines[paragraph.last] = line_after(text, at, limit)
    if paragraph.lines[paragraph.last].columns == 0:
        return False
    paragraph.last += 1
    return True


cdef int stamps(const Characters* text, Py_ssize_t begin, Py_ssize_t line_end) noexcept nogil:
    """Count the signs of times, dates and addresses at a line's beginning, between digits."""
    cdef Py_ssize_t at, end = min(line_end, begin + STAMPED) - 1
    cdef uint32_t code_point
    cdef int found = 0
    for at in range(begin + 1, end):
        code_point = char_at(text, at)
        # The first is true of few letters, so the others are seldom looked at.
        if (
            c"-" <= code_point <= c":"
            and (code_point == c":" or code_point < c"0")
            and c"0" <= char_at(text, at - 1) <= c"9" and c"0" <= char_at(text, at + 1) <= c"9"
        ):
            found += 1
    return found


cdef inline bint has_signs(const Unit* text, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Unit signs = 0, tabs = 0
    cdef Py_ssize_t at
    for at in range(begin, end):        # at most 200
        signs += (text[at] == c",") | (text[at] == c";") | (text[at] == c"|")
        tabs |= text[at] == c"\t"
    return tabs != 0 or signs > 1


cdef inline bint may_separate(
    const Characters* text, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """Whether there is a tab, or there are signs that may stand between fields."""
    if text.kind == 1:
        return has_signs(<const uint8_t*> text.data, begin, end)
    if text.kind == 2:
        return has_signs(<const uint16_t*> text.data, begin, end)
    return has_signs(<const uint32_t*> text.data, begin, end)


cdef int separators(const Characters* text, const Line* line) noexcept nogil:
    """Count the signs between fields of records; prose has blanks behind them."""
    cdef Py_ssize_t at, begin = line.begin + 1, end = line.end - 1
    cdef uint32_t code_point
    cdef int found = 0
    if not may_separate(text, begin, end):
        return 0
    for at in range(begin, end):
        code_point = char_at(text, at)
        if code_point == c"\t":
            found += 2
        elif code_point == c"," or code_point == c";" or code_point == c"|":
            found += not (
                is_blank(text, at + 1)
                or c"0" <= char_at(text, at - 1) <= c"9" and c"0" <= char_at(text, at + 1) <= c"9"
            )
    return found


cdef bint has_label(const Characters* text, const Line* line) noexcept nogil:
    """Whether a line begins like that of a speaker: with a colon soon, and a blank after it."""
    cdef Py_ssize_t at
    for at in range(line.begin + 1, min(line.end, line.begin + LABELED) - 1):
        if char_at(text, at) == c":" and is_blank(text, at + 1):
            return True
    return False


cdef bint are_records(
    const Characters* text, const Line* line, const Line* following
) noexcept nogil:
    """Whether the following line begins a record, or both are records, by their signs."""
    if stamps(text, following.begin, following.end) >= 2 and (
        c"0" <= char_at(text, following.begin) <= c"9" or stamps(text, line.begin, line.end) >= 2
    ):
        return True
    if separators(text, line) >= 2 and separators(text, following) >= 2:
        return True
    if following.begins == IN_UPPER_CASE and has_label(text, following):
        return True
    # A single word, such as an address; those of Chinese are shorter.
    return line.word > min(line.columns, LONGEST_WORD)


cdef Py_ssize_t shared_width(const Paragraph* paragraph) noexcept nogil:
    """The width of the widest lines but one, which may be out of the ordinary."""
    cdef Py_ssize_t widest = 0, second = 0, columns
    cdef int one
    for one in range(paragraph.first, paragraph.last):
        columns = paragraph.lines[one].columns
        if columns > widest:
            second = widest
            widest = columns
        elif columns > second:
            second = columns
    return second


cdef bint divides_words(const Characters* text, const Paragraph* paragraph) noexcept nogil:
    cdef int one
    for one in range(paragraph.first, paragraph.last - 1):
        if divides_word(text, &paragraph.lines[one]):
            return True
    return False


cdef bint fits_width(const Characters* text, const Paragraph* paragraph) noexcept nogil:
    """Whether the lines around wrap as the text goes on; see `is_wrapped`."""
    cdef const Line* line = &paragraph.lines[LINES_BEFORE]
    cdef const Line* following = line + 1
    cdef const Line* other
    cdef Py_ssize_t width = shared_width(paragraph), most = width - width // 10
    cdef int one, n_full = 0, n_short = 0, n_within = 0, n_begun = 0
    # Columns of a page are narrower; records as narrow divide no words.
    if max(width, line.columns) < LEAST_WIDTH and not divides_words(text, paragraph):
        return False
    if line.is_whole and line.columns + following.word <= most:
        return False
    for one in range(paragraph.first, paragraph.last - 1):
        other = &paragraph.lines[one]
        if one != LINES_BEFORE:
            if other.is_whole and other[1].begins != OTHERWISE and not ends_sentence(
                text, other
            ):
                if other.columns + other[1].word <= most:
                    n_short += 1
                else:
                    n_full += 1
            n_begun += 1
            n_within += other[1].begins == IN_LOWER_CASE or other[1].begins == WITHOUT_CASE
    if n_short >= 2 and n_short > n_full:
        return False
    if following.begins == IN_LOWER_CASE:
        return True
    if ends_sentence(text, line):
        return False
    if following.begins != WITHOUT_CASE and n_within == 0:
        # All begin in upper case, or nothing is known of them.
        return n_begun < 2 and following.begins != WITH_A_SIGN
    return n_full >= n_short


cdef inline bint goes_on(const Line* line) noexcept nogil:
    """Whether a line and that before it are full, and the next goes on in lower case.

    Then no other need be looked at: so it is within most paragraphs.
    """
    cdef const Line* before = line - 1
    cdef const Line* following = line + 1
    cdef Py_ssize_t width = max(before.columns, line.columns, following.columns)
    cdef Py_ssize_t most = width - width // 10
    return (
        before.is_whole and following.begins == IN_LOWER_CASE and line.begins != OTHERWISE
        and width >= LEAST_WIDTH
        and line.columns + following.word > most and before.columns + line.word > most
    )


cdef bint is_wrapped(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t next_line
) noexcept nogil:
    """Whether a line end only wraps the text.

    The tables are there.
    """
    cdef Seen seen
    seen.line.is_whole = False
    return is_wrapped_before(text, lines, start, next_line, &seen)


cdef bint is_wrapped_before(
    const Characters* text, int lines, Py_ssize_t start, Py_ssize_t next_line,
    Seen* seen,         # in: lines of the line end after this one; out: of this one, if it wraps
) noexcept nogil:
    """What is_wrapped says, for who steps back: each line is looked at once."""
    cdef Py_ssize_t limit = min(text.n, next_line + AHEAD), earliest, end
    cdef Paragraph paragraph
    cdef Line* line = &paragraph.lines[LINES_BEFORE]
    cdef bint is_known
    cdef int begins
    if lines == LINES_KEEP or next_line == text.n:
        return False
    end = without_line_end(text, start, next_line)
    if lines == LINES_JOIN:
        return not (is_blank_before(text, start, end) or is_blank_after(text, next_line))
    if end - start < LEAST_COLUMNS // 2:
        return False
    begins = beginning(text, next_line, limit)
    if begins == OTHERWISE or is_blank(text, end - 1) and is_blank(text, end - 2):
        return False
    earliest = max(start, next_line - BEHIND)
    # So it is at most line ends that do not wrap, and no width need be known.
    if begins != IN_LOWER_CASE and is_after_sentence(
        text, earliest, end - 1 if is_blank(text, end - 1) else end
    ):
        return False
    # A line that is whole is the same from wherever it is seen, if it is seen to its end.
    is_known = seen.line.is_whole and seen.line.begin == next_line and seen.line.end < limit
    if is_known and seen.before.is_whole:
        line[0] = seen.before
    else:
        line[0] = line_before(text, start, earliest, next_line)
    if line.columns < LEAST_COLUMNS or line.columns > MOST_COLUMNS:
        return False
    line[1] = seen.line if is_known else line_after(text, next_line, limit)
    if line[1].begins == OTHERWISE or are_records(text, line, line + 1):
        return False
    paragraph.first = LINES_BEFORE
    paragraph.last = LINES_BEFORE + 2
    seen.line = line[0]
    seen.before.is_whole = False
    if divides_word(text, line):
        return True
    if add_before(&paragraph, text, start, earliest):
        seen.before = (line - 1)[0]
        if goes_on(line):
            return True
    while add_before(&paragraph, text, start, earliest):
        pass
    while add_after(&paragraph, text, limit):
        pass
    return fits_width(text, &paragraph)


cdef bint is_blank_before(const Characters* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Whether the line that ends at a place is blank."""
    cdef Py_ssize_t earliest = max(start, end - MOST_BLANKS)
    while end > earliest and is_blank(text, end - 1):
        end -= 1
        if is_line_end(char_at(text, end)):
            return True
    return end == start


cdef bint is_blank_after(const Characters* text, Py_ssize_t next_line) noexcept nogil:
    """Whether the line that begins at a place is blank."""
    cdef Py_ssize_t at = next_line, limit = min(text.n, next_line + MOST_BLANKS)
    while at < limit and is_blank(text, at):
        if is_line_end(char_at(text, at)):
            return True
        at += 1
    return at == text.n
