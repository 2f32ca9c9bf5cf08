"""The pieces of tables: sorted together, or in groups.

The tables of several threads need not become one first: their pieces are sorted together, and
those that are equal come to stand side by side. What can be done in parts, the threads share: each
table's pieces are put where pieces with their first two bytes belong, and then each range of
these is sorted, and written, on its own.

Guarded by tests/kernels/test_piece_counter.py.
"""

from cython cimport auto_pickle
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from cutline.kernels.base.common cimport (
    SHORT_PIECE, Key, load64, memcmp, memcpy, memset, padded_key, reversed_bytes, store64,
)
from cutline.kernels.train.piece_table cimport INT64_MAX, Entry, LongEntry

cdef extern from "native.h":
    void in_large_pages "cutline_in_large_pages"(void* memory, size_t n) noexcept nogil

cdef enum:
    LONG_TAIL = 0xFF        # in a row, where short pieces have their length
    N_HEADS = 1 << 16       # pairs of bytes, which pieces are sorted by first
    FEW_ROWS = 24           # are sorted by inserting
    RANGES = 4              # for each thread: some take longer

# What is done in parts.
cdef enum:
    COUNT_HEADS
    SCATTER
    SORT
    WRITE


@auto_pickle(False)
cdef class PieceSort(Led):
    """Sorts the pieces of some tallies, which nobody may use meanwhile.

    Attributes:
        n_rows: pieces of the tallies, those that several have more than once.
    """

    def __cinit__(self):
        self.owners = []

    def __dealloc__(self):
        cdef int number
        for number in range(self.n_tables):
            free(self.starts[number])
        free(self.rows)
        free(self.spare)

    cdef int add_table(self, object owner, const Table* table, bint subtracted) except -1:
        """Sort a table's pieces, too, or take their counts off; the owner keeps the table."""
        cdef Py_ssize_t* starts
        if self.n_tables == MOST_TABLES:
            raise ValueError(f"more than {MOST_TABLES} tables of pieces")
        starts = <Py_ssize_t*> calloc(N_HEADS + 1, sizeof(Py_ssize_t))
        if starts == NULL:
            raise MemoryError("no memory to sort pieces")
        self.starts[self.n_tables] = starts
        self.tables[self.n_tables] = table
        self.subtracted[self.n_tables] = subtracted
        self.n_tables += 1
        self.owners.append(owner)
        self.n_rows += table.used + table.longer_used
        return 0

    def pieces(self, int n_threads=1):
        """All distinct pieces, sorted by their bytes; once.

        Args:
            n_threads: how many take part: the one that calls, and those that call `assist`.
                Whether they come does not change the result.

        Returns:
            Their bytes, one piece after the other (uint8), where each starts, with the
            end of the last (int64, one more than there are pieces), and how often each
            was counted (int64).

        Cost: O(n log n) comparisons for n distinct pieces of each table.
        """
        cdef Py_ssize_t total = 0
        cdef int number
        if self.n_tables == 0 or self.rows != NULL:
            raise ValueError("the pieces of some tallies are sorted once")
        for number in range(self.n_tables):
            if not self.subtracted[number]:
                if self.tables[number].total > INT64_MAX - total:
                    raise OverflowError("more than 2**63 - 1 pieces: no count holds them")
                total += self.tables[number].total
        self.n_threads = n_threads
        self.rows, self.spare = rows_for(self.n_rows), rows_for(self.n_rows)
        with nogil:
            self.run(COUNT_HEADS, self.n_tables)
            self.set_starts()
            self.run(SCATTER, self.n_tables)
            self.divide()
            self.run(SORT, self.n_ranges)
            for number in range(self.n_ranges):
                self.ranges[number + 1].n_before = (
                    self.ranges[number].n_before + self.ranges[number].n
                )
                self.ranges[number + 1].n_bytes_before = (
                    self.ranges[number].n_bytes_before + self.ranges[number].n_bytes
                )
        return self.written()

    cdef tuple written(self):
        """The arrays, of the ranges that are sorted."""
        cdef const Range* all = self.ranges + self.n_ranges
        arrays = empty_arrays(all.n_before, all.n_bytes_before)
        cdef uint8_t[::1] arena = arrays[0]
        cdef int64_t[::1] offsets = arrays[1]
        cdef int64_t[::1] counts = arrays[2]
        self.arena, self.offsets, self.counts = &arena[0], &offsets[0], &counts[0]
        with nogil:
            self.run(WRITE, self.n_ranges)
            self.offsets[all.n_before] = all.n_bytes_before
        return arrays[0][:all.n_bytes_before], arrays[1], arrays[2][:all.n_before]

    # Work in parts

    cdef void run(self, int job, int n_parts) noexcept nogil:
        """Do the parts of a job, with the threads that are there."""
        self.job = job
        self.share(n_parts)

    cdef void work(self, int part) noexcept nogil:
        if self.job == COUNT_HEADS:
            self.count_heads(part)
        elif self.job == SCATTER:
            self.scatter(part)
        elif self.job == SORT:
            self.sort_range(self.ranges + part)
        else:
            self.write_range(self.ranges + part)

    # Rows of tables, put where pieces with their first two bytes belong

    cdef void count_heads(self, int number) noexcept nogil:
        """Count a table's pieces by their first two bytes."""
        cdef const Table* table = self.tables[number]
        cdef Py_ssize_t* counts = self.starts[number]
        cdef Py_ssize_t k
        for k in range(table.slots):
            if table.entries[k].count:
                counts[head_of(table.entries[k].key.low)] += 1
        for k in range(table.longer_slots):
            if table.longer[k].count:
                counts[head_of(load64(table.arena + table.longer[k].offset))] += 1

    cdef void set_starts(self) noexcept nogil:
        """Make starts of the counts: of each table's rows, beside those of the others."""
        cdef Py_ssize_t head, n, start = 0
        cdef int number
        for head in range(N_HEADS):
            for number in range(self.n_tables):
                n = self.starts[number][head]
                self.starts[number][head] = start
                start += n
        for number in range(self.n_tables):
            self.starts[number][N_HEADS] = start

    cdef void scatter(self, int number) noexcept nogil:
        """Write a table's rows. Each start moves on to its end."""
        cdef const Table* table = self.tables[number]
        cdef Py_ssize_t* starts = self.starts[number]
        cdef Py_ssize_t k, head
        cdef int64_t sign = -1 if self.subtracted[number] else 1
        cdef Row row
        for k in range(table.slots):
            if table.entries[k].count:
                row = short_row(table.entries + k)
                row.count *= sign
                head = row.first >> 48
                self.spare[starts[head]] = row
                starts[head] += 1
        for k in range(table.longer_slots):
            if table.longer[k].count:
                row = long_row(table, table.longer + k)
                row.count *= sign
                head = row.first >> 48
                self.spare[starts[head]] = row
                starts[head] += 1

    # Ranges

    cdef void divide(self) noexcept nogil:
        """Divide the rows, between pairs of bytes, into ranges of about one length."""
        cdef const Py_ssize_t* ends = self.starts[self.n_tables - 1]
        cdef Py_ssize_t head, start = 0, n_rows
        cdef int most = 1 if self.n_threads < 2 else min(RANGES * self.n_threads, MOST_RANGES)
        n_rows = ends[N_HEADS]
        self.ranges[0].first_head = 0
        self.ranges[0].start = 0
        self.n_ranges = 1
        for head in range(N_HEADS):
            if ends[head] * most >= n_rows * self.n_ranges and ends[head] < n_rows:
                self.ranges[self.n_ranges - 1].n = ends[head] - start
                self.ranges[self.n_ranges].first_head = head + 1
                start = self.ranges[self.n_ranges].start = ends[head]
                self.n_ranges += 1
        self.ranges[self.n_ranges - 1].n = n_rows - start
        self.ranges[self.n_ranges].first_head = N_HEADS

    cdef void sort_range(self, Range* part) noexcept nogil:
        """Sort a range, and let one row stand for all of a piece."""
        cdef const Py_ssize_t* ends = self.starts[self.n_tables - 1]
        cdef Py_ssize_t head, start = part.start, k, n = 0
        cdef Row* rows = self.rows + part.start
        for head in range(part.first_head, (part + 1).first_head):
            if ends[head] > start:
                sort_group(self.spare + start, ends[head] - start, 2, self.rows + start, True)
                start = ends[head]
        for k in range(part.n):
            if n > 0 and same_piece(rows + n - 1, rows + k):
                rows[n - 1].count += rows[k].count
                continue
            n -= n > 0 and rows[n - 1].count == 0
            rows[n] = rows[k]
            n += 1
        n -= n > 0 and rows[n - 1].count == 0
        part.n = n
        part.n_bytes = 0
        for k in range(n):
            part.n_bytes += length_of(rows + k)

    cdef void write_range(self, Range* part) noexcept nogil:
        write_rows(
            self.rows + part.start, part.n, self.arena + part.n_bytes_before, part.n_bytes,
            part.n_bytes_before, self.offsets + part.n_before, self.counts + part.n_before,
        )


cdef Row* rows_for(Py_ssize_t n) except NULL:
    cdef Row* rows = <Row*> malloc((n + 1) * sizeof(Row))
    if rows == NULL:
        raise MemoryError(f"no memory to sort {n} pieces")
    in_large_pages(rows, n * sizeof(Row))
    return rows


cdef tuple empty_arrays(Py_ssize_t n_rows, Py_ssize_t n_bytes):
    """Arena, offsets and counts to write, each a little longer, so that there is an address."""
    return (
        np.empty(n_bytes + 1, dtype=np.uint8), np.empty(n_rows + 1, dtype=np.int64),
        np.empty(n_rows + 1, dtype=np.int64),
    )


# Rows

cdef inline Py_ssize_t head_of(uint64_t word) noexcept nogil:
    """The first two bytes of a word as a number."""
    return (word & 0xFF) << 8 | word >> 8 & 0xFF


cdef inline Row short_row(const Entry* entry) noexcept nogil:
    cdef Row row
    row.first = reversed_bytes(entry.key.low)
    row.second = reversed_bytes(entry.key.high)
    row.longer = NULL
    row.count = entry.count
    return row


cdef inline Row long_row(const Table* table, const LongEntry* entry) noexcept nogil:
    cdef Row row
    cdef Key key
    row.longer = table.arena + entry.offset
    key = padded_key(row.longer, SHORT_PIECE)
    row.first = reversed_bytes(key.low)
    row.second = reversed_bytes(key.high) | LONG_TAIL
    row.count = entry.count
    return row


