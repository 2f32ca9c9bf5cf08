"""The sections of a document, and the path of titles in each, from its headings.

Guarded by tests/chunking/test_structure.py.
"""

cdef enum:
    MOST_TITLE = 200            # characters
    LEVELS = 8                  # a level is less; LEVELS * offset + level is one number


cdef class Sections:
    """Finds sections.

    Attributes:
        paths: each offset at which the path of titles changes, with that path, as a tuple.
        starts: where a section begins, as `8 * offset + level` of its heading. Headings directly
            below each other, each of a deeper level than the one before, begin one.
    """

    def __cinit__(self):
        self.paths, self.starts, self.levels, self.titles = [], [], [], []

    cdef int add(self, Py_ssize_t offset, int level, str title) except -1:
        """Add the next heading of a group, those that follow each other directly."""
        if self.level == 0 or level <= self.level:
            if self.level:
                self.end_path()
            self.start = offset
            self.starts.append(LEVELS * offset + level)
        self.level = level
        while self.levels and <int> self.levels[len(self.levels) - 1] >= level:
            self.levels.pop()
            self.titles.pop()
        self.levels.append(level)
        self.titles.append(title if len(title) <= MOST_TITLE else title[:MOST_TITLE] + "…")
        return 0

    cdef int end_group(self) except -1:
        """What follows is no heading."""
        if self.level:
            self.end_path()
        self.level = 0
        return 0

    cdef int end_path(self) except -1:
        """All titles of those nested in one another apply from the first on."""
        self.paths.append((self.start, tuple([title for title in self.titles if title])))
        return 0


def sections_of(groups):
    """The sections of a document.

    Args:
        groups: (start, level, title) of the headings that follow each other directly, for each
            such group. A level is 1 to 7.

    Cost: linear in the headings, and in the titles of the paths.
    """
    cdef Sections sections = Sections()
    for group in groups:
        for offset, level, title in group:
            sections.add(offset, level, title)
        sections.end_group()
    return sections
