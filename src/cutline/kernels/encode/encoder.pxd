"""The base class of `cutline.Encoding`."""

from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.bpe.bpe cimport BpeTables
from cutline.kernels.encode.batches cimport OwnedState, Source
from cutline.kernels.scan.scan cimport ScanTables


cdef class Encoder:
    cdef BpeTables tables
    cdef ScanTables scan_tables         # None: `find_spans` is used
    cdef object find_spans
    cdef object pipeline                # None: texts are split as they are
    cdef OwnedState spare
    cdef list idle
    cdef tuple cache_bits
    cdef OwnedState take_state(self)
    cdef void release(self, OwnedState owned)
    cdef Source source(self)
    cdef tuple spans_of(self, bytes utf8)
    cdef Py_ssize_t run(
        self, OwnedState owned, object owner, Py_ssize_t before, Py_ssize_t limit
    ) except -1
    cdef list encode_str(self, text)
    cdef Py_ssize_t count_str(self, text) except -1
    cdef object run_block(self, OwnedState owned, list texts, bint keep)


cdef object utf8_owner(text)
cdef object plain_utf8(text)
cdef const uint8_t* utf8_data(object owner, Py_ssize_t* n) except NULL
