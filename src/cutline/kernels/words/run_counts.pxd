"""Counts by runs, for what counts texts and their parts."""

from cutline.kernels.encode.runs cimport Separators
from cutline.kernels.words.model cimport WordModel
from cutline.kernels.words.word_state cimport WordState


cdef void count_new_runs(
    const WordModel* model, WordState* state, bint prefixes
) noexcept nogil
cdef Py_ssize_t count_changed(
    WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil
cdef Py_ssize_t ask_count(
    const WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept with gil
cdef Py_ssize_t count_closed_runs(
    const WordModel* model, WordState* state, Py_ssize_t first, Py_ssize_t last, bint prefixes
) noexcept nogil
cdef Py_ssize_t count_runs(
    const WordModel* model, WordState* state, Separators separators, bint prefixes, bint reads,
    Py_ssize_t* place
) noexcept nogil
cdef Py_ssize_t count_text(
    const WordModel* model, WordState* state, Separators separators, bint prefixes,
    Py_ssize_t place
) noexcept nogil
