"""How far back the next chunk may start. Source: docs/cutting.md, "Overlap".

The tokens of text[at:end] are those of its first piece, and those of the text after that piece,
which a later place has already counted: scans are memoryless. And most first pieces do not depend
on `end`, so the next chunk finds them again.

Guarded by tests/test_split.py.
"""

from libc.stdlib cimport free, malloc

from cutline.kernels.base.common cimport (
    MERGE_LIMIT, NO_LIMIT, NO_MEMORY, NOT_FOUND, char_bytes, grow, int64_t, memset,
    uint32_t,
)
from cutline.kernels.bpe.prefixes cimport free_prefixes, suffix_tokens
from cutline.kernels.cut.longest_fit cimport Search, character_start
from cutline.kernels.encode.batches cimport BATCH_PIECES, Batch, add_to_batch, encode_batch, reserve
from cutline.kernels.scan.scan cimport Scanner, accepted_end, accepts_end, step

cdef enum:
    LEAST_PLACES = 16       # in a block: what is found beyond the overlap is wasted
    LEAST_SLOTS = 512


cdef void begin_overlaps(Overlap* overlap) noexcept nogil:
    """Begin with zeros."""
    overlap.suffixes.keeps_depths = True


cdef void forget_text(Overlap* overlap) noexcept nogil:
    """Go on to another text."""
    if overlap.pieces != NULL:
        memset(overlap.pieces, 0xFF, overlap.slots * sizeof(FirstPiece))      # NOT_FOUND
    overlap.suffixes.start = NOT_FOUND


cdef void free_overlaps(Overlap* overlap) noexcept nogil:
    free(overlap.pieces)
    free(overlap.dfa_states)
    free_prefixes(&overlap.suffixes)


cdef Py_ssize_t farthest_overlap(
    Search* search, Overlap* overlap,
    Py_ssize_t start, Py_ssize_t end,   # in: the chunk before
    Py_ssize_t budget,
    int64_t* counts,                    # out: the tokens of each text stepped over; or NULL
) noexcept nogil:
    """How far back the next chunk may start; or NO_MEMORY.

    Steps back from the end, character by character, while the shared text has at most
    `budget` tokens and the chunk before starts earlier.

    Cost: amortised, linear in the places that no chunk before has stepped to, with a few
    nanoseconds for each of the others.
    """
    cdef Py_ssize_t farthest = end, at, low, tokens = 0
    if not grow(
        <void**> &overlap.dfa_states, &overlap.state_slots, end - start + 1, sizeof(uint32_t)
    ):
        return NO_MEMORY
    overlap.states_low = overlap.states_high = start
    while True:
        low = max(start, farthest - min(max(LEAST_PLACES, budget - tokens), BATCH_PIECES))
        low = character_start(search, low)
        if not make_room(overlap, low, end) or not find_pieces(
            search, overlap, start, low, farthest, end
        ):
            return NO_MEMORY
        at = farthest
        while True:
            at = character_start(search, at - 1)
            if at <= start:
                return farthest
            tokens = count_to_end(overlap, at, end)
            if tokens > budget:
                return farthest
            if counts != NULL:
                counts[0] = tokens
                counts += 1
            farthest = at
            if at == low:
                break


cdef inline FirstPiece* piece_at(const Overlap* overlap, Py_ssize_t at) noexcept nogil:
    return overlap.pieces + (at & overlap.slots - 1)


cdef inline Py_ssize_t count_to_end(
    Overlap* overlap, Py_ssize_t at, Py_ssize_t end
) noexcept nogil:
    """Tokens of text[at:end]; those of all later places are known."""
    cdef FirstPiece* piece = piece_at(overlap, at)
    piece.tokens_to_end = piece.tokens
    if piece.end < end:
        piece.tokens_to_end += piece_at(overlap, piece.end).tokens_to_end
    return piece.tokens_to_end


