"""Split a text by several patterns, each in the pieces of the one before.

Each pattern sees the ends of a piece as ends of the text. Source: docs/tokenizers.md, "One after
another".

Guarded by tests/pretokenize/test_splitting.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_Occurred
from cython cimport auto_pickle
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NO_MEMORY, NOT_FOUND, char_bytes, grow, memcpy, uint8_t, uint32_t
)
from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.signals cimport Watch, is_interrupted, raise_pending
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.prefixes cimport (
    Lookups, Prefixes, count_prefixes, free_prefixes, prefix_tokens, token_reach,
    token_upper_bound,
)
from cutline.kernels.encode.batches cimport OwnedState, Source, encode_text
from cutline.kernels.encode.encoder cimport Encoder
from cutline.kernels.scan.automaton cimport ACCEPTS
from cutline.kernels.scan.scan cimport Scanner, ScanTables, accepted_end, accepts_end, step

cdef enum:
    STAGE_SLOTS = 64
    MOST_WASTED = 32        # bytes: reading so many again costs less than remembering states
    MOST_READINGS = 64      # of a byte by a stage, where prefixes are counted

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


# A scan for one match.
cdef struct Reading:
    Py_ssize_t found        # the match's end, or NOT_FOUND; if it reads on, it may end later
    Py_ssize_t decided      # where it found that
    Py_ssize_t reached      # how far it read
    uint32_t dfa_state      # in which it would read on; 0: it would not


cdef Reading read_match(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
    const Failures* failures
) noexcept nogil:
    """Scan from `start`, as far as `end`, which is not the end of the text."""
    cdef uint32_t dfa_state = scanner.start_state, entry
    cdef Py_ssize_t at = start, before
    cdef Reading reading = Reading(NOT_FOUND, start + 1, start, 0)
    while at < end:
        before = at
        entry = step(scanner, dfa_state, text, &at)
        if entry & ACCEPTS:
            reading.found = accepted_end(entry, before, at, reading.found)
            reading.decided = at
        dfa_state = entry >> 2
        if dfa_state == 0 or (at < failures.end and failures.states[at] == dfa_state):
            dfa_state = 0
            break
    reading.reached, reading.dfa_state = at, dfa_state
    return reading


cdef bint remember(
    const Scanner* scanner, const uint8_t* text, Py_ssize_t start, Py_ssize_t n,
    Failures* failures, const Reading* reading
) noexcept nogil:
    """Write down the states of a scan after the last one that accepted. False: no memory.

    Without that, a pattern that reads far and finds nothing would do so from each character.
    """
    cdef uint32_t dfa_state = scanner.start_state
    cdef Py_ssize_t at = start
    if reading.reached - reading.decided <= MOST_WASTED:
        return True
    if failures.states == NULL:
        failures.states = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        if failures.states == NULL:
            return False
    while at < reading.reached:
        dfa_state = step(scanner, dfa_state, text, &at) >> 2
        if at >= reading.decided:
            failures.states[at] = dfa_state
    failures.end = max(failures.end, reading.reached + 1)
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
    const Stage* stage, const uint8_t* text, Py_ssize_t start, Py_ssize_t end, bint is_open,
    Py_ssize_t n, Failures* failures, Pieces* pieces, Watch* watch
) noexcept nogil:
    """Cut a piece of a text of n bytes. False: no memory, or an exception is set.

    Of an open piece more may follow: then the last piece that is found is open, too.
    """
    cdef Py_ssize_t at = start, done = start, found
    cdef Reading reading
    failures.end = 0
    pieces.first = pieces.n
    pieces.was_match = False
    while at < end:
        reading = read_match(stage.scanner, text, at, end, failures)
        if is_interrupted(watch, reading.reached - at):
            return False
        found = reading.found
        if is_open and reading.dfa_state != 0:  # what comes next depends on more text
            end = at if found == NOT_FOUND else found
            if found == NOT_FOUND:
                break
        elif reading.dfa_state != 0 and accepts_end(stage.scanner, reading.dfa_state):
            found = end
        elif not remember(stage.scanner, text, at, n, failures, &reading):
            return False
        if found == NOT_FOUND:
            at += char_bytes(text[at])
            continue
        if not add_part(pieces, stage.behavior, done, at, stage.inverted):
            return False
        if not add_part(pieces, stage.behavior, at, found, not stage.inverted):
            return False
        at = done = found
    if not add_part(pieces, stage.behavior, done, end, stage.inverted):
        return False
    return not is_open or pieces.n > pieces.first or add(pieces, start, start)


# How the scans that begin in a prefix go, up to the one that is being done.
cdef enum Course:
    SAME = 0                # as in the whole part
    DIFFERENT = 1
    WHOLE = 2               # the same, and this one matches the rest of the prefix

# What a stage knows of the prefixes of the part that it cuts.
cdef struct Level:
    int64_t* counts         # tokens of each; NOT_FOUND: not known
    uint8_t* courses
    Py_ssize_t count_slots, course_slots

# One count of the prefixes of a text.
cdef struct PrefixRun:
    const Stage* stages
    Py_ssize_t n_stages
    Level* levels           # one more: pieces
    const Bpe* bpe
    Lookups* lookups
    Prefixes prefixes
    const uint8_t* text
    Py_ssize_t budget
    Py_ssize_t left         # of the bytes that may be read


cdef bint count_part(
    PrefixRun* run, Py_ssize_t number, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Count the prefixes of a part by the stages from this one on. False: it is not done.

    The count of the whole part is always known. That of a prefix is if all scans in it go as
    in the whole part, but for the last one, which makes a part of the rest.
    """
    cdef Level* level = &run.levels[number]
    cdef Py_ssize_t n = end - start, length
    run.left -= n
    if run.left < 0 or is_interrupted(&run.lookups.watch, n) or not grow(
        <void**> &level.counts, &level.count_slots, n + 1, sizeof(int64_t)
    ) or not grow(<void**> &level.courses, &level.course_slots, n + 1, 1):
        return False
    if number < run.n_stages:
        return count_cut(run, number, start, end)
    if not count_prefixes(&run.prefixes, run.bpe, run.lookups, run.text, start, end, run.budget):
        return False
    for length in range(n + 1):
        level.counts[length] = prefix_tokens(&run.prefixes, length)
    return True


