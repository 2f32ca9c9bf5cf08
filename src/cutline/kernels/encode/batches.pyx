"""Encode the pieces of a text in batches: look each one up, encode the rest.

Nearly every piece was seen before. Its bytes fit two words, so a direct-mapped
first-level cache answers in one probe; a batch is worked in passes, the first of which
hashes and prefetches. Caches only ever hold what encoding the piece gave:
the result is the same with every cache of size one, or empty (tests do just that).

Guarded by tests/kernels/test_caches.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython cimport auto_pickle
from libc.stdlib cimport free, malloc

from cutline.kernels.base.common cimport (
    INTERRUPTED, MERGE_LIMIT, NO_MEMORY, NONE, SHORT_PIECE, UNKNOWN, Key, barrier, char_bytes, grow,
    hash_key, key_inside, last_key, likely, load64, memcpy, memset, padded_key, prefetch, short_key,
    uint16_t, unlikely, write_key,
)
from cutline.kernels.base.find cimport find_bytes
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.bpe.backtracking cimport backtrack, suits_backtracking
from cutline.kernels.bpe.bpe cimport (
    PAIR_CACHE_SLOTS, SEGMENT_BITS, Probe, Segment, find_probed, find_token, first_slot, id_of_rank,
    long_probe, may_merge_characters, merge, merge_segments, next_closed_boundary, short_probe,
)
from cutline.kernels.bpe.matches cimport FIRST_MATCH_SLOTS, free_automaton
from cutline.kernels.bpe.merge_windows cimport encode_by_windows
from cutline.kernels.bpe.prefixes cimport encode_by_prefixes
from cutline.kernels.encode.caches cimport (
    FIRST_LEVEL_TOKENS, STORED_BYTES, FirstEntry, Known, find_stored, first_level_line, in_line,
    index_slot, store_in_line, store_piece, stored_record,
)
from cutline.kernels.scan.lane_table cimport DECIDED, LOST, STATE_ROW_BITS, STATE_SHIFT
from cutline.kernels.scan.lanes cimport (
    CHUNK, LEAST_LANED, MOST_PIECES_A_WORD, scan_chunk, take_pieces, tell_lookahead,
)
from cutline.kernels.scan.scan cimport ENDS, HERE, LATE, ONE_AGO, ScanTables, next_class, scan_piece
from cutline.kernels.base.memory import zeroed_memory

cdef extern from "native.h":
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil

cdef enum:
    PREFILLED_TOKENS = 1 << 16
    MANY_TOKENS = 1 << 12   # some of them in nearly every small page of the first-level cache
    TURN = 16               # pieces that are hashed, and then as many looked at
    LAG = 32                # pieces between asking for a line and looking at it
    AHEAD = 4               # pieces missed between fetching one from the store and its turn
    RING_BITS = 6           # bytes of the ring for each slot of its index
    LEAST_RING_BITS = 12    # a ring has room for the longest piece stored
    LEAST_RUN_RING_BITS = 13    # ... or for the longest run
    BYTES_A_PIECE = 8       # with so many, few pieces are found that are not asked for
    WORTH_A_LOOK = 32                  # bytes: shorter pieces are merged, whatever they are of
    BACKTRACKING_BUDGET = 1 << 12      # bytes of a piece matched to no use before it gives up
    FEW_BYTES = 7           # of a piece whose count is kept with it in a word
    FEW_BITS = 12           # log2 of the entries for such pieces
    FEW_COUNT_SHIFT = 59    # their words: a count, the length in three bits, the bytes
    WATCHED = 1 << 14       # bytes of a piece that are added to the watch at a time


# What the caches say of a batch.
cdef struct LookUp:
    Key keys[BATCH_PIECES]
    FirstEntry* lines[BATCH_PIECES]
    Py_ssize_t n_missed, n_fetched
    Py_ssize_t missed[BATCH_PIECES + 1]     # the pieces that the first level does not hold
    Py_ssize_t found_before[BATCH_PIECES + 1]   # tokens of those before each that it does
    Probe probes[BATCH_PIECES]              # theirs


@auto_pickle(False)
cdef class OwnedState:

    def __cinit__(self, int first_level_bits, int store_bits, Py_ssize_t n_tokens):
        cdef size_t first_level_bytes = sizeof(FirstEntry) << max(first_level_bits, 1)
        cdef size_t index_bytes = sizeof(uint64_t) << max(store_bits, 1)
        cdef size_t ring_bytes = 1 << max(store_bits + RING_BITS, LEAST_RING_BITS)
        cdef size_t start
        cdef size_t pair_cache_bytes = PAIR_CACHE_SLOTS * sizeof(uint64_t)
        cdef size_t few_bytes = sizeof(uint64_t) << FEW_BITS
        cdef size_t segments_bytes = sizeof(Segment) << SEGMENT_BITS
        cdef size_t matches_bytes = FIRST_MATCH_SLOTS * sizeof(uint64_t)
        self.first_level_bits = first_level_bits
        self.store_bits = store_bits
        # Few tokens to prefill it with leave most of the first level untouched, often for good.
        self.in_large_pages = n_tokens >= MANY_TOKENS
        self.memory = zeroed_memory(
            first_level_bytes + index_bytes + ring_bytes + pair_cache_bytes + few_bytes
            + segments_bytes + matches_bytes,
            large_pages=self.in_large_pages,
        )
        start = <size_t> &self.memory[0]
        self.state.first_level = <FirstEntry*> start
        self.state.line_mask = (<uint64_t> 1 << max(first_level_bits - 1, 0)) - 1
        start += first_level_bytes
        self.state.store.index = <uint64_t*> start
        self.state.store.index_mask = (<uint64_t> 1 << max(store_bits, 1)) - 1
        start += index_bytes
        self.state.store.ring = <uint64_t*> start
        self.state.store.ring_words = ring_bytes // sizeof(uint64_t)
        self.state.few_bytes = <uint64_t*> (start + ring_bytes + pair_cache_bytes)
        self.state.stores = first_level_bits >= 0
        self.state.lookups.automata[1].mirrored = True
        if self.state.stores:
            self.state.lookups.pair_cache = <uint64_t*> (start + ring_bytes)
            self.state.lookups.segments = <Segment*> (self.state.few_bytes + (1 << FEW_BITS))
            self.state.lookups.first_matches = (
                <uint64_t*> (self.state.lookups.segments + (1 << SEGMENT_BITS))
            )

    cdef int reserve_runs(self) except -1:
        """Make room for runs and their counts."""
        cdef size_t line_bytes = sizeof(FirstEntry) << max(self.first_level_bits + 1, 1)
        cdef size_t index_bytes = sizeof(uint64_t) << max(self.store_bits + 1, 1)
        cdef size_t ring_bytes = 1 << max(self.store_bits + RING_BITS, LEAST_RUN_RING_BITS)
        cdef size_t start
        if self.state.runs != NULL:
            return 0
        self.run_memory = zeroed_memory(
            sizeof(Runs) + line_bytes + index_bytes + ring_bytes,
            large_pages=self.in_large_pages,
        )
        start = <size_t> &self.run_memory[0]
        self.state.run_lines = <FirstEntry*> start
        self.state.run_mask = (<uint64_t> 1 << max(self.first_level_bits, 0)) - 1
        start += line_bytes
        self.state.run_store.index = <uint64_t*> start
        self.state.run_store.index_mask = (<uint64_t> 1 << max(self.store_bits + 1, 1)) - 1
        start += index_bytes
        self.state.run_store.ring = <uint64_t*> start
        self.state.run_store.ring_words = ring_bytes // sizeof(uint64_t)
        self.state.runs = <Runs*> (start + ring_bytes)
        return 0

    def __dealloc__(self):
        free(self.state.out)
        free(self.state.bits)
        free(self.state.chunk)
        free(self.state.utf8)
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
        state.chunk.start = state.chunk.at = state.chunk.stop = source.laned_from = 0
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
        laned_pieces(source, text, at, end, wanted, batch)
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


cdef inline void laned_pieces(
    Source* source, const uint8_t* text, Py_ssize_t at, Py_ssize_t end, Py_ssize_t most,
    Batch* batch
) noexcept nogil:
    """Find the next pieces by lanes, if they pay."""
    cdef Chunk* chunk = source.chunk
    batch.count = 0
    if chunk.at == at < chunk.stop or scan_next_chunk(
        source, text, at, end, min(end - at, CHUNK, BYTES_A_PIECE * min(most, CHUNK))
    ):
        add_from_chunk(source, text, end, min(most, BATCH_PIECES), batch)


cdef void pieces_by_lanes(
    Source* source, const uint8_t* text, Py_ssize_t at, Py_ssize_t end, Batch* batch
) noexcept nogil:
    """Find the next pieces by lanes alone; none: they do not pay.

    What is read beyond a chunk is no more than a chunk, for who may begin again elsewhere: where
    pieces depend on more, lanes do not pay.
    """
    cdef Chunk* chunk = source.chunk
    cdef Py_ssize_t limit = min(end, at + 2 * CHUNK)
    batch.count = 0
    if not chunk.at == at < chunk.stop:
        if not scan_next_chunk(source, text, at, limit, min(end - at, CHUNK)):
            return
        if chunk.furthest > limit and limit < end:
            source.laned_from = chunk.start + CHUNK
            chunk.start = chunk.at = chunk.stop = 0
            return
    add_from_chunk(source, text, end, BATCH_PIECES, batch)


cdef inline bint scan_next_chunk(
    Source* source, const uint8_t* text, Py_ssize_t at, Py_ssize_t end, Py_ssize_t size
) noexcept nogil:
    """Scan so many bytes, if that pays."""
    if size < LEAST_LANED or at < source.laned_from:
        return False
    scan_chunk(source.scanner, text, at, end, size, 0, source.chunk)
    if 2 * source.chunk.n_rescanned > source.chunk.n:
        source.laned_from = source.chunk.stop + CHUNK
    return True


cdef inline void add_from_chunk(
    Source* source, const uint8_t* text, Py_ssize_t end, Py_ssize_t most, Batch* batch
) noexcept nogil:
    """Take the next pieces of the chunk, at most so many."""
    batch.count = take_pieces(source.chunk, most, batch.starts, batch.ends)
    if source.tells_lookahead and batch.count > 0:
        tell_lookahead(
            source.scanner, text, end, source.chunk, batch.count, batch.starts, batch.ends,
            batch.lookahead_end,
        )


cdef inline Py_ssize_t stream_pieces(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t at, Py_ssize_t end,
    Py_ssize_t most, Batch* batch
) noexcept nogil:
    """Find the next pieces, but for last ones that are none but for where the text ends.

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
                most = count    # no piece begins here: tables that say there are no gaps
                break           # were wrong
            batch.ends[count] = at = piece_end
            dfa_state = scanner.stream_start
            flags = ENDS
        count += flags & ENDS
        if likely(flags & HERE):
            piece_end = at
        elif flags & ONE_AGO:
            piece_end = before
    if at == end and count < most and (
        scanner.stream_flags[scanner.end_class + dfa_state] & (ENDS | HERE | ONE_AGO)
    ):
        batch.ends[count] = end
        # In the states before that of the start, the automaton has died.
        batch.lookahead_end[count] = end + (dfa_state >= scanner.stream_start)
        count += 1
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
    """Encode the pieces of a batch. Returns the number of tokens, NO_MEMORY or INTERRUPTED."""
    return encode_pieces(bpe, state, text, end, batch, True, out)


