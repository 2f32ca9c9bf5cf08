"""The longest fitting prefixes of a text, one after another: its pieces are found and counted once.

Most chunks begin at a boundary of the whole text, and scans are memoryless: their pieces are the whole
text's from there on. Why the chunks are those of `longest_fit`: docs/cutting.md, "The pieces of the
whole text".

Guarded by tests/kernels/test_whole_text.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.common cimport NO_MEMORY, NOT_FOUND, UNKNOWN, grow, memmove, memset
from cutline.kernels.cut.longest_fit cimport (
    Boundary, begin_boundaries, cut_before_last, last_boundary, longest_counted, longest_fitting_prefix,
    no_cut, push_boundaries, reserve_boundaries, usual_bytes,
)
from cutline.kernels.encode.batches cimport (
    BATCH_PIECES, Batch, count_batch, count_each, fill_batch, pieces_by_lanes, use_lanes,
)
from cutline.kernels.encode.counted_pieces cimport (
    CountedPieces, add_pieces, begin_pieces, forget_pieces, free_pieces, is_apart, last_up_to,
)
from cutline.kernels.scan.lanes cimport (
    LEAST_LANED, MOST_BEYOND, Chunk, next_that_looked_far, seek_piece,
)
from cutline.kernels.scan.scan cimport scan_piece

cdef enum:
    NEAR = 512              # bytes that are read at most beyond where a piece begins or ends
    REJOINED_PIECES = 8     # of a chunk that begins within a piece, until they meet the text's
    FEW_BOUNDARIES = 3      # before the one over budget: others are hardly needed
    KEPT = 1024             # pieces before a chunk that are not forgotten: moving others costs more


cdef bint begin_whole_text(Search* search, WholeText* whole) noexcept nogil:
    """Begin with the search's text, while its state is in use. False: no memory."""
    use_lanes(&whole.pieces.source, search.state, search.n, tells_lookahead=False)
    return begin_at(whole, 0)


cdef bint begin_at(WholeText* whole, Py_ssize_t at) noexcept nogil:
    """Know no more than that a piece begins at text[at]. False: no memory."""
    whole.n_looks = 0
    return begin_pieces(&whole.pieces, at)


cdef void free_whole_text(WholeText* whole) noexcept nogil:
    free_pieces(&whole.pieces)
    free(whole.looks)


