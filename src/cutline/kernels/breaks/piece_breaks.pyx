"""Where to cut a text so that each chunk ends at its best break, while its pieces are counted.

Chunks of many tokens that share nothing ask for few counts. So the pieces of the present chunk are
all that is kept, with the tokens before each. A slice is counted in three parts, by its *starts*:
ends of pieces between two characters that no piece has side by side. Source: docs/counting.md,
"Few slices".

Guarded by tests/chunking/test_few_slices.py.
"""

cimport cython
from libc.stdlib cimport free, malloc

from cutline.kernels.base.characters cimport Characters, characters_of, utf8_bytes
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NO_MEMORY, NOT_FOUND, UNKNOWN, characters_in, uint8_t,
)
from cutline.kernels.base.signals cimport is_interrupted, raise_pending
from cutline.kernels.breaks.counted_breaks cimport CountedCut
from cutline.kernels.breaks.outlined cimport Places, cut_counted
from cutline.kernels.cut.longest_fit cimport (
    Cut, begin_search, free_search, longest_fitting_prefix,
)
from cutline.kernels.encode.batches cimport (
    Batch, OwnedState, count_each, count_short, encode_text, fill_batch,
)
from cutline.kernels.encode.counted_pieces cimport (
    add_pieces, begin_pieces, forget_pieces, free_pieces, is_apart, last_up_to,
)
from cutline.kernels.encode.encoder cimport Encoder, utf8_data
from cutline.kernels.scan.lanes cimport LEAST_LANED, Chunk
from cutline.kernels.scan.scan cimport Scanner

cdef enum:
    KEPT = 1024                 # pieces before a chunk that are not forgotten: moving others costs more
    COUNTED_AGAIN = 1 << 12     # bytes, beside the share of those that were counted


cdef Py_ssize_t longest_piece(const Batch* batch) noexcept nogil:
    """The bytes of the longest piece of a batch."""
    cdef Py_ssize_t piece, longest = 0
    for piece in range(batch.count):
        longest = max(longest, batch.ends[piece] - batch.starts[piece])
    return longest


def cut_pieces_at_breaks(
    PieceSums sums not None, Py_ssize_t start, Py_ssize_t until, Py_ssize_t n, double min_fill,
    const int[::1] kinds not None, Places places=None
):
    """Cut at the last breaks that fit, while they fill chunks, which share nothing: see
    `cut_at_breaks`.

    Args:
        sums: are known.
        places: of the text; None: there are none. See `cut_at_places`.

    Returns:
        int64, four of each chunk, at most so many; and the longest end of the chunk after them,
        which takes another kind of boundary, or -1.
    """
    sums.limit_chunks(n, min_fill, kinds, None)
    sums.begin()
    try:
        return cut_counted(sums, places, None, start, start, until)
    finally:
        sums.end()


def count_pieces(PieceSums sums not None, Py_ssize_t start, Py_ssize_t end):
    """Count the tokens of a slice; -1: what it begins with was forgotten, or sums are not known.

    Args:
        start, end: 0 <= start <= end <= length of the text (trusted).
    """
    cdef Py_ssize_t tokens
    sums.begin()
    with nogil:
        tokens = sums.tokens_between(start, end)
    sums.end()
    if tokens == INTERRUPTED:
        raise_pending()
    if tokens == NO_MEMORY:
        raise MemoryError(f"no memory for the tokens of {end - start} characters of text")
    return tokens if tokens >= 0 else NOT_FOUND