cdef inline Py_ssize_t encode_pieces(
    const Bpe* bpe, EncoderState* state, const uint8_t* text, Py_ssize_t end, Batch* batch,
    bint tells_totals, uint32_t* out
) noexcept nogil:
    """What encode_batch does, with totals or without."""
    cdef LookUp looked
    cdef uint32_t found[FIRST_LEVEL_TOKENS * BATCH_PIECES + 4]     # tokens of pieces not missed
    cdef const FirstEntry* entry
    cdef uint32_t* next_out = out
    cdef Py_ssize_t piece = 0, stop, turn, added, n_found = 0, n_missed = 0, copied = 0
    cdef uint64_t missed
    looked.n_fetched = 0
    find_lines(state, text, end, batch, 0, LAG, &looked)
    while piece < batch.count:
        find_lines(state, text, end, batch, piece + LAG, TURN, &looked)
        stop = min(piece + TURN, batch.count)
        while piece < stop:
            entry = in_line(looked.lines[piece], looked.keys[piece])
            missed = is_other(entry, looked.keys[piece])
            looked.missed[n_missed] = piece
            looked.found_before[n_missed] = n_found
            n_missed += missed
            memcpy(found + n_found, &entry.known, sizeof(Known))
            n_found += entry.known.count & (missed - 1)
            if tells_totals:
                batch.totals[piece] = n_found
            piece += 1
        fetch_missed(bpe, state, text, batch, &looked, n_missed)
    looked.n_missed = n_missed
    looked.found_before[n_missed] = n_found
    looked.missed[n_missed] = batch.count
    for turn in range(n_missed + 1):
        copied = copy_tokens(found, copied, looked.found_before[turn], &next_out)
        if turn < n_missed:
            added = encode_missed(bpe, state, text, batch, &looked, turn, next_out)
            if added < 0:
                return added
            next_out += added
            if tells_totals:
                for piece in range(looked.missed[turn], looked.missed[turn + 1]):
                    batch.totals[piece] += next_out - out - copied
    return next_out - out


