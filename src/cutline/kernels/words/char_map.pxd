"""What a tokenizer makes of each character of a text: its image, in blocks made when needed.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.characters cimport Characters
from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t
from cutline.kernels.words.images cimport ImageMaker

cdef enum:
    BLOCK_CHARACTERS = 256
    BLOCKS = 0x1100
    SHORT_IMAGE = 8         # bytes: so many can be read from where any image begins
    PARTS = 4               # of a block
    # Flags of an image
    LEFT = 1                # the character changes with the one before it
    RIGHT = 2               # ... with the one after it
    PAIR = 4                # ... with a neighbour that is PAIR, too
    OPENS = 8               # ... with one after it that JOINS
    JOINS = 16
    WHITE = 32              # it is cut off at the end of a text
    MARKED = 64             # there are markers in the image
    ENDS_WORD = 128         # the image begins with a marker
    # What the table of ASCII says besides letters
    LOOK = 0
    GAP = 0xFF

cdef struct Image:
    uint16_t offset         # in the block's bytes
    uint8_t n
    uint8_t n_characters
    uint8_t first_group     # 0: at its edge is a marker, or it is empty
    uint8_t last_group
    uint8_t flags
    uint8_t is_simple       # short, without markers, and of one group

cdef struct CharBlock:
    Image images[BLOCK_CHARACTERS]
    uint8_t* images_bytes
    # Of each part: no character changes with one before it, or with whatever is after it.
    uint8_t is_calm[PARTS]


cdef inline bint meets(uint8_t before, uint8_t flags) noexcept nogil:
    """Whether a character changes with the one before it, by the flags of both."""
    return (
        flags & LEFT or before & RIGHT or before & flags & PAIR or (before & OPENS and flags & JOINS)
    )


cdef class CharMap:
    cdef CharBlock* blocks[BLOCKS]
    # A character's only byte; GAP if it is but a break; META if that and META, or BLANK if it is
    # the break of a run that collapses; or LOOK.
    cdef uint8_t ascii[128]
    cdef uint8_t ascii_group[128]
    cdef bint has_groups            # of several kinds in ASCII
    cdef bint ascii_is_simple       # no image of ASCII has flags for neighbours
    cdef object characters_of_block
    cdef ImageMaker maker
    cdef bint collapses
    cdef int fill(self, uint32_t number) except -1
    cdef CharBlock* make(self, uint32_t number) except NULL
    cdef Py_ssize_t prepare(self, str text) except -2
    cdef int prepare_all(self, str text) except -1
    cdef void look_at_ascii(self)
    cdef Py_ssize_t next_entangled(self, const Characters* text, Py_ssize_t at) except -2
    cdef Py_ssize_t look_through(
        self, const Characters* text, Py_ssize_t stop, Py_ssize_t* at
    ) noexcept nogil
    cdef uint8_t flags_at(self, const Characters* text, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t first_unknown(self, const Characters* text, Py_ssize_t at) noexcept nogil
    cdef Py_ssize_t next_sure(self, const Characters* text, Py_ssize_t at) except -2
    cdef Py_ssize_t last_sure(
        self, const Characters* text, Py_ssize_t at, Py_ssize_t at_least
    ) except -2
    cdef bint may_change_after(self, const Characters* text, Py_ssize_t at) noexcept nogil
    cdef bint is_sure(self, const Characters* text, Py_ssize_t at) noexcept nogil
