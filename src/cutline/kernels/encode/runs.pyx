"""Find the runs of a text, and look their counts up before anything is normalized.

Where words end at each blank, and no character changes with one, the tokens of what lies between
two blanks depend on it alone. So its count is looked up by its characters. Source: docs/words.md,
"Runs", and docs/tokenizers.md, "Counts by runs".

Guarded by tests/words/test_runs.py.
"""

from cutline.kernels.base.characters cimport Unit
from cutline.kernels.base.common cimport (
    NOT_FOUND, load64, low_bytes, memcpy, memset, padded_key, prefetch, same_bytes, store64,
    uint8_t,
)
from cutline.kernels.encode.caches cimport (
    first_level_line, in_line, index_slot, is_entry_of, store_in_line, store_record, stored_record,
)
cdef extern from "native.h":
    uint64_t matches_of "cutline_matches"(
        const uint8_t* text, int kind, uint32_t one, uint32_t other
    ) noexcept nogil
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil
    uint64_t fold "cutline_fold"(uint64_t left, uint64_t right) noexcept nogil

cdef enum:
    KEY_CHARACTERS = 14     # of a short run, all in one block of 256
    MOST_BLOCK = 0xFE       # whose number and 1 fit a byte
    # In the code of a run, beside how many characters it has: no word is so long.
    RUN = 1 << 30
    WIDE = 1 << 28          # its characters have four bytes
    PART = 1 << 29          # no run, but any part of a text
    PART_KIND_SHIFT = 8     # ... and in it, how many bytes a character has
    PART_LEADS = 1 << 12    # ... and whether a text begins with it
    LEAD_SHIFT = 12
    MOST_LEAD = 0xFFFF
    MOST_SHORT_LEAD = 15    # of a short run, in the four highest bits of its key
    SHORT_LEAD_SHIFT = 60
    LEAST_KEY = 8           # numbers of a long one: its hash reads 16 bytes
    RECORD_HEAD = 3         # numbers of a record before its characters

cdef void find_runs(
    Runs* runs, const Characters* text, Py_ssize_t at, Separators separators,
    FirstEntry* first_level, uint64_t line_mask, const Store* store
) noexcept nogil:
    """Find runs of text[at:], before which is a separator or nothing; and look their counts up.

    What comes after the last one found may have others, unless none is found.
    """
    if text.kind == 1:
        find_keys(runs, <const uint8_t*> text.data, text.n, at, 1, separators)
    elif text.kind == 2:
        find_keys(runs, <const uint16_t*> text.data, text.n, at, 2, separators)
    else:
        find_keys(runs, <const uint32_t*> text.data, text.n, at, 4, separators)
    fetch_counts(runs, first_level, line_mask, store)
    look_up(runs)


cdef inline void find_keys(
    Runs* runs, const Unit* text, Py_ssize_t n, Py_ssize_t at, int kind, Separators separators
) noexcept nogil:
    """Tell where runs start and end, and make their keys."""
    cdef Unit* tail = <Unit*> runs.tail
    cdef Py_ssize_t edge
    if n - at >= LOOKED_AT or n < LEAST_WITH_TAIL:
        find_edges(runs, text, n, at, kind, separators)
        find_leads(runs, at, at == 0, separators)
        make_keys(runs, text)
        return
    # The end of a text is looked at where it may be read beyond: there are no separators.
    memset(tail, 0, (LOOKED_AT + LOADED) * sizeof(Unit))
    memcpy(tail, text + at, (n - at) * sizeof(Unit))
    find_edges(runs, tail, LOOKED_AT + LOADED, 0, kind, separators)
    find_leads(runs, 0, at == 0, separators)
    make_keys(runs, tail)
    for edge in range(2 * runs.count):
        runs.edges[edge] += at


