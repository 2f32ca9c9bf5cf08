"""Token ids back to bytes, and arrays of ids to lists of int."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsUnsignedLongLong, PyLong_FromUnsignedLong
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

import numpy as np

from cutline.kernels.common cimport int64_t, memcpy, uint8_t, uint64_t

cdef extern from "native.h":
    const bint SHARES_INTS "CUTLINE_SHARES_INTS"
    void fill_shared "cutline_fill_shared"(
        list target, PyObject** ints, const uint32_t* ids, Py_ssize_t n
    )

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(list items)
    void PyList_SET_ITEM(list target, Py_ssize_t at, object item)
    list PyList_New(Py_ssize_t n)

cdef enum:
    SHARED_LIMIT = 1 << 21      # ids from here on get objects of their own

# Grown to the largest id seen, never freed; the GIL guards it.
cdef list shared_ints = []


cdef list list_of_ids(const uint32_t* ids, Py_ssize_t n):
    """A list of the ids as Python ints."""
    cdef list tokens = PyList_New(n)
    cdef Py_ssize_t at
    cdef uint32_t highest = 0
    cdef object item
    if SHARES_INTS:
        for at in range(n):
            highest = max(highest, ids[at])
        if highest < SHARED_LIMIT:
            if highest >= len(shared_ints):
                # Doubling keeps the growth linear over all calls.
                at = max(<Py_ssize_t> highest + 1, 2 * len(shared_ints))
                shared_ints.extend(range(len(shared_ints), at))
            fill_shared(tokens, PySequence_Fast_ITEMS(shared_ints), ids, n)
            return tokens
    for at in range(n):
        item = PyLong_FromUnsignedLong(ids[at])
        Py_INCREF(item)
        PyList_SET_ITEM(tokens, at, item)
    return tokens


def ids_to_list(const uint32_t[::1] ids not None):
    """A list of int from a uint32 array: faster than its `tolist`, with shared objects."""
    return list_of_ids(&ids[0], ids.shape[0]) if ids.shape[0] else []


cdef class Decoder:
    """Bytes of every token id, special tokens included.

    Args:
        arena: bytes of all tokens.
        ids: uint32, shape (n,), strictly increasing.
        starts: uint64, shape (n,); where each token's bytes begin in the arena.
        lengths: uint32, shape (n,); how many there are, inside the arena (trusted).
    """

    cdef bytes arena
    cdef const uint32_t[::1] ids
    cdef const uint64_t[::1] starts
    cdef const uint32_t[::1] lengths
    cdef Py_ssize_t n_dense         # ids below this are their own place

    def __cinit__(
        self, bytes arena not None, const uint32_t[::1] ids not None,
        const uint64_t[::1] starts not None, const uint32_t[::1] lengths not None,
    ):
        cdef Py_ssize_t n = ids.shape[0]
        if starts.shape[0] != n or lengths.shape[0] != n:
            raise ValueError("ids, starts and lengths must have one entry a token")
        self.arena = arena
        self.ids, self.starts, self.lengths = ids, starts, lengths
        self.n_dense = 0
        while self.n_dense < n and ids[self.n_dense] == <uint64_t> self.n_dense:
            self.n_dense += 1

    cdef Py_ssize_t place(self, uint32_t token_id) noexcept nogil:
        """Where the token stands in the arrays, or -1."""
        cdef Py_ssize_t low = self.n_dense, high = self.ids.shape[0], middle
        if token_id < <uint64_t> self.n_dense:
            return token_id
        while low < high:
            middle = (low + high) // 2
            if self.ids[middle] < token_id:
                low = middle + 1
            else:
                high = middle
        return low if low < self.ids.shape[0] and self.ids[low] == token_id else -1

    def bytes_of(self, uint32_t token_id):
        """Bytes of one token; KeyError where there is none."""
        cdef Py_ssize_t place = self.place(token_id)
        if place < 0:
            raise KeyError(token_id)
        return self.arena[self.starts[place]:self.starts[place] + self.lengths[place]]

    def starts_of(self, tokens):
        """Where each token's bytes begin in `join(tokens)`: int64, shape (tokens + 1,)."""
        cdef const uint32_t[::1] ids = as_ids(tokens)
        starts = np.zeros(ids.shape[0] + 1, dtype=np.int64)
        cdef int64_t[::1] out = starts
        cdef Py_ssize_t at, place
        for at in range(ids.shape[0]):
            place = self.place(ids[at])
            if place < 0:
                raise KeyError(ids[at])
            out[at + 1] = out[at] + self.lengths[place]
        return starts

    def join(self, tokens):
        """Bytes of all tokens, joined.

        Args:
            tokens: ids, any iterable of int or a numpy array.

        Raises:
            KeyError: its argument is the first unknown id.
            OverflowError: an id is negative or does not fit 32 bits.
        """
        cdef const uint32_t[::1] ids = as_ids(tokens)
        cdef Py_ssize_t n = ids.shape[0], at, place, total = 0, length
        cdef const uint8_t* arena = <const uint8_t*> PyBytes_AS_STRING(self.arena)
        cdef uint8_t* out
        cdef bytes joined
        for at in range(n):
            place = self.place(ids[at])
            if place < 0:
                raise KeyError(ids[at])
            total += self.lengths[place]
        joined = PyBytes_FromStringAndSize(NULL, total)
        out = <uint8_t*> PyBytes_AS_STRING(joined)
        with nogil:
            for at in range(n):
                place = self.place(ids[at])
                length = self.lengths[place]
                memcpy(out, arena + self.starts[place], length)
                out += length
        return joined


cdef object as_ids(tokens):
    """A uint32 array of the ids."""
    cdef uint32_t[::1] out
    cdef Py_ssize_t at = 0, n
    cdef unsigned long long token_id
    cdef object item
    if isinstance(tokens, np.ndarray) and tokens.dtype.kind in "iu" and tokens.ndim == 1:
        if tokens.size and not 0 <= int(tokens.min()) <= int(tokens.max()) <= 0xFFFFFFFF:
            raise OverflowError("token ids must be from 0 to 2**32 - 1")
        return np.ascontiguousarray(tokens, dtype=np.uint32)
    if not isinstance(tokens, (list, tuple)):
        tokens = list(tokens)
    n = len(tokens)
    ids = np.empty(n, dtype=np.uint32)
    out = ids
    for item in tokens:
        if at == n:
            raise RuntimeError("the list of tokens grew while it was read")
        token_id = PyLong_AsUnsignedLongLong(item if type(item) is int else item.__index__())
        if token_id > 0xFFFFFFFF:
            raise OverflowError(f"token ids must be from 0 to 2**32 - 1, got {token_id}")
        out[at] = token_id
        at += 1
    return ids[:at]
