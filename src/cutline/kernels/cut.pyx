"""The greatest cut: how far a text can reach within a token budget, exactly.

Counts are not monotonic, and a cut can change the pieces before it. docs/cutting.md
proves the two facts used here. A boundary whose decision looked at nothing beyond a
cut stays a boundary for that cut, so the tokens before it stay too. And inside one
piece, the last token of a prefix is the one token that ends there and is compatible
with the last token of the prefix before it, so that prefixes are counted one from
another, and those over budget need not be followed.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdlib cimport free, realloc

import numpy as np

from cutline.kernels.bpe cimport Bpe, compatible, find_token, token_bytes, trie_child
from cutline.kernels.common cimport (
    MERGE_LIMIT, NONE, char_bytes, int64_t, is_continuation, memset, uint8_t, uint32_t,
)
from cutline.kernels.encode cimport (
    Batch, Encoder, Scratch, Source, Workspace, encode_batch, fill_batch, reserve, utf8_data,
)
from cutline.kernels.scan cimport Scanner, char_class, scan_piece

cdef enum:
    DIRECT_BYTES = 48       # windows up to this are tried cut by cut
    NO_MEMORY = -2
    NOT_FOUND = -1

# The scan of a text from its start: `tokens` come before `at`, and no decision up to
# there looked at a byte at or beyond `examined`.
cdef struct Boundary:
    Py_ssize_t at
    Py_ssize_t examined
    Py_ssize_t tokens

# Cuts from `low` to `high` whose pieces are known up to `at`, `tokens` tokens so far.
cdef struct Task:
    Py_ssize_t at
    Py_ssize_t tokens
    Py_ssize_t low
    Py_ssize_t high

cdef struct Cut:
    Py_ssize_t end
    Py_ssize_t tokens

cdef struct State:
    const Bpe* bpe
    Source source
    Scratch* scratch
    const uint8_t* text
    Py_ssize_t n
    bint has_gaps
    Boundary* boundaries
    Py_ssize_t n_boundaries, boundary_slots
    Task* tasks
    Py_ssize_t n_tasks, task_slots
    uint32_t* last              # last token of each prefix of a piece
    uint32_t* counts            # tokens of each prefix, NONE: over budget
    Py_ssize_t table_slots
    Py_ssize_t frontier         # the tables hold the prefixes up to this length
    Py_ssize_t table_start, table_end, table_budget     # what they were filled for


cdef class Cutter:
    """Cuts one text; holds the buffers that it takes.

    Args:
        encoder: must have scan tables.
        owner: the UTF-8 of the text: bytes, or a str that is ASCII.
    """

    cdef Encoder encoder
    cdef Workspace work
    cdef object owner
    cdef State state

    def __cinit__(self, Encoder encoder not None, owner not None):
        cdef Py_ssize_t n = 0
        self.encoder = encoder
        self.owner = owner
        self.work = encoder.workspace()
        encoder.provide_trie(self.work)
        self.state.text = utf8_data(owner, &n)
        self.state.n = n
        self.state.bpe = &encoder.tables.bpe
        self.state.source = encoder.source()
        self.state.has_gaps = encoder.scan_tables.has_gaps
        self.state.scratch = &self.work.scratch
        self.state.table_start = -1

    def __dealloc__(self):
        free(self.state.boundaries)
        free(self.state.tasks)
        free(self.state.last)
        free(self.state.counts)

    def close(self):
        """Hand the workspace back to the encoder; the cutter must not be used again."""
        self.encoder.release(self.work)

    def greatest_cut(self, Py_ssize_t start, Py_ssize_t max_tokens):
        """The greatest end with at most max_tokens tokens from `start`, in bytes."""
        cdef Cut cut
        with nogil:
            cut = greatest_cut(&self.state, start, max_tokens)
        return checked(cut).end

    def cut_all(self, Py_ssize_t chunk_size, Py_ssize_t overlap):
        """Cut the whole text.

        Returns:
            int64, shape (chunks, 3): start, end (in bytes) and tokens of each. The last
            chunk ends before the text's end where the next character does not fit.
        """
        cdef Py_ssize_t start = 0, next_start = 0, done = 0
        cdef Cut cut, next_cut
        cdef list rows = []
        next_cut.end = NOT_FOUND
        while start < self.state.n:
            with nogil:
                cut = next_cut
                if cut.end == NOT_FOUND:
                    cut = greatest_cut(&self.state, start, chunk_size)
            if checked(cut).end == start:
                break
            rows.append((start, cut.end, cut.tokens))
            if cut.end == self.state.n:
                break
            next_start = cut.end
            next_cut.end = NOT_FOUND
            if overlap > 0:
                with nogil:
                    next_start = overlap_start(
                        &self.state, start, cut.end, overlap, chunk_size, &next_cut
                    )
                checked(next_cut)
            start = next_start
        return np.array(rows, dtype=np.int64).reshape(-1, 3)


cdef Cut checked(Cut cut) except *:
    if cut.end == NO_MEMORY:
        raise MemoryError("no memory for the tables of a long piece of text")
    return cut


def code_points(owner, const int64_t[::1] places not None):
    """Turn ascending byte offsets into code-point offsets: int64, same shape."""
    cdef Py_ssize_t n = 0, at = 0, passed = 0, row
    cdef const uint8_t* text = utf8_data(owner, &n)
    offsets = np.empty(places.shape[0], dtype=np.int64)
    cdef int64_t[::1] out = offsets
    with nogil:
        for row in range(places.shape[0]):
            while at < places[row]:
                passed += not is_continuation(text[at])
                at += 1
            out[row] = passed
    return offsets


def byte_offset(owner, Py_ssize_t code_point):
    """Turn a code-point offset into a byte offset; -1 where the text is shorter."""
    cdef Py_ssize_t n = 0, at = 0, passed = 0
    cdef const uint8_t* text = utf8_data(owner, &n)
    while at < n and passed < code_point:
        at += char_bytes(text[at])
        passed += 1
    return at if passed == code_point else -1


cdef Cut no_cut(Py_ssize_t why) noexcept nogil:
    cdef Cut cut
    cut.end = why
    cut.tokens = 0
    return cut


cdef inline bint is_character_start(const State* state, Py_ssize_t at) noexcept nogil:
    return at >= state.n or not is_continuation(state.text[at])


cdef Cut greatest_cut(State* state, Py_ssize_t start, Py_ssize_t max_tokens) noexcept nogil:
    """The greatest end (and its tokens) such that text[start:end] fits; start itself at least."""
    cdef Py_ssize_t end = state.n, high, low, at
    cdef Cut cut
    cdef Boundary* boundary
    # Each token covers at most so many bytes: what lies beyond need not be looked at.
    if not state.has_gaps and max_tokens < (end - start) // state.bpe.max_token_bytes:
        end = start + max_tokens * state.bpe.max_token_bytes
        while not is_character_start(state, end):
            end -= 1
    cut = scan_until_over(state, start, end, max_tokens)
    if cut.end != NOT_FOUND:
        return cut
    # The last boundary is over budget. It stands for every cut from its `examined` on.
    at = state.n_boundaries - 1
    high = min(state.boundaries[at].examined - 1, end)
    while at > 0:
        at -= 1
        boundary = &state.boundaries[at]
        low = boundary.examined
        if low <= high:
            cut = best_cut(state, boundary.at, max_tokens - boundary.tokens, low, high)
            if cut.end != NOT_FOUND:
                cut.tokens += boundary.tokens
                return cut
            high = low - 1
    return no_cut(start)


cdef bint push_boundary(
    State* state, Py_ssize_t at, Py_ssize_t examined, Py_ssize_t tokens
) noexcept nogil:
    """Add a boundary; `examined` becomes the running maximum. False: no memory."""
    cdef Py_ssize_t slots
    cdef Boundary* grown
    if state.n_boundaries == state.boundary_slots:
        slots = 2 * state.boundary_slots + 64
        grown = <Boundary*> realloc(state.boundaries, slots * sizeof(Boundary))
        if grown == NULL:
            return False
        state.boundaries = grown
        state.boundary_slots = slots
    if state.n_boundaries > 0:
        examined = max(examined, state.boundaries[state.n_boundaries - 1].examined)
    state.boundaries[state.n_boundaries].at = at
    state.boundaries[state.n_boundaries].examined = examined
    state.boundaries[state.n_boundaries].tokens = tokens
    state.n_boundaries += 1
    return True


cdef Cut scan_until_over(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t max_tokens
) noexcept nogil:
    """Collect the boundaries of text[start:end], up to the first that is over budget.

    Returns the cut at `end` if all of it fits, else NOT_FOUND.
    """
    cdef Batch batch
    cdef Py_ssize_t at = start, total = 0, piece, added
    cdef Cut cut = no_cut(NOT_FOUND)
    state.n_boundaries = 0
    if not push_boundary(state, start, start, 0):
        return no_cut(NO_MEMORY)
    while at < end:
        added = count_batch(state, at, end, max_tokens - total + 1, max_tokens - total, &batch)
        if added < 0:
            return no_cut(NO_MEMORY)
        for piece in range(batch.count):
            if not push_boundary(
                state, batch.ends[piece], batch.examined[piece], total + batch.totals[piece]
            ):
                return no_cut(NO_MEMORY)
            if total + batch.totals[piece] > max_tokens:
                return cut
        total += added
        at = batch.ends[batch.count - 1]
    cut.end = end
    cut.tokens = total
    return cut


cdef Py_ssize_t count_batch(
    State* state, Py_ssize_t at, Py_ssize_t end, Py_ssize_t most, Py_ssize_t budget, Batch* batch
) noexcept nogil:
    """Find the next pieces of text[at:end] (at < end), at most so many; count their tokens.

    Returns the tokens of the batch, -1: no memory. A long piece makes a batch of its
    own; if it is over budget, only that is told, at no greater cost than the budget's.
    """
    cdef Py_ssize_t piece, n
    fill_batch(&state.source, state.text, at, end, most, batch)
    for piece in range(batch.count):
        n = batch.ends[piece] - batch.starts[piece]
        if n <= MERGE_LIMIT:
            continue
        if piece > 0:
            batch.count = piece
            break
        batch.count = 1
        n = count_long_piece(state, batch.starts[0], batch.ends[0], budget)
        batch.totals[0] = n
        return n
    if not reserve(state.scratch, batch.ends[batch.count - 1] - at + 4):
        return -1
    return encode_batch(state.bpe, state.scratch, state.text, end, batch, state.scratch.out)


cdef Py_ssize_t count_long_piece(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Tokens of a piece, or budget + 1 if it has more; -1: no memory."""
    if find_token(state.bpe, state.text + start, end - start) != NONE:
        return 1
    if not count_prefixes(state, start, end, budget):
        return -1
    return piece_tokens(state, end - start, budget)