cdef inline void find_edges(
    Runs* runs, const Unit* text, Py_ssize_t n, Py_ssize_t at, int kind, Separators separators
) noexcept nogil:
    """Tell where runs start and end, but for those near the end of what can be read."""
    cdef uint64_t matches, edges, before = 1, stops, after, stop_before = 0
    cdef uint32_t other = separators.other
    cdef Py_ssize_t n_edges = 0
    if Unit is uint8_t and other > 0xFF:
        other = separators.one      # a text of such characters has none of the other
    while at + LOOKED_AT <= n and n_edges < 2 * RUNS:
        matches = matches_of(<const uint8_t*> (text + at), kind, separators.one, other)
        edges = matches ^ (matches << 1 | before)
        before = matches >> 63
        if separators.after_lines != NULL:
            stops = find_stops(text + at, kind, &separators)
            after = (stops << 1 | stop_before) & ~(stops | matches)
            stop_before = stops >> 63
            if after:
                n_edges = add_edges(runs, text, at, edges, after, n_edges, &separators)
                edges = 0
        while edges:
            runs.edges[n_edges] = at + low_bit(edges)
            n_edges += 1
            edges &= edges - 1
        at += LOOKED_AT
    runs.count = min(RUNS, n_edges >> 1)
    while runs.count and runs.edges[2 * runs.count - 2] + LOADED > n:
        runs.count -= 1


cdef inline uint64_t find_stops(
    const Unit* text, int kind, const Separators* separators
) noexcept nogil:
    """Which of 64 characters are line feeds or stops."""
    if Unit is not uint8_t:
        if separators.after_stops != NULL:
            return (
                matches_of(<const uint8_t*> text, kind, c"\n", separators.stops[0])
                | matches_of(<const uint8_t*> text, kind, separators.stops[1], separators.stops[2])
            )
    return matches_of(<const uint8_t*> text, kind, c"\n", c"\n")


cdef inline Py_ssize_t add_edges(
    Runs* runs, const Unit* text, Py_ssize_t at, uint64_t edges, uint64_t after, Py_ssize_t n_edges,
    const Separators* separators
) noexcept nogil:
    """Add the edges of 64 characters of which some come after line feeds or stops, the end of a run and
    the start of one if they are such as may be. Returns how many edges there are then.
    """
    cdef const uint8_t* may_begin
    cdef uint32_t code_point
    cdef int bit
    edges |= after
    while edges:
        bit = low_bit(edges)
        runs.edges[n_edges] = runs.edges[n_edges + 1] = at + bit
        n_edges += 1
        if after >> bit & 1:
            code_point = text[at + bit]
            may_begin = separators.after_lines
            if text[at + bit - 1] != c"\n":
                may_begin = separators.after_stops
            n_edges += 1 if may_begin[code_point >> 3] >> (code_point & 7) & 1 else -1
        edges &= edges - 1
    return n_edges


cdef inline void find_leads(
    Runs* runs, Py_ssize_t at, bint is_first, Separators separators
) noexcept nogil:
    """Tell what of the separators from `at` on, before each run, has an effect on it."""
    cdef Py_ssize_t run, blanks
    if not separators.lead_runs:
        memset(runs.leads, 0, runs.count * sizeof(Py_ssize_t))
        runs.leads[0] = is_first and runs.edges[0] == 0
        return
    for run in range(runs.count):
        blanks = runs.edges[2 * run] - at
        if is_first and run == 0 and separators.prefix != NO_PREFIX:
            blanks += separators.prefix == A_BLANK or blanks == 0
        runs.leads[run] = blanks if blanks <= MOST_LEAD else TOO_MANY_BLANKS
        at = runs.edges[2 * run + 1]


cdef inline void make_keys(Runs* runs, const Unit* text) noexcept nogil:
    """Make the keys of all runs; there are fewer if not all are to be copied.

    Each kind of runs gets a list, so that no branch depends on which kinds follow one another.
    """
    cdef Py_ssize_t run, start, n, lead, copied = 0, n_short = 0, n_padded = 0, n_long = 0
    cdef bint is_short, is_long, is_regular
    for run in range(runs.count):
        start = runs.edges[2 * run]
        n = runs.edges[2 * run + 1] - start
        lead = runs.leads[run]
        is_regular = lead >= 0
        is_short = False
        if Unit is not uint32_t or n <= LOADED:     # to narrow others in vain takes long
            is_short = make_short_key(text + start, n, lead, &runs.keys[n_short]) & is_regular
        is_long = (
            (n > LOADED or (not is_short and is_wide(text + start, n))) & (n <= LONGEST_RUN)
            & is_regular
        )
        copied += n if is_long else 0
        if copied > COPIED:
            runs.count = run
            break
        runs.places[run] = n_short if is_short else n_long if is_long else n_padded
        runs.short_runs[n_short] = run
        n_short += is_short
        runs.padded_runs[n_padded] = run
        n_padded += (not is_short) & (n <= LOADED) & (not is_long) & is_regular
        runs.long_runs[n_long] = run
        n_long += is_long
    runs.n_short = n_short
    runs.n_padded = n_padded
    runs.n_long = n_long
    for run in range(runs.n_padded):
        start = runs.edges[2 * runs.padded_runs[run]]
        pad_run(&runs.padded[run], text + start, runs.edges[2 * runs.padded_runs[run] + 1] - start)
        runs.padded[run].code |= <uint32_t> runs.leads[runs.padded_runs[run]] << LEAD_SHIFT
    copied = 0
    for run in range(runs.n_long):
        start = runs.edges[2 * runs.long_runs[run]]
        n = runs.edges[2 * runs.long_runs[run] + 1] - start
        copied += copy_run(&runs.long_keys[run], text + start, n, runs.copied + copied)
        runs.long_keys[run].code |= <uint32_t> runs.leads[runs.long_runs[run]] << LEAD_SHIFT


