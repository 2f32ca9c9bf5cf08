"""Counts of the slices of a text, and cuts, after one pass over its words. Source: docs/words.md.

A slice is counted in three parts: up to the first place where a word begins, from there to the
last such place by a difference of two sums, and from there on. Long words of Unigram have joints:
places inside at which they can be cut, too. Parts whose characters are entangled are counted as a
whole here; Python is asked for slices of them.

Guarded by tests/words/test_encoding.py.
"""

from array import array

from cpython.exc cimport PyErr_CheckSignals, PyErr_SetObject
from cython cimport auto_pickle
from libc.stdlib cimport free

from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport Characters, char_at, characters_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, NOT_FOUND, UNKNOWN, grow, int64_t, is_continuation, memset, uint8_t,
    uint32_t, uint64_t, unlikely,
)
from cutline.kernels.base.signals cimport Watch, is_interrupted
from cutline.kernels.encode.runs cimport Runs, Separators, find_runs
from cutline.kernels.words.char_map cimport PAIR, WHITE
from cutline.kernels.words.encoder cimport (
    ANY_LENGTH, OwnedWordState, WordEncoder, WordState, count_run, count_stretch, count_words,
    count_new_runs, keep_run, make_room,
)
from cutline.kernels.words.model cimport UNIGRAM, WordModel
from cutline.kernels.words.reader cimport (
    ONLY_WHITE, TOO_LONG, WORD_SLOTS, Reader, Words, read_words, start_reading,
)
from cutline.kernels.words.separators cimport closed_run, ends_closed, ends_word, is_separator
from cutline.kernels.words.trie cimport Trie, child_of, ends_token, label_at
from cutline.kernels.words.unigram cimport Joints, best_path, count_prefixes
from cutline.kernels.words.wordpiece cimport count_matches

cdef Py_ssize_t MOST_TOKENS = <Py_ssize_t> 1 << 60

cdef extern from "native.h":
    int popcount "cutline_popcount"(uint64_t word) noexcept nogil
    int low_bit "cutline_low_bit"(uint64_t word) noexcept nogil
    int top_bit "cutline_top_bit"(uint64_t word) noexcept nogil

cdef enum:
    LONG_WORD = 64          # bytes: longer words get joints
    GAP_STEP = 64           # characters without a word from one start to the next
    CHARACTERS_A_TOKEN = 4
    FAR = 16                # characters for each token of a gap: no start is left out in what is longer
    LEAST_LOOKED_UP = 128   # characters whose runs are looked up: some near the end are not found
    NOGIL_CHARS = 1 << 16
    COST = 64               # of a character that is counted again and again, in bytes of work
    NEAR = 12               # characters: few tokens have more
    WINDOW = 4096           # characters that are read at first to find an end
    WINDOW_TOKEN = 8        # ... and for each token


cdef inline bint add_start(Starts* starts, Py_ssize_t at, int64_t tokens, bint inside) noexcept nogil:
    """Add a start after all others. False: no memory."""
    if not grow(<void**> &starts.sums, &starts.slots, starts.count + 1, sizeof(int64_t)):
        return False
    if starts.bits[at >> 6] >> (at & 63) & 1:
        return True
    starts.bits[at >> 6] |= <uint64_t> 1 << (at & 63)
    if inside:
        starts.joined[at >> 6] |= <uint64_t> 1 << (at & 63)
    starts.sums[starts.count] = tokens
    starts.count += 1
    return True


