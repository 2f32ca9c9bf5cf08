"""A table of distinct pieces, each with its count.

A piece of at most 15 bytes is its own key, two words that stand in the table beside its
count. Longer pieces are rare: their bytes lie in an arena, with a table of their own.

Guarded by tests/kernels/test_piece_counter.py.
"""

from libc.stdlib cimport calloc, free, malloc, qsort

import numpy as np

from cutline.kernels.base.common cimport (
    NO_MEMORY, SHORT_PIECE, TOO_MANY, grow, load64, memcmp, memcpy, memset, prefetch, short_key,
)

cdef enum:
    FIRST_SLOTS = 1 << 10
    LONG_TAIL = 0xFF        # in a row, where short pieces have their length
    N_HEADS = 1 << 16       # pairs of bytes, which pieces are sorted by first


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
    table.total += weight
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
    table.total += weight
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
                table.total += entry.count
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
    const uint8_t* bytes    # of a long piece
    Py_ssize_t n
    int64_t count
    Py_ssize_t group        # in grouped output


cdef Py_ssize_t count_distinct(const Table* table) noexcept nogil:
    cdef Py_ssize_t k, rows = 0
    for k in range(table.slots):
        rows += table.entries[k].count != 0
    for k in range(table.longer_slots):
        rows += table.longer[k].count != 0
    return rows


cdef inline uint64_t reversed_bytes(uint64_t word) noexcept nogil:
    """The word whose lowest byte is the other one's highest."""
    word = word >> 32 | word << 32
    word = (word & <uint64_t> 0xFFFF0000FFFF0000) >> 16 | (word & <uint64_t> 0x0000FFFF0000FFFF) << 16
    return (
        (word & <uint64_t> 0xFF00FF00FF00FF00) >> 8 | (word & <uint64_t> 0x00FF00FF00FF00FF) << 8
    )


cdef void list_rows(const Table* table, Row* row) noexcept nogil:
    """Write a row for each piece that was counted, in any order."""
    cdef Py_ssize_t k
    cdef Key key
    for k in range(table.slots):
        if table.entries[k].count:
            key = table.entries[k].key
            row.first = reversed_bytes(key.low)
            row.second = reversed_bytes(key.high)
            row.bytes = NULL
            row.n = key.high >> 56
            row.count = table.entries[k].count
            row += 1
    for k in range(table.longer_slots):
        if table.longer[k].count:
            row.bytes = table.arena + table.longer[k].offset
            row.n = table.longer[k].n
            key = short_key(row.bytes, SHORT_PIECE, row.bytes + row.n)
            row.first = reversed_bytes(key.low)
            row.second = reversed_bytes(key.high) | LONG_TAIL
            row.count = table.longer[k].count
            row += 1


cdef int compare_rows(const void* left, const void* right) noexcept nogil:
    """Order of the pieces' bytes; a piece stands before those that it begins."""
    cdef const Row* a = <const Row*> left
    cdef const Row* b = <const Row*> right
    cdef int order
    if a.first != b.first:
        return 1 if a.first > b.first else -1
    if a.second != b.second:
        return 1 if a.second > b.second else -1
    if a.bytes == NULL:
        return 0        # equal words of two short pieces: the same piece
    order = memcmp(a.bytes, b.bytes, min(a.n, b.n))
    return order if order else (a.n > b.n) - (a.n < b.n)


cdef void write_rows(
    const Row* row, Py_ssize_t n_rows,
    uint8_t[::1] arena, int64_t[::1] offsets, int64_t[::1] counts,      # out
) noexcept nogil:
    cdef Py_ssize_t k, at, offset = 0
    for k in range(n_rows):
        if row.bytes != NULL:
            memcpy(&arena[offset], row.bytes, row.n)
        else:
            for at in range(row.n):
                arena[offset + at] = short_byte(row, at)
        offset += row.n
        offsets[k + 1] = offset
        counts[k] = row.count
        row += 1