cdef inline Py_ssize_t copy_tokens(
    const uint32_t* tokens, Py_ssize_t at, Py_ssize_t stop, uint32_t** out
) noexcept nogil:
    """Copy tokens[at:stop], and up to three more; returns `stop`. Moves `out` past them."""
    cdef uint32_t* to = out[0]
    out[0] += stop - at
    while at < stop:
        memcpy(to, tokens + at, 4 * sizeof(uint32_t))
        to += 4
        at += 4
    return stop


cdef Py_ssize_t count_batch(
    const Bpe* bpe, EncoderState* state,
    const uint8_t* text, Py_ssize_t end,    # in: nothing at or beyond text[end] is read
    Batch* batch                            # in: starts and ends; out: totals
) noexcept nogil:
    """What encode_batch returns, without the tokens. Overwrites those in `state.out`."""
    cdef Py_ssize_t status = count_pieces(bpe, state, text, end, batch, True), piece
    cdef uint32_t total = 0
    for piece in range(batch.count):
        total += batch.totals[piece]
        batch.totals[piece] = total
    return status if status < 0 else total


cdef Py_ssize_t count_each(
    const Bpe* bpe, EncoderState* state,
    const uint8_t* text, Py_ssize_t end,    # in: nothing at or beyond text[end] is read
    Batch* batch                            # in: starts and ends; out: in `totals`, tokens of each
) noexcept nogil:
    """The same, for who adds the counts up: no totals, but the tokens of each piece alone.

    Returns 0, NO_MEMORY or INTERRUPTED.
    """
    return count_pieces(bpe, state, text, end, batch, True)


