"""Runs: the characters between two separators, found and looked up as they are in memory."""

from libc.stdint cimport int32_t

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport Key, uint8_t, uint16_t, uint32_t, uint64_t
from cutline.kernels.encode.caches cimport FirstEntry, Store
from cutline.kernels.words.char_map cimport CharBlock

cdef enum:
    RUNS = 96               # of a batch
    LONGEST_RUN = 1024      # characters of a run that is looked up
    LOOKED_AT = 64          # characters at a time
    LOADED = 16             # characters from the start of a run that can be read
    COPIED = 8192           # characters of long runs

# Two characters that mean the same, or one twice: a word ends there, and nothing goes on across.
cdef struct Separators:
    uint32_t one, other
    bint are_known          # False: there are none
    bint are_removed        # no word has anything of them

# The key of a run of a few characters of different blocks.
cdef struct PaddedKey:
    uint8_t characters[2 * LOADED]      # in two bytes each, and zeros
    uint64_t hashed
    const uint32_t* record  # the one that may be its
    uint32_t code           # how many characters, and of which kind

# ... and of more, or such that take four bytes.
cdef struct LongKey:
    const uint8_t* characters
    Py_ssize_t n_bytes
    uint64_t hashed
    const uint32_t* record
    uint32_t code

# Runs of a text. A separator comes before each but one at the start, and after each. All have a
# count; the lists tell which ones have keys of which kind.
cdef struct Runs:
    Py_ssize_t count, n_short, n_padded, n_long
    Py_ssize_t edges[2 * RUNS + 64]     # start, end, start, ...
    int32_t counts[RUNS]                # of tokens; NOT_FOUND: not known
    bint are_known                      # all of them
    Py_ssize_t total                    # ... and their sum
    Py_ssize_t places[RUNS]             # in the list of those of its kind
    Py_ssize_t short_runs[RUNS + 1]
    Key keys[RUNS + 1]
    FirstEntry* lines[RUNS]
    Py_ssize_t padded_runs[RUNS + 1]
    PaddedKey padded[RUNS]
    Py_ssize_t long_runs[RUNS + 1]
    LongKey long_keys[RUNS]
    uint32_t tail[LOOKED_AT + LOADED]   # the last characters of the text, of any kind
    uint32_t no_record[16]              # zeros: of no run
    uint16_t copied[2 * COPIED + 8 * RUNS]


cdef inline bint is_separator(const Separators* separators, uint32_t code_point) noexcept nogil:
    return code_point == separators.one or code_point == separators.other


cdef Separators separators_of(const CharBlock* ascii) noexcept nogil
cdef bint ends_closed(CharBlock** blocks, const Characters* text, Py_ssize_t end) noexcept nogil
cdef bint ends_word(CharBlock** blocks, const Characters* text, Py_ssize_t end) noexcept nogil
cdef void find_runs(
    Runs* runs, const Characters* text, Py_ssize_t at, Separators separators,
    FirstEntry* first_level, uint64_t line_mask, const Store* store
) noexcept nogil
cdef void keep_count(
    const Runs* runs, Py_ssize_t run, Store* store, uint32_t count
) noexcept nogil
