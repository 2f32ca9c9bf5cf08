"""The greatest cut: how far a text can reach within a token budget, exactly.

Counts are not monotonic, and a cut can change the pieces before it. docs/cutting.md
proves the two facts used here. A boundary whose decision looked at nothing beyond a
cut stays a boundary for that cut, so the tokens before it stay too. And inside one
piece, the last token of a prefix is the one token that ends there and is compatible
with the last token of the prefix before it, so that prefixes are counted one from
another, and those over budget need not be followed.

Guarded by tests/test_split.py.
"""

from cutline.kernels.base.common cimport MERGE_LIMIT, NO_MEMORY, NONE, NOT_FOUND, char_bytes, grow
from cutline.kernels.bpe.bpe cimport find_token, has_sealed_seams, sealed_end
from cutline.kernels.bpe.prefixes cimport count_prefixes, furthest, prefix_tokens
from cutline.kernels.encode.batches cimport LEAST_STREAMED, Batch, encode_batch, fill_batch, reserve
from cutline.kernels.scan.scan cimport Scanner, accepted_end, accepts_end, scan_piece, step

cdef enum:
    DIRECT_BYTES = 48       # windows up to this are tried cut by cut
    LONG_FOR_A_TOKEN = 4    # bytes: a piece of more for each token is not encoded to be dropped


cdef Cut no_cut(Py_ssize_t why) noexcept nogil:
    cdef Cut cut
    cut.end = why
    cut.tokens = 0
    return cut


cdef Cut greatest_cut(State* state, Py_ssize_t start, Py_ssize_t max_tokens) noexcept nogil:
    """The greatest end (and its tokens) such that text[start:end] fits; start itself at least.

    Most often a window of a few bytes a token shows it. Otherwise a giant piece leaves
    it, and the window becomes what max_tokens tokens can reach at all.
    """
    cdef Py_ssize_t end = state.n, window = start + 8 * max_tokens + 64
    cdef Cut cut
    if window < end:
        window = character_start(state, window)
        state.probed_end = window
        cut = cut_window(state, start, window, max_tokens)
        state.probed_end = NOT_FOUND
        if cut.end != NOT_FOUND:
            return cut
        if not state.has_gaps:
            end = bound_of_reach(state, start, max_tokens)
            if end < 0:
                return no_cut(NO_MEMORY)
    return cut_window(state, start, end, max_tokens)


cdef Py_ssize_t bound_of_reach(
    State* state, Py_ssize_t start, Py_ssize_t max_tokens
) noexcept nogil:
    """A place beyond which max_tokens tokens from `start` can't reach; or NO_MEMORY."""
    cdef Py_ssize_t end = state.n
    if max_tokens < (end - start) // state.bpe.max_token_bytes:
        end = start + max_tokens * state.bpe.max_token_bytes
    if state.bpe.max_unreachable_bytes == 0:
        if not grow(
            <void**> &state.reached, &state.reached_slots, max_tokens + 1, sizeof(Py_ssize_t)
        ):
            return NO_MEMORY
        end = furthest(
            state.bpe, &state.scratch.lookups.automata[0], state.text, start, end, max_tokens, state.reached
        )
        if end < 0:
            return NO_MEMORY
    return character_start(state, end)


cdef Cut cut_window(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t max_tokens
) noexcept nogil:
    """The greatest cut in text[start:end]. With `probed_end` set to its end: NOT_FOUND,
    unless it is certain that no cut beyond is greater.
    """
    cdef Py_ssize_t high, low, at
    cdef Cut cut = scan_until_over(state, start, end, max_tokens)
    cdef const Boundary* boundary
    if cut.end != NOT_FOUND:
        return no_cut(NOT_FOUND) if cut.end == state.probed_end else cut
    # The last boundary is over budget. It stands for every cut from its `examined` on.
    at = state.n_boundaries - 1
    if state.probed_end >= 0 and state.boundaries[at].examined > end:
        return no_cut(NOT_FOUND)
    high = min(state.boundaries[at].examined - 1, end)
    while at > 0:
        at -= 1
        boundary = &state.boundaries[at]
        low = boundary.examined
        if low <= high:
            cut = best_cut(state, boundary.at, max_tokens - boundary.tokens, low, high)
            if cut.end != NOT_FOUND:
                cut.tokens += state.boundaries[at].tokens
                return cut
            high = low - 1
    return no_cut(start)


cdef bint reserve_boundaries(State* state, Py_ssize_t more) noexcept nogil:
    return grow(
        <void**> &state.boundaries, &state.boundary_slots, state.n_boundaries + more,
        sizeof(Boundary),
    )


