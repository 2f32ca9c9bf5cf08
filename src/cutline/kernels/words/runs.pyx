"""Find the runs of a text, and look their counts up before anything is normalized.

Where words end at each blank, and no character changes with one, the tokens of what lies between
two blanks depend on it alone. So its count is looked up by its characters. Source: docs/words.md,
"Runs".

Guarded by tests/words/test_runs.py.
"""

from cutline.kernels.base.characters cimport Unit, char_at
from cutline.kernels.base.common cimport (
    NOT_FOUND, hash_long, load64, low_bytes, memcmp, padded_key, prefetch, uint8_t,
)
from cutline.kernels.encode.caches cimport (
    find_stored, first_level_line, in_line, index_slot, store_in_line, store_piece, stored_record,
)
from cutline.kernels.words.char_map cimport (
    APART, IS_BLANK, JOINS, LEFT, OPENS, PAIR, RIGHT, Brief,
)

cdef extern from "native.h":
    uint64_t matches_of "cutline_matches"(
        const uint8_t* text, int kind, uint32_t one, uint32_t other
    ) noexcept nogil
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil

cdef enum:
    LOOKED_AT = 64          # characters
    KEY_CHARACTERS = 14     # of a short run, all in one block of 256
    LOADED = 16             # characters from the start of a run that can be read
    MOST_BLOCK = 0xFE       # whose number and 1 fit a byte
    LEAST_KEY = 4           # characters of the key of a long run: its hash reads 8 bytes

cdef uint64_t AT_START = <uint64_t> 1 << 63     # in the key of a run before which is nothing


cdef Separators separators_of(const CharBlock* ascii) noexcept nogil:
    """The blank, and the line feed if it means the same."""
    cdef const Brief* brief = &ascii.briefs[c" "]
    cdef Separators found
    cdef uint8_t flags = ascii.images[c" "].flags
    cdef bint ends_words = brief.kinds != 0 and brief.n == 0
    found.one = found.other = c" "
    # Of blanks between two runs, as of those between two words, at most one may count.
    found.are_known = (
        (ends_words or (brief.kinds & IS_BLANK and brief.first == APART))
        and not flags & (LEFT | RIGHT | PAIR | OPENS | JOINS)
    )
    if flags == ascii.images[c"\n"].flags and memcmp(
        brief, &ascii.briefs[c"\n"], sizeof(Brief)
    ) == 0:
        found.other = c"\n"
    return found


cdef bint ends_closed(CharBlock** blocks, const Characters* text, Py_ssize_t end) noexcept nogil:
    """Whether what comes after a run is apart from it: it does not end in a blank of some kind."""
    cdef uint32_t code_point = char_at(text, end - 1)
    cdef const Brief* brief = &blocks[code_point >> 8].briefs[code_point & 0xFF]
    return brief.kinds != 0 and not brief.kinds & IS_BLANK


cdef void find_runs(
    Runs* runs, const Characters* text, Py_ssize_t at, Separators separators,
    FirstEntry* first_level, uint64_t line_mask, const Store* store
) noexcept nogil:
    """Find runs of text[at:], before which is a separator or nothing; and fetch their counts.

    What comes after the last one found may have others, unless none is found.
    """
    if text.kind == 1:
        find_edges(runs, <const uint8_t*> text.data, text.n, at, 1, separators)
        make_keys(runs, <const uint8_t*> text.data, first_level, line_mask, store)
    elif text.kind == 2:
        find_edges(runs, <const uint16_t*> text.data, text.n, at, 2, separators)
        make_keys(runs, <const uint16_t*> text.data, first_level, line_mask, store)
    else:
        find_edges(runs, <const uint32_t*> text.data, text.n, at, 4, separators)
        make_keys(runs, <const uint32_t*> text.data, first_level, line_mask, store)


cdef inline void find_edges(
    Runs* runs, const Unit* text, Py_ssize_t n, Py_ssize_t at, int kind, Separators separators
) noexcept nogil:
    """Tell where runs start and end, but for those near the end of the text."""
    cdef uint64_t matches, edges, before = 1
    cdef Py_ssize_t n_edges = 0
    while at + LOOKED_AT <= n and n_edges < 2 * RUNS:
        matches = matches_of(<const uint8_t*> (text + at), kind, separators.one, separators.other)
        edges = matches ^ (matches << 1 | before)
        before = matches >> 63
        while edges:
            runs.edges[n_edges] = at + low_bit(edges)
            n_edges += 1
            edges &= edges - 1
        at += LOOKED_AT
    runs.count = min(RUNS, n_edges >> 1)
    while runs.count and runs.edges[2 * runs.count - 2] + LOADED > n:
        runs.count -= 1


