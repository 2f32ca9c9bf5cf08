"""Where to cut a text so that each chunk ends at its best break, for models that encode words.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.memory import zeroed_numbers

from libc.math cimport ceil

from cutline.kernels.base.common cimport NOT_FOUND, int64_t
from cutline.kernels.breaks.breaks cimport GRAPHEME, last_break, need_kind
from cutline.kernels.words.encoder cimport OwnedWordState, WordState
from cutline.kernels.words.intervals cimport WordIntervals

cdef enum:
    MOST_CUTS = 256             # at a time

cdef struct Found:
    Py_ssize_t end              # NOT_FOUND: none; or a status
    Py_ssize_t tokens
    Py_ssize_t place            # of its kind among those asked for; after them: the text's end
    Py_ssize_t longest          # without an end: the end of the longest that fits


def cut_words_at_breaks(
    WordIntervals counter not None, Py_ssize_t start, Py_ssize_t until, Py_ssize_t n, double min_fill,
    const int[::1] kinds not None
):
    """Cut at the last breaks that fit, while they fill chunks: see `cut_at_breaks`.

    Returns:
        int64, four of each chunk, at most so many; and the longest end of the chunk after them,
        which takes another kind of boundary, or -1.
    """
    cdef Py_ssize_t row = 0, place
    cdef int n_kinds = <int> kinds.shape[0]
    cdef const int* first_kind = &kinds[0] if n_kinds > 0 else NULL
    cdef OwnedWordState owned
    cdef Found found
    if start < 0:
        raise ValueError(f"start must be 0 or more, got {start}")
    for place in range(n_kinds):
        need_kind(kinds[place])
    cuts = zeroed_numbers("q", 4 * MOST_CUTS)
    cdef int64_t[::1] rows = cuts
    until = min(until, counter.text.n)
    found.longest = found.end = NOT_FOUND
    owned = counter.encoder.take()
    counter.encoder.begin(&owned.state, counter.char_map, counter.held)
    with nogil:
        while start < until and row < MOST_CUTS:
            found = best_end(counter, &owned.state, start, n, min_fill, first_kind, n_kinds)
            if found.end < 0:
                break
            rows[4 * row] = start
            rows[4 * row + 1] = start = found.end
            rows[4 * row + 2] = found.tokens
            rows[4 * row + 3] = found.place
            row += 1
    if found.end != NOT_FOUND:
        counter.encoder.check(found.end)
    counter.encoder.release(owned)
    return cuts[:4 * row], found.longest


cdef Found best_end(
    WordIntervals counter, WordState* state, Py_ssize_t start, Py_ssize_t n, double min_fill,
    const int* kinds, int n_kinds
) noexcept nogil:
    """The end of a chunk from `start` on.

    It is the text's end, if it fits; else the last break that fits, of the first kind whose last
    one fills the chunk, or of graphemes or characters.
    """
    cdef Found found
    cdef Py_ssize_t fill = <Py_ssize_t> ceil(min_fill * n), bound
    found.longest = NOT_FOUND
    found.end = bound = counter.longest_fit(state, start, n)
    found.place = n_kinds
    found.tokens = 0
    if bound <= start:
        found.end = bound if bound < 0 else NOT_FOUND
        return found
    if bound == counter.text.n:
        found.end = bound
        found.tokens = counter.count_slice(state, start, bound)
        if found.tokens < 0:
            found.end = found.tokens
        return found
    for found.place in range(n_kinds):
        found.end = last_break(&counter.text, kinds[found.place], start, start, bound)
        while found.end != NOT_FOUND:
            found.tokens = counter.count_slice(state, start, found.end)
            if found.tokens < 0:
                found.end = found.tokens
                return found
            if found.tokens <= n:
                break
            found.end = last_break(
                &counter.text, kinds[found.place], start, start, found.end - 1
            )
        if found.end != NOT_FOUND and (found.tokens >= fill or kinds[found.place] >= GRAPHEME):
            return found
    found.end = NOT_FOUND
    found.longest = bound
    return found