cdef Cut next_cut(
    Search* search, WholeText* whole, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil:
    """The longest fitting prefix from `start`, which is not before the last one asked for."""
    cdef Cut cut
    if whole.pieces.source.chunk != NULL:
        cut = cut_by_pieces(search, whole, start, max_tokens)
        if cut.end != UNKNOWN:
            return cut
    return longest_fitting_prefix(search, start, max_tokens)


cdef Cut cut_by_pieces(
    Search* search, WholeText* whole, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil:
    """What next_cut finds. UNKNOWN: lanes do not pay here, or the prefix ends in a giant piece."""
    cdef Py_ssize_t first, over, before, status
    cdef Cut cut
    if not begin_boundaries(search, start):
        return no_cut(NO_MEMORY)
    first = join(search, whole, start, max_tokens)
    if first == NOT_FOUND:
        return cut_before_over(search, max_tokens, 0)
    if first < 0:
        return no_cut(first)
    before = last_boundary(search).tokens - whole.pieces.tokens[first]
    status = count_until_over(search, whole, &first, max_tokens, max_tokens - before)
    if status < 0:
        return no_cut(status)
    over = last_up_to(whole.pieces.tokens, first, whole.pieces.n, max_tokens - before) + 1
    if over == whole.pieces.n:
        cut.end = search.n
        cut.tokens = before + whole.pieces.tokens[over - 1]
        return cut
    return cut_before_piece(search, whole, first, over, before, max_tokens)


cdef Cut cut_before_piece(
    Search* search, const WholeText* whole, Py_ssize_t first, Py_ssize_t over, Py_ssize_t before,
    Py_ssize_t max_tokens
) noexcept nogil:
    """The longest fitting prefix, where `over` is the first boundary over budget; or UNKNOWN.

    The boundary before it, if it leaves no token and is one however the text goes on; or a few of
    them tell, or more of them do.
    """
    cdef Py_ssize_t n_few = FEW_BOUNDARIES, n = search.n_boundaries, kept, status
    cdef Cut cut
    cut.end = whole.pieces.ends[over - 1]
    cut.tokens = before + whole.pieces.tokens[over - 1]
    if (
        cut.tokens == max_tokens and cut.end > 0 and search.source.scanner.apart != NULL
        and is_apart(search.source.scanner, search.text, cut.end)
    ):
        return cut
    while True:
        kept = max(first + 1, over - n_few)
        status = push_last(search, whole, first, kept, over, before)
        if status < 0:
            return no_cut(status)
        cut = cut_before_over(search, max_tokens, n if kept > first + 1 else 0)
        if cut.end != NOT_FOUND:
            return cut
        search.n_boundaries = n
        n_few *= 4


cdef Cut cut_before_over(Search* search, Py_ssize_t max_tokens, Py_ssize_t least) noexcept nogil:
    """What cut_before_last finds; UNKNOWN: it lies in a giant piece."""
    cdef const Boundary* last = last_boundary(search)
    if last.lookahead_end - 1 - (last - 1).at > usual_bytes(max_tokens):
        return no_cut(UNKNOWN)
    return cut_before_last(search, search.n, max_tokens, least)


cdef Py_ssize_t join(
    Search* search, WholeText* whole, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil:
    """Which boundary of the whole text the pieces from `start` on meet; those before are pushed.

    NOT_FOUND: one of them is over budget. UNKNOWN: they do not meet soon.
    """
    cdef Batch batch
    cdef Py_ssize_t at = start, limit = min(search.n, start + NEAR)
    cdef Py_ssize_t first = find(whole, start)
    batch.count = 0
    while first == NOT_FOUND:
        if batch.count == REJOINED_PIECES:
            return UNKNOWN
        batch.starts[batch.count] = at
        at = scan_piece(
            search.source.scanner, search.text, at, limit, &batch.lookahead_end[batch.count]
        )
        if at < 0 or (batch.lookahead_end[batch.count] > limit and limit < search.n):
            return UNKNOWN
        batch.ends[batch.count] = at
        batch.count += 1
        first = find(whole, at)
    if batch.count == 0 or first < 0:
        return first
    if count_batch(
        search.bpe, search.state, search.text, search.n, &batch
    ) < 0 or not push_boundaries(search, &batch, 0, max_tokens):
        return NO_MEMORY
    return NOT_FOUND if last_boundary(search).tokens > max_tokens else first


cdef Py_ssize_t find(WholeText* whole, Py_ssize_t at) noexcept nogil:
    """Which boundary is at text[at]; NOT_FOUND: none. Or NO_MEMORY.

    Those that lanes have found, but nobody counted, are boundaries too; and beyond what they have
    scanned, each place is.
    """
    cdef Py_ssize_t found = last_up_to(whole.pieces.ends, 0, whole.pieces.n, at)
    if whole.pieces.ends[found] == at:
        return found
    if at >= whole.pieces.source.chunk.stop or seek_piece(whole.pieces.source.chunk, at):
        return 0 if begin_at(whole, at) else NO_MEMORY
    return NOT_FOUND


cdef Py_ssize_t count_until_over(
    Search* search, WholeText* whole, Py_ssize_t* first, Py_ssize_t max_tokens, Py_ssize_t most
) noexcept nogil:
    """Count pieces until more than `most` tokens are known of, or the text ends. Returns a status.

    `first` moves, as boundaries before it are forgotten.
    """
    cdef const CountedPieces* pieces = &whole.pieces
    cdef Py_ssize_t status
    while pieces.tokens[pieces.n - 1] <= most and pieces.ends[pieces.n - 1] < search.n:
        status = count_more(search, whole, first, max_tokens)
        if status < 0:
            return status
    return 0


cdef Py_ssize_t count_more(
    Search* search, WholeText* whole, Py_ssize_t* first, Py_ssize_t max_tokens
) noexcept nogil:
    """Find and count more pieces. Returns a status; UNKNOWN: lanes do not pay, or the next piece is
    long.
    """
    cdef Batch batch
    cdef Py_ssize_t at = whole.pieces.ends[whole.pieces.n - 1], piece
    cdef bint some_looked = True
    pieces_by_lanes(&whole.pieces.source, search.text, at, search.n, &batch)
    if batch.count == 0 and search.n - at < LEAST_LANED:
        fill_batch(&search.source, search.text, at, search.n, BATCH_PIECES, &batch)
    else:
        piece = short_pieces(&batch, longest_counted(max_tokens))
        if piece < batch.count:
            seek_piece(whole.pieces.source.chunk, batch.starts[piece])
            batch.count = piece
        if batch.count == 0:
            return UNKNOWN
        some_looked = tell_what_looked_far(search, whole.pieces.source.chunk, &batch)
    if first[0] > KEPT:
        forget_before(whole, first[0])
        first[0] = 0
    if (
        count_each(search.bpe, search.state, search.text, search.n, &batch) < 0
        or not add_pieces(&whole.pieces, &batch)
        or some_looked and not add_looks(whole, &batch)
    ):
        return NO_MEMORY
    return 0


cdef Py_ssize_t short_pieces(const Batch* batch, Py_ssize_t longest) noexcept nogil:
    """The number of pieces before the first that is longer."""
    cdef Py_ssize_t piece, signs = 0
    if batch.count == 0 or batch.ends[batch.count - 1] - batch.starts[0] <= longest:
        return batch.count
    for piece in range(batch.count):
        signs |= longest - (batch.ends[piece] - batch.starts[piece])
    if signs >= 0:
        return batch.count
    piece = 0
    while batch.ends[piece] - batch.starts[piece] <= longest:
        piece += 1
    return piece


cdef bint tell_what_looked_far(Search* search, const Chunk* chunk, Batch* batch) noexcept nogil:
    """Tell the lookahead ends of pieces of a chunk whose decisions looked far; 0 of the others.

    False: none did, and nothing was told.
    """
    cdef Py_ssize_t piece = 0, last = batch.ends[batch.count - 1]
    cdef Py_ssize_t far = next_that_looked_far(chunk, batch.starts[0], last)
    if far == NOT_FOUND:
        return False
    memset(batch.lookahead_end, 0, batch.count * sizeof(Py_ssize_t))
    while far != NOT_FOUND:
        while batch.ends[piece] < far:
            piece += 1
        scan_piece(
            search.source.scanner, search.text, batch.starts[piece], search.n,
            &batch.lookahead_end[piece],
        )
        far = next_that_looked_far(chunk, far, last)
    return True


cdef bint add_looks(WholeText* whole, const Batch* batch) noexcept nogil:
    """Add how far decisions of a batch looked that looked far. False: no memory."""
    cdef Py_ssize_t piece, looked
    if not grow(
        <void**> &whole.looks, &whole.looks_slots, whole.n_looks + batch.count, sizeof(FarLook)
    ):
        return False
    looked = whole.looks[whole.n_looks - 1].looked if whole.n_looks > 0 else 0
    for piece in range(batch.count):
        if batch.lookahead_end[piece] > looked:
            looked = batch.lookahead_end[piece]
            whole.looks[whole.n_looks].end = batch.ends[piece]
            whole.looks[whole.n_looks].looked = looked
            whole.n_looks += 1
    return True


cdef Py_ssize_t looked_up_to(const WholeText* whole, Py_ssize_t at) noexcept nogil:
    """How far the decisions on pieces looked that end up to text[at], and looked far; or 0."""
    cdef Py_ssize_t look = whole.n_looks - 1
    while look >= 0 and whole.looks[look].end > at:
        look -= 1
    return whole.looks[look].looked if look >= 0 else 0


cdef void forget_before(WholeText* whole, Py_ssize_t first) noexcept nogil:
    """Forget the pieces before one; of how far they looked, all but what was furthest."""
    cdef Py_ssize_t look = 0
    forget_pieces(&whole.pieces, first)
    while look + 1 < whole.n_looks and whole.looks[look + 1].end <= whole.pieces.ends[0]:
        look += 1
    if look > 0:
        whole.n_looks -= look
        memmove(whole.looks, whole.looks + look, whole.n_looks * sizeof(FarLook))


cdef Py_ssize_t push_last(
    Search* search, const WholeText* whole, Py_ssize_t first, Py_ssize_t kept, Py_ssize_t over,
    Py_ssize_t before
) noexcept nogil:
    """Push the boundaries from `kept` to `over`. Returns a status; UNKNOWN: one looked too far.

    How far decisions looked that did not look far is asked for only here: those that may have looked
    beyond the first of these boundaries are made again.
    """
    cdef const CountedPieces* pieces = &whole.pieces
    cdef Boundary* boundary
    cdef Py_ssize_t at = kept, limit, lookahead_end = 0, furthest
    if not reserve_boundaries(search, over - kept + 1):
        return NO_MEMORY
    while at > first + 1 and pieces.ends[at] + MOST_BEYOND > pieces.ends[kept]:
        at -= 1
    furthest = max(last_boundary(search).lookahead_end, looked_up_to(whole, pieces.ends[at - 1]))
    for at in range(at, over + 1):
        limit = min(search.n, pieces.ends[at] + NEAR)
        scan_piece(search.source.scanner, search.text, pieces.ends[at - 1], limit, &lookahead_end)
        if lookahead_end > limit and limit < search.n:
            return UNKNOWN
        furthest = max(furthest, lookahead_end, looked_up_to(whole, pieces.ends[at]))
        if at >= kept:
            boundary = &search.boundaries[search.n_boundaries]
            boundary.at = pieces.ends[at]
            boundary.lookahead_end = furthest
            boundary.tokens = before + pieces.tokens[at]
            search.n_boundaries += 1
    return 0
