"""Long texts that are not ASCII."""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.encode.batches cimport EncoderState, Source

cdef bint pays_in_blocks(const Source* source, const Characters* text) noexcept nogil
cdef Py_ssize_t encode_in_blocks(
    const Bpe* bpe, Source* source, EncoderState* state, const Characters* text,
    Py_ssize_t before, Py_ssize_t limit
) noexcept nogil
