"""Encode the pieces of a text in batches: look each one up, encode the rest.

Nearly every piece was seen before. Its bytes fit two words, so a direct-mapped
first-level cache answers in one probe; a batch is worked in two passes, the first of
which hashes and prefetches. Caches only ever hold what encoding the piece gave:
the result is the same with every cache of size one, or empty (tests do just that).

Guarded by tests/kernels/test_caches.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython cimport auto_pickle
from libc.stdlib cimport free, malloc

from cutline.kernels.base.common cimport (
    LONGER, MERGE_LIMIT, NO_MEMORY, NONE, SHORT_PIECE, barrier, char_bytes, grow, hash_key, likely,
    low_bytes, memcpy, memset, prefetch, scramble, short_key, uint16_t, unlikely,
)
from cutline.kernels.bpe.backtracking cimport backtrack
from cutline.kernels.bpe.bpe cimport (
    PAIR_CACHE_SLOTS, Probe, char_part, find_probed, find_token, id_of_rank, merge,
    next_closed_boundary, short_probe,
)
from cutline.kernels.bpe.matches cimport free_automaton
from cutline.kernels.bpe.prefixes cimport encode_by_prefixes
from cutline.kernels.scan.lanes cimport (
    CHUNK, MOST_PIECES_A_WORD, scan_chunk, take_pieces, tell_lookahead,
)
from cutline.kernels.scan.scan cimport ENDS, HERE, LATE, ONE_AGO, ScanTables, next_class, scan_piece
from cutline.kernels.base.memory import zeroed_memory

cdef enum:
    PREFILLED_TOKENS = 1 << 16
    MANY_TOKENS = 1 << 12   # some of them in nearly every small page of the first-level cache
    BYTES_A_PIECE = 8       # with so many, few pieces are found that are not asked for
    BACKTRACKING_BUDGET = 1 << 12      # bytes of a piece matched to no use before it gives up


@auto_pickle(False)
cdef class OwnedState:

    def __cinit__(self, int first_level_bits, int second_level_bits, Py_ssize_t n_tokens):
        cdef size_t first_level_bytes = sizeof(FirstEntry) << max(first_level_bits, 0)
        cdef size_t second_level_bytes = sizeof(SecondEntry) << max(second_level_bits, 0)
        cdef size_t start
        cdef size_t pair_cache_bytes = PAIR_CACHE_SLOTS * sizeof(uint64_t)
        # Few tokens to prefill it with leave most of the first level untouched, often for good.
        self.memory = zeroed_memory(
            first_level_bytes + second_level_bytes + pair_cache_bytes,
            large_pages=n_tokens >= MANY_TOKENS,
        )
        start = <size_t> &self.memory[0]
        # The second level first: each entry then is one cache line, whatever the other's size.
        self.state.second_level = <SecondEntry*> start
        self.state.second_level_mask = (<uint64_t> 1 << max(second_level_bits, 0)) - 1
        self.state.first_level = <FirstEntry*> (start + second_level_bytes)
        self.state.first_level_mask = (<uint64_t> 1 << max(first_level_bits, 0)) - 1
        self.state.stores = first_level_bits >= 0
        self.state.lookups.automata[1].mirrored = True
        if self.state.stores:
            self.state.lookups.pair_cache = <uint64_t*> (
                start + second_level_bytes + first_level_bytes
            )

    def __dealloc__(self):
        free(self.state.out)
        free(self.state.bits)
        free(self.state.chunk)
        free_automaton(&self.state.lookups.automata[0])
        free_automaton(&self.state.lookups.automata[1])


cdef bint reserve(EncoderState* state, Py_ssize_t out_slots) noexcept nogil:
    """Make room for so many tokens in all, keeping those already there. False: no memory."""
    return grow(<void**> &state.out, &state.out_slots, out_slots, sizeof(uint32_t))


cdef void use_lanes(
    Source* source, EncoderState* state, Py_ssize_t n, bint tells_lookahead
) noexcept nogil:
    """Let a text of n bytes be scanned by lanes, if they pay, while the state is in use."""
    source.chunk = NULL
    if n < LEAST_LANED or source.scanner == NULL or source.scanner.lane_table == NULL:
        return
    if state.chunk == NULL:
        state.chunk = <Chunk*> malloc(sizeof(Chunk))
    if state.chunk != NULL:
        state.chunk.at = state.chunk.stop = source.laned_from = 0
        source.chunk = state.chunk
        source.tells_lookahead = tells_lookahead


cdef Py_ssize_t fill_batch(
    Source* source,
    const uint8_t* text, Py_ssize_t at, Py_ssize_t end,     # in: text[at:end] is to be cut
    Py_ssize_t most,                                        # in: at most so many pieces
    Batch* batch,                                           # out
) noexcept nogil:
    """Find the next pieces. Returns where the last one ends (end: there are no more).

    Text that no piece covers is a piece of no bytes: it encodes to nothing.
    """
    cdef Py_ssize_t count = 0, piece_end, wanted = most
    if most > BATCH_PIECES:
        most = BATCH_PIECES
    if source.scanner == NULL:
        while count < most and source.next_span < source.n_spans:
            batch.starts[count] = source.starts[source.next_span]
            batch.ends[count] = source.ends[source.next_span]
            batch.lookahead_end[count] = end + 1
            at = batch.ends[count]
            source.next_span += 1
            count += 1
        batch.count = count
        return end if source.next_span == source.n_spans else at
    if source.chunk != NULL and most > MOST_PIECES_A_WORD:
        batch.count = laned_pieces(source, text, at, end, wanted, batch)
        if batch.count > 0:
            return source.chunk.at
    if source.scanner.stream_states != NULL and most >= LEAST_STREAMED:
        count = stream_pieces(source.scanner, text, at, end, most, batch)
        if count > 0:
            at = batch.ends[count - 1]
    while count < most and at < end:
        piece_end = scan_piece(source.scanner, text, at, end, &batch.lookahead_end[count])
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


def find_pieces(
    ScanTables tables not None, bytes text not None, Py_ssize_t most, bint by_lanes=False
):
    """Find all pieces of a valid text in batches of at most so many, as encoding does.

    Returns:
        A tuple for each: where it starts and ends, in bytes, and how far its decision looked
        at most. A character in no piece is a piece of no bytes after it.
    """
    cdef OwnedState owned = OwnedState(0, 0, 0)
    cdef Batch batch
    cdef Source source
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), at = 0, piece
    memset(&source, 0, sizeof(source))
    source.scanner = &tables.scanner
    if by_lanes:
        use_lanes(&source, &owned.state, n, tells_lookahead=True)
    found = []
    while at < n:
        at = fill_batch(&source, data, at, n, max(most, 1), &batch)
        for piece in range(batch.count):
            found.append((batch.starts[piece], batch.ends[piece], batch.lookahead_end[piece]))
    return found


cdef inline Py_ssize_t laned_pieces(
    Source* source, const uint8_t* text, Py_ssize_t at, Py_ssize_t end, Py_ssize_t most,
    Batch* batch
) noexcept nogil:
    """Find the next pieces by lanes, if they pay."""
    cdef Chunk* chunk = source.chunk
    cdef Py_ssize_t size, count
    if not chunk.at == at < chunk.stop:
        size = min(end - at, CHUNK, BYTES_A_PIECE * min(most, CHUNK))
        if size < LEAST_LANED or at < source.laned_from:
            return 0
        scan_chunk(source.scanner, text, at, end, size, 0, chunk)
        if 2 * chunk.n_rescanned > chunk.n:
            source.laned_from = chunk.stop + CHUNK
    count = take_pieces(chunk, min(most, BATCH_PIECES), batch.starts, batch.ends)
    if source.tells_lookahead:
        tell_lookahead(
            source.scanner, text, end, chunk, count, batch.starts, batch.ends, batch.lookahead_end
        )
    return count


cdef inline Py_ssize_t stream_pieces(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t at, Py_ssize_t end,
    Py_ssize_t most, Batch* batch
) noexcept nogil:
    """Find the next pieces, but for the last ones, which depend on where the text ends.

    Returns their number. Has no branch for where a piece ends: mispredictions would cost
    more than all else. Source: docs/scanning.md, "The branchless scan".
    """
    cdef const uint16_t* stream_states = scanner.stream_states
    cdef const uint8_t* stream_flags = scanner.stream_flags
    cdef const uint16_t* next_states       # the column's, whose address does not wait for it
    cdef const uint8_t* column_flags
    cdef size_t dfa_state = scanner.stream_start, column
    cdef uint32_t flags
    cdef Py_ssize_t count = 0, start = at, before, piece_end = at
    while at < end and count < most:
        before = at
        column = next_class(scanner, text, &at)
        next_states = <const uint16_t*> barrier(stream_states + column)
        column_flags = <const uint8_t*> barrier(stream_flags + column)
        flags = column_flags[dfa_state]
        dfa_state = next_states[dfa_state]
        batch.ends[count] = before
        batch.lookahead_end[count] = at
        if unlikely(flags & LATE):
            if piece_end <= (batch.ends[count - 1] if count > 0 else start):
                break   # no piece begins here: tables that say there are no gaps were wrong
            batch.ends[count] = at = piece_end
            dfa_state = scanner.stream_start
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
    const Bpe* bpe, EncoderState* state,
    const uint8_t* text, Py_ssize_t end,    # in: nothing at or beyond text[end] is read
    Batch* batch,                           # in: starts and ends; out: totals
    uint32_t* out,                          # out: a slot for each byte, and four to spare
) noexcept nogil:
    """Encode the pieces of a batch. Returns the number of tokens, or NO_MEMORY."""
    cdef Key keys[BATCH_PIECES]
    cdef FirstEntry* slots[BATCH_PIECES]
    cdef FirstEntry* entry
    cdef uint64_t words[4]
    cdef uint32_t* next_out = out
    cdef Py_ssize_t piece, n, added
    for piece in range(batch.count):
        n = batch.ends[piece] - batch.starts[piece]
        if n <= SHORT_PIECE:
            keys[piece] = short_key(text + batch.starts[piece], n, text + end)
            slots[piece] = first_level_slot(state, keys[piece])
            prefetch(slots[piece])
        else:
            # A key that is never stored, so that the loop below has one comparison.
            keys[piece].low = 0
            keys[piece].high = LONGER
            slots[piece] = state.first_level
            if n <= SECOND_LEVEL_BYTES:
                long_key(text + batch.starts[piece], n, words)
                slots[piece] = <FirstEntry*> second_level_slot(state, words)
                prefetch(slots[piece])
    for piece in range(batch.count):
        entry = slots[piece]
        if entry.key.low == keys[piece].low and entry.key.high == keys[piece].high:
            memcpy(next_out, entry.tokens, 4 * sizeof(uint32_t))
            next_out += entry.count
        else:
            added = encode_missed(
                bpe, state, text + batch.starts[piece],
                batch.ends[piece] - batch.starts[piece], entry, keys[piece], next_out,
            )
            if added < 0:
                return added
            next_out += added
        batch.totals[piece] = next_out - out
    return next_out - out


cdef Py_ssize_t encode_after(
    const Bpe* bpe, EncoderState* state, Py_ssize_t kept, const uint8_t* text, Py_ssize_t end,
    Batch* batch        # in: pieces from left to right
) noexcept nogil:
    """What encode_batch does, into state.out after the first `kept` tokens."""
    if batch.count == 0:
        return 0
    if not reserve(state, kept + batch.ends[batch.count - 1] - batch.starts[0] + 4):
        return NO_MEMORY
    return encode_batch(bpe, state, text, end, batch, state.out + kept)


cdef Py_ssize_t encode_missed(
    const Bpe* bpe, EncoderState* state, const uint8_t* piece, Py_ssize_t n,
    FirstEntry* first,      # in: the piece's slot; of the second level if it is too long
    Key key, uint32_t* out,
) noexcept nogil:
    """Encode a piece that the first-level cache does not hold, and store it."""
    cdef SecondEntry* second = <SecondEntry*> first
    cdef uint64_t words[4]
    cdef Probe probe
    cdef Py_ssize_t count
    cdef uint32_t token
    if n > SECOND_LEVEL_BYTES:
        return encode_piece(bpe, state, piece, n, True, out)
    if n <= SHORT_PIECE:
        # Its long_key, from the short one.
        words[0], words[1], words[2] = key.low, key.high & low_bytes[7], 0
        words[3] = key.high & ~low_bytes[7]
        second = second_level_slot(state, words)
        prefetch(second)
        probe = short_probe(key)
        token = find_probed(bpe, &probe, piece)
        if token != NONE:
            out[0] = id_of_rank(bpe, token)
            if state.stores:
                store_first_level(first, key, out, 1)
            return 1
    else:
        long_key(piece, n, words)
    if (
        second.key[0] == words[0] and second.key[1] == words[1]
        and second.key[2] == words[2] and second.key[3] == words[3]
    ):
        memcpy(out, second.tokens, second.count * sizeof(uint32_t))
        return second.count
    if n <= SHORT_PIECE:
        count = encode_parts(bpe, state, piece, n, True, out)
    else:
        count = encode_piece(bpe, state, piece, n, True, out)
    if count < 0 or not state.stores:
        return count
    if n <= SHORT_PIECE and count <= FIRST_LEVEL_TOKENS:
        store_first_level(first, key, out, count)
    elif count <= SECOND_LEVEL_TOKENS:
        memcpy(second.key, words, sizeof(words))
        memcpy(second.tokens, out, count * sizeof(uint32_t))
        second.count = count
    return count


cdef inline FirstEntry* first_level_slot(const EncoderState* state, Key key) noexcept nogil:
    """Where the first-level cache holds the piece of a key, if it does."""
    return state.first_level + (hash_key(key) >> 40 & state.first_level_mask)


cdef inline void store_first_level(
    FirstEntry* first, Key key, const uint32_t* tokens, Py_ssize_t count
) noexcept nogil:
    first.key = key
    memcpy(first.tokens, tokens, count * sizeof(uint32_t))
    first.count = count


cdef inline void long_key(const uint8_t* piece, Py_ssize_t n, uint64_t* words) noexcept nogil:
    memset(words, 0, 4 * sizeof(uint64_t))
    memcpy(words, piece, n)
    words[3] |= <uint64_t> n << 56


cdef inline SecondEntry* second_level_slot(
    const EncoderState* state, const uint64_t* words
) noexcept nogil:
    """Where the second-level cache holds the piece of a long_key, if it does."""
    return state.second_level + (hash_words(words) & state.second_level_mask)


cdef inline uint64_t hash_words(const uint64_t* words) noexcept nogil:
    cdef uint64_t hashed = words[0] ^ words[1] * <uint64_t> 0x9E3779B97F4A7C15
    hashed = scramble(hashed ^ words[2] * <uint64_t> 0xC2B2AE3D27D4EB4F)
    return scramble(hashed ^ words[3]) >> 24


cdef Py_ssize_t encode_piece(
    const Bpe* bpe, EncoderState* state,
    const uint8_t* piece, Py_ssize_t n,     # in: at least one byte
    bint whole_characters,                  # in: valid UTF-8
    uint32_t* out,                          # out: n slots
) noexcept nogil:
    """Token ids of one piece, from the vocabulary alone. Their number, or NO_MEMORY."""
    cdef uint32_t token = find_token(bpe, piece, n)
    if token != NONE:
        out[0] = id_of_rank(bpe, token)
        return 1
    return encode_parts(bpe, state, piece, n, whole_characters, out)


cdef Py_ssize_t encode_parts(
    const Bpe* bpe, EncoderState* state, const uint8_t* piece, Py_ssize_t n, bint whole_characters,
    uint32_t* out,
) noexcept nogil:
    """What encode_piece does for a piece that is no token."""
    cdef uint32_t token
    cdef Py_ssize_t count = 0, added, start = 0, end, at
    while start < n:
        end = n
        if whole_characters and bpe.char_token != NULL:
            end = next_closed_boundary(bpe, piece, start, n)
            token = char_part(bpe, piece + start, end - start)
            if token != NONE:
                out[count] = token
                count += 1
                start = end
                continue
        if end - start <= MERGE_LIMIT:
            added = merge(bpe, piece + start, end - start, whole_characters, out + count)
        else:
            added = encode_long(bpe, state, piece + start, end - start, out + count)
        if added < 0:
            return added
        count += added
        start = end
    if bpe.n_dense < bpe.n_tokens:
        for at in range(count):
            out[at] = bpe.ids[out[at]]
    return count


cdef Py_ssize_t encode_long(
    const Bpe* bpe, EncoderState* state,
    const uint8_t* piece, Py_ssize_t n,     # in: at least one byte
    uint32_t* out,                          # out: n slots
) noexcept nogil:
    """Tokens of a long piece. Their number, or NO_MEMORY.

    Backtracking is fastest but for runs, where it leaves nearly every place again.
    """
    cdef Py_ssize_t count
    if not grow(<void**> &state.bits, &state.bits_words, n // 64 + 1, sizeof(uint64_t)):
        return NO_MEMORY
    count = backtrack(bpe, piece, n, state.bits, state.lookups.pair_cache, BACKTRACKING_BUDGET, out)
    if count == 0:
        count = encode_by_prefixes(bpe, &state.lookups, piece, n, out)
    return count if count > 0 else NO_MEMORY


cdef Py_ssize_t encode_text(
    const Bpe* bpe, Source* source, EncoderState* state,
    const uint8_t* text, Py_ssize_t n,
    Py_ssize_t before,      # in: tokens in state.out to keep, or -1: keep none, only count
    Py_ssize_t limit,       # in: stop once there are more tokens than this
) noexcept nogil:
    """Tokens of a text, appended to state.out. Their number, or NO_MEMORY."""
    cdef Batch batch
    cdef Py_ssize_t at = 0, total = 0, kept, added
    use_lanes(source, state, n, tells_lookahead=False)
    while at < n and total <= limit:
        at = fill_batch(source, text, at, n, limit - total + 1, &batch)
        kept = before + total if before >= 0 else 0
        added = encode_after(bpe, state, kept, text, n, &batch)
        if added < 0:
            return added
        total += added
    return total


cdef void prefill(const Bpe* bpe, EncoderState* state) noexcept nogil:
    """Put the most frequent tokens into the first-level cache: the first call is warm too."""
    cdef Py_ssize_t token = min(bpe.n_tokens, PREFILLED_TOKENS) - 1, n
    cdef const uint8_t* limit = bpe.arena + bpe.offsets[bpe.n_tokens]
    cdef const uint8_t* piece
    cdef Key key
    if not state.stores:
        return
    # Downwards, so that of two tokens that share a slot the lower rank stays.
    while token >= 0:
        n = bpe.offsets[token + 1] - bpe.offsets[token]
        if n <= SHORT_PIECE:
            piece = bpe.arena + bpe.offsets[token]
            key = short_key(piece, n, limit)
            store_first_level(
                first_level_slot(state, key), key, &bpe.ids[token], 1
            )
        token -= 1
