"""Encode the pieces of a text in batches: look each one up, encode the rest.

Nearly every piece was seen before. Its bytes fit two words, so a direct-mapped
cache in front answers in one probe; a batch is worked in two passes, the first of
which hashes and prefetches. Caches only ever hold what encoding the piece gave:
the result is the same with every cache of size one, or empty (tests do just that).

Guarded by tests/kernels/test_caches.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython cimport auto_pickle
from libc.stdlib cimport free

from cutline.kernels.base.common cimport (
    LONGER, MERGE_LIMIT, NO_MEMORY, NONE, SHORT_PIECE, char_bytes, grow, hash_key, likely,
    low_bytes, memcpy, memset, prefetch, scramble, settled, short_key, uint16_t, unlikely,
)
from cutline.kernels.bpe.backtracking cimport backtrack
from cutline.kernels.bpe.bpe cimport (
    VERDICTS, Probe, char_part, find_probed, find_token, id_of_rank, merge, sealed_end, short_probe,
)
from cutline.kernels.bpe.matches cimport free_automaton
from cutline.kernels.bpe.prefixes cimport encode_by_prefixes
from cutline.kernels.scan.scan cimport ENDS, HERE, LATE, ONE_AGO, ScanTables, next_class, scan_piece
from cutline.kernels.base.memory import zeroed_memory

cdef enum:
    PREFILLED_TOKENS = 1 << 16
    MANY_TOKENS = 1 << 12   # some of them in nearly every small page of the front
    PATIENCE = 1 << 12      # bytes of a piece that backtracking may match in vain


@auto_pickle(False)
cdef class Workspace:

    def __cinit__(self, int front_bits, int longer_bits, Py_ssize_t n_tokens):
        cdef size_t front_bytes = sizeof(FrontEntry) << max(front_bits, 0)
        cdef size_t longer_bytes = sizeof(LongEntry) << max(longer_bits, 0)
        cdef size_t start
        cdef size_t verdict_bytes = VERDICTS * sizeof(uint64_t)
        # Few tokens to prefill it with leave most of the front untouched, often for good.
        self.memory = zeroed_memory(
            front_bytes + longer_bytes + verdict_bytes, large_pages=n_tokens >= MANY_TOKENS
        )
        start = <size_t> &self.memory[0]
        # Longer entries first: each then is one cache line, whatever the front's size.
        self.scratch.longer = <LongEntry*> start
        self.scratch.longer_mask = (<uint64_t> 1 << max(longer_bits, 0)) - 1
        self.scratch.front = <FrontEntry*> (start + longer_bytes)
        self.scratch.front_mask = (<uint64_t> 1 << max(front_bits, 0)) - 1
        self.scratch.stores = front_bits >= 0
        self.scratch.lookups.automata[1].mirrored = True
        if self.scratch.stores:
            self.scratch.lookups.verdicts = <uint64_t*> (start + longer_bytes + front_bytes)

    def __dealloc__(self):
        free(self.scratch.out)
        free(self.scratch.bits)
        free_automaton(&self.scratch.lookups.automata[0])
        free_automaton(&self.scratch.lookups.automata[1])


cdef bint reserve(Scratch* scratch, Py_ssize_t out_slots) noexcept nogil:
    """Make room for so many tokens in all, keeping those already there. False: no memory."""
    return grow(<void**> &scratch.out, &scratch.out_slots, out_slots, sizeof(uint32_t))


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
    if source.scanner.stream_rows != NULL and most >= LEAST_STREAMED:
        count = stream_pieces(source.scanner, text, at, end, most, batch)
        if count > 0:
            at = batch.ends[count - 1]
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


def find_pieces(ScanTables tables not None, bytes text not None, Py_ssize_t most):
    """Find all pieces of a valid text in batches of at most so many, as encoding does.

    Returns:
        A tuple for each: where it starts and ends, in bytes, and how far its decision looked
        at most. A character in no piece is a piece of no bytes behind it.
    """
    cdef Batch batch
    cdef Source source
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), at = 0, piece
    memset(&source, 0, sizeof(source))
    source.scanner = &tables.scanner
    found = []
    while at < n:
        at = fill_batch(&source, data, at, n, max(most, 1), &batch)
        for piece in range(batch.count):
            found.append((batch.starts[piece], batch.ends[piece], batch.examined[piece]))
    return found


cdef inline Py_ssize_t stream_pieces(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t at, Py_ssize_t end,
    Py_ssize_t most, Batch* batch
) noexcept nogil:
    """Find the next pieces, but for the last ones, which depend on where the text ends.

    Returns their number. Has no branch for where a piece ends: what a processor guesses
    wrong costs more than all else. Source: docs/scanning.md, "The stream".
    """
    cdef const uint16_t* stream_rows = scanner.stream_rows
    cdef const uint8_t* stream_flags = scanner.stream_flags
    cdef const uint16_t* rows       # the column's, whose address does not wait for the row
    cdef const uint8_t* column_flags
    cdef size_t row = scanner.stream_start, column
    cdef uint32_t flags
    cdef Py_ssize_t count = 0, start = at, before, piece_end = at
    while at < end and count < most:
        before = at
        column = next_class(scanner, text, &at)
        rows = <const uint16_t*> settled(stream_rows + column)
        column_flags = <const uint8_t*> settled(stream_flags + column)
        flags = column_flags[row]
        row = rows[row]
        batch.ends[count] = before
        batch.examined[count] = at
        if unlikely(flags & LATE):
            if piece_end <= (batch.ends[count - 1] if count > 0 else start):
                break   # no piece begins here: tables that say there are no gaps were wrong
            batch.ends[count] = at = piece_end
            row = scanner.stream_start
            flags = ENDS
        count += flags & ENDS
        if likely(flags & HERE):
            piece_end = at
        elif flags & ONE_AGO:
            piece_end = before
    batch.starts[0] = start
    if count > 1:
        memcpy(&batch.starts[1], batch.ends, (count - 1) * sizeof(Py_ssize_t))
    return count


cdef Py_ssize_t encode_batch(
    const Bpe* bpe, Scratch* scratch,
    const uint8_t* text, Py_ssize_t end,    # in: nothing at or beyond text[end] is read
    Batch* batch,                           # in: starts and ends; out: totals
    uint32_t* out,                          # out: a slot for each byte, and four to spare
) noexcept nogil:
    """Encode the pieces of a batch. Returns the number of tokens, or NO_MEMORY."""
    cdef Key keys[BATCH_PIECES]
    cdef FrontEntry* slots[BATCH_PIECES]
    cdef FrontEntry* entry
    cdef uint64_t words[4]
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
            keys[piece].high = LONGER
            slots[piece] = scratch.front
            if n <= LONG_PIECE:
                long_key(text + batch.starts[piece], n, words)
                slots[piece] = <FrontEntry*> longer_slot(scratch, words)
                prefetch(slots[piece])
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
    FrontEntry* front,      # in: the piece's slot; of the second cache if it is too long
    Key key, uint32_t* out,
) noexcept nogil:
    """Encode a piece that the front does not hold, and remember it."""
    cdef LongEntry* longer = <LongEntry*> front
    cdef uint64_t words[4]
    cdef Probe probe
    cdef Py_ssize_t count
    cdef uint32_t token
    if n > LONG_PIECE:
        return encode_piece(bpe, scratch, piece, n, True, out)
    if n <= SHORT_PIECE:
        # Its long_key, from the short one.
        words[0], words[1], words[2] = key.low, key.high & low_bytes[7], 0
        words[3] = key.high & ~low_bytes[7]
        longer = longer_slot(scratch, words)
        prefetch(longer)
        probe = short_probe(key)
        token = find_probed(bpe, &probe, piece)
        if token != NONE:
            out[0] = id_of_rank(bpe, token)
            if scratch.stores:
                store_front(front, key, out, 1)
            return 1
    else:
        long_key(piece, n, words)
    if (
        longer.key[0] == words[0] and longer.key[1] == words[1]
        and longer.key[2] == words[2] and longer.key[3] == words[3]
    ):
        memcpy(out, longer.tokens, longer.count * sizeof(uint32_t))
        return longer.count
    if n <= SHORT_PIECE:
        count = encode_parts(bpe, scratch, piece, n, True, out)
    else:
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


cdef inline void long_key(const uint8_t* piece, Py_ssize_t n, uint64_t* words) noexcept nogil:
    memset(words, 0, 4 * sizeof(uint64_t))
    memcpy(words, piece, n)
    words[3] |= <uint64_t> n << 56


cdef inline LongEntry* longer_slot(const Scratch* scratch, const uint64_t* words) noexcept nogil:
    """Where the second cache holds the piece of a long_key, if it does."""
    return scratch.longer + (hash_words(words) & scratch.longer_mask)


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
    """Token ids of one piece, from the vocabulary alone. Their number, or NO_MEMORY."""
    cdef uint32_t token = find_token(bpe, piece, n)
    if token != NONE:
        out[0] = id_of_rank(bpe, token)
        return 1
    return encode_parts(bpe, scratch, piece, n, whole_characters, out)


cdef Py_ssize_t encode_parts(
    const Bpe* bpe, Scratch* scratch, const uint8_t* piece, Py_ssize_t n, bint whole_characters,
    uint32_t* out,
) noexcept nogil:
    """What encode_piece does for a piece that is no token."""
    cdef uint32_t token
    cdef Py_ssize_t count = 0, added, start = 0, end, at
    while start < n:
        end = n
        if whole_characters and bpe.char_token != NULL:
            end = sealed_end(bpe, piece, start, n)
            token = char_part(bpe, piece + start, end - start)
            if token != NONE:
                out[count] = token
                count += 1
                start = end
                continue
        if end - start <= MERGE_LIMIT:
            added = merge(bpe, piece + start, end - start, whole_characters, out + count)
        else:
            added = encode_long(bpe, scratch, piece + start, end - start, out + count)
        if added < 0:
            return added
        count += added
        start = end
    if bpe.n_dense < bpe.n_tokens:
        for at in range(count):
            out[at] = bpe.ids[out[at]]
    return count


cdef Py_ssize_t encode_long(
    const Bpe* bpe, Scratch* scratch,
    const uint8_t* piece, Py_ssize_t n,     # in: at least one byte
    uint32_t* out,                          # out: n slots
) noexcept nogil:
    """Tokens of a long piece. Their number, or NO_MEMORY.

    Backtracking is fastest but for runs, where it leaves nearly every place again.
    """
    cdef Py_ssize_t count
    if not grow(<void**> &scratch.bits, &scratch.bits_words, n // 64 + 1, sizeof(uint64_t)):
        return NO_MEMORY
    count = backtrack(bpe, piece, n, scratch.bits, scratch.lookups.verdicts, PATIENCE, out)
    if count == 0:
        count = encode_by_prefixes(bpe, &scratch.lookups, piece, n, out)
    return count if count > 0 else NO_MEMORY


cdef Py_ssize_t encode_text(
    const Bpe* bpe, Source* source, Scratch* scratch,
    const uint8_t* text, Py_ssize_t n,
    Py_ssize_t before,      # in: tokens in scratch.out to keep, or -1: keep none, only count
    Py_ssize_t limit,       # in: stop once there are more tokens than this
) noexcept nogil:
    """Tokens of a text, appended to scratch.out. Their number, or NO_MEMORY."""
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
