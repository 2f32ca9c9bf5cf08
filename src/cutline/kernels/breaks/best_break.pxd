"""The search for the end of one chunk."""

from cutline.kernels.base.common cimport int64_t
from cutline.kernels.breaks.overlaps cimport Measure
from cutline.kernels.breaks.stable cimport Candidates
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.index.interval cimport Intervals
from cutline.kernels.index.slices cimport SafePoint, SliceEnd
from cutline.kernels.index.text_index cimport Query, TextIndex

# Whether a slice fits, if it is known.
cdef enum:
    FITS = 1
    DOES_NOT = 0

cdef enum:
    MOST_CUTS = 256             # at a time

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

# How a text is cut.
cdef struct BreakCut:
    Limit* limits
    int n_limits
    Candidates candidates
    double min_fill
    const int* kinds
    int n_kinds
    bint stable
    Py_ssize_t longest          # of the last chunk that was looked for; see `best_break`
    LimitEnd to                 # of slices that an overlap may share


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
cdef int begin_cut(
    BreakCut* cut, const int[::1] kinds, int n_limits, double min_fill, bint stable
) except -1
cdef void begin_measure(Measure* measure, BreakCut* cut) noexcept
cdef Py_ssize_t begin_limit_to(
    LimitEnd* to, Limit* limit, Py_ssize_t start, Py_ssize_t end
) noexcept nogil
cdef Py_ssize_t limit_fits_to(
    const LimitEnd* to, Limit* limit, Py_ssize_t start, Py_ssize_t most
) noexcept nogil
cdef Py_ssize_t tokens_between(Limit* limit, Py_ssize_t start, Py_ssize_t end) noexcept nogil
