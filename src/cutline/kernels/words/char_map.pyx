"""The images of characters, asked for block by block.

Guarded by tests/words/test_encoding.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cython cimport auto_pickle, wraparound
from libc.stdlib cimport calloc, free, malloc

from cutline.kernels.base.characters cimport Characters, Unit, char_at, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, memcpy, uint16_t

cdef extern from "native.h":
    void publish "cutline_publish"(const void** place, const void* address) noexcept nogil

cdef enum:
    MOST_BREAKS = 30
    NEED_BLOCK = -3

@auto_pickle(False)
cdef class CharMap:
    """The images of all characters.

    Args:
        images_of: returns those of a block of 256 code points: tuples of bytes, first group,
            last group and flags.
        meta: the UTF-8 of what stands for a blank, and is written as the byte META; empty: none.
        collapses: a run of blanks counts as one.
    """

    def __cinit__(self, images_of, bytes meta not None, bint collapses):
        self.images_of = images_of
        self.meta = meta
        self.collapses = collapses
        self.fill(0)
        self.look_at_ascii()

    def __dealloc__(self):
        cdef Py_ssize_t at
        for at in range(BLOCKS):
            if self.blocks[at] != NULL:
                free(self.blocks[at].images_bytes)
                free(self.blocks[at])

    cdef int fill(self, uint32_t number) except -1:
        """Make a block. Threads may race to make the same: one of them stays."""
        cdef CharBlock* block
        cdef Py_ssize_t at = 0, used = 0
        cdef uint8_t kind = ALONE
        cdef Image* image
        cdef bytes written
        rows = []
        for text, first_group, last_group, flags in self.images_of(number):
            written = text.replace(self.meta, b"\xfd") if self.meta else text
            if len(written) > 255 or written.count(b"\xff") + written.count(b"\xfe") > MOST_BREAKS:
                raise ValueError(f"a character of block {number} becomes {len(written)} bytes")
            rows.append((written, first_group, last_group, flags))
        block = <CharBlock*> calloc(1, sizeof(CharBlock))
        if block == NULL:
            raise MemoryError("no memory for a block of characters")
        everything = b"".join([row[0] for row in rows])
        block.images_bytes = <uint8_t*> malloc(len(everything) + 1)
        if block.images_bytes == NULL or len(rows) != BLOCK_CHARACTERS:
            free(block.images_bytes)
            free(block)
            raise MemoryError("no memory for a block of characters")
        memcpy(block.images_bytes, PyBytes_AS_STRING(everything), len(everything))
        for written, first_group, last_group, flags in rows:
            if flags & (LEFT | RIGHT | PAIR | OPENS | JOINS):
                kind = TOGETHER
            image = &block.images[at]
            image.offset = used
            image.n = len(written)
            image.first_group = first_group
            image.last_group = last_group
            image.flags = flags
            if b"\xff" in written or b"\xfe" in written:
                image.flags |= MARKED
                if written[0] >= BLANK:
                    image.flags |= ENDS_WORD
            used += image.n
            at += 1
        if self.blocks[number] == NULL:     # the GIL is held, or else the last one stays
            publish(<const void**> &self.blocks[number], block)
            self.kinds[number] = kind
        else:
            free(block.images_bytes)
            free(block)
        return 0

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
            if self.blocks[number] == NULL:
                self.fill(number)
        return 0


cdef Py_ssize_t look_through_units(
    CharMap char_map, const Unit* text, Py_ssize_t n, Py_ssize_t* place
) noexcept nogil:
    cdef uint8_t flags, before = 0, kind
    cdef Py_ssize_t at = place[0]
    while at < n:
        kind = char_map.kinds[text[at] >> 8]
        if kind == ALONE:
            before = 0
            at += 1
            continue
        if kind == MISSING:
            place[0] = at
            return NEED_BLOCK
        flags = char_map.blocks[text[at] >> 8].images[text[at] & 0xFF].flags
        if flags & RIGHT or meets(before, flags):
            return at
        before = flags
        at += 1
    return NOT_FOUND
