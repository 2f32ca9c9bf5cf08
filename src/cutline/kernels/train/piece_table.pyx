"""A table of distinct pieces, each with its count.

A piece of at most 15 bytes is its own key, two words that stand in the table beside its
count. Longer pieces are rare: their bytes lie in an arena, with a table of their own.

Guarded by tests/kernels/test_piece_counter.py.
"""

from libc.stdlib cimport calloc, free, malloc

import numpy as np

from cutline.kernels.base.common cimport (
    NO_MEMORY, SHORT_PIECE, TOO_MANY, grow, load64, memcmp, memcpy, memset, padded_key, prefetch,
    reversed_bytes, short_key, store64,
)

cdef extern from "native.h":
    void in_large_pages "cutline_in_large_pages"(void* memory, size_t n) noexcept nogil

cdef enum:
    FIRST_SLOTS = 1 << 10
    LONG_TAIL = 0xFF        # in a row, where short pieces have their length
    N_HEADS = 1 << 16       # pairs of bytes, which pieces are sorted by first
    FEW_ROWS = 24           # are sorted by inserting


cdef Py_ssize_t add_piece(
    Table* table, const uint8_t* piece, Py_ssize_t n, int64_t weight
) noexcept nogil:
    """Count any piece. 0 or an error."""
    cdef Key key
    if n > SHORT_PIECE:
        return add_long(table, piece, n, weight)
    if n <= 0:
        return 0
    if weight > INT64_MAX - table.total:
        return TOO_MANY
    key = short_key(piece, n, piece + n)
    add_short(table, first_slot(table, key), &key, weight)
    add_to_total(table, weight)
    return make_room(table)


cdef inline uint64_t hash_long(
    const Table* table, const uint8_t* piece, Py_ssize_t n
) noexcept nogil:
    """Hash of a piece of over 15 bytes, each word mixed with the secret seed."""
    cdef uint64_t hashed = fold(table.seed[0] ^ <uint64_t> n, table.seed[1])
    cdef Py_ssize_t at = 0
    while at < n - 8:
        hashed = fold(hashed ^ load64(piece + at), table.seed[1])
        at += 8
    hashed = fold(hashed ^ load64(piece + n - 8), table.seed[1])
    return fold(hashed, table.seed[0])


cdef Py_ssize_t add_long(
    Table* table, const uint8_t* piece, Py_ssize_t n, int64_t weight
) noexcept nogil:
    """Count a piece of over 15 bytes. 0 or an error."""
    cdef uint64_t hashed = hash_long(table, piece, n)
    cdef LongEntry* entry = table.longer + (hashed & <uint64_t> (table.longer_slots - 1))
    if weight > INT64_MAX - table.total:
        return TOO_MANY
    while (
        entry.hashed != hashed or entry.n != n
        or memcmp(table.arena + entry.offset, piece, n) != 0
    ):
        if entry.n == 0:
            if not grow(<void**> &table.arena, &table.arena_slots, table.arena_used + n, 1):
                return NO_MEMORY
            memcpy(table.arena + table.arena_used, piece, n)
            entry.hashed = hashed
            entry.offset = table.arena_used
            entry.n = n
            table.arena_used += n
            table.longer_used += 1
            break
        entry += 1
        if entry == table.longer + table.longer_slots:
            entry = table.longer
    entry.count += weight
    add_to_total(table, weight)
    if table.longer_used * 10 > table.longer_slots * 7:
        return grow_longer(table)
    return 0


