"""Write runs by the images of their characters, where a normalizer changes these.

What lies between two blanks is normalized like a text, unless its characters change one another:
then a function in Python does it. Source: docs/tokenizers.md, "Counts by runs".

Guarded by tests/pipeline/test_run_images.py.
"""

from itertools import pairwise

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.ref cimport Py_DECREF
from cython cimport auto_pickle

from libc.stdlib cimport free

from cutline.kernels.base.alignment cimport Alignment
from cutline.kernels.base.characters cimport Characters, Unit, char_at, characters_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, UNKNOWN, char_bytes, characters_in, decode_char, grow, int64_t, memcpy,
    uint16_t,
)
from cutline.kernels.encode.run_counts cimport ENTANGLED, put_prefix
from cutline.kernels.encode.runs cimport NO_PREFIX
from cutline.kernels.words.char_map cimport (
    APART, BRIEF_BYTES, IS_BLANK, JOINS, LEFT, MARKED, OPENS, PAIR, RIGHT, Brief, Image, meets,
)
from cutline.kernels.words.images cimport BLANK, BREAK, META

cdef extern from "Python.h":
    PyObject* PyUnicode_FromKindAndData(int kind, const void* buffer, Py_ssize_t n)
    PyObject* PyObject_CallFunctionObjArgs(PyObject* function, ...)
    str PyUnicode_DecodeUTF8(const char* text, Py_ssize_t n, const char* errors)
    PyObject* Py_True
    PyObject* Py_False

cdef enum:
    ROOM = 512                  # bytes of any image, and what is copied beyond
    FUSED_BYTES = 3             # of a stand-in that is fused
    VANISHED = 2                # between what is merged: it does so only together with that
    FLAGS = LEFT | RIGHT | PAIR | OPENS | JOINS


@auto_pickle(False)
cdef class ImageRules(RunRules):
    """What makes the counts of runs add up where a normalizer changes characters; trusted.

    Args:
        char_map: the images of characters as they are encoded: blanks are replacements.
        closes: a bit for each code point of changed text that no piece has with a blank after it.
        fused: a stand-in of which several in a row become one; empty: none do.
        blank: what may mean the same as a blank in a text, besides a line feed.
        prefix: what is put before a text, as for `RunRules`.
        strips_end: a blank at the end of a text is cut off.
        normalize: makes bytes of a part of a text; it is told whether that ends the text. Its
            `trace_parts` makes bytes of parts of a text, and tells what their characters come from.
        stays_solid: a part that ends in a character that closes a run does so, however it begins.

    Attributes:
        are_known: blanks are such that runs lie between them.
    """

    def __cinit__(
        self, kept, after_lines, after_stops, stops, stand_ins, blank, prefix, CharMap char_map not None,
        const uint8_t[::1] closes not None, str fused not None, bint strips_end, normalize,
        bint stays_solid,
    ):
        cdef bytes stand_in = fused.encode()
        self.char_map = char_map
        self.held_closes = closes
        self.normalize = normalize
        self.images.blocks = char_map.blocks
        self.images.closes = &closes[0]
        self.images.strips_end = strips_end
        self.images.normalize = <PyObject*> normalize
        if fused:
            if len(stand_in) != FUSED_BYTES:
                raise ValueError(f"{fused!r} has {len(stand_in)} bytes")
            self.images.fused = stand_in[0] | stand_in[1] << 8 | stand_in[2] << 16
        self.spelling.images = &self.images
        self.spelling.stays_solid = stays_solid
        self.spelling.write = write_images
        self.spelling.write_entangled = write_entangled
        self.spelling.may_end = may_end
        self.prepare(" \n" + blank)
        self.are_known = is_blank(&self.images, c" ")
        self.separators.other = c" "
        if is_like_blank(&self.images, ord(blank)):
            self.separators.other = ord(blank)
        if is_like_blank(&self.images, c"\n"):
            self.separators.other = c"\n"

    cdef int prepare(self, str text) except -1:
        return self.char_map.prepare_all(text)

    cdef str write_text(self, str text, Alignment alignment):
        """See `RunRules`. Parts whose characters change one another are made in Python."""
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t n = 0, place = 0, written = 0, slots = 0, start, stop
        cdef uint8_t* out = NULL
        cdef bint is_entangled
        cdef bytes made
        starts, kinds = self.char_map.entangled_parts(text)
        parts = [*pairwise([*starts, characters.n])]
        entangled = [part for part, kind in zip(parts, kinds) if kind]
        traced = [] if alignment is None else self.normalize.trace_parts(text, entangled)
        try:
            for (start, stop), is_entangled in zip(parts, kinds):
                if is_entangled:
                    if alignment is None:
                        made = self.normalize(text[start:stop], stop == characters.n)
                    else:
                        made, rows = traced[written]
                        add_rows(alignment, rows, start, stop, &place)
                    written += 1
                    n = append(made, &out, &slots, n)
                elif alignment is None:
                    with nogil:
                        n = added_to(n, write_images(
                            &self.images, &characters, start, stop, stop == characters.n, &out,
                            &slots, n,
                        ))
                else:
                    with nogil:
                        n = write_aligned(
                            &self.images, &characters, start, stop, &out, &slots, n, &place,
                            alignment,
                        )
                if n == NO_MEMORY:
                    raise MemoryError(f"no memory for what becomes of {characters.n} characters")
                if n < 0:
                    return None
            if n > 0 and self.separators.prefix != NO_PREFIX:
                stop = put_prefix(self.separators.prefix, &out, &slots, 0, n)
                if stop == NO_MEMORY or (
                    alignment is not None and stop > n and not alignment.lead()
                ):
                    raise MemoryError(f"no memory for what becomes of {characters.n} characters")
                n = stop
            return PyUnicode_DecodeUTF8(<const char*> out, n, NULL)
        finally:
            free(out)

    def is_entangled(self, str text not None):
        """Whether characters of a text change one another."""
        return self.char_map.is_entangled(text)


