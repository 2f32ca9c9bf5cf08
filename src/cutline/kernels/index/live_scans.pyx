"""Read a text that grows at its end: a scan that stops with the text goes on with it.

A piece whose scan ended inside the text is decided, whatever is appended. The others
are kept as *live* scans, the automaton's state and all, and read each appended character
once. What lies after the end that a live scan has found so far is cut by further
scans, the last of which may live as well: "日" and "AAA" are two pieces of o200k, and
still one with a "c" after them. The end that a live scan has found can only move into
the characters that it reads next, so no scan ever starts at, or reads again, a character
of the text before: all appends together take the steps of one scan of the whole text.

Where the end of the text itself would end a live scan's piece, that piece is the last,
and the scans after it are hidden; they are kept all the same, for one more character
may bring them back. Long pieces are counted by their prefixes (see `prefixes`), from a
table that grows with the scan.

The whole state follows from the text, so a copy of it made at a shorter length is a *checkpoint*:
truncating restores the last one before the cut and reads on from there.

Guarded by tests/counting/test_appender.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.common cimport (
    INTERRUPTED, MERGE_LIMIT, NO_MEMORY, NONE, UNKNOWN, char_bytes, characters_in, grow,
    is_continuation, memcpy, memset,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.bpe.bpe cimport find_token
from cutline.kernels.bpe.prefixes cimport (
    extend_prefixes, free_prefixes, start_prefixes, take_lookups,
)
from cutline.kernels.encode.batches cimport BATCH_PIECES, Batch, add_to_batch, encode_after
from cutline.kernels.scan.scan cimport accepted_end, accepts_end, step

cdef enum:
    KEPT_SLOTS = 1 << 16        # a larger table is freed once its piece is decided
    WATCHED = 1 << 14           # bytes of a piece that are added to the watch at a time
    SLOW = 4                # the work of a byte whose tables are kept


cdef bint begin(LiveText* live) noexcept nogil:
    """Fill a zeroed state, but for `bpe` and `scanner`: the empty text. False: no memory."""
    cdef Scan decided
    cdef Py_ssize_t at
    for at in range(N_TABLES):
        live.tables[at].start = -1
    start_scan(live, &decided, 0)
    return push_scan(live, &decided) and push_checkpoint(live)


cdef void end_live(LiveText* live) noexcept nogil:
    """Free the memory of a state."""
    cdef Py_ssize_t at
    for at in range(N_TABLES):
        free_table(&live.tables[at])
    free(live.text)
    free(live.scans)
    free(live.checkpoints)
    free(live.saved_scans)


cdef bint reserve_text(LiveText* live, Py_ssize_t added) noexcept nogil:
    """Make ready to have other bytes put after text[:n]. False: no memory."""
    drop_tables(live)
    return grow(<void**> &live.text, &live.text_slots, live.n + added, 1)


cdef Py_ssize_t read_blocks(
    LiveText* live, Py_ssize_t end,
    Py_ssize_t limit,       # in: stop once it is sure that there are more tokens than this
    bint keeps_checkpoints,
) noexcept nogil:
    """Bring the state to text[:end]. Its tokens, NO_MEMORY or INTERRUPTED."""
    cdef Py_ssize_t stop, outcome, before
    while live.n < end and live.scans[0].tokens_after <= limit:
        stop = end
        if end - live.n > BLOCK_BYTES:
            stop = live.n + BLOCK_BYTES
            while is_continuation(live.text[stop]):
                stop -= 1
        before = live.n
        outcome = read_block(live, stop)
        if outcome < 0:
            return outcome
        if is_interrupted(&live.state.lookups.watch, live.n - before):
            return INTERRUPTED
        if (
            keeps_checkpoints and is_far(live, live.n_checkpoints - 1, live.n, live.n_scans)
            and not push_checkpoint(live)
        ):
            return NO_MEMORY
    return count_pieces(live)


cdef Py_ssize_t read_while_open(
    LiveText* live, Py_ssize_t end, Py_ssize_t limit
) noexcept nogil:
    """Read characters up to text[:end] until there are more than `limit` tokens, whatever follows.

    How many were read before that one, NO_MEMORY or INTERRUPTED.
    """
    cdef Py_ssize_t n_read = 0, outcome
    while live.n < end:
        outcome = read_block(live, live.n + char_bytes(live.text[live.n]))
        if outcome < 0:
            return outcome
        if live.scans[0].tokens_after > limit:
            break
        n_read += 1
    return n_read


cdef Py_ssize_t read_block(LiveText* live, Py_ssize_t end) noexcept nogil:
    """Read text[live.n:end]. 0, or what failed."""
    cdef Batch decided
    cdef Py_ssize_t level, n_scans = live.n_scans, accept, tokens, next_scan = live.n
    cdef Scan scan
    cdef bint alive
    decided.count = 0
    live.n_scans = 1
    for level in range(1, n_scans):
        scan = live.scans[level]
        accept = scan.accept
        alive = scan_on(live, &scan, live.n, end)
        if alive:
            tokens = flush_decided(live, &decided)
            live.scans[live.n_scans] = scan
            live.n_scans += 1
        else:
            # Its piece, and what comes after that, now comes after the scan below.
            live.scans[live.n_scans - 1].tokens_after += scan.tokens_after
            tokens = add_decided(live, &decided, &scan)
        if tokens < 0:
            return tokens
        if scan.accept != accept:
            next_scan = scan.accept
            break
    live.chars += characters_in(live.text + live.n, end - live.n, end - live.n)
    live.n = end
    return cut_on(live, &decided, next_scan, end)


cdef Py_ssize_t cut_on(
    LiveText* live, Batch* decided, Py_ssize_t at, Py_ssize_t end
) noexcept nogil:
    """Cut text[at:end] by scans of its own. 0, or what failed."""
    cdef Scan scan
    cdef Py_ssize_t tokens
    while at < end:
        start_scan(live, &scan, at)
        if scan_on(live, &scan, at, end):
            tokens = flush_before(live, decided, &scan, end)
            if tokens >= 0 and not push_scan(live, &scan):
                return NO_MEMORY
        else:
            tokens = add_decided(live, decided, &scan)
        if tokens < 0:
            return tokens
        at = end_so_far(live, &scan)
    return flush_decided(live, decided)


cdef inline Py_ssize_t add_decided(
    LiveText* live, Batch* decided, const Scan* scan
) noexcept nogil:
    """Take in the piece of a scan that ended. 0, or what failed."""
    cdef Py_ssize_t tokens = scan.tokens
    if scan.accept - scan.start > MERGE_LIMIT:
        tokens = count_decided(live, scan)
    if tokens >= 0:
        live.scans[live.n_scans - 1].tokens_after += tokens
        return 0
    if tokens != UNKNOWN:
        return tokens
    add_to_batch(decided, scan.start, scan.accept)
    return flush_decided(live, decided) if decided.count == BATCH_PIECES else 0


cdef Py_ssize_t count_decided(LiveText* live, const Scan* scan) noexcept nogil:
    """Tokens of the long piece of a scan that ended; UNKNOWN, if it is to be encoded with others.

    A giant one is remembered: truncating after it may read its end once more.
    """
    cdef Py_ssize_t tokens = scan.tokens, length = scan.accept - scan.start, at
    cdef Prefixes* table
    cdef Batch alone
    cdef Known* known
    for at in range(N_KNOWN):
        if live.known[at].start == scan.start and live.known[at].end == scan.accept:
            return live.known[at].tokens
    if tokens == UNKNOWN:
        table = find_table(live, scan.start)
        if table != NULL:
            tokens = count_long(live, table, length)
        elif length > BLOCK_BYTES:
            alone.count = 0
            add_to_batch(&alone, scan.start, scan.accept)
            tokens = encode_pieces(live, &alone)
    if tokens >= 0 and length > BLOCK_BYTES:
        known = &live.known[live.next_known]
        known.start, known.end, known.tokens = scan.start, scan.accept, tokens
        live.next_known = (live.next_known + 1) % N_KNOWN
    return tokens


cdef inline Py_ssize_t flush_decided(LiveText* live, Batch* decided) noexcept nogil:
    """Count decided pieces: they lie after the topmost scan. 0, or what failed."""
    cdef Py_ssize_t tokens = encode_pieces(live, decided)
    if tokens < 0:
        return tokens
    live.scans[live.n_scans - 1].tokens_after += tokens
    return 0


cdef inline Py_ssize_t flush_before(
    LiveText* live, Batch* decided, Scan* scan, Py_ssize_t end
) noexcept nogil:
    """Settle before a scan that lives. 0, or what failed.

    Its own piece, if it is likely to be asked for, is counted in one go: that the caches
    are far from the processor matters less then.
    """
    cdef Py_ssize_t others = decided.count, tokens
    if scan.accept != end or end - scan.start > MERGE_LIMIT:
        return flush_decided(live, decided)
    add_to_batch(decided, scan.start, end)
    tokens = encode_pieces(live, decided)
    if tokens < 0:
        return tokens
    scan.tokens = tokens - (decided.totals[others - 1] if others > 0 else 0)
    live.scans[live.n_scans - 1].tokens_after += tokens - scan.tokens
    return 0


cdef inline void start_scan(const LiveText* live, Scan* scan, Py_ssize_t start) noexcept nogil:
    scan.start = start
    scan.accept = 0
    scan.tokens = 0
    scan.tokens_after = 0
    scan.dfa_state = live.scanner.start_state


cdef inline Py_ssize_t end_so_far(const LiveText* live, const Scan* scan) noexcept nogil:
    """Where the next scan starts; without any end yet, its first character is skipped."""
    return scan.accept if scan.accept > 0 else scan.start + char_bytes(live.text[scan.start])


cdef inline bint scan_on(
    const LiveText* live, Scan* scan, Py_ssize_t at, Py_ssize_t end
) noexcept nogil:
    """Let a scan read text[at:end]. Whether it is still alive; see scan_piece."""
    cdef const Scanner* scanner = live.scanner
    cdef const uint8_t* text = live.text
    cdef uint32_t dfa_state = scan.dfa_state, entry
    cdef Py_ssize_t accept = 0, before
    while at < end and dfa_state != 0:
        before = at
        entry = step(scanner, dfa_state, text, &at)
        dfa_state = entry >> 2
        accept = accepted_end(entry, before, at, accept)
    scan.dfa_state = dfa_state
    if accept > 0 and accept != scan.accept:
        scan.accept = accept
        scan.tokens = UNKNOWN
        scan.tokens_after = 0
    return dfa_state != 0


cdef Py_ssize_t count_pieces(LiveText* live) noexcept nogil:
    """Tokens of text[:n] if it ends there, or what failed."""
    cdef Py_ssize_t level, tokens, total = live.scans[0].tokens_after
    cdef Scan* scan
    for level in range(1, live.n_scans):
        scan = &live.scans[level]
        if scan.accept != live.n and accepts_end(live.scanner, scan.dfa_state):
            # The end of the text ends its piece: what is after it is hidden.
            tokens = count_piece(live, scan.start, live.n)
            return total + tokens if tokens >= 0 else tokens
        if scan.tokens == UNKNOWN:
            tokens = count_piece(live, scan.start, scan.accept)
            if tokens < 0:
                return tokens
            scan.tokens = tokens
        total += scan.tokens + scan.tokens_after
    return total


cdef Py_ssize_t count_piece(LiveText* live, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Tokens of a piece that may grow, or what failed."""
    cdef Batch batch
    cdef Prefixes* table
    if end - start > MERGE_LIMIT:
        table = find_table(live, start)
        if table == NULL:
            table = take_table(live, start)
        return count_long(live, table, end - start)
    batch.count = 0
    add_to_batch(&batch, start, end)
    return encode_pieces(live, &batch)


