"""The blocks of an HTML page, from its tags.

tree-sitter's grammar for HTML needs quadratic time on elements without end tags, which are legal and
common, so that pages with many have to be refused; this needs linear time on all pages, and gives
code points. What is found are Python objects, so it needs the GIL; it lets other threads have it
now and then.
Source: https://html.spec.whatwg.org/multipage/parsing.html

Guarded by tests/chunking/test_html_structure.py.
"""

cimport cython

from html import unescape

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport Py_UNICODE_ISSPACE

from cutline.kernels.base.characters cimport Characters, char_at, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, uint8_t
from cutline.kernels.base.signals cimport give_way
from cutline.kernels.breaks.html_tags cimport Tag, end_of_raw, next_tag

cdef enum:
    TAGS_AT_ONCE = 1024         # between looks for signals, and for other threads

# Bits of what an element is.
cdef enum:
    CONTAINER = 1               # holds other blocks
    ITEM = 2                    # of a list, or a row or cell
    ROW_GROUP = 4
    IN_TABLE = 8
    LIST_ITEM = 16
    TRANSPARENT = 32
    MARKUP = 64                 # the browser shows none of its text
    INLINE_MARKUP = 128
    UP_TO_END = 256             # without blocks inside, up to the first end tag
    PICTURE = 512               # content that is no text
    CELL = 1024
    RAW = MARKUP | UP_TO_END


@cython.internal
cdef class Name:
    """A name of elements that matter."""

    cdef str name
    cdef int number             # among all names
    cdef int bits
    cdef int level              # 1 to 6, of a heading; else 0
    cdef str region             # its kind, of a container
    cdef tuple ended            # the items that one of this name ends, before it


cdef dict NAMES = {}            # by their UTF-8


cdef Name add_name(str name, int bits):
    cdef Name made = NAMES.get(name.encode())
    if made is None:
        made = Name.__new__(Name)
        made.name = name
        made.number = len(NAMES)
        made.ended = ()
        NAMES[name.encode()] = made
    made.bits |= bits
    return made


cdef int add_names() except -1:
    cdef Name one
    for name, bits in (
        ("li dd dt", ITEM | LIST_ITEM), ("tr", ITEM | IN_TABLE), ("td th", ITEM | IN_TABLE | CELL),
        ("caption tbody tfoot thead", ITEM | IN_TABLE | ROW_GROUP), ("table", IN_TABLE),
        (
            "address article aside body center details dialog div fieldset figcaption figure footer "
            "form head header hgroup html main nav search section summary", TRANSPARENT,
        ),
        ("math svg", MARKUP | INLINE_MARKUP), ("script style", MARKUP | UP_TO_END),
        ("template", MARKUP), ("iframe noembed noframes textarea title xmp", UP_TO_END),
        ("audio canvas embed hr img input object video", PICTURE), ("br p", 0),
    ):
        for part in name.split():
            add_name(part, bits)
    for region, names in (
        ("list", "dir dl menu ol ul"), ("quote", "blockquote"), ("code", "listing pre"),
        ("table", "table"),
    ):
        for part in names.split():
            one = add_name(part, CONTAINER)
            one.region = region
    for level in range(1, 7):
        one = add_name(f"h{level}", 0)
        one.level = level
    for names, ended in (
        ("li", "li"), ("dd dt", "dd dt"), ("td th", "td th"), ("tr caption tbody tfoot thead", "tr"),
    ):
        for part in names.split():
            one = NAMES[part.encode()]
            one.ended = tuple([NAMES[other.encode()] for other in ended.split()])
    return 0


add_names()
cdef Name TABLE = NAMES[b"table"], TD = NAMES[b"td"], TH = NAMES[b"th"], P = NAMES[b"p"]
cdef Name BR = NAMES[b"br"], HR = NAMES[b"hr"], THEAD = NAMES[b"thead"], CAPTION = NAMES[b"caption"]


