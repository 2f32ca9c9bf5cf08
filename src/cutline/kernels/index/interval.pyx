"""Counts of the slices of one text: the base class of `cutline.IntervalCounter`.

Guarded by tests/counting/test_intervals_object.py.
"""

from cpython.exc cimport PyErr_CheckSignals
from cython cimport auto_pickle, critical_section
from libc.stdlib cimport free

from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport characters_of
from cutline.kernels.base.common cimport (
    BAD_OFFSET, INTERRUPTED, NO_MEMORY, NOT_FOUND, PAUSED, prefetch, uint8_t, uint32_t, uint64_t,
)
from cutline.kernels.base.signals cimport raise_pending
from cutline.kernels.bpe.token_tree cimport TokenTree, grow_tree
from cutline.kernels.encode.encoder cimport utf8_data
from cutline.kernels.index.bitmaps cimport (
    NARROW_WORDS, WIDE_WORDS, RankBitmaps, tokens_before, word_at,
)
from cutline.kernels.index.build_bitmaps cimport index_text
from cutline.kernels.index.slices cimport (
    SafePoint, count_slice, flush, forget_row, seek, start_query,
)
from cutline.kernels.index.subpieces cimport count_in_tree, forgo_tree
from cutline.kernels.index.text_index cimport BYTE_STEP, LongPiece, byte_at, char_at_byte

cdef extern from "native.h":
    void publish "cutline_publish"(const void** place, const void* address) noexcept nogil

cdef extern from "Python.h":
    # Without an error to raise, what does not fit is clipped: no text is as long.
    Py_ssize_t clipped "PyNumber_AsSsize_t"(object offset, void* error) except? -1

cdef enum:
    MOST_SCANNED = 1 << 24      # characters between two looks
    NOGIL_CHARS = 1 << 16       # shorter slices take no longer than another thread to start
    AHEAD = 8                   # rows

cdef object NO_WORDS = memoryview(b"")
cdef str NO_MEMORY_LEFT = "no memory to count the tokens of a long piece of text"


