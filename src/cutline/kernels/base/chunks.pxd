"""Rows of chunks that kernels collect, and the chunks that are made of them."""

from cutline.kernels.base.common cimport grow, int64_t, uint8_t

# Four numbers of each chunk: start, end, tokens, and the place of its boundary's name.
cdef struct Rows:
    int64_t* numbers
    Py_ssize_t n
    Py_ssize_t slots            # for numbers


cdef class OwnedRows:
    cdef Rows rows


cdef inline bint add_row(
    Rows* rows, Py_ssize_t start, Py_ssize_t end, Py_ssize_t tokens, Py_ssize_t place
) noexcept nogil:
    """Add a chunk. False: no memory."""
    cdef int64_t* row
    if not grow(<void**> &rows.numbers, &rows.slots, 4 * (rows.n + 1), sizeof(int64_t)):
        return False
    row = rows.numbers + 4 * rows.n
    row[0] = start
    row[1] = end
    row[2] = tokens
    row[3] = place
    rows.n += 1
    return True


cdef int check_type(type chunk_type) except -1
cdef list chunks_of(
    type chunk_type, str text, const int64_t* rows, Py_ssize_t n, tuple names, Py_ssize_t offset,
    Py_ssize_t index
)
cdef list chunks_of_utf8(
    type chunk_type, str text, const uint8_t* utf8, Py_ssize_t n, const Rows* rows, tuple names
)
cdef list chunks_of_texts(
    type chunk_type, list texts, const int64_t[::1] n_chunks, const Rows* rows, tuple names
)
