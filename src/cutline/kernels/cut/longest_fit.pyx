"""The longest fitting prefix: how far a text can go within a token budget, exactly.

Counts are not monotonic, and a cut can change the pieces before it. docs/cutting.md
proves the two facts used here. A boundary whose decision looked at nothing beyond a
cut stays a boundary for that cut, so the tokens before it stay too. And inside one
piece, the last token of a prefix is the one token that ends there and is compatible
with the last token of the prefix before it, so that prefixes are counted one from
another, and those over budget need not be followed.

Guarded by tests/test_split.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.common cimport (
    NO_MEMORY, NONE, NOT_FOUND, char_bytes, grow, memset, uint32_t,
)
from cutline.kernels.bpe.bpe cimport find_token, has_closed_boundaries, next_closed_boundary
from cutline.kernels.bpe.prefixes cimport (
    count_by_segments, count_prefixes, free_prefixes, prefix_tokens, token_upper_bound,
)
from cutline.kernels.encode.batches cimport LEAST_STREAMED, Batch, count_batch, fill_batch
from cutline.kernels.scan.scan cimport Scanner, accepted_end, accepts_end, next_class, scan_piece, step

cdef enum:
    DIRECT_BYTES = 48       # windows up to this are tried cut by cut


cdef void begin_search(
    Search* search, const Bpe* bpe, Source source, EncoderState* state, bint has_gaps
) noexcept nogil:
    """Set all of a search but its text."""
    memset(search, 0, sizeof(Search))
    search.bpe = bpe
    search.source = source
    search.state = state
    search.has_gaps = has_gaps
    search.probed_end = NOT_FOUND
    search.prefixes.start = NOT_FOUND


cdef void free_search(Search* search) noexcept nogil:
    free(search.boundaries)
    free(search.tasks)
    free(search.furthest)
    free_prefixes(&search.prefixes)


cdef Cut longest_fitting_prefix(
    Search* search, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil:
    """The end (and tokens) of the longest text[start:end] that fits; start itself at least.

    Most often a window of a few bytes a token shows it. Otherwise a giant piece leaves
    it, and the window becomes what max_tokens tokens can cover at all.

    Of a text that goes on after its end, NOT_FOUND: a longer one may fit.
    """
    cdef Py_ssize_t end = search.n, window = start + usual_bytes(max_tokens)
    cdef Cut cut
    if window < end:
        window = character_start(search, window)
        search.probed_end = window
        cut = cut_window(search, start, window, max_tokens)
        search.probed_end = NOT_FOUND
        if cut.end != NOT_FOUND:
            return cut
        if search.has_gaps:
            end = upper_bound_with_gaps(search, start, max_tokens)
        else:
            end = upper_bound(search, start, max_tokens)
        if end < 0:
            return no_cut(NO_MEMORY)
    if end < search.n or not search.goes_on:
        return cut_window(search, start, end, max_tokens)
    search.probed_end = end
    cut = cut_window(search, start, end, max_tokens)
    search.probed_end = NOT_FOUND
    return cut


cdef Py_ssize_t upper_bound(
    Search* search, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil:
    """An upper bound of the ends of max_tokens tokens from `start`; or NO_MEMORY."""
    cdef Py_ssize_t end = search.n
    if max_tokens < (end - start) // search.bpe.max_token_bytes:
        end = start + max_tokens * search.bpe.max_token_bytes
    if search.bpe.max_unreachable_bytes == 0:
        if not grow(
            <void**> &search.furthest, &search.furthest_slots, max_tokens + 1, sizeof(Py_ssize_t)
        ):
            return NO_MEMORY
        end = token_upper_bound(
            search.bpe, &search.state.lookups.automata[0], search.text, start, end, max_tokens,
            search.furthest,
        )
        if end < 0:
            return NO_MEMORY
    if search.goes_on and end > search.n - search.bpe.max_token_bytes:
        return search.n     # a token may go on beyond what is seen
    return character_start(search, end)


cdef Py_ssize_t upper_bound_with_gaps(
    const Search* search, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil:
    """The same where some characters are in no piece: the bytes of others are all in tokens."""
    cdef Py_ssize_t at = start, before = start, left = search.n, width
    if max_tokens < left // search.bpe.max_token_bytes:
        left = max_tokens * search.bpe.max_token_bytes
    while at < search.n:
        before = at
        width = search.source.scanner.in_pieces[
            next_class(search.source.scanner, search.text, &at)
        ] * (at - before)
        if width > left:
            return before
        left -= width
    return at


cdef Cut cut_window(
    Search* search, Py_ssize_t start, Py_ssize_t end, Py_ssize_t max_tokens
) noexcept nogil:
    """The longest fitting prefix in text[start:end]. With `probed_end` set to its end: NOT_FOUND,
    unless it is certain that no cut beyond is greater.
    """
    cdef Cut cut = scan_until_over(search, start, end, max_tokens)
    if cut.end != NOT_FOUND:
        return no_cut(NOT_FOUND) if cut.end == search.probed_end else cut
    if search.probed_end >= 0 and last_boundary(search).lookahead_end > end:
        return no_cut(NOT_FOUND)
    return cut_before_last(search, end, max_tokens, 0)


cdef Cut cut_before_last(
    Search* search, Py_ssize_t end, Py_ssize_t max_tokens, Py_ssize_t least
) noexcept nogil:
    """The longest fitting prefix, up to `end`, if it is one of those after `boundaries[least]`.

    Else the start, where `least` is 0; or NOT_FOUND. The last boundary is over budget: it stands
    for every cut from its `lookahead_end` on.
    """
    cdef Py_ssize_t high = min(last_boundary(search).lookahead_end - 1, end), low
    cdef Py_ssize_t at = search.n_boundaries - 1
    cdef Cut cut
    cdef const Boundary* boundary
    while at > least:
        at -= 1
        boundary = &search.boundaries[at]
        low = boundary.lookahead_end
        if low <= high:
            cut = best_cut(search, boundary.at, max_tokens - boundary.tokens, low, high)
            if cut.end != NOT_FOUND:
                cut.tokens += search.boundaries[at].tokens
                return cut
            high = low - 1
    return no_cut(search.boundaries[0].at if least == 0 else NOT_FOUND)


cdef bint begin_boundaries(Search* search, Py_ssize_t start) noexcept nogil:
    """Forget the boundaries, and begin with that of the text from `start`. False: no memory."""
    search.n_boundaries = 0
    if not reserve_boundaries(search, 1):
        return False
    search.boundaries[0].at = search.boundaries[0].lookahead_end = start
    search.boundaries[0].tokens = 0
    search.n_boundaries = 1
    return True


cdef bint reserve_boundaries(Search* search, Py_ssize_t more) noexcept nogil:
    return grow(
        <void**> &search.boundaries, &search.boundary_slots, search.n_boundaries + more,
        sizeof(Boundary),
    )


cdef bint push_boundaries(
    Search* search, const Batch* batch, Py_ssize_t before, Py_ssize_t max_tokens
) noexcept nogil:
    """Add the ends of a batch, up to the first that is over budget. False: failed.

    `before` tokens come before the batch. `lookahead_end` becomes the running maximum.
    """
    cdef Py_ssize_t piece, tokens = before, lookahead_end
    cdef Boundary* boundary
    if not reserve_boundaries(search, batch.count):
        return False
    boundary = &search.boundaries[search.n_boundaries]
    lookahead_end = (boundary - 1).lookahead_end
    for piece in range(batch.count):
        tokens = before + batch.totals[piece]
        lookahead_end = max(lookahead_end, batch.lookahead_end[piece])
        boundary.at = batch.ends[piece]
        boundary.lookahead_end = lookahead_end
        boundary.tokens = tokens
        boundary += 1
        if tokens > max_tokens:
            break
    search.n_boundaries = boundary - search.boundaries
    return True


cdef Cut scan_until_over(
    Search* search, Py_ssize_t start, Py_ssize_t end, Py_ssize_t max_tokens
) noexcept nogil:
    """Collect the boundaries of text[start:end], up to the first that is over budget.

    Returns the cut at `end` if all of it fits, else NOT_FOUND.
    """
    cdef Batch batch
    cdef Py_ssize_t at = start, total = 0, added, most, taken = max_tokens + 1
    cdef Cut cut = no_cut(NOT_FOUND)
    if not begin_boundaries(search, start):
        return no_cut(NO_MEMORY)
    while at < end:
        most = max_tokens - total + 1
        if search.usual_pieces > 0:
            most = min(most, max(search.usual_pieces + 1 - search.n_boundaries, LEAST_STREAMED))
        # After a piece that took a batch of its own, what is found is likely dropped again.
        most = min(most, 2 * taken)
        added = count_next(search, at, end, most, max_tokens - total, &batch)
        if added < 0:
            return no_cut(added)
        if not push_boundaries(search, &batch, total, max_tokens):
            return no_cut(NO_MEMORY)
        if last_boundary(search).tokens > max_tokens:
            search.usual_pieces = search.n_boundaries - 1
            return cut
        total += added
        taken = batch.count
        at = batch.ends[batch.count - 1]
    cut.end = end
    cut.tokens = total
    return cut


cdef Py_ssize_t count_next(
    Search* search, Py_ssize_t at, Py_ssize_t end, Py_ssize_t most, Py_ssize_t budget,
    Batch* batch
) noexcept nogil:
    """Find the next pieces of text[at:end] (at < end), at most so many; count their tokens.

    Returns the tokens of the batch, or NO_MEMORY. A piece that is long for the budget makes a
    batch of its own; if it is over budget, only that is found out, at no more than the budget's
    cost.
    """
    cdef Py_ssize_t piece, n
    cdef bint unfinished
    fill_batch(&search.source, search.text, at, end, most, batch)
    for piece in range(batch.count):
        n = batch.ends[piece] - batch.starts[piece]
        if n <= longest_counted(budget):
            continue
        if piece > 0:
            batch.count = piece
            break
        batch.count = 1
        # Where a probe ends, this piece may go on: it is not worth counting.
        unfinished = batch.ends[0] == search.probed_end and batch.lookahead_end[0] > end
        n = budget + 1
        if not unfinished:
            n = count_long_piece(search, batch.starts[0], batch.ends[0], budget)
        batch.totals[0] = n
        return n
    return count_batch(search.bpe, search.state, search.text, end, batch)


cdef Py_ssize_t count_long_piece(
    Search* search, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Tokens of a piece, or budget + 1 if it has more; or NO_MEMORY."""
    if find_token(search.bpe, search.text + start, end - start) != NONE:
        return 1
    if not count_prefixes_of(search, start, end, budget):
        return NO_MEMORY
    return prefix_tokens(&search.prefixes, end - start)


