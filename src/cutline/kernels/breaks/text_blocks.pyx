"""Chunks of many texts, cut at their best breaks: without the GIL, but for making the chunks.

One text after another is cut, in the same memory: while it is counted, if few slices are asked for,
else by an index, as `cut_at_breaks` does it. Where a chunk of a text takes a longer search, the text
is left to the caller.

Guarded by tests/chunking/test_batches.py.
"""

from libc.stdlib cimport calloc, free

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport Characters, characters_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, NOT_FOUND, UNKNOWN, grow, int64_t, memset, uint8_t, uint64_t,
)
from cutline.kernels.base.signals cimport Watch, is_interrupted, raise_pending
from cutline.kernels.breaks.best_break cimport (
    BYTES, CHARACTERS, TOKENS, BreakCut, Limit,
)
from cutline.kernels.breaks.overlaps cimport (
    Cutting, Overlap, Starts, free_starts, next_row, work_of,
)
from cutline.kernels.breaks.piece_breaks cimport PieceSums
from cutline.kernels.base.chunks cimport (
    OwnedRows, Rows, add_row, check_type, chunks_of, chunks_of_texts,
)
from cutline.kernels.encode.batches cimport EncoderState, OwnedState
from cutline.kernels.encode.encoder cimport Block, Encoder, forget_long_utf8, text_utf8
from cutline.kernels.index.bitmaps cimport NARROW_WORDS, WIDE_WORDS
from cutline.kernels.index.build_bitmaps cimport index_text
from cutline.kernels.index.slices cimport start_query
from cutline.kernels.index.text_index cimport BYTE_STEP, TextIndex

cdef enum:
    LEAST_WORK = 64             # bytes: what a stretch costs at least, for the watch of signals

# A limit, and the index that it counts with.
cdef struct Counted:
    TextIndex index
    EncoderState* state         # NULL: of a unit
    Py_ssize_t word_slots
    Py_ssize_t sample_slots


