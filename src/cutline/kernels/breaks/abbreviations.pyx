"""Full stops that end no sentence: after abbreviations, initials, ordinal numbers and signs of lists.

The language of a text is not known, so the words are those of all languages. What is said of a place
depends on MOST_BEFORE characters before it, and on MOST_OF_ERA after it.

Guarded by tests/kernels/test_sentences.py.
"""

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport uint32_t, uint64_t
from cutline.kernels.breaks.text_properties cimport (
    LETTER, OPENING, SB_EXTEND, SB_LOWER, SB_NUMERIC, SB_OLETTER, SENTENCE_MASK, SPACE, UPPER_CASE,
    WordSet, ends_line, has_word, next_hash, properties_of, tables,
)

cdef enum:
    MOST_BEFORE = 16            # characters that are looked at, blanks included
    MOST_DIGITS = 3             # of an ordinal number
    MOST_OF_SIGN = 5            # of a list: as in `viii.`, `10.2.`
    MOST_OF_ERA = 4             # as in `44 v. Chr.`, the stop included


cdef bint is_after_abbreviation(
    const Characters* text, Py_ssize_t start, Py_ssize_t place
) noexcept nogil:
    """Whether such a full stop stands before a place, or before blanks there."""
    cdef Py_ssize_t earliest = max(start, place - MOST_BEFORE), stop = place
    cdef uint32_t following = 0
    if place < text.n:
        following = properties_of(char_at(text, place))
    while stop > earliest and properties_of(char_at(text, stop - 1)) & SPACE:
        stop -= 1
    stop -= 1
    if stop <= earliest or char_at(text, stop) != c".":
        return False
    return (
        is_initial(text, earliest, stop, place)
        or ends_with_word(text, earliest, stop, &tables.abbreviations)
        or (
            following & SENTENCE_MASK == SB_NUMERIC
            and ends_with_word(text, earliest, stop, &tables.before_numbers)
        )
        or is_ordinal(text, earliest, stop)
        or is_sign_of_list(text, start, earliest, stop)
    )


cdef inline uint32_t kind_at(const Characters* text, Py_ssize_t at) noexcept nogil:
    return properties_of(char_at(text, at)) & SENTENCE_MASK


cdef inline bint begins_word(
    const Characters* text, Py_ssize_t earliest, Py_ssize_t at
) noexcept nogil:
    cdef uint32_t before
    if at == earliest:
        return True
    before = properties_of(char_at(text, at - 1))
    return not before & LETTER and before & SENTENCE_MASK != SB_EXTEND


cdef bint is_initial(
    const Characters* text, Py_ssize_t earliest, Py_ssize_t stop, Py_ssize_t place
) noexcept nogil:
    """Whether a single letter stands before a full stop, or a capital twice: `EE. UU.`"""
    cdef Py_ssize_t at = stop
    cdef uint32_t letter, before
    while at > earliest and kind_at(text, at - 1) == SB_EXTEND:
        at -= 1
    at -= 1
    if at < earliest:
        return False
    letter = properties_of(char_at(text, at))
    if letter & UPPER_CASE:
        return begins_word(text, earliest, at) or (
            char_at(text, at - 1) == char_at(text, at) and begins_word(text, earliest, at - 1)
        )
    letter &= SENTENCE_MASK
    if (letter != SB_LOWER and letter != SB_OLETTER) or is_word_alone(char_at(text, at)):
        return False
    if at == earliest:
        return True
    # Not as in `can't.` and `saw.c.`; nor as in `5 m.`, a unit, but as in `44 v. Chr.`
    before = properties_of(char_at(text, at - 1))
    if before & OPENING:
        return True
    return before & SPACE != 0 and (
        at - 1 == earliest or kind_at(text, at - 2) != SB_NUMERIC or is_before_era(text, place)
    )


