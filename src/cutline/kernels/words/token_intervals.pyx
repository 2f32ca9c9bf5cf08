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

cdef enum:
    TRIES = 32                  # ends before a token's, before the longest fit is looked for otherwise


@auto_pickle(False)
cdef class TokenIntervals(WordIntervals):
    """The same as `WordIntervals`, which knows no added tokens, where `add_tokens` has told them."""

    cdef const int64_t[:, ::1] spans
    cdef int64_t[::1] before    # the tokens from the first one to each, which counts
    cdef SliceHead* heads       # of what follows each one
    cdef object counter_of

    def __dealloc__(self):
        free(self.heads)

    def add_tokens(self, const int64_t[:, ::1] spans not None, counter_of):
        """Add the tokens; trusted.

        Args:
            spans: their starts and ends, of which there are some, from left to right.
            counter_of: returns a `WordIntervals` of a text, as if it had none of them.
        """
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t outcome
        self.counter_of = counter_of
        self.spans = spans
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
            outcome = SliceCounts.find_head(self, state, self.spans[at, 1], &self.heads[at])
            if outcome >= 0 and self.heads[at].first != NOT_FOUND:
                outcome = SliceCounts.count_head(self, state, &self.heads[at])
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

    @property
    def settled(self):
        """See `TextStarts`. What is near the end may become a token when more text comes."""
        cdef Py_ssize_t n = self.spans.shape[0], last = self.tokens_to(self.starts.n - 2) - 1
        cdef Py_ssize_t place = self.settled_start()
        if last + 1 < n:
            place = last_start(&self.starts, min(place, self.spans[last + 1, 0]))
        if last >= 0 and place < self.spans[last, 1]:
            return self.count(0, self.spans[last, 0]) + 1
        return self.count(0, place)

    cdef Py_ssize_t tokens_to(self, Py_ssize_t end) noexcept nogil:
        """How many added tokens end up to a place."""
        return self.rank_from(1, end + 1)

    cdef Py_ssize_t rank_from(self, Py_ssize_t edge, Py_ssize_t place) noexcept nogil:
        """How many starts (edge 0) or ends (1) of added tokens are before a place."""
        cdef Py_ssize_t low = 0, high = self.spans.shape[0], middle
        while low < high:
            middle = (low + high) >> 1
            if self.spans[middle, edge] < place:
                low = middle + 1
            else:
                high = middle
        return low

    cdef Py_ssize_t count_from(
        self, WordState* state, SliceHead* head, Py_ssize_t end
    ) noexcept nogil:
        """See `SliceCounts`."""
        cdef Py_ssize_t first = self.rank_from(0, head.asked), last = self.tokens_to(end) - 1
        cdef Py_ssize_t begun, rest
        if first > last:
            return SliceCounts.count_from(self, state, head, end)
        begun = SliceCounts.count_from(self, state, head, self.spans[first, 0])
        if begun < 0:
            return begun
        rest = SliceCounts.count_from(self, state, &self.heads[last], end)
        if rest < 0:
            return rest
        return begun + self.before[last] - self.before[first] + 1 + rest

    cdef Py_ssize_t longest_fit(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil:
        """See `LongestEnds`."""
        cdef SliceHead* last = head
        cdef Py_ssize_t limit = self.limit_of(state, &last, &n)
        return self.longest_to(state, last, limit, n) if limit >= 0 else limit

    cdef Py_ssize_t last_place(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil:
        """See `LongestEnds`."""
        cdef SliceHead* last = head
        cdef Py_ssize_t limit = self.limit_of(state, &last, &n)
        return min(limit, LongestEnds.last_place(self, state, last, n)) if limit >= 0 else limit

    cdef Py_ssize_t limit_of(
        self, WordState* state,
        SliceHead** head,       # in and out: of a slice, and of what follows the last token that fits
        Py_ssize_t* n           # ... its budget, and what is left of it
    ) noexcept nogil:
        """The last place before the end of the first added token that does not fit; or a status."""
        cdef Py_ssize_t first = self.rank_from(0, head[0].asked), low, high, middle, begun
        if first == self.spans.shape[0]:
            return self.starts.n
        begun = SliceCounts.count_from(self, state, head[0], self.spans[first, 0])
        if begun < 0:
            return begun
        if begun + 1 > n[0]:
            return self.spans[first, 1] - 1
        n[0] -= begun + 1
        low, high = first, self.spans.shape[0] - 1
        while low < high:
            middle = (low + high + 1) >> 1
            if self.before[middle] - self.before[first] <= n[0]:
                low = middle
            else:
                high = middle - 1
        n[0] -= self.before[low] - self.before[first]
        head[0] = &self.heads[low]
        return self.spans[low + 1, 1] - 1 if low + 1 < self.spans.shape[0] else self.starts.n

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
        cdef Py_ssize_t first = self.rank_from(0, start), last = self.tokens_to(end) - 1
        if first > last:
            return SliceCounts.characters_counted(self, start, end)
        return (
            SliceCounts.characters_counted(self, start, self.spans[first, 0])
            + SliceCounts.characters_counted(self, self.spans[last, 1], end)
        )
