"""Read a text that grows at its end: a scan that stops with the text goes on with it.

A piece whose scan ended inside the text is decided, whatever is appended. The others
are kept as *live* scans, the automaton's row and all, and read each appended character
once. What lies behind the end that a live scan has found so far is cut by further
scans, the last of which may live as well: "日" and "AAA" are two pieces of o200k, and
still one with a "c" behind them. The end that a live scan has found can only move into
the characters that it reads next, so no scan ever starts at, or reads again, a character
of the text before: all appends together take the steps of one scan of the whole text.

Where the end of the text itself would end a live scan's piece, that piece is the last,
and the scans behind it are hidden; they are kept all the same, for one more character
may bring them back. Long pieces are counted by their prefixes (see `prefix`), from a
table that grows with the scan.

The whole state follows from the text, so a copy of it made at a shorter length, a
*mark*, is where truncating begins again: it reads on from the last mark before the cut.

Guarded by tests/counting/test_appender.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.common cimport (
    MERGE_LIMIT, NO_MEMORY, NONE, UNKNOWN, char_bytes, characters_in, grow, is_continuation, memcpy,
    memset,
)
from cutline.kernels.bpe.bpe cimport find_token
from cutline.kernels.bpe.prefixes cimport (
    extend_prefixes, free_prefixes, start_prefixes, take_lookups,
)
from cutline.kernels.encode.batches cimport BATCH_PIECES, Batch, encode_batch, reserve
from cutline.kernels.scan.scan cimport accepted_end, accepts_end, step

cdef enum:
    KEPT_SLOTS = 1 << 16        # a larger table is given back once its piece is decided


cdef bint begin(State* state) noexcept nogil:
    """Fill a zeroed state, but for `bpe` and `scanner`: the empty text. False: no memory."""
    cdef Scan decided
    cdef Py_ssize_t at
    for at in range(N_TABLES):
        state.tables[at].start = -1
    start_scan(state, &decided, 0)
    return push_scan(state, &decided) and push_mark(state)


cdef void end_state(State* state) noexcept nogil:
    """Free what a state holds."""
    cdef Py_ssize_t at
    for at in range(N_TABLES):
        free_table(&state.tables[at])
    free(state.text)
    free(state.scans)
    free(state.marks)
    free(state.marked_scans)


cdef bint reserve_text(State* state, Py_ssize_t added) noexcept nogil:
    """Make ready to have other bytes put behind text[:n]. False: no memory."""
    drop_tables(state)
    return grow(<void**> &state.text, &state.text_slots, state.n + added, 1)


cdef Py_ssize_t read_blocks(
    State* state, Py_ssize_t end,
    Py_ssize_t limit,       # in: stop once it is sure that there are more tokens than this
    bint keeps_marks,
) noexcept nogil:
    """Bring the state to text[:end]. Its tokens, or NO_MEMORY."""
    cdef Py_ssize_t stop, outcome
    while state.n < end and state.scans[0].behind <= limit:
        stop = end
        if end - state.n > BLOCK_BYTES:
            stop = state.n + BLOCK_BYTES
            while is_continuation(state.text[stop]):
                stop -= 1
        outcome = read_block(state, stop)
        if outcome < 0:
            return outcome
        if (
            keeps_marks and is_far(state, state.n_marks - 1, state.n, state.n_scans)
            and not push_mark(state)
        ):
            return NO_MEMORY
    return count_pieces(state)


cdef Py_ssize_t read_block(State* state, Py_ssize_t end) noexcept nogil:
    """Read text[state.n:end]. 0, or what failed."""
    cdef Batch decided
    cdef Py_ssize_t level, n_scans = state.n_scans, accept, tokens, next_scan = state.n
    cdef Scan scan
    cdef bint alive
    decided.count = 0
    state.n_scans = 1
    for level in range(1, n_scans):
        scan = state.scans[level]
        accept = scan.accept
        alive = scan_on(state, &scan, state.n, end)
        if alive:
            tokens = settle(state, &decided)
            state.scans[state.n_scans] = scan
            state.n_scans += 1
        else:
            # Its piece lies behind the scan below now, and so does what is behind it.
            state.scans[state.n_scans - 1].behind += scan.behind
            tokens = add_decided(state, &decided, &scan)
        if tokens < 0:
            return tokens
        if scan.accept != accept:
            next_scan = scan.accept
            break
    state.chars += characters_in(state.text + state.n, end - state.n, end - state.n)
    state.n = end
    return cut_on(state, &decided, next_scan, end)


cdef Py_ssize_t cut_on(
    State* state, Batch* decided, Py_ssize_t at, Py_ssize_t end
) noexcept nogil:
    """Cut text[at:end] by scans of its own. 0, or what failed."""
    cdef Scan scan
    cdef Py_ssize_t tokens
    while at < end:
        start_scan(state, &scan, at)
        if scan_on(state, &scan, at, end):
            tokens = settle_before(state, decided, &scan, end)
            if tokens >= 0 and not push_scan(state, &scan):
                return NO_MEMORY
        else:
            tokens = add_decided(state, decided, &scan)
        if tokens < 0:
            return tokens
        at = end_so_far(state, &scan)
    return settle(state, decided)


cdef inline Py_ssize_t add_decided(
    State* state, Batch* decided, const Scan* scan
) noexcept nogil:
    """Take in the piece of a scan that ended. 0, or what failed."""
    cdef Py_ssize_t tokens = scan.tokens
    if scan.accept - scan.start > MERGE_LIMIT:
        tokens = count_decided(state, scan)
    if tokens >= 0:
        state.scans[state.n_scans - 1].behind += tokens
        return 0
    if tokens != UNKNOWN:
        return tokens
    add_piece(decided, scan.start, scan.accept)
    return settle(state, decided) if decided.count == BATCH_PIECES else 0


cdef Py_ssize_t count_decided(State* state, const Scan* scan) noexcept nogil:
    """Tokens of the long piece of a scan that ended; UNKNOWN, if it is to be encoded with others.

    A giant one is remembered: truncating behind it may read its end once more.
    """
    cdef Py_ssize_t tokens = scan.tokens, length = scan.accept - scan.start, at
    cdef Prefixes* table
    cdef Batch alone
    cdef Known* known
    for at in range(N_KNOWN):
        if state.known[at].start == scan.start and state.known[at].end == scan.accept:
            return state.known[at].tokens
    if tokens == UNKNOWN:
        table = find_table(state, scan.start)
        if table != NULL:
            tokens = count_long(state, table, length)
        elif length > BLOCK_BYTES:
            alone.count = 0
            add_piece(&alone, scan.start, scan.accept)
            tokens = encode_pieces(state, &alone)
    if tokens >= 0 and length > BLOCK_BYTES:
        known = &state.known[state.next_known]
        known.start, known.end, known.tokens = scan.start, scan.accept, tokens
        state.next_known = (state.next_known + 1) % N_KNOWN
    return tokens


cdef inline void add_piece(Batch* batch, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    batch.starts[batch.count] = start
    batch.ends[batch.count] = end
    batch.count += 1


cdef inline Py_ssize_t settle(State* state, Batch* decided) noexcept nogil:
    """Count decided pieces: they lie behind the topmost scan. 0, or what failed."""
    cdef Py_ssize_t tokens = encode_pieces(state, decided)
    if tokens < 0:
        return tokens
    state.scans[state.n_scans - 1].behind += tokens
    return 0


cdef inline Py_ssize_t settle_before(
    State* state, Batch* decided, Scan* scan, Py_ssize_t end
) noexcept nogil:
    """Settle before a scan that lives. 0, or what failed.

    Its own piece, if it is likely to be asked for, is counted in one go: that the caches
    are far from the processor matters less then.
    """
    cdef Py_ssize_t others = decided.count, tokens
    if scan.accept != end or end - scan.start > MERGE_LIMIT:
        return settle(state, decided)
    add_piece(decided, scan.start, end)
    tokens = encode_pieces(state, decided)
    if tokens < 0:
        return tokens
    scan.tokens = tokens - (decided.totals[others - 1] if others > 0 else 0)
    state.scans[state.n_scans - 1].behind += tokens - scan.tokens
    return 0


cdef inline void start_scan(const State* state, Scan* scan, Py_ssize_t start) noexcept nogil:
    scan.start = start
    scan.accept = 0
    scan.tokens = 0
    scan.behind = 0
    scan.row = state.scanner.start_row


cdef inline Py_ssize_t end_so_far(const State* state, const Scan* scan) noexcept nogil:
    """Where the next scan starts; without any end yet, its first character is skipped."""
    return scan.accept if scan.accept > 0 else scan.start + char_bytes(state.text[scan.start])


cdef inline bint scan_on(
    const State* state, Scan* scan, Py_ssize_t at, Py_ssize_t end
) noexcept nogil:
    """Let a scan read text[at:end]. Whether it is still alive; see scan_piece."""
    cdef const Scanner* scanner = state.scanner
    cdef const uint8_t* text = state.text
    cdef uint32_t row = scan.row, entry
    cdef Py_ssize_t accept = 0, before
    while at < end and row != 0:
        before = at
        entry = step(scanner, row, text, &at)
        row = entry >> 2
        accept = accepted_end(entry, before, at, accept)
    scan.row = row
    if accept > 0 and accept != scan.accept:
        scan.accept = accept
        scan.tokens = UNKNOWN
        scan.behind = 0
    return row != 0


cdef Py_ssize_t count_pieces(State* state) noexcept nogil:
    """Tokens of text[:n] if it ends there, or what failed."""
    cdef Py_ssize_t level, tokens, total = state.scans[0].behind
    cdef Scan* scan
    for level in range(1, state.n_scans):
        scan = &state.scans[level]
        if scan.accept != state.n and accepts_end(state.scanner, scan.row):
            # The end of the text ends its piece: what is behind it is hidden.
            tokens = count_piece(state, scan.start, state.n)
            return total + tokens if tokens >= 0 else tokens
        if scan.tokens == UNKNOWN:
            tokens = count_piece(state, scan.start, scan.accept)
            if tokens < 0:
                return tokens
            scan.tokens = tokens
        total += scan.tokens + scan.behind
    return total


cdef Py_ssize_t count_piece(State* state, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Tokens of a piece that may grow, or what failed."""
    cdef Batch batch
    cdef Prefixes* table
    if end - start > MERGE_LIMIT:
        table = find_table(state, start)
        if table == NULL:
            table = take_table(state, start)
        return count_long(state, table, end - start)
    batch.count = 0
    add_piece(&batch, start, end)
    return encode_pieces(state, &batch)


