"""Count a text that grows to the left: the base class of `cutline.counting.Prepender`.

A scan looks at nothing before its start, and the text's right end stays where it is. So
the tokens from a place to the end, once a scan has started a piece there, are known for
good: they are kept by the place's distance from the end. A prepended text is scanned
until the scan comes to such a place, and no place is scanned from twice.

Two things keep that linear where every text makes one giant piece longer. A scan that
goes far into known text keeps the automaton's state after each character; the next such
scan, once in the same state at the same place, ends as that one did. And the piece's
tokens come from the table of its suffixes, which grows to the left as well.

Guarded by tests/counting/test_prepender.py.
"""

from cpython.number cimport PyNumber_Index
from cpython.unicode cimport PyUnicode_DecodeUTF8
from cython cimport auto_pickle, critical_section
from libc.stdlib cimport free, malloc

from cutline.kernels.base.common cimport (
    INTERRUPTED, MERGE_LIMIT, NO_MEMORY, NONE, NOT_FOUND, char_bytes, characters_in, grow, is_continuation,
    memcpy, memset, uint8_t, uint32_t,
)
from cutline.kernels.base.signals cimport is_interrupted, run_handlers
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport Prefixes, free_prefixes, suffix_tokens
from cutline.kernels.encode.batches cimport (
    BATCH_PIECES, Batch, EncoderState, OwnedState, add_to_batch, encode_after,
)
from cutline.kernels.encode.encoder cimport Encoder, plain_utf8, utf8_data
from cutline.kernels.scan.scan cimport ACCEPTS, Scanner, accepted_end, accepts_end, scan_piece, step

cdef enum:
    LOOK_BYTES = 64             # scans that go further into known text keep their states
    KEPT_START_SLOTS = 1 << 14  # a larger buffer is freed after use

# Where a scan started a piece, or skipped a character that is in none. In this file, a
# `rest` is the number of bytes from a place to the text's end.
cdef struct Start:
    uint32_t rest
    uint32_t tokens_before      # since the scan began

# The last scan that went far into known text, each place given by its rest.
cdef struct LongScan:
    Py_ssize_t start            # states are those of places below this
    Py_ssize_t stop             # from this on
    Py_ssize_t piece_end        # or NOT_FOUND
    Py_ssize_t accepted         # before this place the piece's end was not known; -1: at the end


