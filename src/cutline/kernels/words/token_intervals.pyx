"""Counts and cuts of a text with added tokens, each of which every slice has that has its text.

What is beside a token is encoded like a text. So a slice is counted by what counts texts without
such tokens: up to its first one, and from its last one on; those between are counted once.
Source: docs/words.md, "Added tokens".

Guarded by tests/words/test_token_search.py.
"""

from array import array

from cpython.exc cimport PyErr_SetObject
from cython cimport auto_pickle
from libc.stdlib cimport calloc, free

from cutline.kernels.base.common cimport INTERRUPTED, NOT_FOUND, int64_t
from cutline.kernels.words.intervals cimport WordIntervals
from cutline.kernels.words.longest_end cimport LongestEnds
from cutline.kernels.words.slice_counts cimport SliceCounts, SliceHead
from cutline.kernels.words.starts cimport last_start
from cutline.kernels.words.word_state cimport OwnedWordState, WordState

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef enum:
    TRIES = 32                  # ends before a token's, before the longest fit is looked for otherwise


# What a slice has of its budget where text without added tokens follows.
cdef struct Fitted:
    SliceHead* head         # of that text
    SliceHead own           # this, if it is none of those that are kept
    Py_ssize_t left
    # The tokens that overlap one another of which the first one is that does not fit: where their
    # texts start and end. NOT_FOUND: all fit.
    Py_ssize_t start, end
    bint is_one             # there is but one