cdef inline bint count_prefixes_of(
    Search* search, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Fill the tables of prefixes for a piece. False: failed."""
    return count_by_segments(
        &search.prefixes, search.bpe, &search.state.lookups, search.text, start, end, budget
    ) or count_prefixes(
        &search.prefixes, search.bpe, &search.state.lookups, search.text, start, end, budget
    )


cdef Cut best_cut(
    Search* search, Py_ssize_t start, Py_ssize_t budget, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    """The longest fitting text[start:cut], for cuts from low to high; or NOT_FOUND."""
    cdef Cut best = no_cut(NOT_FOUND)
    cdef Task task
    high = bound_by_boundaries(search, start, high, budget)
    if high < low:
        return best
    if high - start <= DIRECT_BYTES:
        return best_cut_directly(search, start, budget, low, high)
    search.n_tasks = 0
    if not push_task(search, start, 0, low, high):
        return no_cut(NO_MEMORY)
    while search.n_tasks > 0:
        search.n_tasks -= 1
        task = search.tasks[search.n_tasks]
        task.low = max(task.low, best.end + 1)
        if task.low <= task.high and not work_task(search, &task, budget, &best):
            return no_cut(NO_MEMORY)
    return best


cdef Py_ssize_t bound_by_boundaries(
    Search* search, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """An upper bound, at most `end`, of the ends of `budget` tokens from `start`.

    Each part between closed boundaries takes a token at least, wherever pieces end.
    """
    cdef Py_ssize_t at = start
    if search.has_gaps or (budget > 0 and not has_closed_boundaries(search.bpe)):
        return end
    while budget > 0 and at < end:
        at = next_closed_boundary(search.bpe, search.text, at, end)
        budget -= 1
    return min(at, end)


cdef Cut best_cut_directly(
    Search* search, Py_ssize_t start, Py_ssize_t budget, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    cdef Cut cut
    cut.end = high
    while cut.end >= low:
        if is_character_start(search, cut.end):
            cut.tokens = count_slice(search, start, cut.end, budget)
            if cut.tokens < 0:
                return no_cut(NO_MEMORY)
            if cut.tokens <= budget:
                return cut
        cut.end -= 1
    return no_cut(NOT_FOUND)


cdef Py_ssize_t count_slice(
    Search* search, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Tokens of text[start:end], or any number over budget if it has more; or NO_MEMORY."""
    cdef Batch batch
    cdef Py_ssize_t tokens = 0, added
    while start < end and tokens <= budget:
        added = count_next(
            search, start, end, budget - tokens + 1, budget - tokens, &batch
        )
        if added < 0:
            return added
        tokens += added
        start = batch.ends[batch.count - 1]
    return tokens


cdef bint push_task(
    Search* search, Py_ssize_t at, Py_ssize_t tokens, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    if not grow(<void**> &search.tasks, &search.task_slots, search.n_tasks + 1, sizeof(Task)):
        return False
    search.tasks[search.n_tasks].at = at
    search.tasks[search.n_tasks].tokens = tokens
    search.tasks[search.n_tasks].low = low
    search.tasks[search.n_tasks].high = high
    search.n_tasks += 1
    return True


cdef bint work_task(Search* search, Task* task, Py_ssize_t budget, Cut* best) noexcept nogil:
    """Raise `best` to the best cut of a task, or split it into further ones. False: failed."""
    cdef Py_ssize_t piece_end, lookahead_end = 0, tokens
    while task.at < task.high:
        piece_end = scan_piece(
            search.source.scanner, search.text, task.at, task.high, &lookahead_end
        )
        if lookahead_end > task.low:
            break
        # This piece is the same for all cuts of the task.
        if piece_end < 0:
            task.at += char_bytes(search.text[task.at])
            continue
        tokens = count_slice(search, task.at, piece_end, budget - task.tokens)
        if tokens < 0:
            return False
        task.tokens += tokens
        if task.tokens > budget:
            return True
        task.at = piece_end
    if task.at >= task.low:
        best.end = task.at
        best.tokens = task.tokens
        if task.at == task.high:
            return True
    return cut_first_piece(search, task, budget, best)


cdef bint cut_first_piece(Search* search, Task* task, Py_ssize_t budget, Cut* best) noexcept nogil:
    """Work a task whose first piece is not the same for all its cuts.

    Walks the automaton once. At each cut either the text so far is one piece, which the
    tables count; or its first piece ends earlier, and all cuts that share this end make
    a new task.
    """
    cdef const Scanner* scanner = search.source.scanner
    cdef uint32_t dfa_state = scanner.start_state, entry
    cdef Py_ssize_t at = task.at, before, tokens
    cdef Py_ssize_t first_end = NOT_FOUND, shared_end = NOT_FOUND, shared_from = task.low
    cdef bint shared = False, whole
    if not count_prefixes_of(search, task.at, task.high, budget - task.tokens):
        return False
    while at < task.high:
        before = at
        entry = step(scanner, dfa_state, search.text, &at)
        if entry == 0:
            break
        dfa_state = entry >> 2
        first_end = accepted_end(entry, before, at, first_end)
        if at < task.low:
            continue
        whole = first_end == at or accepts_end(scanner, dfa_state)
        if shared and (whole or first_end != shared_end):
            if not push_shared(search, task, shared_end, shared_from, before, budget):
                return False
            shared = False
        if whole:
            tokens = task.tokens + prefix_tokens(&search.prefixes, at - task.at)
            if tokens <= budget:
                best.end = at
                best.tokens = tokens
        elif not shared:
            shared = True
            shared_end = first_end
            shared_from = at
    else:
        # No death: what is still shared goes on to the last cut.
        if shared:
            return push_shared(search, task, shared_end, shared_from, task.high, budget)
        return True
    # From the character on which the automaton died, all cuts share the first piece, as
    # those just before it may have done already.
    if not shared:
        shared_from = at
    return push_shared(search, task, first_end, max(shared_from, task.low), task.high, budget)


cdef bint push_shared(
    Search* search, const Task* task, Py_ssize_t first_end,
    Py_ssize_t low, Py_ssize_t high, Py_ssize_t budget,
) noexcept nogil:
    """A new task for the cuts from low to high, whose first piece ends at first_end."""
    cdef Py_ssize_t tokens = 0
    if low > high:
        return True
    if first_end < 0:
        first_end = task.at + char_bytes(search.text[task.at])
    else:
        tokens = prefix_tokens(&search.prefixes, first_end - task.at)
    if task.tokens + tokens > budget:
        return True
    return push_task(search, first_end, task.tokens + tokens, low, high)
