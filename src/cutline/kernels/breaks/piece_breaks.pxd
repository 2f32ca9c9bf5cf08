"""Cuts at breaks with the pieces of a text around the present chunk."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.breaks.counted_breaks cimport CountedCut
from cutline.kernels.cut.longest_fit cimport Search
from cutline.kernels.encode.batches cimport OwnedState, Source
from cutline.kernels.encode.counted_pieces cimport CountedPieces
from cutline.kernels.encode.encoder cimport Encoder
from cutline.kernels.scan.lanes cimport Chunk


cdef class PieceSums(CountedCut):
    cdef Encoder encoder
    cdef str held
    cdef object owner
    cdef double share
    cdef Characters characters
    cdef const uint8_t* utf8
    cdef Py_ssize_t n_bytes
    cdef OwnedState owned           # of the present call
    cdef CountedPieces pieces
    cdef Chunk* chunk               # that is scanned by lanes
    cdef Source source              # ... of what is counted again
    cdef Search search
    cdef Py_ssize_t known_at, known_byte    # a character, and where it begins
    cdef Py_ssize_t asked           # where the last slice began
    cdef Py_ssize_t begun           # the same in bytes
    cdef Py_ssize_t first           # its first start
    cdef Py_ssize_t head            # the tokens before that
    cdef double n_again             # bytes counted again, or looked at for starts
    cdef readonly bint are_known
    cdef bint take_text(
        self, const Characters* text, const uint8_t* utf8, Py_ssize_t n_bytes
    ) noexcept nogil
    cdef void use_lanes(self) noexcept nogil
    cdef void begin(self)
    cdef void use_state(self, OwnedState owned)
    cdef void end(self)
    cdef Py_ssize_t byte_at(self, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t character_at(self, Py_ssize_t byte) noexcept nogil
    cdef double left(self) noexcept nogil
    cdef Py_ssize_t pay(self, Py_ssize_t n_bytes) noexcept nogil
    cdef Py_ssize_t count_more(self) noexcept nogil
    cdef bint is_start(self, Py_ssize_t piece) noexcept nogil
    cdef Py_ssize_t next_start(self, Py_ssize_t piece) noexcept nogil
    cdef Py_ssize_t last_start(self, Py_ssize_t piece) noexcept nogil
    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t find_head(self, Py_ssize_t start) noexcept nogil
    cdef Py_ssize_t tokens_before(self, Py_ssize_t piece) noexcept nogil
    cdef Py_ssize_t last_within(self) noexcept nogil
    cdef Py_ssize_t longest_from(
        self, Py_ssize_t at, Py_ssize_t end, Py_ssize_t n
    ) noexcept nogil
