"""Tokens of a slice of a text, after one pass over the text. Source: docs/counting.md.

A slice is counted in three parts. Its pieces are scanned from its start until a boundary
is met that is settled in the whole text; from there to the last settled boundary in the
slice, the tokens are a difference of two ranks; from there to its end it is scanned again.

Guarded by tests/counting/test_intervals.py.
"""

from cutline.kernels.base.characters cimport copy_utf8, utf8_bytes
from cutline.kernels.base.common cimport (
    MERGE_LIMIT, NO_MEMORY, NOT_FOUND, SHORT_PIECE, UNKNOWN, uint8_t, uint32_t,
)
from cutline.kernels.encode.batches cimport BATCH_PIECES, encode_batch, reserve
from cutline.kernels.index.bitmaps cimport (
    SETTLED, TOKENS, Marks, has_bit, last_bit, tokens_before, word_at,
)
from cutline.kernels.index.subpieces cimport count_part
from cutline.kernels.index.text_index cimport BUFFER_BYTES, ROW_STEP, LongPiece, long_piece_at
from cutline.kernels.scan.scan cimport Walk, begin_walk, ends_whole, walk

cdef enum:
    ROW_COST = 8                # of a slice, in characters scanned


cdef Py_ssize_t last_settled(
    const Counter* counter, Py_ssize_t start, Py_ssize_t at
) noexcept nogil:
    """The last settled boundary before `at`, and from `start` on; or NOT_FOUND."""
    cdef const Marks* marks = &counter.marks
    cdef const LongPiece* piece = NULL
    cdef Py_ssize_t found
    while start < at and counter.n_pieces > 0 and not word_at(marks, at - 1, SETTLED)[0]:
        # No search through the blocks of a giant piece: there is none inside.
        piece = long_piece_at(counter, at)
        if piece == NULL:
            break
        if at > piece.end:
            found = last_bit(marks, max(start, piece.end), at, SETTLED)
            if found != NOT_FOUND or piece.end <= start:
                return found
        at = piece.start
        if start <= at and has_bit(marks, at, SETTLED):
            return at
    return last_bit(marks, start, at, SETTLED)


