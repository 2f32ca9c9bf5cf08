"""The table of distinct pieces with their counts, and what the kernels above it call."""

from cutline.kernels.base.common cimport Key, int64_t, uint8_t, uint64_t

cdef extern from "stdint.h":
    const int64_t INT64_MAX

cdef extern from "native.h":
    uint64_t fold "cutline_fold"(uint64_t left, uint64_t right) noexcept nogil
    void show "cutline_set"(Py_ssize_t* place, Py_ssize_t number) noexcept nogil
    Py_ssize_t shown "cutline_get"(const Py_ssize_t* place) noexcept nogil

cdef enum:
    ROOM = 256              # new short pieces that there always is room for

cdef struct Entry:
    Key key                 # high is 0 in a slot that is free: it has a piece's length
    int64_t count

cdef struct LongEntry:
    uint64_t hashed
    Py_ssize_t offset       # in the arena, where their number stands before the bytes, too
    Py_ssize_t n            # bytes; 0 in a slot that is free
    int64_t count

# Open addressing, at most 7 of 10 slots in use. All counts are at most `total`.
cdef struct Table:
    Entry* entries
    Py_ssize_t slots
    Py_ssize_t used
    LongEntry* longer
    Py_ssize_t longer_slots
    Py_ssize_t longer_used
    uint8_t* arena
    Py_ssize_t arena_used
    Py_ssize_t arena_slots
    Py_ssize_t total        # read by other threads while one counts
    uint64_t[2] seed        # random and secret

# Texts come from strangers, who must not be able to choose pieces that all begin to look at one
# slot. A seed that is only added to a hash, or that a known constant multiplies, moves all
# slots alike: what collides with one seed does with each. Here each factor of a product has
# a secret part. How two keys' products differ then depends on the other factor as well, and
# folding takes each bit of a slot from both halves of the product. Once is not enough: with
# some seeds, keys at equal distances would stand side by side.
cdef inline Entry* first_slot(const Table* table, Key key) noexcept nogil:
    cdef uint64_t hashed = fold(key.low ^ table.seed[0], key.high ^ table.seed[1])
    return table.entries + (fold(hashed, table.seed[0]) & <uint64_t> (table.slots - 1))


cdef inline void add_to_total(Table* table, int64_t more) noexcept nogil:
    show(&table.total, table.total + more)


cdef inline void add_short(
    Table* table, Entry* entry, const Key* key, int64_t weight
) noexcept nogil:
    """Count a piece, given its first slot. There is a free one."""
    while entry.key.low != key.low or entry.key.high != key.high:
        if entry.key.high == 0:
            entry.key = key[0]
            table.used += 1
            break
        entry += 1
        if entry == table.entries + table.slots:
            entry = table.entries
    entry.count += weight


cdef inline Py_ssize_t make_room(Table* table) noexcept nogil:
    """Have room for new short pieces, after some were added. 0 or an error."""
    if (table.used + ROOM) * 10 > table.slots * 7:
        return grow_entries(table)
    return 0


cdef bint begin_table(Table* table, const uint8_t* seed) noexcept nogil
cdef void end_table(Table* table) noexcept nogil
cdef Py_ssize_t grow_entries(Table* table) noexcept nogil
cdef Py_ssize_t add_piece(
    Table* table, const uint8_t* piece, Py_ssize_t n, int64_t weight
) noexcept nogil
cdef Py_ssize_t add_long(
    Table* table, const uint8_t* piece, Py_ssize_t n, int64_t weight
) noexcept nogil
cdef Py_ssize_t count_distinct(const Table* table) noexcept nogil
