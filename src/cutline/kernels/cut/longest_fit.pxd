"""The search for the longest fitting prefix: its state, and what `windows` calls."""

from cutline.kernels.base.common cimport is_continuation, uint8_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Prefixes
from cutline.kernels.encode.batches cimport EncoderState, Source

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
    Source whole                    # of the pieces of the whole text, for who cuts all of it
    EncoderState* state
    const uint8_t* text
    Py_ssize_t n
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


cdef Cut longest_fitting_prefix(
    Search* search, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil
