"""Counts of texts by their runs: what lies between two blanks, with the blanks before it.

Where no piece goes on across a blank after another character, and nothing else is changed than each
character on its own, the tokens of a run depend on it and its leading blanks alone. So its count
is looked up by its characters, before it is written as UTF-8 and split. Source: docs/tokenizers.md,
"Counts by runs".

Guarded by tests/pipeline/test_run_counts.py.
"""

from cython cimport auto_pickle
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from cutline.kernels.base.alignment cimport Alignment
from cutline.kernels.base.characters cimport Unit, char_at, characters_of, utf8_width, write_utf8
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NO_MEMORY, UNKNOWN, grow, memcpy, memmove, memset, uint16_t,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.encode.batches cimport Batch, count_batch, count_short, fill_batch, use_lanes
from cutline.kernels.encode.few_starts cimport GAP, add_few_start, end_starts
from cutline.kernels.encode.runs cimport (
    A_BLANK, A_BLANK_IF_NONE, LEAST_WITH_TAIL, NO_PREFIX, RUNS, STOPS, TOO_MANY_BLANKS, Runs,
    find_runs, keep_count,
)

cdef extern from "Python.h":
    str PyUnicode_DecodeUTF8(const char* text, Py_ssize_t n, const char* errors)

cdef enum:
    NO_RUN = -1                 # instead of the number of a run: the end of the text
    RUNS_A_START = 2            # or more, unless characters have many tokens
    # The lead of a run at which no slice may begin to be counted: it is counted with the one before,
    # or characters of that one change one another.
    GOES_ON = -2
    # Of a text whose runs are mostly entangled, all is normalized at once: one in four, and so many.
    MOST_ENTANGLED = 32
    LEAST_PLAIN = 4

# Runs that were not found, one after another in state.utf8.
cdef struct Missed:
    Py_ssize_t count, n_bytes
    bint is_open                # the next run goes on
    Py_ssize_t most_entangled   # LEAST_PLAIN for each run that may be; below 0: too many were
    Py_ssize_t ends[RUNS + 1]
    Py_ssize_t runs[RUNS + 1]


@auto_pickle(False)
cdef class RunRules:
    """What makes the counts of runs add up; trusted.

    Args:
        kept: a bit for each of the 0x110000 code points that stays as it is; ASCII does.
        after_lines: a bit for each code point before which a text may be cut after a line feed;
            None: for no one.
        after_stops: the same after each of some stops; None: there are none.
        stops: one to three characters of two bytes in memory; or empty.
        stand_ins: for the bytes from 128 on: neighbours, of two bytes in memory each.
        blank: what is written as a blank, too.
        prefix: what is put before a text: 0 nothing, 1 a blank, 2 a blank unless it has one.
    """

    def __cinit__(
        self, const uint8_t[::1] kept not None, const uint8_t[::1] after_lines,
        const uint8_t[::1] after_stops, str stops not None, str stand_ins not None,
        str blank not None, int prefix, *_
    ):
        cdef int place
        self.held = kept
        self.spelling.kept = &kept[0]
        self.held_lines = after_lines
        self.held_stops = after_stops
        self.after_lines = NULL if after_lines is None else &after_lines[0]
        self.after_stops = NULL if after_stops is None else &after_stops[0]
        for place in range(STOPS if stops else 0):
            self.separators.stops[place] = ord(stops[place % len(stops)])
        self.spelling.stand_in = ord(stand_ins[0])
        self.spelling.blank = ord(blank)
        self.separators.one = c" "
        self.separators.other = ord(blank)
        self.separators.prefix = prefix
        self.separators.lead_runs = self.separators.are_known = True
        self.are_known = True

    cdef int prepare(self, str text) except -1:
        """Get ready for the characters of a text."""
        return 0

    def changed(self, str text not None):
        """What becomes of a whole text, prefix and all; None: it has surrogates."""
        return self.write_text(text, None)

    def aligned(self, str text not None):
        """The same as an `Alignment`, which says what it comes from."""
        cdef Alignment alignment = Alignment()
        alignment.text = self.write_text(text, alignment)
        return None if alignment.text is None else alignment

    cdef str write_text(self, str text, Alignment alignment):
        """Write what becomes of a text; and tell where it comes from, unless that is None."""
        cdef Characters characters = characters_of(text)
        cdef uint8_t* out = NULL
        cdef Py_ssize_t n, slots = 0
        cdef bint is_told = alignment is not None
        try:
            with nogil:
                n = spell_text(
                    &self.spelling, self.separators.prefix, &characters, is_told, alignment, &out,
                    &slots,
                )
            if n == NO_MEMORY:
                raise MemoryError(f"no memory for what becomes of {characters.n} characters")
            return None if n < 0 else PyUnicode_DecodeUTF8(<const char*> out, n, NULL)
        finally:
            free(out)


