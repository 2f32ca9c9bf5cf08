"""Where to cut a text so that each chunk ends at its best break, for models that encode words.

Guarded by tests/words/test_encoding.py.
"""

cimport cython

from cutline.kernels.base.utf8 import has_surrogates

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.chunks cimport Rows
from cutline.kernels.base.common cimport INTERRUPTED, NOT_FOUND, UNKNOWN, uint8_t
from cutline.kernels.breaks.counted_breaks cimport CountedCut
from cutline.kernels.breaks.outlined cimport Places, cut_counted
from cutline.kernels.breaks.overlaps cimport Overlap
from cutline.kernels.breaks.text_blocks cimport TextCutter
from cutline.kernels.words.char_map cimport CharMap
from cutline.kernels.words.encoder cimport WordEncoder
from cutline.kernels.words.intervals cimport WordIntervals
from cutline.kernels.words.slice_counts cimport SliceHead
from cutline.kernels.words.word_state cimport OwnedWordState

cdef enum:
    MOST_WORK = 4               # characters, for each one of a chunk that shares some of them
    LEAST_WORK = 4096
    WORK = 8                    # of a count, in characters


def cut_words_at_breaks(
    WordIntervals counter not None, Py_ssize_t start, Py_ssize_t floor, Py_ssize_t until,
    Py_ssize_t n, double min_fill, const int[::1] kinds not None, Overlap overlap=None, renew=None,
    Places places=None
):
    """Cut at the last breaks that fit, while they fill chunks: see `cut_at_breaks`.

    Args:
        places: of the text; None: there are none. See `cut_at_places`.

    Returns:
        int64, four of each chunk, at most so many; and the longest end of the chunk after them,
        which takes another kind of boundary, or -1.
    """
    cdef WordCut cut = WordCut(counter, n, min_fill, kinds, renew)
    try:
        return cut_counted(cut, places, overlap, start, floor, until)
    finally:
        counter.encoder.release(cut.owned)


@cython.internal
cdef class WordCut(CountedCut):
    """A text that is cut at breaks.

    Args:
        counter, n, min_fill, kinds, renew: see `cut_words_at_breaks`.
    """

    cdef WordIntervals counter
    cdef OwnedWordState owned
    cdef SliceHead head
    cdef Py_ssize_t work, most_work     # up to one end of slices

    def __cinit__(
        self, WordIntervals counter not None, Py_ssize_t n, double min_fill,
        const int[::1] kinds not None, renew
    ):
        self.limit_chunks(n, min_fill, kinds, renew)
        self.counter = counter
        self.text = &counter.text
        self.head.asked = NOT_FOUND
        self.owned = counter.encoder.take()
        counter.encoder.begin(&self.owned.state, counter.char_map, counter.held)

    cdef Py_ssize_t take_text(self, const Characters* text) noexcept nogil:
        """Begin with another text; see `TextStarts.take_text`."""
        self.head.asked = NOT_FOUND
        return self.counter.take_text(&self.owned.state, text)

    cdef Py_ssize_t find_head(self, Py_ssize_t start) noexcept nogil:
        """Find the head of slices from a start, if it is another one than before; or a status."""
        if self.head.asked == start:
            return 0
        return self.counter.find_head(&self.owned.state, start, &self.head)

    cdef Py_ssize_t last_place(self, Py_ssize_t start) noexcept nogil:
        cdef Py_ssize_t status = self.find_head(start)
        if status < 0:
            return status
        return self.counter.last_place(&self.owned.state, &self.head, self.most)

    cdef Py_ssize_t longest_fit(self, Py_ssize_t start) noexcept nogil:
        cdef Py_ssize_t status = self.find_head(start)
        if status < 0:
            return status
        return self.counter.longest_fit(&self.owned.state, &self.head, self.most)

    cdef Py_ssize_t begin_to(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        self.work = 0
        self.most_work = LEAST_WORK + MOST_WORK * (end - start)
        return 0

    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        if self.work > self.most_work:
            return UNKNOWN
        self.work += WORK + self.counter.characters_counted(start, end)
        return CountedCut.fits_to(self, start, end, most)

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t status = self.find_head(start)
        if status < 0:
            return status
        return self.counter.count_from(&self.owned.state, &self.head, end)


cdef class WordTexts(TextCutter):
    """Cuts texts within a limit, as `cut_words_at_breaks` does.

    Args:
        encoder: counts.
        n, min_fill, kinds, overlap: see there.
        gap: of each text's `WordIntervals`.
    """

    cdef WordEncoder encoder
    cdef WordCut cutting
    cdef uint8_t[::1] are_left  # to another way: they have surrogates, or characters are entangled

    def __cinit__(
        self, WordEncoder encoder not None, Py_ssize_t n, double min_fill,
        const int[::1] kinds not None, Overlap overlap=None, Py_ssize_t gap=0
    ):
        self.encoder = encoder
        self.overlap = overlap
        self.cutting = WordCut(WordIntervals(encoder, "", gap=gap), n, min_fill, kinds, None)
        self.cutting.owned.state.paths.watch.is_on = True

    cdef int prepare(self, list texts) except -1:
        cdef CharMap char_map = self.cutting.counter.char_map
        self.are_left = bytearray(
            has_surrogates(text) or char_map.prepare(text) >= 0 for text in texts
        )
        return 0

    cdef Py_ssize_t cut(
        self, Py_ssize_t number, const Characters* text, Rows* rows
    ) noexcept nogil:
        cdef Py_ssize_t status
        if self.are_left[number]:
            return NOT_FOUND
        status = self.cutting.take_text(text)
        if status < 0:
            return INTERRUPTED if status == INTERRUPTED else NOT_FOUND
        return self.cut_by(self.cutting, text, rows)

    cdef int close(self) except -1:
        self.encoder.release(self.cutting.owned)
        return 0
