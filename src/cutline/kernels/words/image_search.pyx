"""Find texts in what becomes of a text, by the images of its characters, without writing it.

Guarded by tests/words/test_token_search.py.
"""

from array import array

from cython cimport auto_pickle
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from cutline.kernels.base.characters cimport Characters, Unit, char_at, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, uint8_t, uint16_t, uint32_t, uint64_t
from cutline.kernels.base.signals cimport raise_if_interrupted
from cutline.kernels.words.char_map cimport BLOCK_CHARACTERS, BLOCKS, CharBlock, CharMap, Image
from cutline.kernels.words.images cimport BLANK, META

cdef extern from "native.h":
    void publish_byte "cutline_publish_byte"(uint8_t* place, uint8_t byte) noexcept nogil
    uint8_t known_byte "cutline_known_byte"(const uint8_t* place) noexcept nogil
    void acquire "cutline_acquire"() noexcept nogil
    const void* published "cutline_published_address"(const void** place) noexcept nogil
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil

cdef enum:
    NEED_BLOCK = -3
    # Kinds of characters; 0: not known yet
    PASSES = 1                  # no text begins in its image
    MAY_BEGIN = 2
    WATCHED = 1 << 20           # characters from one look for signals to the next
    AT_ONCE = 64
    SLOTS = 1 << 16
    MOST_ENDS = 16              # of texts that start at one place, where all are to be found

# A text that was found.
cdef struct Match:
    Py_ssize_t start, end       # characters
    int32_t number
    bint is_whole               # it is all that becomes of these characters
    # Of all texts that start where it does, of which it is the longest:
    Py_ssize_t n_texts
    Py_ssize_t ends[MOST_ENDS]  # of these, the first ones
    int32_t numbers[MOST_ENDS]
    bint are_whole
    bint is_alone               # no other one starts in the same image


