"""The pieces of tables: sorted together, or in groups."""

from cutline.kernels.base.common cimport int64_t, uint8_t, uint64_t
from cutline.kernels.base.team cimport Led
from cutline.kernels.train.piece_table cimport Table

cdef enum:
    MOST_TABLES = 128
    MOST_RANGES = 128

# A piece as it is sorted: words compare like bytes, the first the highest.
cdef struct Row:
    uint64_t first
    uint64_t second         # 7 bytes, and the length or LONG_TAIL
    const uint8_t* longer   # of a long piece: where its bytes are; their number stands before them
    int64_t count

# Sorted rows, which one thread sorts and writes.
cdef struct Range:
    Py_ssize_t first_head   # two bytes that its first pieces begin with; up to those of the next
    Py_ssize_t start        # of its rows
    Py_ssize_t n            # rows; after sorting: pieces
    Py_ssize_t n_before     # pieces of the ranges before it
    Py_ssize_t n_bytes
    Py_ssize_t n_bytes_before


cdef class PieceSort(Led):
    cdef list owners        # of the tables
    cdef const Table* tables[MOST_TABLES]
    cdef bint subtracted[MOST_TABLES]
    cdef int n_tables
    cdef readonly Py_ssize_t n_rows
    cdef Py_ssize_t* starts[MOST_TABLES]    # of each table's rows, by the pieces' first two bytes
    cdef int n_threads
    cdef Range ranges[MOST_RANGES + 1]
    cdef int n_ranges
    cdef Row* rows
    cdef Row* spare
    cdef uint8_t* arena
    cdef int64_t* offsets
    cdef int64_t* counts
    cdef int job

    cdef int add_table(self, object owner, const Table* table, bint subtracted) except -1
    cdef tuple written(self)
    cdef void run(self, int job, int n_parts) noexcept nogil
    cdef void work(self, int part) noexcept nogil
    cdef void count_heads(self, int number) noexcept nogil
    cdef void set_starts(self) noexcept nogil
    cdef void scatter(self, int number) noexcept nogil
    cdef void divide(self) noexcept nogil
    cdef void sort_range(self, Range* part) noexcept nogil
    cdef void write_range(self, Range* part) noexcept nogil


cdef list grouped_pieces(const Table* table, Py_ssize_t n_groups)
