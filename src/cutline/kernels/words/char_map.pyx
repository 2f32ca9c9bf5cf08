"""The images of characters, asked for block by block.

Guarded by tests/words/test_encoding.py.
"""

from cython cimport auto_pickle, critical_section, wraparound
from libc.stdlib cimport calloc, free

from cutline.kernels.base.characters cimport Characters, Unit, char_at, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, grow
from cutline.kernels.base.signals cimport raise_if_interrupted
from cutline.kernels.words.images cimport BLANK, BREAK, META, Edges, ImageMaker, most_bytes
from cutline.kernels.words.trie cimport label_at

cdef extern from "native.h":
    void publish_byte "cutline_publish_byte"(uint8_t* place, uint8_t byte) noexcept nogil
    uint8_t known_byte "cutline_known_byte"(const uint8_t* place) noexcept nogil
    void acquire "cutline_acquire"() noexcept nogil
    void publish "cutline_publish"(const void** place, const void* address) noexcept nogil
    const void* published "cutline_published_address"(const void** place) noexcept nogil

cdef enum:
    MOST_BYTES = 255            # of an image, and
    MOST_BREAKS = 62            # markers in it: see WORD_SLOTS and ROOM of the reader
    NEED_BLOCK = -3
    ASCII_AT_ONCE = 32
    WATCHED = 1 << 20           # characters from one look for signals to the next


