"""Tags of HTML.

Everything unclosed goes on to the end of the text.
Source: https://html.spec.whatwg.org/multipage/parsing.html

Guarded by tests/chunking/test_html_structure.py.
"""

from cutline.kernels.base.characters cimport Characters, char_at
from cutline.kernels.base.common cimport NOT_FOUND, uint8_t, uint32_t


cdef bint next_tag(const Characters* text, Py_ssize_t at, Tag* tag) noexcept nogil:
    """Find the next tag or comment from a place on. Returns whether there is one."""
    cdef Py_ssize_t n = text.n
    cdef uint32_t mark
    while True:
        at = find_mark(text, at, c"<")
        if at == n:
            return False
        tag.start = at
        tag.n_name = 0
        at += 1
        mark = peek(text, at)
        tag.is_end = mark == c"/"
        if is_letter(peek(text, at + tag.is_end)):
            read_tag(text, at + tag.is_end, tag)
            return True
        if mark == c"!" and peek(text, at + 1) == c"-" and peek(text, at + 2) == c"-":
            tag.end = end_of_comment(text, at + 3)
            return True
        if mark == c"!" or mark == c"?" or mark == c"/":
            tag.end = min(n, find_mark(text, at + 1, c">") + 1)
            return True


cdef void read_tag(const Characters* text, Py_ssize_t at, Tag* tag) noexcept nogil:
    """Read a tag from its name on."""
    cdef Py_ssize_t n_name = 0
    cdef uint32_t character
    while at < text.n:
        character = char_at(text, at)
        if ends_name(character):
            break
        if n_name < MOST_NAME:
            tag.name[n_name] = <uint8_t> lower(character) if character < 128 else 0
        n_name += 1
        at += 1
    at = end_of_attributes(text, at)
    tag.end = min(text.n, at + 1)
    # Browsers ignore a tag that does not end.
    tag.n_name = <int> n_name if at < text.n and n_name <= MOST_NAME else 0


cdef Py_ssize_t end_of_attributes(const Characters* text, Py_ssize_t at) noexcept nogil:
    """Where the ">" of a tag is, or the end of the text."""
    cdef uint32_t character
    while at < text.n:
        character = char_at(text, at)
        if character == c">":
            return at
        if character == c"/" or is_blank(character):
            at += 1
            continue
        at += 1
        while at < text.n and not (ends_name(peek(text, at)) or peek(text, at) == c"="):
            at += 1
        at = after_value(text, at)
    return text.n


cdef Py_ssize_t after_value(const Characters* text, Py_ssize_t at) noexcept nogil:
    """The place after "=" and the value of an attribute, if it has one; else the same place."""
    cdef Py_ssize_t place = after_blanks(text, at)
    cdef uint32_t quote
    if peek(text, place) != c"=":
        return at
    place = after_blanks(text, place + 1)
    quote = peek(text, place)
    if quote == c'"' or quote == c"'":
        return min(text.n, find_mark(text, place + 1, quote) + 1)
    while place < text.n and not (peek(text, place) == c">" or is_blank(peek(text, place))):
        place += 1
    return place


cdef Py_ssize_t end_of_comment(const Characters* text, Py_ssize_t at) noexcept nogil:
    """The end of a comment whose "<!--" ends here."""
    if peek(text, at) == c">":
        return at + 1
    if peek(text, at) == c"-" and peek(text, at + 1) == c">":
        return at + 2
    while True:
        at = find_mark(text, at, c"-")
        if at == text.n:
            return text.n
        if peek(text, at + 1) == c"-":
            if peek(text, at + 2) == c">":
                return at + 3
            if peek(text, at + 2) == c"!" and peek(text, at + 3) == c">":
                return at + 4
        at += 1


cdef Py_ssize_t end_of_raw(
    const Characters* text, Py_ssize_t at, const uint8_t* name, Py_ssize_t n_name
) noexcept nogil:
    """The end of the first end tag of this name from a place on, or NOT_FOUND."""
    cdef Py_ssize_t place
    while True:
        at = find_mark(text, at, c"<")
        if at == text.n:
            return NOT_FOUND
        at += 1
        if peek(text, at) != c"/":
            continue
        place = 0
        while place < n_name and lower(peek(text, at + 1 + place)) == name[place]:
            place += 1
        if place == n_name and at + 1 + place < text.n and ends_name(peek(text, at + 1 + place)):
            return min(text.n, find_mark(text, at + 1 + place, c">") + 1)


cdef inline Py_ssize_t find_mark(
    const Characters* text, Py_ssize_t at, uint32_t mark
) noexcept nogil:
    """The next place with a character, or the end of the text."""
    while at < text.n and char_at(text, at) != mark:
        at += 1
    return min(at, text.n)


cdef inline Py_ssize_t after_blanks(const Characters* text, Py_ssize_t at) noexcept nogil:
    while at < text.n and is_blank(char_at(text, at)):
        at += 1
    return at


cdef inline uint32_t peek(const Characters* text, Py_ssize_t at) noexcept nogil:
    """The character at a place; after the text's end a NUL, which here is as any other."""
    return char_at(text, at) if at < text.n else 0


cdef inline bint is_blank(uint32_t character) noexcept nogil:
    """HTML's white space."""
    return character == c" " or character == c"\n" or character == c"\t" or (
        character == c"\r" or character == c"\f"
    )


cdef inline bint ends_name(uint32_t character) noexcept nogil:
    return character == c"/" or character == c">" or is_blank(character)


cdef inline bint is_letter(uint32_t character) noexcept nogil:
    return c"a" <= lower(character) <= c"z"


cdef inline uint32_t lower(uint32_t character) noexcept nogil:
    return character | 0x20 if c"A" <= character <= c"Z" else character
