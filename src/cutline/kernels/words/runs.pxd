"""Runs: the characters between two separators, found and looked up as they are in memory."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport Key, uint16_t, uint32_t, uint64_t
from cutline.kernels.encode.caches cimport FirstEntry, Store
from cutline.kernels.words.char_map cimport CharBlock

cdef enum:
    RUNS = 96               # of a batch
    LONGEST_RUN = 1024      # characters of a run that is looked up
    COPIED = 8192           # numbers of two bytes: those of longer keys

# Two characters that mean the same, or one twice: a word ends there, and nothing goes on across.
cdef struct Separators:
    uint32_t one, other
    bint are_known          # False: there are none

# Runs of a text. A separator comes before each but one at the start, and after each.
cdef struct Runs:
    Py_ssize_t count
    Py_ssize_t edges[2 * RUNS + 64]     # start, end, start, ...
    Key keys[RUNS]                      # of a long run the hash
    FirstEntry* lines[RUNS]             # NULL: the run is not short
    Py_ssize_t places[RUNS]             # in `copied`; NOT_FOUND: the run is not looked up
    Py_ssize_t lengths[RUNS]            # of what was copied, in bytes
    uint16_t copied[COPIED]


cdef Separators separators_of(const CharBlock* ascii) noexcept nogil
cdef bint ends_closed(CharBlock** blocks, const Characters* text, Py_ssize_t end) noexcept nogil
cdef void find_runs(
    Runs* runs, const Characters* text, Py_ssize_t at, Separators separators,
    FirstEntry* first_level, uint64_t line_mask, const Store* store
) noexcept nogil
cdef Py_ssize_t known_count(const Runs* runs, Py_ssize_t run, const Store* store) noexcept nogil
cdef void keep_count(
    const Runs* runs, Py_ssize_t run, Store* store, uint32_t count
) noexcept nogil
