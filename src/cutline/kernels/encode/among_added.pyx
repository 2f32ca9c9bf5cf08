"""Counts of a text that has added tokens: what is between two of them is a text of its own.

Guarded by tests/pipeline/test_among_added.py.
"""

from array import array

from cython cimport auto_pickle

from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport characters_of, slice_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_LIMIT, NO_MEMORY, NOT_FOUND, UNKNOWN, grow, int64_t, uint32_t,
)
from cutline.kernels.base.signals cimport raise_pending
from cutline.kernels.base.utf8 cimport UTF8_ROOM
from cutline.kernels.encode.batches cimport EncoderState, encode_text, reserve
from cutline.kernels.encode.encoder cimport array_of_ids
from cutline.kernels.encode.run_counts cimport (
    CHARACTER_BYTES, RunRules, align_spelling, count_by_runs, spell_part,
)
from cutline.kernels.encode.runs cimport NO_PREFIX


@auto_pickle(False)
cdef class AmongAdded:
    """Counts parts of one text.

    Args:
        encoder: counts what is between added tokens; it has an automaton.
        text: a plain str. Nothing changes it, or a slice of it, but for what the rules say.
        spans: int64, shape (tokens, 2): where each added token starts and ends, in order. They are
            disjoint and not empty (trusted). Of two that could be found, the one that starts first
            is, of those the longest, whatever is around it.
        shortest: the characters of the shortest added token that there could be.
        surest: so many characters of any of them begin with one of them.
        rules: what is between them is counted by runs, and gets no prefix; None: it is not.
    """

    def __cinit__(
        self, Encoder encoder not None, str text not None, spans not None,
        Py_ssize_t shortest, Py_ssize_t surest, RunRules rules=None
    ):
        if encoder.scan_tables is None:
            raise ValueError("counts among added tokens need an encoder with scan tables")
        self.encoder = encoder
        self.held = text
        self.text = characters_of(text)
        self.token_spans = self.spans = spans
        self.shortest = shortest
        self.surest = surest
        self.rules = rules
        if rules is not None:
            rules.prepare(text)
            self.separators = rules.separators
            self.separators.prefix = NO_PREFIX

    def count(self):
        """Count the tokens of the whole text; -1: it has surrogates, or runs do not tell."""
        ends = array("q", (0, self.text.n))
        cdef const int64_t[::1] counts = self.counts_between(ends)
        return counts[1] if counts[1] >= 0 else NOT_FOUND

    def encode(self, const uint32_t[::1] ids not None, bint aligns):
        """Encode the whole text.

        Args:
            ids: those of the added tokens.
            aligns: what the characters between added tokens come from is wanted, too.

        Returns:
            The ids, uint32; where the added tokens are among them, int64; their spans; and an
            `Alignment` of all that is between them, or None. None: the text has surrogates.
        """
        cdef OwnedState owned
        cdef Source source = self.encoder.source()
        cdef Alignment alignment = Alignment() if aligns else None
        cdef Py_ssize_t total = 0, number, start = 0, n = self.spans.shape[0], more = 0
        places = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] out = places
        if ids.shape[0] != n:
            raise ValueError(f"there are {n} added tokens, and {ids.shape[0]} ids")
        if self.rules is not None and self.rules.spelling.images != NULL:
            return None
        owned = self.encoder.take_state()
        owned.state.lookups.watch.is_on = True
        with nogil:
            for number in range(n + 1):
                more = self.encode_between(
                    owned, &source, start, self.spans[number, 0] if number < n else self.text.n,
                    total, aligns, alignment,
                )
                if more < 0 or number == n:
                    break
                total += more
                if not reserve(&owned.state, total + 1) or (aligns and not alignment.add_next(
                    0, self.spans[number, 0], self.spans[number, 1]
                )):
                    more = NO_MEMORY
                    break
                owned.state.out[total] = ids[number]
                out[number] = total
                total += 1
                start = self.spans[number, 1]
        if more == INTERRUPTED:
            raise_pending()
        if more == NO_MEMORY:
            raise MemoryError(f"no memory for the tokens of {self.text.n} characters of text")
        found = None if more < 0 else (
            array_of_ids(&owned.state, total + more), places, self.token_spans, alignment
        )
        self.encoder.release(owned)
        return found

    cdef Py_ssize_t encode_between(
        self, OwnedState owned, Source* source, Py_ssize_t start, Py_ssize_t end,
        Py_ssize_t before, bint aligns, Alignment alignment
    ) noexcept nogil:
        """Encode a slice without added tokens, after `before` others. Returns how many; or a status."""
        cdef Characters part
        cdef EncoderState* state = &owned.state
        cdef Py_ssize_t n
        if start == end:
            return 0
        part = slice_of(&self.text, start, end)
        if self.rules is None:
            return self.encoder.encode_one(owned, source, &part, before, NO_LIMIT)
        n = part.n * (1 if part.is_ascii else CHARACTER_BYTES)
        if not grow(<void**> &state.utf8, &state.utf8_bytes, n + UTF8_ROOM, 1):
            return NO_MEMORY
        n = spell_part(&self.rules.spelling, &part, 0, part.n, state.utf8)
        if n < 0:
            return n
        if aligns and not part.is_ascii and not align_spelling(
            &self.rules.spelling, &self.text, start, end, alignment
        ):
            return NO_MEMORY
        return encode_text(
            &self.encoder.tables.bpe, source, state, state.utf8, n, before, NO_LIMIT
        )

    def counts_between(self, const int64_t[::1] places not None):
        """Count the tokens from the first of some places to each.

        Args:
            places: int64, shape (n,), in order; no added token lies across one (trusted).

        Returns:
            int64, shape (n,); the last one is less than 0 if the text has surrogates, or runs do
            not tell.
        """
        cdef OwnedState owned = self.encoder.take_state()
        cdef Source source = self.encoder.source()
        cdef Py_ssize_t place, total = 0, more = 0, n = places.shape[0]
        cdef int64_t[::1] counts = zeroed_numbers("q", n)
        if self.rules is not None:
            owned.reserve_runs()
        owned.state.lookups.watch.is_on = True
        with nogil:
            for place in range(1, n):
                more = self.count_part(owned, &source, places[place - 1], places[place])
                if more < 0:
                    counts[n - 1] = more
                    break
                total += more
                counts[place] = total
        self.encoder.release(owned)
        if more == INTERRUPTED:
            raise_pending()
        if more == NO_MEMORY:
            raise MemoryError(f"no memory for the tokens of {self.text.n} characters of text")
        return counts.base

    cdef Py_ssize_t first_after(self, Py_ssize_t at) noexcept nogil:
        """The number of the first added token that ends after a place; that of all, if none does."""
        cdef Py_ssize_t low = 0, high = self.spans.shape[0], middle
        while low < high:
            middle = (low + high) >> 1
            if self.spans[middle, 1] <= at:
                low = middle + 1
            else:
                high = middle
        return low

    cdef Py_ssize_t count_between(
        self, OwnedState owned, Source* source, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of a slice without added tokens; or a status."""
        cdef Characters part
        if start == end:
            return 0
        part = slice_of(&self.text, start, end)
        if self.rules is not None:
            return count_by_runs(
                &self.encoder.tables.bpe, source, &owned.state, &self.separators,
                &self.rules.spelling, &part, NULL,
            )
        return self.encoder.encode_one(owned, source, &part, -1, NO_LIMIT)

    cdef Py_ssize_t count_part(
        self, OwnedState owned, Source* source, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of a slice; or a status. UNKNOWN: an end of it is inside an added token,
        so that the slice may have others.
        """
        cdef Py_ssize_t number = self.first_after(start), n = self.spans.shape[0], total = 0, more
        while number < n and self.spans[number, 0] < end:
            if self.spans[number, 0] < start:
                return UNKNOWN
            if self.spans[number, 1] > end:
                if end - self.spans[number, 0] >= self.shortest:
                    return UNKNOWN
                break               # no token is left of it
            more = self.count_between(owned, source, start, self.spans[number, 0])
            if more < 0:
                return more
            total += more + 1
            start = self.spans[number, 1]
            number += 1
        more = self.count_between(owned, source, start, end)
        return more if more < 0 else total + more
