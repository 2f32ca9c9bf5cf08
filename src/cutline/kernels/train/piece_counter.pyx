"""Count the distinct pieces of texts: the first half of training.

Long texts are scanned by lanes (see `scan/lanes`). Short pieces go into the table (see
`piece_table`) in batches, in two passes: the first one hashes and prefetches.

Several threads can count one text. Each but the first begins in the middle of it, at a
character that need not begin a piece, so its beginning is only a guess. `guess` notes the
first pieces, without counting them, and counts those that follow. Once it is known where the
part before really ended, `reconcile` scans from there until it meets a place that was noted:
what is decided from a place on depends on nothing before it, so from there on both scans
are the same. Where they never meet, what was counted is wrong. It stands in the table of a thread
that is busy by then, and is taken off in the end, when the pieces of all tables are sorted.

Guarded by tests/kernels/test_piece_counter.py.
"""

import os

from cython cimport auto_pickle

from cutline.kernels.base.common cimport (
    NO_LIMIT, NO_MEMORY, SHORT_PIECE, TOO_MANY, UNKNOWN, Key, char_bytes, int64_t, memset,
    prefetch, short_key, uint8_t,
)
from cutline.kernels.scan.lanes cimport CHUNK, LEAST_LANED, Chunk, scan_chunk, take_pieces
from cutline.kernels.scan.scan cimport ScanTables, Scanner, scan_piece
from cutline.kernels.train.piece_sort cimport PieceSort, grouped_pieces
from cutline.kernels.train.piece_table cimport (
    INT64_MAX, ROOM, Entry, Table, add_long, add_piece, add_short, add_to_total, begin_table,
    count_distinct, end_table, first_slot, make_room, shown,
)

cdef enum:
    NOTED_STEPS = 256       # of a guess

# Short pieces that were found and wait to be counted, and where to look for each first.
cdef struct Batch:
    Py_ssize_t count
    Key keys[ROOM]
    Entry* slots[ROOM]

# What a scan may still do.
cdef struct Scan:
    const Scanner* scanner
    const uint8_t* text
    Py_ssize_t end          # nothing at or beyond text[end] is read
    bint final              # the text ends at `end`: every piece is decided
    Py_ssize_t byte_budget  # bytes that may still be looked at
    Chunk* chunk            # where lanes scan; NULL: without them
    Py_ssize_t laned_from   # in the text: lanes do not pay before


@auto_pickle(False)
cdef class Guess:
    """What `Tally.guess` found from a place where no piece need begin; for `Tally.reconcile`."""

    cdef Py_ssize_t noted_starts[NOTED_STEPS + 1]
    cdef Py_ssize_t noted_ends[NOTED_STEPS]     # of a gap: where it starts
    cdef Py_ssize_t n_noted
    cdef Py_ssize_t arrived     # from the last of noted_starts to here it counted
    cdef Py_ssize_t stop


