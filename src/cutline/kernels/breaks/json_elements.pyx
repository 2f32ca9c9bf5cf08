"""The elements of JSON's containers, or of text that is read as far as its brackets and strings go.

What is found are Python objects, so this needs the GIL; it lets other threads have it now and then.

Guarded by tests/chunking/test_data_structures.py.
"""

cimport cython

from cpython.unicode cimport Py_UNICODE_ISSPACE

from cutline.kernels.base.characters cimport Characters, char_at, characters_of
from cutline.kernels.base.common cimport uint32_t
from cutline.kernels.base.signals cimport give_way

cdef enum:
    TOKENS_AT_ONCE = 4096       # between looks for signals, and for other threads


@cython.internal
cdef class Container:
    """An object or array that is being read; the outermost one is the sequence of records."""

    cdef Py_ssize_t start
    cdef tuple path             # of keys and numbers, of this container
    cdef bint is_object
    cdef Py_ssize_t element     # where the current element begins
    cdef Py_ssize_t number      # and its number
    cdef Py_ssize_t key, key_end  # the content of its key


cdef class ElementReader:
    """Finds the elements of one text.

    Args:
        text: JSON, values that follow one another, or anything else.
        n_levels: of cuts; the last has those of all deeper containers, too.
        most_path: deeper values have the path of this depth.
        most_key: characters of a key.

    Attributes:
        levels: cuts between records, then between the elements of containers by depth; rising.
        units: spans of the elements, with the comma and blanks after it, the last with the bracket.
        regions: (start, end, kind) of the containers with several elements.
        paths: where a path begins to apply, with it; rising.
    """

    cdef readonly list levels, units, regions, paths
    cdef str text
    cdef Characters characters
    cdef Py_ssize_t most_path, most_key
    cdef list open              # the containers, the outermost first
    cdef Container inner        # the last of them
    cdef Py_ssize_t key, key_end  # the content of the last string

    def __cinit__(
        self, str text not None, Py_ssize_t n_levels, Py_ssize_t most_path, Py_ssize_t most_key
    ):
        self.text = text
        self.characters = characters_of(text)
        self.most_path = most_path
        self.most_key = most_key
        self.levels = [[] for _ in range(n_levels)]
        self.units, self.regions, self.paths = [], [], []
        self.inner = Container.__new__(Container)
        self.inner.path = ()
        self.open = [self.inner]

    def read(self):
        """Find all. Cost: linear in the text."""
        cdef Py_ssize_t at = 0, n = self.characters.n, n_tokens = 0
        cdef uint32_t mark
        while at < n:
            mark = char_at(&self.characters, at)
            if Py_UNICODE_ISSPACE(mark):
                at += 1
                continue
            n_tokens += 1
            if n_tokens % TOKENS_AT_ONCE == 0:
                give_way()
            if mark == c",":
                self.end_element(at + 1)
            elif mark == c":":
                self.inner.key, self.inner.key_end = self.key, self.key_end
            elif mark == c"}" or mark == c"]":
                self.end_container(at + 1)
            else:
                if len(self.open) == 1:
                    self.begin_record(at)
                if mark == c'"':
                    at = self.string_end(at)
                    continue
                if mark == c"{" or mark == c"[":
                    self.begin_container(at, mark == c"{")
                else:
                    at = self.scalar_end(at)
                    continue
            at += 1
        if self.levels[0]:      # the last of several records
            self.units.append(((<Container> self.open[0]).element, n))

    cdef Py_ssize_t string_end(self, Py_ssize_t start) noexcept:
        """Read a string, which may lack its end."""
        cdef Py_ssize_t at = start + 1, n = self.characters.n
        cdef uint32_t character = 0
        while at < n:
            character = char_at(&self.characters, at)
            if character == c'"':
                at += 1
                break
            if character == c"\\":
                if at + 1 == n:
                    break
                at += 1
            at += 1
        self.key = start + 1
        self.key_end = at - 1
        return at

    cdef Py_ssize_t scalar_end(self, Py_ssize_t at) noexcept:
        """The end of a number, a name, or of what is no JSON."""
        cdef uint32_t character
        while at < self.characters.n:
            character = char_at(&self.characters, at)
            if Py_UNICODE_ISSPACE(character) or is_mark(character):
                break
            at += 1
        return at

    cdef Py_ssize_t after_blanks(self, Py_ssize_t at) noexcept:
        """Where a line goes on after blanks; after its end, if there is nothing else."""
        cdef Py_ssize_t n = self.characters.n
        cdef uint32_t character
        while at < n:
            character = char_at(&self.characters, at)
            if character == c"\n":
                return at + 1
            if not Py_UNICODE_ISSPACE(character):
                break
            at += 1
        return at

    cdef int begin_record(self, Py_ssize_t start) except -1:
        cdef Container records = self.inner
        cdef Py_ssize_t at = self.line_start(start)
        if at:
            (<list> self.levels[0]).append(at)
            self.units.append((records.element, at))
            records.element = at
        return 0

    cdef Py_ssize_t line_start(self, Py_ssize_t start) noexcept:
        """Where a record begins: with the blanks before it in its line."""
        cdef Py_ssize_t at = start
        cdef uint32_t character
        while at > 0:
            character = char_at(&self.characters, at - 1)
            if character == c"\n":
                return at
            if not Py_UNICODE_ISSPACE(character):
                break
            at -= 1
        return start

    cdef int end_element(self, Py_ssize_t comma_end) except -1:
        cdef Py_ssize_t depth = len(self.open) - 1, at
        if not depth:
            return 0
        at = self.after_blanks(comma_end)
        (<list> self.levels[min(depth, len(self.levels) - 1)]).append(at)
        self.units.append((self.inner.element, at))
        self.inner.element = at
        self.inner.number += 1
        return 0

    cdef int begin_container(self, Py_ssize_t start, bint is_object) except -1:
        cdef Container made = Container.__new__(Container)
        made.start = start
        made.is_object = is_object
        made.path = self.inner.path
        if len(self.open) > 1 and len(made.path) < self.most_path:
            made.path = (*made.path, self.step())
        # What follows the bracket in its line is blank, mostly, and stays with it.
        made.element = self.after_blanks(start + 1)
        self.open.append(made)
        self.inner = made
        self.paths.append((start + 1, made.path))
        return 0

    cdef str step(self):
        """The key or the number of the current element."""
        cdef Container inner = self.inner
        if not inner.is_object:
            return f"[{inner.number}]"
        return self.text[inner.key:min(inner.key_end, inner.key + self.most_key)]

    cdef int end_container(self, Py_ssize_t end) except -1:
        cdef Container ended = self.inner
        if len(self.open) == 1:
            return 0
        self.open.pop()
        self.inner = self.open[len(self.open) - 1]
        if ended.number:
            self.units.append((ended.element, end))     # with its bracket
            self.regions.append((ended.start, end, "object" if ended.is_object else "array"))
        self.paths.append((end, self.inner.path))
        return 0


cdef inline bint is_mark(uint32_t character) noexcept:
    return (
        character == c'"' or character == c"," or character == c":"
        or character == c"{" or character == c"}" or character == c"[" or character == c"]"
    )