cdef class BlockCutter:
    """Cuts texts within some limits; holds the memory that it takes.

    Args:
        limits, min_fill, stable, overlap, share: see `chunk_block`.
        kinds: of breaks, the best first.
    """

    cdef list encoders, states  # one for each limit that is none of a unit
    cdef BreakCut breaks
    cdef PieceSums pieces       # None: texts are indexed
    cdef int n_limits
    cdef Counted* counted
    cdef Overlap overlap
    cdef Starts starts
    cdef Watch watch

    def __cinit__(
        self, list limits, double min_fill, const int[::1] kinds, bint stable, Overlap overlap,
        double share
    ):
        cdef int one
        self.watch.is_on = True
        self.encoders = []
        self.states = []
        self.overlap = overlap
        self.n_limits = <int> len(limits)
        self.breaks = BreakCut(kinds, self.n_limits, min_fill, stable)
        self.counted = <Counted*> calloc(self.n_limits, sizeof(Counted))
        if self.counted == NULL:
            raise MemoryError("no memory for the limits of chunks")
        for one, (measure, most) in enumerate(limits):
            self.take_limit(one, measure, most)
        if share >= 0:
            self.pieces = PieceSums(self.encoders[0], "", share, "")
            self.pieces.limit_chunks(limits[0][1], min_fill, kinds, None)
            self.pieces.use_state(self.states[0])
            if not self.pieces.are_known:
                self.pieces = None

    cdef int take_limit(self, int one, object measure, Py_ssize_t most) except -1:
        cdef Limit* limit = self.breaks.limits + one
        cdef Counted* counted = self.counted + one
        cdef Encoder encoder
        cdef OwnedState owned
        limit.n = most
        if not isinstance(measure, Encoder):
            limit.unit = CHARACTERS if measure == "characters" else BYTES
            limit.index = &self.counted.index
            return 0
        encoder = measure
        if encoder.scan_tables is None:
            raise ValueError("cuts need an encoder with scan tables")
        owned = encoder.take_state()
        self.encoders.append(encoder)
        self.states.append(owned)
        limit.unit = TOKENS
        limit.index = &counted.index
        counted.state = &owned.state
        counted.index.bpe = &encoder.tables.bpe
        counted.index.source = encoder.source()
        start_query(&limit.query, owned, &limit.tokens)
        return 0

    def __dealloc__(self):
        cdef int one
        if self.counted != NULL:
            for one in range(self.n_limits):
                free_index(&self.counted[one].index)
        free(self.counted)
        free_starts(&self.starts)

    cdef int close(self) except -1:
        """Hand the encoder states back; the cutter must not be used again."""
        for encoder, owned in zip(self.encoders, self.states):
            forget_long_utf8(&(<OwnedState> owned).state)
            (<Encoder> encoder).release(<OwnedState> owned)
        return 0

    cdef Py_ssize_t cut(self, const Characters* text, Rows* rows) noexcept nogil:
        """Add the chunks of a text. Returns their number; NOT_FOUND: one takes a longer search,
        or what else another way may have or explain, and none was added; or INTERRUPTED.
        """
        cdef Py_ssize_t status
        cdef int one
        if self.pieces is not None:
            status = self.cut_by_pieces(text, rows)
            if status != UNKNOWN:
                return status
        for one in range(self.n_limits):
            if self.counted[one].state != NULL:
                status = index_again(&self.counted[one], text)
                if status < 0:
                    return INTERRUPTED if status == INTERRUPTED else NOT_FOUND
        return self.cut_by(self.breaks, text, rows)

    cdef Py_ssize_t cut_by_pieces(self, const Characters* text, Rows* rows) noexcept nogil:
        """What `cut` does, while the text is counted. UNKNOWN: it should be indexed."""
        cdef EncoderState* state = self.counted.state
        cdef const uint8_t* utf8 = NULL
        cdef Py_ssize_t n_bytes = text_utf8(state, text, &utf8), count
        if n_bytes < 0 or not self.pieces.take_text(text, utf8, n_bytes):
            return NOT_FOUND
        state.lookups.watch.is_on = True
        count = self.cut_by(self.pieces, text, rows)
        state.lookups.watch.is_on = False
        return count if count != NOT_FOUND or self.pieces.are_known else UNKNOWN

    cdef Py_ssize_t cut_by(
        self, Cutting cutting, const Characters* text, Rows* rows
    ) noexcept nogil:
        """Add the chunks of a text that is ready to be cut; see `cut`."""
        cdef Py_ssize_t first = rows.n, status
        cdef int64_t last[3]
        cdef int64_t row[4]
        last[0] = last[1] = last[2] = 0
        while last[1] < text.n:
            status = next_row(
                self.overlap, &self.starts, cutting, text, last, last[1], False, row
            )
            if status < 0 or not add_row(rows, row[0], row[1], row[2], row[3]):
                rows.n = first
                return INTERRUPTED if status == INTERRUPTED else NOT_FOUND
            last[0] = row[0]
            last[1] = row[1]
            last[2] = row[2]
            if is_interrupted(&self.watch, work_of(row)):
                rows.n = first
                return INTERRUPTED
        return rows.n - first


cdef Py_ssize_t index_again(Counted* counted, const Characters* text) noexcept nogil:
    """Index a text where another one was. 0, or a status: UNKNOWN if it has surrogates."""
    cdef TextIndex* index = &counted.index
    cdef Py_ssize_t n_words, status
    cdef const uint8_t* utf8 = NULL
    cdef Py_ssize_t n_bytes = text_utf8(counted.state, text, &utf8)
    if n_bytes < 0:
        return n_bytes
    index.text = text[0]
    index.n_pieces = index.n_states = index.n_whole = 0
    index.bitmaps.stride = NARROW_WORDS if text.is_ascii else WIDE_WORDS
    index.bitmaps.n_blocks = (text.n >> 6) + 1
    n_words = index.bitmaps.n_blocks * index.bitmaps.stride
    if not grow(
        <void**> &index.bitmaps.words, &counted.word_slots, n_words, sizeof(uint64_t)
    ) or not grow(
        <void**> &index.byte_samples, &counted.sample_slots, text.n // BYTE_STEP + 1,
        sizeof(uint64_t),
    ):
        return NO_MEMORY
    memset(index.bitmaps.words, 0, n_words * sizeof(uint64_t))
    index.byte_samples[0] = 0
    status = index_text(index, counted.state, utf8, n_bytes)
    counted.state.lookups.watch.is_on = False       # what is counted later is short
    return status