cdef tuple sorted_pieces(const Table* table):
    """Arena, offsets and counts of all pieces, sorted by their bytes."""
    cdef Py_ssize_t n_rows = count_distinct(table)
    cdef Row* rows = rows_for(n_rows)
    cdef Row* sorted_rows = NULL
    cdef Py_ssize_t* starts = <Py_ssize_t*> calloc(N_HEADS + 1, sizeof(Py_ssize_t))
    try:
        if starts == NULL:
            raise MemoryError("no memory to sort pieces")
        sorted_rows = rows_for(n_rows)
        with nogil:
            list_rows(table, rows)
            sort_rows(rows, n_rows, sorted_rows, starts)
        return arrays_of(sorted_rows, n_rows)
    finally:
        free(starts)
        free(sorted_rows)
        free(rows)


cdef void sort_rows(
    const Row* rows, Py_ssize_t n,
    Row* out,                   # n rows
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
        out[starts[head]] = rows[row]
        starts[head] += 1
    row = 0
    for head in range(N_HEADS):
        if starts[head] > row + 1:
            qsort(out + row, starts[head] - row, sizeof(Row), compare_rows)
        row = starts[head]


cdef list grouped_pieces(const Table* table, Py_ssize_t n_groups):
    """The same in n groups, each in any order; None for a group without pieces.

    A piece's group is the sum of its bytes, modulo n: the same in every process.
    """
    cdef Py_ssize_t n_rows = count_distinct(table), k, start
    ends = np.zeros(n_groups + 1, dtype=np.int64)
    cdef int64_t[::1] places = ends
    cdef Row* grouped = NULL
    cdef Row* rows = rows_for(n_rows)
    try:
        grouped = rows_for(n_rows)
        with nogil:
            list_rows(table, rows)
            for k in range(n_rows):
                rows[k].group = byte_sum(rows + k) % n_groups
                places[rows[k].group + 1] += 1
            for k in range(n_groups):
                places[k + 1] += places[k]
            # Each place moves on from its group's start to its end, the start of the next.
            for k in range(n_rows):
                grouped[places[rows[k].group]] = rows[k]
                places[rows[k].group] += 1
        made = []
        start = 0
        for k in range(n_groups):
            made.append(arrays_of(grouped + start, places[k] - start) if places[k] > start else None)
            start = places[k]
        return made
    finally:
        free(grouped)
        free(rows)


cdef Row* rows_for(Py_ssize_t n) except NULL:
    cdef Row* rows = <Row*> malloc((n + 1) * sizeof(Row))
    if rows == NULL:
        raise MemoryError(f"no memory to sort {n} pieces")
    return rows


cdef inline uint64_t byte_sum(const Row* row) noexcept nogil:
    cdef uint64_t total = 0
    cdef Py_ssize_t at
    if row.bytes != NULL:
        for at in range(row.n):
            total += row.bytes[at]
    else:
        for at in range(row.n):
            total += short_byte(row, at)
    return total


cdef inline uint8_t short_byte(const Row* row, Py_ssize_t at) noexcept nogil:
    return <uint8_t> (row.first >> (56 - 8 * at) if at < 8 else row.second >> (120 - 8 * at))


cdef tuple arrays_of(const Row* rows, Py_ssize_t n_rows):
    """Arena, offsets and counts of rows, in their order."""
    cdef Py_ssize_t n_bytes = 0, k
    for k in range(n_rows):
        n_bytes += rows[k].n
    # At least a byte each, so that there is an address to write to.
    arena = np.empty(n_bytes + 1, dtype=np.uint8)
    offsets = np.zeros(n_rows + 1, dtype=np.int64)
    counts = np.empty(n_rows + 1, dtype=np.int64)
    write_rows(rows, n_rows, arena, offsets, counts)
    return arena[:n_bytes], offsets, counts[:n_rows]
