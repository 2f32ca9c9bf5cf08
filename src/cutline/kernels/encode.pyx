"""Encode and count whole texts: scan a batch of pieces, look each one up, encode the rest.

Nearly every piece was seen before. Its bytes fit two words, so a direct-mapped
cache in front answers in one probe; a batch is worked in two passes, the first of
which hashes and prefetches. Caches only ever hold what encoding the piece gave:
the result is the same with every cache of size one, or empty (tests do just that).
"""

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_AsUTF8String
from libc.stdlib cimport calloc, free, malloc, realloc

from cutline.kernels.bpe cimport backtrack, find_token, merge
from cutline.kernels.common cimport (
    MERGE_LIMIT, NONE, SHORT_PIECE, char_bytes, hash_key, load64, low_bytes, memcpy, memset,
    prefetch, scramble, short_key,
)
from cutline.kernels.decode cimport list_of_ids
from cutline.kernels.scan cimport scan_piece

import numpy as np

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)

# More tokens than any text has, with room to add one.
cdef Py_ssize_t NO_LIMIT = <Py_ssize_t> (<size_t> -1 >> 2)

cdef enum:
    NOGIL_BYTES = 4096          # shorter texts are done before another thread could start
    NO_MEMORY = -1              # instead of a number of tokens
    NEED_TRIE = -2
    KEPT_OUT_SLOTS = 1 << 22    # a workspace that grew beyond this gives its buffers back
    KEPT_WORKSPACES = 64
    PREFILLED_TOKENS = 1 << 16


cdef class Workspace:

    def __cinit__(self, int front_bits, int longer_bits):
        cdef size_t front_bytes = sizeof(FrontEntry) << max(front_bits, 0)
        cdef size_t longer_bytes = sizeof(LongEntry) << max(longer_bits, 0)
        cdef size_t start
        self.memory = calloc(1, front_bytes + longer_bytes + 64)
        if self.memory == NULL:
            raise MemoryError(f"no {front_bytes + longer_bytes} bytes for the piece caches")
        start = (<size_t> self.memory + 63) & ~<size_t> 63
        # Longer entries first: each then is one cache line, whatever the front's size.
        self.scratch.longer = <LongEntry*> start
        self.scratch.longer_mask = (<uint64_t> 1 << max(longer_bits, 0)) - 1
        self.scratch.front = <FrontEntry*> (start + longer_bytes)
        self.scratch.front_mask = (<uint64_t> 1 << max(front_bits, 0)) - 1
        self.scratch.stores = front_bits >= 0

    def __dealloc__(self):
        free(self.memory)
        free(self.scratch.out)
        free(self.scratch.bits)


cdef bint reserve(Scratch* scratch, Py_ssize_t out_slots) noexcept nogil:
    """Make room for so many tokens in all, keeping those already there. False: no memory."""
    cdef uint32_t* grown
    if out_slots <= scratch.out_slots:
        return True
    out_slots += out_slots // 2
    grown = <uint32_t*> realloc(scratch.out, out_slots * sizeof(uint32_t))
    if grown == NULL:
        return False
    scratch.out = grown
    scratch.out_slots = out_slots
    return True


cdef bint reserve_bits(Scratch* scratch, Py_ssize_t words) noexcept nogil:
    cdef uint64_t* grown
    if words <= scratch.bits_words:
        return True
    grown = <uint64_t*> realloc(scratch.bits, words * sizeof(uint64_t))
    if grown == NULL:
        return False
    scratch.bits = grown
    scratch.bits_words = words
    return True


cdef Py_ssize_t fill_batch(
    Source* source,
    const uint8_t* text, Py_ssize_t at, Py_ssize_t end,     # in: text[at:end] is to be cut
    Py_ssize_t most,                                        # in: at most so many pieces
    Batch* batch,                                           # out
) noexcept nogil:
    """Find the next pieces. Returns where the last one ends (end: there are no more).

    Text that no piece covers is a piece of no bytes: it encodes to nothing.
    """
    cdef Py_ssize_t count = 0, piece_end
    if most > BATCH_PIECES:
        most = BATCH_PIECES
    if source.scanner == NULL:
        while count < most and source.next_span < source.n_spans:
            batch.starts[count] = source.starts[source.next_span]
            batch.ends[count] = source.ends[source.next_span]
            batch.examined[count] = end + 1
            at = batch.ends[count]
            source.next_span += 1
            count += 1
        batch.count = count
        return end if source.next_span == source.n_spans else at
    while count < most and at < end:
        piece_end = scan_piece(source.scanner, text, at, end, &batch.examined[count])
        if piece_end < 0:
            at += char_bytes(text[at])
            batch.starts[count] = at
        else:
            batch.starts[count] = at
            at = piece_end
        batch.ends[count] = at
        count += 1
    batch.count = count
    return at


cdef Py_ssize_t encode_batch(
    const Bpe* bpe, Scratch* scratch,
    const uint8_t* text, Py_ssize_t end,    # in: nothing at or beyond text[end] is read
    Batch* batch,                           # in: starts and ends; out: totals
    uint32_t* out,                          # out: a slot for each byte, and four to spare
) noexcept nogil:
    """Encode the pieces of a batch. Returns the number of tokens, NO_MEMORY or NEED_TRIE."""
    cdef Key keys[BATCH_PIECES]
    cdef FrontEntry* slots[BATCH_PIECES]
    cdef FrontEntry* entry
    cdef uint32_t* next_out = out
    cdef Py_ssize_t piece, n, added
    for piece in range(batch.count):
        n = batch.ends[piece] - batch.starts[piece]
        if n <= SHORT_PIECE:
            keys[piece] = short_key(text + batch.starts[piece], n, text + end)
            slots[piece] = scratch.front + (hash_key(keys[piece]) >> 40 & scratch.front_mask)
            prefetch(slots[piece])
        else:
            # A key that is never stored, so that the loop below has one comparison.
            keys[piece].low = 0
            keys[piece].high = <uint64_t> 0xFF << 56
            slots[piece] = scratch.front
    for piece in range(batch.count):
        entry = slots[piece]
        if entry.key.low == keys[piece].low and entry.key.high == keys[piece].high:
            memcpy(next_out, entry.tokens, 4 * sizeof(uint32_t))
            next_out += entry.count
        else:
            added = encode_missed(
                bpe, scratch, text + batch.starts[piece],
                batch.ends[piece] - batch.starts[piece], entry, keys[piece], next_out,
            )
            if added < 0:
                return added
            next_out += added
        batch.totals[piece] = next_out - out
    return next_out - out


cdef Py_ssize_t encode_missed(
    const Bpe* bpe, Scratch* scratch, const uint8_t* piece, Py_ssize_t n,
    FrontEntry* front, Key key, uint32_t* out,
) noexcept nogil:
    """Encode a piece that the front does not hold, and remember it."""
    cdef LongEntry* longer = NULL
    cdef uint64_t words[4]
    cdef Py_ssize_t count
    cdef uint32_t token
    if n > LONG_PIECE:
        return encode_piece(bpe, scratch, piece, n, True, out)
    if n <= SHORT_PIECE:
        token = find_token(bpe, piece, n)
        if token != NONE:
            out[0] = bpe.ids[token]
            if scratch.stores:
                store_front(front, key, out, 1)
            return 1
    memset(words, 0, sizeof(words))
    memcpy(words, piece, n)
    words[3] |= <uint64_t> n << 56
    longer = scratch.longer + (hash_words(words) & scratch.longer_mask)
    if (
        longer.key[0] == words[0] and longer.key[1] == words[1]
        and longer.key[2] == words[2] and longer.key[3] == words[3]
    ):
        memcpy(out, longer.tokens, longer.count * sizeof(uint32_t))
        return longer.count
    count = encode_piece(bpe, scratch, piece, n, True, out)
    if count < 0 or not scratch.stores:
        return count
    if n <= SHORT_PIECE and count <= FRONT_TOKENS:
        store_front(front, key, out, count)
    elif count <= LONG_TOKENS:
        memcpy(longer.key, words, sizeof(words))
        memcpy(longer.tokens, out, count * sizeof(uint32_t))
        longer.count = count
    return count


cdef inline void store_front(
    FrontEntry* front, Key key, const uint32_t* tokens, Py_ssize_t count
) noexcept nogil:
    front.key = key
    memcpy(front.tokens, tokens, count * sizeof(uint32_t))
    front.count = count


cdef inline uint64_t hash_words(const uint64_t* words) noexcept nogil:
    cdef uint64_t hashed = words[0] ^ words[1] * <uint64_t> 0x9E3779B97F4A7C15
    hashed = scramble(hashed ^ words[2] * <uint64_t> 0xC2B2AE3D27D4EB4F)
    return scramble(hashed ^ words[3]) >> 24


