"""Which characters of a text those come from that it became."""

# Some characters of the text that a text became, and those that they all come from. What follows
# them, up to the next block, comes from one character each, from `resumed` on.
cdef struct Block:
    Py_ssize_t first, last      # half-open; none is what vanished
    Py_ssize_t start, end
    Py_ssize_t resumed

cdef struct Span:
    Py_ssize_t start, end


cdef class Alignment:
    cdef Block* blocks
    cdef Py_ssize_t count, slots
    cdef readonly str text      # what the text became
    cdef bint add(
        self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil
    cdef bint add_next(self, Py_ssize_t n, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef bint merge(self, Py_ssize_t place, Py_ssize_t end) noexcept nogil
    cdef bint lead(self) noexcept nogil
    cdef Py_ssize_t first_start(self) noexcept nogil
    cdef Span span_in(self, Py_ssize_t number, Py_ssize_t place) noexcept nogil
