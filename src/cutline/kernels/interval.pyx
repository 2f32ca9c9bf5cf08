"""Tokens of any slice of a text, after one pass over it. Source: docs/counting.md.

A slice is counted in three parts. Its pieces are scanned from its start until a boundary
is met that is settled in the whole text; from there to the last settled boundary in the
slice, the tokens are a difference of two ranks; from there to its end it is scanned again.
"""

import threading

import numpy as np

from cython cimport auto_pickle
from libc.stdlib cimport free

from cutline.kernels.characters cimport (
    Walk, char_at, characters_of, ends_whole, utf8_width, walk, write_utf8,
)
from cutline.kernels.common cimport MERGE_LIMIT, SHORT_PIECE, prefetch, uint32_t, uint64_t
from cutline.kernels.encode cimport NEED_TRIE, NO_MEMORY, Workspace, encode_batch, reserve
from cutline.kernels.encoder cimport Encoder, utf8_data
from cutline.kernels.mark cimport mark_all
from cutline.kernels.marks cimport (
    NARROW_WORDS, SETTLED, TOKENS, WIDE_WORDS, has_bit, last_bit, tokens_before, word_at,
)
from cutline.kernels.part cimport count_part
from cutline.kernels.tree cimport TokenTree, grow_tree

cdef extern from "native.h":
    void publish "cutline_publish"(const void** place, const void* address) noexcept nogil

cdef enum:
    IS_LONG = -2
    BAD_OFFSET = -5
    NOGIL_CHARS = 1 << 16       # shorter slices take no longer than another thread to start
    AHEAD = 8                   # rows

# A place from which a cut can be looked for, the tokens before it being known.
cdef struct Landing:
    Py_ssize_t at
    Py_ssize_t tokens


cdef Py_ssize_t last_settled(const Counter* counter, Py_ssize_t at) noexcept nogil:
    """The last settled boundary before `at` (at >= 1); 0 always is one."""
    cdef const LongPiece* piece
    if counter.n_pieces > 0 and not word_at(&counter.marks, at - 1, SETTLED)[0]:
        # No search through the blocks of a giant piece: there is none inside.
        piece = long_piece_at(counter, at)
        if piece != NULL and at <= piece.end:
            at = piece.start + 1
    return last_bit(&counter.marks, 0, at, SETTLED)


cdef Py_ssize_t char_at_byte(const Counter* counter, Py_ssize_t byte) noexcept nogil:
    """The character that begins at this byte, or -1."""
    cdef Py_ssize_t low = 0, high = counter.text.n // BYTE_STEP + 1, middle, at, offset
    if counter.text.is_ascii:
        return byte
    while low + 1 < high:
        middle = (low + high) >> 1
        if <Py_ssize_t> counter.byte_marks[middle] <= byte:
            low = middle
        else:
            high = middle
    at = low * BYTE_STEP
    offset = <Py_ssize_t> counter.byte_marks[low]
    while offset < byte:
        offset += utf8_width(char_at(&counter.text, at))
        at += 1
    return at if offset == byte else -1