@auto_pickle(False)
cdef class CharMap:
    """The images of all characters.

    Args:
        characters_of_block: returns what each of a block of 256 code points becomes, a list, and
            flags, a bytearray.
        maker: makes images of that.
    """

    def __cinit__(self, characters_of_block, ImageMaker maker not None):
        cdef Py_ssize_t at
        self.characters_of_block = characters_of_block
        self.maker = maker
        self.collapses = maker.collapses
        self.joins = maker.joins
        self.leads_all = maker.leads_all
        self.fill(0)
        self.ascii_is_calm = True
        for at in range(128 >> PART_BITS):
            self.ascii_is_calm = self.ascii_is_calm and self.is_calm[at]

    def __dealloc__(self):
        cdef Py_ssize_t at
        for at in range(BLOCKS):
            free_block(self.blocks[at])

    cdef int fill(self, uint32_t number) except -1:
        """Make a block. Of threads that race to make the same, the first one's stays."""
        cdef CharBlock* block = self.make(number)
        cdef Py_ssize_t part
        with critical_section(self):
            if self.blocks[number] == NULL:
                publish(<const void**> &self.blocks[number], block)
                for part in range(PARTS):
                    if is_calm_part(block, part):
                        publish_byte(&self.is_calm[number * PARTS + part], True)
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
        for at in range(BLOCK_CHARACTERS):
            text = characters_of(texts[at])
            n = used + most_bytes(text.n)
            if not grow(<void**> &block.images_bytes, &slots, n, 1):
                free_block(block)
                raise MemoryError("no memory for a block of characters")
            n = self.maker.write(&text, block.images_bytes + used, &edges)
            breaks = breaks_in(block.images_bytes + used, n)
            if n > MOST_BYTES or breaks > MOST_BREAKS:
                # It has no image: texts around it are normalized as strings.
                flags[at] |= LEFT | RIGHT
                n = breaks = 0
                edges.first_group = edges.last_group = 0
            image = &block.images[at]
            image.offset = used
            image.n = n
            image.first_group = edges.first_group
            image.last_group = edges.last_group
            image.flags = flags[at]
            if breaks:
                image.flags |= MARKED
                if block.images_bytes[used] >= BLANK and not self.joins:
                    image.flags |= ENDS_WORD
            describe(self, image, block.images_bytes + used, &block.briefs[at])
            block.single[at] = single_of(&block.briefs[at])
            used += n
        return block

    cdef Py_ssize_t prepare(self, str text) except -2:
        """Make the blocks of a text's characters. The first that is entangled, or NOT_FOUND."""
        return self.prepare_from(text, 0)

    cdef Py_ssize_t prepare_from(self, str text, Py_ssize_t at) except -2:
        """The same of the characters from `at` on; those before are prepared."""
        cdef Characters characters = characters_of(text)
        if characters.is_ascii and self.ascii_is_calm:
            return NOT_FOUND
        return self.next_entangled(&characters, at)

    cdef Py_ssize_t next_entangled(self, const Characters* text, Py_ssize_t at) except -2:
        """The first character from `at` on that is entangled, or NOT_FOUND."""
        cdef Py_ssize_t found, stop
        while True:
            raise_if_interrupted()
            stop = min(text.n, at + WATCHED)
            with nogil:
                found = self.look_through(text, stop, &at)
            if found >= 0 or (found == NOT_FOUND and stop == text.n):
                return found
            if found == NEED_BLOCK:
                self.fill(char_at(text, at) >> 8)

    cdef Py_ssize_t look_through(
        self, const Characters* text, Py_ssize_t stop, Py_ssize_t* at
    ) noexcept nogil:
        """Go on to `stop`, or until a block is missing, or a character is entangled."""
        if text.kind == 1:
            return look_through_units(self, <const uint8_t*> text.data, stop, at)
        if text.kind == 2:
            return look_through_units(self, <const uint16_t*> text.data, stop, at)
        return look_through_units(self, <const uint32_t*> text.data, stop, at)

    @wraparound(True)
    def entangled_parts(self, str text not None):
        """Cut a text into parts that do not change one another.

        Returns:
            The starts of the parts, 0 among them, and for each whether characters of it are
            entangled; such parts and others alternate.

        Cost: linear in the text.
        """
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t at = 0, start, found
        starts, kinds = [0], [False]
        self.prepare_all(text)
        while True:
            found = self.next_entangled(&characters, at)
            if found == NOT_FOUND:
                return starts, kinds
            start = self.last_sure(&characters, found, at_least=starts[-1])
            if starts[-1] == start:
                starts.pop()
                kinds.pop()
            if not kinds or not kinds[-1]:
                starts.append(start)
                kinds.append(True)
            at = self.next_sure(&characters, found + 1)
            if at == NOT_FOUND:
                return starts, kinds
            starts.append(at)
            kinds.append(False)

    def is_entangled(self, str text not None):
        """Whether characters of a text change one another."""
        return self.prepare(text) >= 0

    def sure_starts(self, str text not None, Py_ssize_t begin, Py_ssize_t gap):
        """Places after `begin` where a word ends whatever is around, `gap` or more apart."""
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t at = begin
        places = []
        self.prepare_all(text)
        while True:
            at = self.next_sure(&characters, at + max(gap, 1))
            if at == NOT_FOUND:
                return places
            places.append(at)

    cdef Py_ssize_t next_sure(self, const Characters* text, Py_ssize_t at) except -2:
        """The first place from `at` on where a word ends whatever is around, or NOT_FOUND."""
        cdef Py_ssize_t stop
        while at < text.n:
            raise_if_interrupted()
            stop = min(text.n, at + WATCHED)
            with nogil:
                while at < stop and not self.is_sure(text, at):
                    at += 1
            if at < stop:
                return at
        return NOT_FOUND

    cdef Py_ssize_t last_sure(
        self, const Characters* text, Py_ssize_t at, Py_ssize_t at_least
    ) except -2:
        """The last such place before `at`, or `at_least`."""
        cdef Py_ssize_t stop
        at -= 1
        while at > at_least:
            raise_if_interrupted()
            stop = max(at_least, at - WATCHED)
            with nogil:
                while at > stop and not self.is_sure(text, at):
                    at -= 1
            if at > stop:
                return at
        return at_least

    cdef uint8_t flags_at(self, const Characters* text, Py_ssize_t at) noexcept nogil:
        cdef uint32_t code_point = char_at(text, at)
        return self.blocks[code_point >> 8].images[code_point & 0xFF].flags

    cdef bint is_sure(self, const Characters* text, Py_ssize_t at) noexcept nogil:
        """Whether a word ends before a character (at > 0), whatever is around the two."""
        cdef const CharBlock* block
        cdef const Image* image
        cdef uint32_t code_point
        cdef uint8_t flags = self.flags_at(text, at), before
        # What joins may be in a cluster that is short enough to be looked up, or not, because of it.
        if not flags & ENDS_WORD or flags & (RIGHT | JOINS):
            return False
        before = self.flags_at(text, at - 1)
        if meets(before, flags):
            return False
        if self.may_change_after(text, at):
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

    cdef bint may_change_after(self, const Characters* text, Py_ssize_t at) noexcept nogil:
        """Whether what is after a character may change it. A text that ends in marks may go on."""
        cdef uint8_t flags, before = self.flags_at(text, at)
        cdef Py_ssize_t place = at + 1
        while place < text.n:
            flags = self.flags_at(text, place)
            if meets(before, flags):
                return True
            if not flags & PAIR:
                return False
            place += 1      # a mark, which one after it may pass to meet the character
        return place > at + 1

    cdef int prepare_all(self, str text) except -1:
        """Make the blocks of a text's characters."""
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t at = 0
        while True:
            with nogil:
                at = self.first_unknown(&characters, at)
            if at == NOT_FOUND:
                return 0
            self.fill(char_at(&characters, at) >> 8)

    cdef Py_ssize_t first_unknown(self, const Characters* text, Py_ssize_t at) noexcept nogil:
        """The first character from `at` on whose block is not made, or NOT_FOUND."""
        if text.kind == 1:
            return NOT_FOUND    # there is but the first block, which was made at the start
        if text.kind == 2:
            return first_unknown_unit(self, <const uint16_t*> text.data, text.n, at)
        return first_unknown_unit(self, <const uint32_t*> text.data, text.n, at)


