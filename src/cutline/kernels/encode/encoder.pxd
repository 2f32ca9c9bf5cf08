"""The kernel class behind `cutline.Encoding`."""

from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.bpe.bpe cimport BpeTables
from cutline.kernels.encode.batches cimport Source, Workspace
from cutline.kernels.scan.scan cimport ScanTables


cdef class Encoder:
    cdef BpeTables tables
    cdef ScanTables scan_tables         # None: `find_spans` is used
    cdef object find_spans
    cdef Workspace spare
    cdef list idle
    cdef tuple cache_bits
    cdef Workspace workspace(self)
    cdef void release(self, Workspace work)
    cdef Source source(self)
    cdef tuple spans_of(self, bytes utf8)
    cdef Py_ssize_t run(
        self, Workspace work, object owner, Py_ssize_t before, Py_ssize_t limit
    ) except -1
    cdef object run_block(self, Workspace work, list texts, bint keep)


cdef object utf8_owner(text)
cdef const uint8_t* utf8_data(object owner, Py_ssize_t* n) except NULL