cdef inline void make_keys(
    Runs* runs, const Unit* text, FirstEntry* first_level, uint64_t line_mask, const Store* store
) noexcept nogil:
    """Make the keys of all runs; there are fewer if not all are to be copied."""
    cdef Py_ssize_t run, start, n, end, copied = 0
    cdef const uint8_t* key
    for run in range(runs.count):
        start = runs.edges[2 * run]
        n = runs.edges[2 * run + 1] - start
        if n <= KEY_CHARACTERS and make_short_key(text + start, n, &runs.keys[run]):
            if start == 0:
                runs.keys[run].high |= AT_START
            runs.lines[run] = first_level_line(first_level, line_mask, runs.keys[run])
            prefetch(runs.lines[run])
            continue
        runs.lines[run] = NULL
        runs.places[run] = NOT_FOUND
        if n > LONGEST_RUN:
            continue
        if copied + 2 * n + LEAST_KEY > COPIED:
            runs.count = run
            break
        end = copy_run(text + start, n, start == 0, runs.copied + copied)
        runs.places[run] = copied
        runs.lengths[run] = 2 * end
        key = <const uint8_t*> (runs.copied + copied)
        runs.keys[run].low = hash_long(key, 2 * end)
        prefetch(index_slot(store, runs.keys[run].low))
        copied += end
    for run in range(runs.count):
        if runs.lines[run] == NULL and runs.places[run] >= 0:
            prefetch(stored_record(store, runs.keys[run].low))


cdef inline bint make_short_key(const Unit* text, Py_ssize_t n, Key* key) noexcept nogil:
    """Make the key of characters of one block: their bytes in it, its number, how many they are.

    No word has such a key, for its bytes are followed by 0 up to the last one.
    """
    cdef uint8_t low[LOADED]
    cdef uint8_t high[LOADED]
    cdef Py_ssize_t at
    cdef uint64_t block = 0
    if Unit is uint8_t:
        key[0] = padded_key(text, n)
    else:
        for at in range(LOADED):
            low[at] = <uint8_t> text[at]
        for at in range(LOADED):
            if Unit is uint16_t:
                high[at] = <uint8_t> (text[at] >> 8)
            else:
                high[at] = <uint8_t> min(text[at] >> 8, <uint32_t> 0xFF)
        block = high[0]
        if block >= MOST_BLOCK:
            return False
        if (
            ((load64(high) ^ block * <uint64_t> 0x0101010101010101) & low_bytes[n])
            | ((load64(high + 8) ^ block * <uint64_t> 0x0101010101010101) & low_bytes[n - 8])
        ):
            return False
        key[0] = padded_key(low, n)
    key.high |= (block + 1) << 48
    return True


cdef inline Py_ssize_t copy_run(
    const Unit* text, Py_ssize_t n, bint is_first, uint16_t* out
) noexcept nogil:
    """Copy characters in two bytes, or in four if one needs them, and what kind of key it is.

    That has a byte which no word has. Returns how many numbers these are.
    """
    cdef Py_ssize_t at, end = n
    cdef uint32_t wide = 0
    for at in range(n):
        if Unit is uint32_t:
            wide |= text[at] >> 16
        out[at] = <uint16_t> text[at]
    if Unit is uint32_t:
        if wide:
            end = 2 * n
            for at in range(n):
                out[n + at] = <uint16_t> (text[at] >> 16)
    out[end] = 0xFFFF - is_first - 2 * (wide != 0)
    end += 1
    while end < LEAST_KEY:
        out[end] = 0
        end += 1
    return end


cdef Py_ssize_t known_count(const Runs* runs, Py_ssize_t run, const Store* store) noexcept nogil:
    """The tokens of a run, if they are known, or NOT_FOUND."""
    cdef FirstEntry* entry
    cdef const uint32_t* found
    cdef uint32_t n
    if runs.lines[run] != NULL:
        entry = in_line(runs.lines[run], runs.keys[run])
        if entry.key.low == runs.keys[run].low and entry.key.high == runs.keys[run].high:
            return entry.known.count
        return NOT_FOUND
    if runs.places[run] < 0:
        return NOT_FOUND
    found = find_stored(
        store, runs.keys[run].low, <const uint8_t*> (runs.copied + runs.places[run]),
        runs.lengths[run], &n,
    )
    if found == NULL:
        return NOT_FOUND
    return found[0]


cdef void keep_count(
    const Runs* runs, Py_ssize_t run, Store* store, uint32_t count
) noexcept nogil:
    """Keep the tokens of a run."""
    if runs.lines[run] != NULL:
        store_in_line(runs.lines[run], runs.keys[run], &count, 1)
        runs.lines[run].known.count = count
    elif runs.places[run] >= 0:
        store_piece(
            store, runs.keys[run].low, <const uint8_t*> (runs.copied + runs.places[run]),
            runs.lengths[run], &count, 1,
        )
