"""Where to cut a text so that each chunk ends at its best break, for models over characters.

Their slices are slices of another text, in which characters are spelled, after a prefix: what this
makes of the first word is counted anew for each start.

Guarded by tests/chunking/test_spelled.py.
"""

cimport cython

from cutline.kernels.base.characters cimport Characters, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, UNKNOWN
from cutline.kernels.base.spelling cimport SpelledPlaces
from cutline.kernels.breaks.best_break cimport (
    FITS, Limit, fits, give_back, last_place, take_limit, tokens_within,
)
from cutline.kernels.breaks.counted_breaks cimport CountedCut
from cutline.kernels.breaks.outlined cimport Places, cut_counted
from cutline.kernels.breaks.overlaps cimport Overlap
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.index.first_words cimport FirstWords
from cutline.kernels.index.interval cimport Intervals

cdef enum:
    NEAR = 64                   # characters to be tried one by one


def cut_spelled_at_breaks(
    Intervals counter not None, str text not None, SpelledPlaces spelled, FirstWords first_words,
    Py_ssize_t start, Py_ssize_t floor, Py_ssize_t until, Py_ssize_t n, double min_fill,
    const int[::1] kinds not None, Overlap overlap=None, renew=None, Places places=None
):
    """Cut at the last breaks that fit, while they fill chunks: see `cut_at_breaks`.

    Args:
        counter: of the changed text.
        text: as it was before.
        spelled: where its characters are in the changed text; None: at the same place.
        first_words: of the changed text; None: slices are those of the changed text.
        places: of the text; None: there are none. See `cut_at_places`.

    Returns:
        int64, four of each chunk, at most so many; and the longest end of the chunk after them,
        which takes another kind of boundary, or -1.
    """
    cdef Characters characters = characters_of(text)
    cdef SpelledCut cut = SpelledCut(n, min_fill, kinds, renew)
    if spelled is not None and spelled.n != characters.n:
        raise ValueError(f"places of {characters.n} characters are needed, got {spelled.n}")
    cut.text = &characters
    cut.n_changed = counter.index.text.n
    cut.places = spelled
    cut.first_words = first_words
    _, owned = take_limit(&cut.limit, counter, n)
    cut.owned = owned
    try:
        return cut_counted(cut, places, overlap, start, floor, until)
    finally:
        give_back(counter, owned)


@cython.internal
cdef class SpelledCut(CountedCut):
    """A text that is cut at breaks; the counter is that of another text."""

    cdef Limit limit            # in the changed text
    cdef Py_ssize_t n_changed
    cdef SpelledPlaces places
    cdef FirstWords first_words
    cdef OwnedState owned       # the limit's
    cdef Py_ssize_t word_start, word_end, word_tokens   # the first word of the last slice counted

    def __cinit__(self, Py_ssize_t n, double min_fill, const int[::1] kinds not None, renew):
        self.limit_chunks(n, min_fill, kinds, renew)
        self.word_start = NOT_FOUND

    cdef Py_ssize_t start_of(self, Py_ssize_t at) noexcept nogil:
        """Where what a slice from a character on becomes starts in the changed text."""
        return at if self.places is None else self.places.to_start(at)

    cdef Py_ssize_t end_of(self, Py_ssize_t at) noexcept nogil:
        """Where what a slice up to a character becomes ends there."""
        return at if self.places is None else self.places.to_end(at)

    cdef Py_ssize_t character_at(self, Py_ssize_t place) noexcept nogil:
        """The last character up to which a slice may become what ends there, or before."""
        return place if self.places is None else self.places.to_text(place)

    cdef Py_ssize_t find_word(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Find the first word of a slice of the changed text. Returns its end, or a status."""
        cdef Py_ssize_t status
        if self.first_words is None:
            self.word_tokens = 0
            return start
        if start != self.word_start or end < self.word_end:
            status = self.first_words.find(self.owned, start, end, &self.word_end)
            if status < 0:
                return status
            self.word_tokens = status
            # That of a slice that goes on is known, if this one goes on after it.
            self.word_start = start if self.word_end < end else NOT_FOUND
        return self.word_end

    cdef Py_ssize_t last_place(self, Py_ssize_t start) noexcept nogil:
        cdef Py_ssize_t first = self.start_of(start), word_end, at
        if first == self.n_changed:
            return self.text.n      # nothing becomes of the rest
        word_end = self.find_word(first, self.n_changed)
        if word_end < 0:
            return word_end
        self.limit.n = self.most - self.word_tokens
        if self.limit.n < 0:
            return UNKNOWN
        at = last_place(&self.limit, 1, word_end)
        return UNKNOWN if at == NOT_FOUND else self.character_at(at)

    cdef Py_ssize_t longest_fit(self, Py_ssize_t start) noexcept nogil:
        cdef Py_ssize_t at = self.last_place(start), word_end, least, tokens
        cdef int fit
        if at < 0 or self.start_of(start) == self.n_changed:
            return at
        word_end = self.find_word(self.start_of(start), self.n_changed)
        least = max(start, at - NEAR)
        while at > least and self.end_of(at) >= word_end:
            fit = fits(&self.limit, 1, word_end, self.end_of(at), &tokens)
            if fit == FITS:
                return at
            if fit == UNKNOWN:
                break
            at -= 1
        return UNKNOWN

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t first = self.start_of(start), last = self.end_of(end), word_end, tokens
        if last <= first or (self.places is not None and self.places.becomes_nothing(start, end)):
            return 0
        word_end = self.find_word(first, last)
        if word_end < 0:
            return word_end
        tokens = tokens_within(&self.limit, word_end, last)
        return tokens if tokens < 0 else tokens + self.word_tokens