cdef Py_ssize_t next_piece(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """End of the piece of text[start:end] (start < end) at its start, or NOT_FOUND.

    A scan that goes on for long is that of a long piece of the text, most often: once it
    is in the row that the text's own scan was in at the same place, the rest is known.
    """
    cdef Walk scan
    cdef Py_ssize_t joint
    begin_walk(counter.source.scanner, &scan, start)
    walk(counter.source.scanner, &counter.text, &scan, min(end, start + MERGE_LIMIT))
    while scan.row != 0 and scan.at < end:
        joint = joined_end(counter, &scan, end)
        if joint != NOT_FOUND:
            return joint
        walk(counter.source.scanner, &counter.text, &scan, min(end, next_joint(counter, scan.at)))
    query.scanned += scan.at - start
    if scan.row != 0 and ends_whole(counter.source.scanner, &scan):
        return end
    return scan.piece_end


cdef Py_ssize_t next_joint(const Counter* counter, Py_ssize_t at) noexcept nogil:
    """Where to compare rows next."""
    cdef const LongPiece* piece = long_piece_at(counter, at)
    if piece == NULL or at >= piece.stop:
        return at + ROW_STEP
    return at + ROW_STEP - (at - piece.start) % ROW_STEP


cdef Py_ssize_t joined_end(
    const Counter* counter, const Walk* scan, Py_ssize_t end
) noexcept nogil:
    """The end of the piece being scanned, known from the text's own scan; or NOT_FOUND."""
    cdef const LongPiece* piece = long_piece_at(counter, scan.at)
    cdef Py_ssize_t length
    if piece == NULL or scan.at >= piece.end or (scan.at - piece.start) % ROW_STEP:
        return NOT_FOUND
    if counter.rows[piece.first_row + (scan.at - piece.start) // ROW_STEP] != scan.row:
        return NOT_FOUND
    if piece.examined <= end:
        return piece.end
    length = end - piece.start
    if end <= piece.stop and counter.whole[piece.first_whole + (length >> 6)] >> (length & 63) & 1:
        return end
    return NOT_FOUND


cdef bint flush(const Counter* counter, Query* query) noexcept nogil:
    """Encode the pieces collected, and add their tokens to their rows' sums. False: no memory."""
    cdef const uint8_t* text = query.utf8
    cdef Py_ssize_t limit = BUFFER_BYTES, piece
    cdef uint32_t before = 0
    if query.batch.count == 0:
        query.used = 0          # whatever was forgotten
        return True
    if counter.text.is_ascii:
        text = <const uint8_t*> counter.text.data
        limit = counter.text.n
    if not reserve(query.scratch, query.used + 4):
        return False
    # Pieces as short as these need no tables that may be lacking.
    encode_batch(counter.bpe, query.scratch, text, limit, &query.batch, query.scratch.out)
    for piece in range(query.batch.count):
        query.sums[query.rows[piece]] += query.batch.totals[piece] - before
        before = query.batch.totals[piece]
    query.batch.count = 0
    query.used = 0
    return True


cdef void start_query(Query* query, Workspace work, int64_t* sums) noexcept:
    query.scratch = &work.scratch
    query.sums = sums
    query.row = 0
    query.batch.count = 0
    query.used = 0
    query.scanned = 0
    sums[0] = 0


cdef void forget_row(Query* query) noexcept nogil:
    """Take back what was collected and counted for the present row."""
    while query.batch.count > 0 and query.rows[query.batch.count - 1] == query.row:
        query.batch.count -= 1
    if query.batch.count == 0:
        query.used = 0
    query.sums[query.row] = 0


cdef Py_ssize_t add_piece(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Collect a piece, or count it. 0 or a negative status."""
    cdef Py_ssize_t n_bytes = end - start, place, tokens
    if n_bytes <= SHORT_PIECE:
        if (
            query.batch.count == BATCH_PIECES or query.used + 5 * SHORT_PIECE > BUFFER_BYTES
        ) and not flush(counter, query):
            return NO_MEMORY
        place = query.batch.count
        query.batch.starts[place] = start
        query.batch.ends[place] = end
        if not counter.text.is_ascii:
            n_bytes = copy_utf8(&counter.text, start, end, query.utf8 + query.used)
            query.batch.starts[place] = query.used
            query.batch.ends[place] = query.used + n_bytes
        if n_bytes <= SHORT_PIECE:
            query.rows[place] = query.row
            query.used += n_bytes
            query.batch.count = place + 1
            return 0
    elif not counter.text.is_ascii:
        n_bytes = utf8_bytes(&counter.text, start, end)
    tokens = count_part(counter, query, start, end, n_bytes)
    if tokens < 0:
        return tokens
    query.sums[query.row] += tokens
    return 0


cdef Py_ssize_t count_slice(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Add the tokens of text[start:end] to the row's sum, some when next flushed. 0 or a status."""
    cdef Py_ssize_t at = start, right, piece_end, status
    if start >= end:
        return 0
    right = last_settled(counter, start, end)
    query.scanned += ROW_COST + ((end - max(start, right)) >> 6)
    while at < end:
        if at < right and has_bit(&counter.marks, at, SETTLED):
            query.sums[query.row] += (
                tokens_before(&counter.marks, right) - tokens_before(&counter.marks, at)
            )
            at = right
        piece_end = next_piece(counter, query, at, end)
        if piece_end == NOT_FOUND:
            at += 1
            continue
        query.scanned += piece_end - at
        status = add_piece(counter, query, at, piece_end)
        if status < 0:
            return status
        at = piece_end
    return 0


cdef Landing land(
    const Counter* counter, Query* query, Py_ssize_t start, Py_ssize_t n, Py_ssize_t before
) noexcept nogil:
    """The last settled boundary before `before` that has at most n tokens before it.

    For every cut behind it, they are those of text[start:cut] up to it. Else the start.
    """
    cdef Landing landing
    cdef Py_ssize_t at = start, piece_end, examined = start, base, place
    cdef const Marks* marks = &counter.marks
    landing.at = start
    landing.tokens = 0
    while not has_bit(marks, at, SETTLED):
        if at - start > 4 * MERGE_LIMIT or at >= counter.text.n:
            return landing
        piece_end = scan_short(counter, at, &examined)
        if piece_end == UNKNOWN or (
            piece_end > at and add_piece(counter, query, at, piece_end) < 0
        ):
            return landing
        at = piece_end if piece_end > at else at + 1
    if at >= before or not flush(counter, query) or query.sums[0] > n:
        return landing
    base = tokens_before(marks, at)
    place = last_within(counter, at, base + n - query.sums[0], before)
    if place != NOT_FOUND and place + 1 >= examined:
        landing.at = place
        landing.tokens = query.sums[0] + tokens_before(marks, place) - base
    return landing


cdef Py_ssize_t scan_short(
    const Counter* counter, Py_ssize_t start, Py_ssize_t* examined
) noexcept nogil:
    """End of the text's piece at `start`; start itself where there is none; or UNKNOWN.

    Raises `examined` to the characters that this looked at.
    """
    cdef Walk scan
    begin_walk(counter.source.scanner, &scan, start)
    walk(
        counter.source.scanner, &counter.text, &scan, min(counter.text.n, start + MERGE_LIMIT)
    )
    if scan.row != 0:
        return UNKNOWN
    examined[0] = max(examined[0], scan.at)
    return start if scan.piece_end == NOT_FOUND else scan.piece_end


cdef Py_ssize_t last_within(
    const Counter* counter, Py_ssize_t start, Py_ssize_t tokens, Py_ssize_t before
) noexcept nogil:
    """The last settled boundary from `start` on, and before `before` (>= 1), with at most so many
    tokens before it; or NOT_FOUND.
    """
    cdef const Marks* marks = &counter.marks
    cdef Py_ssize_t low = 0, high = ((before - 1) >> 6) + 1, middle, place
    while low + 1 < high:
        middle = (low + high) >> 1
        if <Py_ssize_t> word_at(marks, middle << 6, TOKENS)[0] <= tokens:
            low = middle
        else:
            high = middle
    place = last_settled(counter, start, min(before, (low + 1) << 6))
    while place != NOT_FOUND and tokens_before(marks, place) > tokens:
        place = last_settled(counter, start, place)
    return place