@auto_pickle(False)
cdef class Tally:
    """Distinct pieces, each with how often it was counted.

    Args:
        scan_tables: the automaton that finds pieces; None: only `add_spans` and `add_pieces` are
            used.

    One thread at a time may use a tally. The methods that count release the GIL. A tally that
    reconciles what another one guessed is only right together with it: see `put_into`.
    After a MemoryError or an OverflowError some of a text is counted, some is not.
    """

    cdef ScanTables scan_tables
    cdef Table table
    cdef Table wrong        # what guesses have counted that is to be taken off; mostly no table
    cdef Chunk chunk

    def __cinit__(self, ScanTables scan_tables):
        cdef bytes seed = os.urandom(sizeof(self.table.seed))
        self.scan_tables = scan_tables
        if not begin_table(&self.table, seed):
            raise MemoryError("no memory for a table of pieces")

    def __dealloc__(self):
        end_table(&self.table)
        end_table(&self.wrong)

    @property
    def distinct(self):
        """The number of distinct pieces, if nothing was guessed. Cost: linear in it."""
        return count_distinct(&self.table)

    @property
    def total(self):
        """The number of pieces."""
        return shown(&self.table.total) - shown(&self.wrong.total)

    cdef Scan scan_of(self, const uint8_t[::1] data, Py_ssize_t end, bint final) except *:
        cdef Scan scan
        memset(&scan, 0, sizeof(scan))
        if self.scan_tables is None:
            raise ValueError("this tally has no scan tables")
        if not 0 <= end <= data.shape[0]:
            raise ValueError(f"end is {end}, outside of {data.shape[0]} bytes")
        scan.scanner = &self.scan_tables.scanner
        scan.text = &data[0] if end else NULL
        scan.end = end
        scan.final = final
        scan.byte_budget = NO_LIMIT
        scan.chunk = &self.chunk if scan.scanner.lane_table != NULL else NULL
        return scan

    def add(
        self, const uint8_t[::1] data not None, Py_ssize_t start, Py_ssize_t stop,
        Py_ssize_t end, bint final,
    ):
        """Count the pieces that start in data[start:stop] and are decided by data[:end].

        Args:
            data: valid UTF-8 up to `end`.
            start: where a piece, or text that no piece covers, begins.
            stop: pieces that start here or after it are left out, if it is below `end`.
            end: where the text ends, or what is known of it.
            final: the text ends there, which decides all pieces.

        Returns:
            Where it arrived: the first place of those from `stop` on where a piece ends, or
            the start of the first piece that needs more text to be decided.

        Raises:
            OverflowError: more than 2**63 - 1 pieces.
        """
        cdef Scan scan = self.scan_of(data, end, final)
        cdef Py_ssize_t at
        with nogil:
            at = count_text(&self.table, &scan, start, min(stop, end))
        return checked(at)

    def add_documents(
        self, const uint8_t[::1] data not None, const int64_t[::1] offsets not None
    ):
        """Count the pieces of several texts, the k-th of which is data[offsets[k]:offsets[k + 1]].

        Raises:
            OverflowError: more than 2**63 - 1 pieces.
        """
        cdef Py_ssize_t last = offsets.shape[0] - 1, k, at = 0
        cdef Scan scan = self.scan_of(data, offsets[last] if last >= 0 else 0, True)
        cdef Batch batch
        batch.count = 0
        with nogil:
            for k in range(last):
                scan.end = offsets[k + 1]
                at = scan_text(&self.table, &scan, &batch, offsets[k], scan.end)
                if at < 0:
                    break
            if at >= 0:
                at = count_batch(&self.table, &batch)
        checked(at)

    def guess(
        self, const uint8_t[::1] data not None, Py_ssize_t start, Py_ssize_t stop,
        Py_ssize_t end, bint final,
    ):
        """Count like `add`, but from a character that need not begin a piece.

        May stop early, where pieces are decided by looking far again and again.

        Returns:
            What `reconcile` needs, of this tally or another: before that, some of what was
            counted may be wrong, and some is missing.
        """
        cdef Scan scan = self.scan_of(data, end, final)
        cdef Py_ssize_t at = start
        cdef Guess guess = Guess.__new__(Guess)
        guess.stop = stop = min(stop, end)
        scan.byte_budget = 4 * (stop - start) + 4096
        with nogil:
            while at < stop and guess.n_noted < NOTED_STEPS and scan.byte_budget >= 0:
                guess.noted_starts[guess.n_noted] = at
                at = next_piece_end(&scan, at, &guess.noted_ends[guess.n_noted])
                if at < 0:
                    at = guess.noted_starts[guess.n_noted]
                    break
                guess.n_noted += 1
            guess.noted_starts[guess.n_noted] = at
            if guess.n_noted == NOTED_STEPS:
                at = count_text(&self.table, &scan, at, stop)
        guess.arrived = checked(at)
        return guess

    def reconcile(
        self, Guess guess not None, const uint8_t[::1] data not None, Py_ssize_t at,
        Py_ssize_t end, bint final,
    ):
        """Count what a guess left out; what it counted wrongly is taken off in the end.

        Args:
            guess: of any tally, which may be busy; once.
            data, end, final: as they were given to `guess`.
            at: where the text before the guess really arrived, as `add` and `reconcile` return it.

        Returns:
            Where this part arrives, as `add` does.

        Cost: linear in the part, and nearly nothing where both scans soon meet.
        """
        cdef Scan scan = self.scan_of(data, end, final)
        with nogil:
            if at >= guess.noted_starts[0]:
                at = self.reconciled(guess, &scan, at)
            else:
                at = self.refused(guess, &scan, at)
        return checked(at)

    def refuse(
        self, Guess guess not None, const uint8_t[::1] data not None, Py_ssize_t end, bint final
    ):
        """Take off all that a guess counted, in place of `reconcile`; arguments are the same."""
        cdef Scan scan = self.scan_of(data, end, final)
        with nogil:
            end = self.refused(guess, &scan, 0)
        checked(end)

    cdef Py_ssize_t reconciled(self, Guess guess, Scan* scan, Py_ssize_t at) noexcept nogil:
        """Scan until a noted place is met, then count what was noted from there on."""
        cdef Py_ssize_t noted = 0, next_at, piece_end = 0, code
        while at < guess.stop:
            while noted < guess.n_noted and guess.noted_starts[noted] < at:
                noted += 1
            if guess.noted_starts[noted] == at:
                for noted in range(noted, guess.n_noted):
                    code = add_piece(
                        &self.table, scan.text + guess.noted_starts[noted],
                        guess.noted_ends[noted] - guess.noted_starts[noted], 1,
                    )
                    if code < 0:
                        return code
                return count_text(&self.table, scan, guess.arrived, guess.stop)
            if guess.noted_starts[noted] < at:
                break
            next_at = next_piece_end(scan, at, &piece_end)
            if next_at < 0:
                break
            code = add_piece(&self.table, scan.text + at, piece_end - at, 1)
            if code < 0:
                return code
            at = next_at
        at = self.refused(guess, scan, at)
        if at < 0:
            return at
        return count_text(&self.table, scan, at, guess.stop)

    cdef Py_ssize_t refused(self, Guess guess, Scan* scan, Py_ssize_t at) noexcept nogil:
        """Note what a guess counted as wrong. Returns `at`, or an error."""
        cdef Py_ssize_t start = guess.noted_starts[guess.n_noted], code = 0
        if start < guess.arrived:
            code = self.begin_wrong()
            if code >= 0:
                code = count_text(&self.wrong, scan, start, guess.arrived)
        return at if code >= 0 else code

    cdef Py_ssize_t begin_wrong(self) noexcept nogil:
        """Have a table of what is wrong. 0 or an error."""
        if self.wrong.slots > 0 or begin_table(
            &self.wrong, <const uint8_t*> self.table.seed
        ):
            return 0
        end_table(&self.wrong)
        memset(&self.wrong, 0, sizeof(Table))
        return NO_MEMORY

    def add_spans(
        self, const uint8_t[::1] data not None,
        const int64_t[::1] starts not None, const int64_t[::1] ends not None,
    ):
        """Count data[starts[k]:ends[k]], in bytes, for every k; empty ones are nothing.

        Raises:
            OverflowError: more than 2**63 - 1 pieces.
        """
        cdef Py_ssize_t k, code = 0
        cdef const uint8_t* text = &data[0] if data.shape[0] else NULL
        with nogil:
            for k in range(starts.shape[0]):
                code = add_piece(&self.table, text + starts[k], ends[k] - starts[k], 1)
                if code < 0:
                    break
        checked(code)

    def add_pieces(
        self, const uint8_t[::1] arena not None,
        const int64_t[::1] offsets not None, const int64_t[::1] counts not None,
    ):
        """Add what `PieceSort.pieces` gave; rows may be in any order.

        Trusts: offsets do not fall, and stay inside the arena; no count is negative.

        Raises:
            OverflowError: more than 2**63 - 1 pieces in all.
        """
        cdef Py_ssize_t k, code = 0
        cdef const uint8_t* bytes = &arena[0] if arena.shape[0] else NULL
        with nogil:
            for k in range(counts.shape[0]):
                code = add_piece(
                    &self.table, bytes + offsets[k], offsets[k + 1] - offsets[k], counts[k]
                )
                if code < 0:
                    break
        checked(code)

    def put_into(self, PieceSort sort not None):
        """Let the pieces be sorted with those of other tallies, and their counts added up.

        What one has guessed and the other reconciled is right in their sum.
        """
        sort.add_table(self, &self.table, False)
        if self.wrong.total > 0:
            sort.add_table(self, &self.wrong, True)

    def groups(self, Py_ssize_t n_groups):
        """All distinct pieces in groups, if nothing was guessed; those of different tallies fit.

        Returns:
            A list of what `PieceSort.pieces` returns, in any order, for each group; None for a group
            without pieces.

        Cost: linear in the pieces and groups.
        """
        if n_groups < 1:
            raise ValueError(f"n_groups must be 1 or more, got {n_groups}")
        return grouped_pieces(&self.table, n_groups)