cdef Py_ssize_t count_by_runs(
    const Bpe* bpe, Source* source, EncoderState* state, const Separators* separators,
    const Spelling* spelling, const Characters* text,
    FewStarts* starts           # out: some of the places where runs start; or NULL
) noexcept nogil:
    """Count the tokens of a text. NO_MEMORY, INTERRUPTED, or UNKNOWN: it has surrogates, or starts
    would be too far apart.

    There is room for the runs of a text of LEAST_WITH_TAIL characters or more.
    """
    cdef Runs* runs = state.runs
    cdef Missed missed
    cdef Py_ssize_t at = 0, begun, total = 0, added, status, lead
    if text.n == 0:
        return 0
    missed.is_open = False
    missed.most_entangled = MOST_ENTANGLED
    while text.n >= LEAST_WITH_TAIL:
        begun = at
        find_runs(runs, text, at, separators[0], state.run_lines, state.run_mask, &state.run_store)
        if missed.is_open:
            runs.leads[0] = GOES_ON
            missed.is_open = False
        if begun == 0 and spelling.images != NULL:
            look_at_first(runs, separators.prefix, spelling, text)
        if runs.count == 0:
            break
        added = runs.total
        if not runs.are_known:
            if spelling.images == NULL:
                added = count_others(
                    bpe, source, state, separators.prefix, spelling, &missed, text, begun
                )
            else:
                added = count_spans(
                    bpe, source, state, separators.prefix, spelling, &missed, text, begun
                )
                if missed.most_entangled < 0 and (starts == NULL or not spelling.stays_solid):
                    return UNKNOWN
            if added < 0:
                return added
            if runs.count == 0:
                break
        at = runs.edges[2 * runs.count - 1]
        if starts != NULL:
            status = add_starts(starts, runs, begun, total)
            if status < 0:
                return status
        total += added
        if is_interrupted(&state.lookups.watch, at - begun):
            return INTERRUPTED
    # What comes after the last run that was found.
    missed.count = missed.n_bytes = 0
    lead = 0
    if spelling.images == NULL:
        if at == 0:
            lead = prefix_of(text, separators.prefix, spelling)
        added = write_part(state, spelling, &missed, text, lead, at, text.n, NO_RUN)
    else:
        added = write_slice(
            spelling, separators.prefix if at == 0 else NO_PREFIX, text, at, text.n, True,
            &state.utf8, &state.utf8_bytes, NULL,
        )
        if added >= 0:
            missed.n_bytes = added
            end_part(&missed, NO_RUN)
            added = 0
    if added == 0:
        added = UNKNOWN
        if missed.n_bytes == lead + text.n - at:
            added = count_short(source.scanner, state, state.utf8, missed.n_bytes)
        if added == UNKNOWN:
            added = count_missed(bpe, source, state, &missed)
    if starts != NULL and added >= 0 and end_starts(starts, text.n, total + added) < 0:
        return UNKNOWN
    return total + added if added >= 0 else added


cdef Py_ssize_t add_starts(
    FewStarts* starts, const Runs* runs, Py_ssize_t at, Py_ssize_t total
) noexcept nogil:
    """Add some of the places where runs start, the first of which is `at`. NO_MEMORY or UNKNOWN."""
    cdef Py_ssize_t run = 0, last, status
    while run < runs.count:
        if at - starts.last >= starts.gap and runs.leads[run] != GOES_ON:
            status = add_few_start(starts, at, total)
            if status < 0:
                return status
        last = min(run + (RUNS_A_START if starts.gap == GAP else 1), runs.count)
        while run < last:
            total += runs.counts[run]
            run += 1
        at = runs.edges[2 * last - 1]
    return 0