cdef inline Py_ssize_t count_pieces(
    const Bpe* bpe, EncoderState* state, const uint8_t* text, Py_ssize_t end, Batch* batch,
    bint tells_each
) noexcept nogil:
    """What count_each does; or no more than how many tokens there are."""
    cdef LookUp looked
    cdef const FirstEntry* entry
    cdef Py_ssize_t piece = 0, stop, turn, added, n_missed = 0, n_found = 0
    cdef uint64_t missed
    looked.n_fetched = 0
    find_lines(state, text, end, batch, 0, LAG, &looked)
    while piece < batch.count:
        find_lines(state, text, end, batch, piece + LAG, TURN, &looked)
        stop = min(piece + TURN, batch.count)
        while piece < stop:
            entry = in_line(looked.lines[piece], looked.keys[piece])
            missed = is_other(entry, looked.keys[piece])
            looked.missed[n_missed] = piece
            n_missed += missed
            if tells_each:
                batch.totals[piece] = entry.known.count & <uint32_t> (missed - 1)
            else:
                n_found += entry.known.count & (missed - 1)
            piece += 1
        fetch_missed(bpe, state, text, batch, &looked, n_missed)
    if n_missed == 0:
        return n_found
    looked.n_missed = n_missed
    looked.missed[n_missed] = batch.count
    if not reserve(state, batch.ends[batch.count - 1] - batch.starts[0]):
        return NO_MEMORY
    for turn in range(n_missed):
        added = encode_missed(bpe, state, text, batch, &looked, turn, state.out)
        if added < 0:
            return added
        if tells_each:
            batch.totals[looked.missed[turn]] = <uint32_t> added
        else:
            n_found += added
    return n_found


