"""Count the tokens of a text that grows, and is cut, at its end. Its scans: see `growth`.

Guarded by tests/counting/test_appender.py.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_CheckExact

from cython cimport auto_pickle, critical_section

from cutline.kernels.base.common cimport NO_LIMIT, char_bytes, memcpy, uint8_t
from cutline.kernels.encode.batches cimport Workspace
from cutline.kernels.encode.encoder cimport Encoder, utf8_data
from cutline.kernels.index.live_scans cimport (
    State, begin, copy_state, end_state, go_back, is_far, last_mark, push_mark, read_blocks,
    reserve_text,
)

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)

cdef enum:
    NOGIL_BYTES = 4096          # shorter texts are done before another thread could start


@auto_pickle(False)
cdef class Growing:
    """A text that grows and is cut at its end, and its tokens; `cutline.Appender` adds the rest.

    Args:
        encoder: must have scan tables.
        as_utf8: gives the UTF-8 of what is no plain text: bytes, or a str that is ASCII. It
            raises where that can't be.

    One thread at a time may change it; another one gets a RuntimeError.
    """

    cdef Encoder encoder
    cdef object as_utf8
    cdef State state
    cdef bint busy
    cdef readonly Py_ssize_t count
    cdef readonly Py_ssize_t text_length

    def __cinit__(self, Encoder encoder not None, as_utf8 not None):
        if encoder.scan_tables is None:
            raise ValueError("a growing text needs an encoder with scan tables")
        self.encoder = encoder
        self.as_utf8 = as_utf8
        self.state.bpe = &encoder.tables.bpe
        self.state.scanner = &encoder.scan_tables.scanner
        if not begin(&self.state):
            raise MemoryError("no memory for a growing text")

    def __dealloc__(self):
        end_state(&self.state)

    cdef int enter(self) except -1:
        cdef bint busy
        with critical_section(self):
            busy = self.busy
            self.busy = True
        if busy:
            raise RuntimeError(
                "another thread is at work on this text: use a lock, or a copy for each thread"
            )
        return 0

    cdef object utf8_owner(self, text):
        if not PyUnicode_CheckExact(text):
            return self.as_utf8(text)
        if PyUnicode_IS_ASCII(text):
            return text
        try:
            return PyUnicode_AsUTF8String(text)
        except UnicodeEncodeError:
            return self.as_utf8(text)

    def append(self, text):
        """Put a text at the end.

        Raises:
            SurrogateError: (a ValueError) it has a surrogate code point.

        Cost: amortised linear in the appended text, whatever stands before it and however it
        is sliced, one giant piece included: no scan reads a character twice. Each call also
        counts the last piece, if it has at most 64 bytes, from its start.

        >>> import cutline
        >>> appender = cutline.get_encoding("gpt2").appender()
        >>> for word in ("hello", " ", "world"):
        ...     appender.append(word)
        >>> appender.count
        2
        """
        cdef object owner = self.utf8_owner(text)
        cdef Py_ssize_t mark
        self.enter()
        try:
            mark = self.state.n_marks
            self.count = self.try_append(owner, NO_LIMIT, True)
            self.text_length = self.state.chars
            if self.state.n_marks == mark + 1 and not is_far(
                &self.state, mark - 1, self.state.marks[mark].n, self.state.marks[mark].n_scans
            ):
                self.state.n_marks = mark
        finally:
            self.busy = False

    def _fits(self, text, Py_ssize_t max_tokens):
        """Whether append(text) would lead to at most so many tokens; changes nothing."""
        cdef object owner = self.utf8_owner(text)
        cdef Py_ssize_t mark, tokens
        self.enter()
        try:
            mark = self.state.n_marks
            tokens = self.try_append(owner, max_tokens, False)
            go_back(&self.state, mark)
            self.state.n_marks = mark
        finally:
            self.busy = False
        return tokens <= max_tokens

    def _truncate(self, Py_ssize_t length):
        """Keep the first code points, 0 to text_length of them."""
        cdef Py_ssize_t mark, base, end, left
        self.enter()
        try:
            # Another thread may have cut the text since the length was checked.
            length = min(length, self.text_length)
            mark = self.add_mark()
            base = last_mark(&self.state, length)
            end = self.state.marks[base].n
            for left in range(length - self.state.marks[base].chars):
                end += char_bytes(self.state.text[end])
            try:
                self.count = self.read_on(base, end, NO_LIMIT, False)
            except BaseException:
                go_back(&self.state, mark)
                self.state.n_marks = mark
                raise
            self.state.n_marks = base + 1
            self.text_length = length
        finally:
            self.busy = False

    def _copy_to(self, Growing twin not None):
        """Give a fresh one the same text."""
        self.enter()
        try:
            if not copy_state(&twin.state, &self.state):
                raise MemoryError(f"no memory for a copy of {self.state.n} bytes of text")
            twin.count = self.count
            twin.text_length = self.text_length
        finally:
            self.busy = False

    def _utf8(self):
        """The text as bytes."""
        self.enter()
        try:
            return PyBytes_FromStringAndSize(<char*> self.state.text, self.state.n)
        finally:
            self.busy = False

    cdef Py_ssize_t add_mark(self) except -1:
        """Mark the present state. Returns the mark's place."""
        if not push_mark(&self.state):
            raise MemoryError("no memory for the state of a growing text")
        return self.state.n_marks - 1

    cdef Py_ssize_t try_append(self, owner, Py_ssize_t limit, bint keeps_marks) except -1:
        """Mark the present state, then append. Returns the tokens; leaves no trace if it fails."""
        cdef Py_ssize_t added = 0, mark
        cdef const uint8_t* data = utf8_data(owner, &added)
        if not reserve_text(&self.state, added):
            raise MemoryError(f"no memory to append {added} bytes of text")
        if added > 0:   # of no bytes there may be no address
            memcpy(self.state.text + self.state.n, data, added)
        mark = self.add_mark()
        try:
            return self.read_on(mark, self.state.n + added, limit, keeps_marks)
        except BaseException:
            go_back(&self.state, mark)
            self.state.n_marks = mark
            raise

    cdef Py_ssize_t read_on(
        self, Py_ssize_t mark, Py_ssize_t end, Py_ssize_t limit, bint keeps_marks
    ) except -1:
        """Go from a mark to the state of text[:end]. Returns its tokens, as read_blocks does."""
        cdef State* state = &self.state
        cdef Py_ssize_t tokens
        cdef Workspace work = self.encoder.workspace()
        state.scratch = &work.scratch
        go_back(state, mark)
        if end - state.n < NOGIL_BYTES:
            tokens = read_blocks(state, end, limit, keeps_marks)
        else:
            with nogil:
                tokens = read_blocks(state, end, limit, keeps_marks)
        if tokens < 0:
            raise MemoryError(f"no memory to count {end} bytes of text")
        self.encoder.release(work)
        return tokens
