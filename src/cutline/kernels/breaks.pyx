"""Where a text pauses: the ends of paragraphs, lines and sentences; or of any character.

Nothing before `start` counts, and nothing as far as 256 characters behind a place.
"""

from cutline.kernels.characters cimport Characters, characters_of
from cutline.kernels.lines cimport last_line, last_paragraph
from cutline.kernels.marks cimport NOWHERE
from cutline.kernels.sentences cimport last_sentence, list_sentences, need_classes


cdef int need_kind(int kind) except -1:
    """Have what finding breaks of a kind takes, before any is asked for."""
    if not PARAGRAPH <= kind <= CHARACTER:
        raise ValueError(f"there is no kind {kind} of breaks")
    return need_classes() if kind == SENTENCE else 0


cdef Py_ssize_t last_break(
    const Characters* text, int kind, Py_ssize_t start, Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """The last break b with after < b <= until, or NOWHERE. 0 <= start <= after; until <= n."""
    if kind == PARAGRAPH:
        return last_paragraph(text, start, after, until)
    if kind == LINE:
        return last_line(text, start, after, until)
    if kind == SENTENCE:
        return last_sentence(text, start, after, until)
    return until if until > after else NOWHERE


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
    if kind == SENTENCE:
        return list_sentences(&characters, start, after, until)
    while True:
        until = last_break(&characters, kind, start, after, until)
        if until == NOWHERE:
            break
        places.append(until)
        until -= 1
    places.reverse()
    return places


cdef int check_places(Py_ssize_t start, Py_ssize_t after) except -1:
    if not 0 <= start <= after:
        raise ValueError(f"0 <= start <= after must hold, got {start} and {after}")
    return 0