cdef Py_ssize_t encode_pieces(State* state, Batch* batch) noexcept nogil:
    """Tokens of the pieces of a batch, which is then empty; or what failed."""
    cdef Py_ssize_t tokens
    if batch.count == 0:
        return 0
    if not reserve(state.scratch, batch.ends[batch.count - 1] - batch.starts[0] + 4):
        return NO_MEMORY
    tokens = encode_batch(
        state.bpe, state.scratch, state.text, state.text_slots, batch, state.scratch.out
    )
    batch.count = 0
    return tokens


cdef Prefixes* find_table(State* state, Py_ssize_t start) noexcept nogil:
    """The table of the piece that starts here, or NULL."""
    cdef Py_ssize_t at
    for at in range(N_TABLES):
        if state.tables[at].start == start:
            return &state.tables[at]
    return NULL


cdef Prefixes* take_table(State* state, Py_ssize_t start) noexcept nogil:
    """An empty table for this piece: a free one, or else the one that is soonest made again."""
    cdef Prefixes* taken = &state.tables[0]
    cdef Py_ssize_t at
    for at in range(N_TABLES):
        if state.tables[at].start < 0:
            taken = &state.tables[at]
            break
        if state.tables[at].frontier < taken.frontier:
            taken = &state.tables[at]
    taken.start = start
    taken.frontier = 0
    taken.keeps_depths = True
    return taken


