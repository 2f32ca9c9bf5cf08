"""Cut whole texts into chunks, with or without overlap. Source: docs/cutting.md.

Guarded by tests/test_split.py.
"""

from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport Characters, characters_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NO_MEMORY, NOT_FOUND, UNKNOWN, char_bytes, characters_in, int64_t, memcpy,
    uint8_t,
)
from cutline.kernels.base.signals cimport Watch, is_interrupted, raise_pending
from cutline.kernels.base.chunks cimport (
    OwnedRows, Rows, add_row, check_type, chunks_of, chunks_of_texts, chunks_of_utf8,
)
from cutline.kernels.base.utf8 cimport MOST_AT_WORST
from cutline.kernels.cut.longest_fit cimport (
    Cut, Search, begin_search, free_search, longest_fitting_prefix,
)
from cutline.kernels.cut.overlap cimport (
    Overlap, begin_overlaps, farthest_overlap, forget_text, free_overlaps,
)
from cutline.kernels.cut.whole_text cimport (
    WholeText, begin_whole_text, free_whole_text, next_cut,
)
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.encode.encoder cimport (
    Block, Encoder, forget_long_utf8, text_utf8, utf8_data,
)

cdef enum:
    WORK = 1 << 12              # bytes: what a cut may cost at least, for the watch of signals

cdef str NO_MEMORY_LEFT = "no memory for the tables of a long piece of text"


cdef class Cutter:
    """Cuts a text, or one after another; holds the buffers that it takes.

    Args:
        encoder: must have scan tables.
        owner: the UTF-8 of the text: bytes, or a str that is ASCII.
    """

    cdef Encoder encoder
    cdef OwnedState owned
    cdef object owner
    cdef Search search
    cdef WholeText whole
    cdef Overlap overlap
    cdef Watch watch

    def __cinit__(self, Encoder encoder not None, owner not None):
        cdef Py_ssize_t n = 0
        if encoder.scan_tables is None:
            raise ValueError("cuts need an encoder with scan tables")
        self.encoder = encoder
        self.owner = owner
        self.owned = encoder.take_state()
        self.whole.pieces.source = encoder.source()
        begin_search(
            &self.search, &encoder.tables.bpe, self.whole.pieces.source, &self.owned.state,
            encoder.scan_tables.has_gaps,
        )
        self.search.text = utf8_data(owner, &n)
        self.search.n = n
        self.watch.is_on = True
        begin_overlaps(&self.overlap)

    def __dealloc__(self):
        free_search(&self.search)
        free_whole_text(&self.whole)
        free_overlaps(&self.overlap)

    def close(self):
        """Hand the encoder state back to the encoder; the cutter must not be used again."""
        self.encoder.release(self.owned)

    def longest_fit(self, Py_ssize_t start, Py_ssize_t max_tokens, bint goes_on):
        """The greatest end with at most max_tokens tokens from `start`, in bytes.

        If the text is the start of a longer one that goes on: -1, unless that has the same end.
        """
        cdef Cut cut
        self.search.goes_on = goes_on
        cut = self.cut_from(start, max_tokens)
        self.search.goes_on = False
        return cut.end

    cdef Cut cut_from(self, Py_ssize_t start, Py_ssize_t max_tokens) except *:
        cdef Cut cut
        with nogil:
            cut = longest_fitting_prefix(&self.search, start, max_tokens)
        if cut.end == NO_MEMORY:
            raise MemoryError(NO_MEMORY_LEFT)
        return cut

    def count_tails(self):
        """Count the tokens of text[at:] for each character but the first, the last one first.

        Returns:
            int64, shape (characters - 1,).

        Cost: linear in the text.
        """
        cdef Py_ssize_t n = characters_in(self.search.text, self.search.n, self.search.n)
        cdef int64_t[::1] counts = np.empty(max(n, 1), dtype=np.int64)
        cdef Py_ssize_t farthest
        with nogil:
            farthest = farthest_overlap(
                &self.search, &self.overlap, 0, self.search.n, NO_LIMIT, &counts[0]
            )
        if farthest == NO_MEMORY:
            raise MemoryError(NO_MEMORY_LEFT)
        return np.asarray(counts)[:max(n - 1, 0)]

    def cut_all(self, Py_ssize_t chunk_size, Py_ssize_t overlap):
        """Cut the whole text.

        Returns:
            int64, shape (4 * chunks,): start, end (in bytes) and tokens of each, and whether it
            ends with the text. The last chunk ends before that where the next character does
            not fit.
        """
        cdef OwnedRows owned = OwnedRows()
        cdef Py_ssize_t end
        with nogil:
            end = self.cut_text(chunk_size, overlap, &owned.rows)
        if end == INTERRUPTED:
            raise_pending()
        if end < 0:
            raise MemoryError(NO_MEMORY_LEFT)
        return copied(&owned.rows)

    cdef Py_ssize_t cut_text(
        self, Py_ssize_t chunk_size, Py_ssize_t overlap, Rows* rows
    ) noexcept nogil:
        """Add the chunks of the whole text; see cut_all. Returns the last one's end; a status."""
        cdef Search* search = &self.search
        cdef Py_ssize_t start = 0, end = 0
        cdef Cut cut
        if not begin_whole_text(search, &self.whole):
            return NO_MEMORY
        chunk_size = min(chunk_size, search.n + 1)      # a token has at least one byte
        overlap = min(overlap, search.n + 1)
        while end < search.n:
            if overlap > 0 and end > 0:
                start = farthest_overlap(search, &self.overlap, start, end, overlap, NULL)
                if start == NO_MEMORY:
                    return NO_MEMORY
            cut = next_cut(search, &self.whole, start, chunk_size)
            # Of the places to start from, take the farthest that adds something.
            while 0 <= cut.end <= end and start < end:
                if is_interrupted(&self.watch, WORK):
                    return INTERRUPTED
                start += char_bytes(search.text[start])
                cut = next_cut(search, &self.whole, start, chunk_size)
            if 0 <= cut.end <= end:
                break
            if cut.end < 0 or not add_row(rows, start, cut.end, cut.tokens, cut.end == search.n):
                return NO_MEMORY
            if is_interrupted(&self.watch, max(cut.end - end, WORK)):
                return INTERRUPTED
            end = cut.end
            if overlap == 0:
                start = end
        return end

    cdef Py_ssize_t cut_another(
        self, const uint8_t* utf8, Py_ssize_t n, Py_ssize_t chunk_size, Py_ssize_t overlap,
        Rows* rows
    ) noexcept nogil:
        """Add the chunks of another text. Returns their number; INTERRUPTED; or NOT_FOUND: a
        character does not fit or there is no memory, and none was added.
        """
        cdef Py_ssize_t first = rows.n, end
        self.search.text = utf8
        self.search.n = n
        self.search.prefixes.start = NOT_FOUND
        forget_text(&self.overlap)
        end = self.cut_text(chunk_size, overlap, rows)
        if end == n:
            return rows.n - first
        rows.n = first
        return INTERRUPTED if end == INTERRUPTED else NOT_FOUND

    cdef Py_ssize_t cut_str(
        self, const Characters* text, Py_ssize_t chunk_size, Py_ssize_t overlap, Rows* rows
    ) noexcept nogil:
        """The same in characters. NOT_FOUND may also be for surrogates."""
        cdef const uint8_t* utf8 = NULL
        cdef Py_ssize_t n = text_utf8(&self.owned.state, text, &utf8), first = rows.n, count
        if n < 0:
            return NOT_FOUND
        count = self.cut_another(utf8, n, chunk_size, overlap, rows)
        if count > 0 and not text.is_ascii:
            count_characters(utf8, n, rows.numbers + 4 * first + 1, count)
            if overlap > 0:
                count_characters(utf8, n, rows.numbers + 4 * first, count)
            else:
                start_at_ends(rows.numbers + 4 * first, count)
        return count


