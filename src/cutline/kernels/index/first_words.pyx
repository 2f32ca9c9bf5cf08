"""First words of the slices of a text that a prefix precedes: what is counted anew for each.

A slice of such a text is no slice of the text with its prefix: the prefix may make other tokens of
what the slice begins with, up to the first boundary that no token lies across.

Guarded by tests/pipeline/test_first_words.py.
"""

from cython cimport auto_pickle

from cutline.kernels.base.late import numpy as np

from cutline.kernels.base.characters cimport Characters, char_at, characters_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NO_MEMORY, UNKNOWN, int64_t, memcpy, uint8_t, uint16_t, uint32_t,
)
from cutline.kernels.base.pairs cimport next_place, pairs_of
from cutline.kernels.base.signals cimport is_interrupted, raise_pending
from cutline.kernels.bpe.bpe cimport has_closed_boundaries, is_closed_between

cdef enum:
    LONG = 1 << 10              # characters of a word: it is not counted again and again

cdef str NO_MEMORY_LEFT = "no memory to count the first words of slices"


@auto_pickle(False)
cdef class FirstWords:
    """The first words of slices of a changed text: up to the first safe split point.

    Args:
        encoder: counts.
        text: the changed text.
        prefix: comes before each slice, after
        takes_blank: a blank, unless the slice begins with one.
        class_of, pairs: the safe split points: see `places_of_pairs`.
        splits_nothing: texts are split only where no token lies across.
    """

    def __cinit__(
        self, Encoder encoder not None, str text not None, str prefix not None, bint takes_blank,
        const uint16_t[::1] class_of not None, const uint8_t[:, ::1] pairs not None,
        bint splits_nothing
    ):
        cdef Py_ssize_t at
        if len(prefix) > MOST_PREFIX or encoder.scan_tables is None:
            raise ValueError(f"no such prefix: {prefix!r}")
        self.encoder = encoder
        self.source = encoder.source()
        self.held = text
        self.text = characters_of(text)
        self.n_prefix = len(prefix)
        for at in range(self.n_prefix):
            self.prefix[at] = ord(prefix[at])
        self.takes_blank = takes_blank
        self.tables = (class_of, pairs)
        self.points = pairs_of(class_of, pairs)
        self.closes = splits_nothing and has_closed_boundaries(&encoder.tables.bpe)

    cdef Py_ssize_t end_of(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Where the first word of text[start:end] ends, which is not empty. UNKNOWN: it is long."""
        cdef Py_ssize_t at = start, last = min(end, start + LONG + 1)
        while at + 1 < last:
            if next_place(&self.text, at, at + 1, &self.points) == at + 1:
                return at + 1
            if self.closes and is_closed_between(
                &self.encoder.tables.bpe, char_at(&self.text, at), char_at(&self.text, at + 1)
            ):
                return at + 1
            at += 1
        return end if end - start <= LONG else UNKNOWN

    cdef Py_ssize_t find(
        self, OwnedState owned, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* word_end     # out
    ) noexcept nogil:
        """Count the first word of text[start:end], which is not empty. UNKNOWN: it is long."""
        cdef uint32_t[LONG + MOST_PREFIX + 1] written
        cdef Characters word
        cdef Source source = self.source
        cdef Py_ssize_t at = self.end_of(start, end)
        if at < 0:
            return at
        word_end[0] = at
        word.data = written
        word.kind = sizeof(uint32_t)
        word.is_ascii = False
        memcpy(written, self.prefix, self.n_prefix * sizeof(uint32_t))
        word.n = self.n_prefix
        if self.takes_blank and char_at(&self.text, start) != c" ":
            written[word.n] = c" "
            word.n += 1
        for at in range(start, word_end[0]):
            written[word.n] = char_at(&self.text, at)
            word.n += 1
        return self.encoder.encode_one(owned, &source, &word, -1, NO_LIMIT)

    def count(self, Py_ssize_t start, Py_ssize_t end):
        """Count the first word of a slice of the changed text: where it ends, and its tokens.

        A negative number of tokens: it is long.
        """
        cdef OwnedState owned
        cdef Py_ssize_t word_end = start, status
        if not 0 <= start < end <= self.text.n:
            raise ValueError(f"a slice of the text is needed, got {start}:{end}")
        owned = self.encoder.take_state()
        status = self.find(owned, start, end, &word_end)
        self.encoder.release(owned)
        if status == NO_MEMORY:
            raise MemoryError(NO_MEMORY_LEFT)
        return word_end, status

    def count_many(self, const int64_t[:, ::1] spans not None):
        """Count the first words of slices of the changed text.

        Returns:
            The slices without them, int64 of shape (n, 2); and the tokens of each first word, or
            a negative number where it is long: its slice is whole.

        Cost: for each slice, what encoding its first word takes.
        """
        cdef Py_ssize_t row, n = spans.shape[0], status = 0
        cdef OwnedState owned
        rests = np.array(spans, dtype=np.int64)
        counts = np.zeros(n, dtype=np.int64)
        cdef int64_t[:, ::1] rest = rests
        cdef int64_t[::1] count = counts
        if n and not 0 <= rests.min() <= rests.max() <= self.text.n:
            raise ValueError("the offsets of slices must be in the text")
        owned = self.encoder.take_state()
        owned.state.lookups.watch.is_on = True
        with nogil:
            for row in range(n):
                status = self.count_row(owned, &rest[row, 0], &count[row])
                if status < 0:
                    break
        self.encoder.release(owned)
        if status == INTERRUPTED:
            raise_pending()
        if status < 0:
            raise MemoryError(NO_MEMORY_LEFT)
        return rests, counts

    cdef Py_ssize_t count_row(
        self, OwnedState owned, int64_t* span, int64_t* count
    ) noexcept nogil:
        """Count the first word of a slice, and take it away. 0, NO_MEMORY or INTERRUPTED."""
        cdef Py_ssize_t start = span[0], word_end = start, status
        if start >= span[1]:
            return 0
        status = self.find(owned, start, span[1], &word_end)
        if status == NO_MEMORY or status == INTERRUPTED:
            return status
        count[0] = status
        if status >= 0:
            span[0] = word_end
        return INTERRUPTED if is_interrupted(&owned.state.lookups.watch, word_end - start + 1) else 0