cdef bint is_blank(const Images* images, uint32_t code_point) noexcept:
    """Whether a character becomes a blank, whatever is around it."""
    cdef const CharBlock* block = images.blocks[code_point >> 8]
    cdef const Brief* one = &block.briefs[code_point & 0xFF]
    return (
        one.n == 1 and one.written[0] == META and one.first == APART
        and not block.images[code_point & 0xFF].flags & FLAGS
    )


cdef bint is_like_blank(const Images* images, uint32_t code_point) noexcept:
    """Whether a character becomes what a blank becomes: one of a run, too."""
    cdef const Brief* one = &images.blocks[code_point >> 8].briefs[code_point & 0xFF]
    return is_blank(images, code_point) and one.kinds == images.blocks[0].briefs[c" "].kinds


cdef bint may_end(const void* images, uint32_t code_point, bint begins) noexcept nogil:
    """Whether a run may end in a character, if that changes with none before it; `begins`: whether
    it does not become a blank, or nothing, at its start.
    """
    cdef const Images* all = <const Images*> images
    cdef const Image* image = &all.blocks[code_point >> 8].images[code_point & 0xFF]
    cdef const uint8_t* written = all.blocks[code_point >> 8].images_bytes + image.offset
    cdef Py_ssize_t n = image.n, at = 0
    if image.flags & RIGHT:
        return False
    if begins:
        while at < n and image.flags & MARKED and written[at] >= BLANK:
            at += 1
        return at < n and written[at] != META
    while n > 0 and image.flags & MARKED and written[n - 1] >= BLANK:
        n -= 1
    if n == 0:
        return False
    if written[n - 1] == META:
        return all.closes[c" " >> 3] >> (c" " & 7) & 1
    return closes_text(all, written, n)


cdef inline bint closes_text(const Images* images, const uint8_t* text, Py_ssize_t n) noexcept nogil:
    """Whether no piece has the last character of some UTF-8 and a blank after it."""
    cdef Py_ssize_t at = n - 1
    cdef uint32_t code_point
    while at > 0 and text[at] & 0xC0 == 0x80:
        at -= 1
    code_point = decode_char(text + at, n - at)
    return images.closes[code_point >> 3] >> (code_point & 7) & 1


cdef Py_ssize_t write_images(
    const void* images, const Characters* text, Py_ssize_t start, Py_ssize_t end, bint at_end,
    uint8_t** out, Py_ssize_t* slots, Py_ssize_t used
) noexcept nogil:
    """Write what becomes of text[start:end], `at_end`: of a text's end.

    Returns its bytes; ENTANGLED, UNKNOWN (there are surrogates) or NO_MEMORY.
    """
    if text.kind == 1:
        return write_units(
            <const Images*> images, <const uint8_t*> text.data, start, end, at_end, out, slots, used
        )
    if text.kind == 2:
        return write_units(
            <const Images*> images, <const uint16_t*> text.data, start, end, at_end, out, slots,
            used,
        )
    return write_units(
        <const Images*> images, <const uint32_t*> text.data, start, end, at_end, out, slots, used
    )


