"""Where to cut a text so that each chunk ends at its best break, for whatever counts its slices.

Guarded by tests/words/test_encoding.py.
"""

from libc.math cimport ceil

from cutline.kernels.base.common cimport NOT_FOUND, UNKNOWN
from cutline.kernels.breaks.breaks cimport GRAPHEME, SENTENCE, last_break, need_kind
from cutline.kernels.breaks.overlaps cimport ADDS_NOTHING
from cutline.kernels.breaks.wrapping cimport LINES


cdef enum:
    MOST_TRIES = 3              # breaks that do not fit, before the longest slice is looked for


cdef class CountedCut(Cutting):
    """A text that is cut at breaks: subclasses count, by `tokens_between`."""

    cdef object limit_chunks(self, Py_ssize_t n, double min_fill, const int[::1] kinds, renew):
        """Set what chunks are like; see `cut_at_breaks`. Of the further limits there is one."""
        cdef Py_ssize_t place
        for place in range(kinds.shape[0]):
            need_kind(kinds[place])
        self.n = self.most = n
        self.min_fill = min_fill
        self.kinds = kinds
        self.renew = renew

    cdef bint begin_chunk(self, Py_ssize_t start) except -1:
        """Set what the further limit leaves of the tokens, if that is known."""
        cdef object last = self.renew(start)
        if last is None:
            return False
        (most, known_from), = last
        if most < 0:
            return False
        self.most = min(self.n, most)
        self.known_from = known_from
        return True

    cdef Py_ssize_t fits_to(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        cdef Py_ssize_t tokens = self.tokens_between(start, end)
        if tokens < 0:
            return tokens
        return 1 if tokens <= most else 0

    cdef void pass_to(self, Py_ssize_t start) noexcept nogil:
        """A chunk begins here: no slice is asked for after this that begins before."""

    cdef Py_ssize_t fits_within(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Whether a slice has at most `most` tokens, however long it is: 1, 0 or a status."""
        return CountedCut.fits_to(self, start, end, self.most)

    cdef Py_ssize_t longest_fit(self, Py_ssize_t start) noexcept nogil:
        """The greatest end of a slice that has at most `most` tokens, or a status."""
        return UNKNOWN

    cdef Py_ssize_t last_place(self, Py_ssize_t start) noexcept nogil:
        """A place after which no slice from `start` fits, that is found sooner; or a status."""
        return self.longest_fit(start)

    cdef Py_ssize_t find_end(
        self, Py_ssize_t start, Py_ssize_t floor, int64_t* row
    ) noexcept nogil:
        """See `Cutting`. It is the text's end, if it fits; else the last break that fits, of the
        first kind whose last one fills the chunk, or of graphemes or characters.
        """
        cdef Py_ssize_t at, place, tokens = 0, fill
        self.longest = NOT_FOUND
        self.pass_to(start)
        self.bound = self.last_place(start)
        self.is_longest = False
        if 0 <= self.bound < self.known_from:
            return UNKNOWN
        if self.bound <= floor:
            return self.bound if self.bound < 0 else ADDS_NOTHING
        if self.bound == self.text.n:
            tokens = self.tokens_between(start, self.bound)
            if tokens <= self.most:
                row[1] = self.bound
                row[2] = tokens
                row[3] = self.kinds.shape[0]
                return self.bound if tokens >= 0 else tokens
        fill = self.least_tokens(start)
        if fill < 0:
            return fill
        for place in range(self.kinds.shape[0]):
            if self.kinds[place] & ~LINES >= SENTENCE:
                # Where sentences end may depend on where they are searched: nowhere after this.
                at = self.find_longest(start, floor)
                if at < 0:
                    return at
            at = self.last_that_fits(self.kinds[place], start, floor, &tokens)
            if 0 <= at < self.known_from:
                return UNKNOWN
            if at != NOT_FOUND and (
                at < 0 or tokens >= fill or self.kinds[place] & ~LINES >= GRAPHEME
            ):
                row[1] = at
                row[2] = tokens
                row[3] = place
                return at
        at = self.find_longest(start, floor)
        if at < 0:
            return at
        self.longest = self.bound
        return NOT_FOUND

    cdef Py_ssize_t least_tokens(self, Py_ssize_t start) noexcept nogil:
        """The fewest tokens of a chunk, or a status: a share of n, or of what the further limit leaves.

        That is what the longest slice has, if n tokens alone would let it go on.
        """
        cdef Py_ssize_t longest, most = self.most, tokens, alone
        if most == self.n:
            return <Py_ssize_t> ceil(self.min_fill * self.n)
        longest = self.longest_fit(start)
        if longest < 0:
            return longest
        self.bound = longest
        self.is_longest = True
        tokens = self.tokens_between(start, longest)
        if tokens < 0:
            return tokens
        self.most = self.n
        alone = self.longest_fit(start)
        self.most = most
        if alone < 0:
            return alone
        self.last_place(start)      # back to the point of `most` tokens
        return <Py_ssize_t> ceil(self.min_fill * (min(self.n, tokens) if alone > longest else self.n))

    cdef Py_ssize_t find_longest(self, Py_ssize_t start, Py_ssize_t floor) noexcept nogil:
        """Set `bound` to the end of the longest slice that fits. ADDS_NOTHING or another status."""
        if not self.is_longest:
            self.bound = self.longest_fit(start)
            self.is_longest = True
        if self.bound <= floor:
            return self.bound if self.bound < 0 else ADDS_NOTHING
        return 0

    cdef Py_ssize_t last_that_fits(
        self, int kind, Py_ssize_t start, Py_ssize_t floor,
        Py_ssize_t* tokens      # out
    ) noexcept nogil:
        """The last break that fits; NOT_FOUND or another status."""
        cdef Py_ssize_t at = last_break(self.text, kind, start, floor, self.bound), status
        cdef int tries = 0
        while at != NOT_FOUND:
            tokens[0] = self.tokens_between(start, at)
            if tokens[0] < 0:
                return tokens[0]
            if tokens[0] <= self.most:
                break
            at -= 1
            tries += 1
            if tries > MOST_TRIES and not self.is_longest:
                status = self.find_longest(start, floor)
                if status < 0:
                    return status
                at = min(at, self.bound)
            at = last_break(self.text, kind, start, floor, at)
        return at