cdef object copied(const Rows* rows):
    """The numbers of rows, in memory of their own."""
    cdef int64_t[::1] out
    numbers = zeroed_numbers("q", 4 * rows.n)
    if rows.n > 0:
        out = numbers
        memcpy(&out[0], rows.numbers, 4 * rows.n * sizeof(int64_t))
    return numbers


cdef void count_characters(
    const uint8_t* text, Py_ssize_t n, int64_t* places, Py_ssize_t n_rows
) noexcept nogil:
    """Turn a column of rows, ascending byte offsets, into code-point offsets."""
    cdef Py_ssize_t at = 0, passed = 0, row
    for row in range(n_rows):
        passed += characters_in(text + at, places[4 * row] - at, n - at)
        at = places[4 * row]
        places[4 * row] = passed


cdef void start_at_ends(int64_t* numbers, Py_ssize_t n_rows) noexcept nogil:
    """Let each row but the first start where the one before ends."""
    cdef Py_ssize_t row
    for row in range(1, n_rows):
        numbers[4 * row] = numbers[4 * row - 3]


def chunk_text(
    type chunk_type not None, str text not None, Encoder encoder not None, Py_ssize_t chunk_size,
    Py_ssize_t overlap, tuple names not None
):
    """Cut a text as `cut_all` does, and make its chunks.

    Args:
        text: a plain str.
        chunk_type, encoder, chunk_size, overlap, names: see `chunk_block`.

    Returns:
        The chunks; None: the text is one that `cut_all` must cut, or `cut_all` says what is wrong.
    """
    cdef Characters characters = characters_of(text)
    cdef Cutter cutter = Cutter(encoder, "")
    cdef OwnedRows owned = OwnedRows()
    cdef const uint8_t* utf8 = NULL
    cdef Py_ssize_t n = UNKNOWN, count = NOT_FOUND
    cdef list made = None
    if characters.n <= MOST_AT_WORST or characters.is_ascii:
        with nogil:
            n = text_utf8(&cutter.owned.state, &characters, &utf8)
            if n >= 0:
                count = cutter.cut_another(utf8, n, chunk_size, overlap, &owned.rows)
    if count == INTERRUPTED:
        raise_pending()
    if count >= 0 and characters.is_ascii:
        check_type(chunk_type)
        made = chunks_of(chunk_type, text, owned.rows.numbers, count, names, 0, 0)
    elif count >= 0:
        made = chunks_of_utf8(chunk_type, text, utf8, n, &owned.rows, names)
    forget_long_utf8(&cutter.owned.state)
    cutter.close()
    return made


