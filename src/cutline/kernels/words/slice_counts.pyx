"""Counts of the slices of a text, by its starts. Source: docs/words.md.

A slice is counted in three parts: up to its first start, from there to its last one by a difference
of two sums, and from there on. Parts whose characters are entangled are counted as a whole here;
Python is asked for slices of them.

Guarded by tests/words/test_encoding.py.
"""

from cython cimport auto_pickle

from cutline.kernels.base.common cimport (
    NO_MEMORY, NOT_FOUND, UNKNOWN, grow, prefetch, uint8_t, uint32_t,
)
from cutline.kernels.words.char_map cimport WHITE
from cutline.kernels.words.model cimport WordModel
from cutline.kernels.words.reader cimport Reader, read_words, start_inside, start_reading
from cutline.kernels.words.run_counts cimport ask_count
from cutline.kernels.words.starts cimport (
    begins_entangled, fetch_start, is_joint, last_start, next_start, rank_of, tokens_before,
)
from cutline.kernels.words.segments cimport add_word
from cutline.kernels.words.stretches cimport count_batches, count_stretch
from cutline.kernels.words.text_starts cimport TextStarts
from cutline.kernels.words.trie cimport Trie, child_of, ends_token, label_at
from cutline.kernels.words.unigram cimport HALF_BIT, best_path, rounding_of
from cutline.kernels.words.unsure_parts cimport changed_tokens, half_bit_of
from cutline.kernels.words.word_state cimport WordState

cdef enum:
    NEAR = 12               # characters: few tokens have more


