"""Tokens of a part of a piece."""

from cutline.kernels.bpe.prefixes cimport Lookups
from cutline.kernels.bpe.token_tree cimport Tree
from cutline.kernels.index.text_index cimport LongPiece, Query, TextIndex


cdef Py_ssize_t count_part(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n_bytes
) noexcept nogil
cdef Py_ssize_t count_in_tree(
    const TextIndex* index, const LongPiece* piece, const Tree* tree, Lookups* lookups,
    Py_ssize_t start, Py_ssize_t end
) noexcept nogil
cdef void forgo_tree(LongPiece* piece) noexcept nogil