cdef Py_ssize_t encode_after(
    const Bpe* bpe, EncoderState* state, Py_ssize_t kept, const uint8_t* text, Py_ssize_t end,
    Batch* batch        # in: pieces from left to right
) noexcept nogil:
    """What encode_batch does, into state.out after the first `kept` tokens."""
    if not reserve_for(state, kept, batch):
        return NO_MEMORY
    return encode_batch(bpe, state, text, end, batch, state.out + kept)


cdef inline bint reserve_for(
    EncoderState* state, Py_ssize_t kept, const Batch* batch
) noexcept nogil:
    """Make room for the tokens of a batch after the first `kept`; its pieces are in order."""
    if batch.count > 0:
        kept += batch.ends[batch.count - 1] - batch.starts[0]
    return reserve(state, kept + 4)


cdef inline void find_lines(
    const EncoderState* state, const uint8_t* text, Py_ssize_t end, const Batch* batch,
    Py_ssize_t piece, Py_ssize_t most, LookUp* looked
) noexcept nogil:
    """Hash up to `most` pieces from this one on, and fetch the lines that may hold them.

    The key of a piece that is not short is never stored: its length is no short one's.
    """
    cdef Py_ssize_t stop = min(piece + most, batch.count), start, n
    cdef FirstEntry* first_level = state.first_level
    cdef uint64_t line_mask = state.line_mask
    cdef Py_ssize_t last = end - 16     # where 16 bytes can be read
    cdef Key key
    while piece < stop:
        start = batch.starts[piece]
        n = min(batch.ends[piece] - start, SHORT_PIECE + 1)
        key = last_key(text + start, n) if unlikely(start > last) else padded_key(text + start, n)
        looked.keys[piece] = key
        looked.lines[piece] = first_level_line(first_level, line_mask, key)
        prefetch(looked.lines[piece])
        piece += 1


cdef inline uint64_t is_other(const FirstEntry* entry, Key key) noexcept nogil:
    """Whether an entry is that of another piece, as a number: a branch would be mispredicted."""
    return (entry.key.low ^ key.low) | (entry.key.high ^ key.high) != 0


cdef inline void fetch_missed(
    const Bpe* bpe, const EncoderState* state, const uint8_t* text, const Batch* batch,
    LookUp* looked, Py_ssize_t stop
) noexcept nogil:
    """Fetch what the first `stop` pieces missed are looked up in, long before their turns."""
    cdef Py_ssize_t piece, n
    cdef Probe* probe
    while looked.n_fetched < stop:
        piece = looked.missed[looked.n_fetched]
        n = batch.ends[piece] - batch.starts[piece]
        probe = &looked.probes[looked.n_fetched]
        if n <= SHORT_PIECE:
            probe[0] = short_probe(looked.keys[piece])
        elif n <= STORED_BYTES:
            probe[0] = long_probe(text + batch.starts[piece], n)
        else:
            probe.hashed = 0        # neither looked up nor stored
        prefetch(bpe.token_slots + first_slot(bpe, probe.hashed))
        prefetch(index_slot(&state.store, probe.hashed))
        looked.n_fetched += 1