@auto_pickle(False)
cdef class ImageSearch:
    """Finds texts, of those that start first the longest; trusted.

    Args:
        char_map: the images of characters, whose markers but META are no text; META is a blank.
        labels: of a trie of the texts, node by node: a byte of UTF-8 (uint8). Node 0 is the root.
        children: its first child (int32), after which come the others, up to that of the next
            node: one more than there are nodes.
        numbers: the number of the text that ends there (int32); or -1.
    """

    cdef CharMap char_map
    cdef const uint8_t[::1] labels
    cdef const int32_t[::1] children, numbers
    cdef int32_t first[256]     # the child of the root with a byte
    cdef uint8_t begun[SLOTS]   # whether a text begins with three bytes that have this slot
    cdef uint8_t* kinds         # of each code point
    cdef uint8_t* bytes         # the one that is all that becomes of it; 0: it is not known, or more

    def __cinit__(
        self, CharMap char_map not None, const uint8_t[::1] labels not None,
        const int32_t[::1] children not None, const int32_t[::1] numbers not None,
    ):
        cdef int32_t node
        self.char_map = char_map
        self.labels, self.children, self.numbers = labels, children, numbers
        self.kinds = <uint8_t*> calloc(BLOCKS * BLOCK_CHARACTERS, 1)
        self.bytes = <uint8_t*> calloc(BLOCKS * BLOCK_CHARACTERS, 1)
        if self.kinds == NULL or self.bytes == NULL:
            raise MemoryError("no memory for what characters begin")
        for node in range(children[0], children[1]):
            self.first[labels[node]] = node
            self.note_begun(node)
        self.fill(0)

    def __dealloc__(self):
        free(self.kinds)
        free(self.bytes)

    cdef void note_begun(self, int32_t first) noexcept nogil:
        """Note the first three bytes of the texts that begin with one: where they end, any."""
        cdef uint8_t one = self.labels[first]
        cdef int32_t second, third
        cdef int other, last
        if self.numbers[first] >= 0:
            for other in range(256):
                for last in range(256):
                    self.begun[begun_slot(one, other, last)] = 1
        for second in range(self.children[first], self.children[first + 1]):
            other = self.labels[second]
            if self.numbers[second] >= 0:
                for last in range(256):
                    self.begun[begun_slot(one, other, last)] = 1
            for third in range(self.children[second], self.children[second + 1]):
                self.begun[begun_slot(one, other, self.labels[third])] = 1

    cdef int fill(self, uint32_t number) except -1:
        """Tell what the characters of a block may begin."""
        cdef Py_ssize_t at, place
        cdef const CharBlock* block
        cdef const Image* image
        cdef uint8_t kind
        if published(<const void**> &self.char_map.blocks[number]) == NULL:
            self.char_map.fill(number)
        block = self.char_map.blocks[number]
        for at in range(BLOCK_CHARACTERS):
            image = &block.images[at]
            kind = PASSES
            for place in range(image.offset, image.offset + image.n):
                if self.first[byte_of(block.images_bytes[place])]:
                    kind = MAY_BEGIN
            if image.n == 1 and block.images_bytes[image.offset] < BLANK:
                publish_byte(
                    &self.bytes[number * BLOCK_CHARACTERS + at],
                    byte_of(block.images_bytes[image.offset]),
                )
            publish_byte(&self.kinds[number * BLOCK_CHARACTERS + at], kind)
        return 0

    def find(self, str text not None, bint overlapping=False):
        """Find them all, as if no characters of the text changed one another.

        Args:
            text: it.
            overlapping: find those that overlap one that starts before, or are its beginning, too.

        Returns:
            int64, shape (3 * matches,): start, end and number of each, by starts and then by ends.
            None: one is not all that becomes of its characters; or too many start at one place.

        Cost: linear in the text, for each character of the longest text.
        """
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t at = 0, stop, outcome, one
        cdef uint32_t missing = 0
        cdef Match match
        rows = array("q")
        while at < characters.n:
            raise_if_interrupted()
            stop = min(characters.n, at + WATCHED)
            with nogil:
                outcome = self.next_match(&characters, &at, stop, &match, &missing)
            if outcome == NEED_BLOCK:
                self.fill(missing)
            elif outcome != NOT_FOUND and overlapping:
                if not match.are_whole or not match.is_alone or match.n_texts > MOST_ENDS:
                    return None
                for one in range(match.n_texts):
                    rows.extend((match.start, match.ends[one], match.numbers[one]))
                at = match.start + 1
            elif outcome != NOT_FOUND:
                if not match.is_whole:
                    return None
                rows.extend((match.start, match.end, match.number))
                at = match.end
        return memoryview(rows)

    cdef Py_ssize_t next_match(
        self, const Characters* text, Py_ssize_t* at, Py_ssize_t stop, Match* match,
        uint32_t* missing       # out: the block for NEED_BLOCK
    ) noexcept nogil:
        """Find the next one that starts before `stop`: where it does, or a status."""
        cdef Py_ssize_t outcome, n
        cdef uint64_t left
        while at[0] < stop:
            n = min(AT_ONCE, stop - at[0])
            if text.kind == 1:
                left = self.candidates(<const uint8_t*> text.data + at[0], n, text.n - at[0])
            elif text.kind == 2:
                left = self.candidates(<const uint16_t*> text.data + at[0], n, text.n - at[0])
            else:
                left = self.candidates(<const uint32_t*> text.data + at[0], n, text.n - at[0])
            while left != 0:
                outcome = self.match_at(text, at[0] + low_bit(left), match, missing)
                if outcome != NOT_FOUND:
                    at[0] += low_bit(left)
                    return outcome
                left &= left - 1
            at[0] += n
        return NOT_FOUND

    cdef inline uint64_t candidates(
        self, const Unit* text, Py_ssize_t n, Py_ssize_t readable
    ) noexcept nogil:
        """In which of n characters a text may begin, by each and the next two: a bit for each."""
        cdef uint32_t one, other = known_byte(self.bytes + text[0]), third = 0
        cdef uint64_t found = 0, is_one
        cdef Py_ssize_t at
        if readable > 1:
            third = known_byte(self.bytes + text[1])
        for at in range(n):
            one, other = other, third
            third = known_byte(self.bytes + text[at + 2]) if at + 2 < readable else 0
            is_one = (one == 0) | (other == 0) | (third == 0) | known_byte(
                self.begun + begun_slot(one, other, third)
            )
            found |= (is_one & (known_byte(self.kinds + text[at]) != PASSES)) << at
        return found

    cdef Py_ssize_t match_at(
        self, const Characters* text, Py_ssize_t at, Match* match, uint32_t* missing
    ) noexcept nogil:
        """The longest match that starts first in the image of a character: 0, or a status."""
        cdef uint32_t code_point = char_at(text, at)
        cdef const CharBlock* block
        cdef const Image* image
        cdef Py_ssize_t place, first, outcome
        cdef bint is_found = False
        cdef Match other
        if known_byte(&self.kinds[code_point]) == 0:
            missing[0] = code_point >> 8
            return NEED_BLOCK
        acquire()
        block = self.char_map.blocks[code_point >> 8]
        image = &block.images[code_point & 0xFF]
        first = NOT_FOUND
        for place in range(image.n):
            if block.images_bytes[image.offset + place] >= BLANK:
                continue
            if first == NOT_FOUND:
                first = place
            if self.first[byte_of(block.images_bytes[image.offset + place])]:
                outcome = self.match_from(
                    text, at, place, &other if is_found else match, missing
                )
                if outcome == NEED_BLOCK:
                    return outcome
                if outcome == 0 and is_found:
                    match.is_alone = False
                elif outcome == 0:
                    is_found = match.is_alone = True
                    match.start = at
                    match.is_whole &= place == first
                    match.are_whole &= place == first
        return 0 if is_found else NOT_FOUND

    cdef Py_ssize_t match_from(
        self, const Characters* text, Py_ssize_t at, Py_ssize_t place, Match* match,
        uint32_t* missing
    ) noexcept nogil:
        """The longest match from a place in the image of a character on: 0, or a status."""
        cdef int32_t node = 0
        cdef uint32_t code_point
        cdef const CharBlock* block
        cdef const Image* image
        cdef Py_ssize_t outcome = NOT_FOUND, ended = NOT_FOUND
        cdef uint8_t byte
        match.n_texts = 0
        match.are_whole = True
        while at < text.n:
            code_point = char_at(text, at)
            block = <const CharBlock*> published(
                <const void**> &self.char_map.blocks[code_point >> 8]
            )
            if block == NULL:
                missing[0] = code_point >> 8
                return NEED_BLOCK
            image = &block.images[code_point & 0xFF]
            while place < image.n:
                byte = block.images_bytes[image.offset + place]
                place += 1
                if byte >= BLANK:
                    continue
                if ended == at:
                    match.is_whole = match.are_whole = False    # there is more of this character
                node = self.child(node, byte_of(byte))
                if node == 0:
                    return outcome
                if self.numbers[node] >= 0:
                    match.end = at + 1
                    match.number = self.numbers[node]
                    match.is_whole = True
                    if match.n_texts < MOST_ENDS:
                        match.ends[match.n_texts] = at + 1
                        match.numbers[match.n_texts] = self.numbers[node]
                    match.n_texts += 1
                    ended = at
                    outcome = 0
            at += 1
            place = 0
        return outcome

    cdef inline int32_t child(self, int32_t node, uint8_t byte) noexcept nogil:
        """The child of a node, or 0."""
        cdef int32_t at
        if node == 0:
            return self.first[byte]
        for at in range(self.children[node], self.children[node + 1]):
            if self.labels[at] == byte:
                return at
        return 0


cdef inline uint8_t byte_of(uint8_t byte) noexcept nogil:
    """The byte of a text that one of an image stands for; a marker is in no text."""
    return c" " if byte == META else byte


cdef inline uint32_t begun_slot(uint32_t one, uint32_t other, uint32_t third) noexcept nogil:
    return ((one << 8 | other) * <uint32_t> 0x9E3779B1 + third * <uint32_t> 0x85EBCA77) >> 16