cdef Py_ssize_t add_counts(
    PrefixRun* run, Py_ssize_t number, Py_ssize_t start,
    Py_ssize_t part, Py_ssize_t part_end, Py_ssize_t furthest,
    Course course, bint dropped, Py_ssize_t before
) noexcept nogil:
    """Note the counts of prefixes that end in a part, or beyond it as far as `furthest`.

    They have this course, and so many tokens before the part. Returns the tokens of the part, or
    NO_MEMORY.
    """
    cdef Level* level = &run.levels[number]
    cdef Level* inner = &run.levels[number + 1]
    cdef Py_ssize_t at, tokens = 0
    if not dropped and not count_part(run, number + 1, part, furthest):
        return NO_MEMORY
    for at in range(part + 1, furthest + 1):
        if level.courses[at - start] == course:
            tokens = 0 if dropped else inner.counts[at - part]
            if tokens != NOT_FOUND:
                level.counts[at - start] = before + tokens
    if dropped:
        return 0
    if inner.counts[part_end - part] == NOT_FOUND and not count_part(
        run, number + 1, part, part_end
    ):
        return NO_MEMORY
    return inner.counts[part_end - part]


cdef bint count_cut(
    PrefixRun* run, Py_ssize_t number, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Implement `count_part` for a stage."""
    cdef const Stage* stage = &run.stages[number]
    cdef const Scanner* scanner = stage.scanner
    cdef Level* level = &run.levels[number]
    cdef uint8_t* courses = level.courses
    cdef bint drops_matches = stage.behavior == REMOVED and not stage.inverted
    cdef bint drops_gaps = stage.behavior == REMOVED and stage.inverted
    cdef Py_ssize_t at = start, done = start, tokens = 0, before, matched
    cdef Py_ssize_t place, last, found, decided, gap_end, furthest
    cdef uint32_t dfa_state, entry
    memset(level.counts, 0xFF, (end - start + 1) * sizeof(int64_t))     # NOT_FOUND
    memset(courses, SAME, end - start + 1)
    level.counts[0] = 0
    while at < end and tokens <= run.budget:
        dfa_state, place, found, decided = scanner.start_state, at, NOT_FOUND, at
        gap_end = furthest = at
        while place < end and dfa_state != 0:
            last = place
            entry = step(scanner, dfa_state, run.text, &place)
            dfa_state = entry >> 2
            if entry & ACCEPTS:
                found = accepted_end(entry, last, place, found)
                decided = place
            if courses[place - start] == DIFFERENT:
                pass
            elif found == place or (dfa_state != 0 and accepts_end(scanner, dfa_state)):
                courses[place - start] = WHOLE
                furthest = place
            elif found == NOT_FOUND and last == at:
                gap_end = place
        run.left -= place - at
        if run.left < 0:
            return False
        if dfa_state != 0 and accepts_end(scanner, dfa_state):
            found = decided = end
        before, matched = tokens, 0
        if (found != NOT_FOUND and done < gap_end) or done < at < furthest:
            before = add_counts(run, number, start, done, at, gap_end, SAME, drops_gaps, tokens)
            if before == NO_MEMORY:
                return False
            before += tokens
        if at < furthest or found != NOT_FOUND:
            furthest = max(furthest, found)
            matched = add_counts(
                run, number, start, at, furthest if found == NOT_FOUND else found, furthest, WHOLE,
                drops_matches, before,
            )
            if matched == NO_MEMORY:
                return False
        for place in range(at + 1, place + 1):
            if courses[place - start] == WHOLE:
                courses[place - start] = SAME if place == found else DIFFERENT
            elif place < decided:
                courses[place - start] = DIFFERENT
        if found == NOT_FOUND:
            at += char_bytes(run.text[at])
        else:
            tokens = before + matched
            at = done = found
    if tokens > run.budget:
        for place in range(at + 1, end):
            if courses[place - start] == SAME:
                level.counts[place - start] = run.budget + 1
    elif done < end:
        matched = add_counts(run, number, start, done, end, end, SAME, drops_gaps, tokens)
        if matched == NO_MEMORY:
            return False
        tokens += matched
    level.counts[end - start] = min(tokens, run.budget + 1)
    return True


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

    def split(self, bytes text not None, edges=None, bint is_open=False):
        """Split the pieces of valid UTF-8.

        Args:
            text: the text.
            edges: int64, starts and ends of pieces in turn, in bytes; None: the text is one.
            is_open: whether more may follow the last piece.

        Returns:
            The same of the new pieces. If it is open, all but the last of these are pieces whatever
            follows; and one begins with the last, which may be empty.
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
                done = (n == 0 and not is_open) or add(&old, 0, n)
            elif given.shape[0] > 0:
                done = grow(<void**> &old.edges, &old.slots, given.shape[0], sizeof(int64_t))
                if done:
                    old.n = given.shape[0]
                    memcpy(old.edges, &given[0], old.n * sizeof(int64_t))
            if done:
                with nogil:
                    done = self.cut_all(data, n, is_open, &failures, &old, &new)
            if not done:
                if PyErr_Occurred() != NULL:
                    raise_pending()
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

    def prefix_counts(self, Encoder encoder not None, bytes text not None, Py_ssize_t max_tokens):
        """Count the tokens of the prefixes of valid UTF-8, in time linear in it.

        Returns:
            int64, one more than the text has bytes; -1: not known, or not between characters;
            more than `max_tokens`: some number above. None: a stage merges pieces, or a pattern
            reads too far in vain.
        """
        cdef Py_ssize_t n = PyBytes_GET_SIZE(text), number
        cdef PrefixRun run
        cdef int64_t[::1] out
        cdef OwnedState owned
        cdef bint done
        for number in range(self.n_stages):
            if self.stages[number].behavior not in (ISOLATED, REMOVED):
                return None
        memset(&run, 0, sizeof(run))
        run.stages, run.n_stages, run.bpe = self.stages, self.n_stages, &encoder.tables.bpe
        run.text = <const uint8_t*> PyBytes_AS_STRING(text)
        run.prefixes.start = -1
        run.budget = min(max_tokens, n)
        run.left = MOST_READINGS * (self.n_stages + 1) * (n + 1)
        run.levels = <Level*> calloc(self.n_stages + 1, sizeof(Level))
        if run.levels == NULL:
            raise MemoryError(f"no memory for the prefixes of {n} bytes")
        owned = encoder.take_state()
        run.lookups = &owned.state.lookups
        run.lookups.watch.is_on = True
        try:
            with nogil:
                done = count_part(&run, 0, 0, n)
            if not done:
                if PyErr_Occurred() != NULL:
                    raise_pending()
                return None
            counts = np.empty(n + 1, dtype=np.int64)
            out = counts
            memcpy(&out[0], run.levels[0].counts, (n + 1) * sizeof(int64_t))
            return counts
        finally:
            encoder.release(owned)
            free_prefixes(&run.prefixes)
            for number in range(self.n_stages + 1):
                free(run.levels[number].counts)
                free(run.levels[number].courses)
            free(run.levels)

    cdef bint cut_all(
        self, const uint8_t* text, Py_ssize_t n, bint is_open, Failures* failures,
        Pieces* old, Pieces* new
    ) noexcept nogil:
        """Cut the old pieces by all stages; `new` is for those between. False: as `cut_piece`."""
        cdef Py_ssize_t number, at
        cdef Pieces swapped
        cdef Watch watch = Watch(True, 0, False)
        for number in range(self.n_stages):
            new.n = 0
            for at in range(0, old.n, 2):
                if not cut_piece(
                    &self.stages[number], text, old.edges[at], old.edges[at + 1],
                    is_open and at == old.n - 2, n, failures, new, &watch,
                ):
                    return False
            swapped = old[0]
            old[0] = new[0]
            new[0] = swapped
        return True


def mark_pieces(bytes text not None, const int64_t[::1] edges not None, bint at_start):
    """The pieces of a text, by their starts and ends in turn, each with a blank at one of them."""
    cdef const char* data = PyBytes_AS_STRING(text)
    cdef Py_ssize_t at, length, total = 0
    for at in range(0, edges.shape[0], 2):
        total += edges[at + 1] - edges[at] + 1
    cdef bytes marked = PyBytes_FromStringAndSize(NULL, total)
    cdef char* out = PyBytes_AS_STRING(marked)
    with nogil:
        for at in range(0, edges.shape[0], 2):
            length = edges[at + 1] - edges[at]
            memcpy(out + at_start, data + edges[at], length)
            out[0 if at_start else length] = c" "
            out += length + 1
    return marked


def count_pieces(Encoder encoder not None, bytes text not None, edges not None):
    """The tokens of pieces of valid UTF-8, given by their starts and ends in turn."""
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), total
    cdef const int64_t[::1] starts = edges[::2].copy(), ends = edges[1::2].copy()
    cdef Source source
    cdef OwnedState owned
    if starts.shape[0] == 0:
        return 0
    memset(&source, 0, sizeof(source))
    source.n_spans, source.starts, source.ends = starts.shape[0], &starts[0], &ends[0]
    owned = encoder.take_state()
    owned.state.lookups.watch.is_on = True
    with nogil:
        total = encode_text(&encoder.tables.bpe, &source, &owned.state, data, n, -1, NO_LIMIT)
    if total == INTERRUPTED:
        raise_pending()
    if total < 0:
        raise MemoryError(f"no memory for the tokens of {n} bytes")
    encoder.release(owned)
    return total