cdef Py_ssize_t checked(Py_ssize_t code) except -1:
    """Turn an error of the functions below into an exception."""
    if code == NO_MEMORY:
        raise MemoryError("no memory for more distinct pieces: count fewer files at a time")
    if code == TOO_MANY:
        raise OverflowError("more than 2**63 - 1 pieces: no count holds them")
    return code


# Finding pieces

cdef inline Py_ssize_t next_piece_end(
    Scan* scan, Py_ssize_t at, Py_ssize_t* piece_end
) noexcept nogil:
    """End of the piece or the skipped character at a place; UNKNOWN: it takes more text."""
    cdef Py_ssize_t lookahead_end = 0
    cdef Py_ssize_t end = scan_piece(scan.scanner, scan.text, at, scan.end, &lookahead_end)
    if lookahead_end > scan.end and not scan.final:
        return UNKNOWN
    scan.byte_budget -= lookahead_end - at
    if end < 0:
        piece_end[0] = at
        return at + char_bytes(scan.text[at])
    piece_end[0] = end
    return end


cdef Py_ssize_t scan_text(
    Table* table, Scan* scan, Batch* batch,
    Py_ssize_t at, Py_ssize_t stop,         # in: pieces that start in text[at:stop]
) noexcept nogil:
    """Count pieces, but for those that stay in the batch. Where it arrived, or an error."""
    cdef Py_ssize_t next_at, piece_end = 0, code
    while at < stop and scan.byte_budget >= 0:
        if scan_by_lanes(scan, at, stop):
            code = put_chunk_in_batch(table, scan, batch)
            at = scan.chunk.stop
        else:
            next_at = next_piece_end(scan, at, &piece_end)
            if next_at < 0:
                break
            code = put_in_batch(table, scan, batch, at, piece_end)
            at = next_at
        if code < 0:
            return code
    return at


