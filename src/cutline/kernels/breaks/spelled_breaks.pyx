"""Where to cut a text so that each chunk ends at its best break, for models over characters.

Their slices are slices of another text, in which characters are spelled, after a prefix: what this
makes of the first word is counted anew for each start.

Guarded by tests/chunking/test_spelled.py.
"""

cimport cython

from cutline.kernels.base.characters cimport Characters, characters_of
from cutline.kernels.base.common cimport NO_MEMORY, NOT_FOUND, UNKNOWN, int64_t
from cutline.kernels.breaks.best_break cimport (
    FITS, Limit, fits, give_back, last_place, take_limit, tokens_within,
)
from cutline.kernels.breaks.counted_breaks cimport CountedCut
from cutline.kernels.breaks.overlaps cimport Overlap, cut_rows
from cutline.kernels.index.interval cimport Intervals

cdef enum:
    NEAR = 64                   # characters to be tried one by one
    RAISED = -17                # a status: what counts the first word did


def cut_spelled_at_breaks(
    Intervals counter not None, str text not None, const int64_t[::1] places, first_word,
    Py_ssize_t start, Py_ssize_t floor, Py_ssize_t until, Py_ssize_t n, double min_fill,
    const int[::1] kinds not None, Overlap overlap=None, renew=None
):
    """Cut at the last breaks that fit, while they fill chunks: see `cut_at_breaks`.

    Args:
        counter: of the changed text.
        text: as it was before.
        places: where each of its characters, and its end, are in the changed text; None: there.
        first_word: from two places in the changed text to the end of the first word between them,
            and the tokens of its slice up to there; None: that takes long. None instead: slices
            are those of the changed text.

    Returns:
        int64, four of each chunk, at most so many; and the longest end of the chunk after them,
        which takes another kind of boundary, or -1.
    """
    cdef Characters characters = characters_of(text)
    cdef SpelledCut cut = SpelledCut(n, min_fill, kinds, renew)
    if places is not None and places.shape[0] != characters.n + 1:
        raise ValueError(f"{characters.n + 1} places are needed, got {places.shape[0]}")
    cut.text = &characters
    cut.n_changed = counter.index.text.n
    cut.places = places
    cut.first_word = first_word
    _, owned = take_limit(&cut.limit, counter, n)
    try:
        rows, status = cut_rows(
            cut, &characters, overlap, start, floor, until, renew is not None
        )
    finally:
        give_back(counter, owned)
    if cut.error is not None:
        raise cut.error
    if status == NO_MEMORY:
        raise MemoryError("no memory for the places that a chunk may start or end at")
    return rows, cut.longest if overlap is None and status == NOT_FOUND else NOT_FOUND


@cython.internal
cdef class SpelledCut(CountedCut):
    """A text that is cut at breaks; the counter is that of another text."""

    cdef Limit limit            # in the changed text
    cdef Py_ssize_t n_changed
    cdef const int64_t[::1] places
    cdef object first_word, error
    cdef Py_ssize_t word_start, word_end, word_tokens   # the first word of the last slice counted

    def __cinit__(self, Py_ssize_t n, double min_fill, const int[::1] kinds not None, renew):
        self.limit_chunks(n, min_fill, kinds, renew)
        self.word_start = NOT_FOUND

    cdef Py_ssize_t place_of(self, Py_ssize_t at) noexcept nogil:
        """The place of a character in the changed text."""
        return at if self.places is None else self.places[at]

    cdef Py_ssize_t character_at(self, Py_ssize_t place) noexcept nogil:
        """The last character that begins at a place of the changed text, or before."""
        cdef Py_ssize_t low = 0, high = self.text.n, middle
        if self.places is None:
            return place
        while low < high:
            middle = (low + high + 1) >> 1
            if self.places[middle] <= place:
                low = middle
            else:
                high = middle - 1
        return low

    cdef Py_ssize_t find_word(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Find the first word of a slice of the changed text. Returns its end, or a status."""
        if self.first_word is None:
            self.word_tokens = 0
            return start
        if start != self.word_start or end < self.word_end:
            with gil:
                try:
                    found = self.first_word(start, end)
                    if found is None:
                        return UNKNOWN
                    self.word_end, self.word_tokens = found
                except BaseException as error:
                    self.error = error
                    return RAISED
            # That of a slice that goes on is known, if this one goes on after it.
            self.word_start = start if self.word_end < end else NOT_FOUND
        return self.word_end

    cdef Py_ssize_t last_place(self, Py_ssize_t start) noexcept nogil:
        cdef Py_ssize_t first = self.place_of(start), word_end, at
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
        if at < 0:
            return at
        word_end = self.find_word(self.place_of(start), self.n_changed)
        least = max(start, at - NEAR)
        while at > least and self.place_of(at) >= word_end:
            fit = fits(&self.limit, 1, word_end, self.place_of(at), &tokens)
            if fit == FITS:
                return at
            if fit == UNKNOWN:
                break
            at -= 1
        return UNKNOWN

    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        cdef Py_ssize_t tokens = self.tokens_between(start, end)
        if tokens < 0:
            return tokens
        return 1 if tokens <= most else 0

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t first = self.place_of(start), last = self.place_of(end), word_end, tokens
        if first == last:
            return 0
        word_end = self.find_word(first, last)
        if word_end < 0:
            return word_end
        tokens = tokens_within(&self.limit, word_end, last)
        return tokens if tokens < 0 else tokens + self.word_tokens
