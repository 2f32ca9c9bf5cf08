"""The encoder of words, for what counts and cuts texts with it."""

from cutline.kernels.encode.runs cimport Separators
from cutline.kernels.words.char_map cimport CharMap
from cutline.kernels.words.model cimport WordModel
from cutline.kernels.words.trie cimport Spellings
from cutline.kernels.words.word_state cimport OwnedWordState, WordState


cdef class WordEncoder:
    cdef WordModel model
    cdef Spellings spellings            # of the tokens, while the trie is built
    cdef readonly CharMap raw           # of texts as they are
    cdef readonly CharMap plain         # of normalized texts
    cdef bint prefixes, collapses
    cdef Separators separators
    cdef bint strips_start
    cdef int strips_end
    cdef Py_ssize_t most_characters
    cdef readonly object changed_runs   # counts those whose characters change one another; or None
    cdef object held                    # arrays that the model points to
    cdef list idle
    cdef OwnedWordState take(self)
    cdef void release(self, OwnedWordState owned)
    cdef void begin(self, WordState* state, CharMap char_map, str text)
    cdef int check(self, Py_ssize_t outcome) except -1
    cdef Py_ssize_t count_changing(
        self, WordState* state, str text, bint prefixes, Py_ssize_t place
    ) except -2
    cdef Py_ssize_t add_part(
        self, WordState* state, CharMap char_map, str text, Py_ssize_t start, Py_ssize_t end,
        bint prefixes, bint keeps_end, bint traces, Py_ssize_t before
    ) except -1
