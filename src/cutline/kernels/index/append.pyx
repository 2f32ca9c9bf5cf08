"""Count the tokens of a text that grows, and is cut, at its end. Its scans: see `live_scans`.

Guarded by tests/counting/test_appender.py.
"""

import os
from time import sleep

from cpython.bytes cimport PyBytes_FromStringAndSize

from cython cimport auto_pickle

from cutline.kernels.base.common cimport INTERRUPTED, NO_LIMIT, char_bytes, memcpy, uint8_t
from cutline.kernels.base.signals cimport raise_pending
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.encode.encoder cimport Encoder, plain_utf8, utf8_data
from cutline.kernels.index.live_scans cimport (
    LiveText, begin, copy_live, end_live, go_back, is_far, last_checkpoint, push_checkpoint,
    read_blocks, read_while_open, reserve_text,
)

cdef extern from "native.h":
    Py_ssize_t enter "cutline_enter"(Py_ssize_t* place, Py_ssize_t mine) noexcept nogil
    void leave "cutline_leave"(Py_ssize_t* place) noexcept nogil
    void show "cutline_set"(Py_ssize_t* place, Py_ssize_t number) noexcept nogil
    Py_ssize_t shown "cutline_get"(const Py_ssize_t* place) noexcept nogil

cdef enum:
    NOGIL_BYTES = 4096          # shorter texts are done before another thread could start

# What `read_on` reads for.
cdef enum Purpose:
    TO_KEEP                     # with checkpoints
    TO_COUNT
    TO_REACH

cdef double WAIT_SECONDS = 5e-5
cdef Py_ssize_t process = 1     # one more than in the process that this one was forked from


def _begin_process():
    global process
    process += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_process)


cdef bint put(LiveText* live, const uint8_t* data, Py_ssize_t n) noexcept nogil:
    """Put bytes behind the text, that they can be read. False: no memory."""
    if not reserve_text(live, n):
        return False
    if n > 0:   # of no bytes there may be no address
        memcpy(live.text + live.n, data, n)
    return True


cdef Py_ssize_t read_for(
    Purpose purpose, LiveText* live, Py_ssize_t end, Py_ssize_t limit
) noexcept nogil:
    """Read up to text[:end]. The tokens or, to reach, the characters read; or what failed."""
    if purpose == TO_REACH:
        return read_while_open(live, end, limit)
    return read_blocks(live, end, limit, purpose == TO_KEEP)