cdef Py_ssize_t encode_pieces(LiveText* live, Batch* batch) noexcept nogil:
    """Tokens of the pieces of a batch, which is then empty; or what failed."""
    cdef Py_ssize_t tokens = encode_after(
        live.bpe, live.state, 0, live.text, live.text_slots, batch
    )
    batch.count = 0
    return tokens


cdef Prefixes* find_table(LiveText* live, Py_ssize_t start) noexcept nogil:
    """The table of the piece that starts here, or NULL."""
    cdef Py_ssize_t at
    for at in range(N_TABLES):
        if live.tables[at].start == start:
            return &live.tables[at]
    return NULL


cdef Prefixes* take_table(LiveText* live, Py_ssize_t start) noexcept nogil:
    """An empty table for this piece: a free one, or else the one that is soonest made again."""
    cdef Prefixes* taken = &live.tables[0]
    cdef Py_ssize_t at
    for at in range(N_TABLES):
        if live.tables[at].start < 0:
            taken = &live.tables[at]
            break
        if live.tables[at].frontier < taken.frontier:
            taken = &live.tables[at]
    taken.start = start
    taken.frontier = 0
    taken.keeps_depths = True
    return taken


cdef Py_ssize_t count_long(LiveText* live, Prefixes* table, Py_ssize_t length) noexcept nogil:
    """Tokens of the first bytes of a table's piece, or what failed."""
    cdef const uint8_t* piece = live.text + table.start
    cdef bint ready = True
    if table.frontier == 0:
        ready = start_prefixes(table, live.bpe, &live.state.lookups, False)
    elif table.frontier < length:
        ready = take_lookups(
            table, live.bpe, &live.state.lookups, piece + table.frontier, False
        )
    while ready and table.frontier < length:
        ready = extend_prefixes(table, live.bpe, piece + table.frontier, NONE)
        if table.frontier % WATCHED == 0 and is_interrupted(
            &live.state.lookups.watch, SLOW * WATCHED
        ):
            return INTERRUPTED
    if not ready:
        return NO_MEMORY
    # A piece that is a token is that token, though merging does not reach it.
    if length <= live.bpe.max_unreachable_bytes and find_token(live.bpe, piece, length) != NONE:
        return 1
    return table.counts[length]


