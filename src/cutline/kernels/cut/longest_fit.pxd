"""The search for the longest fitting prefix: its state, and what the kernels above call."""

from cutline.kernels.base.common cimport MERGE_LIMIT, is_continuation, uint8_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Prefixes
from cutline.kernels.encode.batches cimport Batch, EncoderState, Source

cdef enum:
    LONG_FOR_A_TOKEN = 4    # bytes: a piece of more for each token is not encoded to be dropped

# The scan of a text from its start: `tokens` come before `at`, and no decision up to
# there looked at a byte at or beyond `lookahead_end`.
cdef struct Boundary:
    Py_ssize_t at
    Py_ssize_t lookahead_end
    Py_ssize_t tokens

# Cuts from `low` to `high` whose pieces are known up to `at`, `tokens` tokens so far.
cdef struct Task:
    Py_ssize_t at
    Py_ssize_t tokens
    Py_ssize_t low
    Py_ssize_t high

cdef struct Cut:
    Py_ssize_t end
    Py_ssize_t tokens

cdef struct Search:
    const Bpe* bpe
    Source source
    EncoderState* state
    const uint8_t* text
    Py_ssize_t n
    bint goes_on                    # the text is the start of a longer one
    bint has_gaps
    Boundary* boundaries
    Py_ssize_t n_boundaries, boundary_slots
    Py_ssize_t usual_pieces         # of the last scan; what this one encodes beyond is wasted
    Task* tasks
    Py_ssize_t n_tasks, task_slots
    Py_ssize_t* furthest            # scratch of `token_upper_bound`
    Py_ssize_t furthest_slots
    Prefixes prefixes
    Py_ssize_t probed_end           # a long piece up to here goes on, and is not worth counting


cdef inline bint is_character_start(const Search* search, Py_ssize_t at) noexcept nogil:
    return at >= search.n or not is_continuation(search.text[at])


cdef inline Py_ssize_t character_start(const Search* search, Py_ssize_t at) noexcept nogil:
    """The start of the character that holds this byte."""
    while not is_character_start(search, at):
        at -= 1
    return at


cdef inline Cut no_cut(Py_ssize_t why) noexcept nogil:
    cdef Cut cut
    cut.end = why
    cut.tokens = 0
    return cut


cdef inline Py_ssize_t usual_bytes(Py_ssize_t n_tokens) noexcept nogil:
    """As many as tokens hardly ever have, but for those of a giant piece."""
    return 8 * n_tokens + 64


cdef inline Py_ssize_t longest_counted(Py_ssize_t budget) noexcept nogil:
    """Bytes of a piece that is counted without a thought of the budget."""
    return max(MERGE_LIMIT, LONG_FOR_A_TOKEN * budget)


cdef inline const Boundary* last_boundary(const Search* search) noexcept nogil:
    return &search.boundaries[search.n_boundaries - 1]


cdef void begin_search(
    Search* search, const Bpe* bpe, Source source, EncoderState* state, bint has_gaps
) noexcept nogil
cdef void free_search(Search* search) noexcept nogil
cdef bint begin_boundaries(Search* search, Py_ssize_t start) noexcept nogil
cdef bint reserve_boundaries(Search* search, Py_ssize_t more) noexcept nogil
cdef bint push_boundaries(
    Search* search, const Batch* batch, Py_ssize_t before, Py_ssize_t max_tokens
) noexcept nogil
cdef Cut cut_before_last(
    Search* search, Py_ssize_t end, Py_ssize_t max_tokens, Py_ssize_t least
) noexcept nogil
cdef Cut longest_fitting_prefix(
    Search* search, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil
