"""The longest fitting prefixes of a text, one after another: its pieces are found and counted once.

Most chunks begin at a boundary of the whole text, and scans are memoryless: their pieces are the whole
text's from there on. Why the chunks are those of `longest_fit`: docs/cutting.md, "The pieces of the
whole text".

Guarded by tests/kernels/test_whole_text.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.common cimport (
    NO_MEMORY, NOT_FOUND, UNKNOWN, grow, memcpy, memmove, memset,
)
from cutline.kernels.cut.longest_fit cimport (
    Boundary, begin_boundaries, cut_before_last, last_boundary, longest_counted, longest_fitting_prefix,
    no_cut, push_boundaries, reserve_boundaries, usual_bytes,
)
from cutline.kernels.encode.batches cimport (
    BATCH_PIECES, Batch, count_batch, fill_batch, pieces_by_lanes, use_lanes,
)
from cutline.kernels.scan.lanes cimport (
    LEAST_LANED, MOST_BEYOND, Chunk, next_that_looked_far, seek_piece,
)
from cutline.kernels.scan.scan cimport scan_piece

cdef enum:
    NEAR = 512              # bytes that are read at most beyond where a piece begins or ends
    REJOINED_PIECES = 8     # of a chunk that begins within a piece, until they meet the text's
    FEW_BOUNDARIES = 3      # before the one over budget: others are hardly needed


cdef bint begin_whole_text(Search* search, WholeText* whole) noexcept nogil:
    """Begin with the search's text, while its state is in use. False: no memory."""
    use_lanes(&whole.source, search.state, search.n, tells_lookahead=False)
    return begin_at(whole, 0)


cdef bint begin_at(WholeText* whole, Py_ssize_t at) noexcept nogil:
    """Know no more than that a piece begins at text[at]. False: no memory."""
    whole.n = 0
    if not reserve_ends(whole, 1):
        return False
    whole.ends[0] = whole.looked[0] = at
    whole.tokens[0] = 0
    whole.n = 1
    return True


cdef bint reserve_ends(WholeText* whole, Py_ssize_t more) noexcept nogil:
    more += whole.n
    return (
        grow(<void**> &whole.ends, &whole.ends_slots, more, sizeof(Py_ssize_t))
        and grow(<void**> &whole.tokens, &whole.tokens_slots, more, sizeof(Py_ssize_t))
        and grow(<void**> &whole.looked, &whole.looked_slots, more, sizeof(Py_ssize_t))
    )


cdef void free_whole_text(WholeText* whole) noexcept nogil:
    free(whole.ends)
    free(whole.tokens)
    free(whole.looked)