cdef Py_ssize_t encode_missed(
    const Bpe* bpe, EncoderState* state, const uint8_t* text, const Batch* batch,
    LookUp* looked, Py_ssize_t turn, uint32_t* out,
) noexcept nogil:
    """Encode a piece that the first level does not hold, and store it."""
    cdef Py_ssize_t piece = looked.missed[turn], n = batch.ends[piece] - batch.starts[piece]
    cdef const uint8_t* start = text + batch.starts[piece]
    cdef const uint32_t* stored
    cdef const Probe* probe = &looked.probes[turn]
    cdef Py_ssize_t count
    cdef uint32_t token, n_stored = 0
    if turn + AHEAD < looked.n_missed:
        stored = stored_record(&state.store, looked.probes[turn + AHEAD].hashed)
        if stored != NULL:
            prefetch(stored)
    if n == 0:
        return 0        # between two pieces; there may be no room at all for tokens
    if n > STORED_BYTES:
        return encode_piece(bpe, state, start, n, True, out)
    stored = find_stored(&state.store, probe.hashed, start, n, &n_stored)
    if stored != NULL:
        memcpy(out, stored, n_stored * sizeof(uint32_t))
        if n <= SHORT_PIECE and n_stored <= FIRST_LEVEL_TOKENS:
            store_short(state, looked.lines[piece], looked.keys[piece], out, n_stored)
        return n_stored
    token = find_probed(bpe, probe, start)
    if token != NONE:
        out[0] = id_of_rank(bpe, token)
        if n <= SHORT_PIECE and state.stores:
            store_short(state, looked.lines[piece], looked.keys[piece], out, 1)
        return 1
    count = encode_parts(bpe, state, start, n, True, out)
    if count < 0 or not state.stores:
        return count
    if n <= SHORT_PIECE and count <= FIRST_LEVEL_TOKENS:
        store_short(state, looked.lines[piece], looked.keys[piece], out, count)
    else:
        store_piece(&state.store, probe.hashed, start, n, out, count)
    return count


cdef inline void store_short(
    EncoderState* state, FirstEntry* line, Key key, const uint32_t* tokens, Py_ssize_t count
) noexcept nogil:
    """Put a short piece into its line; the store takes the one that leaves it, if it was merged."""
    cdef const Known* last = &line[1].known
    cdef uint64_t hashed
    cdef uint8_t piece[16]
    cdef Py_ssize_t n
    cdef uint32_t n_stored
    if last.count > 1:
        hashed = short_probe(line[1].key).hashed
        n = write_key(line[1].key, piece)
        if find_stored(&state.store, hashed, piece, n, &n_stored) == NULL:
            store_piece(&state.store, hashed, piece, n, last.tokens, last.count)
    store_in_line(line, key, tokens, count)


cdef Py_ssize_t encode_piece(
    const Bpe* bpe, EncoderState* state,
    const uint8_t* piece, Py_ssize_t n,     # in: at least one byte
    bint whole_characters,                  # in: valid UTF-8
    uint32_t* out,                          # out: n slots
) noexcept nogil:
    """Token ids of one piece, from the vocabulary alone. Their number, NO_MEMORY or INTERRUPTED."""
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
    cdef Py_ssize_t count, at
    cdef bint backtracks = n > WORTH_A_LOOK and suits_backtracking(piece, n)
    if n <= MERGE_LIMIT and not backtracks:
        count = merge(bpe, piece, n, whole_characters, state.lookups.segments, out)
    elif may_merge_characters(bpe, piece, n, whole_characters):
        count = encode_characters(bpe, state, piece, n, out)
    else:
        count = encode_long(bpe, state, piece, n, backtracks, out)
    if bpe.n_dense < bpe.n_tokens:
        for at in range(count):
            out[at] = bpe.ids[out[at]]
    return count


cdef Py_ssize_t encode_characters(
    const Bpe* bpe, EncoderState* state, const uint8_t* piece, Py_ssize_t n, uint32_t* out
) noexcept nogil:
    """Tokens of a long piece, whose closed boundaries part it. Their number, or as encode_piece."""
    cdef Py_ssize_t count = 0, added, start = 0, end, watched = 0
    while start < n:
        if start - watched >= WATCHED:
            if is_interrupted(&state.lookups.watch, start - watched):
                return INTERRUPTED
            watched = start
        end = min(n, start + WATCHED)
        count += merge_segments(
            bpe, piece, &start, n, end, state.lookups.segments, out + count
        )
        if start < end:
            end = next_closed_boundary(bpe, piece, start, n)
            added = encode_long(
                bpe, state, piece + start, end - start,
                suits_backtracking(piece + start, end - start), out + count,
            )
            if added < 0:
                return added
            count += added
            start = end
    return count


