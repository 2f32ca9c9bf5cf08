"""Cut a whole text into chunks, with or without overlap. Source: docs/cutting.md.

Guarded by tests/test_split.py.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport free

import numpy as np

from cutline.kernels.base.common cimport (
    MERGE_LIMIT, NO_MEMORY, NOT_FOUND, char_bytes, characters_in, grow, int64_t, uint8_t, uint32_t,
)
from cutline.kernels.bpe.prefixes cimport free_prefixes, suffix_tokens
from cutline.kernels.cut.longest_fit cimport (
    Cut, State, character_start, greatest_cut, scan_until_over,
)
from cutline.kernels.encode.batches cimport Batch, Workspace, encode_batch, fill_batch, reserve
from cutline.kernels.encode.encoder cimport Encoder, utf8_data
from cutline.kernels.scan.scan cimport Scanner, accepted_end, accepts_end, step

cdef str NO_MEMORY_LEFT = "no memory for the tables of a long piece of text"


cdef class Cutter:
    """Cuts one text; holds the buffers that it takes.

    Args:
        encoder: must have scan tables.
        owner: the UTF-8 of the text: bytes, or a str that is ASCII.
    """

    cdef Encoder encoder
    cdef Workspace work
    cdef object owner
    cdef State state

    def __cinit__(self, Encoder encoder not None, owner not None):
        cdef Py_ssize_t n = 0
        if encoder.scan_tables is None:
            raise ValueError("cuts need an encoder with scan tables")
        self.encoder = encoder
        self.owner = owner
        self.work = encoder.workspace()
        self.state.text = utf8_data(owner, &n)
        self.state.n = n
        self.state.bpe = &encoder.tables.bpe
        self.state.source = encoder.source()
        self.state.has_gaps = encoder.scan_tables.has_gaps
        self.state.scratch = &self.work.scratch
        self.state.probed_end = NOT_FOUND
        self.state.prefixes.start = NOT_FOUND
        self.state.suffixes.keeps_depths = True

    def __dealloc__(self):
        free(self.state.boundaries)
        free(self.state.tasks)
        free(self.state.reached)
        free(self.state.rows)
        free_prefixes(&self.state.prefixes)
        free_prefixes(&self.state.suffixes)

    def close(self):
        """Hand the workspace back to the encoder; the cutter must not be used again."""
        self.encoder.release(self.work)

    def greatest_cut(self, Py_ssize_t start, Py_ssize_t max_tokens):
        """The greatest end with at most max_tokens tokens from `start`, in bytes."""
        return self.cut_from(start, max_tokens).end

    cdef Cut cut_from(self, Py_ssize_t start, Py_ssize_t max_tokens) except *:
        cdef Cut cut
        with nogil:
            cut = greatest_cut(&self.state, start, max_tokens)
        if cut.end == NO_MEMORY:
            raise MemoryError(NO_MEMORY_LEFT)
        return cut

    cdef Py_ssize_t farthest_overlap(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t overlap, Py_ssize_t chunk_size
    ) except *:
        cdef Py_ssize_t farthest
        with nogil:
            farthest = farthest_overlap(&self.state, start, end, overlap, chunk_size)
        if farthest == NO_MEMORY:
            raise MemoryError(NO_MEMORY_LEFT)
        return farthest

    def cut_all(self, Py_ssize_t chunk_size, Py_ssize_t overlap):
        """Cut the whole text.

        Returns:
            int64, shape (chunks, 3): start, end (in bytes) and tokens of each. The last
            chunk ends before the text's end where the next character does not fit.
        """
        cdef Py_ssize_t start = 0, end = 0, count = 0
        cdef Cut cut
        cdef int64_t[:, ::1] rows = np.empty((16, 3), dtype=np.int64), more
        while end < self.state.n:
            PyErr_CheckSignals()
            if overlap > 0 and count > 0:
                start = self.farthest_overlap(start, end, overlap, chunk_size)
            cut = self.cut_from(start, chunk_size)
            # Of the places to start from, take the farthest that adds something.
            while cut.end <= end and start < end:
                PyErr_CheckSignals()
                start += char_bytes(self.state.text[start])
                cut = self.cut_from(start, chunk_size)
            if cut.end <= end:
                break
            if count == rows.shape[0]:
                more = np.empty((4 * count, 3), dtype=np.int64)
                more[:count] = rows
                rows = more
            rows[count, 0] = start
            rows[count, 1] = cut.end
            rows[count, 2] = cut.tokens
            count += 1
            end = cut.end
            if overlap == 0:
                start = end
        return np.asarray(rows)[:count].copy()


def code_points(owner, const int64_t[:] places not None):
    """Turn ascending byte offsets into code-point offsets: int64, same shape.

    Args:
        owner: the UTF-8 of the text: bytes, or a str that is ASCII.
    """
    cdef Py_ssize_t n = 0, at = 0, passed = 0, row
    cdef const uint8_t* text = utf8_data(owner, &n)
    offsets = np.array(places)
    if isinstance(owner, str):
        return offsets
    cdef int64_t[::1] out = offsets
    with nogil:
        for row in range(places.shape[0]):
            passed += characters_in(text + at, places[row] - at, n - at)
            at = places[row]
            out[row] = passed
    return offsets


cdef Py_ssize_t farthest_overlap(
    State* state, Py_ssize_t start, Py_ssize_t end,     # in: the chunk before
    Py_ssize_t overlap, Py_ssize_t chunk_size,
) noexcept nogil:
    """How far back the next chunk may start; or NO_MEMORY.

    Steps back from the end, character by character, while the shared text has at most
    `overlap` tokens and the chunk before starts earlier.
    """
    cdef Py_ssize_t farthest = end, at = end, tokens
    # Pieces of the chunk on its own: from a place where both scans meet, they agree.
    if scan_until_over(state, start, end, chunk_size).end == NO_MEMORY:
        return NO_MEMORY
    if not grow(<void**> &state.rows, &state.row_slots, end - start + 1, sizeof(uint32_t)):
        return NO_MEMORY
    state.rows_low = state.rows_high = start
    while at > start:
        at = character_start(state, at - 1)
        if at <= start:
            break
        tokens = count_to_end(state, start, at, end, overlap)
        if tokens < 0:
            return NO_MEMORY
        if tokens > overlap:
            break
        farthest = at
    return farthest


cdef void first_piece(
    State* state, Py_ssize_t base, Py_ssize_t start, Py_ssize_t end, Batch* batch
) noexcept nogil:
    """Find the piece of text[:end] that starts at `start`, like fill_batch, for falling starts.

    Remembers in which row the automaton was behind each character. Once a scan is in
    the same row at the same place as the one before it, the rest of both is the same:
    so stepping back through a long run costs a few steps a place, not the run.
    """
    cdef const Scanner* scanner = state.source.scanner
    cdef uint32_t row = scanner.start_row, entry
    cdef Py_ssize_t at = start, before, piece_end = NOT_FOUND
    batch.count = 1
    while True:
        if at == end:
            if accepts_end(scanner, row):
                piece_end = end
            break
        before = at
        entry = step(scanner, row, state.text, &at)
        piece_end = accepted_end(entry, before, at, piece_end)
        row = entry >> 2
        if row == 0:
            break
        if (
            state.rows_low < at <= state.rows_high and state.rows[at - base] == row
            and state.rows_piece_end > at
        ):
            piece_end = state.rows_piece_end
            at = state.rows_high
            break
        state.rows[at - base] = row
    state.rows_low = start
    state.rows_high = at if row != 0 else at - 1
    state.rows_piece_end = piece_end
    batch.starts[0] = start if piece_end > 0 else start + char_bytes(state.text[start])
    batch.ends[0] = piece_end if piece_end > 0 else batch.starts[0]


cdef Py_ssize_t count_to_end(
    State* state, Py_ssize_t start, Py_ssize_t at, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Tokens of text[at:end], a tail of the scan of text[start:end] that `boundaries` holds; over
    budget: any greater number.

    Scans only until it meets a boundary of that scan. Or NO_MEMORY.
    """
    cdef Batch batch
    cdef Py_ssize_t begin = at, tokens = 0, added
    cdef Py_ssize_t low = 0, high = state.n_boundaries - 1, middle
    cdef Py_ssize_t total = state.boundaries[high].tokens
    while low < high:
        middle = (low + high) // 2
        if state.boundaries[middle].at < at:
            low = middle + 1
        else:
            high = middle
    while tokens <= budget:
        while state.boundaries[low].at < at:
            low += 1
        if state.boundaries[low].at == at:
            return tokens + total - state.boundaries[low].tokens
        # One piece at a time: the very next boundary may be a shared one.
        if at == begin:
            first_piece(state, start, at, end, &batch)
        else:
            fill_batch(&state.source, state.text, at, end, 1, &batch)
        at = batch.ends[0]
        if at - batch.starts[0] > MERGE_LIMIT:
            added = suffix_tokens(
                &state.suffixes, state.bpe, &state.scratch.lookups, state.text, batch.starts[0], at
            )
        elif reserve(state.scratch, at - batch.starts[0] + 4):
            added = encode_batch(
                state.bpe, state.scratch, state.text, end, &batch, state.scratch.out
            )
        else:
            added = NO_MEMORY
        if added < 0:
            return added
        tokens += added
    return tokens
