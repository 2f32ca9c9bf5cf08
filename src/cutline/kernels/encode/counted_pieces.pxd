"""Pieces of a text that follow one another, with the tokens before each end."""

from cutline.kernels.base.common cimport is_continuation, uint8_t, uint32_t
from cutline.kernels.encode.batches cimport Batch, Source
from cutline.kernels.scan.scan cimport Scanner, next_class

# Boundaries of the scan from the first of them on, as far as it was asked for.
cdef struct CountedPieces:
    Source source
    Py_ssize_t* ends                # where they are
    Py_ssize_t* tokens              # from anywhere before the first to each
    Py_ssize_t n, ends_slots, tokens_slots


cdef inline Py_ssize_t last_up_to(
    const Py_ssize_t* numbers, Py_ssize_t low, Py_ssize_t high, Py_ssize_t most
) noexcept nogil:
    """The last of ascending numbers[low:high] that is at most so much; `low`: no other is."""
    cdef Py_ssize_t n = high - low, half
    # Without a branch: where a chunk ends, no processor foretells.
    while n > 1:
        half = n >> 1
        low += half * (numbers[low + half] <= most)
        n -= half
    return low


cdef inline bint is_apart(
    const Scanner* scanner,         # in: tells which classes are
    const uint8_t* text, Py_ssize_t at
) noexcept nogil:
    """Whether what is before and after a place inside a text is split and encoded apart."""
    cdef Py_ssize_t before = at - 1
    cdef uint32_t last
    while is_continuation(text[before]):
        before -= 1
    last = next_class(scanner, text, &before)
    return scanner.apart[last * scanner.end_class + next_class(scanner, text, &at)]


cdef bint begin_pieces(CountedPieces* pieces, Py_ssize_t at) noexcept nogil
cdef bint add_pieces(CountedPieces* pieces, const Batch* batch) noexcept nogil
cdef void forget_pieces(CountedPieces* pieces, Py_ssize_t first) noexcept nogil
cdef void free_pieces(CountedPieces* pieces) noexcept nogil
