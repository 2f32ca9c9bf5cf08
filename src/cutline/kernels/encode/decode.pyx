"""Token ids back to bytes, and arrays of ids to lists of int.

Guarded by tests/test_decode.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport (
    PyLong_AsLongLongAndOverflow, PyLong_CheckExact, PyLong_FromUnsignedLong,
)
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdlib cimport free, malloc

from cutline.kernels.base.late import numpy as np

from cutline.kernels.base.common cimport count_dense, int64_t, memcpy, prefetch, uint8_t, uint64_t

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
    AHEAD = 24                  # how many tokens ahead memory is fetched
    SPAN_LENGTH = (1 << 24) - 1
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
    cdef const uint8_t* text            # of the arena
    cdef const uint32_t[::1] ids
    cdef const uint64_t[::1] spans      # start << 24 | length, one load a token
    cdef Py_ssize_t n_dense             # ids below this are their own place

    def __cinit__(
        self, bytes arena not None, const uint32_t[::1] ids not None, starts not None,
        lengths not None,
    ):
        cdef Py_ssize_t n = ids.shape[0]
        if len(starts) != n or len(lengths) != n or (n and lengths.max() >= 1 << 24):
            raise ValueError("ids, starts and lengths must have one entry a token")
        self.arena = arena
        self.text = <const uint8_t*> PyBytes_AS_STRING(arena)
        self.ids = ids
        self.spans = starts << np.uint64(24) | lengths
        self.n_dense = count_dense(&ids[0], n) if n else 0

    cdef inline Py_ssize_t place(self, uint32_t token_id) noexcept nogil:
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

    cdef Py_ssize_t measure(self, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
        """Bytes of all tokens together; or -1 - at, where ids[at] is the first unknown one."""
        cdef Py_ssize_t at, place, total = 0
        for at in range(n):
            if at + AHEAD < n and ids[at + AHEAD] < <uint64_t> self.n_dense:
                prefetch(&self.spans[ids[at + AHEAD]])
            place = self.place(ids[at])
            if place < 0:
                return -1 - at
            total += self.spans[place] & SPAN_LENGTH
        return total

    cdef void copy(self, const uint32_t* ids, Py_ssize_t n, uint8_t* out) noexcept nogil:
        """Bytes of all tokens, one after the other; the ids are known to exist."""
        cdef const uint8_t* arena = self.text
        cdef uint64_t span
        cdef Py_ssize_t at
        for at in range(n):
            if at + AHEAD < n and ids[at + AHEAD] < <uint64_t> self.n_dense:
                prefetch(arena + (self.spans[ids[at + AHEAD]] >> 24))
            span = self.spans[self.place(ids[at])]
            memcpy(out, arena + (span >> 24), span & SPAN_LENGTH)
            out += span & SPAN_LENGTH

    def bytes_of(self, token_id):
        """Bytes of one token; KeyError or OverflowError, as in `join`, where there is none."""
        cdef Py_ssize_t place = self.place(id_of(token_id))
        if place < 0:
            raise KeyError(token_id)
        start = self.spans[place] >> 24
        return self.arena[start:start + (self.spans[place] & SPAN_LENGTH)]

    def starts_of(self, tokens):
        """Where each token's bytes begin in `join(tokens)`: int64, shape (tokens + 1,)."""
        cdef Ids ids = Ids(tokens)
        starts = np.zeros(ids.n + 1, dtype=np.int64)
        cdef int64_t[::1] out = starts
        cdef Py_ssize_t at, place
        for at in range(ids.n):
            place = self.place(ids.data[at])
            if place < 0:
                raise KeyError(ids.data[at])
            out[at + 1] = out[at] + (self.spans[place] & SPAN_LENGTH)
        return starts

    def join(self, tokens):
        """Bytes of all tokens, joined.

        Args:
            tokens: ids, any iterable of int or a numpy array.

        Raises:
            KeyError: its argument is the first unknown id.
            OverflowError: an id is negative or does not fit 32 bits; names it.
        """
        cdef Ids ids = Ids(tokens)
        cdef Py_ssize_t total
        cdef bytes joined
        cdef uint8_t* out
        with nogil:
            total = self.measure(ids.data, ids.n)
        if total < 0:
            raise KeyError(ids.data[-1 - total])
        joined = PyBytes_FromStringAndSize(NULL, total)
        out = <uint8_t*> PyBytes_AS_STRING(joined)
        with nogil:
            self.copy(ids.data, ids.n, out)
        return joined


cdef inline uint32_t id_of(item) except? 0xFFFFFFFF:
    """A token id as the tables have it."""
    cdef int overflow = 0
    cdef object number = item if PyLong_CheckExact(item) else PyNumber_Index(item)
    # What does not fit gives -1.
    cdef long long token_id = PyLong_AsLongLongAndOverflow(number, &overflow)
    if not 0 <= token_id <= 0xFFFFFFFF:
        raise OverflowError(f"token ids must be from 0 to 2**32 - 1, got {number}")
    return <uint32_t> token_id


cdef class Ids:
    """Token ids of any kind as a buffer of uint32."""

    cdef uint32_t* data
    cdef Py_ssize_t n

    def __cinit__(self, tokens):
        if isinstance(tokens, np.ndarray) and tokens.dtype.kind in "iu" and tokens.ndim == 1:
            if tokens.size and not 0 <= int(tokens.min()) <= int(tokens.max()) <= 0xFFFFFFFF:
                id_of(tokens[(tokens < 0) | (tokens > 0xFFFFFFFF)][0])      # which refuses it
            self.copy_array(np.ascontiguousarray(tokens, dtype=np.uint32))
        else:
            self.copy_list(tokens if type(tokens) is list else list(tokens))

    def __dealloc__(self):
        free(self.data)

    cdef int reserve(self, Py_ssize_t n) except -1:
        self.n = n
        self.data = <uint32_t*> malloc(max(n, 1) * sizeof(uint32_t))
        if self.data == NULL:
            raise MemoryError(f"no memory for {n} token ids")
        return 0

    cdef int copy_array(self, const uint32_t[::1] ids) except -1:
        self.reserve(ids.shape[0])
        if self.n > 0:
            memcpy(self.data, &ids[0], self.n * sizeof(uint32_t))
        return 0

    cdef int copy_list(self, list ids) except -1:
        cdef Py_ssize_t at
        self.reserve(len(ids))
        for at in range(self.n):
            # An item's __index__ may be anybody's code, and shorten the list.
            if at >= len(ids):
                raise RuntimeError("the list of tokens became shorter while it was read")
            if at + AHEAD < len(ids):
                prefetch(PySequence_Fast_ITEMS(ids)[at + AHEAD])
            self.data[at] = id_of(ids[at])
        return 0