cdef Py_ssize_t first_unknown_unit(
    CharMap char_map, const Unit* text, Py_ssize_t n, Py_ssize_t at
) noexcept nogil:
    while at < n and published(<const void**> &char_map.blocks[text[at] >> 8]) != NULL:
        at += 1
    return at if at < n else NOT_FOUND


cdef Py_ssize_t look_through_units(
    CharMap char_map, const Unit* text, Py_ssize_t stop, Py_ssize_t* place
) noexcept nogil:
    cdef uint8_t flags, before
    cdef Py_ssize_t at = place[0], found = NOT_FOUND, end
    cdef const CharBlock* block
    cdef const uint8_t* is_calm = char_map.is_calm
    while True:
        if char_map.ascii_is_calm:
            at = after_ascii(text, at, stop)
        end = min(stop, at + ASCII_AT_ONCE)
        while at + 4 <= end and (
            known_byte(is_calm + (text[at] >> PART_BITS)) & known_byte(is_calm + (text[at + 1] >> PART_BITS))
            & known_byte(is_calm + (text[at + 2] >> PART_BITS)) & known_byte(is_calm + (text[at + 3] >> PART_BITS))
        ):
            at += 4
        if at == end < stop:
            continue
        if at >= stop:
            break
        block = <const CharBlock*> published(<const void**> &char_map.blocks[text[at] >> 8])
        if block == NULL:
            found = NEED_BLOCK
            break
        if not known_byte(is_calm + (text[at] >> PART_BITS)):
            flags = block.images[text[at] & 0xFF].flags
            before = 0
            if at > 0 and flags & (LEFT | RIGHT | PAIR | JOINS):
                before = char_map.blocks[text[at - 1] >> 8].images[text[at - 1] & 0xFF].flags
            if flags & RIGHT or meets(before, flags):
                found = at
                break
        at += 1
    acquire()
    place[0] = at
    return found


cdef inline Py_ssize_t after_ascii(
    const Unit* text, Py_ssize_t at, Py_ssize_t stop
) noexcept nogil:
    """Skip ASCII, many characters at a time; some of it may be left."""
    cdef Py_ssize_t place
    cdef Unit seen
    while at + ASCII_AT_ONCE <= stop:
        seen = 0
        for place in range(ASCII_AT_ONCE):
            seen |= text[at + place]
        if seen >= 128:
            break
        at += ASCII_AT_ONCE
    return at


cdef bint is_calm_part(const CharBlock* block, Py_ssize_t part) noexcept nogil:
    """Whether no character of a part changes with one before it, or whatever is after it."""
    cdef Py_ssize_t at, first = part << PART_BITS
    for at in range(first, first + (1 << PART_BITS)):
        if block.images[at].flags & (LEFT | RIGHT | PAIR | JOINS):
            return False
    return True


cdef void describe(
    CharMap char_map, const Image* image, const uint8_t* written, Brief* brief
) noexcept nogil:
    """Describe an image briefly, if it is brief: a new one says that it is not."""
    cdef Py_ssize_t n = image.n, at
    cdef uint8_t first = image.first_group + 1, last = image.last_group + 1
    cdef bint is_blank = False
    brief.first = NOT_BRIEF
    if n == 0:
        return
    if n == 1 and written[0] == BREAK:
        brief.kinds = IS_BRIEF
        brief.first = 0
        return
    if image.flags & MARKED and written[0] >= BLANK:
        is_blank = written[0] == BLANK
        if not char_map.joins:
            first = APART
        written += 1
        n -= 1
    if image.flags & MARKED and written[n - 1] == BREAK:
        last = 0
        n -= 1
    if not 0 < n <= BRIEF_BYTES or breaks_in(written, n):
        return
    if is_blank:
        if n > 1 or last == 0 or not image.flags & WHITE:
            return
        brief.kinds = IS_BLANK
    for at in range(n):
        brief.written[at] = written[at]
    brief.n = n
    brief.first = first
    brief.last = last
    brief.kinds |= HAS_BYTES | IS_BRIEF
    if written[0] != META or (char_map.leads_all and not is_blank):
        brief.kinds |= 1 << PREFIXED


cdef uint32_t single_of(const Brief* brief) noexcept nogil:
    """What a brief image of one character is; see CharBlock."""
    cdef Py_ssize_t width
    cdef uint32_t label
    if not brief.kinds & HAS_BYTES or brief.first != brief.last or brief.first == APART:
        return 0
    label = label_at(brief.written, &width)
    if width != brief.n:
        return 0
    return <uint32_t> brief.first << EDGE_SHIFT | label


cdef Py_ssize_t breaks_in(const uint8_t* image, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t at, count = 0
    for at in range(n):
        count += image[at] >= BLANK
    return count


cdef void free_block(CharBlock* block) noexcept nogil:
    if block != NULL:
        free(block.images_bytes)
        free(block)
