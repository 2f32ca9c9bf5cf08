"""Split a text by several patterns, each in the pieces of the one before.

Each pattern sees the ends of a piece as ends of the text. Source: docs/tokenizers.md, "One after
another".

Guarded by tests/pretokenize/test_splitting.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython cimport auto_pickle
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from cutline.kernels.base.common cimport (
    NO_MEMORY, NOT_FOUND, char_bytes, grow, memcpy, uint8_t, uint32_t
)
from cutline.kernels.base.late import numpy as np
from cutline.kernels.bpe.prefixes cimport token_upper_bound
from cutline.kernels.encode.batches cimport OwnedState
from cutline.kernels.encode.encoder cimport Encoder
from cutline.kernels.scan.automaton cimport ACCEPTS
from cutline.kernels.scan.scan cimport (
    Scanner, ScanTables, accepted_end, accepts_end, scan_piece, step
)

cdef enum:
    STAGE_SLOTS = 64
    MOST_WASTED = 32        # bytes: reading so many again costs less than remembering states

MOST_STAGES = STAGE_SLOTS   # of one splitter

# What becomes of matches, by the numbers that Python gives.
cdef enum Behavior:
    ISOLATED = 0
    REMOVED = 1
    CONTIGUOUS = 2
    WITH_PREVIOUS = 3
    WITH_NEXT = 4

cdef struct Stage:
    const Scanner* scanner
    Behavior behavior
    bint inverted

# Pieces in order, as starts and ends in turn.
cdef struct Pieces:
    int64_t* edges
    Py_ssize_t slots
    Py_ssize_t n            # edges
    Py_ssize_t first        # where those of the piece begin that is being cut
    bint was_match          # the part before was one

# states[at]: a scan that is in this state at this place accepts nothing any more.
cdef struct Failures:
    uint32_t* states
    Py_ssize_t end          # what was written, of the piece that is being cut


cdef Py_ssize_t match_end(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
    Failures* failures, Py_ssize_t* reached, Py_ssize_t* decided
) noexcept nogil:
    """What `scan_piece` returns. Also how far it read, and where it found that."""
    cdef uint32_t dfa_state = scanner.start_state, entry
    cdef Py_ssize_t at = start, before, found = NOT_FOUND
    decided[0] = start + 1
    while at < end:
        before = at
        entry = step(scanner, dfa_state, text, &at)
        if entry & ACCEPTS:
            found = accepted_end(entry, before, at, found)
            decided[0] = at
        dfa_state = entry >> 2
        if dfa_state == 0 or (at < failures.end and failures.states[at] == dfa_state):
            reached[0] = at
            return found
    reached[0] = at
    return end if accepts_end(scanner, dfa_state) else found


cdef bint remember(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n,
    Failures* failures, Py_ssize_t reached, Py_ssize_t decided
) noexcept nogil:
    """Write down the states of a scan after the last one that accepted. False: no memory.

    Without that, a pattern that reads far and finds nothing would do so from each character.
    """
    cdef uint32_t dfa_state = scanner.start_state
    cdef Py_ssize_t at = start
    if failures.states == NULL:
        failures.states = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        if failures.states == NULL:
            return False
    while at < reached:
        dfa_state = step(scanner, dfa_state, text, &at) >> 2
        if at >= decided:
            failures.states[at] = dfa_state
    failures.end = max(failures.end, reached + 1)
    return True


cdef inline bint add(Pieces* pieces, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    if not grow(<void**> &pieces.edges, &pieces.slots, pieces.n + 2, sizeof(int64_t)):
        return False
    pieces.edges[pieces.n] = start
    pieces.edges[pieces.n + 1] = end
    pieces.n += 2
    return True


cdef inline bint add_part(
    Pieces* pieces, Behavior behavior, Py_ssize_t start, Py_ssize_t end, bint is_match
) noexcept nogil:
    """Add a match, or text between two, as a behavior has it. False: no memory."""
    cdef bint joins = False, was_match = pieces.was_match
    if start == end:
        return True
    pieces.was_match = is_match
    if behavior == REMOVED and is_match:
        return True
    if pieces.n > pieces.first:
        if behavior == CONTIGUOUS:
            joins = was_match == is_match
        elif behavior == WITH_PREVIOUS:
            joins = is_match and not was_match
        elif behavior == WITH_NEXT:
            joins = was_match and not is_match
    if joins:
        pieces.edges[pieces.n - 1] = end
        return True
    return add(pieces, start, end)


cdef bint cut_piece(
    const Stage* stage, const uint8_t* text, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n,
    Failures* failures, Pieces* pieces
) noexcept nogil:
    """Cut a piece of a text of n bytes. False: no memory."""
    cdef Py_ssize_t at = start, done = start, found, reached = 0, decided = 0
    failures.end = 0
    pieces.first = pieces.n
    pieces.was_match = False
    while at < end:
        found = match_end(stage.scanner, text, at, end, failures, &reached, &decided)
        if reached - decided > MOST_WASTED and found < end and not remember(
            stage.scanner, text, at, end, n, failures, reached, decided
        ):
            return False
        if found == NOT_FOUND:
            at += char_bytes(text[at])
            continue
        if not add_part(pieces, stage.behavior, done, at, stage.inverted):
            return False
        if not add_part(pieces, stage.behavior, at, found, not stage.inverted):
            return False
        at = done = found
    return add_part(pieces, stage.behavior, done, end, stage.inverted)


@auto_pickle(False)
cdef class PieceSplitter:
    """Splits texts.

    Args:
        stages: for each pattern its tables, the number of its behavior, and whether what lies
            between matches counts as matches, and the other way round.
    """

    cdef Stage stages[STAGE_SLOTS]
    cdef Py_ssize_t n_stages
    cdef tuple held

    def __cinit__(self, stages):
        cdef ScanTables tables
        self.held = tuple(stages)
        if len(self.held) > STAGE_SLOTS:
            raise ValueError(f"a splitter has at most {STAGE_SLOTS} stages")
        for tables, behavior, inverted in self.held:
            self.stages[self.n_stages] = Stage(&tables.scanner, behavior, inverted)
            self.n_stages += 1

    def split(self, bytes text not None, edges=None):
        """Split the pieces of valid UTF-8.

        Args:
            text: the text.
            edges: int64, starts and ends of pieces in turn, in bytes; None: the text is one.

        Returns:
            The same of the new pieces.
        """
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef Py_ssize_t n = PyBytes_GET_SIZE(text)
        cdef Pieces old, new
        cdef Failures failures
        cdef const int64_t[::1] given
        cdef int64_t[::1] out
        cdef bint done = True
        old = new = Pieces(NULL, 0, 0, 0, False)
        failures = Failures(NULL, 0)
        if edges is not None:
            given = edges
        try:
            if edges is None:
                done = n == 0 or add(&old, 0, n)
            elif given.shape[0] > 0:
                done = grow(<void**> &old.edges, &old.slots, given.shape[0], sizeof(int64_t))
                if done:
                    old.n = given.shape[0]
                    memcpy(old.edges, &given[0], old.n * sizeof(int64_t))
            if done:
                with nogil:
                    done = self.cut_all(data, n, &failures, &old, &new)
            if not done:
                raise MemoryError(f"no memory for the pieces of {n} bytes")
            found = np.empty(old.n, dtype=np.int64)
            if old.n > 0:
                out = found
                memcpy(&out[0], old.edges, old.n * sizeof(int64_t))
            return found
        finally:
            free(old.edges)
            free(new.edges)
            free(failures.states)

    cdef bint cut_all(
        self, const uint8_t* text, Py_ssize_t n, Failures* failures, Pieces* old, Pieces* new
    ) noexcept nogil:
        """Cut the old pieces by all stages; `new` is for those between. False: no memory."""
        cdef Py_ssize_t number, at
        cdef Pieces swapped
        for number in range(self.n_stages):
            new.n = 0
            for at in range(0, old.n, 2):
                if not cut_piece(
                    &self.stages[number], text, old.edges[at], old.edges[at + 1], n, failures, new
                ):
                    return False
            swapped = old[0]
            old[0] = new[0]
            new[0] = swapped
        return True


def mark_ends(ScanTables tables not None, bytes text not None):
    """The pieces of valid UTF-8 that a pattern matches, each with a blank at its end."""
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), at = 0, end, used = 0, lookahead_end = 0
    cdef uint8_t* out = <uint8_t*> malloc(2 * n + 1)
    if out == NULL:
        raise MemoryError(f"no memory for the pieces of {n} bytes")
    with nogil:
        while at < n:
            end = scan_piece(&tables.scanner, data, at, n, &lookahead_end)
            if end == NOT_FOUND:
                at += char_bytes(data[at])
                continue
            memcpy(out + used, data + at, end - at)
            used += end - at
            out[used] = c" "
            used += 1
            at = end
    try:
        return PyBytes_FromStringAndSize(<const char*> out, used)
    finally:
        free(out)


def furthest_end(Encoder encoder not None, bytes text not None, Py_ssize_t max_tokens):
    """An upper bound of the bytes that so many tokens cover of valid UTF-8, however it is split."""
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), end
    cdef Py_ssize_t* furthest
    cdef OwnedState owned
    if max_tokens >= n or encoder.tables.bpe.max_unreachable_bytes > 0:
        return n
    furthest = <Py_ssize_t*> malloc((max_tokens + 1) * sizeof(Py_ssize_t))
    owned = encoder.take_state()
    end = NO_MEMORY
    if furthest != NULL:
        with nogil:
            end = token_upper_bound(
                &encoder.tables.bpe, &owned.state.lookups.automata[0], data, 0, n, max_tokens,
                furthest,
            )
    free(furthest)
    encoder.release(owned)
    if end == NO_MEMORY:
        raise MemoryError(f"no memory for the tokens of {n} bytes")
    return end