cdef inline Py_ssize_t piece_tokens(
    const State* state, Py_ssize_t length, Py_ssize_t budget
) noexcept nogil:
    """Tokens of the prefix of this length by the tables; budget + 1 where it is over."""
    if length > state.frontier or state.counts[length] == NONE:
        return budget + 1
    return state.counts[length]


cdef bint reach(State* state, Py_ssize_t length) noexcept nogil:
    """Make the tables hold prefixes up to this length. False: no memory."""
    cdef Py_ssize_t slots
    cdef uint32_t* grown
    if length <= state.frontier:
        return True
    if length >= state.table_slots:
        slots = 2 * length + 256
        grown = <uint32_t*> realloc(state.counts, slots * sizeof(uint32_t))
        if grown == NULL:
            return False
        state.counts = grown
        grown = <uint32_t*> realloc(state.last, slots * sizeof(uint32_t))
        if grown == NULL:
            return False
        state.last = grown
        state.table_slots = slots
    memset(
        state.counts + state.frontier + 1, 0xFF, (length - state.frontier) * sizeof(uint32_t)
    )
    state.frontier = length
    return True


cdef bint count_prefixes(
    State* state, Py_ssize_t start, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Fill the tables for the prefixes of the piece text[start:end] that fit. False: no memory.

    Goes forward: each prefix that fits tries the tokens that follow it. Cost: linear in
    the longest prefix that fits, times the matches at a place.
    """
    cdef const Bpe* bpe = state.bpe
    cdef const uint8_t* piece = state.text + start
    cdef Py_ssize_t n = end - start, length = 0, longer
    cdef uint32_t node, token
    # The end only limits how far tokens may reach: tables for a later one do as well.
    if state.table_start == start and state.table_budget == budget and state.table_end >= end:
        return True
    state.table_start = -1
    state.frontier = -1
    if not reach(state, 0):
        return False
    state.counts[0] = 0
    while length <= state.frontier and length < n:
        if state.counts[length] == NONE or state.counts[length] >= budget:
            length += 1
            continue
        node = 0
        longer = length
        while longer < n:
            node = trie_child(bpe, node, piece[longer])
            if node == NONE:
                break
            longer += 1
            token = bpe.node_token[node]
            if token == NONE:
                continue
            if not reach(state, longer):
                return False
            if state.counts[longer] == NONE and (
                length == 0 or compatible(bpe, state.last[length], token)
            ):
                state.last[longer] = token
                state.counts[longer] = state.counts[length] + 1
        length += 1
    if bpe.max_unreachable_bytes > 0 and budget > 0 and not count_unreachable(state, piece, n):
        return False
    state.table_start = start
    state.table_end = end
    state.table_budget = budget
    return True


cdef bint count_unreachable(State* state, const uint8_t* piece, Py_ssize_t n) noexcept nogil:
    """A piece that is a token is that token, though merging does not reach it: one token."""
    cdef Py_ssize_t length
    for length in range(2, min(n, state.bpe.max_unreachable_bytes) + 1):
        if find_token(state.bpe, piece, length) != NONE:
            if not reach(state, length):
                return False
            state.counts[length] = 1
    return True


cdef Cut best_cut(
    State* state, Py_ssize_t start, Py_ssize_t budget, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    """The greatest cut from low to high such that text[start:cut] fits; or NOT_FOUND."""
    cdef Cut best = no_cut(NOT_FOUND)
    cdef Task task
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
    """Tokens of text[start:end], or any number over budget if it has more; -1: no memory."""
    cdef Batch batch
    cdef Py_ssize_t tokens = 0, added
    while start < end and tokens <= budget:
        added = count_batch(state, start, end, budget - tokens + 1, budget - tokens, &batch)
        if added < 0:
            return -1
        tokens += added
        start = batch.ends[batch.count - 1]
    return tokens


cdef bint push_task(
    State* state, Py_ssize_t at, Py_ssize_t tokens, Py_ssize_t low, Py_ssize_t high
) noexcept nogil:
    cdef Py_ssize_t slots
    cdef Task* grown
    if state.n_tasks == state.task_slots:
        slots = 2 * state.task_slots + 16
        grown = <Task*> realloc(state.tasks, slots * sizeof(Task))
        if grown == NULL:
            return False
        state.tasks = grown
        state.task_slots = slots
    state.tasks[state.n_tasks].at = at
    state.tasks[state.n_tasks].tokens = tokens
    state.tasks[state.n_tasks].low = low
    state.tasks[state.n_tasks].high = high
    state.n_tasks += 1
    return True


cdef bint work_task(State* state, Task* task, Py_ssize_t budget, Cut* best) noexcept nogil:
    """Raise `best` to the best cut of a task, or split it into further ones. False: no memory."""
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
    cdef Py_ssize_t at = task.at, before, width, tokens
    cdef Py_ssize_t first_end = NOT_FOUND, shared_end = NOT_FOUND, shared_from = task.low
    cdef bint shared = False, whole
    if not count_prefixes(state, task.at, task.high, budget - task.tokens):
        return False
    while at < task.high:
        before = at
        width = char_bytes(state.text[at])
        if width == 1:
            entry = scanner.transitions[row + scanner.ascii_class[state.text[at]]]
        else:
            entry = scanner.transitions[row + char_class(scanner, state.text + at, width)]
        at += width
        if entry == 0:
            break
        row = entry >> 2
        if entry & 3:
            first_end = at if entry & 3 == 1 else before
        if at < task.low:
            continue
        whole = first_end == at or scanner.transitions[row + scanner.end_class] & 3 != 0
        if shared and (whole or first_end != shared_end):
            if not push_shared(state, task, shared_end, shared_from, before, budget):
                return False
            shared = False
        if whole:
            tokens = task.tokens + piece_tokens(state, at - task.at, budget - task.tokens)
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
    # From the character on which the automaton died, all cuts share the first piece.
    if shared and first_end != shared_end:
        if not push_shared(state, task, shared_end, shared_from, before, budget):
            return False
        shared = False
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
        tokens = piece_tokens(state, first_end - task.at, budget - task.tokens)
    if task.tokens + tokens > budget:
        return True
    return push_task(state, first_end, task.tokens + tokens, low, high)


cdef Py_ssize_t overlap_start(
    State* state, Py_ssize_t start, Py_ssize_t end,     # in: the chunk before
    Py_ssize_t overlap, Py_ssize_t chunk_size,
    Cut* cut,                                           # out: the next chunk's cut
) noexcept nogil:
    """Where the next chunk starts. `cut.end` is NO_MEMORY if there is none.

    Steps back from the end, character by character, while the shared text has at most
    `overlap` tokens and the chunk before starts earlier; of these places takes the
    farthest from which a chunk reaches beyond the end.
    """
    cdef Py_ssize_t farthest = end, at = end, tokens
    # Pieces of the chunk on its own: from a place where both scans meet, they agree.
    cut[0] = scan_until_over(state, start, end, chunk_size)
    if cut.end == NO_MEMORY:
        return end
    while at > start:
        at -= 1
        while not is_character_start(state, at):
            at -= 1
        if at <= start:
            break
        tokens = count_to_end(state, at, end, overlap)
        if tokens < 0:
            cut[0] = no_cut(NO_MEMORY)
            return end
        if tokens > overlap:
            break
        farthest = at
    while farthest < end:
        cut[0] = greatest_cut(state, farthest, chunk_size)
        if cut.end > end or cut.end == NO_MEMORY:
            return farthest
        farthest += char_bytes(state.text[farthest])
    cut[0] = no_cut(NOT_FOUND)
    return end


cdef Py_ssize_t count_to_end(
    State* state, Py_ssize_t at, Py_ssize_t end, Py_ssize_t budget
) noexcept nogil:
    """Tokens of text[at:end], a tail of the scan in `boundaries`; over budget: any greater number.

    Scans only until it meets a boundary of that scan. -1: no memory.
    """
    cdef Batch batch
    cdef Py_ssize_t tokens = 0, added, low = 0, high = state.n_boundaries - 1, middle
    cdef Py_ssize_t total = state.boundaries[high].tokens
    while low < high:
        middle = (low + high) // 2
        if state.boundaries[middle].at < at:
            low = middle + 1
        else:
            high = middle
    while tokens <= budget:
        while state.boundaries[low].at < at:
            low += 1
        if state.boundaries[low].at == at:
            return tokens + total - state.boundaries[low].tokens
        # One piece at a time: the very next boundary may be a shared one.
        added = count_batch(state, at, end, 1, budget - tokens, &batch)
        if added < 0:
            return -1
        tokens += added
        at = batch.ends[0]
    return tokens

