"""The search for the end of one chunk."""

from cutline.kernels.base.common cimport int64_t
from cutline.kernels.breaks.overlaps cimport Cutting
from cutline.kernels.breaks.stable cimport Candidates
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.index.interval cimport Intervals
from cutline.kernels.index.slices cimport SafePoint, SliceEnd
from cutline.kernels.index.text_index cimport Query, TextIndex

# Whether a slice fits, if it is known.
cdef enum:
    FITS = 1
    DOES_NOT = 0

# Units.
cdef enum:
    TOKENS = 0
    CHARACTERS = 1
    BYTES = 2

# A budget, by one tokenizer or in a unit. The first one of a chunk is by a tokenizer.
cdef struct Limit:
    int unit
    const TextIndex* index      # in a unit: that of the first limit
    Py_ssize_t n                # tokens or units of a chunk at most
    SafePoint point             # of the present chunk: the last with at most n tokens before it
    int64_t tokens              # where the query counts
    Query query
    Py_ssize_t known_from       # whether ends before this place fit takes a longer search

# Where slices end that are counted within a limit.
cdef struct LimitEnd:
    SliceEnd end
    Py_ssize_t most_scanned     # characters

cdef struct Break:
    Py_ssize_t end
    Py_ssize_t tokens
    Py_ssize_t fill             # tokens that it must have
    int place                   # of its kind among those asked for; after them: the text's end
    Py_ssize_t longest          # without an end: the end of the longest that fits


cdef class BreakCut(Cutting):
    cdef Limit* limits
    cdef int n_limits
    cdef Candidates candidates
    cdef double min_fill
    cdef const int[::1] held
    cdef const int* kinds
    cdef int n_kinds
    cdef bint stable
    cdef Py_ssize_t longest     # of the last chunk that was looked for; see `best_break`
    cdef object renew           # see `cut_at_breaks`
    cdef LimitEnd to            # of slices that an overlap may share


cdef object take_limit(Limit* limit, Intervals counter, Py_ssize_t most)
cdef void give_back(Intervals counter, OwnedState owned)
cdef Py_ssize_t last_place(Limit* limits, int n_limits, Py_ssize_t start) noexcept nogil
cdef Py_ssize_t longest_nearby(
    Limit* limits, int n_limits, Py_ssize_t start, Py_ssize_t floor, Py_ssize_t bound
) noexcept nogil
cdef int fits(
    Limit* limits, int n_limits, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* tokens
) noexcept nogil
cdef bint counted(
    Limit* limit, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* tokens
) noexcept nogil
cdef Py_ssize_t begin_limit_to(
    LimitEnd* to, Limit* limit, Py_ssize_t start, Py_ssize_t end
) noexcept nogil
cdef Py_ssize_t limit_fits_to(
    const LimitEnd* to, Limit* limit, Py_ssize_t start, Py_ssize_t most
) noexcept nogil
cdef Py_ssize_t tokens_within(Limit* limit, Py_ssize_t start, Py_ssize_t end) noexcept nogil
