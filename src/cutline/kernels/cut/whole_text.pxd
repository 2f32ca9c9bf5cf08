"""The pieces of a text that is cut into chunks from its start to its end."""

from cutline.kernels.cut.longest_fit cimport Cut, Search
from cutline.kernels.encode.counted_pieces cimport CountedPieces

# Up to the end of a piece, how far decisions looked that looked far.
cdef struct FarLook:
    Py_ssize_t end
    Py_ssize_t looked               # the greatest lookahead end

cdef struct WholeText:
    CountedPieces pieces
    FarLook* looks                  # rising; few pieces have one
    Py_ssize_t n_looks, looks_slots


cdef bint begin_whole_text(Search* search, WholeText* whole) noexcept nogil
cdef void free_whole_text(WholeText* whole) noexcept nogil
cdef Cut next_cut(
    Search* search, WholeText* whole, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil
