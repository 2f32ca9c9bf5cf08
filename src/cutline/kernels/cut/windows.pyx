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
    Cut, Search, character_start, longest_fitting_prefix, scan_until_over,
)
from cutline.kernels.encode.batches cimport Batch, OwnedState, encode_after, fill_batch
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
    cdef OwnedState owned
    cdef object owner
    cdef Search search

    def __cinit__(self, Encoder encoder not None, owner not None):
        cdef Py_ssize_t n = 0
        if encoder.scan_tables is None:
            raise ValueError("cuts need an encoder with scan tables")
        self.encoder = encoder
        self.owner = owner
        self.owned = encoder.take_state()
        self.search.text = utf8_data(owner, &n)
        self.search.n = n
        self.search.bpe = &encoder.tables.bpe
        self.search.source = encoder.source()
        self.search.has_gaps = encoder.scan_tables.has_gaps
        self.search.state = &self.owned.state
        self.search.probed_end = NOT_FOUND
        self.search.prefixes.start = NOT_FOUND
        self.search.suffixes.keeps_depths = True

    def __dealloc__(self):
        free(self.search.boundaries)
        free(self.search.tasks)
        free(self.search.furthest)
        free(self.search.dfa_states)
        free_prefixes(&self.search.prefixes)
        free_prefixes(&self.search.suffixes)

    def close(self):
        """Hand the encoder state back to the encoder; the cutter must not be used again."""
        self.encoder.release(self.owned)

    def longest_fit(self, Py_ssize_t start, Py_ssize_t max_tokens):
        """The greatest end with at most max_tokens tokens from `start`, in bytes."""
        return self.cut_from(start, max_tokens).end

    cdef Cut cut_from(self, Py_ssize_t start, Py_ssize_t max_tokens) except *:
        cdef Cut cut
        with nogil:
            cut = longest_fitting_prefix(&self.search, start, max_tokens)
        if cut.end == NO_MEMORY:
            raise MemoryError(NO_MEMORY_LEFT)
        return cut

    cdef Py_ssize_t farthest_overlap(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t overlap, Py_ssize_t chunk_size
    ) except *:
        cdef Py_ssize_t farthest
        with nogil:
            farthest = farthest_overlap(&self.search, start, end, overlap, chunk_size)
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
        while end < self.search.n:
            PyErr_CheckSignals()
            if overlap > 0 and count > 0:
                start = self.farthest_overlap(start, end, overlap, chunk_size)
            cut = self.cut_from(start, chunk_size)
            # Of the places to start from, take the farthest that adds something.
            while cut.end <= end and start < end:
                PyErr_CheckSignals()
                start += char_bytes(self.search.text[start])
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
    Search* search, Py_ssize_t start, Py_ssize_t end,     # in: the chunk before
    Py_ssize_t overlap, Py_ssize_t chunk_size,
) noexcept nogil:
    """How far back the next chunk may start; or NO_MEMORY.

    Steps back from the end, character by character, while the shared text has at most
    `overlap` tokens and the chunk before starts earlier.
    """
    cdef Py_ssize_t farthest = end, at = end, tokens
    # Pieces of the chunk on its own: from a place where both scans meet, they agree.
    if scan_until_over(search, start, end, chunk_size).end == NO_MEMORY:
        return NO_MEMORY
    if not grow(
        <void**> &search.dfa_states, &search.state_slots, end - start + 1, sizeof(uint32_t)
    ):
        return NO_MEMORY
    search.states_low = search.states_high = start
    while at > start:
        at = character_start(search, at - 1)
        if at <= start:
            break
        tokens = count_to_end(search, start, at, end, overlap)
        if tokens < 0:
            return NO_MEMORY
        if tokens > overlap:
            break
        farthest = at
    return farthest


cdef void first_piece(
    Search* search, Py_ssize_t base, Py_ssize_t start, Py_ssize_t end, Batch* batch
) noexcept nogil:
    """Find the piece of text[:end] that starts at `start`, like fill_batch, for falling starts.

    Remembers in which state the automaton was after each character. Once a scan is in
    the same state at the same place as the one before it, the rest of both is the same:
    so stepping back through a long run costs a few steps a place, not the run.
    """
    cdef const Scanner* scanner = search.source.scanner
    cdef uint32_t dfa_state = scanner.start_state, entry
    cdef Py_ssize_t at = start, before, piece_end = NOT_FOUND
    batch.count = 1
    while True:
        if at == end:
            if accepts_end(scanner, dfa_state):
                piece_end = end
            break
        before = at
        entry = step(scanner, dfa_state, search.text, &at)
        piece_end = accepted_end(entry, before, at, piece_end)
        dfa_state = entry >> 2
        if dfa_state == 0:
            break
        if (
            search.states_low < at <= search.states_high
            and search.dfa_states[at - base] == dfa_state and search.states_piece_end > at
        ):
            piece_end = search.states_piece_end
            at = search.states_high
            break
        search.dfa_states[at - base] = dfa_state
    search.states_low = start
    search.states_high = at if dfa_state != 0 else at - 1
    search.states_piece_end = piece_end
    batch.starts[0] = start if piece_end > 0 else start + char_bytes(search.text[start])
    batch.ends[0] = piece_end if piece_end > 0 else batch.starts[0]


cdef Py_ssize_t count_to_end(
    Search* search, Py_ssize_t start, Py_ssize_t at, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Tokens of text[at:end], a tail of the scan of text[start:end] that `boundaries` holds; over
    budget: any greater number.

    Scans only until it meets a boundary of that scan. Or NO_MEMORY.
    """
    cdef Batch batch
    cdef Py_ssize_t begin = at, tokens = 0, added
    cdef Py_ssize_t low = 0, high = search.n_boundaries - 1, middle
    cdef Py_ssize_t total = search.boundaries[high].tokens
    while low < high:
        middle = (low + high) // 2
        if search.boundaries[middle].at < at:
            low = middle + 1
        else:
            high = middle
    while tokens <= budget:
        while search.boundaries[low].at < at:
            low += 1
        if search.boundaries[low].at == at:
            return tokens + total - search.boundaries[low].tokens
        # One piece at a time: the very next boundary may be a shared one.
        if at == begin:
            first_piece(search, start, at, end, &batch)
        else:
            fill_batch(&search.source, search.text, at, end, 1, &batch)
        at = batch.ends[0]
        if at - batch.starts[0] > MERGE_LIMIT:
            added = suffix_tokens(
                &search.suffixes, search.bpe, &search.state.lookups, search.text, batch.starts[0],
                at,
            )
        else:
            added = encode_after(search.bpe, search.state, 0, search.text, end, &batch)
        if added < 0:
            return added
        tokens += added
    return tokens
