from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.encode.batches cimport EncoderState, Source
from cutline.kernels.encode.runs cimport Separators

# How the characters of a run are written before it is split.
cdef struct Spelling:
    const uint8_t* kept         # a bit for each code point that stays as it is
    uint32_t stand_in           # for the byte 128 of others; those for more follow
    uint32_t blank              # that is written as a blank, too


cdef class RunRules:
    cdef Separators separators
    cdef Spelling spelling
    cdef const uint8_t[::1] held


cdef Py_ssize_t count_by_runs(
    const Bpe* bpe, Source* source, EncoderState* state, const Separators* separators,
    const Spelling* spelling, const Characters* text
) noexcept nogil
