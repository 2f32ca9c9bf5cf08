"""Read the words of a text, a batch at a time.

Guarded by tests/words/test_encoding.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.characters cimport Unit, char_at
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, grow, is_continuation, likely, memcpy, memmove, uint16_t, uint32_t,
    unlikely,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.words.char_map cimport GAP, LOOK, MARKED, SHORT_IMAGE, WHITE, Image
from cutline.kernels.words.images cimport BLANK, META

cdef enum:
    ROOM = 320              # bytes of an image and a META a word, and what keys read beyond a word
    STRETCH = 4096
    WATCHED = 1 << 14       # characters of a word that are added to the watch at a time


cdef void start_reading(
    Reader* reader, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil:
    """Read text[start:end] next, as a text of its own."""
    reader.at = start
    reader.end = end
    reader.prefixes = prefixes
    reader.used = 0
    reader.is_open = False
    reader.group = 0


cdef Py_ssize_t read_words(Reader* reader, Words* words) noexcept nogil:
    """Read the next words. Returns how many; 0 at the end; or NO_MEMORY or INTERRUPTED."""
    cdef Py_ssize_t stop, watched = reader.at
    words.count = 0
    if reader.is_open:
        # The word that the last batch ended in goes on.
        reader.used -= reader.start
        memmove(reader.buffer, reader.buffer + reader.start, reader.used)
        if reader.traces:
            memmove(
                reader.origins, reader.origins + reader.start, reader.used * sizeof(Py_ssize_t)
            )
        reader.start = 0
    else:
        reader.used = 0
    while reader.at < reader.end and words.count < WORDS:
        stop = min(reader.end, reader.at + STRETCH)
        if not reserve(reader, SHORT_IMAGE * STRETCH + ROOM):
            return NO_MEMORY
        if not reader.traces:
            if reader.text.kind == 1:
                read_simple(reader, words, <const uint8_t*> reader.text.data, stop)
            elif reader.text.kind == 2:
                read_simple(reader, words, <const uint16_t*> reader.text.data, stop)
            else:
                read_simple(reader, words, <const uint32_t*> reader.text.data, stop)
        if reader.at < stop and words.count < WORDS and not read_character(reader, words):
            return NO_MEMORY
        if reader.at - watched >= WATCHED:
            if is_interrupted(reader.watch, reader.at - watched):
                return INTERRUPTED
            watched = reader.at
    if is_interrupted(reader.watch, reader.at - watched):
        return INTERRUPTED
    if reader.at == reader.end and words.count < WORD_SLOTS - 1:
        if reader.is_open and not (
            reader.strips_end and reader.is_blank
            and (reader.is_white or reader.strips_end != ONLY_WHITE)
        ):
            end_word(reader, words)
        reader.is_open = False
    return words.count


cdef bint reserve(Reader* reader, Py_ssize_t more) noexcept nogil:
    cdef Py_ssize_t needed = reader.used + more
    if reader.traces and not grow(
        <void**> &reader.origins, &reader.origin_slots, needed, sizeof(Py_ssize_t)
    ):
        return False
    return grow(<void**> &reader.buffer, &reader.slots, needed, 1)


cdef inline void end_word(Reader* reader, Words* words) noexcept nogil:
    cdef Py_ssize_t at = words.count
    words.starts[at] = reader.start
    words.lengths[at] = reader.used - reader.start
    if 0 < reader.most_characters < reader.characters:
        words.lengths[at] = TOO_LONG
    words.firsts[at] = reader.first
    words.ends[at] = reader.last + 1
    words.begins_inside[at] = reader.begins_inside
    words.begins_blank[at] = reader.begins_blank
    words.count = at + 1
    reader.is_open = False
    reader.group = 0


cdef inline void begin_word(Reader* reader, bint inside) noexcept nogil:
    reader.is_open = True
    reader.begins_inside = inside
    reader.is_blank = reader.begins_blank = False
    reader.start = reader.used
    reader.first = reader.at
    reader.characters = 0


cdef inline void put_byte(Reader* reader, uint8_t byte) noexcept nogil:
    reader.buffer[reader.used] = byte
    if reader.traces:
        reader.origins[reader.used] = reader.at
    reader.used += 1
    reader.characters += not is_continuation(byte)


cdef void read_simple(
    Reader* reader, Words* words, const Unit* text, Py_ssize_t stop
) noexcept nogil:
    """Read characters with simple images, and of ASCII gaps and METAs, up to another one.

    There is room for SHORT_IMAGE bytes for each of them, and a META.
    """
    cdef uint8_t* buffer = reader.buffer
    cdef const uint8_t* ascii = reader.ascii
    cdef const uint8_t* groups = reader.ascii_group if reader.has_groups else NULL
    cdef const CharBlock* block
    cdef const Image* image
    cdef Py_ssize_t at = reader.at, used = reader.used, start = used
    cdef Py_ssize_t continued = 0       # bytes of characters after their first ones
    cdef uint8_t known, group
    while at < stop:
        if text[at] >= 128:
            block = reader.blocks[text[at] >> 8]
            image = &block.images[text[at] & 0xFF]
            if not image.is_simple or (reader.is_open and reader.group != image.first_group):
                break
            if not reader.is_open:
                if words.count >= WORDS:
                    break
                start = used = open_word(
                    reader, at, used, block.images_bytes[image.offset] != META
                )
                reader.group = image.first_group
            reader.is_blank = False
            group = reader.group
            while image.is_simple and image.first_group == group:
                memcpy(buffer + used, block.images_bytes + image.offset, SHORT_IMAGE)
                used += image.n
                continued += image.n - image.n_characters
                at += 1
                if at == stop or text[at] < 128:
                    break
                block = reader.blocks[text[at] >> 8]
                image = &block.images[text[at] & 0xFF]
            continue
        known = ascii[text[at]]
        if likely(0 < known < 128):
            if unlikely(not reader.is_open):
                if words.count >= WORDS:
                    break
                start = used = open_word(reader, at, used, True)
                reader.group = reader.ascii_group[text[at]]
            elif groups != NULL and reader.group != groups[text[at]]:
                break
            reader.is_blank = False
            group = reader.group
            # Most of a text is characters that go on with a word.
            while True:
                buffer[used] = known
                used += 1
                at += 1
                if at == stop or text[at] >= 128:
                    break
                known = ascii[text[at]]
                if not 0 < known < 128 or (groups != NULL and group != groups[text[at]]):
                    break
            continue
        elif known == LOOK:
            break
        else:
            if reader.is_open and not (
                known == BLANK and reader.is_blank and reader.collapses
            ):
                close_stretch(reader, used, start, continued, at)
                end_word(reader, words)
                start = used
                continued = 0
            if known != GAP:
                if not reader.is_open:
                    if words.count >= WORDS:
                        break
                    start = used = open_word(reader, at, used, False)
                    reader.group = reader.ascii_group[text[at]]
                    buffer[used] = META
                    used += 1
                    reader.is_blank = reader.begins_blank = known == BLANK
                    reader.is_white = True
                reader.last = at
            elif words.count >= WORDS:
                at += 1
                break
        at += 1
    close_stretch(reader, used, start, continued, at)
    reader.at = at


cdef inline Py_ssize_t open_word(
    Reader* reader, Py_ssize_t at, Py_ssize_t used, bint prefixes
) noexcept nogil:
    """Begin a word at a character, with a META where a prefix is due. Returns what is used."""
    reader.at = at
    reader.used = used
    begin_word(reader, False)
    if prefixes and reader.prefixes:
        put_byte(reader, META)
    return reader.used


cdef inline void close_stretch(
    Reader* reader, Py_ssize_t used, Py_ssize_t start, Py_ssize_t continued, Py_ssize_t at
) noexcept nogil:
    """Note what read_simple added to the open word, up to the character `at`."""
    reader.characters += used - start - continued
    if used > start:
        reader.last = at - 1
    reader.used = used


cdef bint read_character(Reader* reader, Words* words) noexcept nogil:
    """Read a character by its image. False: no memory."""
    cdef uint32_t code_point = char_at(&reader.text, reader.at)
    cdef const CharBlock* block = reader.blocks[code_point >> 8]
    cdef const Image* image = &block.images[code_point & 0xFF]
    cdef const uint8_t* written = block.images_bytes + image.offset
    cdef Py_ssize_t at = 0
    cdef uint8_t byte
    cdef bint has_bytes = False
    if reader.slots - reader.used < ROOM and not reserve(reader, ROOM):
        return False
    if image.first_group and reader.group and image.first_group != reader.group:
        end_word(reader, words)
    if reader.is_open and image.n > 0 and not image.flags & MARKED:
        go_on(reader, image, written)
        return True
    while at < image.n:
        byte = written[at]
        at += 1
        if byte == BLANK and reader.collapses and reader.is_open and reader.is_blank:
            # Of a run of blanks, the first is there already: a blank is its marker and its byte.
            reader.is_white = reader.is_white and image.flags & WHITE
            reader.last = reader.at
            at += 1
            continue
        if byte >= BLANK and image.flags & MARKED:
            if reader.is_open:
                end_word(reader, words)
            continue
        if not reader.is_open:
            begin_word(reader, has_bytes)
            if reader.prefixes and byte != META:
                put_byte(reader, META)
        reader.is_blank = at > 1 and written[at - 2] == BLANK and image.flags & MARKED
        if reader.is_blank:
            reader.begins_blank = True
            reader.is_white = image.flags & WHITE
        put_byte(reader, byte)
        has_bytes = True
        reader.last = reader.at
    if image.n > 0:
        reader.group = image.last_group if reader.is_open else 0
    else:
        reader.is_white = reader.is_white and image.flags & WHITE
    reader.at += 1
    return True


cdef inline void go_on(Reader* reader, const Image* image, const uint8_t* written) noexcept nogil:
    """Add an image without markers to the open word."""
    cdef Py_ssize_t at
    memcpy(reader.buffer + reader.used, written, image.n)
    reader.characters += image.n_characters
    if reader.traces:
        for at in range(image.n):
            reader.origins[reader.used + at] = reader.at
    reader.used += image.n
    reader.is_blank = False
    reader.last = reader.at
    reader.group = image.last_group
    reader.at += 1


cdef void free_reader(Reader* reader) noexcept nogil:
    free(reader.buffer)
    free(reader.origins)