cdef bint push_boundaries(
    State* state, const Batch* batch, Py_ssize_t before, Py_ssize_t max_tokens
) noexcept nogil:
    """Add the ends of a batch, up to the first that is over budget. False: failed.

    `before` tokens come before the batch. `examined` becomes the running maximum.
    """
    cdef Py_ssize_t piece, tokens = before, examined
    cdef Boundary* boundary
    if not reserve_boundaries(state, batch.count):
        return False
    boundary = &state.boundaries[state.n_boundaries]
    examined = (boundary - 1).examined
    for piece in range(batch.count):
        tokens = before + batch.totals[piece]
        examined = max(examined, batch.examined[piece])
        boundary.at = batch.ends[piece]
        boundary.examined = examined
        boundary.tokens = tokens
        boundary += 1
        if tokens > max_tokens:
            break
    state.n_boundaries = boundary - state.boundaries
    return True


cdef Cut scan_until_over(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t max_tokens
) noexcept nogil:
    """Collect the boundaries of text[start:end], up to the first that is over budget.

    Returns the cut at `end` if all of it fits, else NOT_FOUND.
    """
    cdef Batch batch
    cdef Py_ssize_t at = start, total = 0, added, most, taken = max_tokens + 1
    cdef Cut cut = no_cut(NOT_FOUND)
    state.n_boundaries = 0
    if not reserve_boundaries(state, 1):
        return no_cut(NO_MEMORY)
    state.boundaries[0].at = state.boundaries[0].examined = start
    state.boundaries[0].tokens = 0
    state.n_boundaries = 1
    while at < end:
        most = max_tokens - total + 1
        if state.usual_pieces > 0:
            most = min(most, max(state.usual_pieces + 1 - state.n_boundaries, LEAST_STREAMED))
        # Behind a piece that took a batch of its own, what is found is likely dropped again.
        most = min(most, 2 * taken)
        added = count_batch(state, at, end, most, max_tokens - total, &batch)
        if added < 0:
            return no_cut(NO_MEMORY)
        if not push_boundaries(state, &batch, total, max_tokens):
            return no_cut(NO_MEMORY)
        if state.boundaries[state.n_boundaries - 1].tokens > max_tokens:
            state.usual_pieces = state.n_boundaries - 1
            return cut
        total += added
        taken = batch.count
        at = batch.ends[batch.count - 1]
    cut.end = end
    cut.tokens = total
    return cut


cdef Py_ssize_t count_batch(
    State* state, Py_ssize_t at, Py_ssize_t end, Py_ssize_t most, Py_ssize_t budget, Batch* batch
) noexcept nogil:
    """Find the next pieces of text[at:end] (at < end), at most so many; count their tokens.

    Returns the tokens of the batch, or NO_MEMORY. A piece that is long for the budget makes a
    batch of its own; if it is over budget, only that is told, at no greater cost than the
    budget's.
    """
    cdef Py_ssize_t piece, n
    cdef bint unfinished
    fill_batch(&state.source, state.text, at, end, most, batch)
    for piece in range(batch.count):
        n = batch.ends[piece] - batch.starts[piece]
        if n <= MERGE_LIMIT or n <= LONG_FOR_A_TOKEN * budget:
            continue
        if piece > 0:
            batch.count = piece
            break
        batch.count = 1
        # Where a probe ends, this piece may go on: it is not worth counting.
        unfinished = batch.ends[0] == state.probed_end and batch.examined[0] > end
        n = budget + 1
        if not unfinished:
            n = count_long_piece(state, batch.starts[0], batch.ends[0], budget)
        batch.totals[0] = n
        return n
    if not reserve(state.scratch, batch.ends[batch.count - 1] - at + 4):
        return NO_MEMORY
    return encode_batch(state.bpe, state.scratch, state.text, end, batch, state.scratch.out)