cdef void drop_tables(LiveText* live) noexcept nogil:
    """Before other text is put after text[:n]: keep what is known of this, of live scans."""
    cdef Py_ssize_t at, decided = live.scans[1].start if live.n_scans > 1 else live.n
    cdef Prefixes* prefixes
    for at in range(N_KNOWN):
        if live.known[at].end > live.n:
            live.known[at].end = 0
    for at in range(N_TABLES):
        prefixes = &live.tables[at]
        if prefixes.start < 0:
            continue
        if decided <= prefixes.start < live.n:
            if prefixes.frontier > live.n - prefixes.start:
                prefixes.frontier = live.n - prefixes.start
        else:
            prefixes.start = -1
            if prefixes.count_slots > KEPT_SLOTS:
                free_table(prefixes)


cdef void free_table(Prefixes* table) noexcept nogil:
    free_prefixes(table)
    memset(table, 0, sizeof(Prefixes))
    table.start = -1


cdef bint push_scan(LiveText* live, const Scan* scan) noexcept nogil:
    """Put a scan on top of the others. False: no memory."""
    if not grow(<void**> &live.scans, &live.scan_slots, live.n_scans + 1, sizeof(Scan)):
        return False
    live.scans[live.n_scans] = scan[0]
    live.n_scans += 1
    return True


