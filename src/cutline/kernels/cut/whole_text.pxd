"""The pieces of a text that is cut into chunks from its start to its end."""

from cutline.kernels.cut.longest_fit cimport Cut, Search
from cutline.kernels.encode.batches cimport Source

# Boundaries of the scan from the first of them on, as far as it was asked for.
cdef struct WholeText:
    Source source
    Py_ssize_t* ends                # where they are
    Py_ssize_t* tokens              # from anywhere before the first to each
    Py_ssize_t* looked              # the greatest lookahead end of decisions up to there that looked far
    Py_ssize_t n, ends_slots, tokens_slots, looked_slots


cdef bint begin_whole_text(Search* search, WholeText* whole) noexcept nogil
cdef void free_whole_text(WholeText* whole) noexcept nogil
cdef Cut next_cut(
    Search* search, WholeText* whole, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil
