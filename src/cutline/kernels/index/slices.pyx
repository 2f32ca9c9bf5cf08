"""Tokens of a slice of a text, after one pass over the text. Source: docs/counting.md.

A slice is counted in three parts. Its pieces are scanned from its start until a boundary
is met that is a safe split point of the whole text; from there to the last safe split point in the
slice, the tokens are a difference of two ranks; from there to its end it is scanned again.

Guarded by tests/counting/test_intervals.py.
"""

from cutline.kernels.base.characters cimport copy_utf8, utf8_bytes
from cutline.kernels.base.common cimport (
    MERGE_LIMIT, NO_MEMORY, NOT_FOUND, SHORT_PIECE, UNKNOWN, uint8_t, uint32_t,
)
from cutline.kernels.encode.batches cimport BATCH_PIECES, encode_batch, reserve
from cutline.kernels.index.bitmaps cimport (
    SAFE, TOKENS, RankBitmaps, has_bit, last_bit, tokens_before, word_at,
)
from cutline.kernels.index.subpieces cimport count_part
from cutline.kernels.index.text_index cimport BUFFER_BYTES, STATE_STEP, LongPiece, long_piece_at
from cutline.kernels.scan.scan cimport PieceScan, begin_scan, continue_scan, ends_whole

cdef enum:
    ROW_COST = 8                # of a slice, in characters scanned


cdef Py_ssize_t last_safe(
    const TextIndex* index, Py_ssize_t start, Py_ssize_t at
) noexcept nogil:
    """The last safe split point before `at`, and from `start` on; or NOT_FOUND."""
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    cdef const LongPiece* piece = NULL
    cdef Py_ssize_t found
    while start < at and index.n_pieces > 0 and not word_at(bitmaps, at - 1, SAFE)[0]:
        # No search through the blocks of a giant piece: there is none inside.
        piece = long_piece_at(index, at)
        if piece == NULL:
            break
        if at > piece.end:
            found = last_bit(bitmaps, max(start, piece.end), at, SAFE)
            if found != NOT_FOUND or piece.end <= start:
                return found
        at = piece.start
        if start <= at and has_bit(bitmaps, at, SAFE):
            return at
    return last_bit(bitmaps, start, at, SAFE)


cdef Py_ssize_t next_piece(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """End of the piece of text[start:end] (start < end) at its start, or NOT_FOUND.

    A scan that goes on for long is that of a long piece of the text, most often: once it
    is in the state that the text's own scan was in at the same place, the rest is known.
    """
    cdef PieceScan scan
    cdef Py_ssize_t joint
    begin_scan(index.source.scanner, &scan, start)
    continue_scan(index.source.scanner, &index.text, &scan, min(end, start + MERGE_LIMIT))
    while scan.dfa_state != 0 and scan.at < end:
        joint = joined_end(index, &scan, end)
        if joint != NOT_FOUND:
            return joint
        continue_scan(
            index.source.scanner, &index.text, &scan, min(end, next_joint(index, scan.at))
        )
    query.scanned += scan.at - start
    if scan.dfa_state != 0 and ends_whole(index.source.scanner, &scan):
        return end
    return scan.piece_end


cdef Py_ssize_t next_joint(const TextIndex* index, Py_ssize_t at) noexcept nogil:
    """Where to compare states next."""
    cdef const LongPiece* piece = long_piece_at(index, at)
    if piece == NULL or at >= piece.stop:
        return at + STATE_STEP
    return at + STATE_STEP - (at - piece.start) % STATE_STEP


cdef Py_ssize_t joined_end(
    const TextIndex* index, const PieceScan* scan, Py_ssize_t end
) noexcept nogil:
    """The end of the piece being scanned, known from the text's own scan; or NOT_FOUND."""
    cdef const LongPiece* piece = long_piece_at(index, scan.at)
    cdef Py_ssize_t length
    if piece == NULL or scan.at >= piece.end or (scan.at - piece.start) % STATE_STEP:
        return NOT_FOUND
    length = scan.at - piece.start
    if index.dfa_states[piece.first_state + length // STATE_STEP] != scan.dfa_state:
        return NOT_FOUND
    if piece.lookahead_end <= end:
        return piece.end
    length = end - piece.start
    if end <= piece.stop and index.whole[piece.first_whole + (length >> 6)] >> (length & 63) & 1:
        return end
    return NOT_FOUND


cdef bint flush(const TextIndex* index, Query* query) noexcept nogil:
    """Encode the pieces collected, and add their tokens to their rows' sums. False: no memory."""
    cdef const uint8_t* text = query.utf8
    cdef Py_ssize_t limit = BUFFER_BYTES, piece
    cdef uint32_t before = 0
    if query.batch.count == 0:
        query.used = 0          # whatever was forgotten
        return True
    if index.text.is_ascii:
        text = <const uint8_t*> index.text.data
        limit = index.text.n
    if not reserve(query.state, query.used + 4):
        return False
    # Pieces as short as these need no tables that may be lacking.
    encode_batch(index.bpe, query.state, text, limit, &query.batch, query.state.out)
    for piece in range(query.batch.count):
        query.sums[query.rows[piece]] += query.batch.totals[piece] - before
        before = query.batch.totals[piece]
    query.batch.count = 0
    query.used = 0
    return True


cdef void start_query(Query* query, OwnedState owned, int64_t* sums) noexcept:
    query.state = &owned.state
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
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Collect a piece, or count it. 0 or a negative status."""
    cdef Py_ssize_t n_bytes = end - start, place, tokens
    if n_bytes <= SHORT_PIECE:
        if (
            query.batch.count == BATCH_PIECES or query.used + 5 * SHORT_PIECE > BUFFER_BYTES
        ) and not flush(index, query):
            return NO_MEMORY
        place = query.batch.count
        query.batch.starts[place] = start
        query.batch.ends[place] = end
        if not index.text.is_ascii:
            n_bytes = copy_utf8(&index.text, start, end, query.utf8 + query.used)
            query.batch.starts[place] = query.used
            query.batch.ends[place] = query.used + n_bytes
        if n_bytes <= SHORT_PIECE:
            query.rows[place] = query.row
            query.used += n_bytes
            query.batch.count = place + 1
            return 0
    elif not index.text.is_ascii:
        n_bytes = utf8_bytes(&index.text, start, end)
    tokens = count_part(index, query, start, end, n_bytes)
    if tokens < 0:
        return tokens
    query.sums[query.row] += tokens
    return 0


cdef Py_ssize_t count_slice(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Add the tokens of text[start:end] to the row's sum, some when next flushed. 0 or a status."""
    cdef SliceEnd to
    if start >= end:
        return 0
    to.at = end
    to.last_safe = last_safe(index, start, end)
    to.tokens = UNKNOWN
    return count_to(index, query, start, &to)


cdef Py_ssize_t count_to(
    const TextIndex* index, Query* query, Py_ssize_t start, const SliceEnd* to
) noexcept nogil:
    """The same for a slice with a known end."""
    cdef Py_ssize_t at = start, right = to.last_safe, end = to.at, piece_end, status
    query.scanned += ROW_COST + ((end - max(start, right)) >> 6)
    while at < end:
        if at < right and has_bit(&index.bitmaps, at, SAFE):
            query.sums[query.row] += (
                tokens_before(&index.bitmaps, right) - tokens_before(&index.bitmaps, at)
            )
            at = right
        if at == right and to.tokens >= 0:
            query.sums[query.row] += to.tokens
            return 0
        piece_end = next_piece(index, query, at, end)
        if piece_end == NOT_FOUND:
            at += 1
            continue
        query.scanned += piece_end - at
        status = add_piece(index, query, at, piece_end)
        if status < 0:
            return status
        at = piece_end
    return 0


cdef Py_ssize_t begin_to(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end, SliceEnd* to
) noexcept nogil:
    """Get ready to count slices that end at `end` (> start) and begin after `start`. 0 or a status.

    Counts the tokens after the last safe split point, which most of them share.
    """
    cdef Py_ssize_t status
    to.at = end
    to.last_safe = last_safe(index, start, end)
    to.tokens = UNKNOWN
    if to.last_safe == NOT_FOUND:
        return 0
    forget_row(query)
    status = count_to(index, query, to.last_safe, to)
    if status == 0 and not flush(index, query):
        status = NO_MEMORY
    if status == 0:
        to.tokens = query.sums[query.row]
    return status


cdef Py_ssize_t fits_to(
    const TextIndex* index, Query* query, Py_ssize_t start, const SliceEnd* to, Py_ssize_t most
) noexcept nogil:
    """Whether a slice with a known end has at most so many tokens: 1, 0 or a status.

    Mostly, that is known without encoding its first piece: it has one token at least, and no more
    than bytes.
    """
    cdef Py_ssize_t at = start, tokens = 0, more = 0, status
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    if at <= to.last_safe and to.tokens >= 0:
        if not has_bit(bitmaps, at, SAFE):
            at = next_piece(index, query, start, to.at)
            more = utf8_bytes(&index.text, start, at) if at != NOT_FOUND else 0
            query.scanned += more
        if start <= at <= to.last_safe and has_bit(bitmaps, at, SAFE):
            tokens = (
                to.tokens + tokens_before(bitmaps, to.last_safe) - tokens_before(bitmaps, at)
            )
            if tokens + more <= most:
                return 1
            if tokens + (more > 0) > most:
                return 0
    forget_row(query)
    status = count_to(index, query, start, to)
    if status == 0 and not flush(index, query):
        status = NO_MEMORY
    if status < 0:
        return status
    return query.sums[query.row] <= most


cdef SafePoint seek(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t n, Py_ssize_t before
) noexcept nogil:
    """The last safe split point before `before` that has at most n tokens before it.

    For every cut after it, they are those of text[start:cut] up to it. Else the start.
    """
    cdef SafePoint point
    cdef Py_ssize_t at = start, piece_end, lookahead_end = start, base, place
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    point.at = start
    point.tokens = 0
    while not has_bit(bitmaps, at, SAFE):
        if at - start > 4 * MERGE_LIMIT or at >= index.text.n:
            return point
        piece_end = scan_short(index, at, &lookahead_end)
        if piece_end == UNKNOWN or (
            piece_end > at and add_piece(index, query, at, piece_end) < 0
        ):
            return point
        at = piece_end if piece_end > at else at + 1
    if at >= before or not flush(index, query) or query.sums[0] > n:
        return point
    base = tokens_before(bitmaps, at)
    place = last_within(index, at, base + n - query.sums[0], before)
    if place != NOT_FOUND and place + 1 >= lookahead_end:
        point.at = place
        point.tokens = query.sums[0] + tokens_before(bitmaps, place) - base
    return point


cdef Py_ssize_t scan_short(
    const TextIndex* index, Py_ssize_t start, Py_ssize_t* lookahead_end
) noexcept nogil:
    """End of the text's piece at `start`; start itself where there is none; or UNKNOWN.

    Raises `lookahead_end` to the characters that this looked at.
    """
    cdef PieceScan scan
    begin_scan(index.source.scanner, &scan, start)
    continue_scan(
        index.source.scanner, &index.text, &scan, min(index.text.n, start + MERGE_LIMIT)
    )
    if scan.dfa_state != 0:
        return UNKNOWN
    lookahead_end[0] = max(lookahead_end[0], scan.at)
    return start if scan.piece_end == NOT_FOUND else scan.piece_end


cdef Py_ssize_t last_within(
    const TextIndex* index, Py_ssize_t start, Py_ssize_t tokens, Py_ssize_t before
) noexcept nogil:
    """The last safe split point from `start` on, and before `before` (>= 1), with at most so many
    tokens before it; or NOT_FOUND.
    """
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    cdef Py_ssize_t low = 0, high = ((before - 1) >> 6) + 1, middle, place
    while low + 1 < high:
        middle = (low + high) >> 1
        if <Py_ssize_t> word_at(bitmaps, middle << 6, TOKENS)[0] <= tokens:
            low = middle
        else:
            high = middle
    place = last_safe(index, start, min(before, (low + 1) << 6))
    while place != NOT_FOUND and tokens_before(bitmaps, place) > tokens:
        place = last_safe(index, start, place)
    return place