cdef void free_index(TextIndex* index) noexcept nogil:
    free(index.bitmaps.words)
    free(index.byte_samples)
    free(index.pieces)
    free(index.dfa_states)
    free(index.whole)


def chunk_block(
    type chunk_type not None, list texts not None, list limits not None, double min_fill,
    const int[::1] kinds not None, bint stable, tuple names not None, Overlap overlap=None,
    double share=-1
):
    """Cut each text at the last breaks that fit, and make its chunks.

    Args:
        chunk_type: makes a chunk; see `make_chunk`.
        texts: plain strs.
        limits: of a chunk: encoders, which must have scan tables, "characters" or "bytes", and
            the maximum of each; an encoder first.
        min_fill, kinds, stable, overlap: see `cut_at_breaks`; the last kind is that of characters.
        names: of the kinds, and of the text's end.
        share: less than 0: texts are indexed. Else few slices are asked for, by one encoder without
            `stable` and overlap, and it is that of `PieceSums`.

    Returns:
        A list of chunks for each text; None: that takes another way.
    """
    cdef Py_ssize_t n = len(texts), at, count = 0
    cdef BlockCutter cutter = BlockCutter(limits, min_fill, kinds, stable, overlap, share)
    cdef OwnedRows owned = OwnedRows()
    cdef Block block = Block(texts)
    n_chunks = zeroed_numbers("q", n)
    cdef int64_t[::1] counts = n_chunks
    with nogil:
        for at in range(n):
            count = cutter.cut(block.texts + at, &owned.rows)
            if count == INTERRUPTED:
                break
            counts[at] = count
    if count == INTERRUPTED:
        raise_pending()
    cutter.close()
    return chunks_of_texts(chunk_type, texts, counts, &owned.rows, names)


def chunk_stretches(
    type chunk_type not None, str text not None, const int64_t[::1] places not None,
    Py_ssize_t index, list limits not None, double min_fill, const int[::1] kinds not None,
    bint stable, tuple names not None, Overlap overlap=None, double share=-1
):
    """Cut each stretch of a text as if it were all of it, up to one that takes another way.

    Args:
        chunk_type: makes a chunk; see `make_chunk`.
        places: where the first stretch starts, and where each ends; ascending, and inside the
            text (trusted).
        index: of the first chunk.
        limits, min_fill, kinds, stable, overlap, share: see `chunk_block`.
        names: of the kinds, and of the stretches' ends.

    Returns:
        The chunks, with their places in the text, and the number of stretches that they are of.
    """
    cdef Py_ssize_t n = max(places.shape[0] - 1, 0), at = 0, count = 0, row
    cdef BlockCutter cutter = BlockCutter(limits, min_fill, kinds, stable, overlap, share)
    cdef OwnedRows owned = OwnedRows()
    cdef Characters whole = characters_of(text), stretch = whole
    cdef Watch watch
    memset(&watch, 0, sizeof(watch))
    watch.is_on = True
    with nogil:
        while at < n:
            if is_interrupted(&watch, LEAST_WORK):
                count = INTERRUPTED
                break
            stretch.data = <const char*> whole.data + places[at] * whole.kind
            stretch.n = places[at + 1] - places[at]
            count = cutter.cut(&stretch, &owned.rows)
            if count < 0:
                break
            for row in range(owned.rows.n - count, owned.rows.n):
                owned.rows.numbers[4 * row] += places[at]
                owned.rows.numbers[4 * row + 1] += places[at]
            at += 1
    if count == INTERRUPTED:
        raise_pending()
    cutter.close()
    check_type(chunk_type)
    return chunks_of(chunk_type, text, owned.rows.numbers, owned.rows.n, names, 0, index), at
