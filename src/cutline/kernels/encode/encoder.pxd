"""The base class of `cutline.Encoding`."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport int64_t, uint8_t
from cutline.kernels.bpe.bpe cimport BpeTables
from cutline.kernels.encode.batches cimport EncoderState, OwnedState, Source
from cutline.kernels.scan.scan cimport Scanner, ScanTables


cdef class Encoder:
    cdef BpeTables tables
    cdef ScanTables scan_tables         # None: `find_spans` is used
    cdef const Scanner* short_scanner   # for texts that are counted at once; or NULL
    cdef object find_spans
    cdef object pipeline                # None: texts are split as they are
    cdef object special_prefix          # of the special tokens' texts; None: there are none
    cdef bytes special_utf8
    cdef Characters special_bytes       # the same in UTF-8, to be looked for in it; none: not there
    cdef OwnedState spare
    cdef list idle
    cdef tuple cache_bits
    cdef bint is_ordinary(self, text, allowed_special, disallowed_special, num_threads) except -1
    cdef bint is_searched_meanwhile(
        self, text, allowed_special, disallowed_special, num_threads
    ) except -1
    cdef Py_ssize_t run_searching(self, OwnedState owned, text) except -1
    cdef OwnedState take_state(self)
    cdef void release(self, OwnedState owned)
    cdef Source source(self)
    cdef tuple spans_of(self, bytes utf8)
    cdef Py_ssize_t run(
        self, OwnedState owned, object owner, Py_ssize_t before, Py_ssize_t limit
    ) except -1
    cdef Py_ssize_t run_str(
        self, OwnedState owned, object text, Py_ssize_t before, Py_ssize_t limit
    ) except -1
    cdef Py_ssize_t run_spans(
        self, OwnedState owned, object owner, const uint8_t* data, Py_ssize_t n,
        Py_ssize_t before, Py_ssize_t limit
    ) except -1
    cdef list encode_str(self, text, bint searching=*)
    cdef object numpy_of(self, text, bint searching=*)
    cdef Py_ssize_t count_str(self, text) except -1
    cdef object run_block(self, OwnedState owned, list texts, bint keep)
    cdef Py_ssize_t encode_one(
        self, OwnedState owned, Source* source, const Characters* text, Py_ssize_t before,
        Py_ssize_t limit
    ) noexcept nogil
    cdef object run_utf8(
        self, OwnedState owned, const uint8_t[::1] utf8, const int64_t[::1] offsets, bint keep
    )


cdef class Block:
    cdef Characters* texts


cdef void forget_long_utf8(EncoderState* state) noexcept nogil
cdef Py_ssize_t text_utf8(
    EncoderState* state, const Characters* text, const uint8_t** utf8
) noexcept nogil
cdef object utf8_owner(text)
cdef object plain_utf8(text)
cdef const uint8_t* utf8_data(object owner, Py_ssize_t* n) except NULL
cdef object array_of_ids(EncoderState* state, Py_ssize_t n)