cdef inline Py_ssize_t next_start(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """The first start from `at` on, or NOT_FOUND."""
    cdef Py_ssize_t place = at >> 6, last = starts.n >> 6
    cdef uint64_t word = starts.bits[place] >> (at & 63) << (at & 63)
    while word == 0:
        place += 1
        if place > last:
            return NOT_FOUND
        word = starts.bits[place]
    return (place << 6) + low_bit(word)


cdef inline Py_ssize_t last_start(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """The last start up to `at`, at least one of which there is."""
    cdef Py_ssize_t place = at >> 6
    cdef uint64_t word = starts.bits[place] << (63 - (at & 63)) >> (63 - (at & 63))
    while word == 0:
        place -= 1
        word = starts.bits[place]
    return (place << 6) + top_bit(word)


cdef inline int64_t tokens_before(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """The tokens before a start."""
    cdef uint64_t below = starts.bits[at >> 6] & ((<uint64_t> 1 << (at & 63)) - 1)
    return starts.sums[starts.ranks[at >> 6] + popcount(below)]


cdef inline bint is_joint(const Starts* starts, Py_ssize_t at) noexcept nogil:
    return starts.joined[at >> 6] >> (at & 63) & 1


cdef inline bint begins_entangled(const Starts* starts, Py_ssize_t at) noexcept nogil:
    """Whether at a start begins a part whose characters are entangled."""
    return starts.entangled != NULL and starts.entangled[at >> 6] >> (at & 63) & 1


cdef bint has_entangled(const Starts* starts, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Whether a slice has characters of such a part."""
    cdef Py_ssize_t at
    if starts.entangled == NULL or start >= end:
        return False
    at = last_start(starts, start)
    while 0 <= at < end:
        if begins_entangled(starts, at):
            return True
        at = next_start(starts, at + 1)
    return False


cdef Py_ssize_t start_of_rank(const Starts* starts, Py_ssize_t rank) noexcept nogil:
    """The character of the start with so many others before it."""
    cdef Py_ssize_t low = 0, high = (starts.n >> 6) + 1, middle
    cdef uint64_t word
    while low + 1 < high:
        middle = (low + high) >> 1
        if <Py_ssize_t> starts.ranks[middle] <= rank:
            low = middle
        else:
            high = middle
    word = starts.bits[low]
    rank -= starts.ranks[low]
    while rank > 0:
        word &= word - 1
        rank -= 1
    return (low << 6) + low_bit(word)


@auto_pickle(False)
cdef class WordIntervals:
    """The sums of one text, and what counts with them.

    Args:
        encoder: counts.
        text: has no surrogates.
        edges_of: called where characters are entangled; returns two. The edges: int64, starts and
            ends in turn of the parts with such; both are where a word ends whatever is around
            (`CharMap.entangled_parts`). And what counts slices of these parts: by `count(start, end,
            inside)`, and `longest_fit(start, end, n, inside)`, the greatest end up to this one;
            inside: the slice goes on there.
        is_plain: the text is normalized.
        gap: tokens from one start to the next, roughly, for few slices that are much longer. Then
            a text is counted by its runs, as fast as `WordEncoder.count`. 0: slices are many.
    """

    def __cinit__(
        self, WordEncoder encoder not None, str text not None, edges_of=None, bint is_plain=False,
        Py_ssize_t gap=0,
    ):
        cdef OwnedWordState owned
        cdef const int64_t[::1] edges = None
        cdef Py_ssize_t outcome
        self.encoder = encoder
        self.char_map = encoder.plain if is_plain else encoder.raw
        self.gap = gap if encoder.separators.are_known and not is_plain else 0
        if self.char_map.prepare(text) >= 0:
            if edges_of is None:
                raise ValueError("characters of the text are entangled")
            edges, self.parts = edges_of()
            self.char_map.prepare_all(text)
        self.held = text
        self.text = characters_of(text)
        self.strips_start = encoder.strips_start and not is_plain
        self.starts.n = len(text)
        self.reserve(edges is not None)
        owned = encoder.take()
        encoder.begin(&owned.state, self.char_map, text)
        owned.state.paths.watch.is_on = True
        with nogil:
            if edges is None:
                outcome = self.build(&owned.state, NULL, 0)
            else:
                outcome = self.build(&owned.state, &edges[0], edges.shape[0])
            self.rank()
        encoder.check(outcome)
        encoder.release(owned)

    def __dealloc__(self):
        free(self.starts.sums)

    cdef int reserve(self, bint has_parts) except -1:
        """Make bitmaps."""
        cdef Py_ssize_t slots = (self.starts.n >> 6) + 1
        cdef uint64_t[::1] words = zeroed_numbers("Q", slots)
        cdef uint64_t[::1] joined = zeroed_numbers("Q", slots)
        cdef uint64_t[::1] entangled
        cdef uint32_t[::1] ranks = zeroed_numbers("I", slots)
        self.memory = [words, joined, ranks]
        self.starts.bits = &words[0]
        self.starts.joined = &joined[0]
        self.starts.ranks = &ranks[0]
        self.starts.entangled = NULL
        if has_parts:
            entangled = zeroed_numbers("Q", slots)
            self.memory.append(entangled)
            self.starts.entangled = &entangled[0]
        return 0

    cdef void rank(self) noexcept nogil:
        """Count the starts before each word of bits."""
        cdef Py_ssize_t place
        cdef uint32_t before = 0
        for place in range((self.starts.n >> 6) + 1):
            self.starts.ranks[place] = before
            before += popcount(self.starts.bits[place])

    cdef Py_ssize_t build(
        self, WordState* state, const int64_t* edges, Py_ssize_t n_edges
    ) noexcept nogil:
        """Find the starts of the text. 0, NO_MEMORY or INTERRUPTED."""
        cdef Py_ssize_t at, start = 0, outcome = 0
        cdef Joints joints
        joints.items = NULL
        joints.slots = joints.count = 0
        if not add_start(&self.starts, 0, 0, False):
            return NO_MEMORY
        for at in range(0, n_edges, 2):
            outcome = self.add_stretch(state, start, edges[at], &joints)
            if outcome >= 0:
                outcome = self.add_entangled(edges[at], edges[at + 1])
            if outcome < 0:
                break
            start = edges[at + 1]
        if outcome >= 0:
            outcome = self.add_stretch(state, start, self.starts.n, &joints)
        free(joints.items)
        return outcome

    cdef Py_ssize_t add_entangled(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Add a part with entangled characters. 0, NO_MEMORY or INTERRUPTED."""
        cdef Py_ssize_t tokens = self.ask_count(start, end, start > 0)
        if tokens < 0:
            return tokens
        if not add_start(&self.starts, start, self.total, False):
            return NO_MEMORY
        self.starts.entangled[start >> 6] |= <uint64_t> 1 << (start & 63)
        self.total += tokens
        return 0

    cdef Py_ssize_t add_stretch(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Joints* joints
    ) noexcept nogil:
        """Add starts of a stretch without entangled characters. Returns what `build` does.

        With a gap, they are where words end whatever comes after, or at separators after closed
        runs: what is before and after is counted apart (docs/words.md, "Slices and cuts"). Where
        there are none for long, all starts are added.
        """
        cdef Py_ssize_t end, outcome = 0, step = CHARACTERS_A_TOKEN * self.gap
        if self.gap == 0:
            return self.add_words(state, start, stop, joints)
        while start < stop:
            if self.encoder.model.kind == UNIGRAM and stop - start > LEAST_LOOKED_UP:
                start = self.add_runs(state, start, stop)
                if start < 0:
                    return start
            end = self.next_closed(state, start + step, stop)
            if end - start > FAR * self.gap:
                outcome = self.add_words(state, start, end, joints)
            elif not add_start(&self.starts, start, self.total, False):
                return NO_MEMORY
            else:
                outcome = count_stretch(
                    &self.encoder.model, state, start, end, self.encoder.prefixes
                )
                self.total += max(outcome, 0)
                step = self.gap * (end - start) // max(outcome, 1) + 1
                step = min(step, CHARACTERS_A_TOKEN * self.gap)
                if is_interrupted(&state.paths.watch, end - start):
                    outcome = INTERRUPTED
            if outcome < 0:
                return outcome
            start = end
        return 0

    cdef Py_ssize_t next_closed(
        self, WordState* state, Py_ssize_t at, Py_ssize_t stop
    ) noexcept nogil:
        """The first place, from one on, before which nothing goes on or is a part of what follows.

        It is `stop`, or at a separator, or where a word ends whatever comes after.
        """
        cdef const Separators* separators = &self.encoder.separators
        while at < stop:
            if (
                is_separator(separators, char_at(&self.text, at))
                or ends_word(state.reader.blocks, &self.text, at)
            ) and ends_closed(state.reader.blocks, &self.text, at):
                break
            at += 1
        while (
            separators.are_removed and at < stop and is_separator(separators, char_at(&self.text, at))
        ):
            at += 1
        return min(at, stop)

    cdef Py_ssize_t add_runs(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil:
        """Look runs up, and add starts after some of them. Returns how far that went, or a status.

        It ends at a long run, near the end, and where the run is not closed that ends a batch.
        """
        cdef Runs* runs = &state.runs
        cdef Characters text = self.text
        cdef Py_ssize_t at = start, begun, run, first, count, first_at, next_at = start
        cdef int64_t total = self.total
        text.n = stop
        cdef Separators separators = self.encoder.separators
        # Where a part with entangled characters ends, the first run may follow no separator.
        if start > 0 and not is_separator(&separators, char_at(&text, start)) and not (
            separators.are_removed and is_separator(&separators, char_at(&text, start - 1))
        ):
            return start
        if not add_start(&self.starts, start, total, False):
            return NO_MEMORY
        while True:
            begun = at
            make_room(state)
            find_runs(
                runs, &text, at, separators, state.first_level, state.line_mask, &state.store
            )
            if not runs.are_known:
                count_new_runs(&self.encoder.model, state, self.encoder.prefixes)
            run = 0
            while run < runs.count:
                count = runs.counts[run]
                first = run
                if unlikely(count < 0):
                    run = closed_run(runs, run, state.reader.blocks, &text)
                    if run == runs.count:
                        break
                if unlikely(runs.edges[2 * run + 1] - at > FAR * self.gap):
                    break
                if at >= next_at:
                    # What is removed is no part of a run: the next chunk begins after it.
                    if separators.are_removed:
                        at = runs.edges[2 * first]
                    if not add_start(&self.starts, at, total, False):
                        return NO_MEMORY
                    next_at = at + self.gap
                if unlikely(count < 0):
                    first_at = runs.edges[2 * first]
                    count = count_run(
                        &self.encoder.model, state, first_at - (first_at > 0),
                        runs.edges[2 * run + 1], self.encoder.prefixes,
                    )
                    if count < 0:
                        return count
                    if run == first:
                        keep_run(state, run, count)
                total += count
                at = runs.edges[2 * run + 1]
                run += 1
            self.total = total
            if at == begun or run < runs.count:
                return at
            if is_interrupted(&state.paths.watch, at - begun):
                return INTERRUPTED

    cdef Py_ssize_t add_words(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Joints* joints
    ) noexcept nogil:
        """Add the starts of a stretch without entangled characters. Returns what `build` does."""
        cdef Py_ssize_t totals[WORD_SLOTS]
        cdef Py_ssize_t n, word, end = start, before, outcome = 0, in_long
        cdef int64_t tokens = self.total
        cdef Words* words = &state.words
        cdef bint after_blank = False
        cdef bint joins = self.encoder.model.kind == UNIGRAM
        cdef Py_ssize_t longest = LONG_WORD if joins else ANY_LENGTH
        if start == stop:
            return 0
        if not add_start(&self.starts, start, tokens, False):
            return NO_MEMORY
        start_reading(&state.reader, start, stop, self.encoder.prefixes)
        state.reader.locates = True
        state.reader.traces = joins
        while True:
            n = outcome = read_words(&state.reader, words)
            if n > 0:
                outcome = count_words(&self.encoder.model, state, longest, totals)
            if outcome < 0:
                return outcome
            if n == 0:
                break
            before = in_long = 0
            for word in range(n):
                if not self.add_gap(end, words.firsts[word], tokens + before):
                    return NO_MEMORY
                if not words.begins_inside[word] and not after_blank:
                    if not add_start(&self.starts, words.firsts[word], tokens + before, False):
                        return NO_MEMORY
                if words.lengths[word] > longest:
                    outcome = self.add_joints(state, word, tokens + before, joints)
                    if outcome < 0:
                        return outcome
                    in_long += outcome
                # Where a blank is none at the end of a text, what is before it depends on it.
                after_blank = (
                    self.encoder.strips_end and words.begins_blank[word]
                    and words.lengths[word] == 1
                )
                end = words.ends[word]
                before = totals[word] + in_long
            tokens += before
        state.reader.locates = state.reader.traces = False
        self.total = tokens
        return 0 if self.add_gap(end, stop, tokens) else NO_MEMORY

    cdef bint add_gap(self, Py_ssize_t start, Py_ssize_t end, int64_t tokens) noexcept nogil:
        """Add starts to a long stretch between two words."""
        while end - start > GAP_STEP and not self.encoder.collapses:
            if not add_start(&self.starts, start, tokens, False):
                return False
            start += GAP_STEP
        return True

    cdef Py_ssize_t add_joints(
        self, WordState* state, Py_ssize_t word, int64_t before, Joints* joints
    ) noexcept nogil:
        """Add the joints of a long word. Returns its tokens, NO_MEMORY or INTERRUPTED."""
        cdef const uint8_t* data = state.reader.buffer + state.words.starts[word]
        cdef const Py_ssize_t* origins = state.reader.origins + state.words.starts[word]
        cdef Py_ssize_t n = state.words.lengths[word], at, place, count
        if not grow(<void**> &state.out, &state.out_slots, 4 * n + 4, sizeof(uint32_t)):
            return NO_MEMORY
        count = best_path(&self.encoder.model, &state.paths, data, n, state.out, NULL, joints)
        if count < 0:
            return count
        for at in range(joints.count):
            place = joints.items[at].at
            if origins[place] != origins[place - 1] and not add_start(
                &self.starts, origins[place], before + joints.items[at].tokens, True
            ):
                return NO_MEMORY
        return count

    cdef Py_ssize_t count_after(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of text[place:end], where `place` is a start, of a slice from `start`.

        NOT_FOUND: the tokens of the word before decide.
        """
        cdef bint inside = place > start and is_joint(&self.starts, place)
        cdef Py_ssize_t count
        if begins_entangled(&self.starts, place):
            return self.ask_count(place, end, place > start)
        if inside:
            count = self.count_sure_word(state, place, end)
            if count < 0:
                return count
            if state.reader.at == end and state.words.count == 1 and not state.reader.is_open:
                return count
        return count_stretch(
            &self.encoder.model, state, place, end, self.encoder.prefixes and not inside
        )

    cdef Py_ssize_t count_sure_word(
        self, WordState* state, Py_ssize_t place, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of the first word of text[place:end], which goes on with a word.

        NOT_FOUND: its tokens are not sure, or the first one is unknown: such characters may be one
        token with those before them. Also NO_MEMORY.
        """
        cdef const WordModel* model = &self.encoder.model
        cdef Py_ssize_t n, count
        start_reading(&state.reader, place, end, False)
        count = read_words(&state.reader, &state.words)
        if count <= 0:
            return count
        n = state.words.lengths[0]
        if not grow(<void**> &state.out, &state.out_slots, 4 * n + 4, sizeof(uint32_t)):
            return NO_MEMORY
        count = best_path(
            model, &state.paths, state.reader.buffer + state.words.starts[0], n, state.out, NULL,
            NULL,
        )
        if count >= 0 and (
            not state.paths.is_sure or (model.fuses and state.paths.begins_unknown)
        ):
            return NOT_FOUND
        return count

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

    cdef Py_ssize_t find_head(
        self, WordState* state, Py_ssize_t start, SliceHead* head
    ) noexcept nogil:
        """Find the first start of slices that begin at a place. Returns a status."""
        head.asked = start
        head.start = self.after_white(start)
        head.first = self.first_start(state, head.start)
        head.tokens = 0 if head.first == head.start else UNKNOWN
        return NO_MEMORY if head.first == NO_MEMORY else 0

    cdef Py_ssize_t count_head(self, WordState* state, SliceHead* head) noexcept nogil:
        """The tokens before the first start, which there is; or a status."""
        if head.tokens == UNKNOWN:
            head.tokens = self.count_alone(state, head.start, head.first)
        return head.tokens

    cdef Py_ssize_t count_slice(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of a slice; or NO_MEMORY."""
        cdef SliceHead head
        cdef Py_ssize_t status = self.find_head(state, start, &head)
        return self.count_from(state, &head, end) if status >= 0 else status

    cdef Py_ssize_t count_from(
        self, WordState* state, SliceHead* head, Py_ssize_t end
    ) noexcept nogil:
        """The same of a slice whose head is known."""
        cdef Py_ssize_t start = head.start, first = head.first, last, before, tail = 0
        if start >= end:
            return 0
        if first == NOT_FOUND or first > end:
            return self.count_alone(state, start, end)
        last = last_start(&self.starts, end)
        before = self.count_head(state, head)
        if before < 0:
            return before
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
        return before + tokens_before(&self.starts, last) - tokens_before(&self.starts, first) + tail

    cdef Py_ssize_t characters_counted(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Characters of a slice that its count encodes: those before and after its starts."""
        cdef Py_ssize_t first = next_start(&self.starts, start)
        if first == NOT_FOUND or first > end:
            return end - start
        return first - start + end - last_start(&self.starts, end)

    cdef Py_ssize_t after_white(self, Py_ssize_t start) noexcept nogil:
        """Where a slice begins whose white space at the start is cut off."""
        if not self.strips_start:
            return start
        while start < self.text.n and self.char_map.flags_at(&self.text, start) & WHITE:
            start += 1
        return start

    cdef Py_ssize_t count_alone(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil:
        """Count the tokens of a slice by encoding it; or a status."""
        if has_entangled(&self.starts, start, end):
            return self.ask_count(start, end, False)
        return count_stretch(&self.encoder.model, state, start, end, self.encoder.prefixes)

    cdef Py_ssize_t ask_count(
        self, Py_ssize_t start, Py_ssize_t end, bint inside
    ) noexcept with gil:
        """Count the tokens of a slice with entangled characters; or INTERRUPTED."""
        try:
            return self.parts.count(start, end, inside)
        except BaseException as error:
            PyErr_SetObject(type(error), error)
            return INTERRUPTED

    cdef Py_ssize_t ask_longest_fit(
        self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n, bint inside
    ) noexcept with gil:
        """The greatest end, up to this one, of such a slice with at most n tokens."""
        try:
            return self.parts.longest_fit(start, end, n, inside)
        except BaseException as error:
            PyErr_SetObject(type(error), error)
            return INTERRUPTED

    cdef Py_ssize_t last_place(
        self, WordState* state, SliceHead* head, Py_ssize_t n
    ) noexcept nogil:
        """A place after which no slice from a start has at most n tokens; or a status.

        It is before the first start with more tokens before it.
        """
        cdef Py_ssize_t before, rank
        if head.first == NOT_FOUND or has_entangled(&self.starts, head.start, head.first):
            return self.longest_fit(state, head, n)
        before = self.count_head(state, head)
        if before < 0:
            return before
        if before > n:
            return head.first
        rank = self.rank_of(head.first)
        rank = self.last_rank(rank, self.starts.sums[rank] + n - before) + 1
        if rank == self.starts.count:
            return self.starts.n
        return start_of_rank(&self.starts, rank) - 1

    cdef Py_ssize_t last_rank(self, Py_ssize_t rank, int64_t most) noexcept nogil:
        """The last start, from a given one on, with at most so many tokens before it."""
        cdef Py_ssize_t low = rank, high = self.starts.count, middle
        while low + 1 < high:
            middle = (low + high) >> 1
            if self.starts.sums[middle] <= most:
                low = middle
            else:
                high = middle
        return low

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
        limit = self.starts.n if first == NOT_FOUND else first
        if has_entangled(&self.starts, start, limit):
            place = self.ask_longest_fit(start, limit, n, False)
            if place < limit or first == NOT_FOUND:
                return place
        else:
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
        rank = self.rank_of(first)
        # No end after a start with more tokens before it fits: the last one that has no more.
        left = self.starts.sums[rank] + n
        low = self.last_rank(rank, left)
        place = start_of_rank(&self.starts, low)
        limit = self.starts.n
        if low + 1 < self.starts.count:
            limit = start_of_rank(&self.starts, low + 1) - 1
        if place > start and is_joint(&self.starts, place):
            # What is unknown after a joint may be one token with what is before it.
            if low == rank:
                return self.best_end(state, start, start, limit, n + before)
            low -= 1
            place = start_of_rank(&self.starts, low)
        return self.best_end(state, start, place, limit, left - self.starts.sums[low])

    cdef Py_ssize_t end_in_window(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n
    ) noexcept nogil:
        """The greatest end of a slice in a long word of Unigram, without reading all of it.

        NOT_FOUND where that ends at or after `stop`, or outside the first word; or NO_MEMORY.
        """
        cdef Py_ssize_t width = WINDOW_TOKEN * min(n, self.starts.n) + WINDOW, best, outcome
        if self.encoder.model.kind != UNIGRAM:
            return NOT_FOUND
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
                if outcome == NO_MEMORY:
                    return outcome
                if self.is_settled(state, n):
                    return best
            width *= 4
        return NOT_FOUND

    cdef bint is_settled(self, WordState* state, Py_ssize_t n) noexcept nogil:
        """Whether no end after the word that try_ends looked into has at most n tokens.

        The path to any such end goes through one of the last places of the word, which are as
        many as the longest token has bytes, and has no fewer tokens than the path to there.
        """
        cdef Py_ssize_t length = state.words.lengths[0], at
        cdef const uint8_t* data = state.reader.buffer + state.words.starts[0]
        cdef const WordModel* model = &self.encoder.model
        if length <= model.longest:
            return False
        for at in range(length - model.longest, length + 1):
            if (at == length or not is_continuation(data[at])) and state.spans[at] <= n:
                return False
        return True

    cdef Py_ssize_t rank_of(self, Py_ssize_t at) noexcept nogil:
        cdef uint64_t below = self.starts.bits[at >> 6] & ((<uint64_t> 1 << (at & 63)) - 1)
        return self.starts.ranks[at >> 6] + popcount(below)

    cdef Py_ssize_t best_end(
        self, WordState* state, Py_ssize_t start, Py_ssize_t place, Py_ssize_t limit, Py_ssize_t n
    ) noexcept nogil:
        """The greatest end from `place` to `limit` such that text[place:end] has at most n tokens.

        `place` is the slice's start, or a start after it.
        """
        cdef Py_ssize_t totals[WORD_SLOTS]
        cdef Py_ssize_t best = place, count, total = 0, outcome = 0, word
        cdef bint inside = place > start and is_joint(&self.starts, place), first = True
        cdef Reader* reader = &state.reader
        if place >= limit:
            return place
        if begins_entangled(&self.starts, place):
            return self.ask_longest_fit(place, limit, n, place > start)
        if inside:
            count = self.count_sure_word(state, place, limit)
            if count == NOT_FOUND:
                return self.best_end_slowly(state, start, place, limit, n)
            if count < 0:
                return count
        start_reading(reader, place, limit, self.encoder.prefixes and not inside)
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
                outcome = self.try_last(state, word, total, totals, n, inside, first, &best)
            total += totals[count - 1]
            first = False
        reader.traces = False
        if outcome == UNKNOWN:
            return self.best_end_slowly(state, start, place, limit, n)
        if outcome < 0:
            return outcome
        return limit if total <= n else best

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
        cdef const WordModel* model = &self.encoder.model
        cdef Py_ssize_t length = state.words.lengths[word], at
        cdef const uint8_t* data = state.reader.buffer + state.words.starts[word]
        cdef const Py_ssize_t* origins = state.reader.origins + state.words.starts[word]
        cdef Py_ssize_t* counts
        if not state.words.begins_inside[word]:
            best[0] = max(best[0], state.words.firsts[word])
        if state.reader.strips_end and state.words.begins_blank[word]:
            self.try_blank(state, word, before, n, best)
        if length == TOO_LONG:
            # The text goes on in its last character: rare enough to try all cuts.
            return UNKNOWN if before < n else before + 1
        if not grow(<void**> &state.spans, &state.span_slots, length + 1, sizeof(Py_ssize_t)):
            return NO_MEMORY
        counts = state.spans
        if model.kind == UNIGRAM:
            if count_prefixes(model, &state.paths, data, length, counts) < 0:
                return NO_MEMORY
            if inside and not state.paths.is_sure:
                return UNKNOWN
        else:
            count_matches(model, data, length, counts)
        for at in range(1, length):
            if origins[at] != origins[at - 1] and before + counts[at] <= n:
                best[0] = max(best[0], origins[at])
        return before + counts[length]

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
        """The same by counting slices: where the score of the word before could change tokens."""
        cdef Py_ssize_t end = limit, count, most
        count = self.count_alone(state, start, place)
        if count < 0:
            return count
        most = count + n
        while end > place:
            count = self.count_alone(state, start, end)
            if count < 0:
                return count
            if count <= most:
                return end
            end -= 1
        return place

    # What Python calls

    @property
    def settled(self):
        """Tokens before a start near the end: a cut within a lower budget is not moved by more text.

        More text may change the last character, or the marks at the end and what is before them.
        """
        cdef Py_ssize_t at = self.starts.n
        while at > 0 and self.char_map.flags_at(&self.text, at - 1) & PAIR:
            at -= 1
        return tokens_before(&self.starts, last_start(&self.starts, at - 2)) if at > 1 else 0

    @property
    def nbytes(self):
        """The memory it uses in bytes, without the text."""
        cdef Py_ssize_t bytes_of_word = 20 if self.starts.entangled == NULL else 28
        return bytes_of_word * ((self.starts.n >> 6) + 1) + self.starts.slots * sizeof(int64_t)

    def start_from(self, Py_ssize_t at):
        """The first start from a place on, or -1."""
        return next_start(&self.starts, at)

    def count(self, Py_ssize_t start, Py_ssize_t end):
        """Count the tokens of a slice; the offsets are right."""
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t count
        self.encoder.begin(&owned.state, self.char_map, self.held)
        if end - start < NOGIL_CHARS:
            count = self.count_slice(&owned.state, start, end)
        else:
            with nogil:
                count = self.count_slice(&owned.state, start, end)
        self.encoder.check(count)
        self.encoder.release(owned)
        return count

    def count_many(self, const int64_t[:, ::1] spans not None):
        """Count the tokens of many slices, whose offsets are right. int64, shape (n,)."""
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t row, count = 0
        counts = np.zeros(spans.shape[0], dtype=np.int64)
        cdef int64_t[::1] out = counts
        self.encoder.begin(&owned.state, self.char_map, self.held)
        with nogil:
            for row in range(spans.shape[0]):
                count = self.count_slice(&owned.state, spans[row, 0], spans[row, 1])
                if count < 0:
                    break
                out[row] = count
        self.encoder.check(count)
        self.encoder.release(owned)
        return counts

    def split_at(self, Py_ssize_t start, n):
        """The greatest end of a slice from `start`, which is right, with at most n tokens."""
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t end, most = min(n, MOST_TOKENS)
        self.encoder.begin(&owned.state, self.char_map, self.held)
        with nogil:
            end = self.longest_from(&owned.state, start, most)
        self.encoder.check(end)
        self.encoder.release(owned)
        return end

    def cut_all(self, n, overlap=0):
        """Cut the text into slices of at most n tokens, each as long as possible.

        Args:
            n: tokens of a slice.
            overlap: tokens that it shares with the one before: it starts where stepping back, character
                by character, exceeds them, or at the next character from which it adds text.

        Returns:
            int64, shape (4 * slices,): start, end and tokens of each, and whether it ends at the
            text's end. The last one ends before it where the next character does not fit.
        """
        cdef OwnedWordState owned = self.encoder.take()
        cdef Py_ssize_t start = 0, end = 0, floor = 0, most = min(n, MOST_TOKENS), count = 0
        cdef Py_ssize_t shared = min(overlap, MOST_TOKENS)
        cdef Watch watch
        memset(&watch, 0, sizeof(watch))
        watch.is_on = True
        rows = array("q")
        self.encoder.begin(&owned.state, self.char_map, self.held)
        while floor < self.starts.n:
            PyErr_CheckSignals()
            with nogil:
                if shared > 0:
                    start = self.farthest_overlap(&owned.state, &watch, start, floor, shared)
                end = self.longest_from(&owned.state, start, most) if start >= 0 else start
                while 0 <= end <= floor and start < floor:
                    start += 1
                    end = self.longest_from(&owned.state, start, most)
                    if is_interrupted(&watch, COST * (floor - start)):
                        end = INTERRUPTED
                if end > start:
                    count = self.count_slice(&owned.state, start, end)
            self.encoder.check(min(end, count))
            if end <= floor:
                break
            rows.extend((start, end, count, end == self.starts.n))
            floor = end
            if shared == 0:
                start = end
        self.encoder.release(owned)
        return memoryview(rows)

    cdef Py_ssize_t farthest_overlap(
        self, WordState* state, Watch* watch, Py_ssize_t start, Py_ssize_t end, Py_ssize_t most
    ) noexcept nogil:
        """Step back from a slice's end while the text stepped over fits; or a status."""
        cdef Py_ssize_t at = end, tokens
        while at - 1 > start:
            tokens = self.count_slice(state, at - 1, end)
            if tokens < 0:
                return tokens
            if tokens > most:
                break
            at -= 1
            if is_interrupted(watch, COST * (1 + self.characters_counted(at, end))):
                return INTERRUPTED
        return at
