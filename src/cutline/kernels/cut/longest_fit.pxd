"""The greatest cut: its state, and what `cut` calls."""

from cutline.kernels.base.common cimport is_continuation, uint8_t, uint32_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Prefixes
from cutline.kernels.encode.batches cimport Scratch, Source

# The scan of a text from its start: `tokens` come before `at`, and no decision up to
# there looked at a byte at or beyond `examined`.
cdef struct Boundary:
    Py_ssize_t at
    Py_ssize_t examined
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

cdef struct State:
    const Bpe* bpe
    Source source
    Scratch* scratch
    const uint8_t* text
    Py_ssize_t n
    bint has_gaps
    Boundary* boundaries
    Py_ssize_t n_boundaries, boundary_slots
    Py_ssize_t usual_pieces     # the last scan took so many; what it works in vain is lost
    Task* tasks
    Py_ssize_t n_tasks, task_slots
    Py_ssize_t* reached         # scratch of `furthest`
    Py_ssize_t reached_slots
    uint32_t* rows              # the automaton's row behind each character: see `cut`
    Py_ssize_t row_slots
    Py_ssize_t rows_low         # rows are those of the scan from here
    Py_ssize_t rows_high        # up to here
    Py_ssize_t rows_piece_end   # whose piece ends here
    Prefixes prefixes
    Prefixes suffixes           # mirrored
    Py_ssize_t probed_end       # a long piece up to here goes on, and is not worth counting


cdef inline bint is_character_start(const State* state, Py_ssize_t at) noexcept nogil:
    return at >= state.n or not is_continuation(state.text[at])


cdef inline Py_ssize_t character_start(const State* state, Py_ssize_t at) noexcept nogil:
    """The start of the character that holds this byte."""
    while not is_character_start(state, at):
        at -= 1
    return at


cdef Cut greatest_cut(State* state, Py_ssize_t start, Py_ssize_t max_tokens) noexcept nogil
cdef Cut scan_until_over(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t max_tokens
) noexcept nogil
