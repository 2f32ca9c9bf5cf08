"""Where phrases end: words after which a reader pauses.

That is after a comma, a colon, a dash, a closing bracket or quote, or the end of a sentence, and the
blanks after it, but not those that a line begins with. Without a blank, only after the commas and
the like of Chinese and Japanese, after `,`, `;` and `}` in data and code, but not after
`&eacute;` and the like, and between the tags of a
document. Thai, Lao, Khmer and Burmese have blanks between phrases alone.

Nothing before `start` counts, and at most MOST_BLANKS blanks before a place, or what tells that an
abbreviation is there.

Guarded by tests/kernels/test_phrases.py.
"""

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport uint32_t
from cutline.kernels.breaks.abbreviations cimport is_after_abbreviation
from cutline.kernels.breaks.text_properties cimport (
    LETTER, OPENING, PHRASAL, SB_ATERM, SB_CLOSE, SB_SCONTINUE, SB_STERM, SENTENCE_MASK, SPACE,
    ends_line, properties_of,
)
from cutline.kernels.breaks.words cimport ends_reference, ends_word

cdef enum:
    MOST_BLANKS = 8
    FIRST_WIDE = 0x2E80     # characters from here on have no blanks after them
    PAUSES = 1 << SB_ATERM | 1 << SB_CLOSE | 1 << SB_SCONTINUE | 1 << SB_STERM


cdef bint ends_phrase(
    const Characters* text, Py_ssize_t start, Py_ssize_t at     # in: start < at <= text.n
) noexcept nogil:
    """Whether a phrase ends at a place, with a word that a chunk may end with."""
    return at == text.n or (pauses_at(text, start, at) and ends_word(text, start, at))


cdef bint pauses_at(const Characters* text, Py_ssize_t start, Py_ssize_t at) noexcept nogil:
    cdef Py_ssize_t earliest = max(start, at - MOST_BLANKS), place = at - 1
    cdef uint32_t sign = char_at(text, place), found = properties_of(sign)
    cdef uint32_t following = properties_of(char_at(text, at))
    cdef bint is_at_line = ends_line(found), has_line_end = False
    if following & SPACE and (not is_at_line or ends_line(following)):
        return False
    if not found & SPACE:
        return pauses_at_once(text, start, at, sign, found)
    while place > earliest and properties_of(char_at(text, place)) & SPACE:
        has_line_end |= ends_line(properties_of(char_at(text, place)))
        place -= 1
    if has_line_end and not is_at_line:
        return False            # the blanks are the next line's
    found = properties_of(char_at(text, place))
    if found & PHRASAL:
        return not has_line_end and following & PHRASAL != 0
    if found & SENTENCE_MASK == SB_ATERM and is_after_abbreviation(text, start, at):
        return False
    return PAUSES >> (found & SENTENCE_MASK) & 1 and not found & OPENING


cdef bint pauses_at_once(
    const Characters* text, Py_ssize_t start, Py_ssize_t at, uint32_t sign, uint32_t found
) noexcept nogil:
    """Whether a phrase ends with a sign and no blank after it."""
    cdef uint32_t following = char_at(text, at)
    if sign == c",":
        return True
    if sign == c";":            # not as in `caf&eacute;s`
        return not ends_reference(text, start, at)
    if sign == c"}":            # not as in `{name}/file` and `{a}{b}`
        return properties_of(following) & LETTER != 0 or following == c"#"
    if sign == c">":
        return at + 1 < text.n and following == c"<" and char_at(text, at + 1) != c"/"
    return (
        sign >= FIRST_WIDE and PAUSES >> (found & SENTENCE_MASK) & 1 and not found & OPENING
    )