@auto_pickle(False)
cdef class Growing:
    """A text that grows and is cut at its end, and its tokens; `cutline.Appender` adds the rest.

    Args:
        encoder: must have scan tables.
        as_utf8: gives the UTF-8 of what is no plain text: bytes, or a str that is ASCII. It
            raises where that can't be.

    Any number of threads may change it: each call is done whole, and the others wait.
    """

    cdef Encoder encoder
    cdef object as_utf8
    cdef LiveText live
    cdef Py_ssize_t busy_in     # the process in which a thread is at work; 0: none is
    cdef Py_ssize_t n_tokens, n_chars       # read while another thread is at work, too

    def __cinit__(self, Encoder encoder not None, as_utf8 not None):
        if encoder.scan_tables is None:
            raise ValueError("a growing text needs an encoder with scan tables")
        self.encoder = encoder
        self.as_utf8 = as_utf8
        self.live.bpe = &encoder.tables.bpe
        self.live.scanner = &encoder.scan_tables.scanner
        if not begin(&self.live):
            raise MemoryError("no memory for a growing text")

    def __dealloc__(self):
        end_live(&self.live)

    @property
    def count(self):            # `Appender` documents these
        return shown(&self.n_tokens)

    @property
    def text_length(self):
        return shown(&self.n_chars)

    cdef int enter(self) except -1:
        """Wait until no other thread is at work: rare, so without a lock to take each time."""
        cdef Py_ssize_t busy_in
        while True:
            busy_in = enter(&self.busy_in, process)
            if busy_in == 0:
                return 0
            if busy_in != process:
                raise RuntimeError(
                    "this process was forked while another thread changed the growing text, whose "
                    "state is lost here: make a new one"
                )
            sleep(WAIT_SECONDS)

    cdef object utf8_owner(self, text):
        owner = plain_utf8(text)
        return owner if owner is not None else self.as_utf8(text)

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
        cdef Py_ssize_t checkpoint
        self.enter()
        try:
            checkpoint = self.live.n_checkpoints
            show(&self.n_tokens, self.try_append(owner, NO_LIMIT, TO_KEEP))
            show(&self.n_chars, self.live.chars)
            if self.live.n_checkpoints == checkpoint + 1 and not is_far(
                &self.live, checkpoint - 1, self.live.checkpoints[checkpoint].n,
                self.live.checkpoints[checkpoint].n_scans,
            ):
                self.live.n_checkpoints = checkpoint
        finally:
            leave(&self.busy_in)

    def _fits(self, text, Py_ssize_t max_tokens):
        """Whether append(text) would lead to at most so many tokens; changes nothing."""
        return self.try_only(text, max_tokens, TO_COUNT) <= max_tokens

    def _reach(self, text, Py_ssize_t max_tokens):
        """The first code points of a text after which there may be at most so many tokens yet.

        With one more there are more, whatever is appended then. It may be all of them. Changes
        nothing.
        """
        return self.try_only(text, max_tokens, TO_REACH)

    cdef Py_ssize_t try_only(self, text, Py_ssize_t max_tokens, Purpose purpose) except -1:
        """Do what try_append does, and go back."""
        cdef object owner = self.utf8_owner(text)
        cdef Py_ssize_t checkpoint, found
        self.enter()
        try:
            checkpoint = self.live.n_checkpoints
            found = self.try_append(owner, max_tokens, purpose)
            go_back(&self.live, checkpoint)
            self.live.n_checkpoints = checkpoint
        finally:
            leave(&self.busy_in)
        return found

    def _truncate(self, Py_ssize_t length):
        """Keep the first code points, 0 to text_length of them."""
        cdef Py_ssize_t checkpoint, base, end, left
        self.enter()
        try:
            # Another thread may have cut the text since the length was checked.
            length = min(length, self.n_chars)
            checkpoint = self.add_checkpoint()
            base = last_checkpoint(&self.live, length)
            end = self.live.checkpoints[base].n
            for left in range(length - self.live.checkpoints[base].chars):
                end += char_bytes(self.live.text[end])
            try:
                show(&self.n_tokens, self.read_on(base, end, NO_LIMIT, TO_COUNT))
            except BaseException:
                go_back(&self.live, checkpoint)
                self.live.n_checkpoints = checkpoint
                raise
            self.live.n_checkpoints = base + 1
            show(&self.n_chars, length)
        finally:
            leave(&self.busy_in)

    def _copy_to(self, Growing twin not None):
        """Give a fresh one the same text."""
        self.enter()
        try:
            if not copy_live(&twin.live, &self.live):
                raise MemoryError(f"no memory for a copy of {self.live.n} bytes of text")
            twin.n_tokens = self.n_tokens
            twin.n_chars = self.n_chars
        finally:
            leave(&self.busy_in)

    def _utf8(self):
        """The text as bytes."""
        self.enter()
        try:
            return PyBytes_FromStringAndSize(<char*> self.live.text, self.live.n)
        finally:
            leave(&self.busy_in)

    cdef Py_ssize_t add_checkpoint(self) except -1:
        """Checkpoint the present state. Returns the checkpoint's place."""
        if not push_checkpoint(&self.live):
            raise MemoryError("no memory for the state of a growing text")
        return self.live.n_checkpoints - 1

    cdef Py_ssize_t try_append(self, owner, Py_ssize_t limit, Purpose purpose) except -1:
        """Append from a checkpoint. Returns what read_on does; leaves no trace if it fails."""
        cdef Py_ssize_t added = 0, checkpoint
        cdef const uint8_t* data = utf8_data(owner, &added)
        cdef bint done
        if added < NOGIL_BYTES:
            done = put(&self.live, data, added)
        else:
            with nogil:
                done = put(&self.live, data, added)
        if not done:
            raise MemoryError(f"no memory to append {added} bytes of text")
        checkpoint = self.add_checkpoint()
        try:
            return self.read_on(checkpoint, self.live.n + added, limit, purpose)
        except BaseException:
            go_back(&self.live, checkpoint)
            self.live.n_checkpoints = checkpoint
            raise

    cdef Py_ssize_t read_on(
        self, Py_ssize_t checkpoint, Py_ssize_t end, Py_ssize_t limit, Purpose purpose
    ) except -1:
        """Go from a checkpoint to the state of text[:end]. Returns what the reader does."""
        cdef LiveText* live = &self.live
        cdef Py_ssize_t found
        cdef OwnedState owned = self.encoder.take_state()
        live.state = &owned.state
        go_back(live, checkpoint)
        if end - live.n < NOGIL_BYTES:
            found = read_for(purpose, live, end, limit)
        else:
            owned.state.lookups.watch.is_on = True
            with nogil:
                found = read_for(purpose, live, end, limit)
        if found == INTERRUPTED:
            raise_pending()
        if found < 0:
            raise MemoryError(f"no memory to count {end} bytes of text")
        self.encoder.release(owned)
        return found
