"""The encoder of words: tables, caches, and counting stretches of a text."""

from cutline.kernels.base.common cimport uint8_t, uint32_t, uint64_t, unlikely
from cutline.kernels.encode.caches cimport FirstEntry, Store, spread_lines
from cutline.kernels.encode.runs cimport Runs, Separators, keep_count
from cutline.kernels.words.char_map cimport CharMap
from cutline.kernels.words.model cimport Paths, WordModel
from cutline.kernels.words.reader cimport Reader, Words
from cutline.kernels.words.singles cimport SINGLE_WORDS, Singles
from cutline.kernels.words.trie cimport LooseTrie

cdef enum:
    ANY_LENGTH = 0x7FFFFFFF     # bytes, where words of all lengths are counted
    FIRST_LINES = 1 << 9        # that are in use: as long as little is kept, few pages are met
    SPREAD = 4                  # times as many are next

# What one call works with: caches, buffers.
cdef struct WordState:
    FirstEntry* first_level
    uint64_t line_mask          # of the lines that are in use; more are as soon as these fill up
    uint64_t most_lines
    uint64_t kept               # words and runs that were put into lines
    Store store
    Reader reader
    Words words
    Runs runs
    Singles singles             # runs of a batch that were not met, and are counted together
    Py_ssize_t single_runs[SINGLE_WORDS]
    Paths paths
    uint32_t* out
    Py_ssize_t out_slots
    Py_ssize_t* spans
    Py_ssize_t span_slots


cdef class OwnedWordState:
    cdef WordState state
    cdef uint8_t[::1] memory


cdef class WordEncoder:
    cdef WordModel model
    cdef LooseTrie loose                # while it is built
    cdef readonly CharMap raw           # of texts as they are
    cdef readonly CharMap plain         # of normalized texts
    cdef bint prefixes, collapses
    cdef Separators separators
    cdef bint strips_start
    cdef int strips_end
    cdef Py_ssize_t most_characters
    cdef object held                    # arrays that the model points to
    cdef list idle
    cdef OwnedWordState take(self)
    cdef void release(self, OwnedWordState owned)
    cdef void begin(self, WordState* state, CharMap char_map, str text)
    cdef int check(self, Py_ssize_t outcome) except -1


cdef inline void make_room(WordState* state) noexcept nogil:
    """Use more lines if there is a piece for every other one. No line may be pointed to."""
    cdef uint64_t n_lines = state.line_mask + 1
    if unlikely(2 * state.kept > n_lines and n_lines < state.most_lines):
        state.line_mask = min(SPREAD * n_lines, state.most_lines) - 1
        spread_lines(state.first_level, n_lines, state.line_mask)


cdef inline void keep_run(WordState* state, Py_ssize_t run, Py_ssize_t count) noexcept nogil:
    """Keep the tokens of a run."""
    state.kept += keep_count(&state.runs, run, &state.store, <uint32_t> count)


cdef Py_ssize_t count_stretch(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil
cdef Py_ssize_t count_run(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil
cdef Py_ssize_t encode_word(
    const WordModel* model, WordState* state, Py_ssize_t word, uint32_t* out, Py_ssize_t* spans
) noexcept nogil
cdef Py_ssize_t count_words(
    const WordModel* model, WordState* state, Py_ssize_t longest, Py_ssize_t* totals
) noexcept nogil
cdef void count_new_runs(
    const WordModel* model, WordState* state, bint prefixes
) noexcept nogil
