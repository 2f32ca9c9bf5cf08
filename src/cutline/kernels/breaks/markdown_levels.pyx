"""Where the blocks of a Markdown text may be cut, and which of them should stay whole.

Guarded by tests/chunking/test_markdown_structure.py.
"""

from cutline.kernels.breaks.markdown cimport Block
from cutline.kernels.breaks.sections cimport Sections

cdef enum:
    HEADINGS = 6                # levels of headings, before those of blocks and items
    LEVELS = HEADINGS + 3
    MOST_LEAD = 120             # characters of a paragraph that leads to what follows

cdef str HEADING = "heading", ITEM = "item", PARAGRAPH = "paragraph", TABLE = "table"
cdef tuple LEADING = (":", "：", "?", "？", "؟")
cdef tuple BOLD = ("**", "__")
cdef frozenset WHOLE = frozenset(
    {"code", "front matter", "html", ITEM, "list", "quote", TABLE}
)
cdef frozenset FIRST = frozenset({"", HEADING})     # before a block where none cuts


cdef class BlockLevels:
    """The blocks of a text, sorted into levels.

    Args:
        blocks: sorted by start, containers before their content.
        text: the text.

    Attributes:
        cuts: of each level: before headings of levels 1 to 6, blocks, items and nested items.
        units: spans to keep whole, in any order and some more than once; a block after a heading
            includes the heading, and one after a line that leads to it that line.
        regions: (start, end, kind) of what is divided only where it must be, and is no item.
        sections: those outside lists and quotes.
    """

    cdef readonly list cuts, units, regions
    cdef readonly Sections sections
    cdef Py_ssize_t start       # of the headings that stand above, directly below each other
    cdef int level              # the best of them; 0: there is none

    def __cinit__(self, tuple blocks not None, str text not None):
        cdef list whole = []
        cdef Py_ssize_t lead = -1       # where the lead right above begins, or its headings
        cdef dict headed = {}
        cdef Block block
        cdef bint is_leading
        self.cuts = [[] for _ in range(LEVELS)]
        self.units, self.regions, self.sections = [], [], Sections()
        for block in blocks:
            if block.depth:
                if block.previous not in FIRST:
                    self.cut(HEADINGS + min(block.depth, 2), block.start)
            elif block.kind == HEADING:
                self.add_heading(block)
                lead = -1
            else:
                is_leading = block.kind == PARAGRAPH and leads(text, block)
                if lead >= 0 and is_leading:    # a list of questions, say
                    lead = -1
                if self.level or lead >= 0:
                    headed[block.start] = self.start if self.level else lead
                    self.keep_with(headed[block.start], block)
                    self.end_headings()
                if block.previous != HEADING and lead < 0:
                    self.cut(HEADINGS, block.start)
                lead = headed.get(block.start, block.start) if is_leading else -1
            if block.kind in WHOLE:
                whole.append(block)
        self.end_headings()
        for block in whole:
            self.units.append((headed.get(block.start, block.start), block.end))
            if block.kind != ITEM:
                self.regions.append((block.start, block.end, block.kind))

    cdef int cut(self, int level, Py_ssize_t offset) except -1:
        (<list> self.cuts[level]).append(offset)
        return 0

    cdef int add_heading(self, Block heading) except -1:
        if not self.level:
            self.start = heading.start
            self.level = heading.level
        self.level = min(self.level, heading.level)
        self.sections.add(heading.start, heading.level, heading.title)
        return 0

    cdef int end_headings(self) except -1:
        if self.level:
            self.cut(self.level - 1, self.start)
        self.level = 0
        self.sections.end_group()
        return 0

    cdef int keep_with(self, Py_ssize_t start, Block first) except -1:
        """Keep a block together with what is above; the rows of a table are units themselves."""
        self.units.append((start, first.end))
        if first.kind != TABLE:
            # Never cut right after a heading, even where its block is too large.
            self.units.append((start, first.start + 1))
        return 0


cdef bint leads(str text, Block paragraph) except -1:
    """Whether a paragraph is a line that only introduces the next: a question, or all bold."""
    cdef str line
    if paragraph.end - paragraph.start > MOST_LEAD:
        return False
    line = text[paragraph.start : paragraph.end].strip()
    if "\n" in line or "\r" in line:
        return False
    return line.endswith(LEADING) or line.startswith(BOLD) and line.endswith(line[:2]) and (
        line.count(line[:2]) == 2
    )