cdef inline bint make_short_key(
    const Unit* text, Py_ssize_t n, Py_ssize_t lead, Key* key
) noexcept nogil:
    """Make the key of characters of one block: their bytes in it, its number, the lead, how many they
    are.

    No word has such a key, for its bytes are followed by 0 up to the last one. False: they are too
    many, or not of one block.
    """
    cdef uint8_t low[LOADED]
    cdef uint8_t high[LOADED]
    cdef Py_ssize_t at, most = min(n, KEY_CHARACTERS)
    cdef uint64_t block = 0, differs = 0
    if Unit is uint8_t:
        key[0] = padded_key(text, most)
    else:
        for at in range(LOADED):
            low[at] = <uint8_t> text[at]
        for at in range(LOADED):
            if Unit is uint16_t:
                high[at] = <uint8_t> (text[at] >> 8)
            else:
                high[at] = <uint8_t> min(text[at] >> 8, <uint32_t> 0xFF)
        block = high[0]
        differs = (
            ((load64(high) ^ block * <uint64_t> 0x0101010101010101) & low_bytes[most])
            | ((load64(high + 8) ^ block * <uint64_t> 0x0101010101010101) & low_bytes[most - 8])
        )
        key[0] = padded_key(low, most)
    key.high |= (block + 1) << 48 | <uint64_t> lead << SHORT_LEAD_SHIFT
    return (n <= KEY_CHARACTERS) & (differs == 0) & (block < MOST_BLOCK) & (lead <= MOST_SHORT_LEAD)


cdef inline bint is_wide(const Unit* text, Py_ssize_t n) noexcept nogil:
    """Whether one of the characters (n <= LOADED) needs four bytes."""
    cdef uint32_t all = 0
    cdef Py_ssize_t at
    if Unit is uint32_t:
        for at in range(LOADED):
            all |= text[at] if at < n else 0
    return all >> 16 != 0


cdef inline void pad_run(PaddedKey* key, const Unit* text, Py_ssize_t n) noexcept nogil:
    """Make the key of a run of at most LOADED characters of two bytes: these, and zeros."""
    cdef uint16_t characters[LOADED]
    cdef const uint8_t* loaded = <const uint8_t*> characters
    cdef Py_ssize_t at, first = min(2 * n, 16), second = 2 * n - first
    if Unit is uint16_t:
        loaded = <const uint8_t*> text
    else:
        for at in range(LOADED):
            characters[at] = <uint16_t> text[at]
    store64(key.characters, load64(loaded) & low_bytes[first])
    store64(key.characters + 8, load64(loaded + 8) & low_bytes[first - 8])
    store64(key.characters + 16, load64(loaded + 16) & low_bytes[second])
    store64(key.characters + 24, load64(loaded + 24) & low_bytes[second - 8])
    key.code = RUN | <uint32_t> n


cdef inline Py_ssize_t copy_run(
    LongKey* key, const Unit* text, Py_ssize_t n, uint16_t* out
) noexcept nogil:
    """Make the key of a long run: its characters, where they are or copied; how many are copied.

    They take two bytes each, or four if one needs them.
    """
    cdef Py_ssize_t at, end = n
    cdef uint32_t wide = 0
    key.code = RUN | <uint32_t> n
    key.characters = <const uint8_t*> text
    if Unit is not uint16_t:
        key.characters = <const uint8_t*> out
        for at in range(n):
            if Unit is uint32_t:
                wide |= text[at] >> 16
            out[at] = <uint16_t> text[at]
        if wide:
            key.code |= WIDE
            for at in range(n):
                out[n + at] = <uint16_t> (text[at] >> 16)
            end = 2 * n
            while end < LEAST_KEY:
                out[end] = 0
                end += 1
    key.n_bytes = 2 * end
    return 0 if Unit is uint16_t else end


