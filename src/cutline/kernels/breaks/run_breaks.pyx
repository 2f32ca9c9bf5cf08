"""Cuts at breaks for models whose texts are counted by their runs: starts are where runs start.

Source: docs/tokenizers.md, "Counts by runs".

Guarded by tests/chunking/test_spelled.py.
"""

cimport cython
from libc.stdlib cimport free

from cutline.kernels.base.utf8 import has_surrogates

from cutline.kernels.base.characters cimport Characters, char_at, slice_of
from cutline.kernels.base.chunks cimport Rows
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NO_MEMORY, NOT_FOUND, grow, uint8_t, uint32_t, uint64_t,
)
from cutline.kernels.breaks.few_breaks cimport FewCut, FewSums
from cutline.kernels.breaks.text_blocks cimport TextCutter
from cutline.kernels.cut.longest_fit cimport Cut, longest_fitting_prefix
from cutline.kernels.encode.batches cimport EncoderState, OwnedState, Source
from cutline.kernels.encode.encoder cimport Encoder
from cutline.kernels.encode.run_counts cimport (
    CHARACTER_BYTES, ENTANGLED, RunRules, Spelling, count_by_runs, prefix_of, spell_part, write_slice,
)
from cutline.kernels.encode.runs cimport (
    LONGEST_PART, LOOKED_AT, NO_PREFIX, PartKey, Separators, count_of_part, keep_part,
)

cdef extern from "native.h":
    uint64_t matches_of "cutline_matches"(
        const uint8_t* text, int kind, uint32_t one, uint32_t other
    ) noexcept nogil
    int popcount "cutline_popcount"(uint64_t word) noexcept nogil

cdef enum:
    FEW_BLANKS = 12             # characters for each, or more: runs end with lines, too
    LOOKED_AT_FIRST = 1024      # characters, to tell how long lines are
    LONG_LINES = 4              # of them are a chunk, or fewer: runs end with stops, too
    UNKNOWN_TOKENS = 3          # of a character that is written by its bytes


@cython.auto_pickle(False)
cdef class RunSums(FewSums):
    """The tokens before some of the runs of a text.

    Args:
        encoder, text, most: see `FewSums`.
        rules: of the encoder.
    """

    cdef RunRules rules
    cdef Source source
    cdef Separators separators

    def __cinit__(self, encoder, text, double most, RunRules rules not None):
        cdef OwnedState owned = self.encoder.take_state()
        owned.reserve_runs()
        rules.prepare(text)
        self.rules = rules
        self.source = self.encoder.source()
        self.build(owned, "")

    cdef Py_ssize_t count_all(
        self, OwnedState owned, const uint8_t* utf8, Py_ssize_t n
    ) noexcept nogil:
        self.separators = self.rules.separators
        # Runs that end with lines are more, and slower to count, but give slices starts; and more so
        # those that end with stops.
        if has_few_blanks(&self.text):
            self.separators.after_lines = self.rules.after_lines
            if self.rules.after_stops != NULL and has_long_lines(
                &self.text, self.rules.spelling.kept, self.starts.most
            ):
                self.separators.after_stops = self.rules.after_stops
        return count_by_runs(
            &self.encoder.tables.bpe, &self.source, &owned.state, &self.separators,
            &self.rules.spelling, &self.text, &self.starts,
        )

    cdef FewCut begin_cut(self):
        return RunCut(self)


cdef bint has_few_blanks(const Characters* text) noexcept nogil:
    """Whether runs between blanks are long; else ends of lines would only add look-ups."""
    cdef Py_ssize_t at = 0, blanks = 0
    cdef const uint8_t* data = <const uint8_t*> text.data
    while at + LOOKED_AT <= text.n:
        blanks += popcount(matches_of(data + at * text.kind, text.kind, c" ", c" "))
        at += LOOKED_AT
    return FEW_BLANKS * blanks <= at


