"""A table of distinct pieces, each with its count.

A piece of at most 15 bytes is its own key, two words that stand in the table beside its
count. Longer pieces are rare: their bytes lie in an arena, with a table of their own.

Guarded by tests/kernels/test_piece_counter.py.
"""

from libc.stdlib cimport calloc, free

from cutline.kernels.base.common cimport (
    NO_MEMORY, SHORT_PIECE, TOO_MANY, grow, load64, memcmp, memcpy, memset, short_key, store64,
)

cdef enum:
    FIRST_SLOTS = 1 << 10


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
            if not grow(<void**> &table.arena, &table.arena_slots, table.arena_used + 8 + n, 1):
                return NO_MEMORY
            entry.hashed = hashed
            entry.offset = table.arena_used + 8
            entry.n = n
            store64(table.arena + table.arena_used, n)
            memcpy(table.arena + entry.offset, piece, n)
            table.arena_used += 8 + n
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


cdef Py_ssize_t count_distinct(const Table* table) noexcept nogil:
    cdef Py_ssize_t k, rows = 0
    for k in range(table.slots):
        rows += table.entries[k].count != 0
    for k in range(table.longer_slots):
        rows += table.longer[k].count != 0
    return rows
