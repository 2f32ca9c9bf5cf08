"""What rounding may change between the joints of a word."""

from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.words.model cimport Paths, WordModel

cdef enum:
    BINADES = 40            # sums that are looked into are less than 2 ** 40 from 0
    NOT_TOLD = 127

# A part between two joints whose number of tokens depends on the sum before it.
cdef struct UnsurePart:
    Py_ssize_t at           # in the word; of a text: its character
    Py_ssize_t word         # of a text: the first character of its word
    Py_ssize_t tokens       # before it
    double score            # the sum before it, if none began anew
    double depth            # how much farther from 0 sums in it are
    int least               # ... where these are at least 2 ** least, rounding may decide
    # What its tokens are more than those that were counted: where sums are smaller; and where all
    # are from 2 ** k to 2 ** (k + 1).
    signed char below
    signed char changes[BINADES]

cdef struct UnsureParts:
    UnsurePart* items
    Py_ssize_t count, slots
    Py_ssize_t more         # at most so many scores are added more than there are tokens


cdef double most_moved(const WordModel* model, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t weigh(
    const WordModel* model, Paths* paths, const uint8_t* text, Py_ssize_t n, Py_ssize_t count,
    uint32_t* out, UnsurePart* part, UnsureParts* unsure
) noexcept nogil
cdef bint can_weigh(const WordModel* model, Py_ssize_t n) noexcept nogil
cdef bint are_many(const UnsureParts* unsure, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t changed_tokens(
    const WordModel* model, const UnsureParts* unsure, Py_ssize_t first, Py_ssize_t last,
    double moved, Py_ssize_t tokens, bint may_change, Py_ssize_t* changes
) noexcept nogil
cdef double half_bit_of(const WordModel* model, double sum) noexcept nogil