cdef Py_ssize_t count_long(State* state, Prefixes* table, Py_ssize_t length) noexcept nogil:
    """Tokens of the first bytes of a table's piece, or what failed."""
    cdef const uint8_t* piece = state.text + table.start
    cdef bint ready = True
    if table.frontier == 0:
        ready = start_prefixes(table, state.bpe, &state.scratch.lookups, False)
    elif table.frontier < length:
        ready = take_lookups(
            table, state.bpe, &state.scratch.lookups, piece + table.frontier, False
        )
    while ready and table.frontier < length:
        ready = extend_prefixes(table, state.bpe, piece + table.frontier, NONE)
    if not ready:
        return NO_MEMORY
    # A piece that is a token is that token, though merging does not reach it.
    if length <= state.bpe.max_unreachable_bytes and find_token(state.bpe, piece, length) != NONE:
        return 1
    return table.counts[length]


cdef void drop_tables(State* state) noexcept nogil:
    """Before other text is put behind text[:n]: keep what is known of this, of live scans."""
    cdef Py_ssize_t at, decided = state.scans[1].start if state.n_scans > 1 else state.n
    cdef Prefixes* prefixes
    for at in range(N_KNOWN):
        if state.known[at].end > state.n:
            state.known[at].end = 0
    for at in range(N_TABLES):
        prefixes = &state.tables[at]
        if prefixes.start < 0:
            continue
        if decided <= prefixes.start < state.n:
            if prefixes.frontier > state.n - prefixes.start:
                prefixes.frontier = state.n - prefixes.start
        else:
            prefixes.start = -1
            if prefixes.count_slots > KEPT_SLOTS:
                free_table(prefixes)