cdef Py_ssize_t add_table(Table* table, const Table* other) noexcept nogil:
    """Add all counts of another table, whose seed must be another. 0 or an error.

    Alike seeds would fill one part of the table after the other, up to its last slot.
    """
    cdef Py_ssize_t k, block, code
    cdef const Entry* entry
    cdef const LongEntry* longer
    if other.total > INT64_MAX - table.total:
        return TOO_MANY
    for block in range(other.slots // ROOM):        # both are powers of two, FIRST_SLOTS too
        for k in range(ROOM * block, ROOM * (block + 1)):
            prefetch(first_slot(table, other.entries[k].key))
        for k in range(ROOM * block, ROOM * (block + 1)):
            entry = other.entries + k
            if entry.count:
                add_short(table, first_slot(table, entry.key), &entry.key, entry.count)
                add_to_total(table, entry.count)
        code = make_room(table)
        if code < 0:
            return code
    for k in range(other.longer_slots):
        longer = other.longer + k
        if longer.count:
            code = add_long(table, other.arena + longer.offset, longer.n, longer.count)
            if code < 0:
                return code
    return 0


cdef void subtract_table(Table* table, Table* other) noexcept nogil:
    """Take off all counts of another table, which is empty then; this one has as many of each."""
    cdef Py_ssize_t k
    cdef const Entry* entry
    cdef LongEntry* longer
    for k in range(other.slots):
        entry = other.entries + k
        if entry.count:
            add_short(table, first_slot(table, entry.key), &entry.key, -entry.count)
            add_to_total(table, -entry.count)
    for k in range(other.longer_slots):
        longer = other.longer + k
        if longer.count:
            add_long(table, other.arena + longer.offset, longer.n, -longer.count)
    memset(other.entries, 0, other.slots * sizeof(Entry))
    memset(other.longer, 0, other.longer_slots * sizeof(LongEntry))
    add_to_total(other, -other.total)
    other.used = other.longer_used = other.arena_used = 0


cdef bint begin_table(Table* table, const uint8_t* seed) noexcept nogil:
    """Make an empty table, given 16 random bytes. False: no memory."""
    memset(table, 0, sizeof(Table))
    memcpy(table.seed, seed, sizeof(table.seed))
    table.slots = table.longer_slots = FIRST_SLOTS
    table.entries = <Entry*> calloc(table.slots, sizeof(Entry))
    table.longer = <LongEntry*> calloc(table.longer_slots, sizeof(LongEntry))
    return table.entries != NULL and table.longer != NULL


cdef void end_table(Table* table) noexcept nogil:
    free(table.entries)
    free(table.longer)
    free(table.arena)


cdef Py_ssize_t grow_entries(Table* table) noexcept nogil:
    """Double the table of short pieces, without those that were taken back. 0 or an error."""
    cdef Entry* old = table.entries
    cdef Py_ssize_t old_slots = table.slots, k
    cdef Entry* entries = <Entry*> calloc(2 * old_slots, sizeof(Entry))
    if entries == NULL:
        return NO_MEMORY
    table.entries = entries
    table.slots = 2 * old_slots
    table.used = 0
    for k in range(old_slots):
        if old[k].count:
            add_short(table, first_slot(table, old[k].key), &old[k].key, old[k].count)
    free(old)
    return 0


cdef Py_ssize_t grow_longer(Table* table) noexcept nogil:
    """Double the table of long pieces. 0 or an error."""
    cdef Py_ssize_t slots = 2 * table.longer_slots, k, at
    cdef LongEntry* longer = <LongEntry*> calloc(slots, sizeof(LongEntry))
    if longer == NULL:
        return NO_MEMORY
    for k in range(table.longer_slots):
        if table.longer[k].n:
            at = table.longer[k].hashed & <uint64_t> (slots - 1)
            while longer[at].n:
                at = at + 1 & slots - 1
            longer[at] = table.longer[k]
    free(table.longer)
    table.longer = longer
    table.longer_slots = slots
    return 0


# Sorted and grouped output

# A piece as it is sorted: words compare like bytes, the first the highest.
cdef struct Row:
    uint64_t first
    uint64_t second         # 7 bytes, and the length or LONG_TAIL
    const LongEntry* longer # of a long piece
    int64_t count


cdef Py_ssize_t count_distinct(const Table* table) noexcept nogil:
    cdef Py_ssize_t k, rows = 0
    for k in range(table.slots):
        rows += table.entries[k].count != 0
    for k in range(table.longer_slots):
        rows += table.longer[k].count != 0
    return rows


cdef Py_ssize_t list_rows(const Table* table, Row* rows) noexcept nogil:
    """Write a row for each piece that was counted, in any order. Returns their number."""
    cdef Row* row = rows
    cdef Py_ssize_t k
    cdef Key key
    for k in range(table.slots):
        if table.entries[k].count:
            key = table.entries[k].key
            row.first = reversed_bytes(key.low)
            row.second = reversed_bytes(key.high)
            row.longer = NULL
            row.count = table.entries[k].count
            row += 1
    for k in range(table.longer_slots):
        if table.longer[k].count:
            row.longer = table.longer + k
            key = padded_key(table.arena + row.longer.offset, SHORT_PIECE)
            row.first = reversed_bytes(key.low)
            row.second = reversed_bytes(key.high) | LONG_TAIL
            row.count = row.longer.count
            row += 1
    return row - rows


cdef inline Py_ssize_t length_of(const Row* row) noexcept nogil:
    return row.second & 0xFF if row.longer == NULL else row.longer.n


cdef inline bint goes_before(const Table* table, const Row* one, const Row* other) noexcept nogil:
    """Order of the pieces' bytes; a piece stands before those that it begins."""
    cdef int order
    if one.first != other.first:
        return one.first < other.first
    if one.second != other.second or one.longer == NULL:
        return one.second < other.second
    order = memcmp(
        table.arena + one.longer.offset, table.arena + other.longer.offset,
        min(one.longer.n, other.longer.n),
    )
    return one.longer.n < other.longer.n if order == 0 else order < 0


cdef void write_rows(
    const Table* table, const Row* row, Py_ssize_t n_rows,
    uint8_t* bytes,                         # out, with SHORT_PIECE + 1 more
    int64_t* offsets, int64_t* counts,      # out
) noexcept nogil:
    cdef Py_ssize_t k, offset = 0
    offsets[0] = 0
    for k in range(n_rows):
        if row.longer != NULL:
            memcpy(bytes + offset, table.arena + row.longer.offset, row.longer.n)
        else:
            # What is written beyond the piece, the next ones are written over.
            store64(bytes + offset, reversed_bytes(row.first))
            store64(bytes + offset + 8, reversed_bytes(row.second))
        offset += length_of(row)
        offsets[k + 1] = offset
        counts[k] = row.count
        row += 1


cdef tuple sorted_pieces(const Table* table):
    """Arena, offsets and counts of all pieces, sorted by their bytes."""
    cdef Py_ssize_t n_rows = 0
    cdef Row* spare = NULL
    cdef Row* rows = rows_for(table)
    cdef Py_ssize_t* starts = <Py_ssize_t*> calloc(N_HEADS + 1, sizeof(Py_ssize_t))
    try:
        if starts == NULL:
            raise MemoryError("no memory to sort pieces")
        spare = rows_for(table)
        with nogil:
            n_rows = list_rows(table, rows)
            sort_rows(table, rows, n_rows, spare, starts)
        return arrays_of(table, rows, n_rows)
    finally:
        free(starts)
        free(spare)
        free(rows)


cdef void sort_rows(
    const Table* table,
    Row* rows, Py_ssize_t n,
    Row* spare,                 # n rows
    Py_ssize_t* starts,         # scratch, N_HEADS + 1 zeros
) noexcept nogil:
    """Sort by the first two bytes, which needs no comparisons, then those that have both alike."""
    cdef Py_ssize_t row, head
    for row in range(n):
        starts[(rows[row].first >> 48) + 1] += 1
    for head in range(N_HEADS):
        starts[head + 1] += starts[head]
    # Each place moves on from its group's start to its end, the start of the next.
    for row in range(n):
        head = rows[row].first >> 48
        spare[starts[head]] = rows[row]
        starts[head] += 1
    row = 0
    for head in range(N_HEADS):
        if starts[head] > row:
            sort_group(table, spare + row, starts[head] - row, 2, rows + row, True)
        row = starts[head]


cdef void sort_group(
    const Table* table,
    Row* rows, Py_ssize_t n,
    int depth,                  # their first bytes are alike
    Row* spare,                 # n rows
    bint to_spare,              # where they are to be in the end
) noexcept nogil:
    """Sort by the next byte, then those that have it alike, until they are few."""
    cdef Py_ssize_t[257] starts
    cdef Py_ssize_t row, head, start
    if n <= FEW_ROWS or depth == SHORT_PIECE + 1:
        if n <= FEW_ROWS:
            insert_rows(table, rows, n)
        else:
            heap_rows(table, rows, n)
        if to_spare:
            memcpy(spare, rows, n * sizeof(Row))
        return
    memset(starts, 0, sizeof(starts))
    for row in range(n):
        starts[byte_at(rows + row, depth) + 1] += 1
    for head in range(256):
        starts[head + 1] += starts[head]
    for row in range(n):
        head = byte_at(rows + row, depth)
        spare[starts[head]] = rows[row]
        starts[head] += 1
    start = 0
    for head in range(256):
        if starts[head] > start:
            sort_group(
                table, spare + start, starts[head] - start, depth + 1, rows + start, not to_spare
            )
        start = starts[head]


cdef inline int byte_at(const Row* row, int depth) noexcept nogil:
    """A byte of the two words, the last of which is the length or LONG_TAIL."""
    return <uint8_t> (row.first >> (56 - 8 * depth) if depth < 8 else row.second >> (120 - 8 * depth))


cdef void insert_rows(const Table* table, Row* rows, Py_ssize_t n) noexcept nogil:
    """Sort a few rows."""
    cdef Py_ssize_t row, at
    cdef Row moved
    for row in range(1, n):
        moved = rows[row]
        at = row
        while at > 0 and goes_before(table, &moved, rows + at - 1):
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = moved


cdef void heap_rows(const Table* table, Row* rows, Py_ssize_t n) noexcept nogil:
    """Sort any number of rows: of long pieces that begin alike."""
    cdef Py_ssize_t at
    cdef Row last
    for at in range(n // 2 - 1, -1, -1):
        sink(table, rows, at, n, rows[at])
    for at in range(n - 1, 0, -1):
        last = rows[at]
        rows[at] = rows[0]
        sink(table, rows, 0, at, last)


cdef void sink(
    const Table* table, Row* rows, Py_ssize_t at, Py_ssize_t n, Row moved
) noexcept nogil:
    """Put a row into a heap, the last in order at its top, from a place downwards."""
    cdef Py_ssize_t child = 2 * at + 1
    while child < n:
        if child + 1 < n and goes_before(table, rows + child, rows + child + 1):
            child += 1
        if not goes_before(table, &moved, rows + child):
            break
        rows[at] = rows[child]
        at, child = child, 2 * child + 1
    rows[at] = moved


cdef list grouped_pieces(const Table* table, Py_ssize_t n_groups):
    """The same in n groups, each in any order; None for a group without pieces.

    A piece's group is the sum of its bytes, modulo n: the same in every process.
    """
    cdef Py_ssize_t n_rows, k, group, start
    ends = np.zeros(n_groups + 1, dtype=np.int64)
    cdef int64_t[::1] places = ends
    cdef Row* grouped = NULL
    cdef Row* rows = rows_for(table)
    try:
        grouped = rows_for(table)
        with nogil:
            n_rows = list_rows(table, rows)
            for k in range(n_rows):
                places[byte_sum(table, rows + k) % n_groups + 1] += 1
            for k in range(n_groups):
                places[k + 1] += places[k]
            # Each place moves on from its group's start to its end, the start of the next.
            for k in range(n_rows):
                group = byte_sum(table, rows + k) % n_groups
                grouped[places[group]] = rows[k]
                places[group] += 1
        made = []
        start = 0
        for k in range(n_groups):
            made.append(
                arrays_of(table, grouped + start, places[k] - start) if places[k] > start else None
            )
            start = places[k]
        return made
    finally:
        free(grouped)
        free(rows)


cdef Row* rows_for(const Table* table) except NULL:
    """Room for a row of each piece."""
    cdef Py_ssize_t n = table.used + table.longer_used
    cdef Row* rows = <Row*> malloc((n + 1) * sizeof(Row))
    if rows == NULL:
        raise MemoryError(f"no memory to sort {n} pieces")
    in_large_pages(rows, n * sizeof(Row))
    return rows


cdef inline uint64_t byte_sum(const Table* table, const Row* row) noexcept nogil:
    cdef uint64_t total = 0
    cdef Py_ssize_t at
    if row.longer != NULL:
        for at in range(row.longer.n):
            total += table.arena[row.longer.offset + at]
    else:
        for at in range(length_of(row)):
            total += byte_at(row, at)
    return total


cdef tuple arrays_of(const Table* table, const Row* rows, Py_ssize_t n_rows):
    """Arena, offsets and counts of rows, in their order."""
    cdef Py_ssize_t n_bytes = 0, k
    for k in range(n_rows):
        n_bytes += length_of(rows + k)
    arena = np.empty(n_bytes + SHORT_PIECE + 1, dtype=np.uint8)
    offsets = np.empty(n_rows + 1, dtype=np.int64)
    counts = np.empty(n_rows + 1, dtype=np.int64)   # one more, so that there is an address
    cdef uint8_t[::1] arena_view = arena
    cdef int64_t[::1] offsets_view = offsets
    cdef int64_t[::1] counts_view = counts
    with nogil:
        write_rows(table, rows, n_rows, &arena_view[0], &offsets_view[0], &counts_view[0])
    return arena[:n_bytes], offsets, counts[:n_rows]