cdef Cut next_cut(
    Search* search, WholeText* whole, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil:
    """The longest fitting prefix from `start`, which is not before the last one asked for."""
    cdef Cut cut
    if whole.source.chunk != NULL:
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
    before = last_boundary(search).tokens - whole.tokens[first]
    status = count_until_over(search, whole, &first, max_tokens, max_tokens - before)
    if status < 0:
        return no_cut(status)
    over = last_up_to(whole.tokens, first, whole.n, max_tokens - before) + 1
    if over == whole.n:
        cut.end = search.n
        cut.tokens = before + whole.tokens[over - 1]
        return cut
    return cut_before_piece(search, whole, first, over, before, max_tokens)


cdef Cut cut_before_piece(
    Search* search, const WholeText* whole, Py_ssize_t first, Py_ssize_t over, Py_ssize_t before,
    Py_ssize_t max_tokens
) noexcept nogil:
    """The longest fitting prefix, where `over` is the first boundary over budget; or UNKNOWN.

    A few boundaries before it tell, or more of them do.
    """
    cdef Py_ssize_t n_few = FEW_BOUNDARIES, n = search.n_boundaries, kept, status
    cdef Cut cut
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


cdef Py_ssize_t last_up_to(
    const Py_ssize_t* numbers, Py_ssize_t low, Py_ssize_t high, Py_ssize_t most
) noexcept nogil:
    """The last of ascending numbers[low:high] that is at most so much; `low`: no other is."""
    cdef Py_ssize_t middle
    while high - low > 1:
        middle = (low + high) // 2
        if numbers[middle] <= most:
            low = middle
        else:
            high = middle
    return low


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
    cdef Py_ssize_t found = last_up_to(whole.ends, 0, whole.n, at)
    if whole.ends[found] == at:
        return found
    if at >= whole.source.chunk.stop or seek_piece(whole.source.chunk, at):
        return 0 if begin_at(whole, at) else NO_MEMORY
    return NOT_FOUND


cdef Py_ssize_t count_until_over(
    Search* search, WholeText* whole, Py_ssize_t* first, Py_ssize_t max_tokens, Py_ssize_t most
) noexcept nogil:
    """Count pieces until more than `most` tokens are known of, or the text ends. Returns a status.

    `first` moves, as boundaries before it are forgotten.
    """
    cdef Py_ssize_t status
    while whole.tokens[whole.n - 1] <= most and whole.ends[whole.n - 1] < search.n:
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
    cdef Py_ssize_t at = whole.ends[whole.n - 1], piece
    cdef bint some_looked = True
    pieces_by_lanes(&whole.source, search.text, at, search.n, &batch)
    if batch.count == 0 and search.n - at < LEAST_LANED:
        fill_batch(&search.source, search.text, at, search.n, BATCH_PIECES, &batch)
    else:
        piece = short_pieces(&batch, longest_counted(max_tokens))
        if piece < batch.count:
            seek_piece(whole.source.chunk, batch.starts[piece])
            batch.count = piece
        if batch.count == 0:
            return UNKNOWN
        some_looked = tell_what_looked_far(search, whole.source.chunk, &batch)
    if count_batch(
        search.bpe, search.state, search.text, search.n, &batch
    ) < 0 or not add_batch(whole, first, &batch, some_looked):
        return NO_MEMORY
    return 0


cdef Py_ssize_t short_pieces(const Batch* batch, Py_ssize_t longest) noexcept nogil:
    """The number of pieces before the first that is longer."""
    cdef Py_ssize_t piece, signs = 0
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


cdef bint add_batch(
    WholeText* whole, Py_ssize_t* first, const Batch* batch, bint some_looked
) noexcept nogil:
    """Add the ends of a batch, and forget what is before the chunk. False: no memory."""
    cdef Py_ssize_t* numbers
    cdef Py_ssize_t piece, last
    forget_before(whole, first[0])
    first[0] = 0
    if not reserve_ends(whole, batch.count):
        return False
    memcpy(whole.ends + whole.n, batch.ends, batch.count * sizeof(Py_ssize_t))
    last = whole.tokens[whole.n - 1]
    numbers = whole.tokens + whole.n
    for piece in range(batch.count):
        numbers[piece] = last + batch.totals[piece]
    last = whole.looked[whole.n - 1]
    numbers = whole.looked + whole.n
    for piece in range(batch.count):
        if some_looked:
            last = max(last, batch.lookahead_end[piece])
        numbers[piece] = last
    whole.n += batch.count
    return True


cdef void forget_before(WholeText* whole, Py_ssize_t first) noexcept nogil:
    cdef size_t kept
    whole.n -= first
    kept = whole.n * sizeof(Py_ssize_t)
    memmove(whole.ends, whole.ends + first, kept)
    memmove(whole.tokens, whole.tokens + first, kept)
    memmove(whole.looked, whole.looked + first, kept)


cdef Py_ssize_t push_last(
    Search* search, const WholeText* whole, Py_ssize_t first, Py_ssize_t kept, Py_ssize_t over,
    Py_ssize_t before
) noexcept nogil:
    """Push the boundaries from `kept` to `over`. Returns a status; UNKNOWN: one looked too far.

    How far decisions looked that did not look far is asked for only here: those that may have looked
    beyond the first of these boundaries are made again.
    """
    cdef Boundary* boundary
    cdef Py_ssize_t at = kept, limit, lookahead_end = 0, furthest
    if not reserve_boundaries(search, over - kept + 1):
        return NO_MEMORY
    while at > first + 1 and whole.ends[at] + MOST_BEYOND > whole.ends[kept]:
        at -= 1
    furthest = max(last_boundary(search).lookahead_end, whole.looked[at - 1])
    for at in range(at, over + 1):
        limit = min(search.n, whole.ends[at] + NEAR)
        scan_piece(search.source.scanner, search.text, whole.ends[at - 1], limit, &lookahead_end)
        if lookahead_end > limit and limit < search.n:
            return UNKNOWN
        furthest = max(furthest, lookahead_end, whole.looked[at])
        if at >= kept:
            boundary = &search.boundaries[search.n_boundaries]
            boundary.at = whole.ends[at]
            boundary.lookahead_end = furthest
            boundary.tokens = before + whole.tokens[at]
            search.n_boundaries += 1
    return 0