def chunk_block(
    type chunk_type not None, list texts not None, Encoder encoder not None, Py_ssize_t chunk_size,
    Py_ssize_t overlap, tuple names not None
):
    """Cut each text as `cut_all` does, without the GIL, and make its chunks.

    Args:
        chunk_type: makes a chunk; see `make_chunk`.
        texts: plain strs.
        encoder: must have scan tables.
        chunk_size: tokens of a chunk at most.
        overlap: tokens that it shares with the one before at most.
        names: of boundaries: within a text, and at its end.

    Returns:
        A list of chunks for each text; None: `cut_all` says what is wrong.
    """
    cdef Py_ssize_t n = len(texts), at, count = 0
    cdef Cutter cutter = Cutter(encoder, "")
    cdef OwnedRows owned = OwnedRows()
    cdef Block block = Block(texts)
    n_chunks = zeroed_numbers("q", n)
    cdef int64_t[::1] counts = n_chunks
    with nogil:
        for at in range(n):
            count = cutter.cut_str(block.texts + at, chunk_size, overlap, &owned.rows)
            if count == INTERRUPTED:
                break
            counts[at] = count
    if count == INTERRUPTED:
        raise_pending()
    cutter.close()
    return chunks_of_texts(chunk_type, texts, counts, &owned.rows, names)


def cut_column(
    const uint8_t[::1] utf8 not None, const int64_t[::1] offsets not None, Encoder encoder not None,
    Py_ssize_t chunk_size, Py_ssize_t overlap
):
    """Cut texts as `cut_all` does where they lie, as UTF-8, without the GIL.

    Args:
        utf8: the texts; valid (trusted).
        offsets: shape (texts + 1,), where each of them begins in it, and the last one ends;
            ascending, and inside it (trusted).
        encoder, chunk_size, overlap: see `chunk_block`.

    Returns:
        The numbers of `cut_all` of all texts, their bytes counted from each text's start. And
        the number of chunks of each, int64; -1: `cut_all` says what is wrong.
    """
    cdef Py_ssize_t n = offsets.shape[0] - 1, at, count = 0
    cdef const uint8_t* data = &utf8[0] if utf8.shape[0] else NULL
    cdef Cutter cutter = Cutter(encoder, "")
    cdef OwnedRows owned = OwnedRows()
    n_chunks = zeroed_numbers("q", n)
    cdef int64_t[::1] counts = n_chunks
    with nogil:
        for at in range(n):
            count = cutter.cut_another(
                data + offsets[at], offsets[at + 1] - offsets[at], chunk_size, overlap, &owned.rows
            )
            if count == INTERRUPTED:
                break
            counts[at] = count
    if count == INTERRUPTED:
        raise_pending()
    cutter.close()
    return copied(&owned.rows), n_chunks


def count_code_points(owner, int64_t[::1] rows not None, bint shares):
    """Turn the byte offsets of what `cut_all` returns into code-point offsets, where they are.

    Args:
        owner: the UTF-8 of the text.
        rows: of its chunks.
        shares: chunks begin before the one before ends.
    """
    cdef Py_ssize_t n = 0, n_rows = rows.shape[0] // 4
    cdef const uint8_t* text = utf8_data(owner, &n)
    if n_rows == 0:
        return
    with nogil:
        count_characters(text, n, &rows[1], n_rows)
        if shares:
            count_characters(text, n, &rows[0], n_rows)
        else:
            start_at_ends(&rows[0], n_rows)


def code_points(owner, const int64_t[:] places not None):
    """Turn ascending byte offsets into code-point offsets, as many int64.

    Args:
        owner: the UTF-8 of the text: bytes, or a str that is ASCII.
    """
    cdef Py_ssize_t n = 0, at = 0, passed = 0, row
    cdef const uint8_t* text = utf8_data(owner, &n)
    offsets = zeroed_numbers("q", places.shape[0])
    cdef int64_t[::1] out = offsets
    if isinstance(owner, str):
        out[:] = places
        return offsets
    with nogil:
        for row in range(places.shape[0]):
            passed += characters_in(text + at, places[row] - at, n - at)
            at = places[row]
            out[row] = passed
    return offsets