def end_over_budget(Encoder encoder not None, bytes text not None, Py_ssize_t max_tokens):
    """How much of a piece has more tokens than a budget, whatever comes after it.

    Returns:
        An end: each piece that begins with text[:end] has more. -1: the text is too short.
    """
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef const Bpe* bpe = &encoder.tables.bpe
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), fits = n, end = NO_MEMORY
    cdef Prefixes prefixes
    cdef OwnedState owned = encoder.take_state()
    memset(&prefixes, 0, sizeof(prefixes))
    prefixes.start = -1
    with nogil:
        if count_prefixes(&prefixes, bpe, &owned.state.lookups, data, 0, n, max_tokens):
            while fits > 0 and not 0 <= prefix_tokens(&prefixes, fits) <= max_tokens:
                fits -= 1
            # The token that fits no more may begin where the last one that fits ends, or before.
            end = token_reach(bpe, &owned.state.lookups.automata[0], data, n, fits)
    free_prefixes(&prefixes)
    encoder.release(owned)
    if end == NO_MEMORY:
        raise MemoryError(f"no memory for the tokens of {n} bytes")
    # A whole piece may be a token that merging does not reach.
    return -1 if end < 0 or bpe.max_unreachable_bytes >= n else max(end, bpe.max_unreachable_bytes + 1)


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