cdef inline Py_ssize_t write_units(
    const Images* images, const Unit* text, Py_ssize_t start, Py_ssize_t end, bint at_end,
    uint8_t** out, Py_ssize_t* slots, Py_ssize_t used
) noexcept nogil:
    cdef const CharBlock* block = images.blocks[0]
    cdef Py_ssize_t begun = used, at, room = 0
    cdef uint8_t flags, before = 0, after_blank = 0
    cdef bint merged
    cdef uint8_t* to = NULL
    for at in range(start, end):
        if used + ROOM > room:
            if not grow(<void**> out, slots, used + ROOM + BRIEF_BYTES * (end - at), 1):
                return NO_MEMORY
            room = slots[0]
            to = out[0]
        if Unit is not uint8_t:
            block = images.blocks[text[at] >> 8]
            if text[at] >> 11 == 0xD800 >> 11:
                return UNKNOWN
        flags = block.images[text[at] & 0xFF].flags
        if flags & (LEFT | RIGHT | PAIR | JOINS) and (flags & RIGHT or meets(before, flags)):
            return ENTANGLED
        before = flags
        used = write_one(
            images, block, text[at] & 0xFF, to, begun, used, &after_blank, &merged
        )
    if at_end and images.strips_end and after_blank:
        used -= 1
    return used - begun


cdef inline Py_ssize_t write_one(
    const Images* images, const CharBlock* block, Py_ssize_t place, uint8_t* to, Py_ssize_t begun,
    Py_ssize_t used,
    uint8_t* after_blank,   # in and out: whether a blank of a run that counts as one was last
    bint* merged            # out: whether what is written begins with what is there already
) noexcept nogil:
    """Write an image. Returns where it ends; there is room."""
    cdef const Brief* brief = &block.briefs[place]
    merged[0] = False
    if brief.n == 0:
        return write_whole(images, block, place, to, begun, used, after_blank, merged)
    if brief.kinds & after_blank[0]:
        merged[0] = True
        return used
    after_blank[0] = brief.kinds & IS_BLANK
    memcpy(to + used, brief.written, BRIEF_BYTES)
    used += brief.n
    if brief.written[0] == META:
        to[used - brief.n] = c" "
    elif images.fused and brief.n >= FUSED_BYTES and is_fused(images, brief.written) and (
        used - brief.n - begun >= FUSED_BYTES
        and is_fused(images, to + used - brief.n - FUSED_BYTES)
    ):
        # One stand-in is for both; a brief image has at most one byte more.
        merged[0] = True
        used -= FUSED_BYTES
        if brief.n > FUSED_BYTES:
            to[used - 1] = brief.written[FUSED_BYTES]
    return used


cdef inline bint is_fused(const Images* images, const uint8_t* text) noexcept nogil:
    """Whether some bytes are the stand-in that is fused."""
    return (text[0] | <uint32_t> text[1] << 8 | <uint32_t> text[2] << 16) == images.fused


cdef Py_ssize_t write_whole(
    const Images* images, const CharBlock* block, Py_ssize_t place, uint8_t* out, Py_ssize_t begun,
    Py_ssize_t used, uint8_t* after_blank, bint* merged
) noexcept nogil:
    """Write an image that is not brief, or empty; see write_one."""
    cdef const Image* image = &block.images[place]
    cdef const uint8_t* written = block.images_bytes + image.offset
    cdef Py_ssize_t at = 0, n = image.n, start = used
    cdef bint collapses = False
    if (
        images.fused and n >= FUSED_BYTES and used - begun >= FUSED_BYTES
        and is_fused(images, written) and is_fused(images, out + used - FUSED_BYTES)
    ):
        at = FUSED_BYTES
        merged[0] = True
    while at < n:
        if written[at] == BREAK and image.flags & MARKED:
            at += 1
            continue
        if written[at] == BLANK and image.flags & MARKED:
            collapses = True
            at += 1
            continue
        if collapses and after_blank[0]:
            merged[0] = merged[0] or used == start
            at += 1
            collapses = False
            continue
        after_blank[0] = IS_BLANK if collapses else 0
        collapses = False
        out[used] = c" " if written[at] == META else written[at]
        used += 1
        at += 1
    return used


cdef inline Py_ssize_t added_to(Py_ssize_t n, Py_ssize_t more) noexcept nogil:
    """Bytes and more bytes, or a status."""
    return more if more < 0 else n + more