cdef bint push_checkpoint(LiveText* live) noexcept nogil:
    """Checkpoint the present state. False: no memory."""
    cdef Checkpoint* checkpoint
    cdef Py_ssize_t first = 0
    if not grow(
        <void**> &live.checkpoints, &live.checkpoint_slots, live.n_checkpoints + 1,
        sizeof(Checkpoint),
    ):
        return False
    checkpoint = &live.checkpoints[live.n_checkpoints]
    if live.n_checkpoints > 0:
        first = (checkpoint - 1).first_scan + (checkpoint - 1).n_scans
    if not grow(
        <void**> &live.saved_scans, &live.saved_slots, first + live.n_scans, sizeof(Scan)
    ):
        return False
    checkpoint.n = live.n
    checkpoint.chars = live.chars
    checkpoint.first_scan = first
    checkpoint.n_scans = live.n_scans
    memcpy(live.saved_scans + first, live.scans, live.n_scans * sizeof(Scan))
    live.n_checkpoints += 1
    return True


cdef void go_back(LiveText* live, Py_ssize_t checkpoint) noexcept nogil:
    """Make a checkpoint the present state; the checkpoints after it stay."""
    cdef const Checkpoint* to = &live.checkpoints[checkpoint]
    live.n = to.n
    live.chars = to.chars
    live.n_scans = to.n_scans
    memcpy(live.scans, live.saved_scans + to.first_scan, to.n_scans * sizeof(Scan))