cdef inline bint scan_by_lanes(Scan* scan, Py_ssize_t at, Py_ssize_t stop) noexcept nogil:
    """Find the next pieces by lanes, at least one. False: lanes do not pay here, or did not."""
    # Lanes decide by what is in the chunk; where they are joined, the decision may look beyond.
    cdef Py_ssize_t margin = 0 if scan.final else LEAST_LANED
    cdef Py_ssize_t size = min(CHUNK, stop - at, scan.end - margin - at)
    cdef Chunk* chunk = scan.chunk
    if size < LEAST_LANED or chunk == NULL or at < scan.laned_from:
        return False
    scan_chunk(scan.scanner, scan.text, at, scan.end, size, 0, chunk)
    scan.byte_budget -= chunk.n + chunk.n_rescanned
    if 2 * chunk.n_rescanned > chunk.n:
        scan.laned_from = chunk.stop + CHUNK
    # With fewer bytes read anew than there are beyond the chunk, none looked past the end.
    if scan.final or chunk.n_rescanned <= scan.end - at - chunk.n:
        return True
    scan.laned_from = chunk.stop + CHUNK
    return False


cdef Py_ssize_t put_chunk_in_batch(
    Table* table, Scan* scan, Batch* batch
) noexcept nogil:
    """Count the pieces of a chunk, but for those that stay in the batch. 0 or an error."""
    cdef Py_ssize_t starts[ROOM]
    cdef Py_ssize_t ends[ROOM]
    cdef Py_ssize_t piece, n, code
    while scan.chunk.at < scan.chunk.stop:
        n = take_pieces(scan.chunk, ROOM, starts, ends)
        for piece in range(n):
            code = put_in_batch(table, scan, batch, starts[piece], ends[piece])
            if code < 0:
                return code
    return 0


cdef Py_ssize_t count_text(
    Table* table, Scan* scan, Py_ssize_t at, Py_ssize_t stop
) noexcept nogil:
    """Count all pieces that start in text[at:stop]. Where it arrived, or an error."""
    cdef Batch batch
    cdef Py_ssize_t code
    batch.count = 0
    at = scan_text(table, scan, &batch, at, stop)
    if at < 0:
        return at
    code = count_batch(table, &batch)
    return at if code >= 0 else code


cdef inline Py_ssize_t put_in_batch(
    Table* table, const Scan* scan, Batch* batch,
    Py_ssize_t start, Py_ssize_t end,       # in: of the piece; of a gap: start == end
) noexcept nogil:
    """Count a piece if it is long, let it wait if it is short. 0 or an error."""
    cdef Py_ssize_t n = end - start
    cdef Key key
    cdef Entry* slot
    if n > SHORT_PIECE:
        return add_long(table, scan.text + start, n, 1)
    if n == 0:
        return 0
    key = short_key(scan.text + start, n, scan.text + scan.end)
    slot = first_slot(table, key)
    prefetch(slot)
    batch.keys[batch.count] = key
    batch.slots[batch.count] = slot
    batch.count += 1
    return count_batch(table, batch) if batch.count == ROOM else 0


cdef Py_ssize_t count_batch(Table* table, Batch* batch) noexcept nogil:
    """Count the pieces of a batch and empty it. 0 or an error."""
    cdef Py_ssize_t k
    if batch.count > INT64_MAX - table.total:
        return TOO_MANY
    for k in range(batch.count):
        add_short(table, batch.slots[k], &batch.keys[k], 1)
    add_to_total(table, batch.count)
    batch.count = 0
    return make_room(table)