@auto_pickle(False)
cdef class Prepending:
    """A text that grows at its left end, and its tokens; `Prepender` adds everything else.

    The GIL, or this object's lock where there is none, is held while it changes.

    Args:
        encoder: must have scan tables.

    A subclass has `_utf8_of(text)`: the UTF-8 of any str, as bytes or a str that is ASCII;
    it refuses all else.
    """

    cdef Encoder encoder
    cdef const Scanner* scanner
    cdef uint8_t* buffer        # filled from its right end
    cdef Py_ssize_t end         # of the buffer and of the text
    cdef Py_ssize_t n_bytes, n_characters
    cdef uint32_t* counts       # rest -> tokens up to the end; NONE: no scan started there
    cdef Py_ssize_t count_slots
    cdef Start* starts
    cdef Py_ssize_t start_slots
    cdef uint32_t* dfa_states   # rest -> the state in which `long_scan` was there
    cdef Py_ssize_t state_slots
    cdef LongScan long_scan
    cdef Prefixes suffixes      # mirrored; of the last long piece that reached into known text

    def __cinit__(self, Encoder encoder not None, *_):
        if encoder.scan_tables is None:
            raise ValueError("prepending needs an encoder with scan tables")
        self.encoder = encoder
        self.scanner = &encoder.scan_tables.scanner
        self.suffixes.keeps_depths = True
        if not self.make_room(0):
            raise MemoryError("no memory for an empty text")
        self.counts[0] = 0

    def __dealloc__(self):
        free(self.buffer)
        free(self.counts)
        free(self.starts)
        free(self.dfa_states)
        free_prefixes(&self.suffixes)

    @property
    def count(self):
        """How many tokens the text has, `len(tokens())`.

        Cost: O(1).
        """
        with critical_section(self):
            return self.counts[self.n_bytes]

    @property
    def text_length(self):
        """The length of the text in code points.

        Cost: O(1).
        """
        with critical_section(self):
            return self.n_characters

    @property
    def text(self):
        """The text so far.

        Cost: linear in it.
        """
        with critical_section(self):
            return PyUnicode_DecodeUTF8(
                <const char*> self.buffer + self.end - self.n_bytes, self.n_bytes, NULL
            )

    def prepend(self, text):
        """Put a text before the text so far.

        Args:
            text: any string without surrogates; special-token text is ordinary text.

        Raises:
            SurrogateError: (a ValueError) the text has a surrogate code point.
            MemoryError: there is no room for it, or the whole text exceeds 4 GiB.

        Cost: that of encoding it with the pieces that it joins; amortised over all prepends,
        linear in all text, also one character at a time, also where each makes one giant
        piece longer, which is scanned again once. Not amortised are
        split patterns that read one run in many ways (`(?:aa)*b|a`; none in public use),
        and `truncate` or `fits` between prepends where a run is read in two ways ("\\n"
        before blanks, and not; a letter before a run of Chinese): then a call can cost as
        much as that run is long.

        >>> import cutline
        >>> prepender = cutline.get_encoding("o200k_base").prepender("world")
        >>> prepender.prepend("hello ")
        >>> prepender.count, prepender.text
        (2, 'hello world')
        """
        self.extend(self.owner_of(text), True)

    def fits(self, text, max_tokens):
        """Tell whether `count` would be at most `max_tokens` after `prepend(text)`.

        A longer text can have fewer tokens, so this can hold where `count` is greater now.

        Raises:
            ValueError: max_tokens is negative.
            SurrogateError, MemoryError: as `prepend`.

        Cost: as `prepend`; the memory of the largest text asked about stays in reserve. Unless
        the split pattern leaves gaps, it takes nothing where the text is longer than
        max_tokens tokens can be.

        >>> import cutline
        >>> prepender = cutline.get_encoding("o200k_base").prepender("formações")
        >>> prepender.count, prepender.fits(" in", 1)
        (2, True)
        """
        cdef Py_ssize_t n = 0
        max_tokens = PyNumber_Index(max_tokens)
        if max_tokens < 0:
            raise ValueError(f"max_tokens must be 0 or more, got {max_tokens}")
        owner = self.owner_of(text)
        utf8_data(owner, &n)
        most = self.encoder._max_normalized_bytes_of(max_tokens)
        with critical_section(self):
            n += self.n_bytes
        if most is not None and n > most:
            return False
        return self.extend(owner, False) <= max_tokens

    def _keep_last(self, Py_ssize_t length):
        """Drop all but the last `length` code points: from 0 to text_length (trusted)."""
        cdef OwnedState owned = self.encoder.take_state()
        cdef Py_ssize_t outcome
        with critical_section(self):
            outcome = self.drop(&owned.state, self.n_characters - length)
        self.check(outcome)
        self.encoder.release(owned)

    def _take(self, Prepending other not None):
        """Become a copy of another one of the same encoding; this one must be empty."""
        cdef bint taken
        with critical_section(other):
            taken = self.make_room(other.n_bytes)
            if taken:
                self.n_bytes = other.n_bytes
                self.n_characters = other.n_characters
                memcpy(
                    self.buffer + self.end - self.n_bytes,
                    other.buffer + other.end - other.n_bytes, self.n_bytes,
                )
                memcpy(self.counts, other.counts, (self.n_bytes + 1) * sizeof(uint32_t))
        if not taken:
            raise MemoryError("no memory for a copy of the text")

    cdef object owner_of(self, text):
        """The text's UTF-8, quickly where it is plain."""
        owner = plain_utf8(text)
        return owner if owner is not None else self._utf8_of(text)

    cdef Py_ssize_t extend(self, object owner, bint keep) except -1:
        """Put a text before the one that is there; returns the tokens of both."""
        cdef Py_ssize_t n = 0, outcome
        cdef const uint8_t* added = utf8_data(owner, &n)
        cdef OwnedState owned = self.encoder.take_state()
        owned.state.lookups.watch.is_on = owned.state.lookups.watch.defers = True
        while True:
            with critical_section(self):
                outcome = self.add(&owned.state, added, n, keep)
            if outcome != INTERRUPTED:
                break
            run_handlers()
        self.check(outcome)
        owned.state.lookups.watch.defers = False
        self.encoder.release(owned)
        return outcome

    cdef int check(self, Py_ssize_t outcome) except -1:
        if outcome < 0:
            raise MemoryError(
                f"no memory for more than the {self.n_bytes} bytes of text that there are; "
                "4 GiB is the most in any case"
            )
        return 0

    # What follows uses no Python object, so that no other thread comes between.

    cdef Py_ssize_t add(
        self, EncoderState* state, const uint8_t* added, Py_ssize_t n, bint keep
    ) noexcept:
        """Put n bytes before the text and count all; `keep` them unless that fails."""
        cdef Py_ssize_t start, total
        if not self.make_room(n):
            return NO_MEMORY
        start = self.end - self.n_bytes - n
        memcpy(self.buffer + start, added, n)
        memset(self.counts + self.n_bytes + 1, 0xFF, n * sizeof(uint32_t))
        total = self.rescan(state, start, start + n)
        if total < 0 or not keep:
            self.forget_beyond(self.n_bytes)
            return total
        self.n_bytes += n
        self.n_characters += characters_in(added, n, n)
        return total

    cdef Py_ssize_t drop(self, EncoderState* state, Py_ssize_t n_characters) noexcept:
        """Drop so many characters at the left end and count the rest."""
        cdef Py_ssize_t start = self.end - self.n_bytes, dropped = 0, total
        while dropped < n_characters and start < self.end:
            start += char_bytes(self.buffer[start])
            dropped += 1
        total = self.rescan(state, start, start)
        if total >= 0:
            self.n_bytes = self.end - start
            self.n_characters -= dropped
            self.forget_beyond(self.n_bytes)
        return total

    cdef bint make_room(self, Py_ssize_t added) noexcept:
        """Make room for so many more bytes of text. False: no memory, or too much text."""
        cdef Py_ssize_t needed = self.n_bytes + added, capacity
        cdef uint8_t* buffer
        if needed >= NONE or not grow(
            <void**> &self.counts, &self.count_slots, needed + 1, sizeof(uint32_t)
        ):
            return False
        if needed <= self.end and self.buffer != NULL:
            return True
        capacity = needed + needed // 2 + 64
        buffer = <uint8_t*> malloc(capacity)
        if buffer == NULL:
            return False
        if self.n_bytes > 0:
            memcpy(
                buffer + capacity - self.n_bytes, self.buffer + self.end - self.n_bytes,
                self.n_bytes,
            )
        free(self.buffer)
        self.buffer = buffer
        self.suffixes.start += capacity - self.end
        self.end = capacity
        return True

    cdef void forget_beyond(self, Py_ssize_t n_bytes) noexcept:
        """Forget what long scans and pieces left of the last so many bytes were found to be."""
        cdef Py_ssize_t after_piece = self.end - self.suffixes.start
        self.long_scan.start = min(self.long_scan.start, n_bytes + 1)
        self.suffixes.frontier = max(min(self.suffixes.frontier, n_bytes - after_piece), 0)

    cdef Py_ssize_t rescan(
        self, EncoderState* state,
        Py_ssize_t start,
        Py_ssize_t known,       # in: from here on, text was scanned before
    ) noexcept:
        """Tokens of the text from `start` on, or NO_MEMORY or INTERRUPTED."""
        cdef Batch batch
        cdef Py_ssize_t at = start, total = 0, n_starts = 0, added, piece
        while self.counts[self.end - at] == NONE:
            at = self.find_pieces(at, known, &batch)
            added = self.count_pieces(state, known, &batch)
            if added < 0:
                return added
            if is_interrupted(&state.lookups.watch, at - batch.starts[0]):
                return INTERRUPTED
            if not grow(
                <void**> &self.starts, &self.start_slots, n_starts + batch.count, sizeof(Start)
            ):
                return NO_MEMORY
            for piece in range(batch.count):
                self.starts[n_starts].rest = self.end - batch.starts[piece]
                self.starts[n_starts].tokens_before = total + (
                    batch.totals[piece - 1] if piece > 0 else 0
                )
                n_starts += 1
            total += added
        total += self.counts[self.end - at]
        for piece in range(n_starts):
            self.counts[self.starts[piece].rest] = total - self.starts[piece].tokens_before
        if self.start_slots > KEPT_START_SLOTS:
            free(self.starts)
            self.starts = NULL
            self.start_slots = 0
        return total

    cdef Py_ssize_t find_pieces(self, Py_ssize_t at, Py_ssize_t known, Batch* batch) noexcept:
        """Find the next pieces, up to a place that is known. Returns where they end.

        A character that no piece covers is a piece of no bytes. A long piece that reaches
        into known text makes a batch of its own.
        """
        cdef Py_ssize_t piece_end
        cdef bint grown = False
        batch.count = 0
        while not grown and batch.count < BATCH_PIECES and self.counts[self.end - at] == NONE:
            piece_end = self.piece_end(at, known)
            grown = piece_end > known and piece_end - at > MERGE_LIMIT
            if grown and batch.count > 0:
                break
            add_to_batch(batch, at, max(at, piece_end))
            at = piece_end if piece_end >= 0 else at + char_bytes(self.buffer[at])
        return at

    cdef Py_ssize_t count_pieces(
        self, EncoderState* state, Py_ssize_t known, Batch* batch
    ) noexcept:
        """Tokens of the pieces that find_pieces found, or NO_MEMORY or INTERRUPTED."""
        cdef const Bpe* bpe = &self.encoder.tables.bpe
        cdef Py_ssize_t start = batch.starts[0], piece_end = batch.ends[batch.count - 1], tokens
        if batch.count > 1 or piece_end <= known or piece_end - start <= MERGE_LIMIT:
            return encode_after(bpe, state, 0, self.buffer, self.end, batch)
        tokens = suffix_tokens(
            &self.suffixes, bpe, &state.lookups, self.buffer, start, piece_end
        )
        batch.totals[0] = tokens
        return tokens

    cdef Py_ssize_t piece_end(self, Py_ssize_t start, Py_ssize_t known) noexcept:
        """Where the piece that starts here ends, or NOT_FOUND."""
        cdef Py_ssize_t window = max(start, known) + LOOK_BYTES, lookahead_end = 0, piece_end
        if window < self.end:
            while is_continuation(self.buffer[window]):
                window -= 1
            piece_end = scan_piece(self.scanner, self.buffer, start, window, &lookahead_end)
            if lookahead_end <= window:
                return piece_end
            if grow(
                <void**> &self.dfa_states, &self.state_slots, self.end - start + 1, sizeof(uint32_t)
            ):
                return self.far_piece_end(start)
        return scan_piece(self.scanner, self.buffer, start, self.end, &lookahead_end)

    cdef Py_ssize_t far_piece_end(self, Py_ssize_t start) noexcept:
        """The same, by a scan that ends where it joins the last such scan."""
        cdef const Scanner* scanner = self.scanner
        cdef const LongScan* last = &self.long_scan
        cdef LongScan scan
        cdef Py_ssize_t at = start, before, rest = self.end - start
        cdef uint32_t dfa_state = scanner.start_state, entry
        scan.start = scan.accepted = rest
        scan.stop = 0
        scan.piece_end = NOT_FOUND
        while rest > 0:
            before = rest
            entry = step(scanner, dfa_state, self.buffer, &at)
            rest = self.end - at
            scan.piece_end = accepted_end(entry, before, rest, scan.piece_end)
            if entry & ACCEPTS:
                scan.accepted = rest
            dfa_state = entry >> 2
            if dfa_state == 0:
                scan.stop = rest + 1
                break
            if last.stop <= rest < last.start and self.dfa_states[rest] == dfa_state:
                scan.stop = last.stop
                if last.accepted < rest:
                    scan.piece_end = last.piece_end
                    scan.accepted = last.accepted
                break
            self.dfa_states[rest] = dfa_state
        else:
            if accepts_end(scanner, dfa_state):
                scan.piece_end = 0
                scan.accepted = -1
        self.long_scan = scan
        return self.end - scan.piece_end if scan.piece_end != NOT_FOUND else NOT_FOUND
