"""Tokens of a slice of a text, from its bitmaps."""

from cutline.kernels.base.common cimport int64_t
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.index.text_index cimport Query, TextIndex

# A safe split point, and the tokens from a slice's start to it.
cdef struct SafePoint:
    Py_ssize_t at
    Py_ssize_t tokens

# The end of some slices.
cdef struct SliceEnd:
    Py_ssize_t at
    Py_ssize_t last_safe        # the last safe split point before it; NOT_FOUND: none is known
    Py_ssize_t tokens           # from there to the end; UNKNOWN: not counted


cdef void start_query(Query* query, OwnedState owned, int64_t* sums) noexcept
cdef void forget_row(Query* query) noexcept nogil
cdef bint flush(const TextIndex* index, Query* query) noexcept nogil
cdef Py_ssize_t count_slice(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil
cdef Py_ssize_t begin_to(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end, SliceEnd* to
) noexcept nogil
cdef Py_ssize_t fits_to(
    const TextIndex* index, Query* query, Py_ssize_t start, const SliceEnd* to, Py_ssize_t most
) noexcept nogil
cdef SafePoint seek(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t n, Py_ssize_t before
) noexcept nogil