cdef Py_ssize_t count_others(
    const Bpe* bpe, Source* source, EncoderState* state, int prefix, const Spelling* spelling,
    Missed* missed, const Characters* text, Py_ssize_t begun
) noexcept nogil:
    """Count the tokens of runs of which some are not known. Or a status; see count_by_runs."""
    cdef Runs* runs = state.runs
    cdef Py_ssize_t run, total = 0, added
    missed.count = missed.n_bytes = 0
    for run in range(runs.count):
        if runs.counts[run] >= 0:
            total += runs.counts[run]
            continue
        if missed.count and runs.leads[run] == 0 and missed.runs[missed.count - 1] != run - 1:
            # What ends before it, at no blank, is known: what was written may not be joined to it.
            added = count_missed(bpe, source, state, missed)
            if added < 0:
                return added
            total += added
            missed.count = missed.n_bytes = 0
        added = write_run(state, prefix, spelling, missed, text, begun, run)
        if added < 0:
            return added
    added = count_missed(bpe, source, state, missed)
    return total + added if added >= 0 else added


cdef void look_at_first(
    Runs* runs, int prefix, const Spelling* spelling, const Characters* text
) noexcept nogil:
    """A text that begins with what becomes a blank gets no prefix: its first run is another one."""
    if runs.count and prefix == A_BLANK_IF_NONE and (
        runs.edges[0] == 0 and not spelling.may_end(spelling.images, char_at(text, 0), True)
    ):
        runs.counts[0] = UNKNOWN
        runs.leads[0] = TOO_MANY_BLANKS
        runs.are_known = False


cdef Py_ssize_t count_spans(
    const Bpe* bpe, Source* source, EncoderState* state, int prefix, const Spelling* spelling,
    Missed* missed, const Characters* text, Py_ssize_t begun
) noexcept nogil:
    """What count_others does, where a normalizer changes characters. A run that does not end with
    its last character is counted together with those after it; if no other follows, it is left out.
    """
    cdef Runs* runs = state.runs
    cdef Py_ssize_t run = 0, last, next_one, total = 0, added
    cdef bint is_plain = True
    missed.count = missed.n_bytes = 0
    missed.most_entangled += runs.count
    while run < runs.count:
        if runs.counts[run] >= 0:
            total += runs.counts[run]
            run += 1
            continue
        last = run
        while last < runs.count and not spelling.may_end(
            spelling.images, char_at(text, runs.edges[2 * last + 1] - 1), False
        ):
            last += 1
        if last == runs.count:
            runs.count = run
            missed.is_open = runs.leads[run] == GOES_ON
            break
        added = write_span(
            state, prefix if begun == 0 and run == 0 else NO_PREFIX, spelling, missed, text,
            runs.edges[2 * run - 1] if run > 0 else begun, runs.edges[2 * last + 1], &is_plain,
        )
        if added < 0:
            return added
        for next_one in range(run, last):
            runs.counts[next_one] = 0
            runs.leads[next_one + 1] = GOES_ON
        if not is_plain:
            missed.most_entangled -= LEAST_PLAIN
            # It is not kept, and what of it is in a slice may become something else.
            if runs.leads[run] != GOES_ON:
                runs.leads[run] = TOO_MANY_BLANKS
        if not is_plain and not spelling.stays_solid:
            missed.is_open = last + 1 == runs.count
            if not missed.is_open:
                runs.leads[last + 1] = GOES_ON
        end_part(missed, last)
        run = last + 1
    added = count_missed(bpe, source, state, missed)
    return total + added if added >= 0 else added


cdef inline Py_ssize_t write_span(
    EncoderState* state, int prefix, const Spelling* spelling, Missed* missed,
    const Characters* text, Py_ssize_t start, Py_ssize_t end,
    bint* is_plain      # out: whether no characters change one another
) noexcept nogil:
    """Write text[start:end], which a blank follows. Returns 0 or a status; see count_by_runs."""
    cdef bint is_closed = True
    cdef Py_ssize_t n = spelling.write(
        spelling.images, text, start, end, False, &state.utf8, &state.utf8_bytes, missed.n_bytes
    )
    is_plain[0] = n != ENTANGLED
    if n == ENTANGLED:
        n = spelling.write_entangled(
            spelling.images, text, start, end, False, &state.utf8, &state.utf8_bytes,
            missed.n_bytes, &is_closed,
        )
        if not is_closed and n >= 0:
            return UNKNOWN
    if n > 0 and prefix != NO_PREFIX:
        n = put_prefix(prefix, &state.utf8, &state.utf8_bytes, missed.n_bytes, n)
    if n < 0:
        return n
    missed.n_bytes += n
    return 0