cdef inline uint64_t hash_padded(const PaddedKey* key) noexcept nogil:
    cdef uint64_t first = load64(key.characters) ^ key.code * <uint64_t> 0x9E3779B97F4A7C15
    cdef uint64_t second = load64(key.characters + 8) ^ <uint64_t> 0xD6E8FEB86659FD93
    cdef uint64_t third = load64(key.characters + 16) ^ <uint64_t> 0x9E3779B97F4A7C15
    cdef uint64_t fourth = load64(key.characters + 24) ^ <uint64_t> 0xA0761D6478BD642F
    return fold(first, second) ^ fold(third, fourth)


cdef inline uint64_t hash_of_long(const LongKey* key) noexcept nogil:
    cdef uint64_t hashed = key.code * <uint64_t> 0x9E3779B97F4A7C15
    cdef const uint8_t* end = key.characters + key.n_bytes - 16
    cdef const uint8_t* at = key.characters
    while at < end:
        hashed = fold(hashed ^ load64(at), load64(at + 8) ^ <uint64_t> 0xD6E8FEB86659FD93)
        at += 16
    return fold(hashed ^ load64(end), load64(end + 8) ^ <uint64_t> 0xA0761D6478BD642F)


cdef inline void fetch_counts(
    Runs* runs, FirstEntry* first_level, uint64_t line_mask, const Store* store
) noexcept nogil:
    """Tell where the counts of runs may be, and fetch them into the processor's cache."""
    cdef Py_ssize_t run
    for run in range(runs.n_padded):
        runs.padded[run].hashed = hash_padded(&runs.padded[run])
        prefetch(index_slot(store, runs.padded[run].hashed))
    for run in range(runs.n_long):
        runs.long_keys[run].hashed = hash_of_long(&runs.long_keys[run])
        prefetch(index_slot(store, runs.long_keys[run].hashed))
    for run in range(runs.n_short):
        runs.lines[run] = first_level_line(first_level, line_mask, runs.keys[run])
        prefetch(runs.lines[run])
    for run in range(runs.n_padded):
        runs.padded[run].record = record_of(runs, store, runs.padded[run].hashed)
        prefetch(runs.padded[run].record)
    for run in range(runs.n_long):
        runs.long_keys[run].record = record_of(runs, store, runs.long_keys[run].hashed)
        prefetch(runs.long_keys[run].record)


cdef inline const uint32_t* record_of(
    const Runs* runs, const Store* store, uint64_t hashed
) noexcept nogil:
    """The record that may be that of a run; or none of any."""
    cdef const uint32_t* record = stored_record(store, hashed)
    return record if record != NULL else runs.no_record


cdef inline void look_up(Runs* runs) noexcept nogil:
    """Tell the counts of runs; NOT_FOUND: they are not known."""
    cdef Py_ssize_t run, total = 0
    cdef int32_t count, signs = 0
    cdef FirstEntry* entry
    if runs.n_short + runs.n_padded + runs.n_long < runs.count:
        signs = NOT_FOUND
        memset(runs.counts, 0xFF, sizeof(runs.counts))      # NOT_FOUND
    for run in range(runs.n_short):
        entry = in_line(runs.lines[run], runs.keys[run])
        count = <int32_t> entry.known.count if is_entry_of(entry, runs.keys[run]) else NOT_FOUND
        runs.counts[runs.short_runs[run]] = count
        total += count
        signs |= count
    for run in range(runs.n_padded):
        count = count_of_padded(&runs.padded[run])
        runs.counts[runs.padded_runs[run]] = count
        total += count
        signs |= count
    for run in range(runs.n_long):
        count = count_of_long(&runs.long_keys[run])
        runs.counts[runs.long_runs[run]] = count
        total += count
        signs |= count
    runs.total = total
    runs.are_known = signs >= 0


