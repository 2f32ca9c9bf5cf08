"""The images of characters, asked for block by block.

Guarded by tests/words/test_encoding.py.
"""

from cpython.exc cimport PyErr_CheckSignals
from cython cimport auto_pickle, critical_section, wraparound
from libc.stdlib cimport calloc, free

from cutline.kernels.base.characters cimport Characters, Unit, char_at, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, grow, uint16_t
from cutline.kernels.words.images cimport BLANK, BREAK, META, Edges, ImageMaker, most_bytes

cdef extern from "native.h":
    void publish "cutline_publish"(const void** place, const void* address) noexcept nogil
    const void* published "cutline_published_address"(const void** place) noexcept nogil

cdef enum:
    MOST_BREAKS = 30
    NEED_BLOCK = -3
    AT_ONCE = 32
    WATCHED = (1 << 20) - 1     # characters from one look for signals to the next, less one


@auto_pickle(False)
cdef class CharMap:
    """The images of all characters.

    Args:
        characters_of_block: returns what each of a block of 256 code points becomes, a list, and
            flags, a bytearray.
        maker: makes images of that.
    """

    def __cinit__(self, characters_of_block, ImageMaker maker not None):
        self.characters_of_block = characters_of_block
        self.maker = maker
        self.collapses = maker.collapses
        self.fill(0)
        self.look_at_ascii()

    def __dealloc__(self):
        cdef Py_ssize_t at
        for at in range(BLOCKS):
            free_block(self.blocks[at])

    cdef int fill(self, uint32_t number) except -1:
        """Make a block. Of threads that race to make the same, the first one's stays."""
        cdef CharBlock* block = self.make(number)
        with critical_section(self):
            if self.blocks[number] == NULL:
                publish(<const void**> &self.blocks[number], block)
                block = NULL
        free_block(block)
        return 0

    cdef CharBlock* make(self, uint32_t number) except NULL:
        cdef CharBlock* block
        cdef Image* image
        cdef Edges edges
        cdef Characters text
        cdef Py_ssize_t at, used = 0, slots = 0, n, breaks
        cdef list texts
        cdef uint8_t[::1] flags
        texts, flags = self.characters_of_block(number)
        if len(texts) != BLOCK_CHARACTERS or flags.shape[0] != BLOCK_CHARACTERS:
            raise ValueError(f"block {number} has {len(texts)} characters")
        block = <CharBlock*> calloc(1, sizeof(CharBlock))
        if block == NULL:
            raise MemoryError("no memory for a block of characters")
        block.is_alone = True
        for at in range(BLOCK_CHARACTERS):
            text = characters_of(texts[at])
            if not grow(<void**> &block.images_bytes, &slots, used + most_bytes(text.n) + 1, 1):
                free_block(block)
                raise MemoryError("no memory for a block of characters")
            n = self.maker.write(&text, block.images_bytes + used, &edges)
            breaks = breaks_in(block.images_bytes + used, n)
            if n > 255 or breaks > MOST_BREAKS:
                free_block(block)
                raise ValueError(f"a character of block {number} becomes {n} bytes")
            image = &block.images[at]
            image.offset = used
            image.n = n
            image.first_group = edges.first_group
            image.last_group = edges.last_group
            image.flags = flags[at]
            if breaks:
                image.flags |= MARKED
                if block.images_bytes[used] >= BLANK:
                    image.flags |= ENDS_WORD
            if flags[at] & (LEFT | RIGHT | PAIR | OPENS | JOINS):
                block.is_alone = False
            used += n
        return block

    cdef void look_at_ascii(self):
        cdef Py_ssize_t at
        cdef const Image* image
        cdef uint8_t byte
        cdef bint groups = False
        self.ascii_is_simple = True
        for at in range(128):
            image = &self.blocks[0].images[at]
            if image.flags & (LEFT | RIGHT | PAIR | JOINS):
                self.ascii_is_simple = False
            self.ascii[at] = LOOK
            self.ascii_group[at] = image.last_group
            groups |= image.last_group != 0
            if image.n == 2 and self.blocks[0].images_bytes[image.offset + 1] == META:
                byte = self.blocks[0].images_bytes[image.offset]
                if byte >= BLANK and (byte != BLANK or image.flags & WHITE):
                    self.ascii[at] = BLANK if byte == BLANK else META
            if image.n != 1:
                continue
            byte = self.blocks[0].images_bytes[image.offset]
            if byte == BREAK or 0 < byte < 128:
                self.ascii[at] = byte
        self.has_groups = groups

    cdef Py_ssize_t prepare(self, str text) except -2:
        """Make the blocks of a text's characters. The first that is entangled, or NOT_FOUND."""
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t at = 0, found
        if characters.is_ascii and self.ascii_is_simple:
            return NOT_FOUND
        while True:
            with nogil:
                found = self.look_through(&characters, &at)
            if found != NEED_BLOCK:
                return found
            self.fill(char_at(&characters, at) >> 8)
            at = max(0, at - 1)     # whose flags matter for the next one

    cdef Py_ssize_t look_through(self, const Characters* text, Py_ssize_t* place) noexcept nogil:
        """Go on until a block is missing, or a character is entangled."""
        if text.kind == 1:
            return look_through_units(self, <const uint8_t*> text.data, text.n, place)
        if text.kind == 2:
            return look_through_units(self, <const uint16_t*> text.data, text.n, place)
        return look_through_units(self, <const uint32_t*> text.data, text.n, place)

    @wraparound(True)
    def entangled_parts(self, str text not None):
        """Cut a text into parts that do not change one another.

        Returns:
            The starts of the parts, 0 among them, and for each whether characters of it are
            entangled; such parts and others alternate.

        Cost: linear in the text.
        """
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t at, last_sure = 0
        cdef uint8_t flags, before = 0
        cdef bint inside = False
        starts, kinds = [0], [False]
        self.prepare_all(text)
        for at in range(characters.n):
            if at & WATCHED == WATCHED:
                PyErr_CheckSignals()
            flags = self.flags_at(&characters, at)
            if at > 0 and self.is_sure(&characters, at, before, flags):
                last_sure = at
                if inside:
                    inside = False
                    starts.append(at)
                    kinds.append(False)
            elif (flags & RIGHT or meets(before, flags)) and not inside:
                inside = True
                if starts[-1] == last_sure:
                    starts.pop()
                    kinds.pop()
                if not kinds or not kinds[-1]:
                    starts.append(last_sure)
                    kinds.append(True)
            before = flags
        return starts, kinds

    def is_entangled(self, str text not None):
        """Whether characters of a text change one another."""
        return self.prepare(text) >= 0

    def sure_starts(self, str text not None, Py_ssize_t begin, Py_ssize_t gap):
        """Places after `begin` where a word ends whatever is around, `gap` or more apart."""
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t at, last = begin
        cdef uint8_t flags, before = 0
        places = []
        self.prepare_all(text)
        for at in range(begin, characters.n):
            if at & WATCHED == WATCHED:
                PyErr_CheckSignals()
            flags = self.flags_at(&characters, at)
            if at - last >= gap and at > begin and self.is_sure(&characters, at, before, flags):
                places.append(at)
                last = at
            before = flags
        return places

    cdef uint8_t flags_at(self, const Characters* text, Py_ssize_t at) noexcept nogil:
        cdef uint32_t code_point = char_at(text, at)
        return self.blocks[code_point >> 8].images[code_point & 0xFF].flags

    cdef bint is_sure(
        self, const Characters* text, Py_ssize_t at, uint8_t before, uint8_t flags
    ) noexcept nogil:
        """Whether a word ends before a character, whatever is around the two."""
        cdef const CharBlock* block
        cdef const Image* image
        cdef uint32_t code_point
        if not flags & ENDS_WORD or meets(before, flags) or flags & RIGHT:
            return False
        if at + 1 < text.n and meets(flags, self.flags_at(text, at + 1)):
            return False
        # What the two before have become together may change with this one.
        if at > 1 and meets(self.flags_at(text, at - 2), before):
            return False
        if not self.collapses:
            return True
        # Blanks of a run belong together, whatever vanishes between them; and at the end of a
        # text they may be no word.
        code_point = char_at(text, at - 1)
        block = self.blocks[code_point >> 8]
        image = &block.images[code_point & 0xFF]
        if image.n == 0:
            return False
        return image.n == 1 or block.images_bytes[image.offset + image.n - 2] != BLANK

    cdef int prepare_all(self, str text) except -1:
        for number in {ord(character) >> 8 for character in set(text)}:
            if published(<const void**> &self.blocks[number]) == NULL:
                self.fill(number)
        return 0


