"""Words of a text that grows at its end: what is read stays read. Source: docs/words.md.

Of the word that the text ends in is kept what decides about its tokens, whatever follows: with
WordPiece, what comes after the last token that can grow no more; with Unigram, the best paths to the
last places, with their sums and counts.

Guarded by tests/words/test_growing.py.
"""

from cython cimport auto_pickle
from libc.stdlib cimport free

from cutline.kernels.base.common cimport (
    NO_MEMORY, UNKNOWN, characters_in, grow, int64_t, memcpy, uint8_t, uint32_t,
)
from cutline.kernels.words.char_map cimport CharMap
from cutline.kernels.words.encoder cimport WordEncoder
from cutline.kernels.words.model cimport UNIGRAM, Path
from cutline.kernels.words.reader cimport WORD_SLOTS, Reader, read_words, reserve, start_reading
from cutline.kernels.words.stretches cimport ANY_LENGTH, count_words
from cutline.kernels.words.unigram cimport (
    begin_path, count_more_prefixes, reserve_paths, window_of,
)
from cutline.kernels.words.word_state cimport OwnedWordState, WordState
from cutline.kernels.words.wordpiece cimport count_rest, match_settled

cdef enum:
    NOGIL_CHARS = 4096


# The word that is open where a text ends.
cdef struct OpenWord:
    bint is_open
    bint is_blank, is_white     # see Reader
    uint8_t group
    uint8_t* rest               # its last bytes: those that decide
    Py_ssize_t n, slots
    # WordPiece
    Py_ssize_t characters       # before these bytes
    Py_ssize_t matched          # tokens before them, or UNKNOWN: the word is unknown for sure
    # Unigram: paths to each place from before these bytes on, and counts of their tokens
    Path* to
    Py_ssize_t to_slots
    Py_ssize_t* counts
    Py_ssize_t count_slots
    uint32_t node               # of the trie
    Py_ssize_t rebased          # see Paths
    double base


