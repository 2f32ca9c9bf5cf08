"""Words of Unigram whose characters each stay one character, counted many at a time."""

from cutline.kernels.base.common cimport uint16_t, uint32_t
from cutline.kernels.words.double_array cimport DoubleArray

cdef enum:
    MOST_SINGLES = 256      # characters of a word
    SINGLES = 512           # ... of all words, and one after each
    SINGLE_WORDS = 96
    LENGTHS = 4             # of tokens that have a place at each character
    LONG_TOKENS = 1024

# A longer token: the next shorter one that ends at the same place comes after it.
cdef struct LongToken:
    double score
    uint16_t length
    uint16_t shorter

cdef struct Singles:
    Py_ssize_t n_words, n
    Py_ssize_t starts[SINGLE_WORDS + 1]
    uint32_t codes[SINGLES + 1]     # of the characters of all words; 0 after each
    # What is found of all words at once:
    double scores[(SINGLES + 1) * LENGTHS]  # of the tokens that end before a place, by length
    uint16_t longest[SINGLES + 1]   # the longest token that ends there, of those with more; or 0
    LongToken long_tokens[LONG_TOKENS + 1]
    Py_ssize_t n_long
    uint32_t places[SINGLES]        # where texts begin that go on
    uint32_t slots[SINGLES]
    uint32_t longer[SINGLES]        # the slot that each has with its next character, if it has one


cdef inline void clear_singles(Singles* singles) noexcept nogil:
    singles.n_words = singles.n = singles.starts[0] = 0


cdef inline bint has_room(const Singles* singles, Py_ssize_t n) noexcept nogil:
    """Whether there is room for another word of n characters."""
    return singles.n_words < SINGLE_WORDS and singles.n + n < SINGLES


cdef inline void end_single(Singles* singles, Py_ssize_t n) noexcept nogil:
    """Take the n codes that were written after all others as another word."""
    singles.n += n
    singles.codes[singles.n] = 0
    singles.n += 1
    singles.n_words += 1
    singles.starts[singles.n_words] = singles.n


cdef bint find_tokens(const DoubleArray* array, Singles* singles) noexcept nogil
cdef Py_ssize_t count_single(const Singles* singles, Py_ssize_t word) noexcept nogil