cdef bint has_long_lines(
    const Characters* text, const uint8_t* kept, double most
) noexcept nogil:
    """Whether what lies between two blanks or line feeds is a large part of so many tokens, of which
    a known character has one at most.
    """
    cdef Py_ssize_t n = min(text.n, LOOKED_AT_FIRST), at, last = 0
    cdef double squares = 0, tokens = n
    cdef uint32_t point
    for at in range(n):
        point = char_at(text, at)
        if point == c" " or point == c"\n":
            squares += <double> (at - last) * (at - last)
            last = at
        elif not kept[point >> 3] >> (point & 7) & 1:
            tokens += UNKNOWN_TOKENS - 1
    squares += <double> (n - last) * (n - last)
    return LONG_LINES * squares * tokens > most * n * n


@cython.internal
cdef class RunCut(FewCut):
    """A text that is cut at breaks, counted by its runs."""

    cdef RunRules rules
    cdef const Separators* separators   # of the sums
    cdef uint8_t* utf8          # that is searched
    cdef Py_ssize_t utf8_bytes

    def __cinit__(self, RunSums sums not None):
        self.rules = sums.rules
        self.separators = &sums.separators
        self.owned.reserve_runs()

    def __dealloc__(self):
        free(self.utf8)

    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end, bint leads) noexcept nogil:
        cdef EncoderState* state = &self.owned.state
        cdef Characters part = slice_of(self.text, start, end)
        cdef Separators separators = self.separators[0]
        cdef PartKey key
        cdef Py_ssize_t tokens
        # To count others costs as little.
        cdef bint is_kept = self.sums.starts.gap <= part.n <= LONGEST_PART
        if is_kept:
            # Who cuts a text again asks for the same parts.
            tokens = count_of_part(state.runs, &part, leads, &state.run_store, &key)
            if tokens >= 0:
                return tokens
        if not leads:
            separators.prefix = NO_PREFIX
        tokens = count_by_runs(
            &self.sums.encoder.tables.bpe, &self.source, state, &separators, &self.rules.spelling,
            &part, NULL,
        )
        if is_kept and tokens >= 0 and state.stores:
            keep_part(&key, &state.run_store, <uint32_t> tokens)
        return tokens

    cdef Py_ssize_t longest_alone(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint leads
    ) noexcept nogil:
        cdef const Spelling* spelling = &self.rules.spelling
        cdef Characters part = slice_of(self.text, start, end)
        cdef Py_ssize_t written = 0, width
        cdef Cut cut
        cdef uint8_t character[CHARACTER_BYTES]
        if spelling.images != NULL:
            return self.longest_changed(start, end, n, self.separators.prefix if leads else NO_PREFIX)
        if not grow(<void**> &self.utf8, &self.utf8_bytes, CHARACTER_BYTES * part.n + 1, 1):
            return NO_MEMORY
        if leads and part.n > 0:
            written = prefix_of(&part, self.separators.prefix, spelling)
        self.utf8[0] = c" "
        self.search.text = self.utf8
        self.search.n = written + spell_part(spelling, &part, 0, part.n, self.utf8 + written)
        self.search.prefixes.start = NOT_FOUND
        cut = longest_fitting_prefix(&self.search, 0, n)
        if cut.end < 0:
            return cut.end
        while start < end:
            width = spell_part(spelling, self.text, start, start + 1, character)
            if written + width > cut.end:
                break
            written += width
            start += 1
        return start

    cdef Py_ssize_t longest_changed(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, int prefix
    ) noexcept nogil:
        """What longest_alone does where a normalizer changes characters.

        What becomes of a slice begins with what becomes of a shorter one, unless characters change
        one another. So ends after the longest prefix of bytes that fits do not fit; of those before
        it, which may, the last one is looked for.
        """
        cdef Py_ssize_t fitting, low = start, high = end, middle, written
        cdef Cut cut
        written = self.write(start, end, prefix, False, NULL)
        if written < 0 and written != ENTANGLED:
            return written
        fitting = NO_LIMIT
        if written >= 0:
            self.search.text = self.utf8
            self.search.n = written
            self.search.prefixes.start = NOT_FOUND
            cut = longest_fitting_prefix(&self.search, 0, n)
            if cut.end < 0:
                return cut.end
            fitting = cut.end
            while low < high:       # the last end that writes no more
                middle = (low + high + 1) >> 1
                written = self.write(start, middle, prefix, True, NULL)
                if written < 0:
                    return written
                if written <= fitting:
                    low = middle
                else:
                    high = middle - 1
            end = low
            if self.write(start, end, prefix, True, NULL) == fitting:
                return end
        return self.longest_counted(start, end, n, prefix)

    cdef Py_ssize_t longest_counted(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, int prefix
    ) noexcept nogil:
        """The same, by counting: runs as long as they fit, and then each end of the next one."""
        cdef Py_ssize_t run_end, tokens
        cdef bint is_closed = True
        while True:
            run_end = self.run_end(start, end)
            if run_end == NOT_FOUND:
                break
            tokens = self.write(start, run_end, prefix, True, &is_closed)
            if tokens >= 0:
                tokens = self.count(start, run_end, prefix != NO_PREFIX)
            if tokens < 0:
                return tokens
            if not is_closed:
                break
            if tokens > n:
                end = run_end - 1
                break
            start = run_end
            n -= tokens
            prefix = NO_PREFIX
        while end > start:
            tokens = self.count(start, end, prefix != NO_PREFIX)
            if tokens < 0:
                return tokens
            if tokens <= n:
                break
            end -= 1
        return end

    cdef Py_ssize_t run_end(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Where the first run of a slice ends, before a blank; or NOT_FOUND."""
        cdef const Spelling* spelling = &self.rules.spelling
        cdef uint32_t before = char_at(self.text, start), char
        while start + 1 < end:
            start += 1
            char = char_at(self.text, start)
            if char == c" " and before != c" " and spelling.may_end(spelling.images, before, False):
                return start
            before = char
        return NOT_FOUND

    cdef Py_ssize_t write(
        self, Py_ssize_t start, Py_ssize_t end, int prefix, bint at_end, bint* is_closed
    ) noexcept nogil:
        """Write what becomes of a slice; see write_slice."""
        return write_slice(
            &self.rules.spelling, prefix, self.text, start, end, at_end, &self.utf8,
            &self.utf8_bytes, is_closed,
        )


cdef class RunTexts(TextCutter):
    """Cuts texts by their runs, as `cut_few_at_breaks` does; chunks share nothing.

    Args:
        encoder, most, rules: see `RunSums`.
        n, min_fill, kinds: see `cut_few_at_breaks`.
    """

    cdef RunSums sums
    cdef RunCut cutting
    cdef uint8_t[::1] are_left  # to another way: they have surrogates

    def __cinit__(
        self, Encoder encoder not None, double most, RunRules rules not None, Py_ssize_t n,
        double min_fill, const int[::1] kinds not None
    ):
        self.sums = RunSums(encoder, "", most, rules)
        self.cutting = RunCut(self.sums)
        self.cutting.limit_chunks(n, min_fill, kinds, None)
        self.cutting.owned.state.lookups.watch.is_on = True

    cdef int prepare(self, list texts) except -1:
        self.are_left = bytearray(map(has_surrogates, texts))
        for text in texts:
            self.sums.rules.prepare(text)
        return 0

    cdef Py_ssize_t cut(
        self, Py_ssize_t number, const Characters* text, Rows* rows
    ) noexcept nogil:
        cdef Py_ssize_t status
        if self.are_left[number]:
            return NOT_FOUND
        self.sums.begin_text(text)
        self.cutting.begin_text()
        status = self.sums.count_all(self.cutting.owned, NULL, 0)
        if status < 0:
            return INTERRUPTED if status == INTERRUPTED else NOT_FOUND
        return self.cut_by(self.cutting, text, rows)

    cdef int close(self) except -1:
        self.sums.encoder.release(self.cutting.owned)
        return 0
