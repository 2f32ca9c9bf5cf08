"""Runs: the characters between two separators, found and looked up as they are in memory.

What is looked up is a run with its *lead*, what of the separators before it has an effect on it:
with words, whether it is the first run of a text; with BPE over characters, how many blanks.
"""

from libc.stdint cimport int32_t

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport Key, uint8_t, uint16_t, uint32_t, uint64_t
from cutline.kernels.encode.caches cimport FirstEntry, Store

cdef enum:
    RUNS = 96               # of a batch
    LONGEST_RUN = 1024      # characters of a run that is looked up
    LOOKED_AT = 64          # characters at a time
    LEAST_WITH_TAIL = 256   # characters of a text whose end is looked at, too
    LOADED = 16             # characters from the start of a run that can be read
    LONGEST_PART = 255      # characters of a part that is looked up
    PARTS = 32              # that are looked up together
    COPIED = 8192           # characters of long runs
    TOO_MANY_BLANKS = -1
    STOPS = 3               # characters, besides line feeds, after which runs may end

    # What is put before a text, for runs with leading blanks.
    NO_PREFIX = 0
    A_BLANK = 1
    A_BLANK_IF_NONE = 2

# Two characters that mean the same, or one twice: a word ends there, and nothing goes on across.
cdef struct Separators:
    uint32_t one, other
    int prefix
    bint lead_runs          # blanks before a run are a part of it
    bint are_known          # False: there are none
    bint are_removed        # no word has anything of them
    # A bit for each code point before which a run ends after a line feed, and after a stop of two bytes
    # in memory, if it is none of all these; NULL: runs go on after it.
    const uint8_t* after_lines
    const uint8_t* after_stops
    uint32_t stops[STOPS]

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

# ... and of a part of a text; at least two words.
cdef struct PartKey:
    LongKey key
    uint8_t padded[16]

# Runs of a text. A separator comes before each but one at the start, and after each; or it ends with a
# stop, and the next one begins there. All have a count; the lists tell which ones have keys of which
# kind.
cdef struct Runs:
    Py_ssize_t count, n_short, n_padded, n_long
    Py_ssize_t edges[2 * RUNS + 2 * LOOKED_AT]  # start, end, start, ...
    Py_ssize_t leads[RUNS]              # TOO_MANY_BLANKS: the run is not looked up
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


cdef void find_runs(
    Runs* runs, const Characters* text, Py_ssize_t at, Separators separators,
    FirstEntry* first_level, uint64_t line_mask, const Store* store
) noexcept nogil
cdef int32_t count_of_part(
    const Runs* runs, const Characters* part, bint leads, const Store* store, PartKey* key
) noexcept nogil
cdef void make_part_key(const Characters* part, bint leads, PartKey* key) noexcept nogil
cdef void count_known_parts(
    const Runs* runs, const Characters* parts, const bint* leads, Py_ssize_t n, const Store* store,
    int32_t* counts
) noexcept nogil
cdef void keep_part(const PartKey* key, Store* store, uint32_t count) noexcept nogil
cdef bint keep_count(
    const Runs* runs, Py_ssize_t run, Store* store, uint32_t count
) noexcept nogil