cdef Py_ssize_t next_piece(
    const Counter* counter, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """End of the piece of text[start:end] (start < end) at its start, or NO_PIECE.

    A scan that goes on for long is that of a long piece of the text, most often: once it
    is in the row that the text's own scan was in at the same place, the rest is known.
    """
    cdef Walk scan
    cdef Py_ssize_t joint
    scan.row = counter.source.scanner.start_row
    scan.at = start
    scan.piece_end = NO_PIECE
    walk(counter.source.scanner, &counter.text, &scan, min(end, start + MERGE_LIMIT))
    while scan.row != 0 and scan.at < end:
        joint = joined_end(counter, &scan, end)
        if joint != NO_PIECE:
            return joint
        walk(counter.source.scanner, &counter.text, &scan, min(end, next_joint(counter, scan.at)))
    if scan.row != 0 and ends_whole(counter.source.scanner, &scan):
        return end
    return scan.piece_end


cdef Py_ssize_t next_joint(const Counter* counter, Py_ssize_t at) noexcept nogil:
    """Where to compare rows next."""
    cdef const LongPiece* piece = long_piece_at(counter, at)
    if piece == NULL or at >= piece.stop:
        return at + ROW_STEP
    return at + ROW_STEP - (at - piece.start) % ROW_STEP


cdef Py_ssize_t joined_end(
    const Counter* counter, const Walk* scan, Py_ssize_t end
) noexcept nogil:
    """The end of the piece being scanned, known from the text's own scan; or NO_PIECE."""
    cdef const LongPiece* piece = long_piece_at(counter, scan.at)
    cdef Py_ssize_t length
    if piece == NULL or scan.at >= piece.end or (scan.at - piece.start) % ROW_STEP:
        return NO_PIECE
    if counter.rows[piece.first_row + (scan.at - piece.start) // ROW_STEP] != scan.row:
        return NO_PIECE
    if piece.examined <= end:
        return piece.end
    length = end - piece.start
    if end <= piece.stop and counter.whole[piece.first_whole + (length >> 6)] >> (length & 63) & 1:
        return end
    return NO_PIECE


cdef bint flush(const Counter* counter, Query* query) noexcept nogil:
    """Encode the pieces collected, and add their tokens to their rows' sums. False: no memory."""
    cdef const uint8_t* text = query.utf8
    cdef Py_ssize_t limit = BUFFER_BYTES, piece
    cdef uint32_t before = 0
    if query.batch.count == 0:
        return True
    if counter.text.is_ascii:
        text = <const uint8_t*> counter.text.data
        limit = counter.text.n
    if not reserve(query.scratch, query.used + 4):
        return False
    # Pieces as short as these need no tables that may be lacking.
    encode_batch(counter.bpe, query.scratch, text, limit, &query.batch, query.scratch.out)
    for piece in range(query.batch.count):
        query.sums[query.rows[piece]] += query.batch.totals[piece] - before
        before = query.batch.totals[piece]
    query.batch.count = 0
    query.used = 0
    return True


cdef void start_query(Query* query, Workspace work, int64_t* sums) noexcept:
    query.scratch = &work.scratch
    query.sums = sums
    query.row = 0
    query.batch.count = 0
    query.used = 0
    sums[0] = 0


cdef void forget_row(Query* query) noexcept nogil:
    """Take back what was collected and counted for the present row."""
    while query.batch.count > 0 and query.rows[query.batch.count - 1] == query.row:
        query.batch.count -= 1
    query.sums[query.row] = 0


cdef Py_ssize_t add_piece(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Collect a piece, or count it. 0 or a negative status."""
    cdef Py_ssize_t n_bytes = end - start, place, tokens
    if n_bytes <= SHORT_PIECE:
        if (
            query.batch.count == BATCH_PIECES or query.used + 5 * SHORT_PIECE > BUFFER_BYTES
        ) and not flush(counter, query):
            return NO_MEMORY
        place = query.batch.count
        query.batch.starts[place] = start
        query.batch.ends[place] = end
        if not counter.text.is_ascii:
            n_bytes = transcode(counter, query, start, end, query.used)
            query.batch.starts[place] = query.used
            query.batch.ends[place] = query.used + n_bytes
        if n_bytes <= SHORT_PIECE:
            query.rows[place] = query.row
            query.used += n_bytes
            query.batch.count = place + 1
            return 0
    elif not counter.text.is_ascii:
        n_bytes = utf8_bytes(&counter.text, start, end)
    tokens = count_part(counter, query, start, end, n_bytes)
    if tokens < 0:
        return tokens
    query.sums[query.row] += tokens
    return 0


cdef inline Py_ssize_t transcode(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t end, Py_ssize_t place
) noexcept nogil:
    """Put the UTF-8 of text[start:end] at a place of the query's buffer. Returns its bytes."""
    cdef Py_ssize_t n = place, at
    for at in range(start, end):
        n += write_utf8(char_at(&counter.text, at), query.utf8 + n)
    return n - place


cdef Py_ssize_t count_slice(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Add the tokens of text[start:end] to the row's sum, some when next flushed. 0 or a status."""
    cdef Py_ssize_t at = start, right, piece_end, status
    if start >= end:
        return 0
    right = last_settled(counter, end)
    while at < end:
        if at < right and has_bit(&counter.marks, at, SETTLED):
            query.sums[query.row] += (
                tokens_before(&counter.marks, right) - tokens_before(&counter.marks, at)
            )
            at = right
        piece_end = next_piece(counter, at, end)
        if piece_end == NO_PIECE:
            at += 1
            continue
        status = add_piece(counter, query, at, piece_end)
        if status < 0:
            return status
        at = piece_end
    return 0


cdef Landing land(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t n, Py_ssize_t before
) noexcept nogil:
    """The last settled boundary before `before` that has at most n tokens before it.

    For every cut behind it, they are those of text[start:cut] up to it. Else the start.
    """
    cdef Landing landing
    cdef Py_ssize_t at = start, piece_end, examined = start, base, place
    cdef const Marks* marks = &counter.marks
    landing.at = start
    landing.tokens = 0
    while not has_bit(marks, at, SETTLED):
        if at - start > 4 * MERGE_LIMIT or at >= counter.text.n:
            return landing
        piece_end = scan_short(counter, at, &examined)
        if piece_end == IS_LONG or (
            piece_end > at and add_piece(counter, query, at, piece_end) < 0
        ):
            return landing
        at = piece_end if piece_end > at else at + 1
    if at >= before or not flush(counter, query) or query.sums[0] > n:
        return landing
    base = tokens_before(marks, at)
    place = last_within(counter, base + n - query.sums[0], before)
    if place >= at and place + 1 >= examined:
        landing.at = place
        landing.tokens = query.sums[0] + tokens_before(marks, place) - base
    return landing


cdef Py_ssize_t scan_short(
    const Counter* counter, Py_ssize_t start, Py_ssize_t* examined
) noexcept nogil:
    """End of the text's piece at `start`; start itself where there is none; or IS_LONG.

    Raises `examined` to the characters that this looked at.
    """
    cdef Walk scan
    scan.row = counter.source.scanner.start_row
    scan.at = start
    scan.piece_end = NO_PIECE
    walk(
        counter.source.scanner, &counter.text, &scan, min(counter.text.n, start + MERGE_LIMIT)
    )
    if scan.row != 0:
        return IS_LONG
    examined[0] = max(examined[0], scan.at)
    return start if scan.piece_end == NO_PIECE else scan.piece_end


cdef Py_ssize_t last_within(
    const Counter* counter, Py_ssize_t tokens, Py_ssize_t before
) noexcept nogil:
    """The last settled boundary before `before` (>= 1) with at most so many tokens before it."""
    cdef const Marks* marks = &counter.marks
    cdef Py_ssize_t low = 0, high = ((before - 1) >> 6) + 1, middle, place
    while low + 1 < high:
        middle = (low + high) >> 1
        if <Py_ssize_t> word_at(marks, middle << 6, TOKENS)[0] <= tokens:
            low = middle
        else:
            high = middle
    place = last_settled(counter, min(before, (low + 1) << 6))
    while tokens_before(marks, place) > tokens:
        place = last_settled(counter, place)
    return place


@auto_pickle(False)
cdef class Intervals:
    """The marks of one text, and what counts with them.

    Args:
        encoder: must have scan tables.
        text: has no surrogates.
        owner: its UTF-8: bytes, or the text itself where it is ASCII. Not kept.
        byte_offsets: offsets are bytes of UTF-8, not characters.
    """

    cdef Encoder encoder
    cdef str held
    cdef Counter counter
    cdef object words
    cdef object byte_words
    cdef list trees
    cdef object lock
    cdef bint byte_offsets
    cdef Py_ssize_t length
    cdef Py_ssize_t tree_bytes

    def __cinit__(
        self, Encoder encoder not None, str text not None, owner not None, bint byte_offsets
    ):
        if encoder.scan_tables is None:
            raise ValueError("intervals need an encoder with scan tables")
        self.encoder = encoder
        self.held = text
        self.byte_offsets = byte_offsets
        self.trees = []
        self.lock = threading.Lock()
        self.counter.text = characters_of(text)
        self.counter.bpe = &encoder.tables.bpe
        self.counter.source = encoder.source()
        self.build(owner)

    def __dealloc__(self):
        free(self.counter.pieces)
        free(self.counter.rows)
        free(self.counter.whole)

    cdef int build(self, object owner) except -1:
        cdef Marks* marks = &self.counter.marks
        cdef uint64_t[::1] words
        cdef Workspace work = self.encoder.workspace()
        cdef Py_ssize_t n_bytes = 0, outcome
        cdef const uint8_t* utf8 = utf8_data(owner, &n_bytes)
        self.length = n_bytes if self.byte_offsets else self.counter.text.n
        marks.stride = NARROW_WORDS if self.counter.text.is_ascii else WIDE_WORDS
        marks.n_blocks = (self.counter.text.n >> 6) + 1
        self.byte_words = np.zeros(
            0 if self.counter.text.is_ascii else self.counter.text.n // BYTE_STEP + 1,
            dtype=np.uint64,
        )
        if not self.counter.text.is_ascii:
            words = self.byte_words
            self.counter.byte_marks = &words[0]
        while True:
            self.counter.n_pieces = self.counter.n_rows = self.counter.n_whole = 0
            words = self.words = np.zeros(marks.n_blocks * marks.stride, dtype=np.uint64)
            marks.words = &words[0]
            with nogil:
                outcome = mark_all(&self.counter, &work.scratch, utf8, n_bytes)
            if outcome != NEED_TRIE:
                break
            self.encoder.provide_trie(work)
        if outcome == NO_MEMORY:
            raise MemoryError(f"no memory to count the pieces of {n_bytes} bytes of text")
        self.encoder.release(work)
        return 0

    cdef int provide(self, Workspace work, Py_ssize_t status, Py_ssize_t wanted) except -1:
        """Make what a query lacked, that it may be repeated."""
        cdef LongPiece* piece
        cdef TokenTree tree
        if status == NO_MEMORY:
            raise MemoryError("no memory to count the tokens of a long piece of text")
        if status == NEED_TRIE:
            self.encoder.provide_trie(work)
            return 0
        self.encoder.tables.need_suffixes()
        piece = self.counter.pieces + wanted
        with self.lock:
            if piece.tree == NULL:
                tree = grow_tree(
                    self.counter.bpe, &self.counter.text, piece.start, piece.stop,
                    work.scratch.verdicts,
                )
                self.trees.append(tree)
                self.tree_bytes += 16 * (tree.tree.n_bytes + 1)
                publish(<const void**> &piece.tree, &tree.tree)
        return 0

    cdef Py_ssize_t place_of(self, Py_ssize_t offset) noexcept nogil:
        """The character at an offset; -1: none begins there."""
        if not 0 <= offset <= self.length:
            return -1
        return char_at_byte(&self.counter, offset) if self.byte_offsets else offset

    @property
    def total(self):
        """The tokens of the whole text."""
        return tokens_before(&self.counter.marks, self.counter.text.n)

    @property
    def nbytes(self):
        """Bytes of memory that the counter takes now, apart from the text itself."""
        return (
            self.words.nbytes + self.byte_words.nbytes + self.counter.n_pieces * sizeof(LongPiece)
            + self.counter.n_rows * sizeof(uint32_t) + self.counter.n_whole * sizeof(uint64_t)
            + self.tree_bytes + sizeof(Counter)
        )

    @property
    def _length(self):
        """The text's length in the unit of the offsets."""
        return self.length

    def count(self, Py_ssize_t start, Py_ssize_t end):
        """Count the tokens of `text[start:end]`, encoded on its own.

        Args:
            start, end: 0 <= start <= end <= length of the text.

        Raises:
            OffsetError: (a ValueError) they are not, or a byte offset lies inside a character.

        Cost: constant in ordinary text. Linear in the slice where its pieces never meet those
        of the whole text: a run of digits that are taken in threes, from its second digit; a
        run of one character in one piece.

        >>> import cutline
        >>> counter = cutline.get_encoding("o200k_base").intervals("hello world")
        >>> counter.count(0, 11), counter.count(3, 8)
        (2, 2)
        """
        cdef Py_ssize_t first = self.place_of(start), last = self.place_of(end), status
        cdef int64_t tokens
        cdef Workspace work
        cdef Query query
        if not 0 <= first <= last:
            raise self._offset_error(start, end)
        work = self.encoder.workspace()
        start_query(&query, work, &tokens)
        if last - first < NOGIL_CHARS:
            status = self.count_one(&query, first, last)
        else:
            with nogil:
                status = self.count_one(&query, first, last)
        while status < 0:
            self.provide(work, status, query.wanted)
            with nogil:
                status = self.count_one(&query, first, last)
        self.encoder.release(work)
        return tokens

    cdef Py_ssize_t count_one(
        self, Query* query, Py_ssize_t first, Py_ssize_t last
    ) noexcept nogil:
        """Count a slice into row 0. 0 or a status."""
        cdef Py_ssize_t status = count_slice(&self.counter, query, first, last)
        if status == 0 and not flush(&self.counter, query):
            status = NO_MEMORY
        if status < 0:
            forget_row(query)
        return status

    def _count_many(self, const int64_t[:, ::1] spans not None):
        """Count the tokens of many slices; see `IntervalCounter.count_many`."""
        cdef Py_ssize_t n = spans.shape[0], status
        cdef Workspace work
        cdef Query query
        counts = np.zeros(n, dtype=np.int64)
        cdef int64_t[::1] out = counts
        if n == 0:
            return counts
        work = self.encoder.workspace()
        start_query(&query, work, &out[0])
        while True:
            with nogil:
                status = self.count_rows(&query, &spans[0, 0], n)
            if status == 0:
                break
            if status == BAD_OFFSET:
                raise self._offset_error(spans[query.row, 0], spans[query.row, 1], query.row)
            self.provide(work, status, query.wanted)
        self.encoder.release(work)
        return counts

    cdef Py_ssize_t count_rows(
        self, Query* query, const int64_t* spans, Py_ssize_t n
    ) noexcept nogil:
        """Count the slices from the query's row on. 0; or a status, for the row it stopped at."""
        cdef Py_ssize_t first, last, status
        while query.row < n:
            if query.row + AHEAD < n:
                self.prefetch_row(spans + 2 * (query.row + AHEAD))
            first = self.place_of(spans[2 * query.row])
            last = self.place_of(spans[2 * query.row + 1])
            if not 0 <= first <= last:
                return BAD_OFFSET
            status = count_slice(&self.counter, query, first, last)
            if status < 0:
                forget_row(query)
                return status
            query.row += 1
        return 0 if flush(&self.counter, query) else NO_MEMORY

    cdef inline void prefetch_row(self, const int64_t* span) noexcept nogil:
        cdef const uint8_t* data = <const uint8_t*> self.counter.text.data
        cdef Py_ssize_t end
        if self.byte_offsets:
            return
        for end in range(2):
            if 0 <= span[end] <= self.length:
                prefetch(word_at(&self.counter.marks, span[end], 0))
                prefetch(data + span[end] * self.counter.text.kind)

    def _land(self, Py_ssize_t start, Py_ssize_t n, Py_ssize_t before):
        """Where to look for the greatest cut from character `start`; see `land`.

        Returns a settled boundary before `before`, and the tokens from `start` to it.
        """
        cdef Workspace work = self.encoder.workspace()
        cdef Query query
        cdef Landing landing
        cdef int64_t tokens
        start_query(&query, work, &tokens)
        landing = land(&self.counter, &query, start, n, before)
        self.encoder.release(work)
        return landing.at, landing.tokens

    def _character(self, Py_ssize_t offset):
        """The character at an offset of the kind that this counter takes; -1: none begins there."""
        return self.place_of(offset)

    def _offset(self, Py_ssize_t character):
        """The offset of a character."""
        return byte_at(&self.counter, character) if self.byte_offsets else character
