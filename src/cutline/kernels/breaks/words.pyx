"""Where words end: by UAX #29, but not before a closing bracket nor after an opening one, nor
inside or beside a character reference of HTML that stands for a letter, as in `caf&eacute;s`.

Nothing before `start` counts, and at most LOOK_AHEAD characters after a place. Rules are named
as in UAX #29, section 4.

Guarded by tests/kernels/test_break_rules.py.
"""

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport NOT_FOUND, uint32_t
from cutline.kernels.breaks.graphemes cimport is_grapheme_boundary
from cutline.kernels.breaks.text_properties cimport (
    CLOSING, LETTER, OPENING, PICTOGRAPHIC, WB_ALETTER, WB_CR, WB_DOUBLE_QUOTE, WB_EXTEND,
    WB_EXTEND_NUM_LET, WB_HEBREW, WB_KATAKANA, WB_LF, WB_MID_LETTER, WB_MID_NUM, WB_MID_NUM_LET,
    WB_NEWLINE, WB_NUMERIC, WB_OTHER, WB_REGIONAL, WB_SINGLE_QUOTE, WB_SPACE, WB_ZWJ, properties_of,
    word_class,
)

cdef enum:
    LOOK_AHEAD = 32                     # characters
    LONGEST_NAME = 30                   # of a character reference
    NEWLINES = 1 << WB_CR | 1 << WB_LF | 1 << WB_NEWLINE
    ATTACHED = 1 << WB_EXTEND | 1 << WB_ZWJ
    LETTERS = 1 << WB_ALETTER | 1 << WB_HEBREW
    ALNUM = LETTERS | 1 << WB_NUMERIC
    JOINED = ALNUM | 1 << WB_KATAKANA   # by what WB_EXTEND_NUM_LET is
    MID_LETTERS = 1 << WB_MID_LETTER | 1 << WB_MID_NUM_LET | 1 << WB_SINGLE_QUOTE
    MID_NUMBERS = 1 << WB_MID_NUM | 1 << WB_MID_NUM_LET | 1 << WB_SINGLE_QUOTE


cdef bint ends_word(
    const Characters* text, Py_ssize_t start, Py_ssize_t at     # in: start <= at <= text.n
) noexcept nogil:
    """Whether a word ends at a place that a chunk may end at."""
    return at == text.n or (is_word_boundary(text, start, at) and suits_word(text, start, at))


cdef bint suits_word(
    const Characters* text, Py_ssize_t start, Py_ssize_t at     # in: start <= at <= text.n
) noexcept nogil:
    """Whether a chunk that ends at a place, with a word, tears no brackets and no grapheme."""
    cdef uint32_t before, following
    if at == text.n:
        return True
    following = char_at(text, at)
    if at > start:
        before = char_at(text, at - 1)
        if properties_of(before) & OPENING:
            return False
        if before == c";" or before == c"&" or before == c"#" or following == c"&":
            if is_beside_reference(text, start, at, before):
                return False
    return not properties_of(following) & CLOSING and is_grapheme_boundary(text, start, at)


cdef inline bint is_alnum(uint32_t code_point) noexcept nogil:
    return c"0" <= code_point <= c"9" or c"a" <= (code_point | 0x20) <= c"z"


cdef bint begins_reference(const Characters* text, Py_ssize_t at) noexcept nogil:
    """Whether a character reference begins here, as `&eacute;` or `&#233;`."""
    cdef Py_ssize_t first
    if at >= text.n or char_at(text, at) != c"&":
        return False
    at += 1
    if at < text.n and char_at(text, at) == c"#":
        at += 1
    first = at
    while at < text.n and at - first < LONGEST_NAME and is_alnum(char_at(text, at)):
        at += 1
    return first < at < text.n and char_at(text, at) == c";"


cdef bint ends_reference(
    const Characters* text, Py_ssize_t start, Py_ssize_t at     # in: start <= at <= text.n
) noexcept nogil:
    """Whether a character reference ends at a place."""
    cdef Py_ssize_t first = at - 2, earliest = max(start, at - 3 - LONGEST_NAME)
    if at - start < 3 or char_at(text, at - 1) != c";":
        return False
    while first > earliest and is_alnum(char_at(text, first)):
        first -= 1
    if first > start and char_at(text, first) == c"#":
        first -= 1
    return begins_reference(text, first) and first < at - 2


cdef bint is_beside_reference(
    const Characters* text, Py_ssize_t start, Py_ssize_t at,    # in: start < at < text.n
    uint32_t before
) noexcept nogil:
    """Whether a place is in a character reference, or between one and a letter."""
    if before == c"&":
        return begins_reference(text, at - 1)
    if before == c"#":
        return at - 1 > start and begins_reference(text, at - 2)
    if before == c";":
        return properties_of(char_at(text, at)) & LETTER and ends_reference(text, start, at)
    return (
        char_at(text, at) == c"&" and properties_of(before) & LETTER
        and begins_reference(text, at)
    )


