"""Where a text pauses: the ends of paragraphs, entries, lines, sentences, phrases, words and
graphemes; or of any character.

Nothing before `start` counts, and nothing as far as 256 characters after a place.

Guarded by tests/kernels/test_lines.py.
"""

from cutline.kernels.base.characters cimport char_at, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, uint32_t
from cutline.kernels.breaks.graphemes cimport is_grapheme_boundary
from cutline.kernels.breaks.lines cimport last_entry, last_line, last_paragraph
from cutline.kernels.breaks.phrases cimport ends_phrase
from cutline.kernels.breaks.sentences cimport last_sentence, list_sentences
from cutline.kernels.breaks.text_properties cimport LETTER, SPACE, need_tables, properties_of
from cutline.kernels.breaks.wrapping cimport LINES
from cutline.kernels.breaks.words cimport ends_word, suits_word


cdef int need_kind(int kind) except -1:
    """Have what finding breaks of a kind takes, before any is asked for."""
    if not PARAGRAPH <= kind & ~LINES <= CHARACTER or kind & LINES == LINES:
        raise ValueError(f"there is no kind {kind} of breaks")
    return 0 if kind & ~LINES == CHARACTER else need_tables()


cdef Py_ssize_t last_break(
    const Characters* text, int kind, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """The last break b with after < b <= until, or NOT_FOUND. 0 <= start <= after; until <= n."""
    cdef int lines = kind & LINES
    kind &= ~LINES
    if kind == PARAGRAPH:
        return last_paragraph(text, start, after, until)
    if kind == ENTRY:
        return last_entry(text, lines, start, after, until)
    if kind == LINE:
        return last_line(text, lines, start, after, until)
    if kind == SENTENCE:
        return last_sentence(text, lines, start, after, until)
    if kind == PHRASE:
        return last_of(ends_phrase, text, start, after, until)
    if kind == WORD:
        return last_of(ends_word, text, start, after, until)
    if kind == GRAPHEME:
        return last_of(is_grapheme_boundary, text, start, after, until)
    return until if until > after else NOT_FOUND


cdef inline Py_ssize_t last_of(
    bint (*is_break)(const Characters*, Py_ssize_t, Py_ssize_t) noexcept nogil,
    const Characters* text, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    while until > after:
        if is_break(text, start, until):
            return until
        until -= 1
    return NOT_FOUND


def find_last_break(
    str text not None, int kind, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
):
    """The last break b of a kind with after < b <= until, or -1."""
    cdef Characters characters = characters_of(text)
    check_places(start, after)
    need_kind(kind)
    return last_break(&characters, kind, start, after, min(until, characters.n))


def find_breaks(
    str text not None, int kind, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
):
    """All breaks b of a kind with after < b <= until, rising."""
    cdef Characters characters = characters_of(text)
    cdef list places = []
    check_places(start, after)
    need_kind(kind)
    until = min(until, characters.n)
    if kind & ~LINES == SENTENCE:
        return list_sentences(&characters, kind & LINES, start, after, until)
    while True:
        until = last_break(&characters, kind, start, after, until)
        if until == NOT_FOUND:
            break
        places.append(until)
        until -= 1
    places.reverse()
    return places


def keep_graphemes(str text not None, Py_ssize_t start, places, bint ends_words=False):
    """Those of some places that tear no grapheme; nothing before `start` counts.

    Args:
        ends_words: words end there: not before a closing bracket nor after an opening one.
    """
    cdef Characters characters = characters_of(text)
    cdef Py_ssize_t place
    need_tables()
    kept = []
    for place in places:
        check_places(start, place)
        if place <= characters.n and (
            suits_word if ends_words else is_grapheme_boundary
        )(&characters, start, place):
            kept.append(place)
    return kept


def says_something(str text not None, Py_ssize_t start, Py_ssize_t end):
    """Whether there is more than white space, punctuation and markup in text[start:end]."""
    cdef Characters characters = characters_of(text)
    check_places(start, end)
    need_tables()
    return says_any(&characters, start, min(end, characters.n))


cdef bint says_any(const Characters* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """The same; the tables are there, and end <= n."""
    cdef Py_ssize_t at
    cdef uint32_t code_point, found
    for at in range(start, end):
        code_point = char_at(text, at)
        found = properties_of(code_point)
        if found & LETTER or (code_point >= 0x80 and not found & SPACE):
            return True
    return False


cdef int check_places(Py_ssize_t start, Py_ssize_t after) except -1:
    if not 0 <= start <= after:
        raise ValueError(f"0 <= start <= after must hold, got {start} and {after}")
    return 0