cdef inline Py_ssize_t length_of(const Row* row) noexcept nogil:
    return row.second & 0xFF if row.longer == NULL else load64(row.longer - 8)


cdef inline int byte_at(const Row* row, int depth) noexcept nogil:
    """A byte of the two words, the last of which is the length or LONG_TAIL."""
    return <uint8_t> (row.first >> (56 - 8 * depth) if depth < 8 else row.second >> (120 - 8 * depth))


cdef inline bint goes_before(const Row* one, const Row* other) noexcept nogil:
    """Order of the pieces' bytes; a piece stands before those that it begins."""
    cdef Py_ssize_t n, n_other
    cdef int order
    if one.first != other.first:
        return one.first < other.first
    if one.second != other.second or one.longer == NULL:
        return one.second < other.second
    n, n_other = length_of(one), length_of(other)
    order = memcmp(one.longer, other.longer, min(n, n_other))
    return n < n_other if order == 0 else order < 0


cdef inline bint same_piece(const Row* one, const Row* other) noexcept nogil:
    if one.first != other.first or one.second != other.second:
        return False
    return one.longer == NULL or (
        length_of(one) == length_of(other)
        and memcmp(one.longer, other.longer, length_of(one)) == 0
    )


cdef void write_rows(
    const Row* row, Py_ssize_t n_rows,
    uint8_t* bytes, Py_ssize_t n_bytes,     # out: of all rows; another thread writes what follows
    Py_ssize_t offset,                      # of the first byte
    int64_t* offsets, int64_t* counts,      # out
) noexcept nogil:
    cdef Py_ssize_t k, n, at = 0
    cdef uint8_t[16] last
    for k in range(n_rows):
        n = length_of(row)
        if row.longer != NULL:
            memcpy(bytes + at, row.longer, n)
        elif n_bytes - at >= 16:
            # What is written beyond the piece, the next ones are written over.
            store64(bytes + at, reversed_bytes(row.first))
            store64(bytes + at + 8, reversed_bytes(row.second))
        else:
            store64(last, reversed_bytes(row.first))
            store64(last + 8, reversed_bytes(row.second))
            memcpy(bytes + at, last, n)
        offsets[k] = offset + at
        counts[k] = row.count
        at += n
        row += 1