cdef inline bint same_block(const Unit* text) noexcept nogil:
    """Whether the next characters are all of one block; compilers look at many at a time."""
    cdef Unit apart = 0
    cdef Py_ssize_t at
    for at in range(AT_ONCE):
        apart |= text[at] ^ text[0]
    return apart < BLOCK_CHARACTERS


cdef Py_ssize_t look_through_units(
    CharMap char_map, const Unit* text, Py_ssize_t n, Py_ssize_t* place
) noexcept nogil:
    cdef uint8_t flags, before = 0
    cdef Py_ssize_t at = place[0]
    cdef const CharBlock* block
    while at < n:
        block = <const CharBlock*> published(<const void**> &char_map.blocks[text[at] >> 8])
        if block != NULL and block.is_alone and n - at >= AT_ONCE and same_block(text + at):
            before = 0
            at += AT_ONCE
            continue
        if block == NULL:
            place[0] = at
            return NEED_BLOCK
        if block.is_alone:
            before = 0
            at += 1
            continue
        flags = block.images[text[at] & 0xFF].flags
        if flags & RIGHT or meets(before, flags):
            return at
        before = flags
        at += 1
    return NOT_FOUND


cdef Py_ssize_t breaks_in(const uint8_t* image, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t at, count = 0
    for at in range(n):
        count += image[at] >= BLANK
    return count


cdef void free_block(CharBlock* block) noexcept nogil:
    if block != NULL:
        free(block.images_bytes)
        free(block)