cdef Py_ssize_t encode_long(
    const Bpe* bpe, EncoderState* state,
    const uint8_t* piece, Py_ssize_t n,     # in: at least one byte
    bint backtracks,                        # in: suits_backtracking
    uint32_t* out,                          # out: n slots
) noexcept nogil:
    """Tokens of a long piece. Their number, NO_MEMORY or INTERRUPTED.

    Windows are fastest but for text that repeats itself; backtracking for such text but for
    runs, where it leaves nearly every place again.
    """
    cdef Py_ssize_t count = 0
    if not backtracks:
        count = encode_by_windows(bpe, piece, n, &state.lookups, out)
    if count != 0:
        return count
    if not grow(<void**> &state.bits, &state.bits_words, n // 64 + 1, sizeof(uint64_t)):
        return NO_MEMORY
    count = backtrack(bpe, piece, n, state.bits, &state.lookups, BACKTRACKING_BUDGET, out)
    if count == 0:
        count = encode_by_prefixes(bpe, &state.lookups, piece, n, out)
    return count


cdef inline uint64_t ends_of_short(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t n       # in: 1 to MOST_SHORT bytes
) noexcept nogil:
    """Where the pieces of a whole text end: bit t says that one ends t bytes before the text does.

    0: the scan was lost. A step a byte, as in lanes: docs/scanning.md, "The stream of bytes".
    """
    cdef const uint32_t* table = scanner.lane_table
    cdef const uint32_t* column        # whose address does not wait for the state
    cdef uint64_t ends = 0
    cdef uint32_t entry, seen = 0
    cdef size_t row = 0
    cdef Py_ssize_t at
    for at in range(n):
        column = <const uint32_t*> barrier(table + text[at])
        entry = column[row]
        seen |= entry
        ends = ends << 1 | (entry & DECIDED)
        row = entry >> STATE_SHIFT
    entry = scanner.lane_ends[row >> STATE_ROW_BITS]
    return 0 if unlikely((seen | entry) & LOST) else ends << 1 | entry


def find_short_ends(ScanTables tables not None, bytes text not None):
    """Find all pieces of a valid text of 1 to 63 bytes, as counting does.

    Returns:
        Where they end, in bytes; None: the scan was lost, or the tables have none by lanes.
    """
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), at
    cdef uint64_t ends
    if not 0 < n <= MOST_SHORT:
        raise ValueError(f"expected 1 to {MOST_SHORT} bytes, got {n}")
    if tables.scanner.lane_table == NULL:
        return None
    ends = ends_of_short(&tables.scanner, data, n)
    return [n - at for at in range(n, -1, -1) if ends >> at & 1] if ends else None


cdef inline Py_ssize_t count_known(
    EncoderState* state, const uint8_t* text, Py_ssize_t n, uint64_t ends
) noexcept nogil:
    """Tokens of a short text whose pieces' ends are known; UNKNOWN: the first level lacks one.

    From the last piece to the first. No branch waits for what the first level has, so all of it is
    fetched at once. Between calls, its lines leave the processor's caches if a program does other
    things: counts of the shortest pieces are kept where eight share a line.
    """
    cdef Key whole, key
    cdef const FirstEntry* entry
    cdef Py_ssize_t total = 0, end = n, start, at
    cdef uint64_t missed = 0, others = 0, hashed
    cdef uint64_t* few
    if n < 16:
        whole = last_key(text, n)
    ends = ends & (ends - 1) | <uint64_t> 1 << n       # of the first piece, the start
    while end > 0:
        start = n - low_bit(ends)
        ends &= ends - 1
        if end - start > SHORT_PIECE:
            return UNKNOWN
        if n < 16:
            key = key_inside(whole.low, whole.high, start, end - start)
        else:
            at = min(start, n - 16)
            key = key_inside(load64(text + at), load64(text + at + 8), start - at, end - start)
        hashed = hash_key(key) >> 40
        few = state.few_bytes + (hashed & ((1 << FEW_BITS) - 1))
        if end - start <= FEW_BYTES and few[0] << 5 >> 5 == (key.low | key.high):
            total += few[0] >> FEW_COUNT_SHIFT
            end = start
            continue
        entry = in_line(state.first_level + 2 * (hashed & state.line_mask), key)
        missed = is_other(entry, key)
        if end - start <= FEW_BYTES:
            few[0] = (
                key.low | key.high | <uint64_t> entry.known.count << FEW_COUNT_SHIFT
            ) & (missed - 1)
        others |= missed
        total += entry.known.count
        end = start
    return UNKNOWN if others else total