cdef inline uint32_t class_at(const Characters* text, Py_ssize_t at) noexcept nogil:
    return word_class(properties_of(char_at(text, at)))


cdef bint is_word_boundary(
    const Characters* text, Py_ssize_t start, Py_ssize_t at
) noexcept nogil:
    """Whether a word ends at a place before the text's end."""
    cdef uint32_t left, right, found
    cdef Py_ssize_t place
    if at == start:                                                     # WB1
        return True
    found = properties_of(char_at(text, at))
    left, right = class_at(text, at - 1), word_class(found)
    if (NEWLINES >> left | NEWLINES >> right) & 1:                      # WB3 to WB3b
        return not (left == WB_CR and right == WB_LF)
    if (
        (left == WB_ZWJ and found & PICTOGRAPHIC)                       # WB3c
        or (left == WB_SPACE and right == WB_SPACE)                     # WB3d
        or ATTACHED >> right & 1                                        # WB4
    ):
        return False
    place = significant_before(text, start, at)
    left = class_or_other(text, place)
    if ALNUM >> right & 1:
        if ALNUM >> left & 1 or left == WB_EXTEND_NUM_LET:      # WB5, WB8 to WB10, WB13b
            return False
        return not joins_after(text, start, place, left, right)
    if right == WB_KATAKANA:                                            # WB13, WB13b
        return left != WB_KATAKANA and left != WB_EXTEND_NUM_LET
    if right == WB_EXTEND_NUM_LET:                                      # WB13a
        return left != WB_EXTEND_NUM_LET and not JOINED >> left & 1
    if right == WB_REGIONAL and left == WB_REGIONAL:                    # WB15, WB16
        return regional_before(text, start, at) % 2 == 0
    return not (ALNUM >> left & 1 and joins_ahead(text, at, left, right))


cdef bint joins_ahead(
    const Characters* text, Py_ssize_t at, uint32_t left, uint32_t right
) noexcept nogil:
    """Whether a letter or number goes on after the mark at a place."""
    cdef uint32_t further
    if left == WB_HEBREW and right == WB_SINGLE_QUOTE:                  # WB7a
        return True
    further = class_after(text, at)
    return (
        (LETTERS >> left & 1 and MID_LETTERS >> right & 1 and LETTERS >> further & 1)       # WB6
        or (left == WB_NUMERIC and MID_NUMBERS >> right & 1 and further == WB_NUMERIC)      # WB12
        or (left == WB_HEBREW and right == WB_DOUBLE_QUOTE and further == WB_HEBREW)        # WB7b
    )


cdef bint joins_after(
    const Characters* text, Py_ssize_t start, Py_ssize_t mark, uint32_t left, uint32_t right
) noexcept nogil:
    """Whether a letter or number goes on after the mark that stands before it."""
    cdef uint32_t first
    if not (MID_LETTERS | MID_NUMBERS | 1 << WB_DOUBLE_QUOTE) >> left & 1:
        return False
    first = class_or_other(text, significant_before(text, start, mark))
    return (
        (LETTERS >> first & 1 and MID_LETTERS >> left & 1 and LETTERS >> right & 1)         # WB7
        or (first == WB_NUMERIC and MID_NUMBERS >> left & 1 and right == WB_NUMERIC)        # WB11
        or (first == WB_HEBREW and left == WB_DOUBLE_QUOTE and right == WB_HEBREW)          # WB7c
    )


cdef inline uint32_t class_or_other(const Characters* text, Py_ssize_t at) noexcept nogil:
    return WB_OTHER if at == NOT_FOUND else class_at(text, at)


cdef Py_ssize_t significant_before(
    const Characters* text, Py_ssize_t start, Py_ssize_t at
) noexcept nogil:
    """WB4: the character before a place, without what extends it; or NOT_FOUND."""
    cdef uint32_t kind
    while at > start:
        at -= 1
        kind = class_at(text, at)
        if not ATTACHED >> kind & 1:
            # After a line's end, what extends stands for itself.
            return NOT_FOUND if NEWLINES >> kind & 1 else at
    return NOT_FOUND


cdef uint32_t class_after(const Characters* text, Py_ssize_t at) noexcept nogil:
    """WB4: the class of the character after the one at a place, without what extends that."""
    cdef uint32_t kind
    cdef Py_ssize_t end = min(text.n, at + LOOK_AHEAD)
    at += 1
    while at < end:
        kind = class_at(text, at)
        if not ATTACHED >> kind & 1:
            return kind
        at += 1
    return WB_OTHER


cdef Py_ssize_t regional_before(
    const Characters* text, Py_ssize_t start, Py_ssize_t at
) noexcept nogil:
    """Regional indicators before a place, without what extends them."""
    cdef Py_ssize_t count = 0
    while True:
        at = significant_before(text, start, at)
        if class_or_other(text, at) != WB_REGIONAL:
            return count
        count += 1