cdef Py_ssize_t append(
    bytes made, uint8_t** out, Py_ssize_t* slots, Py_ssize_t used
) noexcept:
    """Write bytes after others. Returns how many there are, or NO_MEMORY."""
    cdef Py_ssize_t n = PyBytes_GET_SIZE(made)
    if not grow(<void**> out, slots, used + n + 1, 1):
        return NO_MEMORY
    memcpy(out[0] + used, PyBytes_AS_STRING(made), n)
    return used + n


cdef int add_rows(
    Alignment alignment, const int64_t[:, ::1] rows, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t* place       # in and out: how many characters are written
) except -1:
    """Add the spans of the characters that a part of a text becomes, which ends at `end`."""
    cdef Py_ssize_t row
    cdef bint is_done = True
    for row in range(rows.shape[0]):
        is_done = is_done and alignment.add(
            place[0], place[0] + 1, start + rows[row, 0], start + rows[row, 1]
        )
        place[0] += 1
    if not is_done or not alignment.add(place[0], place[0], end, end):
        raise MemoryError("no memory for what characters come from")
    return 0


cdef Py_ssize_t write_aligned(
    const Images* images, const Characters* text, Py_ssize_t start, Py_ssize_t end,
    uint8_t** out, Py_ssize_t* slots, Py_ssize_t used,
    Py_ssize_t* place,          # in and out: how many characters are written
    Alignment alignment
) noexcept nogil:
    """What write_images does after `used` bytes, where no characters change one another.

    Returns the bytes there are then; UNKNOWN or NO_MEMORY.
    """
    cdef Py_ssize_t at, begun = used, ended, n, written = place[0]
    cdef uint8_t after_blank = 0
    cdef uint32_t code_point
    cdef bint merged
    for at in range(start, end):
        if used + ROOM > slots[0] and not grow(
            <void**> out, slots, used + ROOM + BRIEF_BYTES * (end - at), 1
        ):
            return NO_MEMORY
        code_point = char_at(text, at)
        if code_point >> 11 == 0xD800 >> 11:
            return UNKNOWN
        ended = used
        used = write_one(
            images, images.blocks[code_point >> 8], code_point & 0xFF, out[0], begun, used,
            &after_blank, &merged,
        )
        if not merged and used > ended and used - ended == char_bytes(out[0][ended]):
            written += 1        # nearly all of them
            continue
        n = characters_in(out[0] + ended, used - ended, used - ended) if used > ended else 0
        if merged and not alignment.merge(written - 1, at + 1):
            return NO_MEMORY
        if (n > 0 or not merged) and not alignment.add(written, written + n, at, at + 1):
            return NO_MEMORY
        written += n
    if end == text.n and images.strips_end and after_blank:
        used -= 1
        written -= 1
    place[0] = written
    return used