cdef Py_ssize_t count_short(
    const Scanner* scanner, EncoderState* state, const uint8_t* text, Py_ssize_t n
) noexcept nogil:
    """Tokens of a whole text in valid UTF-8, if it is short and the first level has all pieces.

    Else UNKNOWN. Pays for ASCII: three steps for a character take longer.
    """
    cdef uint64_t ends
    if not 0 < n <= MOST_SHORT or scanner.lane_table == NULL:
        return UNKNOWN
    ends = ends_of_short(scanner, text, n)
    return count_known(state, text, n, ends) if ends else UNKNOWN


cdef Py_ssize_t encode_text(
    const Bpe* bpe, Source* source, EncoderState* state,
    const uint8_t* text, Py_ssize_t n,
    Py_ssize_t before,      # in: tokens in state.out to keep, or -1: keep none, only count
    Py_ssize_t limit,       # in: stop once there are more tokens than this
) noexcept nogil:
    """Tokens of a text, appended to state.out. Their number, NO_MEMORY or INTERRUPTED."""
    cdef Batch batch
    cdef Py_ssize_t at = 0, total = 0, added, done, searched = 0
    use_lanes(source, state, n, tells_lookahead=False)
    while at < n and total <= limit:
        if searched <= at:      # what a chunk then finds in the processor's cache
            searched = look_for_unwanted(state, text, searched, min(n, at + 2 * CHUNK))
        done = at
        at = fill_batch(source, text, at, n, limit - total + 1, &batch)
        if is_interrupted(&state.lookups.watch, at - done):
            return INTERRUPTED
        added = add_tokens(
            bpe, state, text, n, &batch, before + total if before >= 0 else -1
        )
        if added < 0:
            return added
        total += added
    if searched < n:
        look_for_unwanted(state, text, searched, n)
    return total


cdef Py_ssize_t add_tokens(
    const Bpe* bpe, EncoderState* state, const uint8_t* text, Py_ssize_t end, Batch* batch,
    Py_ssize_t before       # in: tokens in state.out to keep, or -1: keep none, only count
) noexcept nogil:
    """Tokens of a batch whose pieces are in order. Their number, NO_MEMORY or INTERRUPTED."""
    if before < 0:
        return count_pieces(bpe, state, text, end, batch, False)
    if not reserve_for(state, before, batch):
        return NO_MEMORY
    return encode_pieces(bpe, state, text, end, batch, False, state.out + before)


cdef Py_ssize_t look_for_unwanted(
    EncoderState* state, const uint8_t* text, Py_ssize_t at, Py_ssize_t n
) noexcept nogil:
    """Look whether the unwanted string begins in text[at:n], and lies in it, until it was found.

    Returns from where on it must be looked for when more of the text is known.
    """
    cdef Py_ssize_t stop
    if state.unwanted == NULL:
        return n
    stop = n - state.unwanted.n + 1
    if stop <= at:
        return at
    if find_bytes(text + at, n - at, state.unwanted) >= 0:
        state.found_unwanted = True
        state.unwanted = NULL
    return stop


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
            store_in_line(
                first_level_line(state.first_level, state.line_mask, key), key, &bpe.ids[token], 1
            )
        token -= 1