@auto_pickle(False)
cdef class TokenIntervals(WordIntervals):
    """The same as `WordIntervals`, which knows no added tokens, where `add_tokens` has told them."""

    cdef const int64_t[:, ::1] texts
    cdef const int64_t[:, ::1] spans
    cdef const int64_t[:, ::1] groups
    cdef int64_t[::1] before    # the tokens from the first one to each, which counts
    cdef SliceHead* heads       # of what follows each one
    cdef object counter_of

    def __dealloc__(self):
        free(self.heads)

    def add_tokens(
        self, const int64_t[:, ::1] texts not None, const int64_t[:, ::1] spans not None,
        const int64_t[:, ::1] groups not None, counter_of,
    ):
        """Add the tokens; trusted.

        Args:
            texts: starts and ends of all texts of tokens, by starts and then by ends.
            spans: those of the tokens of the text, of which there are some, from left to right.
            groups: of each token, where the texts start and end that overlap one another there.
            counter_of: returns a `WordIntervals` of a text, as if it had none of them.
        """
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t outcome
        self.counter_of = counter_of
        self.texts, self.spans, self.groups = texts, spans, groups
        self.before = array("q", bytes(8 * spans.shape[0]))
        self.heads = <SliceHead*> calloc(spans.shape[0], sizeof(SliceHead))
        if self.heads == NULL:
            raise MemoryError(f"no memory for {spans.shape[0]} added tokens")
        self.encoder.begin(&owned.state, self.char_map, self.held)
        owned.state.paths.watch.is_on = True
        with nogil:
            outcome = self.count_between(&owned.state)
            if outcome >= 0:
                outcome = self.count_slice(&owned.state, 0, self.starts.n)
        self.encoder.check(outcome)
        self.encoder.release(owned)
        self.total = outcome

    cdef Py_ssize_t count_between(self, WordState* state) noexcept nogil:
        """Count the tokens between added ones. Returns a status."""
        cdef Py_ssize_t at, tokens, outcome
        for at in range(self.spans.shape[0]):
            outcome = self.find_counted_head(state, self.spans[at, 1], &self.heads[at])
            if outcome < 0:
                return outcome
            if at + 1 < self.spans.shape[0]:
                tokens = SliceCounts.count_from(
                    self, state, &self.heads[at], self.spans[at + 1, 0]
                )
                if tokens < 0:
                    return tokens
                self.before[at + 1] = self.before[at] + 1 + tokens
        return 0

    cdef Py_ssize_t find_counted_head(
        self, WordState* state, Py_ssize_t start, SliceHead* head
    ) noexcept nogil:
        """What find_head finds, and its tokens. Returns a status."""
        cdef Py_ssize_t outcome = SliceCounts.find_head(self, state, start, head)
        if outcome >= 0 and head.first != NOT_FOUND:
            outcome = SliceCounts.count_head(self, state, head)
        return min(outcome, 0)

    @property
    def settled(self):
        """See `TextStarts`. What is near the end may become a token when more text comes."""
        cdef Py_ssize_t n = self.spans.shape[0], last = self.tokens_to(self.starts.n - 2) - 1
        cdef Py_ssize_t place = self.settled_start()
        if last + 1 < n:
            place = last_start(&self.starts, min(place, self.groups[last + 1, 0]))
        if last >= 0 and place < self.groups[last, 1]:
            return self.count(0, self.groups[last, 0]) + 1
        return self.count(0, place)

    cdef Py_ssize_t tokens_to(self, Py_ssize_t end) noexcept nogil:
        """How many tokens are in groups that end up to a place."""
        return rank_in(self.groups, 1, end + 1)

    cdef Py_ssize_t count_from(
        self, WordState* state, SliceHead* head, Py_ssize_t end
    ) noexcept nogil:
        """See `SliceCounts`."""
        cdef Py_ssize_t first = rank_in(self.groups, 0, head.asked), last = self.tokens_to(end) - 1
        cdef Py_ssize_t begun, rest
        if first > last:
            return self.count_beside(state, head, end)
        begun = self.count_beside(state, head, self.spans[first, 0])
        if begun < 0:
            return begun
        rest = self.count_beside(state, &self.heads[last], end)
        if rest < 0:
            return rest
        return begun + self.before[last] - self.before[first] + 1 + rest

    cdef Py_ssize_t count_beside(
        self, WordState* state, SliceHead* head, Py_ssize_t end
    ) noexcept nogil:
        """The same of a slice that has of no group all texts, but may have some."""
        cdef Fitted fitted
        cdef Py_ssize_t rest, outcome
        if self.next_text(head.asked, end) == NOT_FOUND:
            return SliceCounts.count_from(self, state, head, end)
        fitted.head, fitted.left = head, PY_SSIZE_T_MAX
        outcome = self.take_tokens(state, &fitted, end)
        if outcome < 0:
            return outcome
        rest = SliceCounts.count_from(self, state, fitted.head, end)
        return PY_SSIZE_T_MAX - fitted.left + rest if rest >= 0 else rest

    cdef Py_ssize_t next_text(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Of the texts between two places that start first, the longest: its number; or NOT_FOUND."""
        cdef Py_ssize_t at = rank_in(self.texts, 0, start), found = NOT_FOUND
        while at < self.texts.shape[0] and self.texts[at, 0] < end:
            if found != NOT_FOUND and self.texts[at, 0] > self.texts[found, 0]:
                break
            if self.texts[at, 1] <= end:
                found = at
            at += 1
        return found

    cdef Py_ssize_t take_tokens(
        self, WordState* state, Fitted* fitted, Py_ssize_t end
    ) noexcept nogil:
        """Take tokens up to a place off the budget, while they fit. Returns whether all do; or a status.

        They are those of the slice that ends there.
        """
        cdef Py_ssize_t text, tokens, outcome
        while True:
            text = self.next_text(fitted.head.asked, end)
            if text == NOT_FOUND:
                return True
            tokens = SliceCounts.count_from(self, state, fitted.head, self.texts[text, 0])
            if tokens < 0:
                return tokens
            if tokens + 1 > fitted.left:
                return False
            fitted.left -= tokens + 1
            outcome = self.find_counted_head(state, self.texts[text, 1], &fitted.own)
            if outcome < 0:
                return outcome
            fitted.head = &fitted.own

    cdef Py_ssize_t longest_fit(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil:
        """See `LongestEnds`."""
        cdef Fitted fitted
        cdef Py_ssize_t outcome = self.fit_tokens(state, head, n, &fitted), end, floor, tokens
        if outcome < 0:
            return outcome
        if fitted.end == NOT_FOUND:
            return LongestEnds.longest_fit(self, state, fitted.head, fitted.left)
        if fitted.is_one:
            return self.longest_to(state, fitted.head, fitted.end - 1, fitted.left)
        end = self.last_among(state, &fitted)
        if end < 0:
            return end
        floor = max(fitted.start, fitted.head.asked)
        while end > floor:
            tokens = self.count_from(state, head, end)
            if tokens < 0:
                return tokens
            if tokens <= n:
                return end
            end -= 1
        if floor == fitted.head.asked:
            return floor
        return self.longest_to(state, fitted.head, floor, fitted.left)

    cdef Py_ssize_t last_place(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil:
        """See `LongestEnds`."""
        cdef Fitted fitted
        cdef Py_ssize_t outcome = self.fit_tokens(state, head, n, &fitted)
        return self.last_among(state, &fitted) if outcome >= 0 else outcome

    cdef Py_ssize_t last_among(self, WordState* state, Fitted* fitted) noexcept nogil:
        """The last place at which a slice may end; or a status.

        In a group a slice may have tokens for what is text in longer ones, but not before it.
        """
        cdef SliceHead* head = fitted.head
        cdef Py_ssize_t place
        if fitted.end == NOT_FOUND:
            return LongestEnds.last_place(self, state, head, fitted.left)
        if fitted.is_one:
            return min(
                fitted.end - 1, LongestEnds.last_place(self, state, head, fitted.left)
            )
        if head.first != NOT_FOUND and not self.has_entangled(head.start, head.first):
            place = LongestEnds.last_place(self, state, head, fitted.left)
            if place < 0 or place < last_start(&self.starts, fitted.start):
                return place
        return fitted.end - 1

    cdef Py_ssize_t fit_tokens(
        self, WordState* state, SliceHead* head, Py_ssize_t n, Fitted* fitted
    ) noexcept nogil:
        """Take the tokens off the budget of a slice, up to the first that does not fit.

        Each slice that has all texts of its group has this token. Returns a status.
        """
        cdef Py_ssize_t first = rank_in(self.groups, 0, head.asked), outcome, begun
        fitted.head, fitted.left = head, n
        fitted.start = fitted.end = NOT_FOUND
        if first > 0 and self.groups[first - 1, 1] > head.asked:
            # The slice begins inside a group, and has what is left of its texts.
            outcome = self.take_tokens(state, fitted, self.groups[first - 1, 1])
            if outcome < 0:
                return outcome
            if not outcome:
                return self.note_group(fitted, first - 1)
        if first == self.spans.shape[0]:
            return 0
        begun = SliceCounts.count_from(self, state, fitted.head, self.spans[first, 0])
        if begun < 0:
            return begun
        if begun + 1 > fitted.left:
            return self.note_group(fitted, first)
        fitted.left -= begun + 1
        first = self.last_fitting(first, &fitted.left)
        fitted.head = &self.heads[first]
        return self.note_group(fitted, first + 1) if first + 1 < self.spans.shape[0] else 0

    cdef Py_ssize_t last_fitting(self, Py_ssize_t first, Py_ssize_t* left) noexcept nogil:
        """The last token, from one that fits on, that fits a budget, too. Takes them off it."""
        cdef Py_ssize_t low = first, high = self.spans.shape[0] - 1, middle
        while low < high:
            middle = (low + high + 1) >> 1
            if self.before[middle] - self.before[first] <= left[0]:
                low = middle
            else:
                high = middle - 1
        left[0] -= self.before[low] - self.before[first]
        return low

    cdef Py_ssize_t note_group(self, Fitted* fitted, Py_ssize_t token) noexcept nogil:
        cdef Py_ssize_t text
        fitted.start, fitted.end = self.groups[token, 0], self.groups[token, 1]
        text = rank_in(self.texts, 0, fitted.start)
        fitted.is_one = (
            text + 1 == self.texts.shape[0] or self.texts[text + 1, 0] >= fitted.end
        )
        return 0

    cdef Py_ssize_t longest_to(
        self, WordState* state, SliceHead* head, Py_ssize_t limit, Py_ssize_t n
    ) noexcept nogil:
        """The greatest end, up to this one, of a slice without added tokens; or a status."""
        cdef Py_ssize_t end = LongestEnds.longest_fit(self, state, head, n), tokens
        if end <= limit:
            return end
        end = limit
        while end > head.asked and end > limit - TRIES:
            tokens = SliceCounts.count_from(self, state, head, end)
            if tokens < 0:
                return tokens
            if tokens <= n:
                return end
            end -= 1
        return self.ask_longest(head.asked, end, n)

    cdef Py_ssize_t ask_longest(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n
    ) noexcept with gil:
        """The same, by what counts the slices of this part alone."""
        try:
            return start + self.counter_of(self.held[start:end]).split_at(0, n)
        except BaseException as error:
            PyErr_SetObject(type(error), error)
            return INTERRUPTED

    cdef Py_ssize_t characters_counted(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """See `SliceCounts`."""
        cdef Py_ssize_t first = rank_in(self.groups, 0, start), last = self.tokens_to(end) - 1
        if first > last:
            return SliceCounts.characters_counted(self, start, end)
        return (
            SliceCounts.characters_counted(self, start, self.spans[first, 0])
            + SliceCounts.characters_counted(self, self.spans[last, 1], end)
        )


cdef Py_ssize_t rank_in(
    const int64_t[:, ::1] spans, Py_ssize_t edge, Py_ssize_t place
) noexcept nogil:
    """How many starts (edge 0) or ends (1) of spans are before a place."""
    cdef Py_ssize_t low = 0, high = spans.shape[0], middle
    while low < high:
        middle = (low + high) >> 1
        if spans[middle, edge] < place:
            low = middle + 1
        else:
            high = middle
    return low