@auto_pickle(False)
cdef class SliceCounts(TextStarts):
    """Counts slices of one text."""

    cdef void fetch_text(self, Py_ssize_t at) noexcept nogil:
        """Fetch what is looked at first where a slice starts or ends."""
        prefetch(<const uint8_t*> self.text.data + at * self.text.kind)
        fetch_start(&self.starts, at)

    cdef void fetch_sums(self, Py_ssize_t at) noexcept nogil:
        """Fetch what is known of the starts near a place, where fetch_text was called."""
        cdef Py_ssize_t rank = rank_of(&self.starts, at)
        prefetch(&self.starts.sums[rank])
        if self.has_scores:
            prefetch(&self.scores[rank])

    cdef Py_ssize_t find_head(
        self, WordState* state, Py_ssize_t start, SliceHead* head
    ) noexcept nogil:
        """Find the first start of slices that begin at a place. Returns a status."""
        head.asked = start
        head.score = 0
        head.start = self.after_white(start)
        head.first = self.first_start(state, head.start)
        if self.by_runs:
            return self.find_changed_head(state, head)
        if head.first == head.start and begins_entangled(&self.starts, head.first):
            # What is cut off at the start of a text is a part of it, where others precede it.
            head.first = next_start(&self.starts, head.first + 1)
        head.tokens = 0 if head.first == head.start else UNKNOWN
        return NO_MEMORY if head.first == NO_MEMORY else 0

    cdef Py_ssize_t find_changed_head(self, WordState* state, SliceHead* head) noexcept nogil:
        """The same where runs may have entangled characters.

        What is left of one may not be apart from what comes next: then no start is such a slice's.
        """
        cdef Py_ssize_t start = head.start, end
        head.tokens = 0 if head.first == start else UNKNOWN
        if head.first <= start or not self.has_entangled(start, head.first):
            return 0
        end = self.before_removed(start, head.first)
        head.tokens = 0
        if end > start:
            head.tokens = ask_count(state, start, end, self.encoder.prefixes)
        if head.tokens == UNKNOWN:
            head.first = NOT_FOUND
            return 0
        return min(head.tokens, 0)

    cdef Py_ssize_t count_slice(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of a slice; or NO_MEMORY."""
        cdef SliceHead head
        cdef Py_ssize_t status = self.find_head(state, start, &head)
        return self.count_from(state, &head, end) if status >= 0 else status

    cdef Py_ssize_t count_head(self, WordState* state, SliceHead* head) noexcept nogil:
        """The tokens before the first start, which there is; or a status."""
        if head.tokens == UNKNOWN:
            if self.is_rounded or self.unsure.count > 0:
                head.tokens = self.count_rounded_head(state, head)
            else:
                head.tokens = self.count_alone(state, head.start, head.first)
        return head.tokens

    cdef Py_ssize_t count_rounded_head(self, WordState* state, SliceHead* head) noexcept nogil:
        """The same, and the sum of the last word."""
        cdef Py_ssize_t tokens = 0, count = 0, n, word
        if self.has_entangled(head.start, head.first):
            return self.ask_count(head.start, head.first, False)
        start_reading(&state.reader, head.start, head.first, self.encoder.prefixes)
        n = read_words(&state.reader, &state.words)
        while n > 0:
            for word in range(n):
                head.score = 0
                count = add_word(&self.encoder.model, state, word, &head.score)
                if count < 0:
                    return count
                tokens += count
            n = read_words(&state.reader, &state.words)
        return tokens if n == 0 else n

    cdef Py_ssize_t count_from(
        self, WordState* state, SliceHead* head, Py_ssize_t end
    ) noexcept nogil:
        """The same of a slice whose head is known."""
        cdef Py_ssize_t start = head.start, first = head.first, last, before, changes = 0, tail = 0
        if start >= end:
            return 0
        if first == NOT_FOUND or first > end:
            if start == state.prefixes.start and end <= state.prefixes.end:
                return state.prefixes.counts[end - start]
            return self.count_alone(state, start, end)
        last = last_start(&self.starts, end)
        before = self.count_head(state, head)
        if before < 0:
            return before
        self.find_moved(state, head)
        if last < end:
            tail = self.count_after(state, start, last, end)
            if tail == NOT_FOUND and last > first:
                # A token that the end cuts may be unknown, and one with those before it.
                last = last_start(&self.starts, last - 1)
                tail = self.count_after(state, start, last, end)
            if tail == NOT_FOUND:
                return self.count_alone(state, start, end)
            if tail < 0:
                return tail
        if self.unsure.count > 0 and self.changed_by_rounding(
            state, first, last, True, &changes
        ) < 0:
            return self.count_alone(state, start, end)
        before += tokens_before(&self.starts, last) - tokens_before(&self.starts, first)
        return before + changes + tail

    cdef void find_moved(self, WordState* state, const SliceHead* head) noexcept nogil:
        """Find by how much sums of the word of a slice's first start differ from those of the text."""
        cdef Py_ssize_t rank
        state.sums.moved = 0
        state.sums.tokens = 0
        if self.has_scores and is_joint(&self.starts, head.first):
            rank = rank_of(&self.starts, head.first)
            state.sums.moved = head.score - self.scores[rank]
            state.sums.tokens = self.starts.sums[rank]

    cdef Py_ssize_t changed_by_rounding(
        self, const WordState* state, Py_ssize_t first, Py_ssize_t last, bint may_change,
        Py_ssize_t* changes
    ) noexcept nogil:
        """Find by how much rounding changes the tokens between two starts of a slice. 0, or UNKNOWN."""
        changes[0] = 0
        if not is_joint(&self.starts, first):
            return 0
        return changed_tokens(
            &self.encoder.model, &self.unsure, first, last, state.sums.moved, state.sums.tokens,
            may_change, changes,
        )

    cdef double rounding_after(
        self, const WordState* state, Py_ssize_t place, Py_ssize_t n
    ) noexcept nogil:
        """By how much rounding moves a sum, less another, with each token of n bytes after a joint."""
        cdef const WordModel* model = &self.encoder.model
        cdef Py_ssize_t tokens
        cdef double sum
        if not self.is_rounded:
            return rounding_of(model, n + self.longest_word)
        # In another word than the slice's first one, sums begin there.
        if self.n_joined > 1:
            return 4 * HALF_BIT
        sum = state.sums.moved + self.scores[rank_of(&self.starts, place)] - n * model.most_score
        tokens = tokens_before(&self.starts, place) - state.sums.tokens + self.unsure.more
        sum -= 2 * tokens * HALF_BIT
        # See most_moved.
        return 4 * half_bit_of(model, sum)

    cdef Py_ssize_t count_after(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of text[place:end], where `place` is a start, of a slice from `start`.

        NOT_FOUND: the tokens of the word before decide.
        """
        cdef const WordModel* model = &self.encoder.model
        cdef Py_ssize_t count
        if self.begins_entangled(place, end):
            return self.ask_count(place, end, place > start)
        if place == start or not is_joint(&self.starts, place):
            return count_stretch(model, state, place, end, self.encoder.prefixes)
        count = self.count_sure_word(state, place, end)
        if count < 0 or state.reader.at == end and state.words.count == 1 and not state.reader.is_open:
            return count
        # Words that begin inside a character, or after a blank, have no start of their own.
        return count_batches(model, state, state.words.count)

    cdef Py_ssize_t count_sure_word(
        self, WordState* state, Py_ssize_t place, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of the first word of text[place:end], which goes on with a word.

        It is left in the state with the others of its batch.

        NOT_FOUND: its tokens are not sure, or the first one is unknown: such characters may be one
        token with those before them. Also NO_MEMORY.
        """
        cdef const WordModel* model = &self.encoder.model
        cdef const uint8_t* text
        cdef Py_ssize_t n, count
        cdef double score = 0
        start_inside(&state.reader, &state.words, place, end, self.encoder.prefixes)
        count = read_words(&state.reader, &state.words)
        if count <= 0:
            return count
        n = state.words.lengths[0]
        if not grow(<void**> &state.out, &state.out_slots, 4 * n + 4, sizeof(uint32_t)):
            return NO_MEMORY
        text = state.reader.buffer + state.words.starts[0]
        state.sums.rounding = self.rounding_after(state, place, n)
        count = best_path(
            model, &state.paths, text, n, &score, state.out, NULL, NULL, True, state.sums.rounding,
        )
        if count >= 0 and (
            not state.paths.is_sure or (model.fuses and state.paths.begins_unknown)
        ):
            return NOT_FOUND
        return count

    cdef Py_ssize_t count_alone(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of a slice by encoding it; or a status."""
        if self.has_entangled(start, end):
            return self.ask_count(start, end, False)
        return count_stretch(&self.encoder.model, state, start, end, self.encoder.prefixes)

    cdef Py_ssize_t first_start(self, WordState* state, Py_ssize_t start) noexcept nogil:
        """The first start at which a slice that begins at `start` can be cut; or a status.

        The META that is put before the slice makes a token possible that lies across a joint, as
        no token of the text does.
        """
        cdef Py_ssize_t first = next_start(&self.starts, start), stop = start + NEAR, reach
        if first < 0 or not is_joint(&self.starts, first) or not self.encoder.prefixes:
            return first
        while True:
            stop = min(stop, self.starts.n)
            reach = self.prefix_reach(state, start, stop)
            if reach == NO_MEMORY:
                return reach
            if reach < stop or stop == self.starts.n:
                reach = min(max(reach, start + 1), self.starts.n)
                return next_start(&self.starts, reach)
            stop += 4 * (stop - start)

    cdef Py_ssize_t prefix_reach(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil:
        """Where the longest token ends that begins with the META before text[start:stop].

        `stop` where the text would have to go on; or NO_MEMORY.
        """
        cdef const Trie* trie = &self.encoder.model.trie
        cdef Reader* reader = &state.reader
        cdef Py_ssize_t at, end, reach = start, n, width
        cdef uint32_t node = 0
        start_reading(reader, start, stop, True)
        reader.traces = True
        n = read_words(reader, &state.words)
        reader.traces = False
        if n <= 0:
            return stop if n == 0 else n
        at = state.words.starts[0]
        end = at + state.words.lengths[0]
        while at < end:
            node = child_of(trie, node, label_at(reader.buffer + at, &width))
            if node == 0:
                return reach
            at += width
            if ends_token(trie, node):
                reach = reader.origins[at - 1] + 1
        return stop if state.words.ends[0] == stop else reach

    cdef Py_ssize_t after_white(self, Py_ssize_t start) noexcept nogil:
        """Where a slice begins whose white space at the start is cut off."""
        if not self.strips_start:
            return start
        while start < self.text.n and self.char_map.flags_at(&self.text, start) & WHITE:
            start += 1
        return start

    cdef Py_ssize_t characters_counted(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Characters of a slice that its count encodes: those before and after its starts."""
        cdef Py_ssize_t first = next_start(&self.starts, start)
        if first == NOT_FOUND or first > end:
            return end - start
        return first - start + end - last_start(&self.starts, end)
