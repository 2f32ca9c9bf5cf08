"""The blocks of a Markdown text, from the events of its parser.

The events are Python objects, so this needs the GIL; it lets other threads have it now and then.

Guarded by tests/chunking/test_markdown_structure.py.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memchr

from cutline.kernels.base.characters cimport Characters, char_at, characters_of
from cutline.kernels.base.common cimport int64_t, uint8_t, uint64_t
from cutline.kernels.base.signals cimport give_way
from cutline.kernels.breaks.line_ends cimport MANY, low_bit, newlines_in

cdef enum:
    EVENTS_AT_ONCE = 1024       # between looks for signals, and for other threads

cdef dict DIVIDED = {"CodeBlock": "code", "HtmlBlock": "html", "Table": "table"}
cdef dict CONTAINERS = {"BlockQuote": "quote", "Item": "item", "List": "list"}
cdef tuple BREAKS = ("SoftBreak", "HardBreak")


cdef class Block:
    """A block of a Markdown text, or a container of blocks.

    Attributes:
        kind: "heading", "paragraph", "definition", "break", "table", "code", "html",
            "front matter", "quote", "list" or "item".
        start: the beginning of its first line, with white space and container markers.
        end: the end of its last line, with its line end and without blank lines after it; for
            text directly in an item of a tight list, no further than its first part.
        depth: the number of containers around it; a list and its item are two.
        previous: the kind of the block before it in the same container, "" for the first.
        level: for a heading, 1 to 6.
        title: for a heading, its plain text, without attributes.
    """


cdef class BlockReader:
    r"""Finds the blocks of one text. Offsets of events are bytes of the source, those of blocks characters.

    Args:
        text: its lines end with \n, \r\n or \r.
        source: the same lines as UTF-8; they end with \n or \r\n.
        most_depth: blocks in more containers are ignored.
        title_end: where the title ends in the source of a heading that has a `{`.

    Attributes:
        blocks: sorted by start, containers before their content.
        rows: the beginnings of lines at which tables, code, HTML and front matter may be cut.
        gaps: those of them that follow a blank line.
        source: what is still to be parsed.
    """

    cdef readonly list blocks, rows, gaps
    cdef readonly bytes source
    cdef int64_t* starts        # of each row; then the end of the text
    cdef int64_t* offsets       # of each row in the source; then its end
    cdef int64_t* full_rows     # for each row the last one up to there that is not blank, or -1
    cdef Py_ssize_t n_rows, n_events, most_depth
    cdef object title_end, events
    cdef list path              # open containers, then the last block
    cdef Py_ssize_t depth       # how many containers are open
    cdef bint in_text           # directly in an item: tight lists have no paragraph events
    cdef Py_ssize_t next_row    # first row after the last block outside containers
    cdef Py_ssize_t last_row    # that was asked for

    def __cinit__(
        self, str text not None, bytes source not None, Py_ssize_t most_depth, title_end
    ):
        self.blocks, self.rows, self.gaps, self.path = [], [], [], []
        self.source = source
        self.title_end = title_end
        self.most_depth = most_depth
        self.n_rows = lines_in(source, len(source))
        # All three in one piece of memory: most texts are short.
        self.starts = <int64_t*> calloc(3 * (self.n_rows + 1), sizeof(int64_t))
        if self.starts == NULL:
            raise MemoryError(f"no memory for the {self.n_rows} lines of a text")
        self.offsets = self.starts + self.n_rows + 1
        self.full_rows = self.offsets + self.n_rows + 1
        self.find_rows()
        self.find_starts(text)

    def __dealloc__(self):
        free(self.starts)

    cdef void find_rows(self) noexcept:
        cdef const uint8_t* source = self.source
        cdef const uint8_t* line_end
        cdef Py_ssize_t at, row, start = 0, n = len(self.source)
        cdef int64_t full = -1
        for row in range(self.n_rows):
            line_end = <const uint8_t*> memchr(source + start, c"\n", n - start)
            at = start
            start = n if line_end == NULL else line_end - source + 1
            while at < start and is_space(source[at]):
                at += 1
            if at < start:
                full = row
            self.full_rows[row] = full
            self.offsets[row + 1] = start

    cdef int find_starts(self, str text) except -1:
        cdef Characters characters = characters_of(text)
        cdef Py_ssize_t at = 0, row = 0, n = characters.n
        cdef bint has_returns = "\r" in text
        cdef uint64_t found
        while at < n - 1:
            if not has_returns and at + MANY < n:
                found = newlines_in(&characters, at)
                while found:
                    row += 1
                    if row < self.n_rows:
                        self.starts[row] = at + low_bit(found) + 1
                    found &= found - 1
                at += MANY
                continue
            if char_at(&characters, at) == c"\n" or (
                char_at(&characters, at) == c"\r" and char_at(&characters, at + 1) != c"\n"
            ):
                row += 1
                if row < self.n_rows:
                    self.starts[row] = at + 1
            at += 1
        self.starts[self.n_rows] = n
        if self.n_rows and row + 1 != self.n_rows:     # a lone byte order mark is no line
            raise ValueError(f"the source has {self.n_rows} lines, the text {row + 1}")
        return 0

    def add_front_matter(self, Py_ssize_t start, Py_ssize_t end):
        """Add front matter with this span, and leave it out of the source."""
        cdef Py_ssize_t row, first
        self.add("front matter", start, end)
        self.cut_between([row for row in range(1, self.next_row - 1) if self.full_rows[row] == row])
        first = self.offsets[self.next_row]
        self.source = self.source[first:]
        for row in range(self.n_rows + 1):
            self.offsets[row] -= first

    def read(self, events):
        """Find all blocks.

        Args:
            events: those of the source, each with its span.

        Cost: linear in the text.
        """
        cdef object event, tag
        cdef dict span
        self.events = iter(events)
        while (pair := self.next_event()) is not None:
            event, span = pair
            if isinstance(event, dict):
                tag = (<dict> event).get("Start")
                if tag is not None:
                    self.begin(tag, span)
                    continue
                tag = (<dict> event).get("End")
                if tag is not None:
                    if name_of(tag) in CONTAINERS:
                        self.depth -= 1
                        self.in_text = False
                    continue
            elif event == "Rule":
                self.add("break", span["start"], span["end"])
                continue
            if not self.in_text:
                self.begin_text(span)
        self.add_definitions(self.n_rows)

    cdef tuple next_event(self):
        """The next event and its span; None: there is none."""
        self.n_events += 1
        if self.n_events % EVENTS_AT_ONCE == 0:
            give_way()
        return next(self.events, None)

    cdef int begin(self, object tag, dict span) except -1:
        cdef str name = name_of(tag)
        cdef object kind
        cdef Block heading
        if name == "Paragraph":
            self.add("paragraph", span["start"], span["end"])
            while self.inner_event(name) is not None:
                pass
            return 0
        kind = CONTAINERS.get(name)
        if kind is not None:
            self.add(kind, span["start"], span["end"])
            self.depth += 1
            return 0
        if name == "Heading":
            heading = self.add("heading", span["start"], span["end"])
            level = tag["Heading"]["level"]
            heading.level = int(level[1])
            heading.title = self.title(level, span["start"], span["end"])
            return 0
        kind = DIVIDED.get(name)
        if kind is not None:
            self.add(kind, span["start"], span["end"])
            self.cut_between(self.table_rows() if name == "Table" else self.verbatim_rows(name))
        elif not self.in_text:
            self.begin_text(span)
        return 0

    cdef int begin_text(self, dict span) except -1:
        """Begin text that is directly in an item, outside any leaf."""
        self.add("paragraph", span["start"], span["end"])
        self.in_text = True
        return 0

    cdef tuple inner_event(self, object tag):
        """The next event up to the end of what has this tag, where it is None."""
        cdef tuple pair = self.next_event()
        if pair is not None and isinstance(pair[0], dict):
            ended = (<dict> pair[0]).get("End")
            # Nearly always None, which takes longer to compare than to recognize.
            if ended is not None and ended == tag:
                return None
        return pair

    cdef str title(self, object level, Py_ssize_t start, Py_ssize_t end):
        cdef Py_ssize_t until = end
        cdef const uint8_t* source = self.source
        cdef object event, tag = {"Heading": level}
        cdef dict place
        cdef list parts = []
        if memchr(source + start, c"{", end - start) != NULL:   # few titles have attributes
            until = start + self.title_end(self.source[start:end])
        while (pair := self.inner_event(tag)) is not None:
            event, place = pair
            if place["start"] >= until:
                continue
            name = name_of(event)
            if name == "Text" and place["end"] > until:
                parts.append(self.source[place["start"]:until].decode())
            elif name == "Text" or name == "Code":
                parts.append(event[name])
            elif name in BREAKS:
                parts.append(" ")
        return " ".join("".join(parts).replace("\0", "\ufffd").split())

    cdef list table_rows(self):
        cdef list rows = []
        while (pair := self.inner_event("Table")) is not None:
            event, span = pair
            if isinstance(event, dict) and (<dict> event).get("Start") == "TableRow":
                rows.append(self.row_of(span["start"]))
        return rows

    cdef list verbatim_rows(self, str tag):
        """The rows of code or HTML that are not blank."""
        cdef Py_ssize_t above = -1, row, start, end
        cdef list rows = []
        while (pair := self.inner_event(tag)) is not None:
            _, span = pair
            start, end = span["start"], span["end"]
            for row in range(self.row_of(start), self.row_of(end - 1) + 1):
                # The span leaves out container markers.
                if row > above and self.says_something(
                    max(start, self.offsets[row]), min(end, self.offsets[row + 1])
                ):
                    above = row
                    rows.append(row)
        return rows

    cdef bint says_something(self, Py_ssize_t start, Py_ssize_t end):
        """Whether a part of the source is not blank."""
        cdef const uint8_t* source = self.source
        cdef Py_ssize_t at
        for at in range(start, end):
            if not is_space(source[at]):
                return True
        return False

    cdef int cut_between(self, list rows) except -1:
        """Record rows at which their block may be cut; the first one stays with its head."""
        cdef Py_ssize_t row, above = -1
        for row in rows:
            if above >= 0:
                self.rows.append(self.starts[row])
                if row > above + 1:
                    self.gaps.append(self.starts[row])
            above = row
        return 0

    cdef int add_definitions(self, Py_ssize_t until) except -1:
        """Add link reference definitions, which have no event, from the lines before a row."""
        cdef Py_ssize_t row
        cdef bint is_blank, above_is_blank = True
        if until <= self.next_row or self.full_rows[until - 1] < self.next_row:
            return 0    # nothing but blank lines, as nearly always
        for row in range(self.next_row, until):
            is_blank = self.full_rows[row] != row
            if not is_blank:
                if above_is_blank:
                    self.append("definition", row, row)
                (<Block> self.blocks[len(self.blocks) - 1]).end = self.starts[row + 1]
            above_is_blank = is_blank
        return 0

    cdef Block add(self, str kind, Py_ssize_t start, Py_ssize_t end):
        cdef Py_ssize_t first = self.row_of(start), last = self.full_rows[self.row_of(end - 1)]
        last = max(last, first)
        self.in_text = False
        if not self.depth:
            self.add_definitions(first)
            self.next_row = last + 1
        return self.append(kind, first, last)

    cdef Block append(self, str kind, Py_ssize_t first, Py_ssize_t last):
        cdef Py_ssize_t place
        cdef Block block = Block.__new__(Block), before
        block.kind = kind
        block.start = self.starts[first]
        block.end = self.starts[last + 1]
        block.depth = self.depth
        block.previous = block.title = ""
        if len(self.path) > self.depth:
            block.previous = (<Block> self.path[self.depth]).kind
            for place in range(self.depth, len(self.path)):
                # Spans can include part of the marker that ends a container.
                before = self.path[place]
                before.end = min(before.end, block.start)
            del self.path[self.depth:]
        self.path.append(block)
        if self.depth <= self.most_depth:
            self.blocks.append(block)
        return block

    cdef Py_ssize_t row_of(self, Py_ssize_t offset):
        """The row of an offset in the source: mostly a few rows below the last one asked for."""
        cdef Py_ssize_t low = self.last_row, high, middle, step = 1
        if low > 0 and self.offsets[low] > offset:
            low = 0
        while low + step < self.n_rows and self.offsets[low + step] <= offset:
            low += step
            step *= 2
        high = min(low + step, self.n_rows) - 1
        while low < high:
            middle = (low + high + 1) >> 1
            if self.offsets[middle] <= offset:
                low = middle
            else:
                high = middle - 1
        self.last_row = low
        return low


cdef Py_ssize_t lines_in(const uint8_t* source, Py_ssize_t n) noexcept:
    """How many lines a source has; a line end at its end begins none."""
    cdef Py_ssize_t at, count = 0
    for at in range(n):
        count += source[at] == c"\n"
    return count + (n > 0 and source[n - 1] != c"\n")


cdef inline bint is_space(uint8_t byte) noexcept:
    return byte == c" " or c"\t" <= byte <= c"\r"


cdef str name_of(object event):
    """The name of an event or a tag: a str, or the key of a dict that holds its data."""
    if isinstance(event, str):
        return event
    return next(iter(event))
