"""Cut a whole text into chunks, with or without overlap. Source: docs/cutting.md.

Guarded by tests/test_split.py.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport free

from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.common cimport (
    NO_LIMIT, NO_MEMORY, NOT_FOUND, char_bytes, characters_in, int64_t, uint8_t,
)
from cutline.kernels.bpe.prefixes cimport free_prefixes
from cutline.kernels.cut.longest_fit cimport Cut, Search, longest_fitting_prefix
from cutline.kernels.cut.overlap cimport Overlap, begin_overlaps, farthest_overlap, free_overlaps
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.encode.encoder cimport Encoder, utf8_data

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
    cdef Overlap overlap

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
        begin_overlaps(&self.overlap)

    def __dealloc__(self):
        free(self.search.boundaries)
        free(self.search.tasks)
        free(self.search.furthest)
        free_prefixes(&self.search.prefixes)
        free_overlaps(&self.overlap)

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
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget, int64_t* counts
    ) except *:
        cdef Py_ssize_t farthest
        with nogil:
            farthest = farthest_overlap(
                &self.search, &self.overlap, start, end, budget, counts
            )
        if farthest == NO_MEMORY:
            raise MemoryError(NO_MEMORY_LEFT)
        return farthest

    def count_tails(self):
        """Count the tokens of text[at:] for each character but the first, the last one first.

        Returns:
            int64, shape (characters - 1,).

        Cost: linear in the text.
        """
        cdef Py_ssize_t n = characters_in(self.search.text, self.search.n, self.search.n)
        cdef int64_t[::1] counts = np.empty(max(n, 1), dtype=np.int64)
        self.farthest_overlap(0, self.search.n, NO_LIMIT, &counts[0])
        return np.asarray(counts)[:max(n - 1, 0)]

    def cut_all(self, Py_ssize_t chunk_size, Py_ssize_t overlap):
        """Cut the whole text.

        Returns:
            int64, shape (3 * chunks,): start, end (in bytes) and tokens of each. The last
            chunk ends before the text's end where the next character does not fit.
        """
        cdef Py_ssize_t start = 0, end = 0, count = 0
        cdef Cut cut
        cdef int64_t[::1] rows, more
        owner = zeroed_numbers("q", 48)
        rows = owner
        while end < self.search.n:
            PyErr_CheckSignals()
            if overlap > 0 and count > 0:
                start = self.farthest_overlap(start, end, overlap, NULL)
            cut = self.cut_from(start, chunk_size)
            # Of the places to start from, take the farthest that adds something.
            while cut.end <= end and start < end:
                PyErr_CheckSignals()
                start += char_bytes(self.search.text[start])
                cut = self.cut_from(start, chunk_size)
            if cut.end <= end:
                break
            if 3 * count == rows.shape[0]:
                owner = zeroed_numbers("q", 12 * count)
                more = owner
                more[:3 * count] = rows
                rows = more
            rows[3 * count] = start
            rows[3 * count + 1] = cut.end
            rows[3 * count + 2] = cut.tokens
            count += 1
            end = cut.end
            if overlap == 0:
                start = end
        return owner[:3 * count]


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