@cython.internal
cdef class Element:
    """An open element."""

    cdef Name name
    cdef Py_ssize_t start       # of its tag, or of the headings right before
    cdef Py_ssize_t tag_start   # of its tag; of a heading at the top, with the tags like `div` before
    cdef Py_ssize_t depth       # the number of containers and items around it
    cdef Py_ssize_t scope       # the place among the open elements of the innermost container or cell
    cdef bint is_block          # it is a unit, if it holds no blocks or may hold some
    cdef bint has_blocks        # blocks in it have ended


# What a link to its own heading is shown as, in pages made of Sphinx, Docusaurus, mdBook and others.
cdef frozenset PERMALINKS = frozenset({"¶", "#", "§", "🔗", "⚓", "\uf0c1", "\u200b"})


cdef list named(list pieces):
    """The texts of a heading without that of a link to itself at the end."""
    cdef Py_ssize_t n = len(pieces)
    while n > 1 and not (<str> pieces[n - 1]).strip():
        n -= 1
    return pieces[:n - 1] if n > 1 and (<str> pieces[n - 1]).strip() in PERMALINKS else pieces


cdef class HtmlBlocks:
    """Finds the blocks of one page.

    Args:
        text: the source.
        tables: takes the tags of tables.
        most_depth: blocks in more containers are ignored; a list and its item are two.

    Attributes:
        cuts: where blocks begin: those at the top, those one container down, those below.
        units: spans to keep whole.
        regions: (start, end, kind).
        headings: groups of headings that follow each other directly: where the cut of each lies,
            1 to 6, and its plain text.
    """

    cdef readonly tuple cuts
    cdef readonly list units, regions, headings
    cdef str text
    cdef Characters characters
    cdef object tables
    cdef Py_ssize_t most_depth
    cdef list open              # elements, the outermost first
    cdef list places            # of the open elements, for each name
    cdef set endless            # names of elements without an end tag from here on
    cdef Py_ssize_t leaf        # place of the open paragraph or heading, or -1
    cdef list title             # the texts of the open heading, or None
    cdef Element transparent    # nothing but its tag was read of this one
    cdef Py_ssize_t lead        # where the tags like `div` begin after which nothing was read, or -1
    # Nothing was read since the tag of a container or item, or since headings...
    cdef bint is_first
    cdef Py_ssize_t headed      # ... at the top, which begin here; or -1

    def __cinit__(self, str text not None, tables not None, Py_ssize_t most_depth):
        self.text = text
        self.characters = characters_of(text)
        self.tables = tables
        self.most_depth = most_depth
        self.cuts = ([], [], [])
        self.units, self.regions, self.headings, self.open = [], [], [], []
        self.places = [[] for _ in NAMES]
        self.endless = set()
        self.leaf = self.lead = self.headed = -1

    def read(self):
        """Find all blocks. Cost: linear in the text."""
        cdef Tag tag
        cdef Py_ssize_t end = 0, n_tags = 0
        cdef Name name
        while next_tag(&self.characters, end, &tag):
            n_tags += 1
            if n_tags % TAGS_AT_ONCE == 0:
                give_way()
            if end < tag.start:
                self.read_text(end, tag.start)
            end = tag.end
            if not tag.n_name:
                continue
            name = NAMES.get(PyBytes_FromStringAndSize(<char*> tag.name, tag.n_name))
            if name is None:
                continue
            if tag.is_end:
                self.end_tag(name, tag.start, end)
            elif name.bits & RAW:
                end = self.raw(name, tag.start, end)
            else:
                self.start_tag(name, tag.start, end)
        self.read_text(end, self.characters.n)
        self.close_from(0, self.characters.n, self.characters.n)

    cdef int read_text(self, Py_ssize_t start, Py_ssize_t end) except -1:
        cdef Py_ssize_t at = start
        if self.title is not None:
            self.title.append(unescape(self.text[start:end]))
        elif self.is_first or self.transparent is not None:
            while at < end and Py_UNICODE_ISSPACE(char_at(&self.characters, at)):
                at += 1
            if at < end:
                self.content(at + 1)
        return 0

    cdef int content(self, Py_ssize_t end) except -1:
        """Take text or a picture, which makes a block of a `div` that begins with it."""
        cdef Element element = self.transparent
        if element is not None:
            element.is_block = True
            element.start = self.begin(element.start, end, element.depth)
            self.transparent = None
        elif self.title is None:
            self.join_headings(end)
        return 0

    cdef Py_ssize_t begin(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth) except -2:
        """Begin a block; `end` is that of its tag. Returns where it or its headings begin."""
        cdef Py_ssize_t headed
        start = self.with_lead(start)
        if not self.is_first and depth <= self.most_depth:
            (<list> self.cuts[min(depth, 2)]).append(start)
        headed = self.headed
        self.join_headings(end)
        return headed if headed >= 0 else start

    cdef Py_ssize_t with_lead(self, Py_ssize_t start) noexcept:
        """Where a block begins, with the tags like `div` right before its own."""
        cdef Py_ssize_t lead = self.lead
        self.lead = -1
        return lead if lead >= 0 else start

    cdef int join_headings(self, Py_ssize_t end) except -1:
        """Never cut right after headings, even where what follows is too large."""
        if self.headed >= 0:
            self.units.append((self.headed, end))
        self.is_first = False
        self.headed = -1
        return 0

    cdef int start_tag(self, Name name, Py_ssize_t start, Py_ssize_t end) except -1:
        cdef Py_ssize_t depth, place
        if name is BR or self.title is not None and name.bits & TRANSPARENT:
            if self.title is not None:
                self.title.append(" ")
            if name is BR:
                return 0
        if name.bits & PICTURE and name is not HR:
            return self.content(end)
        self.end_implied(name, start)
        if name.bits & IN_TABLE:
            self.tables.start_tag(name.name, start)
        self.transparent = None
        depth = self.depth()
        if name.bits & TRANSPARENT:
            self.push(name, start, start, depth, False)
            if self.title is None:
                self.transparent = self.open[len(self.open) - 1]
                self.lead = self.with_lead(start)
        elif name.level:
            self.start_heading(name, start, end, depth)
        elif not name.bits & ROW_GROUP:
            place = self.begin(start, end, depth)
            if name is HR:
                return 0
            self.push(name, place, start, depth, True)
            if name is P:
                self.leaf = len(self.open) - 1
            else:
                self.is_first = True
        return 0

    cdef int start_heading(
        self, Name name, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth
    ) except -1:
        cdef Py_ssize_t place
        if depth:
            place = self.begin(start, end, depth)
        else:
            start = self.with_lead(start)
            place = self.headed if self.headed >= 0 else start
            if place == start:
                self.headings.append([])
        self.push(name, place, start, depth, False)
        self.leaf = len(self.open) - 1
        self.title = []
        return 0

    cdef int end_implied(self, Name name, Py_ssize_t start) except -1:
        """Close the elements that a tag closes."""
        cdef Name other
        cdef Py_ssize_t place
        if self.leaf >= 0 and not (name.bits & TRANSPARENT and self.title is not None):
            self.close_from(self.leaf, start, start)
        for other in name.ended:
            place = self.last_place(other)
            if place != NOT_FOUND and place > self.barrier(name):
                self.close_from(place, start, start)
        return 0

    cdef int end_tag(self, Name name, Py_ssize_t start, Py_ssize_t end) except -1:
        cdef Py_ssize_t place
        if name.level:
            if self.title is not None:
                self.close_from(self.leaf, start, end)
        elif name.bits & ROW_GROUP:
            self.end_implied(name, start)
            # The head of a table and its caption stay with the first row.
            self.is_first = self.is_first or name is CAPTION or name is THEAD
            if name is THEAD:
                self.tables.end_thead()
        else:
            place = self.last_place(name)
            if place != NOT_FOUND and place > self.barrier(name):
                self.close_from(place, start, end)
        return 0

    cdef Py_ssize_t last_place(self, Name name) except -2:
        """The place of the innermost open element of this name, or NOT_FOUND."""
        cdef list places = self.places[name.number]
        return places[len(places) - 1] if places else NOT_FOUND

    cdef Py_ssize_t barrier(self, Name name) except -2:
        """The place of the open element that a tag cannot close anything around."""
        if name.bits & IN_TABLE:
            return -1 if name is TABLE else self.last_place(TABLE)
        if name.bits & LIST_ITEM and self.open:
            return (<Element> self.open[len(self.open) - 1]).scope
        return max(self.last_place(TD), self.last_place(TH))

    cdef Py_ssize_t raw(self, Name name, Py_ssize_t start, Py_ssize_t end) except -1:
        """Take an element without blocks in it. Returns its end."""
        cdef Py_ssize_t found
        if name.bits & UP_TO_END or char_at(&self.characters, end - 2) != c"/":
            found = self.raw_end(name, end)
            if found == NOT_FOUND:
                return end
            end = found
        if name.bits & MARKUP:
            if name.bits & INLINE_MARKUP:
                self.content(end)
            elif self.leaf < 0:
                self.transparent = None
                if not self.is_first:
                    self.begin(start, end, self.depth())
            self.units.append((start, end))
            self.regions.append((start, end, "markup"))
        self.lead = -1
        return end

    cdef Py_ssize_t raw_end(self, Name name, Py_ssize_t at) except -2:
        """The end of an element without blocks; NOT_FOUND if it has none, and it is its tag."""
        cdef bytes utf8
        cdef Py_ssize_t found
        if name in self.endless:
            return NOT_FOUND
        utf8 = name.name.encode()
        found = end_of_raw(&self.characters, at, <const uint8_t*> <char*> utf8, len(utf8))
        if found == NOT_FOUND:
            if name.bits & UP_TO_END:
                return self.characters.n
            self.endless.add(name)
        return found

    cdef Py_ssize_t depth(self) except -1:
        """The number of open containers and items."""
        cdef Element last
        if not self.open:
            return 0
        last = self.open[len(self.open) - 1]
        return last.depth + ((last.name.bits & (CONTAINER | ITEM)) != 0)

    cdef int push(
        self, Name name, Py_ssize_t start, Py_ssize_t tag_start, Py_ssize_t depth, bint is_block
    ) except -1:
        cdef Py_ssize_t place = len(self.open)
        cdef Element made = Element.__new__(Element)
        made.name, made.start, made.tag_start, made.depth = name, start, tag_start, depth
        made.is_block = is_block
        if name.bits & (CONTAINER | CELL):
            made.scope = place
        else:
            made.scope = (<Element> self.open[place - 1]).scope if place else -1
        self.open.append(made)
        (<list> self.places[name.number]).append(place)
        return 0

    cdef int close_from(self, Py_ssize_t place, Py_ssize_t inner_end, Py_ssize_t end) except -1:
        """Close the element at a place, and all that are open in it."""
        cdef Element element
        while len(self.open) > place:
            element = self.open.pop()
            (<list> self.places[element.name.number]).pop()
            if len(self.open) == self.leaf:
                self.leaf = -1
            self.closed(element, end if len(self.open) == place else inner_end)
            if self.open and (element.is_block or element.has_blocks):
                (<Element> self.open[len(self.open) - 1]).has_blocks = True
        return 0

    cdef int closed(self, Element element, Py_ssize_t end) except -1:
        cdef Name name = element.name
        self.transparent = None
        self.lead = -1
        if name.level:
            return self.closed_heading(element)
        if name is TABLE:
            self.tables.end_table(end)
        if name.bits & (CONTAINER | ITEM):
            self.is_first = False
            self.headed = -1
        if element.depth > self.most_depth or not element.is_block:
            return 0
        if not (name.bits & TRANSPARENT and element.has_blocks):
            self.units.append((element.start, end))
        if name.bits & CONTAINER:
            self.regions.append((element.tag_start, end, name.region))
        return 0

    cdef int closed_heading(self, Element element) except -1:
        element.has_blocks = True   # no `div` around it is a unit
        if not element.depth:
            title = " ".join("".join(named(self.title)).replace("\0", "\ufffd").split())
            (<list> self.headings[len(self.headings) - 1]).append(
                (element.tag_start, element.name.level, title)
            )
            self.headed = element.start
        self.title = None
        self.is_first = True
        return 0
