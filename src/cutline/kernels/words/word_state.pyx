"""What one call that encodes words works with: caches and buffers.

Guarded by tests/words/test_encoding.py.
"""

from cython cimport auto_pickle
from libc.stdlib cimport free

from cutline.kernels.base.memory import zeroed_memory

from cutline.kernels.base.common cimport uint64_t
from cutline.kernels.encode.caches cimport FirstEntry
from cutline.kernels.words.reader cimport free_reader
from cutline.kernels.words.unigram cimport free_paths

cdef enum:
    RING_BYTES = 1 << 22
    BEYOND = 64                 # bytes after the ring that are read where a record is short


@auto_pickle(False)
cdef class OwnedWordState:
    """Owns a state; one call at a time uses it."""

    def __cinit__(
        self, int first_level_bits, int store_bits, int step_bits, uint64_t lines_a_piece
    ):
        cdef size_t first_level_bytes = sizeof(FirstEntry) << max(first_level_bits, 1)
        cdef size_t index_bytes = sizeof(uint64_t) << store_bits
        cdef size_t step_bytes = sizeof(uint64_t) << step_bits if step_bits else 0
        cdef size_t start
        self.memory = zeroed_memory(
            first_level_bytes + index_bytes + step_bytes + RING_BYTES + BEYOND, large_pages=False
        )
        start = <size_t> &self.memory[0]
        self.state.first_level = <FirstEntry*> start
        self.state.lines_a_piece = lines_a_piece
        self.state.most_lines = <uint64_t> 1 << max(first_level_bits - 1, 0)
        self.state.line_mask = min(self.state.most_lines, <uint64_t> FIRST_LINES) - 1
        self.state.store.index = <uint64_t*> (start + first_level_bytes)
        self.state.store.index_mask = (<uint64_t> 1 << store_bits) - 1
        self.state.paths.step_bits = step_bits
        if step_bits:
            self.state.paths.steps = <uint64_t*> (start + first_level_bytes + index_bytes)
        start += step_bytes
        self.state.store.ring = <uint64_t*> (start + first_level_bytes + index_bytes)
        self.state.store.ring_words = RING_BYTES // sizeof(uint64_t)
        # Its beginning is in small ones, with what is before it: few records take few pages.
        in_large_pages(self.state.store.ring, RING_BYTES)

    def __dealloc__(self):
        free_reader(&self.state.reader)
        free_paths(&self.state.paths)
        free(self.state.prefixes.counts)
        free(self.state.out)
        free(self.state.spans)