@cython.auto_pickle(False)
cdef class PieceSums(CountedCut):
    """The tokens before the pieces of a text around the present chunk. For one thread at a time.

    Args:
        encoder: counts; nothing changes texts before it splits them.
        text: has neither surrogates nor added tokens.
        share: bytes that may be counted again, for each before the present slice.
        owner: the text's UTF-8: bytes, or the text itself where it is ASCII.

    Attributes:
        are_known: False: starts are so far apart that counting slices would take long.
    """

    def __cinit__(
        self, Encoder encoder not None, str text not None, double share, owner not None
    ):
        self.encoder = encoder
        self.held = text
        self.owner = owner
        self.share = share
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t n_bytes = 0
        cdef const uint8_t* utf8 = utf8_data(owner, &n_bytes)
        self.source = encoder.source()
        begin_search(
            &self.search, &encoder.tables.bpe, self.source, NULL, encoder.scan_tables.has_gaps
        )
        if not self.take_text(&characters, utf8, n_bytes):
            raise MemoryError("no memory for the pieces of a text")

    def __dealloc__(self):
        free_search(&self.search)
        free_pieces(&self.pieces)
        free(self.chunk)

    cdef bint take_text(
        self, const Characters* text, const uint8_t* utf8, Py_ssize_t n_bytes
    ) noexcept nogil:
        """Begin with a text, which outlives this or the next one. False: no memory."""
        self.characters = text[0]
        self.text = &self.characters
        self.utf8 = utf8
        self.n_bytes = n_bytes
        self.known_at = self.known_byte = self.begun = 0
        self.n_again = 0
        self.asked = NOT_FOUND
        self.are_known = self.source.scanner != NULL and self.source.scanner.apart != NULL
        self.pieces.source = self.source
        self.use_lanes()
        return begin_pieces(&self.pieces, 0)

    cdef void use_lanes(self) noexcept nogil:
        """Scan by lanes, if they pay. Not those of a state: calls follow one another."""
        cdef const Scanner* scanner = self.source.scanner
        if self.n_bytes < LEAST_LANED or scanner == NULL or scanner.lane_table == NULL:
            return
        if self.chunk == NULL:
            self.chunk = <Chunk*> malloc(sizeof(Chunk))
        if self.chunk != NULL:
            self.chunk.start = self.chunk.at = self.chunk.stop = 0
            self.pieces.source.chunk = self.chunk
            self.pieces.source.tells_lookahead = False

    cdef void begin(self):
        """Begin a call."""
        self.use_state(self.encoder.take_state())

    cdef void use_state(self, OwnedState owned):
        self.owned = owned
        self.owned.state.lookups.watch.is_on = True
        self.search.state = &self.owned.state

    cdef void end(self):
        self.encoder.release(self.owned)
        self.owned = None

    cdef Py_ssize_t byte_at(self, Py_ssize_t at) noexcept nogil:
        """Where a character begins in UTF-8."""
        if self.characters.is_ascii:
            return at
        if at >= self.known_at:
            self.known_byte += utf8_bytes(&self.characters, self.known_at, at)
        else:
            self.known_byte -= utf8_bytes(&self.characters, at, self.known_at)
        self.known_at = at
        return self.known_byte

    cdef Py_ssize_t character_at(self, Py_ssize_t byte) noexcept nogil:
        """Which character begins at a byte."""
        cdef Py_ssize_t known = self.known_byte
        if self.characters.is_ascii:
            return byte
        if byte >= known:
            self.known_at += characters_in(self.utf8 + known, byte - known, self.n_bytes - known)
        else:
            self.known_at -= characters_in(self.utf8 + byte, known - byte, self.n_bytes - byte)
        self.known_byte = byte
        return self.known_at

    cdef double left(self) noexcept nogil:
        """Bytes that may still be looked at again: a share of those before the slice."""
        return COUNTED_AGAIN + self.share * self.begun - self.n_again

    cdef Py_ssize_t pay(self, Py_ssize_t n_bytes) noexcept nogil:
        """Look at some bytes again. 0, or UNKNOWN: that happens too often."""
        self.n_again += n_bytes
        if self.left() >= 0:
            return 0
        self.are_known = False
        return UNKNOWN

    cdef Py_ssize_t count_more(self) noexcept nogil:
        """Find and count the next pieces. Returns a status."""
        cdef Batch batch
        cdef Py_ssize_t at = self.pieces.ends[self.pieces.n - 1], end, status
        end = fill_batch(&self.pieces.source, self.utf8, at, self.n_bytes, NO_LIMIT, &batch)
        if end - at > self.left() and longest_piece(&batch) > self.left():
            # To count it twice would take long.
            self.are_known = False
            return UNKNOWN
        status = count_each(
            &self.encoder.tables.bpe, &self.owned.state, self.utf8, self.n_bytes, &batch
        )
        if status < 0:
            return status
        if not add_pieces(&self.pieces, &batch):
            return NO_MEMORY
        return INTERRUPTED if is_interrupted(&self.owned.state.lookups.watch, end - at) else 0

    cdef bint is_start(self, Py_ssize_t piece) noexcept nogil:
        """Whether what is before and after the end of a piece is counted apart."""
        cdef Py_ssize_t at = self.pieces.ends[piece]
        return at == 0 or at == self.n_bytes or is_apart(self.source.scanner, self.utf8, at)

    cdef Py_ssize_t next_start(self, Py_ssize_t piece) noexcept nogil:
        """The first piece from this one on whose end is a start; or a status."""
        cdef Py_ssize_t status
        while True:
            if piece == self.pieces.n:
                status = self.count_more()
                if status < 0:
                    return status
            if self.is_start(piece):
                return piece
            piece += 1
            if piece < self.pieces.n:
                status = self.pay(self.pieces.ends[piece] - self.pieces.ends[piece - 1])
                if status < 0:
                    return status

    cdef Py_ssize_t last_start(self, Py_ssize_t piece) noexcept nogil:
        """The last piece up to this one, but not before `first`, whose end is a start; or a status."""
        while piece > self.first and not self.is_start(piece):
            piece -= 1
            if self.pay(self.pieces.ends[piece + 1] - self.pieces.ends[piece]) < 0:
                return UNKNOWN
        return piece

    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Count some bytes as a text of its own; or a status."""
        cdef Py_ssize_t tokens
        if start == end:
            return 0
        if self.pay(end - start) < 0:
            return UNKNOWN
        if self.characters.is_ascii:
            tokens = count_short(
                self.source.scanner, &self.owned.state, self.utf8 + start, end - start
            )
            if tokens >= 0:
                return tokens
        return encode_text(
            &self.encoder.tables.bpe, &self.source, &self.owned.state, self.utf8 + start,
            end - start, -1, NO_LIMIT,
        )

    cdef Py_ssize_t find_head(self, Py_ssize_t start) noexcept nogil:
        """Count the tokens of slices from a place up to their first start; or a status.

        UNKNOWN: the pieces there were forgotten.
        """
        cdef Py_ssize_t at, piece, head
        if self.asked == start:
            return 0
        self.asked = NOT_FOUND
        at = self.byte_at(start)
        if at < self.pieces.ends[0] or not self.are_known:
            return UNKNOWN
        self.begun = at
        while self.pieces.ends[self.pieces.n - 1] < at:
            piece = self.count_more()
            if piece < 0:
                return piece
        piece = last_up_to(self.pieces.ends, 0, self.pieces.n, at)
        head = 0
        if self.pieces.ends[piece] < at or not self.is_start(piece):
            piece = self.next_start(piece + 1)
            if piece < 0:
                return piece
            head = self.count(at, self.pieces.ends[piece])
            if head < 0:
                return head
        self.first = piece
        self.head = head
        self.asked = start
        return 0

    cdef void pass_to(self, Py_ssize_t start) noexcept nogil:
        # What ends before it is forgotten, if it is much.
        cdef Py_ssize_t piece
        if self.pieces.n > KEPT:
            piece = last_up_to(self.pieces.ends, 0, self.pieces.n, self.byte_at(start))
            if piece > KEPT:
                forget_pieces(&self.pieces, piece)
                self.asked = NOT_FOUND

    cdef Py_ssize_t tokens_between(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t status = self.find_head(start), at, last, tail
        if status < 0:
            return status
        at = self.byte_at(end)
        if at < self.pieces.ends[self.first]:
            return self.count(self.begun, at)
        while self.pieces.ends[self.pieces.n - 1] < at:
            status = self.count_more()
            if status < 0:
                return status
        last = self.last_start(last_up_to(self.pieces.ends, self.first, self.pieces.n, at))
        if last < 0:
            return last
        tail = self.count(self.pieces.ends[last], at)
        return tail if tail < 0 else self.tokens_before(last) + tail

    cdef Py_ssize_t fits_within(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        # What is far beyond the budget is not counted, nor its bytes.
        cdef Py_ssize_t place = self.last_place(start)
        if end > place:
            return 0 if place >= 0 else place
        return self.fits_to(start, end, self.most)

    cdef Py_ssize_t tokens_before(self, Py_ssize_t piece) noexcept nogil:
        """The tokens from where the last slice begins to the end of a piece that is a start."""
        return self.head + self.pieces.tokens[piece] - self.pieces.tokens[self.first]

    cdef Py_ssize_t last_within(self) noexcept nogil:
        """The last piece up to whose end the last slice has at most `most` tokens, by its pieces.

        NOT_FOUND: not even its first start has no more before it.
        """
        if self.head > self.most:
            return NOT_FOUND
        return last_up_to(
            self.pieces.tokens, self.first, self.pieces.n,
            self.pieces.tokens[self.first] + self.most - self.head,
        )

    cdef Py_ssize_t last_place(self, Py_ssize_t start) noexcept nogil:
        # Nothing fits that goes beyond a start with too many tokens before it.
        cdef Py_ssize_t status = self.find_head(start), piece
        if status < 0:
            return status
        while (
            self.tokens_before(self.pieces.n - 1) <= self.most
            and self.pieces.ends[self.pieces.n - 1] < self.n_bytes
        ):
            status = self.count_more()
            if status < 0:
                return status
        piece = self.last_within()
        piece = self.first if piece == NOT_FOUND else piece + 1
        if piece == self.pieces.n:
            return self.characters.n
        piece = self.next_start(piece)
        return self.character_at(self.pieces.ends[piece]) - 1 if piece >= 0 else piece

    cdef Py_ssize_t longest_fit(self, Py_ssize_t start) noexcept nogil:
        cdef Py_ssize_t bound = self.last_place(start), piece
        if bound < 0:
            return bound
        piece = self.last_within()
        if piece == NOT_FOUND:
            return self.longest_from(self.begun, bound, self.most)
        piece = self.last_start(piece)
        if piece < 0:
            return piece
        return self.longest_from(
            self.pieces.ends[piece], bound, self.most - self.tokens_before(piece)
        )

    cdef Py_ssize_t longest_from(
        self, Py_ssize_t at, Py_ssize_t end, Py_ssize_t n
    ) noexcept nogil:
        """The greatest end, up to one, of a slice from a byte on with at most n tokens; or a status."""
        cdef Cut cut
        self.search.text = self.utf8 + at
        self.search.n = self.byte_at(end) - at
        self.search.prefixes.start = NOT_FOUND
        if self.pay(self.search.n) < 0:
            return UNKNOWN
        cut = longest_fitting_prefix(&self.search, 0, n)
        return cut.end if cut.end < 0 else self.character_at(at + cut.end)