cdef inline int32_t count_of_padded(const PaddedKey* key) noexcept nogil:
    cdef const uint8_t* found = <const uint8_t*> (key.record + RECORD_HEAD)
    cdef uint64_t differs = (
        (load64(found) ^ load64(key.characters)) | (load64(found + 8) ^ load64(key.characters + 8))
        | (load64(found + 16) ^ load64(key.characters + 16)) | (load64(found + 24) ^ load64(key.characters + 24))
        | (key.record[0] ^ key.code)
    )
    return <int32_t> key.record[2] if differs == 0 else NOT_FOUND


cdef inline int32_t count_of_long(const LongKey* key) noexcept nogil:
    if key.record[0] != key.code or not same_bytes(
        <const uint8_t*> (key.record + RECORD_HEAD), key.characters, key.n_bytes
    ):
        return NOT_FOUND
    return <int32_t> key.record[2]


cdef bint keep_count(
    const Runs* runs, Py_ssize_t run, Store* store, uint32_t count
) noexcept nogil:
    """Keep the tokens of a run. Returns whether in a line."""
    cdef Py_ssize_t place = runs.places[run]
    cdef const PaddedKey* padded = &runs.padded[place]
    cdef const LongKey* key = &runs.long_keys[place]
    if place < runs.n_short and runs.short_runs[place] == run:
        store_in_line(runs.lines[place], runs.keys[place], &count, 1)
        runs.lines[place].known.count = count
        return True
    if place < runs.n_padded and runs.padded_runs[place] == run:
        store_record(
            store, padded.hashed, padded.code, padded.characters, sizeof(padded.characters),
            &count, 1,
        )
    elif place < runs.n_long and runs.long_runs[place] == run:
        store_record(store, key.hashed, key.code, key.characters, key.n_bytes, &count, 1)
    return False


cdef int32_t count_of_part(
    const Runs* runs, const Characters* part, bint leads, const Store* store,
    PartKey* key        # out
) noexcept nogil:
    """The tokens of 1 to LONGEST_PART characters from anywhere in a text. NOT_FOUND: not known."""
    make_part_key(part, leads, key)
    key.key.record = record_of(runs, store, key.key.hashed)
    return count_of_long(&key.key)


cdef void make_part_key(const Characters* part, bint leads, PartKey* key) noexcept nogil:
    """Make the key of 1 to LONGEST_PART characters, which may not move as long as it is in use."""
    key.key.n_bytes = part.n * part.kind
    key.key.characters = <const uint8_t*> part.data
    if key.key.n_bytes < <Py_ssize_t> sizeof(key.padded):
        memset(key.padded, 0, sizeof(key.padded))
        memcpy(key.padded, part.data, key.key.n_bytes)
        key.key.characters = key.padded
        key.key.n_bytes = sizeof(key.padded)
    key.key.code = (
        RUN | PART | <uint32_t> part.kind << PART_KIND_SHIFT | (PART_LEADS if leads else 0)
        | <uint32_t> part.n
    )
    key.key.hashed = hash_of_long(&key.key)


cdef void count_known_parts(
    const Runs* runs, const Characters* parts,
    const bint* leads,  # in: whether a text begins with each; NULL: with none
    Py_ssize_t n, const Store* store,
    int32_t* counts     # out
) noexcept nogil:
    """What count_of_part tells of PARTS at most; NOT_FOUND of longer ones.

    Each waits for memory; together they share the wait.
    """
    cdef PartKey[PARTS] keys
    cdef Py_ssize_t part
    for part in range(n):
        if 0 < parts[part].n <= LONGEST_PART:
            make_part_key(&parts[part], leads != NULL and leads[part], &keys[part])
            prefetch(index_slot(store, keys[part].key.hashed))
    for part in range(n):
        if 0 < parts[part].n <= LONGEST_PART:
            keys[part].key.record = record_of(runs, store, keys[part].key.hashed)
            prefetch(keys[part].key.record)
    for part in range(n):
        counts[part] = NOT_FOUND
        if 0 < parts[part].n <= LONGEST_PART:
            counts[part] = count_of_long(&keys[part].key)


cdef void keep_part(const PartKey* key, Store* store, uint32_t count) noexcept nogil:
    """Keep the tokens of a part."""
    store_record(
        store, key.key.hashed, key.key.code, key.key.characters, key.key.n_bytes, &count, 1
    )
