"""The images of texts: what splitting makes of normalized characters. Source: docs/words.md.

Guarded by tests/words/test_char_rules.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython cimport auto_pickle
from libc.stdlib cimport free, malloc

from cutline.kernels.base.characters cimport char_at, characters_of, write_utf8

cdef enum:
    NO_REPLACEMENT = 0x110000   # no code point


@auto_pickle(False)
cdef class ImageMaker:
    """Writes the images of texts.

    Args:
        classes: of each code point: the classes it is in, as bits.
        ways: of each set of classes: whether a word ends before its characters, and after them,
            their group, and whether they are removed.
        replacement: what Metaspace puts in place of a blank; empty: there is no Metaspace.
        splits: words end before replacements.
        collapses: a run of blanks counts as one.
        leads_all: Metaspace leads a text that begins with its replacement, too.

    Attributes:
        joins: ... and no word ends before it, so that BLANK marks where it is only.
    """

    def __cinit__(
        self, bytes classes not None, ways not None, str replacement not None, bint splits,
        bint collapses, bint leads_all=False,
    ):
        cdef Py_ssize_t at
        if len(classes) != 0x110000:
            raise ValueError("each code point has a byte of classes")
        self.held = classes
        self.classes = <const uint8_t*> PyBytes_AS_STRING(classes)
        self.replacement = ord(replacement) if replacement else NO_REPLACEMENT
        self.splits = splits
        self.collapses = collapses
        self.joins = collapses and not splits
        self.leads_all = leads_all
        for at in range(len(ways)):
            ends_before, ends_after, group, is_removed = ways[at]
            self.ways[at] = Way(ends_before, ends_after, group, is_removed)

    def image_of(self, str text not None):
        """The image of normalized text, with META for each replacement, and its two groups."""
        cdef Characters characters = characters_of(text)
        cdef Edges edges
        cdef Py_ssize_t n
        cdef uint8_t* out = <uint8_t*> malloc(most_bytes(characters.n) + 1)
        if out == NULL:
            raise MemoryError(f"no memory for the image of {characters.n} characters")
        n = self.write(&characters, out, &edges)
        try:
            return PyBytes_FromStringAndSize(<char*> out, n), edges.first_group, edges.last_group
        finally:
            free(out)

    cdef Py_ssize_t write(self, const Characters* text, uint8_t* out, Edges* edges) noexcept nogil:
        """Write the image of normalized text, for which there is room. Returns its bytes."""
        cdef Py_ssize_t at, n = 0
        cdef uint32_t code_point
        cdef const Way* way
        cdef uint8_t marker, opening
        cdef bint is_replaced
        edges.first_group = edges.last_group = 0
        for at in range(text.n):
            code_point = char_at(text, at)
            way = &self.ways[self.classes[code_point]]
            is_replaced = self.replacement != NO_REPLACEMENT and (
                code_point == c" " or code_point == self.replacement
            )
            marker = BREAK if way.ends_before or way.is_removed else 0
            if is_replaced and not way.is_removed:
                if self.collapses and code_point == c" ":
                    marker = BLANK
                elif self.splits:
                    marker = BREAK
            opening = 0 if marker else way.group
            if at == 0:
                edges.first_group = opening
            elif edges.last_group and opening and edges.last_group != opening:
                out[n] = BREAK
                n += 1
            if marker:
                out[n] = marker
                n += 1
            edges.last_group = 0
            if way.is_removed:
                continue
            if is_replaced:
                out[n] = META
                n += 1
            else:
                n += write_utf8(code_point, out + n)
            if way.ends_after:
                out[n] = BREAK
                n += 1
            else:
                edges.last_group = way.group
        return n
