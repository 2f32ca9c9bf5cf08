"""Reading the words of a text: the images of its characters, up to each break.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t
from cutline.kernels.base.signals cimport Watch
from cutline.kernels.words.char_map cimport CharBlock
from cutline.kernels.words.images cimport META

cdef enum:
    WORDS = 128             # of a batch, and those of as many more characters, or of a marked one
    WORD_SLOTS = 208
    NO_WORD = 208           # where characters of no word say that they end it
    ONLY_WHITE = 2
    # What is told of where words come from
    FIRSTS = 1                  # their first characters
    PLACES = 2                  # all that `Words` has
    TOO_LONG = -1           # instead of the bytes of a word with more characters than models take

# What reads a stretch of a text. The buffer has the words of a batch, one after the other.
cdef struct Reader:
    CharBlock** blocks
    Characters text
    Py_ssize_t at, end
    bint prefixes               # a word that does not begin with META gets one
    bint leads_all              # ... and one that begins with another META than a blank that joins
    bint collapses              # only the first blank of a run counts
    bint joins                  # ... and is a part of a word
    int strips_end              # a word of a blank alone is none at the end; ONLY_WHITE: if white
    Py_ssize_t most_characters  # of a word; 0: any number
    uint8_t* buffer
    Py_ssize_t slots, used
    Py_ssize_t* origins         # of each byte: the character it comes from
    Py_ssize_t origin_slots
    int locates                 # which characters a word comes from is wanted: 0, FIRSTS, PLACES
    bint traces                 # ... and origins
    Watch* watch
    bint goes_on                # the word that is open at the end is none of the last batch
    # The word being read, which is the one after those of the batch:
    bint is_open
    bint is_blank               # it is but a blank of a run that collapses
    bint is_white               # ... of characters that are cut off at the end of a text
    uint8_t group
    uint8_t is_rough            # a character without a brief image is among the last ones

# Slot `count` is that of the word being read. What is not in the buffer is for who locates words.
cdef struct Words:
    Py_ssize_t count
    Py_ssize_t starts[WORD_SLOTS]       # in the buffer, where one ends where the next begins
    Py_ssize_t lengths[WORD_SLOTS]      # bytes, or TOO_LONG
    Py_ssize_t firsts[WORD_SLOTS]       # the first character with bytes of it
    Py_ssize_t ends[WORD_SLOTS + 1]     # after the last one
    bint begins_inside[WORD_SLOTS]      # a character has bytes of it and of the word before
    bint begins_blank[WORD_SLOTS]       # ... with a blank of a run that collapses


cdef void start_reading(
    Reader* reader, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil
cdef void start_inside(
    Reader* reader, Words* words, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil
cdef bint reserve(Reader* reader, Py_ssize_t more) noexcept nogil
cdef Py_ssize_t read_words(Reader* reader, Words* words) noexcept nogil
cdef bint ends_removed(const Reader* reader, Py_ssize_t at) noexcept nogil
cdef void free_reader(Reader* reader) noexcept nogil


cdef inline bint ends_cut_off(const Reader* reader, Py_ssize_t at) noexcept nogil:
    """Whether the byte before one in the buffer is a blank that is cut off where a text ends so."""
    return (
        reader.strips_end and reader.joins and reader.buffer[at - 1] == META
        and ends_removed(reader, at)
    )
