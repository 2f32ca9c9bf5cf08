"""What a tokenizer makes of each character of a text: its image, in blocks made when needed.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.characters cimport Characters, char_at
from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t
from cutline.kernels.words.images cimport ImageMaker

cdef enum:
    BLOCK_CHARACTERS = 256
    BLOCKS = 0x1100
    PART_BITS = 3
    PARTS = BLOCK_CHARACTERS >> PART_BITS
    # Flags of an image
    LEFT = 1                # the character changes with the one before it
    RIGHT = 2               # ... with the one after it
    PAIR = 4                # ... with a neighbour that is PAIR, too
    OPENS = 8               # ... with one after it that JOINS
    JOINS = 16
    WHITE = 32              # it is cut off at the end of a text
    MARKED = 64             # there are markers in the image
    ENDS_WORD = 128         # the image begins with a marker
    # Kinds of a brief image
    HAS_BYTES = 1
    IS_BRIEF = 2
    IS_BLANK = 4            # the break of a run that collapses, and META; it is white
    PREFIXED = 3            # place of a bit: a META is put before it where it begins a word
    # Edges of a brief image: 0 and this, where a word ends, or 1 + the group, which is far less
    APART = 0xFF
    NOT_BRIEF = 0xFE        # the first edge of an image that is not
    BRIEF_BYTES = 4
    # In what a brief image of one character is
    EDGE_SHIFT = 24

cdef struct Image:
    uint16_t offset         # in the block's bytes
    uint8_t n
    uint8_t first_group     # 0: at its edge is a marker, or it is empty
    uint8_t last_group
    uint8_t flags

# An image of few bytes, as nearly all are: what goes on with a word, is a word of its own, or ends
# one. A word ends between two images if the last edge of one is not the first of the other.
cdef struct Brief:
    uint8_t written[BRIEF_BYTES]
    uint8_t n
    uint8_t kinds           # 0: the image is not brief
    uint8_t first           # APART: a word begins here whatever is before it; 0: none has it
    uint8_t last            # 0: no word goes on after it

cdef struct CharBlock:
    Image images[BLOCK_CHARACTERS]
    Brief briefs[BLOCK_CHARACTERS]
    # A brief image of one character, as the trie of tokens has it, with the same edge on both sides:
    # the edge, and the character. 0: of more, or none.
    uint32_t single[BLOCK_CHARACTERS]
    uint8_t* images_bytes


cdef inline bint meets(uint8_t before, uint8_t flags) noexcept nogil:
    """Whether a character changes with the one before it, by the flags of both."""
    return (
        flags & LEFT or before & RIGHT or before & flags & PAIR or (before & OPENS and flags & JOINS)
    )


cdef inline bint is_changed(
    CharBlock** blocks, const Characters* text, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Whether characters of text[start:end], whose blocks are made, change with others."""
    cdef uint8_t flags, before = 0
    cdef uint32_t code_point
    cdef Py_ssize_t at
    for at in range(start, end):
        code_point = char_at(text, at)
        flags = blocks[code_point >> 8].images[code_point & 0xFF].flags
        if flags & (LEFT | RIGHT | PAIR | JOINS) and (flags & RIGHT or meets(before, flags)):
            return True
        before = flags
    return False


cdef class CharMap:
    cdef CharBlock* blocks[BLOCKS]
    # Of each 8 characters: their block is made, and none of them changes with one before it, or
    # with whatever is after it.
    cdef uint8_t is_calm[BLOCKS * PARTS]
    cdef bint ascii_is_calm
    cdef object characters_of_block
    cdef ImageMaker maker
    cdef bint collapses, joins, leads_all
    cdef int fill(self, uint32_t number) except -1
    cdef CharBlock* make(self, uint32_t number) except NULL
    cdef Py_ssize_t prepare(self, str text) except -2
    cdef Py_ssize_t prepare_from(self, str text, Py_ssize_t at) except -2
    cdef int prepare_all(self, str text) except -1
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