# Sorting

cdef void sort_group(
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
            insert_rows(rows, n)
        else:
            heap_rows(rows, n)
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
            sort_group(spare + start, starts[head] - start, depth + 1, rows + start, not to_spare)
        start = starts[head]


cdef void insert_rows(Row* rows, Py_ssize_t n) noexcept nogil:
    """Sort a few rows."""
    cdef Py_ssize_t row, at
    cdef Row moved
    for row in range(1, n):
        moved = rows[row]
        at = row
        while at > 0 and goes_before(&moved, rows + at - 1):
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = moved


cdef void heap_rows(Row* rows, Py_ssize_t n) noexcept nogil:
    """Sort any number of rows: of long pieces that begin alike."""
    cdef Py_ssize_t at
    cdef Row last
    for at in range(n // 2 - 1, -1, -1):
        sink(rows, at, n, rows[at])
    for at in range(n - 1, 0, -1):
        last = rows[at]
        rows[at] = rows[0]
        sink(rows, 0, at, last)


cdef void sink(Row* rows, Py_ssize_t at, Py_ssize_t n, Row moved) noexcept nogil:
    """Put a row into a heap, the last in order at its top, from a place downwards."""
    cdef Py_ssize_t child = 2 * at + 1
    while child < n:
        if child + 1 < n and goes_before(rows + child, rows + child + 1):
            child += 1
        if not goes_before(&moved, rows + child):
            break
        rows[at] = rows[child]
        at, child = child, 2 * child + 1
    rows[at] = moved


# Groups

cdef list grouped_pieces(const Table* table, Py_ssize_t n_groups):
    """The pieces in n groups, each in any order; None for a group without pieces.

    A piece's group is the sum of its bytes, modulo n: the same in every process.
    """
    cdef Py_ssize_t n_rows, k, group, start
    ends = np.zeros(n_groups + 1, dtype=np.int64)
    cdef int64_t[::1] places = ends
    cdef Row* grouped = NULL
    cdef Row* rows = rows_for(table.used + table.longer_used)
    try:
        grouped = rows_for(table.used + table.longer_used)
        with nogil:
            n_rows = list_rows(table, rows)
            for k in range(n_rows):
                places[byte_sum(rows + k) % n_groups + 1] += 1
            for k in range(n_groups):
                places[k + 1] += places[k]
            # Each place moves on from its group's start to its end, the start of the next.
            for k in range(n_rows):
                group = byte_sum(rows + k) % n_groups
                grouped[places[group]] = rows[k]
                places[group] += 1
        made = []
        start = 0
        for k in range(n_groups):
            made.append(arrays_of(grouped + start, places[k] - start) if places[k] > start else None)
            start = places[k]
        return made
    finally:
        free(grouped)
        free(rows)


cdef Py_ssize_t list_rows(const Table* table, Row* rows) noexcept nogil:
    """Write a row for each piece that was counted, in any order. Returns their number."""
    cdef Row* row = rows
    cdef Py_ssize_t k
    for k in range(table.slots):
        if table.entries[k].count:
            row[0] = short_row(table.entries + k)
            row += 1
    for k in range(table.longer_slots):
        if table.longer[k].count:
            row[0] = long_row(table, table.longer + k)
            row += 1
    return row - rows


cdef inline uint64_t byte_sum(const Row* row) noexcept nogil:
    cdef uint64_t total = 0
    cdef Py_ssize_t at
    for at in range(length_of(row)):
        total += row.longer[at] if row.longer != NULL else byte_at(row, at)
    return total


cdef tuple arrays_of(const Row* rows, Py_ssize_t n_rows):
    """Arena, offsets and counts of rows, in their order."""
    cdef Py_ssize_t n_bytes = 0, k
    for k in range(n_rows):
        n_bytes += length_of(rows + k)
    arena, offsets, counts = empty_arrays(n_rows, n_bytes)
    cdef uint8_t[::1] arena_view = arena
    cdef int64_t[::1] offsets_view = offsets
    cdef int64_t[::1] counts_view = counts
    with nogil:
        write_rows(rows, n_rows, &arena_view[0], n_bytes, 0, &offsets_view[0], &counts_view[0])
        offsets_view[n_rows] = n_bytes
    return arena[:n_bytes], offsets, counts[:n_rows]