@auto_pickle(False)
cdef class GrowingWords:
    """The tokens of a text, up to a place before which nothing changes by what comes after.

    Args:
        encoder: counts.
        keeps_end: nothing is cut off at the end of the text.
        prefixes: it is at the start of a text, or all texts get the prefix.

    Attributes:
        tokens: of the words that have ended.
    """

    cdef WordEncoder encoder
    cdef readonly int64_t tokens
    cdef bint keeps_end, prefixes
    cdef OpenWord word

    def __cinit__(self, WordEncoder encoder not None, bint keeps_end=False, bint prefixes=True):
        self.encoder = encoder
        self.keeps_end = keeps_end
        self.prefixes = prefixes and encoder.prefixes

    def __dealloc__(self):
        free(self.word.rest)
        free(self.word.to)
        free(self.word.counts)

    def copy(self):
        """Return an independent one."""
        cdef GrowingWords twin = GrowingWords(self.encoder, self.keeps_end, self.prefixes)
        cdef OpenWord* word = &twin.word
        cdef Py_ssize_t n = self.word.n
        twin.tokens = self.tokens
        word[0] = self.word
        word.rest = NULL
        word.to = NULL
        word.counts = NULL
        word.slots = word.to_slots = word.count_slots = 0
        if not twin.keep(
            self.word.rest, n, self.word.to, self.word.counts
        ):
            raise MemoryError("no memory for a word that grows")
        return twin

    @property
    def window(self):
        """Bytes of a word that decide about what follows, roughly: how much is kept."""
        return window_of(&self.encoder.model)

    @property
    def least(self):
        """Tokens that the text has, however it goes on.

        With Unigram the best path to any later place goes through one of those that are kept. A
        longer word of WordPiece can be unknown.
        """
        cdef OpenWord* word = &self.word
        cdef Py_ssize_t at, fewest
        if not word.is_open or self.encoder.model.kind != UNIGRAM:
            return self.tokens
        fewest = word.counts[word.n]
        for at in range(word.n):
            if word.rest[at] & 0xC0 != 0x80:    # a character begins there
                fewest = min(fewest, word.counts[at])
        return self.tokens + fewest

    def go_on(self, str text not None, bint is_plain):
        """Read more text for good. It must not be used any more if this raises.

        Args:
            text: has no surrogates; what is before it and what comes after it have no effect on
                what its characters become, which are not entangled.
            is_plain: it is normalized.
        """
        self.read(text, is_plain, True)

    def count_with(self, str text not None, bint is_plain):
        """Count the tokens if the text goes on like this, and ends. -1: it is entangled."""
        return self.read(text, is_plain, False)

    cdef Py_ssize_t read(self, str text, bint is_plain, bint goes_on) except -2:
        cdef CharMap char_map = self.encoder.plain if is_plain else self.encoder.raw
        cdef OwnedWordState owned
        cdef Py_ssize_t tokens
        if char_map.prepare(text) >= 0:
            if goes_on:
                raise ValueError("characters of the text are entangled")
            return -1
        owned = self.encoder.take()
        self.encoder.begin(&owned.state, char_map, text)
        if self.keeps_end:
            owned.state.reader.strips_end = 0
        owned.state.paths.watch.is_on = True
        if len(text) < NOGIL_CHARS:
            tokens = self.read_words(&owned.state, goes_on)
        else:
            with nogil:
                tokens = self.read_words(&owned.state, goes_on)
        self.encoder.check(tokens)
        self.encoder.release(owned)
        if goes_on:
            self.tokens += tokens
        return self.tokens + tokens

    cdef Py_ssize_t read_words(self, WordState* state, bint goes_on) noexcept nogil:
        """Count the tokens of the words that end in the text; or a status.

        Where it goes on, the word at its end is kept.
        """
        cdef Py_ssize_t totals[WORD_SLOTS]
        cdef Py_ssize_t total = 0, n, count
        cdef bint is_old = self.word.is_open    # the first word began before the text
        if not self.begin_reading(state):
            return NO_MEMORY
        state.reader.goes_on = goes_on
        while True:
            n = read_words(&state.reader, &state.words)
            if n <= 0:
                break
            if is_old:
                count = self.count_old(state)
                if count < 0:
                    return count
                total += count
                state.words.lengths[0] = <Py_ssize_t> ANY_LENGTH + 1    # it is counted
                is_old = False
            count = count_words(&self.encoder.model, state, ANY_LENGTH, totals)
            if count < 0:
                return count
            total += count
        if n == 0 and goes_on:
            n = self.keep_open(state, is_old)
        elif n == 0 and is_old and self.encoder.raw.joins and self.encoder.model.kind != UNIGRAM:
            # All that is left of it is a blank that is cut off.
            total += 1 if self.word.matched == UNKNOWN else self.word.matched
        return total if n == 0 else n

    cdef bint begin_reading(self, WordState* state) noexcept nogil:
        """Read the text after what was read before. False: no memory."""
        cdef Reader* reader = &state.reader
        cdef OpenWord* word = &self.word
        start_reading(reader, 0, reader.text.n, self.prefixes)
        if not word.is_open:
            return True
        if not reserve(reader, word.n):
            return False
        if word.n > 0:
            memcpy(reader.buffer, word.rest, word.n)
        reader.used = word.n
        reader.is_open = True
        reader.is_blank = word.is_blank
        reader.is_white = word.is_white
        reader.group = word.group
        state.words.count = 0
        state.words.starts[0] = 0
        return True

    cdef Py_ssize_t count_old(self, WordState* state) noexcept nogil:
        """Count the tokens of the word that began before the text, the first of the batch."""
        cdef const uint8_t* data = state.reader.buffer
        cdef Py_ssize_t n = state.words.starts[1], status
        cdef uint32_t node
        if self.encoder.model.kind == UNIGRAM:
            status = self.go_on_paths(state, data, n, True, &node)
            return state.spans[n] if status >= 0 else status
        if self.word.matched == UNKNOWN or self.is_too_long(data, n):
            return 1
        return count_rest(&self.encoder.model, data, n, self.word.matched)

    cdef bint is_too_long(self, const uint8_t* data, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t most = self.encoder.most_characters
        return most > 0 and self.word.characters + characters_in(data, n, n) > most

    cdef Py_ssize_t keep_open(self, WordState* state, bint is_old) noexcept nogil:
        """Keep what decides about the open word. 0 or a status."""
        cdef Reader* reader = &state.reader
        cdef OpenWord* word = &self.word
        if not is_old:
            word.n = word.characters = word.matched = 0
        word.is_open = reader.is_open
        word.is_blank = reader.is_blank
        word.is_white = reader.is_white
        word.group = reader.group
        if not reader.is_open:
            word.n = 0
            return 0
        if self.encoder.model.kind == UNIGRAM:
            return self.keep_paths(state, reader.buffer, reader.used, is_old)
        return self.keep_matches(reader.buffer, reader.used)

    cdef Py_ssize_t keep_matches(self, const uint8_t* data, Py_ssize_t n) noexcept nogil:
        """The same for WordPiece."""
        cdef OpenWord* word = &self.word
        # A blank that is cut off if the text ends here is not settled.
        cdef Py_ssize_t at = n - (word.is_blank and self.encoder.raw.joins)
        if self.is_too_long(data, at):
            word.matched = UNKNOWN
        if word.matched != UNKNOWN:
            at = match_settled(&self.encoder.model, data, at, &word.matched)
        word.characters += characters_in(data, at, n)
        return 0 if self.keep(data + at, n - at, NULL, NULL) else NO_MEMORY

    cdef Py_ssize_t keep_paths(
        self, WordState* state, const uint8_t* data, Py_ssize_t n, bint is_old
    ) noexcept nogil:
        """The same for Unigram."""
        cdef Py_ssize_t first, status
        cdef uint32_t node
        status = self.go_on_paths(state, data, n, is_old, &node)
        if status < 0:
            return status
        self.word.node = node
        first = max(n - window_of(&self.encoder.model), 0)
        self.word.rebased = state.paths.rebased - first
        self.word.base = state.paths.base
        if not self.keep(data + first, n - first, state.paths.to + first, state.spans + first):
            return NO_MEMORY
        return 0

    cdef Py_ssize_t go_on_paths(
        self, WordState* state, const uint8_t* data, Py_ssize_t n, bint is_old, uint32_t* node
    ) noexcept nogil:
        """Find the paths to all places of the open word that are not known, and count tokens.

        The counts are in `state.spans`. Returns 0 or a status.
        """
        cdef OpenWord* word = &self.word
        cdef Py_ssize_t begun = word.n if is_old else 0
        if not reserve_paths(&state.paths, n + 1) or not grow(
            <void**> &state.spans, &state.span_slots, n + 1, sizeof(Py_ssize_t)
        ):
            return NO_MEMORY
        if is_old:
            node[0] = word.node
            state.paths.rebased = word.rebased
            state.paths.base = word.base
            memcpy(state.paths.to, word.to, (begun + 1) * sizeof(Path))
            memcpy(state.spans, word.counts, (begun + 1) * sizeof(Py_ssize_t))
        else:
            node[0] = 0
            begin_path(&state.paths, 0)
            state.spans[0] = 0
        return count_more_prefixes(
            &self.encoder.model, &state.paths, data, begun, n, node, state.spans
        )

    cdef bint keep(
        self, const uint8_t* data, Py_ssize_t n, const Path* to, const Py_ssize_t* counts
    ) noexcept nogil:
        """Keep the last bytes of the open word, and what is known of its places. False: no memory."""
        cdef OpenWord* word = &self.word
        if not grow(<void**> &word.rest, &word.slots, n, 1):
            return False
        if n > 0:
            memcpy(word.rest, data, n)
        word.n = n
        if to == NULL:
            return True
        if not grow(<void**> &word.to, &word.to_slots, n + 1, sizeof(Path)):
            return False
        if not grow(<void**> &word.counts, &word.count_slots, n + 1, sizeof(Py_ssize_t)):
            return False
        memcpy(word.to, to, (n + 1) * sizeof(Path))
        memcpy(word.counts, counts, (n + 1) * sizeof(Py_ssize_t))
        return True