@auto_pickle(False)
cdef class Intervals:
    """The bitmaps of one text, and what counts with them.

    Args:
        encoder: must have scan tables.
        text: has no surrogates.
        owner: its UTF-8: bytes, or the text itself where it is ASCII. Not kept.
        byte_offsets: offsets are bytes of UTF-8, not characters.
    """

    def __cinit__(
        self, Encoder encoder not None, str text not None, owner not None, bint byte_offsets
    ):
        if encoder.scan_tables is None:
            raise ValueError("intervals need an encoder with scan tables")
        self.encoder = encoder
        self.held = text
        self.byte_offsets = byte_offsets
        self.trees = []
        self.index.text = characters_of(text)
        self.index.bpe = &encoder.tables.bpe
        self.index.source = encoder.source()
        self.build(owner)

    def __dealloc__(self):
        free(self.index.pieces)
        free(self.index.dfa_states)
        free(self.index.whole)

    cdef int build(self, object owner) except -1:
        cdef RankBitmaps* bitmaps = &self.index.bitmaps
        cdef uint64_t[::1] words
        cdef OwnedState owned = self.encoder.take_state()
        cdef Py_ssize_t n_bytes = 0, outcome
        cdef const uint8_t* utf8 = utf8_data(owner, &n_bytes)
        self.length = n_bytes if self.byte_offsets else self.index.text.n
        bitmaps.stride = NARROW_WORDS if self.index.text.is_ascii else WIDE_WORDS
        bitmaps.n_blocks = (self.index.text.n >> 6) + 1
        self.byte_words = NO_WORDS
        if not self.index.text.is_ascii:
            words = self.byte_words = zeroed_numbers("Q", self.index.text.n // BYTE_STEP + 1)
            self.index.byte_samples = &words[0]
        words = self.words = zeroed_numbers("Q", bitmaps.n_blocks * bitmaps.stride)
        bitmaps.words = &words[0]
        with nogil:
            outcome = index_text(&self.index, &owned.state, utf8, n_bytes)
        if outcome == INTERRUPTED:
            raise_pending()
        if outcome < 0:
            raise MemoryError(f"no memory to count the pieces of {n_bytes} bytes of text")
        self.encoder.release(owned)
        return 0

    cdef int provide(self, OwnedState owned, Py_ssize_t status, const Query* query) except -1:
        """Grow the tree that a query lacked, that it may be repeated."""
        cdef LongPiece* piece
        cdef TokenTree tree
        cdef Py_ssize_t tokens
        if status == NO_MEMORY:
            raise MemoryError(NO_MEMORY_LEFT)
        piece = self.index.pieces + query.wanted
        tree = grow_tree(
            self.index.bpe, &self.index.text, piece.start, piece.stop, &owned.state.lookups
        )
        tokens = count_in_tree(
            &self.index, piece, &tree.tree, &owned.state.lookups, query.start, query.end
        )
        if tokens == NO_MEMORY:
            raise MemoryError(NO_MEMORY_LEFT)
        if tokens == NOT_FOUND:
            forgo_tree(piece)
            return 0
        with critical_section(self):
            # Another thread may have been faster; its tree is in use by now.
            if piece.tree == NULL:
                self.trees.append(tree)
                self.tree_bytes += 16 * (tree.tree.n_bytes + 1)
                publish(<const void**> &piece.tree, &tree.tree)
        return 0

    cdef Py_ssize_t place_of(self, Py_ssize_t offset) noexcept nogil:
        """The character at an offset, or NOT_FOUND: none begins there."""
        if not 0 <= offset <= self.length:
            return NOT_FOUND
        return char_at_byte(&self.index, offset) if self.byte_offsets else offset

    @property
    def total(self):
        """The tokens of the whole text."""
        return tokens_before(&self.index.bitmaps, self.index.text.n)

    @property
    def nbytes(self):
        """Bytes of memory that the counter takes now, apart from the text itself."""
        return (
            self.words.nbytes + self.byte_words.nbytes + self.index.n_pieces * sizeof(LongPiece)
            + self.index.n_states * sizeof(uint32_t) + self.index.n_whole * sizeof(uint64_t)
            + self.tree_bytes + sizeof(TextIndex)
        )

    @property
    def _length(self):
        """The text's length in the unit of the offsets."""
        return self.length

    def count(self, start, end):
        """Count the tokens of `text[start:end]`, encoded on its own.

        Args:
            start, end: 0 <= start <= end <= length of the text.

        Raises:
            OffsetError: (a ValueError) they are not, or a byte offset lies inside a character.

        Cost: constant in ordinary text. Linear in the slice where its pieces never meet those
        of the whole text: a run of digits that are taken in threes, unless from the first,
        fourth and so on; a run of one character in one piece.

        >>> import cutline
        >>> index = cutline.get_encoding("o200k_base").intervals("hello world")
        >>> index.count(0, 11), index.count(3, 8)
        (2, 2)
        """
        cdef Py_ssize_t first = self.place_of(clipped(start, NULL))
        cdef Py_ssize_t last = self.place_of(clipped(end, NULL)), status
        cdef int64_t tokens
        cdef OwnedState owned
        cdef Query query
        if not 0 <= first <= last:
            raise self._offset_error(start, end)
        owned = self.encoder.take_state()
        start_query(&query, owned, &tokens)
        if last - first < NOGIL_CHARS:
            status = self.count_one(&query, first, last)
        else:
            with nogil:
                status = self.count_one(&query, first, last)
        while status < 0:
            self.provide(owned, status, &query)
            with nogil:
                status = self.count_one(&query, first, last)
        self.encoder.release(owned)
        return tokens

    cdef Py_ssize_t count_one(
        self, Query* query, Py_ssize_t first, Py_ssize_t last
    ) noexcept nogil:
        """Count a slice into row 0. 0 or a status."""
        cdef Py_ssize_t status = count_slice(&self.index, query, first, last)
        if status == 0 and not flush(&self.index, query):
            status = NO_MEMORY
        if status < 0:
            forget_row(query)
        return status

    def _count_many(self, const int64_t[:, ::1] spans not None):
        """Count the tokens of many slices; see `IntervalCounter.count_many`."""
        cdef Py_ssize_t n = spans.shape[0], status
        cdef OwnedState owned
        cdef Query query
        counts = np.zeros(n, dtype=np.int64)
        cdef int64_t[::1] out = counts
        if n == 0:
            return counts
        owned = self.encoder.take_state()
        start_query(&query, owned, &out[0])
        while True:
            with nogil:
                status = self.count_rows(&query, &spans[0, 0], n)
            if status == 0:
                break
            if status == PAUSED:
                PyErr_CheckSignals()
                query.scanned = 0
                continue
            if status == BAD_OFFSET:
                self.encoder.release(owned)
                raise self._offset_error(spans[query.row, 0], spans[query.row, 1], query.row)
            self.provide(owned, status, &query)
        self.encoder.release(owned)
        return counts

    cdef Py_ssize_t count_rows(
        self, Query* query, const int64_t* spans, Py_ssize_t n
    ) noexcept nogil:
        """Count the slices from the query's row on. 0; or a status, for the row it stopped at."""
        cdef Py_ssize_t first, last, status
        while query.row < n:
            if query.scanned > MOST_SCANNED:
                return PAUSED
            if query.row + AHEAD < n:
                self.prefetch_row(spans + 2 * (query.row + AHEAD))
            first = self.place_of(spans[2 * query.row])
            last = self.place_of(spans[2 * query.row + 1])
            if not 0 <= first <= last:
                return BAD_OFFSET
            status = count_slice(&self.index, query, first, last)
            if status < 0:
                forget_row(query)
                return status
            query.row += 1
        return 0 if flush(&self.index, query) else NO_MEMORY

    cdef void prefetch_row(self, const int64_t* span) noexcept nogil:
        cdef const uint8_t* data = <const uint8_t*> self.index.text.data
        cdef Py_ssize_t end
        if self.byte_offsets:
            return
        for end in range(2):
            if 0 <= span[end] <= self.length:
                prefetch(word_at(&self.index.bitmaps, span[end], 0))
                prefetch(data + span[end] * self.index.text.kind)

    def _seek(self, Py_ssize_t start, Py_ssize_t n, Py_ssize_t before):
        """Where to look for the longest fitting prefix from character `start`; see `seek`.

        Returns a safe split point before `before`, and the tokens from `start` to it.
        """
        cdef OwnedState owned = self.encoder.take_state()
        cdef Query query
        cdef SafePoint point
        cdef int64_t tokens
        start_query(&query, owned, &tokens)
        point = seek(&self.index, &query, start, n, before)
        self.encoder.release(owned)
        return point.at, point.tokens

    def _character(self, offset):
        """The character at an offset of the kind that this counter takes; -1: none begins there."""
        return self.place_of(clipped(offset, NULL))

    def _offset(self, Py_ssize_t character):
        """The offset of a character."""
        return byte_at(&self.index, character) if self.byte_offsets else character