cdef bint is_before_era(const Characters* text, Py_ssize_t place) noexcept nogil:
    """Whether an abbreviation of Christ's name follows: `C.`, `Chr.`, `Kr.`, `Hr.`, `Χ.`"""
    cdef Py_ssize_t end = min(text.n, place + MOST_OF_ERA), at = place
    cdef uint32_t first
    if place == text.n:
        return False
    first = char_at(text, place)
    if first != c"C" and first != c"K" and first != c"H" and first != 0x3A7:
        return False
    while at < end and properties_of(char_at(text, at)) & LETTER:
        at += 1
    return at < end and char_at(text, at) == c"."


cdef inline bint is_word_alone(uint32_t code_point) noexcept nogil:
    """Whether a letter often ends a sentence as a word, as `я`, `é`, and those of Chinese, Japanese
    and Korean.
    """
    return (
        code_point == 0x44F or code_point == 0x454 or code_point == 0xE8 or code_point == 0xE9
        or code_point == 0xE5 or code_point == 0xF6 or code_point == 0x151
        or 0x1100 <= code_point < 0x1200 or 0x2E80 <= code_point < 0xA4D0
        or 0xA960 <= code_point < 0xA980 or 0xAC00 <= code_point < 0xD800
        or 0xF900 <= code_point < 0xFB00 or code_point >= 0x1B000
    )


cdef bint ends_with_word(
    const Characters* text, Py_ssize_t earliest, Py_ssize_t stop, const WordSet* words
) noexcept nogil:
    """Whether one of the words stands before a place."""
    cdef Py_ssize_t at = stop
    cdef uint64_t found = 0
    cdef uint32_t code_point
    while at > earliest:
        at -= 1
        code_point = char_at(text, at)
        if properties_of(code_point) & SPACE:
            break
        found = next_hash(found, code_point)
        if begins_word(text, earliest, at) and has_word(words, found):
            return True
    return False


cdef inline bint is_of_roman(uint32_t code_point) noexcept nogil:
    return (
        code_point == c"I" or code_point == c"V" or code_point == c"X" or code_point == c"L"
        or code_point == c"C"
    )


cdef bint is_ordinal(
    const Characters* text, Py_ssize_t earliest, Py_ssize_t stop
) noexcept nogil:
    """Whether a number stands before a full stop, after a word as in `am 3. Mai`, `im XX. Jh.`"""
    cdef Py_ssize_t at = stop
    while at > earliest and stop - at <= MOST_DIGITS and kind_at(text, at - 1) == SB_NUMERIC:
        at -= 1
    if at == stop:
        while at > earliest and is_of_roman(char_at(text, at - 1)):
            at -= 1
    if at == stop or stop - at > MOST_DIGITS and kind_at(text, at) == SB_NUMERIC:
        return False
    stop = at
    while at > earliest and properties_of(char_at(text, at - 1)) & SPACE:
        at -= 1
    return at < stop and ends_with_word(text, earliest, at, &tables.before_ordinals)


cdef bint is_sign_of_list(
    const Characters* text, Py_ssize_t start, Py_ssize_t earliest, Py_ssize_t stop
) noexcept nogil:
    """Whether a line begins with a number, also of several parts, or so few letters."""
    cdef Py_ssize_t at = stop, most = max(earliest, stop - MOST_OF_SIGN)
    cdef uint32_t found
    while at > most:
        found = properties_of(char_at(text, at - 1))
        if found & SENTENCE_MASK != SB_NUMERIC and char_at(text, at - 1) != c".":
            break
        at -= 1
    if at == stop:
        while at > most and is_of_small_roman(char_at(text, at - 1)):
            at -= 1
    if at == stop:
        return False
    while at > earliest:
        found = properties_of(char_at(text, at - 1))
        if found & LETTER or ends_line(found):
            break
        at -= 1
    return at == start or at > earliest and ends_line(properties_of(char_at(text, at - 1)))


cdef inline bint is_of_small_roman(uint32_t code_point) noexcept nogil:
    return is_of_roman(code_point) or is_of_roman(code_point - 0x20)
