"""Cuts many texts by an index of each, or while they are counted.

One text after another is cut, in the same memory: while it is counted, if few slices are asked for,
else by an index, as `cut_at_breaks` does it.

Guarded by tests/chunking/test_batches.py.
"""

from libc.stdlib cimport calloc, free

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, NOT_FOUND, UNKNOWN, grow, memset, uint8_t, uint64_t,
)
from cutline.kernels.breaks.best_break cimport (
    BYTES, CHARACTERS, TOKENS, BreakCut, Limit,
)
from cutline.kernels.breaks.overlaps cimport Overlap
from cutline.kernels.breaks.piece_breaks cimport PieceSums
from cutline.kernels.breaks.text_blocks cimport TextCutter
from cutline.kernels.base.chunks cimport Rows
from cutline.kernels.encode.batches cimport EncoderState, OwnedState
from cutline.kernels.encode.encoder cimport Encoder, forget_long_utf8, text_utf8
from cutline.kernels.index.bitmaps cimport NARROW_WORDS, WIDE_WORDS
from cutline.kernels.index.build_bitmaps cimport index_text
from cutline.kernels.index.slices cimport start_query
from cutline.kernels.index.text_index cimport BYTE_STEP, TextIndex

# A limit, and the index that it counts with.
cdef struct Counted:
    TextIndex index
    EncoderState* state         # NULL: of a unit
    Py_ssize_t word_slots
    Py_ssize_t sample_slots


cdef class IndexedTexts(TextCutter):
    """Cuts texts within some limits.

    Args:
        limits: of a chunk: encoders, which must have scan tables, "characters" or "bytes", and
            the maximum of each; an encoder first.
        min_fill, kinds, stable, overlap: see `cut_at_breaks`; the last kind is that of characters.
        share: less than 0: texts are indexed. Else few slices are asked for, by one encoder without
            `stable` and overlap, and it is that of `PieceSums`.
    """

    cdef list encoders, states  # one for each limit that is none of a unit
    cdef BreakCut breaks
    cdef PieceSums pieces       # None: texts are indexed
    cdef int n_limits
    cdef Counted* counted

    def __cinit__(
        self, list limits not None, double min_fill, const int[::1] kinds not None, bint stable,
        Overlap overlap=None, double share=-1
    ):
        cdef int one
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

    cdef int close(self) except -1:
        for encoder, owned in zip(self.encoders, self.states):
            forget_long_utf8(&(<OwnedState> owned).state)
            (<Encoder> encoder).release(<OwnedState> owned)
        return 0

    cdef Py_ssize_t cut(
        self, Py_ssize_t number, const Characters* text, Rows* rows
    ) noexcept nogil:
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