cdef Py_ssize_t last_checkpoint(const LiveText* live, Py_ssize_t chars) noexcept nogil:
    """The last checkpoint, but for the topmost, with at most so many code points."""
    cdef Py_ssize_t low = 0, high = live.n_checkpoints - 2, middle
    while low < high:
        middle = (low + high + 1) // 2
        if live.checkpoints[middle].chars <= chars:
            low = middle
        else:
            high = middle - 1
    return low


cdef bint copy_live(LiveText* twin, const LiveText* live) noexcept nogil:
    """Make a fresh state the same as another one. False: no memory."""
    cdef const Checkpoint* checkpoint = &live.checkpoints[live.n_checkpoints - 1]
    cdef Py_ssize_t at
    # As many slots as there: whatever checkpoint it goes back to, its scans have room.
    if not (
        copy_slots(<void**> &twin.text, &twin.text_slots, live.text, live.n, live.n, 1)
        and copy_slots(
            <void**> &twin.scans, &twin.scan_slots, live.scans, live.n_scans, live.scan_slots,
            sizeof(Scan),
        )
        and copy_slots(
            <void**> &twin.checkpoints, &twin.checkpoint_slots, live.checkpoints,
            live.n_checkpoints, live.n_checkpoints, sizeof(Checkpoint),
        )
        and copy_slots(
            <void**> &twin.saved_scans, &twin.saved_slots, live.saved_scans,
            checkpoint.first_scan + checkpoint.n_scans, checkpoint.first_scan + checkpoint.n_scans,
            sizeof(Scan),
        )
    ):
        return False
    for at in range(N_TABLES):
        if not copy_table(&twin.tables[at], &live.tables[at]):
            return False
    twin.n = live.n
    twin.chars = live.chars
    twin.n_scans = live.n_scans
    twin.n_checkpoints = live.n_checkpoints
    twin.known = live.known
    twin.next_known = live.next_known
    return True


cdef bint copy_table(Prefixes* twin, const Prefixes* table) noexcept nogil:
    """Copy what is filled; False: no memory."""
    cdef Py_ssize_t used = table.frontier + 1, size = sizeof(uint32_t)
    if table.start < 0 or table.frontier == 0:
        return True
    if not (
        copy_slots(<void**> &twin.last, &twin.last_slots, table.last, used, used, size)
        and copy_slots(<void**> &twin.counts, &twin.count_slots, table.counts, used, used, size)
        and copy_slots(<void**> &twin.depths, &twin.depth_slots, table.depths, used, used, size)
    ):
        return False
    twin.start = table.start
    twin.frontier = table.frontier
    twin.keeps_depths = True
    return True


cdef bint copy_slots(
    void** memory, Py_ssize_t* slots, const void* source, Py_ssize_t used, Py_ssize_t needed,
    size_t slot_bytes,
) noexcept nogil:
    """Fill the first slots of an array that has room for more. False: no memory."""
    if not grow(memory, slots, needed, slot_bytes):
        return False
    if used > 0:
        memcpy(memory[0], source, used * slot_bytes)
    return True