@auto_pickle(False)
cdef class ImagePlaces(SpelledPlaces):
    """Where what each character of a text becomes is in the changed text.

    A character may become nothing, or the same as the one before together with it: a blank of a
    run, or one of several that are no tokens. A slice that starts with it has all of that.
    """

    def __dealloc__(self):
        free(self.merged)

    cdef bint add(self, Py_ssize_t at, Py_ssize_t beyond, uint8_t merged) noexcept nogil:
        """Add a character that does not become one of its own; first what is before it, and last
        the text's end. False: no memory.
        """
        if not (
            grow(<void**> &self.others, &self.slots, self.count + 1, sizeof(int64_t))
            and grow(<void**> &self.beyond, &self.more_slots, self.count + 2, sizeof(int64_t))
            and grow(<void**> &self.merged, &self.merged_slots, self.count + 1, 1)
        ):
            return False
        self.others[self.count] = at
        self.merged[self.count] = merged
        self.count += 1
        self.beyond[self.count] = beyond
        return True

    cdef Py_ssize_t to_start(self, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t number = self.others_before(at)
        cdef bint merged = (
            number < self.count and self.others[number] == at and self.merged[number] != 0
        )
        return at + self.beyond[number] - merged

    cdef Py_ssize_t to_end(self, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t place = self.to_spelling(at)
        if self.strips and place > 0 and char_at(&self.changed, place - 1) == c" ":
            return place - 1
        return place

    cdef bint becomes_nothing(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t number = self.others_before(start)
        while number < self.count and self.others[number] < end:
            if self.others[number] != start or self.merged[number] != VANISHED:
                return start == end
            number += 1
            start += 1
        return start == end

    cdef Py_ssize_t to_text(self, Py_ssize_t place) noexcept nogil:
        # A blank after it would be cut off.
        if self.strips and place < self.changed.n and char_at(&self.changed, place) == c" ":
            place += 1
        return SpelledPlaces.to_text(self, place)

    @property
    def nbytes(self):
        """The memory it uses in bytes."""
        return 17 * (self.count + 1)


def change_text(ImageRules rules not None, str text not None):
    """Write what becomes of a text, of which no characters change one another.

    Returns:
        The changed text, and where what becomes of each character is; None: it has surrogates, or
        some characters do.
    """
    cdef ImagePlaces places = ImagePlaces(text)
    cdef Characters characters = characters_of(text)
    cdef uint8_t* out = NULL
    cdef Py_ssize_t n
    rules.prepare(text)
    try:
        with nogil:
            n = change(&rules.images, &characters, places, &out)
        if n == NO_MEMORY:
            raise MemoryError(f"no memory for what becomes of {characters.n} characters")
        if n < 0:
            return None
        places.held = PyUnicode_DecodeUTF8(<const char*> out, n, NULL)
    finally:
        free(out)
    places.changed = characters_of(places.held)
    places.strips = rules.images.strips_end
    return places.held, places


cdef Py_ssize_t change(
    const Images* images, const Characters* text, ImagePlaces places, uint8_t** out
) noexcept nogil:
    """Write a text and tell places. Returns its bytes, or a status; see write_images."""
    cdef Py_ssize_t at, used = 0, slots = 0, ended, beyond = 0, n, pending = 0, more
    cdef uint8_t flags, before = 0, after_blank = 0
    cdef uint32_t code_point
    cdef const CharBlock* block
    cdef bint merged
    if not grow(<void**> &places.beyond, &places.more_slots, 1, sizeof(int64_t)):
        return NO_MEMORY
    places.beyond[0] = 0
    for at in range(text.n):
        if used + ROOM > slots and not grow(
            <void**> out, &slots, used + ROOM + BRIEF_BYTES * (text.n - at), 1
        ):
            return NO_MEMORY
        code_point = char_at(text, at)
        if code_point >> 11 == 0xD800 >> 11:
            return UNKNOWN
        block = images.blocks[code_point >> 8]
        flags = block.images[code_point & 0xFF].flags
        if flags & (LEFT | RIGHT | PAIR | JOINS) and (flags & RIGHT or meets(before, flags)):
            return ENTANGLED
        before = flags
        ended = used
        used = write_one(
            images, block, code_point & 0xFF, out[0], 0, used, &after_blank, &merged
        )
        n = characters_in(out[0] + ended, used - ended, used - ended) if used > ended + 1 else (
            used - ended
        )
        if merged:
            # So does a slice that begins with what vanishes between the two, if it goes on.
            for more in range(places.count - pending, places.count):
                places.merged[more] = VANISHED
        if n != 1 or merged:
            beyond += n - 1
            if not places.add(at, beyond, merged):
                return NO_MEMORY
        pending = pending + 1 if n == 0 and not merged else 0
    return used


cdef Py_ssize_t write_entangled(
    const void* images, const Characters* text, Py_ssize_t start, Py_ssize_t end, bint at_end,
    uint8_t** out, Py_ssize_t* slots, Py_ssize_t used,
    bint* is_closed             # out: whether a run may end in what was written
) noexcept nogil:
    """What write_images does, where characters change one another. Or INTERRUPTED, with the
    exception that was raised.
    """
    cdef const Images* all = <const Images*> images
    cdef Py_ssize_t n = 0
    cdef PyObject* part
    cdef PyObject* made
    with gil:
        part = PyUnicode_FromKindAndData(
            text.kind, <const uint8_t*> text.data + start * text.kind, end - start
        )
        if part == NULL:
            return INTERRUPTED
        made = PyObject_CallFunctionObjArgs(
            all.normalize, part, Py_True if at_end else Py_False, <void*> NULL
        )
        Py_DECREF(<object> part)
        if made == NULL:
            return INTERRUPTED
        n = PyBytes_GET_SIZE(<object> made)
        if grow(<void**> out, slots, used + n + 1, 1):
            memcpy(out[0] + used, PyBytes_AS_STRING(<object> made), n)
        else:
            used = NO_MEMORY
        Py_DECREF(<object> made)
    if used < 0:
        return NO_MEMORY
    is_closed[0] = n > 0 and closes_text(all, out[0] + used, n)
    return n