cdef Py_ssize_t encode_piece(
    const Bpe* bpe, Scratch* scratch,
    const uint8_t* piece, Py_ssize_t n,     # in: at least one byte
    bint whole_characters,                  # in: valid UTF-8
    uint32_t* out,                          # out: n slots
) noexcept nogil:
    """Token ids of one piece, from the vocabulary alone. Their number, NO_MEMORY or NEED_TRIE."""
    cdef uint32_t token = find_token(bpe, piece, n)
    cdef Py_ssize_t count = 1, at
    if token != NONE:
        out[0] = token
    elif n <= MERGE_LIMIT:
        count = merge(bpe, piece, n, whole_characters, out)
    elif not scratch.may_backtrack:
        return NEED_TRIE
    elif not reserve_bits(scratch, n // 64 + 1):
        return NO_MEMORY
    else:
        count = backtrack(bpe, piece, n, scratch.bits, out)
    for at in range(count):
        out[at] = bpe.ids[out[at]]
    return count


cdef Py_ssize_t encode_text(
    const Bpe* bpe, Source* source, Scratch* scratch,
    const uint8_t* text, Py_ssize_t n,
    Py_ssize_t before,      # in: tokens in scratch.out to keep, or -1: keep none, only count
    Py_ssize_t limit,       # in: stop once there are more tokens than this
) noexcept nogil:
    """Tokens of a text, appended to scratch.out. Their number, NO_MEMORY or NEED_TRIE."""
    cdef Batch batch
    cdef Py_ssize_t at = 0, next_at, total = 0, kept, added
    while at < n and total <= limit:
        next_at = fill_batch(source, text, at, n, limit - total + 1, &batch)
        kept = before + total if before >= 0 else 0
        if not reserve(scratch, kept + next_at - at + 4):
            return NO_MEMORY
        added = encode_batch(bpe, scratch, text, n, &batch, scratch.out + kept)
        if added < 0:
            return added
        total += added
        at = next_at
    return total


cdef object utf8_owner(str text):
    """An object that holds the text's UTF-8: the text itself where it is ASCII, else bytes.

    Lone surrogates become U+FFFD and surrogate pairs the character they stand for,
    as tiktoken does it. Never caches UTF-8 inside the string: that memory would stay.
    """
    if PyUnicode_IS_ASCII(text):
        return text
    try:
        return PyUnicode_AsUTF8String(text)
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return PyUnicode_AsUTF8String(text)


cdef const uint8_t* utf8_data(object owner, Py_ssize_t* n) except NULL:
    if isinstance(owner, bytes):
        n[0] = PyBytes_GET_SIZE(owner)
        return <const uint8_t*> PyBytes_AS_STRING(owner)
    return <const uint8_t*> PyUnicode_AsUTF8AndSize(owner, n)


cdef class Encoder:
    """Ordinary encoding and counting; `cutline.Encoding` adds everything else.

    Any number of threads may call it at once: each call takes a workspace of its
    own from a list of idle ones.
    """

    def _bind(
        self, BpeTables tables not None, ScanTables scan_tables, find_spans=None,
        tuple cache_bits=(17, 14),
    ):
        """Attach the tables. `cache_bits`: log2 of the entries of both caches; -1: no caches."""
        self.tables = tables
        self.scan_tables = scan_tables
        self.find_spans = find_spans
        self.cache_bits = cache_bits
        self.idle = []

    @property
    def _has_automaton(self):
        """Whether the split pattern runs on the scanner."""
        return self.scan_tables is not None

    cdef Workspace workspace(self):
        cdef Workspace work
        try:
            return self.idle.pop()
        except IndexError:
            work = Workspace(*self.cache_bits)
            prefill(&self.tables.bpe, &work.scratch)
            return work

    cdef int provide_trie(self, Workspace work) except -1:
        self.tables.need_trie()
        work.scratch.may_backtrack = True
        return 0

    cdef void release(self, Workspace work):
        if work.scratch.out_slots <= KEPT_OUT_SLOTS and len(self.idle) < KEPT_WORKSPACES:
            self.idle.append(work)

    cdef Source source(self):
        cdef Source source
        memset(&source, 0, sizeof(source))
        if self.scan_tables is not None:
            source.scanner = &self.scan_tables.scanner
        return source

    cdef tuple spans_of(self, bytes utf8):
        """Byte spans of the pieces, from the function that replaces the scanner."""
        starts, ends = self.find_spans(utf8.decode())
        places = np.frombuffer(utf8, dtype=np.uint8)
        characters = np.append(np.flatnonzero((places & 0xC0) != 0x80), len(utf8))
        return (
            np.ascontiguousarray(characters[starts], dtype=np.int64),
            np.ascontiguousarray(characters[ends], dtype=np.int64),
        )

    cdef Py_ssize_t run(
        self, Workspace work, object owner, Py_ssize_t before, Py_ssize_t limit
    ) except -1:
        """Encode a text's UTF-8 into the workspace; see encode_text."""
        cdef Py_ssize_t n = 0, total
        cdef const uint8_t* data = utf8_data(owner, &n)
        cdef Source source = self.source()
        cdef const Bpe* bpe = &self.tables.bpe
        cdef Scratch* scratch = &work.scratch
        cdef const int64_t[::1] starts, ends
        if source.scanner == NULL and n > 0:
            starts, ends = self.spans_of(owner if isinstance(owner, bytes) else owner.encode())
            source.n_spans = starts.shape[0]
            if source.n_spans == 0:
                return 0
            source.starts = &starts[0]
            source.ends = &ends[0]
        while True:
            if n < NOGIL_BYTES:
                total = encode_text(bpe, &source, scratch, data, n, before, limit)
            else:
                with nogil:
                    total = encode_text(bpe, &source, scratch, data, n, before, limit)
            if total >= 0:
                return total
            if total == NO_MEMORY:
                raise MemoryError(f"no memory for the tokens of {n} bytes of text")
            self.provide_trie(work)
            source.next_span = 0

    def encode_ordinary(self, str text not None):
        """Encode a text, special-token text as ordinary text.

        Args:
            text: any string; lone surrogates count as U+FFFD, as in tiktoken.

        Returns:
            Token ids, a list of int.

        Cost: linear in the text, whatever it is.

        >>> import cutline
        >>> cutline.get_encoding("o200k_base").encode_ordinary("hello world")
        [24912, 2375]
        """
        cdef Workspace work = self.workspace()
        cdef Py_ssize_t total = self.run(work, utf8_owner(text), 0, NO_LIMIT)
        tokens = list_of_ids(work.scratch.out, total)
        self.release(work)
        return tokens

    def _encode_to_numpy(self, str text not None):
        """Encode like encode_ordinary into a uint32 array."""
        cdef Workspace work = self.workspace()
        cdef Py_ssize_t total = self.run(work, utf8_owner(text), 0, NO_LIMIT)
        tokens = copy_ids(work.scratch.out, total)
        self.release(work)
        return tokens

    def count(self, str text not None):
        """Count the tokens of a text: `len(encode_ordinary(text))`, without the list.

        Special-token text such as `<|endoftext|>` counts as the ordinary text it is.

        Args:
            text: any string.

        Returns:
            The number of tokens.

        Cost: linear in the text; memory does not grow with it.

        >>> import cutline
        >>> cutline.get_encoding("o200k_base").count("hello world")
        2
        """
        cdef Workspace work = self.workspace()
        cdef Py_ssize_t total = self.run(work, utf8_owner(text), -1, NO_LIMIT)
        self.release(work)
        return total

    def count_till_limit(self, str text not None, Py_ssize_t limit):
        """Count the tokens of a text, but give up once there are more than `limit`.

        Args:
            text: any string.
            limit: the greatest count of interest, 0 or more.

        Returns:
            The count, or None where it exceeds the limit.

        Raises:
            ValueError: the limit is negative.

        Cost: linear in the part of the text that makes limit + 1 tokens.

        >>> import cutline
        >>> enc = cutline.get_encoding("o200k_base")
        >>> enc.count_till_limit("hello world", 2), enc.count_till_limit("hello world", 1)
        (2, None)
        """
        if limit < 0:
            raise ValueError(f"limit must be 0 or more, got {limit}")
        cdef Workspace work = self.workspace()
        cdef Py_ssize_t total = self.run(
            work, utf8_owner(text), -1, min(limit, NO_LIMIT)
        )
        self.release(work)
        return total if total <= limit else None

    cdef object run_block(self, Workspace work, list texts, bint keep):
        """Encode texts one after the other, the GIL released over all of them.

        Returns int64 token counts; the tokens are in the workspace where kept.
        """
        cdef Py_ssize_t n = len(texts), at, total = 0, added = 0, size = 0
        cdef list owners = [utf8_owner(text) for text in texts]
        cdef size_t[::1] addresses = np.empty(n, dtype=np.uintp)
        cdef Py_ssize_t[::1] sizes = np.empty(n, dtype=np.intp)
        cdef Source source = self.source()
        counts = np.zeros(n, dtype=np.int64)
        cdef int64_t[::1] out = counts
        if source.scanner == NULL:
            for at in range(n):
                out[at] = self.run(work, owners[at], total if keep else -1, NO_LIMIT)
                total += out[at]
            return counts
        for at in range(n):
            addresses[at] = <size_t> utf8_data(owners[at], &size)
            sizes[at] = size
        at = 0
        while at < n:
            with nogil:
                while at < n:
                    added = encode_text(
                        &self.tables.bpe, &source, &work.scratch, <const uint8_t*> addresses[at],
                        sizes[at], total if keep else -1, NO_LIMIT,
                    )
                    if added < 0:
                        break
                    out[at] = added
                    total += added
                    at += 1
            if added == NO_MEMORY:
                raise MemoryError(f"no memory for the tokens of {n} texts")
            if added == NEED_TRIE:
                self.provide_trie(work)
        return counts

    def _encode_block(self, list texts not None):
        """Encode texts like encode_ordinary: a list of lists."""
        cdef Workspace work = self.workspace()
        cdef const int64_t[::1] counts = self.run_block(work, texts, True)
        cdef Py_ssize_t at, done = 0
        cdef list tokens = []
        for at in range(counts.shape[0]):
            tokens.append(list_of_ids(work.scratch.out + done, counts[at]))
            done += counts[at]
        self.release(work)
        return tokens

    def _count_block(self, list texts not None):
        """Count the tokens of each text: int64, shape (texts,)."""
        cdef Workspace work = self.workspace()
        counts = self.run_block(work, texts, False)
        self.release(work)
        return counts

    def _token_id(self, bytes piece not None):
        """The id of the token with exactly these bytes, or None."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(piece)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(piece)
        cdef uint32_t token = find_token(&self.tables.bpe, data, n) if n > 0 else NONE
        return self.tables.bpe.ids[token] if token != NONE else None

    def _encode_bytes_as_piece(self, bytes piece not None):
        """Encode bytes, not necessarily UTF-8, as one piece. A list of ids."""
        cdef Workspace work = self.workspace()
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(piece)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(piece), total = -1
        if n == 0:
            return []
        self.provide_trie(work)
        with nogil:
            if reserve(&work.scratch, n):
                total = encode_piece(
                    &self.tables.bpe, &work.scratch, data, n, False, work.scratch.out
                )
        if total < 0:
            raise MemoryError(f"no memory for the tokens of {n} bytes")
        tokens = list_of_ids(work.scratch.out, total)
        self.release(work)
        return tokens


cdef object copy_ids(const uint32_t* ids, Py_ssize_t n):
    """A numpy array of its own for ids in a workspace."""
    cdef Py_buffer view
    tokens = np.empty(n, dtype=np.uint32)
    # Several times faster than a typed memoryview: what counts on short texts.
    PyObject_GetBuffer(tokens, &view, PyBUF_WRITABLE)
    memcpy(view.buf, ids, n * sizeof(uint32_t))
    PyBuffer_Release(&view)
    return tokens


cdef void prefill(const Bpe* bpe, Scratch* scratch) noexcept nogil:
    """Put the most frequent tokens into the front, so that the first call is warm too."""
    cdef Py_ssize_t token = min(bpe.n_tokens, PREFILLED_TOKENS) - 1, n
    cdef const uint8_t* limit = bpe.arena + bpe.offsets[bpe.n_tokens]
    cdef const uint8_t* piece
    cdef Key key
    if not scratch.stores:
        return
    # Downwards, so that of two tokens that share a slot the lower rank stays.
    while token >= 0:
        n = bpe.offsets[token + 1] - bpe.offsets[token]
        if n <= SHORT_PIECE:
            piece = bpe.arena + bpe.offsets[token]
            key = short_key(piece, n, limit)
            store_front(
                scratch.front + (hash_key(key) >> 40 & scratch.front_mask), key,
                &bpe.ids[token], 1,
            )
        token -= 1
