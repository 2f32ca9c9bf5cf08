"""Find texts in what becomes of a text, by the images of its characters, without writing it.

Guarded by tests/words/test_token_search.py.
"""

from array import array

from cython cimport auto_pickle
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from cutline.kernels.base.characters cimport Characters, Unit, char_at, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, uint8_t, uint16_t, uint32_t
from cutline.kernels.base.signals cimport raise_if_interrupted
from cutline.kernels.words.char_map cimport BLOCK_CHARACTERS, BLOCKS, CharBlock, CharMap, Image
from cutline.kernels.words.images cimport BLANK, META

cdef extern from "native.h":
    void publish_byte "cutline_publish_byte"(uint8_t* place, uint8_t byte) noexcept nogil
    uint8_t known_byte "cutline_known_byte"(const uint8_t* place) noexcept nogil
    void acquire "cutline_acquire"() noexcept nogil
    const void* published "cutline_published_address"(const void** place) noexcept nogil

cdef enum:
    NEED_BLOCK = -3
    # Kinds of characters; 0: not known yet
    PASSES = 1                  # no text begins in its image
    MAY_BEGIN = 2
    WATCHED = 1 << 20           # characters from one look for signals to the next
    NO_NODE = -1

# A text that was found.
cdef struct Match:
    Py_ssize_t start, end       # characters
    int32_t number
    bint is_whole               # it is all that becomes of these characters
    Py_ssize_t n_texts          # that start where it does, or in the same image


@auto_pickle(False)
cdef class ImageSearch:
    """Finds texts, of those that start first the longest; trusted.

    Args:
        char_map: the images of characters, whose markers but META are no text; META is a blank.
        labels: of a trie of the texts, node by node: a byte of UTF-8 (uint8). Node 0 is the root.
        children, siblings: its first child, and the next child of its parent (int32); or -1.
        numbers: the number of the text that ends there (int32); or -1.
    """

    cdef CharMap char_map
    cdef const uint8_t[::1] labels
    cdef const int32_t[::1] children, siblings, numbers
    cdef bint begins[256]       # whether a text begins with a byte
    cdef uint8_t* kinds         # of each code point

    def __cinit__(
        self, CharMap char_map not None, const uint8_t[::1] labels not None,
        const int32_t[::1] children not None, const int32_t[::1] siblings not None,
        const int32_t[::1] numbers not None,
    ):
        cdef int32_t node = children[0]
        self.char_map = char_map
        self.labels, self.children, self.siblings, self.numbers = labels, children, siblings, numbers
        while node != NO_NODE:
            self.begins[labels[node]] = True
            node = siblings[node]
        self.kinds = <uint8_t*> calloc(BLOCKS * BLOCK_CHARACTERS, 1)
        if self.kinds == NULL:
            raise MemoryError("no memory for what characters begin")
        self.fill(0)

    def __dealloc__(self):
        free(self.kinds)

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
                if self.begins[byte_of(block.images_bytes[place])]:
                    kind = MAY_BEGIN
            publish_byte(&self.kinds[number * BLOCK_CHARACTERS + at], kind)
        return 0

    def find(self, str text not None, bint apart=False):
        """Find them all, as if no characters of the text changed one another.

        Args:
            text: it.
            apart: find those that start inside one that is found, too.

        Returns:
            int64, shape (3 * matches,): start, end and number of each. None: one is not all that
            becomes of its characters; or overlaps another, if they must be apart.

        Cost: linear in the text, for each character of the longest text.
        """
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t at = 0, stop, outcome, done = 0
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
            elif outcome != NOT_FOUND:
                if not match.is_whole or (apart and (match.start < done or match.n_texts > 1)):
                    return None
                rows.extend((match.start, match.end, match.number))
                done = match.end
                at = match.start + 1 if apart else done
        return memoryview(rows)

    cdef Py_ssize_t next_match(
        self, const Characters* text, Py_ssize_t* at, Py_ssize_t stop, Match* match,
        uint32_t* missing       # out: the block for NEED_BLOCK
    ) noexcept nogil:
        """Find the next one that starts before `stop`: where it does, or a status."""
        cdef Py_ssize_t outcome
        while True:
            if text.kind == 1:
                at[0] = pass_units(self.kinds, <const uint8_t*> text.data, at[0], stop)
            elif text.kind == 2:
                at[0] = pass_units(self.kinds, <const uint16_t*> text.data, at[0], stop)
            else:
                at[0] = pass_units(self.kinds, <const uint32_t*> text.data, at[0], stop)
            if at[0] == stop:
                return NOT_FOUND
            outcome = self.match_at(text, at[0], match, missing)
            if outcome != NOT_FOUND:
                return outcome
            at[0] += 1

    cdef Py_ssize_t match_at(
        self, const Characters* text, Py_ssize_t at, Match* match, uint32_t* missing
    ) noexcept nogil:
        """The longest match that starts first in the image of a character: 0, or a status."""
        cdef uint32_t code_point = char_at(text, at)
        cdef const CharBlock* block
        cdef const Image* image
        cdef Py_ssize_t place, first, outcome, n_texts = 0
        cdef Match found
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
            if self.begins[byte_of(block.images_bytes[image.offset + place])]:
                outcome = self.match_from(text, at, place, &found, missing)
                if outcome == NEED_BLOCK:
                    return outcome
                if outcome == 0 and n_texts == 0:
                    match[0] = found
                    match.start = at
                    match.is_whole &= place == first
                n_texts += found.n_texts
        match.n_texts = n_texts
        return 0 if n_texts else NOT_FOUND

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
                    match.is_whole = False      # there is more of this character
                node = self.child(node, byte_of(byte))
                if node == NO_NODE:
                    return outcome
                if self.numbers[node] >= 0:
                    match.end = at + 1
                    match.number = self.numbers[node]
                    match.is_whole = True
                    match.n_texts += 1
                    ended = at
                    outcome = 0
            at += 1
            place = 0
        return outcome

    cdef int32_t child(self, int32_t node, uint8_t byte) noexcept nogil:
        node = self.children[node]
        while node != NO_NODE and self.labels[node] != byte:
            node = self.siblings[node]
        return node


cdef inline uint8_t byte_of(uint8_t byte) noexcept nogil:
    """The byte of a text that one of an image stands for; a marker is in no text."""
    return c" " if byte == META else byte


cdef Py_ssize_t pass_units(
    const uint8_t* kinds, const Unit* text, Py_ssize_t at, Py_ssize_t stop
) noexcept nogil:
    """Go on to a character that may begin a text, or is not known; or to `stop`."""
    while at + 4 <= stop and (
        known_byte(kinds + text[at]) & known_byte(kinds + text[at + 1])
        & known_byte(kinds + text[at + 2]) & known_byte(kinds + text[at + 3])
    ) == PASSES:
        at += 4
    while at < stop and known_byte(kinds + text[at]) == PASSES:
        at += 1
    return at
