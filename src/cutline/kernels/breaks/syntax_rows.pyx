"""A walk through a syntax tree that collects cuts and spans as rows.

Only nodes of several lines are entered, with a cursor, so that neither a deep tree nor a long
line costs more than its nodes. Only row numbers are collected: columns only show whether a node
is the first on its line. The nodes are Python objects, so this needs the GIL; it lets other threads
have it now and then.

Guarded by tests/chunking/test_code_structure.py.
"""

cimport cython

from cutline.kernels.base.characters cimport Characters, char_at, characters_of
from cutline.kernels.base.common cimport uint32_t
from cutline.kernels.base.signals cimport give_way

cdef enum:
    MOST_DEEP = 200             # nodes nested deeper are ignored
    STATEMENT = 2               # a depth of cuts
    UNCUT = 1 << 20             # one without cuts
    NODES_AT_ONCE = 1024        # between looks for signals, and for other threads

# Bits of what a kind of node is.
cpdef enum:
    NAMED = 1                   # a definition also inside of functions
    DEFINITION = 2
    PARAMETERS = 4
    FUNCTION = 8
    SEEN_THROUGH = 16           # a namespace and the like
    LABEL = 32                  # belongs to the next sibling, or is no element of its own
    ATTRIBUTE = 64              # such a label, if it looks like one
    BODY = 128
    OPAQUE = 256                # a string or a comment
    HEAD = 512                  # a label across blank lines, if it holds nothing of what it heads
    ITEM = 1024                 # kept whole, without a title
    DOCSTRING = 2048            # a label, where it is a statement
    PERHAPS_NAMED = 4096        # a definition, if what it begins or ends with says so


@cython.internal
cdef class Siblings:
    """The children of a node that were visited so far."""

    cdef int depth              # of cuts between them
    cdef bint is_definition, in_function  # the node is a definition, or inside a function
    cdef bint are_statements    # the node is the root, or a block
    cdef Py_ssize_t count       # of its named children
    cdef str kind               # of the last child that begins a line
    cdef object field
    cdef Py_ssize_t first, last  # its rows
    cdef bint is_unit
    cdef Py_ssize_t label, label_end  # rows of the labels above the next child; -1: none
    cdef bint is_headed         # one of them is a heading


cdef Siblings siblings_of(
    int depth, bint is_definition, bint in_function, bint are_statements, Py_ssize_t count
):
    cdef Siblings made = Siblings.__new__(Siblings)
    made.depth = depth
    made.is_definition = is_definition
    made.in_function = in_function
    made.are_statements = are_statements
    made.count = count
    made.kind = ""
    made.first = made.last = made.label = made.label_end = -1
    return made