cdef Py_ssize_t put_prefix(
    int prefix, uint8_t** out, Py_ssize_t* slots, Py_ssize_t at, Py_ssize_t n
) noexcept nogil:
    """Put a prefix before n bytes, if they get one. Returns how many there are, or NO_MEMORY."""
    if prefix == A_BLANK_IF_NONE and out[0][at] == c" ":
        return n
    if not grow(<void**> out, slots, at + n + 1, 1):
        return NO_MEMORY
    memmove(out[0] + at + 1, out[0] + at, n)
    out[0][at] = c" "
    return n + 1


cdef Py_ssize_t write_slice(
    const Spelling* spelling, int prefix, const Characters* text, Py_ssize_t start, Py_ssize_t end,
    bint at_end, uint8_t** out, Py_ssize_t* slots,
    bint* is_closed     # out, unless NULL: whether a run may end there, if its last character lets it
) noexcept nogil:
    """Write what becomes of a slice, which is a text by itself if it is `at_end`; or a status."""
    cdef bint closes = True
    cdef Py_ssize_t n = spelling.write(spelling.images, text, start, end, at_end, out, slots, 0)
    if n == ENTANGLED and at_end:
        n = spelling.write_entangled(
            spelling.images, text, start, end, True, out, slots, 0, &closes
        )
    if is_closed != NULL:
        is_closed[0] = closes
    if n > 0 and prefix != NO_PREFIX:
        n = put_prefix(prefix, out, slots, 0, n)
    return n


cdef Py_ssize_t prefix_of(
    const Characters* text, int prefix, const Spelling* spelling
) noexcept nogil:
    """The blanks that are put before a text, which is not empty."""
    cdef uint32_t first = char_at(text, 0)
    return prefix == A_BLANK or (
        prefix != NO_PREFIX and first != c" " and first != spelling.blank
    )


cdef inline Py_ssize_t write_run(
    EncoderState* state, int prefix, const Spelling* spelling, Missed* missed,
    const Characters* text, Py_ssize_t begun, Py_ssize_t run
) noexcept nogil:
    """Write a run with its lead; see write_part."""
    cdef const Runs* runs = state.runs
    cdef Py_ssize_t end = runs.edges[2 * run + 1], lead = runs.leads[run]
    if lead == TOO_MANY_BLANKS:
        begun = runs.edges[2 * run - 1] if run > 0 else begun
        lead = prefix_of(text, prefix, spelling) if begun == 0 else 0
        return write_part(state, spelling, missed, text, lead, begun, end, run)
    return write_part(state, spelling, missed, text, lead, runs.edges[2 * run], end, run)


cdef inline void end_part(Missed* missed, Py_ssize_t run) noexcept nogil:
    missed.ends[missed.count] = missed.n_bytes
    missed.runs[missed.count] = run
    missed.count += 1


cdef inline Py_ssize_t write_part(
    EncoderState* state, const Spelling* spelling, Missed* missed, const Characters* text,
    Py_ssize_t blanks, Py_ssize_t start, Py_ssize_t end, Py_ssize_t run
) noexcept nogil:
    """Write some blanks and text[start:end], spelled. Returns 0, NO_MEMORY or UNKNOWN."""
    cdef Py_ssize_t n = (end - start) * (1 if text.is_ascii else CHARACTER_BYTES)
    if not grow(<void**> &state.utf8, &state.utf8_bytes, missed.n_bytes + blanks + n, 1):
        return NO_MEMORY
    memset(state.utf8 + missed.n_bytes, c" ", blanks)
    missed.n_bytes += blanks
    n = spell_part(spelling, text, start, end, state.utf8 + missed.n_bytes)
    if n < 0:
        return UNKNOWN
    missed.n_bytes += n
    end_part(missed, run)
    return 0


