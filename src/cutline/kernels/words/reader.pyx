"""Read the words of a text, a batch at a time.

Guarded by tests/words/test_encoding.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.characters cimport Unit, char_at
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, characters_in, grow, memcpy, memmove, memset, uint16_t, uint32_t,
    uint64_t, unlikely,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.words.char_map cimport (
    BRIEF_BYTES, HAS_BYTES, IS_BLANK, MARKED, NOT_BRIEF, PREFIXED, WHITE, Brief, Image,
)
from cutline.kernels.words.images cimport BLANK, META

cdef extern from "native.h":
    uint64_t words_begun "cutline_words_begun"(
        const uint8_t* edges, uint8_t refused, uint64_t* are_refused
    ) noexcept nogil
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil

cdef enum:
    AT_ONCE = 64            # characters
    ROOM = 336              # bytes of an image and a META a word, and what keys read beyond a word
    MOST_BRIEF = 8          # bytes of a brief image and a META, and what is copied beyond
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
    reader.is_open = reader.goes_on = False
    reader.group = reader.is_rough = 0


cdef void start_inside(
    Reader* reader, Words* words, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil:
    """Read text[start:end] next, which goes on with a word: it gets no prefix, others may."""
    cdef uint32_t code_point = char_at(&reader.text, start)
    start_reading(reader, start, end, prefixes)
    words.count = 0
    begin_word(reader, words, False)
    words.ends[0] = start
    reader.group = reader.blocks[code_point >> 8].images[code_point & 0xFF].first_group


cdef Py_ssize_t read_words(Reader* reader, Words* words) noexcept nogil:
    """Read the next words. Returns how many; 0 at the end; or NO_MEMORY or INTERRUPTED."""
    cdef Py_ssize_t stop, watched = reader.at
    cdef bint is_stripped
    keep_open_word(reader, words)
    if reader.locates == FIRSTS:
        memset(&words.begins_inside[reader.is_open], 0, (WORD_SLOTS - 1) * sizeof(bint))
    while reader.at < reader.end and words.count < WORDS:
        stop = min(reader.end, reader.at + STRETCH)
        if not reserve(reader, MOST_BRIEF * STRETCH + ROOM):
            return NO_MEMORY
        if reader.text.kind == 1:
            read_brief(reader, words, <const uint8_t*> reader.text.data, stop)
        elif reader.text.kind == 2:
            read_brief(reader, words, <const uint16_t*> reader.text.data, stop)
        else:
            read_brief(reader, words, <const uint32_t*> reader.text.data, stop)
        if reader.at < stop and words.count < WORDS and not read_character(reader, words):
            return NO_MEMORY
        if reader.at - watched >= WATCHED:
            if is_interrupted(reader.watch, reader.at - watched):
                return INTERRUPTED
            watched = reader.at
    if is_interrupted(reader.watch, reader.at - watched):
        return INTERRUPTED
    if not reader.is_open:
        words.starts[words.count] = reader.used
    elif reader.at == reader.end and words.count < WORD_SLOTS - 1 and not reader.goes_on:
        is_stripped = reader.strips_end and reader.is_blank and (
            reader.is_white or reader.strips_end != ONLY_WHITE
        )
        if is_stripped and reader.joins:
            reader.used -= 1
            is_stripped = reader.used == words.starts[words.count]
        if not is_stripped:
            end_word(reader, words)
            words.starts[words.count] = reader.used
        reader.is_open = False
    measure(reader, words)
    return words.count


cdef inline void keep_open_word(Reader* reader, Words* words) noexcept nogil:
    """Begin a batch, with the word that the last one ended in."""
    cdef Py_ssize_t start = words.starts[words.count]
    if not reader.is_open:
        reader.used = words.count = 0
        return
    reader.used -= start
    memmove(reader.buffer, reader.buffer + start, reader.used)
    if reader.traces:
        memmove(reader.origins, reader.origins + start, reader.used * sizeof(Py_ssize_t))
    words.starts[0] = 0
    words.firsts[0] = words.firsts[words.count]
    words.ends[0] = words.ends[words.count]
    words.begins_inside[0] = words.begins_inside[words.count]
    words.begins_blank[0] = words.begins_blank[words.count]
    words.count = 0


cdef inline void measure(const Reader* reader, Words* words) noexcept nogil:
    """Tell the lengths of the words of a batch."""
    cdef Py_ssize_t word, n, most = reader.most_characters
    for word in range(words.count):
        n = words.starts[word + 1] - words.starts[word]
        words.lengths[word] = n
        if 0 < most < n and characters_in(reader.buffer + words.starts[word], n, n) > most:
            words.lengths[word] = TOO_LONG


cdef bint reserve(Reader* reader, Py_ssize_t more) noexcept nogil:
    cdef Py_ssize_t needed = reader.used + more
    if reader.traces and not grow(
        <void**> &reader.origins, &reader.origin_slots, needed, sizeof(Py_ssize_t)
    ):
        return False
    return grow(<void**> &reader.buffer, &reader.slots, needed, 1)


cdef inline void end_word(Reader* reader, Words* words) noexcept nogil:
    words.count += 1
    reader.is_open = False
    reader.group = 0


cdef inline void begin_word(Reader* reader, Words* words, bint inside) noexcept nogil:
    reader.is_open = True
    reader.is_blank = False
    words.starts[words.count] = reader.used
    words.firsts[words.count] = reader.at
    words.begins_inside[words.count] = inside
    words.begins_blank[words.count] = False


cdef inline void put_byte(Reader* reader, uint8_t byte) noexcept nogil:
    reader.buffer[reader.used] = byte
    if reader.traces:
        reader.origins[reader.used] = reader.at
    reader.used += 1


cdef inline void read_brief(
    Reader* reader, Words* words, const Unit* text, Py_ssize_t stop
) noexcept nogil:
    """Read characters with brief images, up to another one.

    There is room for MOST_BRIEF bytes for each of them. Where others are near, as the marks of
    Hindi, many would be read in vain to find them.
    """
    cdef Py_ssize_t near = min(stop, reader.at + AT_ONCE)
    if reader.locates == PLACES or reader.traces:
        read_brief_images(reader, words, text, stop, PLACES)
    elif reader.prefixes or reader.collapses:
        read_brief_images(reader, words, text, stop, reader.locates)
    else:
        if reader.is_rough:
            read_brief_images(reader, words, text, near, reader.locates)
            if reader.at < near:
                return
        if reader.locates == FIRSTS:
            read_many_images(reader, words, text, stop, FIRSTS)
        else:
            read_many_images(reader, words, text, stop, 0)


cdef inline void read_many_images(
    Reader* reader, Words* words, const Unit* text, Py_ssize_t stop, int locates
) noexcept nogil:
    """What read_brief does where words are nothing but their images: many characters at a time.

    Which of them begin words is then told by their edges alone.
    """
    cdef uint8_t* buffer = reader.buffer
    cdef CharBlock** blocks = reader.blocks
    cdef const CharBlock* block = blocks[0]
    cdef const Brief* brief
    cdef uint8_t edges[2 * AT_ONCE + 16]    # the last one of the character before, then two of each
    cdef Py_ssize_t places[AT_ONCE + 1]     # of each in the buffer
    cdef Py_ssize_t at = reader.at, used = reader.used, n, place
    cdef Py_ssize_t begun = words.count + reader.is_open
    cdef uint64_t begins, refused = 0
    memset(edges, 0, sizeof(edges))
    edges[0] = reader.group + 1 if reader.is_open else 0
    while at < stop and begun <= WORDS and not refused:
        n = min(stop - at, <Py_ssize_t> AT_ONCE)
        for place in range(n):
            if Unit is not uint8_t:
                block = blocks[text[at + place] >> 8]
            brief = &block.briefs[text[at + place] & 0xFF]
            memcpy(buffer + used, brief.written, BRIEF_BYTES)
            memcpy(&edges[2 * place + 1], &brief.first, 2)      # and the last one
            places[place] = used
            used += brief.n
        begins = words_begun(edges, NOT_BRIEF, &refused)
        if unlikely(n < AT_ONCE):
            begins &= (<uint64_t> 1 << n) - 1
            refused &= (<uint64_t> 1 << n) - 1
        if unlikely(refused):
            n = low_bit(refused)
            used = places[n]
            begins &= (<uint64_t> 1 << n) - 1
        while begins:
            place = low_bit(begins)
            words.starts[begun] = places[place]
            if locates:
                words.firsts[begun] = at + place
            begun += 1
            begins &= begins - 1
        edges[0] = edges[2 * n]
        at += n
    reader.at = at
    reader.used = used
    reader.is_open = edges[0] != 0
    reader.group = edges[0] - 1 if reader.is_open else 0
    reader.is_blank = False
    reader.is_rough = refused != 0
    words.count = begun - reader.is_open


cdef inline void read_brief_images(
    Reader* reader, Words* words, const Unit* text, Py_ssize_t stop, int locates
) noexcept nogil:
    """What read_brief does. No branch depends on where words end, for none would be foreseen."""
    cdef uint8_t* buffer = reader.buffer
    cdef CharBlock** blocks = reader.blocks
    cdef const CharBlock* block = blocks[0]
    cdef const Brief* brief
    cdef Py_ssize_t at = reader.at, used = reader.used, place
    # Words that were begun. The one that is open is the last of them.
    cdef Py_ssize_t begun = words.count + reader.is_open, before = begun, begins, n
    cdef uint8_t last = reader.group + 1 if reader.is_open else 0, kinds, next_last
    cdef uint8_t after_blank = IS_BLANK if reader.is_open and reader.is_blank else 0
    cdef uint8_t prefixes = reader.prefixes
    cdef uint32_t written
    cdef bint traces = reader.traces
    cdef Py_ssize_t* origins = reader.origins
    while at < stop and begun <= WORDS:
        if Unit is not uint8_t:
            block = blocks[text[at] >> 8]
        brief = &block.briefs[text[at] & 0xFF]
        # All is loaded before anything is stored: it would have to be loaded again.
        kinds = brief.kinds
        begins = (brief.first != last) & kinds
        n = brief.n
        next_last = brief.last
        memcpy(&written, brief.written, BRIEF_BYTES)
        if unlikely(kinds == 0):
            break
        if unlikely(kinds & after_blank):
            # Of a run of blanks, the first is there already.
            if locates == PLACES:
                words.ends[begun - 1] = at + 1
            at += 1
            continue
        words.starts[begun] = used
        if locates:
            words.firsts[begun] = at
        if locates == PLACES:
            words.begins_inside[begun] = False
            words.begins_blank[begun] = kinds & IS_BLANK != 0
            words.ends[begun + begins - 1 if kinds & HAS_BYTES else NO_WORD] = at + 1
        begun += begins
        buffer[used] = META
        if locates == PLACES and traces:
            origins[used] = at
        used += begins & kinds >> PREFIXED & prefixes
        memcpy(buffer + used, &written, BRIEF_BYTES)
        if locates == PLACES and traces:
            for place in range(used, used + BRIEF_BYTES):
                origins[place] = at
        used += n
        last = next_last
        after_blank = kinds & IS_BLANK
        at += 1
    reader.at = at
    reader.used = used
    reader.is_open = last != 0
    reader.group = last - 1 if last else 0
    reader.is_blank = after_blank != 0
    if begun > before:
        reader.is_white = True
    words.count = begun - reader.is_open


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
        go_on(reader, words, image, written)
        return True
    while at < image.n:
        byte = written[at]
        at += 1
        if byte == BLANK and reader.collapses and reader.is_open and reader.is_blank:
            # Of a run of blanks, the first is there already: a blank is its marker and its byte.
            reader.is_white = reader.is_white and image.flags & WHITE
            words.ends[words.count] = reader.at + 1
            at += 1
            continue
        if byte >= BLANK and image.flags & MARKED:
            if reader.is_open and not reader.joins:
                end_word(reader, words)
            continue
        if not reader.is_open:
            begin_word(reader, words, has_bytes)
            if reader.prefixes and (byte != META or (
                reader.leads_all and not (at > 1 and written[at - 2] == BLANK)
            )):
                put_byte(reader, META)
        reader.is_blank = at > 1 and written[at - 2] == BLANK and image.flags & MARKED
        if reader.is_blank:
            if reader.used == words.starts[words.count]:
                words.begins_blank[words.count] = True
            reader.is_white = image.flags & WHITE
        put_byte(reader, byte)
        has_bytes = True
        words.ends[words.count] = reader.at + 1
    if image.n > 0:
        reader.group = image.last_group if reader.is_open else 0
    else:
        reader.is_white = reader.is_white and image.flags & WHITE
    reader.at += 1
    return True


cdef inline void go_on(
    Reader* reader, Words* words, const Image* image, const uint8_t* written
) noexcept nogil:
    """Add an image without markers to the open word."""
    cdef Py_ssize_t at
    memcpy(reader.buffer + reader.used, written, image.n)
    if reader.traces:
        for at in range(image.n):
            reader.origins[reader.used + at] = reader.at
    reader.used += image.n
    reader.is_blank = False
    words.ends[words.count] = reader.at + 1
    reader.group = image.last_group
    reader.at += 1


cdef bint ends_removed(const Reader* reader, Py_ssize_t at) noexcept nogil:
    """Whether the blank before a byte in the buffer is removed where a text ends there."""
    cdef uint32_t code_point = char_at(&reader.text, reader.origins[at - 1])
    cdef const CharBlock* block = reader.blocks[code_point >> 8]
    cdef const Image* image = &block.images[code_point & 0xFF]
    return image.n > 1 and block.images_bytes[image.offset + image.n - 2] == BLANK


cdef void free_reader(Reader* reader) noexcept nogil:
    free(reader.buffer)
    free(reader.origins)
