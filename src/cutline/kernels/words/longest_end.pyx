"""The longest slice of a text from a place within a budget of tokens. Source: docs/words.md.

Guarded by tests/words/test_encoding.py.
"""

from cpython.exc cimport PyErr_SetObject
from cython cimport auto_pickle

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, NOT_FOUND, UNKNOWN, grow, is_continuation, uint8_t, uint32_t,
)
from cutline.kernels.encode.caches cimport STORED_BYTES
from cutline.kernels.words.char_map cimport WHITE
from cutline.kernels.words.model cimport UNIGRAM, WordModel
from cutline.kernels.words.reader cimport (
    ONLY_WHITE, TOO_LONG, WORD_SLOTS, Reader, ends_cut_off, read_words, start_inside, start_reading,
)
from cutline.kernels.words.segment_prefixes cimport count_segment_prefixes
from cutline.kernels.words.slice_counts cimport SliceCounts, SliceHead
from cutline.kernels.words.starts cimport (
    end_before, is_joint, last_rank, last_word_start, next_start, next_word_start, rank_of,
    start_of_rank,
)
from cutline.kernels.words.stretches cimport ANY_LENGTH, count_words
from cutline.kernels.words.unigram cimport count_prefixes
from cutline.kernels.words.word_state cimport Prefixes, WordState
from cutline.kernels.words.wordpiece cimport count_matches

cdef enum:
    WINDOW = 256            # characters that are read at first to find an end
    WINDOW_TOKEN = 8        # ... and for each token
    FAR = 4096              # characters of a word: what is found sooner is of no use
    LEAST_MORE = 32         # ... than the last one needed