cdef void free_table(Prefixes* table) noexcept nogil:
    free_prefixes(table)
    memset(table, 0, sizeof(Prefixes))
    table.start = -1


cdef bint push_scan(State* state, const Scan* scan) noexcept nogil:
    """Put a scan on top of the others. False: no memory."""
    if not grow(<void**> &state.scans, &state.scan_slots, state.n_scans + 1, sizeof(Scan)):
        return False
    state.scans[state.n_scans] = scan[0]
    state.n_scans += 1
    return True


cdef bint push_mark(State* state) noexcept nogil:
    """Mark the present state. False: no memory."""
    cdef Mark* mark
    cdef Py_ssize_t first = 0
    if not grow(<void**> &state.marks, &state.mark_slots, state.n_marks + 1, sizeof(Mark)):
        return False
    mark = &state.marks[state.n_marks]
    if state.n_marks > 0:
        first = (mark - 1).first_scan + (mark - 1).n_scans
    if not grow(
        <void**> &state.marked_scans, &state.marked_slots, first + state.n_scans, sizeof(Scan)
    ):
        return False
    mark.n = state.n
    mark.chars = state.chars
    mark.first_scan = first
    mark.n_scans = state.n_scans
    memcpy(state.marked_scans + first, state.scans, state.n_scans * sizeof(Scan))
    state.n_marks += 1
    return True


cdef void go_back(State* state, Py_ssize_t mark) noexcept nogil:
    """Make a mark the present state; the marks after it stay."""
    cdef const Mark* to = &state.marks[mark]
    state.n = to.n
    state.chars = to.chars
    state.n_scans = to.n_scans
    memcpy(state.scans, state.marked_scans + to.first_scan, to.n_scans * sizeof(Scan))


cdef Py_ssize_t last_mark(const State* state, Py_ssize_t chars) noexcept nogil:
    """The last mark, but for the topmost, with at most so many code points."""
    cdef Py_ssize_t low = 0, high = state.n_marks - 2, middle
    while low < high:
        middle = (low + high + 1) // 2
        if state.marks[middle].chars <= chars:
            low = middle
        else:
            high = middle - 1
    return low


cdef bint copy_state(State* twin, const State* state) noexcept nogil:
    """Make a fresh state the same as another one. False: no memory."""
    cdef const Mark* mark = &state.marks[state.n_marks - 1]
    cdef Py_ssize_t at
    # As many slots as there: whatever mark it goes back to, its scans have room.
    if not (
        copy_slots(<void**> &twin.text, &twin.text_slots, state.text, state.n, state.n, 1)
        and copy_slots(
            <void**> &twin.scans, &twin.scan_slots, state.scans, state.n_scans, state.scan_slots,
            sizeof(Scan),
        )
        and copy_slots(
            <void**> &twin.marks, &twin.mark_slots, state.marks, state.n_marks, state.n_marks,
            sizeof(Mark),
        )
        and copy_slots(
            <void**> &twin.marked_scans, &twin.marked_slots, state.marked_scans,
            mark.first_scan + mark.n_scans, mark.first_scan + mark.n_scans, sizeof(Scan),
        )
    ):
        return False
    for at in range(N_TABLES):
        if not copy_table(&twin.tables[at], &state.tables[at]):
            return False
    twin.n = state.n
    twin.chars = state.chars
    twin.n_scans = state.n_scans
    twin.n_marks = state.n_marks
    twin.known = state.known
    twin.next_known = state.next_known
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
