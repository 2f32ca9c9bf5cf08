"""The best break within a budget."""

from cutline.kernels.index.text_index cimport Counter, Query

cdef struct Break:
    Py_ssize_t end
    Py_ssize_t tokens
    int place                   # of its kind among those asked for; behind them: the text's end
    Py_ssize_t reach            # without an end: the greatest one that any kind could have


cdef Break best_break(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t n, Py_ssize_t fill,
    const int* kinds, int n_kinds
) noexcept nogil
