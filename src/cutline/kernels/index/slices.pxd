"""Tokens of a slice of a marked text."""

from cutline.kernels.base.common cimport int64_t
from cutline.kernels.encode.batches cimport Workspace
from cutline.kernels.index.text_index cimport Counter, Query

# A place from which a cut can be looked for, the tokens before it being known.
cdef struct Landing:
    Py_ssize_t at
    Py_ssize_t tokens


cdef void start_query(Query* query, Workspace work, int64_t* sums) noexcept
cdef void forget_row(Query* query) noexcept nogil
cdef bint flush(const Counter* counter, Query* query) noexcept nogil
cdef Py_ssize_t count_slice(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil
cdef Landing land(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t n, Py_ssize_t before
) noexcept nogil
