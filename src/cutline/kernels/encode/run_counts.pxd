from cutline.kernels.base.alignment cimport Alignment
from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.encode.batches cimport EncoderState, Source
from cutline.kernels.encode.few_starts cimport FewStarts
from cutline.kernels.encode.runs cimport Separators

cdef enum:
    CHARACTER_BYTES = 12        # of one that is spelled by stand-ins
    ENTANGLED = -9              # instead of bytes: characters change one another

# What writes the images of text[start:end], and what does where they are entangled; whether a run may
# end in a character, or begin with it: see words/run_images, which has what they take first.
ctypedef Py_ssize_t (*WriteImages)(
    const void* images, const Characters* text, Py_ssize_t start, Py_ssize_t end, bint at_end,
    uint8_t** out, Py_ssize_t* slots, Py_ssize_t used
) noexcept nogil
ctypedef Py_ssize_t (*WriteEntangled)(
    const void* images, const Characters* text, Py_ssize_t start, Py_ssize_t end, bint at_end,
    uint8_t** out, Py_ssize_t* slots, Py_ssize_t used, bint* is_closed
) noexcept nogil
ctypedef bint (*MayEnd)(const void* images, uint32_t code_point, bint begins) noexcept nogil

# How the characters of a run are written before it is split.
cdef struct Spelling:
    const uint8_t* kept         # a bit for each code point that stays as it is
    uint32_t stand_in           # for the byte 128 of others; those for more follow
    uint32_t blank              # that is written as a blank, too
    const void* images          # a normalizer changes characters: what they become; or NULL
    WriteImages write
    WriteEntangled write_entangled
    MayEnd may_end
    bint stays_solid            # slices may begin to be counted after characters that change one another


cdef class RunRules:
    cdef Separators separators
    # Of separators by which runs end with lines, too; and with stops.
    cdef const uint8_t* after_lines
    cdef const uint8_t* after_stops
    cdef Spelling spelling
    cdef const uint8_t[::1] held, held_lines, held_stops
    cdef readonly bint are_known
    cdef int prepare(self, str text) except -1
    cdef str write_text(self, str text, Alignment alignment)


cdef Py_ssize_t count_by_runs(
    const Bpe* bpe, Source* source, EncoderState* state, const Separators* separators,
    const Spelling* spelling, const Characters* text, FewStarts* starts
) noexcept nogil
cdef Py_ssize_t prefix_of(
    const Characters* text, int prefix, const Spelling* spelling
) noexcept nogil
cdef Py_ssize_t write_slice(
    const Spelling* spelling, int prefix, const Characters* text, Py_ssize_t start, Py_ssize_t end,
    bint at_end, uint8_t** out, Py_ssize_t* slots, bint* is_closed
) noexcept nogil
cdef bint align_spelling(
    const Spelling* spelling, const Characters* text, Py_ssize_t start, Py_ssize_t end,
    Alignment alignment
) noexcept nogil
cdef Py_ssize_t put_prefix(
    int prefix, uint8_t** out, Py_ssize_t* slots, Py_ssize_t at, Py_ssize_t n
) noexcept nogil
cdef Py_ssize_t spell_part(
    const Spelling* spelling, const Characters* text, Py_ssize_t start, Py_ssize_t end, uint8_t* out
) noexcept nogil