cdef Py_ssize_t spell_part(
    const Spelling* spelling, const Characters* text, Py_ssize_t start, Py_ssize_t end, uint8_t* out
) noexcept nogil:
    """Write text[start:end] as UTF-8, spelled: at most CHARACTER_BYTES for each character.

    Returns how many bytes these are; UNKNOWN: there is a surrogate.
    """
    if text.is_ascii:
        memcpy(out, <const uint8_t*> text.data + start, end - start)
        return end - start
    if text.kind == 1:
        return spell(spelling, <const uint8_t*> text.data + start, end - start, out)
    if text.kind == 2:
        return spell(spelling, <const uint16_t*> text.data + start, end - start, out)
    return spell(spelling, <const uint32_t*> text.data + start, end - start, out)


cdef Py_ssize_t spell_text(
    const Spelling* spelling, int prefix, const Characters* text, bint is_told,
    Alignment alignment,        # out, if `is_told`: what it comes from
    uint8_t** out, Py_ssize_t* slots
) noexcept nogil:
    """Write a whole text, spelled, with its prefix. Returns its bytes, NO_MEMORY or UNKNOWN."""
    cdef Py_ssize_t n = text.n * (1 if text.is_ascii else CHARACTER_BYTES), more
    if not grow(<void**> out, slots, n + 1, 1):
        return NO_MEMORY
    n = spell_part(spelling, text, 0, text.n, out[0])
    if n > 0 and is_told and not text.is_ascii and not align_spelling(
        spelling, text, 0, text.n, alignment
    ):
        return NO_MEMORY
    if n <= 0 or prefix == NO_PREFIX:
        return n
    more = put_prefix(prefix, out, slots, 0, n)
    return NO_MEMORY if is_told and more > n and not alignment.lead() else more


cdef bint align_spelling(
    const Spelling* spelling, const Characters* text, Py_ssize_t start, Py_ssize_t end,
    Alignment alignment
) noexcept nogil:
    """Tell what the spelling of text[start:end] comes from, after what was told. False: no memory."""
    cdef Py_ssize_t at, width
    cdef uint32_t point
    for at in range(start, end):
        point = char_at(text, at)
        if point < 0x80 or point == spelling.blank or (
            spelling.kept[point >> 3] >> (point & 7) & 1
        ):
            continue
        width = utf8_width(point)
        if not alignment.add_next(width, at, at + 1):
            return False
    return True


cdef inline Py_ssize_t spell(
    const Spelling* spelling, const Unit* text, Py_ssize_t n, uint8_t* out
) noexcept nogil:
    """Write n characters as UTF-8, by stand-ins those that are not kept; see spell_part."""
    cdef Py_ssize_t at, written = 0, width, byte
    cdef uint32_t point
    cdef uint8_t utf8[4]
    for at in range(n):
        point = text[at]
        if point < 0x80:
            out[written] = <uint8_t> point
            written += 1
        elif point == spelling.blank:
            out[written] = c" "
            written += 1
        elif spelling.kept[point >> 3] >> (point & 7) & 1:
            written += write_utf8(point, out + written)
        elif 0xD800 <= point < 0xE000:
            return UNKNOWN
        else:
            width = write_utf8(point, utf8)
            for byte in range(width):
                written += write_utf8(spelling.stand_in + utf8[byte] - 0x80, out + written)
    return written


cdef Py_ssize_t count_missed(
    const Bpe* bpe, Source* source, EncoderState* state, const Missed* missed
) noexcept nogil:
    """Count the tokens of what was written, and those of each run. NO_MEMORY or INTERRUPTED."""
    cdef Batch batch
    cdef Py_ssize_t at = 0, done, added, piece, part = 0, before = 0, told = 0
    cdef Py_ssize_t run
    use_lanes(source, state, missed.n_bytes, tells_lookahead=False)
    while at < missed.n_bytes:
        done = at
        at = fill_batch(source, state.utf8, at, missed.n_bytes, NO_LIMIT, &batch)
        added = count_batch(bpe, state, state.utf8, missed.n_bytes, &batch)
        if added < 0:
            return added
        if is_interrupted(&state.lookups.watch, at - done):
            return INTERRUPTED
        for piece in range(batch.count):
            if batch.ends[piece] != missed.ends[part]:
                continue
            told = before + batch.totals[piece] - told
            run = missed.runs[part]
            if run != NO_RUN:
                state.runs.counts[run] = <int32_t> told
                if state.stores and state.runs.leads[run] >= 0:
                    keep_count(state.runs, run, &state.run_store, <uint32_t> told)
            told = before + batch.totals[piece]
            part += 1
        before += added
    return before