def least_tokens(Encoder encoder not None, bytes text not None):
    """A lower bound of the tokens that cover each prefix of valid UTF-8, however it is split.

    Returns:
        int64, shape (bytes + 1,); it never falls.
    """
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), end, at, count = 0
    cdef Py_ssize_t* furthest
    cdef OwnedState owned
    least = np.zeros(n + 1, dtype=np.int64)
    cdef int64_t[::1] out = least
    if encoder.tables.bpe.max_unreachable_bytes > 0:
        return least
    furthest = <Py_ssize_t*> malloc((n + 1) * sizeof(Py_ssize_t))
    owned = encoder.take_state()
    end = NO_MEMORY
    if furthest != NULL:
        with nogil:
            end = token_upper_bound(
                &encoder.tables.bpe, &owned.state.lookups.automata[0], data, 0, n, n, furthest
            )
            if end != NO_MEMORY:
                for at in range(1, n + 1):
                    if furthest[count] < at:
                        count += 1      # each byte is a token, so that one more covers it
                    out[at] = count
    free(furthest)
    encoder.release(owned)
    if end == NO_MEMORY:
        raise MemoryError(f"no memory for the tokens of {n} bytes")
    return least


def end_of_tokens_from(Encoder encoder not None, bytes text not None, Py_ssize_t place):
    """The first end in valid UTF-8 before which each token ends that begins at `place` or before.

    Whatever comes after it. -1: the text is too short.
    """
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(text), end
    cdef OwnedState owned = encoder.take_state()
    with nogil:
        end = token_reach(
            &encoder.tables.bpe, &owned.state.lookups.automata[0], data, n, place
        )
    encoder.release(owned)
    if end == NO_MEMORY:
        raise MemoryError(f"no memory for the tokens of {n} bytes")
    return end