cdef class SyntaxRows:
    """Collects rows.

    Args:
        text: the source code.
        lines: the offset of each row.
        kinds: from the name of a kind to its bits.
        ruler_at: from an offset to a match, if a comment there is a ruler.
        title_of: the title of a definition's node.

    Attributes:
        cuts: (row, depth): the text may be cut before that row.
        units: the first and last rows of definitions, with the comments above.
        titles: the same with their short first lines, outer before inner.
        regions: the first and last rows of definitions, comments and strings, with their kinds.
    """

    cdef readonly list cuts, units, titles, regions
    cdef str text
    cdef Characters characters
    cdef list lines
    cdef object kinds, ruler_at, title_of
    cdef bytearray joined       # rows that belong to the row above
    cdef bytearray labels       # rows of labels
    cdef list spans             # the first and last rows of those that are open, outer first
    cdef Py_ssize_t row, indent, n_rows  # the current line
    cdef Py_ssize_t n_nodes

    def __cinit__(
        self, str text not None, list lines not None, kinds not None, ruler_at not None,
        title_of not None
    ):
        self.cuts, self.units, self.titles, self.regions = [], [], [], []
        self.text = text
        self.characters = characters_of(text)
        self.lines = lines
        self.kinds, self.ruler_at, self.title_of = kinds, ruler_at, title_of
        self.n_rows = len(lines)
        self.joined = bytearray(self.n_rows + 2)
        self.labels = bytearray(self.n_rows + 2)
        self.spans = []
        self.row = -1

    def collect(self, tree):
        """Walk the tree. Cost: linear in the nodes whose parent has several lines."""
        cdef object cursor = tree.walk(), node
        cdef Siblings inner
        cdef list levels = [siblings_of(0, False, False, True, self.n_elements(tree.root_node))]
        if not cursor.goto_first_child():
            return
        while levels:
            self.n_nodes += 1
            if self.n_nodes % NODES_AT_ONCE == 0:
                give_way()
            node = cursor.node
            inner = None
            if node.is_named:
                inner = self.child(levels[len(levels) - 1], node, cursor.field_name)
            if inner is not None and len(levels) < MOST_DEEP and cursor.goto_first_child():
                levels.append(inner)
                continue
            while not cursor.goto_next_sibling():
                self.cut_before_label(levels.pop())
                if not levels:
                    return
                cursor.goto_parent()

    cdef Py_ssize_t n_elements(self, object root) except -1:
        """The named children of the root without comments: one document of YAML is all of it."""
        cdef Py_ssize_t count = 0
        for child in root.named_children:
            count += not self.kinds[child.type] & LABEL
        return count

    def plain_lines(self):
        """The beginnings of the other lines at which a text may be cut."""
        cdef Py_ssize_t row, start, first
        cdef list found = []
        for row in range(self.n_rows):
            start = self.lines[row]
            first = start + self.indent_at(start)
            if (
                first < self.characters.n and not self.joined[row]
                and not ends_block(char_at(&self.characters, first))
            ):
                found.append(start)
        return found

    cdef Siblings child(self, Siblings level, object node, object field):
        """Process a child of a node. Returns the level of its own children if they matter."""
        cdef Py_ssize_t first, column, last, end_column
        cdef str kind = node.type
        cdef int bits = self.kinds[kind]
        cdef bint begins, is_element, is_definition, is_head, is_label
        first, column = node.start_point
        last, end_column = node.end_point
        if end_column == 0 and last > first:
            last -= 1
        # On broken code, some grammars report rows past the last line.
        first, last = min(first, self.n_rows - 1), min(last, self.n_rows - 1)
        begins = self.begins_line(first, column)
        if bits & PERHAPS_NAMED and begins and is_named(node, kind):
            bits = NAMED | DEFINITION
        is_head = bits & HEAD and begins and is_head_alone(node)
        is_label = (
            bits & LABEL or bits & ATTRIBUTE and begins and self.has_mark()
            or bits & DOCSTRING and begins and level.are_statements
        )
        if is_label or is_head:
            if begins:
                self.take_label(level, first, last, is_head)
            if last > first:
                self.take_opaque(first, last, kind)
            return None
        is_element = begins and not bits & BODY and not self.closes_block()
        is_definition = is_element and self.take_element(level, node, kind, bits, field, first, last)
        if begins and not is_element:
            self.joined[first] = 1
        if last == first:
            return None
        if bits & OPAQUE:
            self.take_opaque(first, last, kind)
            return None
        return self.inside(level, node, bits, is_definition, is_element)

    cdef Siblings inside(
        self, Siblings level, object node, int bits, bint is_definition, bint is_element
    ):
        cdef int depth = level.depth
        cdef bint in_function = level.in_function or bits & FUNCTION
        cdef bint is_one_of_many = is_element and level.count > 1 and not level.is_definition
        if (is_definition or is_one_of_many) and not bits & SEEN_THROUGH:
            depth += 1
        if in_function:
            depth = max(depth, STATEMENT)
        if in_function and bits & PARAMETERS:
            depth = UNCUT   # never prefer a cut inside a signature
        return siblings_of(
            depth, is_definition or level.is_definition and not bits & BODY, in_function,
            bits & BODY, node.named_child_count,
        )

    cdef Py_ssize_t indent_at(self, Py_ssize_t start) noexcept:
        """Blanks from here on."""
        cdef Py_ssize_t at = start
        while at < self.characters.n and is_blank(char_at(&self.characters, at)):
            at += 1
        return at - start

    cdef bint begins_line(self, Py_ssize_t row, Py_ssize_t column) except -1:
        if row != self.row:
            self.row = row
            self.indent = self.indent_at(self.lines[row])
        return column == self.indent

    cdef bint has_mark(self) except -1:
        """Whether the line begins as attributes do: elsewhere, one is the target of an assignment."""
        cdef Py_ssize_t at = <Py_ssize_t> self.lines[self.row] + self.indent
        cdef uint32_t mark
        if at >= self.characters.n:
            return False
        mark = char_at(&self.characters, at)
        return mark == c"@" or mark == c"#" or mark == c"["

    cdef bint closes_block(self) except -1:
        """Whether the line begins with a closing bracket: a node of its own in some grammars."""
        cdef Py_ssize_t at = <Py_ssize_t> self.lines[self.row] + self.indent
        return at < self.characters.n and ends_block(char_at(&self.characters, at))

    cdef int take_label(
        self, Siblings level, Py_ssize_t first, Py_ssize_t last, bint is_head
    ) except -1:
        cdef Py_ssize_t row
        if self.is_apart(level, first):
            self.cut_before_label(level)
        if level.label < 0:
            level.label, level.is_headed = first, False
        else:
            self.joined[first] = 1
        level.label_end = last
        level.is_headed |= is_head
        for row in range(first, last + 1):
            self.labels[row] = self.joined[row + 1] = 1
        return 0

    cdef bint is_apart(self, Siblings level, Py_ssize_t first) except -1:
        """Whether blank lines part comments from what follows: not a heading, nor a ruler."""
        if level.label < 0 or level.label_end + 1 >= first or level.is_headed:
            return False
        return self.ruler_at(self.lines[level.label_end]) is None

    cdef int cut_before_label(self, Siblings level) except -1:
        """Treat a comment as an element of its own: nothing follows it directly."""
        if level.label >= 0:
            if level.first >= 0:
                self.cut(level, level.label, level.label_end)
            level.first, level.last = level.label, level.label_end
            level.kind, level.field, level.is_unit, level.label = "comment", None, False, -1
        return 0

    cdef int cut(self, Siblings level, Py_ssize_t first, Py_ssize_t last) except -1:
        """Record a cut between the last child and the rows of the next."""
        cdef bint is_group = (
            first <= level.last + 1 and first == last and level.first == level.last
        )
        if level.depth < UNCUT:
            self.cuts.append((first, max(level.depth, STATEMENT) if is_group else level.depth))
        return 0

    cdef bint take_element(
        self, Siblings level, object node, str kind, int bits, object field, Py_ssize_t first,
        Py_ssize_t last
    ) except -1:
        """Process a child that begins a line. Returns whether it is a multi-line definition."""
        cdef Py_ssize_t start = first
        cdef bint is_alike
        if self.is_apart(level, first):
            self.cut_before_label(level)
        if level.label >= 0:
            start, level.label = level.label, -1
            self.joined[first] = 1
        elif not level.is_unit:     # some grammars attach trailing comments to the node before
            while start - 1 > level.first >= 0 and self.labels[start - 1]:
                start -= 1
        if level.first < 0:
            self.joined[start] = 1  # keep the first row of a body with its header
        is_alike = (
            kind == level.kind or kind == "section" or field is not None and field == level.field
        )
        if level.first >= 0 and (is_alike or field is None and not level.is_definition):
            self.cut(level, start, last)
        level.kind, level.field, level.first, level.last = kind, field, first, last
        level.is_unit = (
            last > first and not level.is_definition
            and (bits & (NAMED if level.in_function else DEFINITION)) != 0
        )
        if level.is_unit:
            start = self.claim(start, last)
            self.units.append((start, last))
            self.titles.append((start, last, self.title_of(node)))
            self.regions.append((start, last, kind))
        elif bits & ITEM and last > first:
            self.units.append((self.claim(start, last), last))
        return level.is_unit

    cdef int take_opaque(self, Py_ssize_t first, Py_ssize_t last, str kind) except -1:
        cdef Py_ssize_t row
        for row in range(first + 1, last + 1):
            self.joined[row] = 1
        self.regions.append((self.claim(first, last), last, kind))
        return 0

    cdef Py_ssize_t claim(self, Py_ssize_t first, Py_ssize_t last) except -1:
        """Open a span. Returns its first row, moved past open spans that end inside it.

        Not past those that lie inside: a comment above a definition is a span of its own.
        """
        cdef list spans = self.spans
        cdef Py_ssize_t start, end
        while spans:
            start, end = spans[len(spans) - 1]
            if end >= first and end >= last:
                break
            if start < first:
                first = max(first, end + 1)
            spans.pop()
        spans.append((first, last))
        return first


cdef bint is_named(object node, str kind) except -1:
    """Whether a node of a kind that may be a definition is one.

    A block that begins with its name, as those of HCL, is no body, it has one; a section of INI
    begins with its name, too; in R what is assigned may be a function.
    """
    cdef Py_ssize_t count = node.named_child_count
    if kind == "block":
        return count > 1 and node.child(0).type == "identifier"
    if kind == "section":
        return count > 1 and node.child(0).type == "section_name"
    return count > 1 and node.named_child(count - 1).type == "function_definition"


cdef bint is_head_alone(object node) except -1:
    """Whether a section is but its title, as that of reStructuredText; signatures always are."""
    cdef Py_ssize_t count
    if node.type != "section":
        return True
    count = node.child_count
    return count > 0 and node.child(count - 1).type == "adornment"


cdef inline bint is_blank(uint32_t character) noexcept:
    return character == c" " or character == c"\t" or character == c"\f" or character == c"\v"


cdef inline bint ends_block(uint32_t character) noexcept:
    """Whether a line that begins so belongs to the one before."""
    return (
        character == c"\r" or character == c"\n" or character == c")" or character == c"]"
        or character == c"}"
    )