cdef bint make_room(Overlap* overlap, Py_ssize_t low, Py_ssize_t end) noexcept nogil:
    """Have a slot for each place from `low` on, and keep what is known of them. False: failed."""
    cdef Overlap grown = overlap[0]
    cdef Py_ssize_t slot
    if end - low < overlap.slots:
        return True
    grown.slots = max(LEAST_SLOTS, grown.slots)
    while grown.slots <= end - low:
        grown.slots *= 2
    grown.pieces = <FirstPiece*> malloc(grown.slots * sizeof(FirstPiece))
    if grown.pieces == NULL:
        return False
    memset(grown.pieces, 0xFF, grown.slots * sizeof(FirstPiece))      # NOT_FOUND
    for slot in range(overlap.slots):
        if overlap.pieces[slot].start != NOT_FOUND:
            piece_at(&grown, overlap.pieces[slot].start)[0] = overlap.pieces[slot]
    free(overlap.pieces)
    overlap[0] = grown
    return True


cdef bint find_pieces(
    Search* search, Overlap* overlap,
    Py_ssize_t start, Py_ssize_t low, Py_ssize_t high, Py_ssize_t end,
) noexcept nogil:
    """Find the first pieces of text[at:end], low <= at < high, and their tokens. False: failed."""
    cdef Batch batch
    cdef FirstPiece* found[BATCH_PIECES]
    cdef FirstPiece* piece
    cdef Py_ssize_t at = high, place, tokens, n_bytes = 0
    batch.count = 0
    while at > low:
        at = character_start(search, at - 1)
        piece = piece_at(overlap, at)
        if piece.start == at and piece.lookahead_end <= end:
            continue
        piece.start = at
        if not first_piece(search, overlap, start, end, piece):
            piece.end = at + char_bytes(search.text[at])
            piece.tokens = 0
        elif piece.end - at <= MERGE_LIMIT:
            found[batch.count] = piece
            add_to_batch(&batch, at, piece.end)
            n_bytes += piece.end - at
        else:
            tokens = suffix_tokens(
                &overlap.suffixes, search.bpe, &search.state.lookups, search.text, at, piece.end
            )
            if tokens < 0:
                return False
            piece.tokens = tokens
    if not reserve(search.state, n_bytes + 4) or encode_batch(
        search.bpe, search.state, search.text, end, &batch, search.state.out
    ) < 0:
        return False
    tokens = 0
    for place in range(batch.count):
        found[place].tokens = batch.totals[place] - tokens
        tokens = batch.totals[place]
    return True


cdef bint first_piece(
    Search* search, Overlap* overlap, Py_ssize_t base, Py_ssize_t end, FirstPiece* piece
) noexcept nogil:
    """Find the piece of text[:end] at `piece.start`, for falling starts. False: there is none.

    Remembers in which state the automaton was after each character. Once a scan is in
    the same state at the same place as the one before it, the rest of both is the same:
    so stepping back through a long run costs a few steps a place, not the run.
    """
    cdef const Scanner* scanner = search.source.scanner
    cdef uint32_t dfa_state = scanner.start_state, entry
    cdef Py_ssize_t at = piece.start, before
    piece.end = NOT_FOUND
    piece.lookahead_end = NO_LIMIT      # it depends on the end
    while at < end:
        before = at
        entry = step(scanner, dfa_state, search.text, &at)
        piece.end = accepted_end(entry, before, at, piece.end)
        dfa_state = entry >> 2
        if dfa_state == 0:
            piece.lookahead_end = at
            break
        if (
            overlap.states_low < at <= overlap.states_high
            and overlap.dfa_states[at - base] == dfa_state and overlap.states_piece_end > at
        ):
            piece.end = overlap.states_piece_end
            piece.lookahead_end = overlap.states_lookahead_end
            at = overlap.states_high
            break
        overlap.dfa_states[at - base] = dfa_state
    else:
        if accepts_end(scanner, dfa_state):
            piece.end = end
    overlap.states_low = piece.start
    overlap.states_high = at if dfa_state != 0 else at - 1
    overlap.states_piece_end = piece.end
    overlap.states_lookahead_end = piece.lookahead_end
    return piece.end != NOT_FOUND