@auto_pickle(False)
cdef class LongestEnds(SliceCounts):
    """Finds the ends of slices of one text."""

    cdef Py_ssize_t longest_from(
        self, WordState* state, Py_ssize_t start, Py_ssize_t n
    ) noexcept nogil:
        """The greatest end of a slice from `start` with at most n tokens; or a status."""
        cdef SliceHead head
        cdef Py_ssize_t status = self.find_head(state, start, &head)
        return self.longest_fit(state, &head, n) if status >= 0 else status

    cdef Py_ssize_t longest_fit(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil:
        """The same of a slice whose head is known."""
        cdef Py_ssize_t start = head.start, first = head.first, low, before, place, limit, left, rank
        if start == state.prefixes.start and n == state.prefixes.n:
            return state.prefixes.longest
        limit = first if first != start else next_start(&self.starts, start + 1)
        limit = self.starts.n if limit == NOT_FOUND else limit
        if first != start and self.has_entangled(start, limit):
            place = self.ask_longest_fit(start, limit, n, False)
            if place < limit or first == NOT_FOUND:
                return place
        elif first != start or (
            limit - start > WINDOW and not self.has_entangled(start, limit)
        ):
            place = self.end_in_window(state, start, limit, n)
            if place != NOT_FOUND:
                return place
        if first == NOT_FOUND:
            return self.best_end(state, start, start, self.starts.n, n)
        before = self.count_head(state, head)
        if before < 0:
            return before
        if before > n:
            return self.best_end(state, start, start, first - 1, n)
        n -= before
        rank = rank_of(&self.starts, first)
        # No end after a start with more tokens before it fits: the last one that has no more.
        left = self.starts.sums[rank] + n
        low = last_rank(&self.starts, rank, left)
        place = start_of_rank(&self.starts, low, first)
        limit = end_before(&self.starts, low + 1, place)
        self.find_moved(state, head)
        if self.is_changed(state, first, limit):
            return self.longest_alone(state, start, n + before)
        if place > start and is_joint(&self.starts, place):
            # What is unknown after a joint may be one token with what is before it.
            if low == rank:
                return self.best_end(state, start, start, limit, n + before)
            low -= 1
            place = start_of_rank(&self.starts, low, first)
        return self.best_end(state, start, place, limit, left - self.starts.sums[low])

    cdef Py_ssize_t last_place(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil:
        """A place after which no slice from a start has at most n tokens; or a status.

        It is before the first start with more tokens before it. Calls no longest_fit of a subclass,
        for that asks for this place.
        """
        cdef Py_ssize_t before, rank, end
        if head.first == NOT_FOUND or self.has_entangled(head.start, head.first):
            return LongestEnds.longest_fit(self, state, head, n)
        before = self.count_head(state, head)
        if before < 0:
            return before
        if before > n:
            return head.first
        rank = rank_of(&self.starts, head.first)
        rank = last_rank(&self.starts, rank, self.starts.sums[rank] + n - before)
        end = end_before(&self.starts, rank + 1, head.first)
        self.find_moved(state, head)
        if self.is_changed(state, head.first, end):
            return LongestEnds.longest_fit(self, state, head, n)
        if end - start_of_rank(&self.starts, rank, head.first) > FAR:
            return LongestEnds.longest_fit(self, state, head, n)
        return end

    cdef bint is_changed(
        self, const WordState* state, Py_ssize_t first, Py_ssize_t end
    ) noexcept nogil:
        """Whether rounding may change how many tokens a slice has between its first start and an end."""
        cdef Py_ssize_t changes
        return self.unsure.count > 0 and self.changed_by_rounding(
            state, first, end + 1, False, &changes
        ) < 0

    cdef Py_ssize_t longest_alone(
        self, WordState* state, Py_ssize_t start, Py_ssize_t n
    ) noexcept nogil:
        """The greatest end of a slice with at most n tokens, without the joints of its first word.

        That may be far longer than the slice: its end is looked for no farther than is read.
        """
        cdef SliceHead head
        cdef Py_ssize_t reach = WINDOW_TOKEN * min(n, self.starts.n) + WINDOW, stop, place
        head.asked = head.start = start
        head.tokens = UNKNOWN
        head.score = 0
        while True:
            reach *= 2
            stop = min(start + reach, self.starts.n)
            head.first = next_word_start(&self.starts, start + 1, stop)
            if head.first != NOT_FOUND or stop == self.starts.n:
                return LongestEnds.longest_fit(self, state, &head, n)
            if not self.has_entangled(start, stop):
                place = self.end_in_window(state, start, stop, n)
                if place != NOT_FOUND:
                    return place

    cdef Py_ssize_t ask_longest_fit(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint inside
    ) noexcept with gil:
        """The greatest end, up to this one, of such a slice with at most n tokens."""
        try:
            return self.parts.longest_fit(start, end, n, inside)
        except BaseException as error:
            PyErr_SetObject(type(error), error)
            return INTERRUPTED

    cdef Py_ssize_t end_in_window(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n
    ) noexcept nogil:
        """The greatest end of a slice in a long word of Unigram, without reading all of it.

        NOT_FOUND where that ends at or after `stop`, or outside the first word; or NO_MEMORY.
        """
        cdef Py_ssize_t width = WINDOW_TOKEN * min(n, self.starts.n) + WINDOW, best, outcome
        if self.encoder.model.kind != UNIGRAM:
            return NOT_FOUND
        if n == state.prefixes.n:
            width = min(width, state.prefixes.width)
        while width < stop - start:
            start_reading(&state.reader, start, start + width, self.encoder.prefixes)
            state.reader.traces = True
            outcome = read_words(&state.reader, &state.words)
            state.reader.traces = False
            if outcome == NO_MEMORY:
                return outcome
            if outcome > 1:
                return NOT_FOUND
            if outcome == 1:
                best = start
                outcome = self.try_ends(state, 0, 0, n, False, &best)
                if outcome == NO_MEMORY or outcome == INTERRUPTED:
                    return outcome
                if self.is_settled(state, n):
                    self.keep_prefixes(state, start, start + width)
                    state.prefixes.n = n
                    state.prefixes.longest = best
                    # The next slice has about as many characters.
                    width = best - start + self.encoder.model.longest
                    state.prefixes.width = width + width // 8 + LEAST_MORE
                    return best
            width *= 2
        return NOT_FOUND

    cdef void keep_prefixes(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil:
        """Keep the counts of text[start:k], which is one word, that try_ends has found."""
        cdef Prefixes* kept = &state.prefixes
        cdef const Py_ssize_t* origins = state.reader.origins + state.words.starts[0]
        cdef Py_ssize_t at, tokens = 0, place = start, length = kept.counted
        cdef bint is_part = length < state.words.lengths[0]
        kept.start = NOT_FOUND
        if is_part:
            end = origins[length]
        if not grow(<void**> &kept.counts, &kept.slots, end - start + 1, sizeof(Py_ssize_t)):
            return      # they are counted, then
        for at in range(length + is_part):
            if at > 0 and origins[at] == origins[at - 1]:
                continue
            if at > 0:
                tokens = state.spans[at - ends_cut_off(&state.reader, state.words.starts[0] + at)]
            while place <= origins[at]:
                kept.counts[place - start] = tokens
                place += 1
        while place <= end:
            kept.counts[place - start] = state.spans[length]
            place += 1
        kept.start = start
        kept.end = end

    cdef bint is_settled(self, WordState* state, Py_ssize_t n) noexcept nogil:
        """Whether no end after the word that try_ends looked into has at most n tokens.

        The path to any such end goes through one of the last places of the word, which are as
        many as the longest token has bytes, and has no fewer tokens than the path to there.
        """
        cdef Py_ssize_t length = state.words.lengths[0], at
        cdef const uint8_t* data = state.reader.buffer + state.words.starts[0]
        cdef const WordModel* model = &self.encoder.model
        if state.prefixes.counted < length:
            return True     # see count_segment_prefixes
        if length <= model.longest:
            return False
        for at in range(length - model.longest, length + 1):
            if (at == length or not is_continuation(data[at])) and state.spans[at] <= n:
                return False
        return True

    cdef Py_ssize_t best_end(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t limit, Py_ssize_t n
    ) noexcept nogil:
        """The greatest end from `place` to `limit` such that text[place:end] has at most n tokens.

        `place` is the slice's start, or a start after it.
        """
        cdef Py_ssize_t totals[WORD_SLOTS]
        cdef Py_ssize_t best = place, count, total = 0, outcome = 0, word, last = limit
        cdef bint inside = place > start and is_joint(&self.starts, place), first = True
        cdef Reader* reader = &state.reader
        if place >= limit:
            return place
        if self.begins_entangled(place, limit):
            return self.ask_longest_fit(place, limit, n, place > start)
        if inside:
            count = self.count_sure_word(state, place, limit)
            if count == NOT_FOUND:
                return self.best_end_slowly(state, start, place, limit, n)
            if count < 0:
                return count
            start_inside(reader, &state.words, place, limit, self.encoder.prefixes)
        else:
            start_reading(reader, place, limit, self.encoder.prefixes)
        reader.traces = True
        while total <= n and outcome >= 0:
            count = outcome = read_words(reader, &state.words)
            if count > 0:
                outcome = count_words(&self.encoder.model, state, ANY_LENGTH, totals)
            if outcome < 0 or count == 0:
                break
            word = 0
            while word < count and total + totals[word] <= n:
                word += 1
            if word < count:
                last = min(limit, self.last_with_words(state, word, limit))
                outcome = self.try_last(state, word, total, totals, n, inside, first, &best)
            total += totals[count - 1]
            first = False
        reader.traces = False
        if outcome == UNKNOWN:
            return self.best_end_slowly(state, start, place, last, n)
        if outcome < 0:
            return outcome
        return limit if total <= n else best

    cdef Py_ssize_t last_with_words(
        self, WordState* state, Py_ssize_t word, Py_ssize_t limit
    ) noexcept nogil:
        """A place after which each end has all words up to this one of the batch, as they are."""
        if word + 1 < state.words.count or state.reader.is_open:
            return state.words.firsts[word + 1]
        # Of what is not read, characters without bytes may be all that follows blanks.
        return limit if state.words.begins_blank[word] else state.reader.at

    cdef Py_ssize_t try_last(
        self, WordState* state, Py_ssize_t over, Py_ssize_t total, const Py_ssize_t* totals,
        Py_ssize_t n, bint inside, bint first, Py_ssize_t* best
    ) noexcept nogil:
        """Raise the best end to the last one in or before the word with which a batch is over.

        UNKNOWN: see try_ends; or that word begins inside a character, and the batch, too. Ends in
        words before it are no later than its start, unless it begins inside a character.
        """
        cdef Py_ssize_t word = over, before, outcome = 0
        while word > 0 and state.words.begins_inside[word]:
            word -= 1
        if state.words.begins_inside[word] and not first:
            return UNKNOWN
        while word <= over and outcome >= 0:
            before = total + (totals[word - 1] if word > 0 else 0)
            outcome = self.try_ends(
                state, word, before, n, inside and first and word == 0, best
            )
            word += 1
        return outcome

    cdef Py_ssize_t try_ends(
        self, WordState* state, Py_ssize_t word, Py_ssize_t before, Py_ssize_t n,
        bint inside, Py_ssize_t* best
    ) noexcept nogil:
        """Raise the best end to one in a word, or before it. Returns the tokens up to its end.

        UNKNOWN: the word goes on with one whose score decides, or is too long to be looked into.

        A cut lies before the character that the next byte comes from, so that characters without
        bytes stay with what is before them.
        """
        cdef Py_ssize_t length = state.words.lengths[word], at, kept, counted
        cdef const uint8_t* data = state.reader.buffer + state.words.starts[word]
        cdef const Py_ssize_t* origins = state.reader.origins + state.words.starts[word]
        if not state.words.begins_inside[word]:
            best[0] = max(best[0], state.words.firsts[word])
        if state.reader.strips_end and state.words.begins_blank[word]:
            self.try_blank(state, word, before, n, best)
        if length == TOO_LONG:
            # The text goes on in its last character: rare enough to try all cuts.
            return UNKNOWN if before < n else before + 1
        if not grow(<void**> &state.spans, &state.span_slots, length + 1, sizeof(Py_ssize_t)):
            return NO_MEMORY
        counted = self.count_ends(state, data, length, n - before, inside)
        if counted < 0:
            return counted
        state.prefixes.counted = counted
        for at in range(counted if counted < length else length - 1, 0, -1):
            if origins[at] == origins[at - 1]:
                continue
            kept = at - ends_cut_off(&state.reader, state.words.starts[word] + at)
            if before + state.spans[kept] <= n:
                best[0] = max(best[0], origins[at])
                break
        return before + state.spans[counted]

    cdef Py_ssize_t count_ends(
        self, WordState* state, const uint8_t* word, Py_ssize_t length, Py_ssize_t most, bint inside
    ) noexcept nogil:
        """Count the prefixes of a word, into `spans`. Returns how many bytes of it, or a status.

        All longer ones have more than `most` tokens. UNKNOWN: the word goes on with one whose score
        decides.
        """
        cdef const WordModel* model = &self.encoder.model
        cdef Py_ssize_t status
        if model.kind != UNIGRAM:
            count_matches(model, word, length, state.spans)
            return length
        if model.has_segments and length > STORED_BYTES and not inside:
            return count_segment_prefixes(model, state, word, length, most, state.spans)
        status = count_prefixes(
            model, &state.paths, word, length, state.spans, inside, state.sums.rounding
        )
        if status < 0:
            return status
        return UNKNOWN if inside and not state.paths.is_sure else length

    cdef void try_blank(
        self, WordState* state, Py_ssize_t word, Py_ssize_t before, Py_ssize_t n, Py_ssize_t* best
    ) noexcept nogil:
        """The same for cuts in the run of blanks before a word, which are none at the end."""
        cdef Reader* reader = &state.reader
        cdef Py_ssize_t at = state.words.firsts[word], stop = state.words.ends[word]
        cdef uint32_t code_point
        if state.words.lengths[word] != 1:
            stop = reader.origins[state.words.starts[word] + 1]
        if reader.strips_end == ONLY_WHITE:
            while at < stop:
                code_point = char_at(&reader.text, at)
                if not reader.blocks[code_point >> 8].images[code_point & 0xFF].flags & WHITE:
                    break
                at += 1
        else:
            at = stop
        if before <= n:
            best[0] = max(best[0], at)

    cdef Py_ssize_t best_end_slowly(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t limit, Py_ssize_t n
    ) noexcept nogil:
        """The same without the joint at `place`: where the sum before it could change tokens."""
        cdef Py_ssize_t end = limit, count, most
        # A word begins anew; no part with entangled characters lies between.
        start = last_word_start(&self.starts, place, start)
        count = self.count_alone(state, start, place)
        if count < 0:
            return count
        most = count + n
        if place > start and self.encoder.model.kind == UNIGRAM:
            return self.best_end(state, start, start, limit, most)
        while end > place:
            count = self.count_alone(state, start, end)
            if count < 0:
                return count
            if count <= most:
                return end
            end -= 1
        return place