cdef Py_ssize_t count_long_piece(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Tokens of a piece, or budget + 1 if it has more; or NO_MEMORY."""
    if find_token(state.bpe, state.text + start, end - start) != NONE:
        return 1
    if not count_prefixes_of(state, start, end, budget):
        return NO_MEMORY
    return prefix_tokens(&state.prefixes, end - start)


cdef inline bint count_prefixes_of(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Fill the tables of prefixes for a piece. False: failed."""
    return count_prefixes(
        &state.prefixes, state.bpe, &state.scratch.lookups, state.text, start, end, budget
    )


cdef Cut best_cut(
    State* state, Py_ssize_t start, Py_ssize_t budget, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    """The greatest cut from low to high such that text[start:cut] fits; or NOT_FOUND."""
    cdef Cut best = no_cut(NOT_FOUND)
    cdef Task task
    high = bound_by_seams(state, start, high, budget)
    if high < low:
        return best
    if high - start <= DIRECT_BYTES:
        return best_cut_directly(state, start, budget, low, high)
    state.n_tasks = 0
    if not push_task(state, start, 0, low, high):
        return no_cut(NO_MEMORY)
    while state.n_tasks > 0:
        state.n_tasks -= 1
        task = state.tasks[state.n_tasks]
        task.low = max(task.low, best.end + 1)
        if task.low <= task.high and not work_task(state, &task, budget, &best):
            return no_cut(NO_MEMORY)
    return best


cdef Py_ssize_t bound_by_seams(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """A place up to `end` beyond which `budget` tokens from `start` can't reach.

    Each part between sealed seams takes a token at least, wherever pieces end.
    """
    cdef Py_ssize_t at = start
    if state.has_gaps or (budget > 0 and not has_sealed_seams(state.bpe)):
        return end
    while budget > 0 and at < end:
        at = sealed_end(state.bpe, state.text, at, end)
        budget -= 1
    return min(at, end)


cdef Cut best_cut_directly(
    State* state, Py_ssize_t start, Py_ssize_t budget, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    cdef Cut cut
    cut.end = high
    while cut.end >= low:
        if is_character_start(state, cut.end):
            cut.tokens = count_slice(state, start, cut.end, budget)
            if cut.tokens < 0:
                return no_cut(NO_MEMORY)
            if cut.tokens <= budget:
                return cut
        cut.end -= 1
    return no_cut(NOT_FOUND)


cdef Py_ssize_t count_slice(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Tokens of text[start:end], or any number over budget if it has more; or NO_MEMORY."""
    cdef Batch batch
    cdef Py_ssize_t tokens = 0, added
    while start < end and tokens <= budget:
        added = count_batch(state, start, end, budget - tokens + 1, budget - tokens, &batch)
        if added < 0:
            return added
        tokens += added
        start = batch.ends[batch.count - 1]
    return tokens


cdef bint push_task(
    State* state, Py_ssize_t at, Py_ssize_t tokens, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    if not grow(<void**> &state.tasks, &state.task_slots, state.n_tasks + 1, sizeof(Task)):
        return False
    state.tasks[state.n_tasks].at = at
    state.tasks[state.n_tasks].tokens = tokens
    state.tasks[state.n_tasks].low = low
    state.tasks[state.n_tasks].high = high
    state.n_tasks += 1
    return True


cdef bint work_task(State* state, Task* task, Py_ssize_t budget, Cut* best) noexcept nogil:
    """Raise `best` to the best cut of a task, or split it into further ones. False: failed."""
    cdef Py_ssize_t piece_end, examined = 0, tokens
    while task.at < task.high:
        piece_end = scan_piece(
            state.source.scanner, state.text, task.at, task.high, &examined
        )
        if examined > task.low:
            break
        # This piece is the same for all cuts of the task.
        if piece_end < 0:
            task.at += char_bytes(state.text[task.at])
            continue
        tokens = count_slice(state, task.at, piece_end, budget - task.tokens)
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
    return cut_first_piece(state, task, budget, best)


cdef bint cut_first_piece(State* state, Task* task, Py_ssize_t budget, Cut* best) noexcept nogil:
    """Work a task whose first piece is not the same for all its cuts.

    Walks the automaton once. At each cut either the text so far is one piece, which the
    tables count; or its first piece ends earlier, and all cuts that share this end make
    a new task.
    """
    cdef const Scanner* scanner = state.source.scanner
    cdef uint32_t row = scanner.start_row, entry
    cdef Py_ssize_t at = task.at, before, tokens
    cdef Py_ssize_t first_end = NOT_FOUND, shared_end = NOT_FOUND, shared_from = task.low
    cdef bint shared = False, whole
    if not count_prefixes_of(state, task.at, task.high, budget - task.tokens):
        return False
    while at < task.high:
        before = at
        entry = step(scanner, row, state.text, &at)
        if entry == 0:
            break
        row = entry >> 2
        first_end = accepted_end(entry, before, at, first_end)
        if at < task.low:
            continue
        whole = first_end == at or accepts_end(scanner, row)
        if shared and (whole or first_end != shared_end):
            if not push_shared(state, task, shared_end, shared_from, before, budget):
                return False
            shared = False
        if whole:
            tokens = task.tokens + prefix_tokens(&state.prefixes, at - task.at)
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
            return push_shared(state, task, shared_end, shared_from, task.high, budget)
        return True
    # From the character on which the automaton died, all cuts share the first piece, as
    # those just before it may have done already.
    if not shared:
        shared_from = at
    return push_shared(state, task, first_end, max(shared_from, task.low), task.high, budget)


cdef bint push_shared(
    State* state, const Task* task, Py_ssize_t first_end,
    Py_ssize_t low, Py_ssize_t high, Py_ssize_t budget,
) noexcept nogil:
    """A new task for the cuts from low to high, whose first piece ends at first_end."""
    cdef Py_ssize_t tokens = 0
    if low > high:
        return True
    if first_end < 0:
        first_end = task.at + char_bytes(state.text[task.at])
    else:
        tokens = prefix_tokens(&state.prefixes, first_end - task.at)
    if task.tokens + tokens > budget:
        return True
    return push_task(state, first_end, task.tokens + tokens, low, high)
