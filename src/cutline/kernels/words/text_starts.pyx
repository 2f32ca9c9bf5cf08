"""Where the starts of a text are, after one pass over its words. Source: docs/words.md.

Long words of Unigram have joints: starts inside them. Parts whose characters are entangled have
none inside, and Python is asked for their tokens.

Guarded by tests/words/test_sparse_starts.py.
"""

from cpython.exc cimport PyErr_SetObject
from cython cimport auto_pickle
from libc.stdlib cimport free

from cutline.kernels.base.characters cimport Characters, char_at, characters_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, NOT_FOUND, UNKNOWN, grow, int64_t, memset, uint8_t, uint32_t, uint64_t,
    unlikely,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.encode.caches cimport STORED_BYTES
from cutline.kernels.encode.runs cimport Runs, Separators, find_runs
from cutline.kernels.words.char_map cimport PAIR, is_changed
from cutline.kernels.words.encoder cimport WordEncoder
from cutline.kernels.words.model cimport UNIGRAM, WordModel
from cutline.kernels.words.reader cimport (
    FIRSTS, PLACES, WORD_SLOTS, Words, ends_cut_off, read_words, start_reading,
)
from cutline.kernels.words.run_counts cimport count_changed, count_closed_runs, count_new_runs
from cutline.kernels.words.segment_joints cimport join_segments
from cutline.kernels.words.segments cimport encode_segments
from cutline.kernels.words.separators cimport closed_run, ends_closed, ends_word, is_separator
from cutline.kernels.words.starts cimport (
    Starts, add_ready_joint, add_ready_start, add_start, begins_entangled, has_entangled, have_room,
    last_start, last_unranked_start, next_start, popcount, tokens_before,
)
from cutline.kernels.words.stretches cimport ANY_LENGTH, count_stretch, count_words
from cutline.kernels.words.unigram cimport Joints, MOST_SUM, best_path, rounding_of
from cutline.kernels.words.unsure_parts cimport UnsurePart
from cutline.kernels.words.word_state cimport OwnedWordState, WordState, make_room

cdef enum:
    MOST_KNOWN = 1 << 16    # so far from 0 sums may be at unsure parts that are told
    LONG_WORD = 64          # bytes: longer words get joints
    MOST_SINGLE = 1024      # ... but where sums are rounded so much that none would be sure
    GAP_STEP = 64           # characters without a word from one start to the next
    CHARACTERS_A_TOKEN = 4
    WORDS_A_START = 4       # where a text is read word by word
    MOST_APART = 1024       # characters of the words that are read at once
    FAR = 16                # characters for each token of a gap: no start is left out in what is longer
    LEAST_LOOKED_UP = 128   # characters whose runs are looked up: some near the end are not found


@auto_pickle(False)
cdef class TextStarts:
    """The starts of one text.

    Args:
        encoder: counts.
        text: has no surrogates.
        parts_of: called where characters are entangled; returns what counts slices of parts with
            such: by `count(start, end, inside)`, and `longest_fit(start, end, n, inside)`, the
            greatest end up to this one; inside: the slice goes on there. Its `edges`: int64, starts
            and ends in turn of these parts; both are where a word ends whatever is around
            (`CharMap.entangled_parts`). They are not asked for where runs are looked up.
        is_plain: the text is normalized.
        gap: tokens from one start to the next at most, roughly, for few slices that are much longer.
            Then a text is counted as fast as `WordEncoder.count` does. 0: slices are many.
        before: bytes that its first word may have before it: joints are such with them, too.
    """

    def __cinit__(
        self, WordEncoder encoder not None, str text not None, parts_of=None, bint is_plain=False,
        Py_ssize_t gap=0, Py_ssize_t before=0,
    ):
        cdef OwnedWordState owned
        cdef Py_ssize_t outcome
        cdef bint is_entangled
        self.encoder = encoder
        self.char_map = encoder.plain if is_plain else encoder.raw
        self.before = before
        self.has_scores = encoder.model.is_falling and encoder.model.has_segments and before == 0
        # Where sums begin anew inside a token, its path is behind by as much as its characters have.
        self.is_rounded = (
            self.has_scores and encoder.model.is_single
            and encoder.model.longest * encoder.model.most_score < MOST_SUM - MOST_KNOWN
        )
        self.are_few = gap > 0
        self.gap = gap if encoder.separators.are_known and not is_plain else 0
        is_entangled = self.char_map.prepare(text) >= 0
        if is_entangled:
            if parts_of is None:
                raise ValueError("characters of the text are entangled")
            self.parts = parts_of()
            self.char_map.prepare_all(text)
        self.held = text
        self.text = characters_of(text)
        self.strips_start = encoder.strips_start and not is_plain
        self.starts.n = len(text)
        self.by_runs = (
            is_entangled and self.gap > 0 and encoder.model.kind == UNIGRAM
            and encoder.changed_runs is not None
        )
        owned = encoder.take()
        outcome = self.build_with(&owned.state, None if self.by_runs else self.parts)
        if outcome == UNKNOWN:
            self.by_runs = False
            outcome = self.build_with(&owned.state, self.parts)
        encoder.check(outcome)
        encoder.release(owned)

    def __dealloc__(self):
        free(self.starts.sums)
        free(self.memory)
        free(self.scores)
        free(self.unsure.items)

    cdef Py_ssize_t build_with(self, WordState* state, parts) except? -1:
        """Build all; see `build`. Parts with entangled characters are none if runs have them."""
        cdef const int64_t[::1] edges = None if parts is None else parts.edges
        cdef Py_ssize_t outcome
        if not self.reserve(parts is not None):
            raise MemoryError(f"no memory for the starts of {self.starts.n} characters of text")
        self.begin_starts()
        self.encoder.begin(state, self.char_map, self.held)
        state.paths.watch.is_on = True
        state.may_change = self.by_runs
        with nogil:
            if edges is None:
                outcome = self.build(state, NULL, 0)
            else:
                outcome = self.build(state, &edges[0], edges.shape[0])
            self.rank()
        state.may_change = False
        return outcome

    cdef void begin_starts(self) noexcept nogil:
        """Begin with no start."""
        self.starts.count = self.total = self.longest_word = 0
        self.unsure.count = self.unsure.more = self.n_joined = 0

    cdef bint reserve(self, bint has_parts) noexcept nogil:
        """Make bitmaps. False: no memory."""
        cdef Py_ssize_t slots = (self.starts.n >> 6) + 1, n = (5 * slots + 1) // 2
        if has_parts:
            n += slots
        if not grow(<void**> &self.memory, &self.memory_slots, n, sizeof(uint64_t)):
            return False
        memset(self.memory, 0, n * sizeof(uint64_t))
        self.starts.bits = self.memory
        self.starts.joined = self.memory + slots
        self.starts.entangled = self.memory + 2 * slots if has_parts else NULL
        self.starts.ranks = <uint32_t*> (self.memory + (3 if has_parts else 2) * slots)
        return True

    cdef Py_ssize_t take_text(self, WordState* state, const Characters* text) noexcept nogil:
        """Begin with another text, which outlives this or the next one, as `build` does.

        None of its characters are entangled, and their blocks are made. The state was begun.
        """
        self.text = text[0]
        self.starts.n = text.n
        if not self.reserve(False):
            return NO_MEMORY
        self.begin_starts()
        state.reader.text = text[0]
        state.prefixes.start = NOT_FOUND
        cdef Py_ssize_t outcome = self.build(state, NULL, 0)
        self.rank()
        return outcome

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
        """Find the starts of the text. 0, NO_MEMORY or INTERRUPTED.

        UNKNOWN: runs are looked up, and some of them are not apart from what is around.
        """
        cdef Py_ssize_t at, start = 0, outcome = 0
        cdef Joints joints
        joints.items = NULL
        joints.slots = joints.count = 0
        if not add_start(&self.starts, 0, 0):
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
        if not add_start(&self.starts, start, self.total):
            return NO_MEMORY
        self.starts.entangled[start >> 6] |= <uint64_t> 1 << (start & 63)
        self.total += tokens
        return 0

    cdef Py_ssize_t add_stretch(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop, Joints* joints
    ) noexcept nogil:
        """Add starts of a stretch without entangled characters. Returns what `build` does.

        With a gap, they are before some words, or runs: what is before and after is counted apart
        (docs/words.md, "Slices and cuts"). Where there are none for long, all starts are added.
        """
        cdef Py_ssize_t end, outcome = 0, step = CHARACTERS_A_TOKEN * self.gap
        if self.gap == 0:
            return self.add_words(state, start, stop, joints)
        while start < stop:
            if self.encoder.model.kind != UNIGRAM:
                start = self.add_some_words(state, start, stop)
                if start < 0:
                    return start
                continue
            if stop - start > LEAST_LOOKED_UP:
                start = self.add_runs(state, start, stop)
                if start < 0:
                    return start
            end = self.next_closed(state, start + step, stop)
            if self.by_runs and is_changed(state.reader.blocks, &self.text, start, end):
                outcome = self.add_changed(state, start, end)
            elif end - start > FAR * self.gap:
                outcome = self.add_words(state, start, end, joints)
            elif not add_start(&self.starts, start, self.total):
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

    cdef Py_ssize_t add_changed(
        self, WordState* state, Py_ssize_t start, Py_ssize_t end
    ) noexcept nogil:
        """Add a short stretch between separators with entangled characters. Returns what `build` does."""
        cdef Py_ssize_t first = start, tokens
        if end - start > FAR * self.gap or not add_start(&self.starts, start, self.total):
            return UNKNOWN if end - start > FAR * self.gap else NO_MEMORY
        if end == self.starts.n:
            tokens = self.ask_count(start, end, start > 0)
        else:
            while is_separator(&self.encoder.separators, char_at(&self.text, first)):
                first += 1
            end = self.before_removed(first, end)
            tokens = count_changed(state, first, end, self.encoder.prefixes)
        self.total += max(tokens, 0)
        return min(tokens, 0)

    cdef Py_ssize_t before_removed(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """The end of a stretch without the separators that are removed at its end."""
        cdef const Separators* separators = &self.encoder.separators
        while (
            separators.are_removed and end > start
            and is_separator(separators, char_at(&self.text, end - 1))
        ):
            end -= 1
        return end

    cdef Py_ssize_t next_closed(
        self, WordState* state, Py_ssize_t at, Py_ssize_t stop
    ) noexcept nogil:
        """The first place, from one on, before which nothing goes on or is a part of what follows.

        It is `stop`, or at a separator, or where a word ends whatever comes after, unless that may
        change with it.
        """
        cdef const Separators* separators = &self.encoder.separators
        while at < stop:
            if (
                is_separator(separators, char_at(&self.text, at))
                or (not self.by_runs and ends_word(state.reader.blocks, &self.text, at))
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
        """Look runs up, and add a start before each. Returns how far that went, or a status.

        It ends at a long run, near the end, and where the run is not closed that ends a batch.
        """
        cdef Runs* runs = &state.runs
        cdef Characters text = self.text
        cdef Py_ssize_t at = start, begun, run, first, count
        cdef int64_t total = self.total
        text.n = stop
        cdef Separators separators = self.encoder.separators
        # Where a part with entangled characters ends, the first run may follow no separator.
        if start > 0 and not is_separator(&separators, char_at(&text, start)) and not (
            separators.are_removed and is_separator(&separators, char_at(&text, start - 1))
        ):
            return start
        if not add_start(&self.starts, start, total):
            return NO_MEMORY
        while True:
            begun = at
            make_room(state)
            find_runs(
                runs, &text, at, separators, state.first_level, state.line_mask, &state.store
            )
            if not runs.are_known:
                count_new_runs(&self.encoder.model, state, self.encoder.prefixes)
            if not have_room(&self.starts, runs.count):
                return NO_MEMORY
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
                # What is removed is no part of a run: the next chunk begins after it.
                if separators.are_removed:
                    at = runs.edges[2 * first]
                add_ready_start(&self.starts, at, total)
                if unlikely(count < 0):
                    count = count_closed_runs(
                        &self.encoder.model, state, first, run, self.encoder.prefixes
                    )
                    if count < 0:
                        return count
                total += count
                at = runs.edges[2 * run + 1]
                run += 1
            self.total = total
            if at == begun or run < runs.count:
                return at
            if is_interrupted(&state.paths.watch, at - begun):
                return INTERRUPTED

    cdef Py_ssize_t add_some_words(
        self, WordState* state, Py_ssize_t start, Py_ssize_t stop
    ) noexcept nogil:
        """Count words, and add starts before some of them. Returns how far that went, or a status.

        Of words that are long or far apart, all starts are added.
        """
        cdef Py_ssize_t totals[WORD_SLOTS]
        cdef Words* words = &state.words
        cdef Py_ssize_t n, outcome = 0, last = start
        if not add_start(&self.starts, start, self.total):
            return NO_MEMORY
        start_reading(&state.reader, start, stop, self.encoder.prefixes)
        state.reader.locates = FIRSTS
        while True:
            n = outcome = read_words(&state.reader, words)
            if n <= 0 or state.reader.at - last > MOST_APART:
                break
            outcome = count_words(&self.encoder.model, state, ANY_LENGTH, totals)
            if outcome < 0 or not self.add_batch(state, totals):
                break
            last = words.firsts[n - 1]
        state.reader.locates = 0
        if outcome < 0:
            return outcome
        if state.reader.at - last <= MOST_APART:
            return stop if n == 0 else NO_MEMORY
        stop = self.next_closed(state, state.reader.at, stop)
        if n > 0 and words.firsts[n - 1] > last and self.is_start(state, n - 1):
            stop = words.firsts[n - 1]
        last = last_unranked_start(&self.starts, last)
        self.total = self.starts.sums[self.starts.count - 1]
        outcome = self.add_words(state, last, stop, NULL)
        return outcome if outcome < 0 else stop

    cdef bint add_batch(self, WordState* state, const Py_ssize_t* totals) noexcept nogil:
        """Add starts before some words of a batch. False: no memory.

        Args:
            totals: tokens up to and with each word.
        """
        cdef Starts* starts = &self.starts
        cdef Py_ssize_t word = 0, n = state.words.count, before = 0
        cdef Py_ssize_t step = min(self.gap, WORDS_A_START)
        if not have_room(starts, n):
            return False
        while word < n:
            if self.is_start(state, word):
                add_ready_start(starts, state.words.firsts[word], self.total + before)
            word += step
            before = totals[min(word, n) - 1]
        self.total += totals[n - 1]
        return True

    cdef inline bint is_start(self, const WordState* state, Py_ssize_t word) noexcept nogil:
        """Whether a word begins at its first character whatever is before that."""
        return not state.words.begins_inside[word] and (
            # Where a blank is none at the end of a text, what is before it depends on it.
            not self.encoder.strips_end
            or ends_closed(state.reader.blocks, &self.text, state.words.firsts[word])
        )

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
        if not add_start(&self.starts, start, tokens):
            return NO_MEMORY
        start_reading(&state.reader, start, stop, self.encoder.prefixes)
        state.reader.locates = PLACES
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
                    if not add_start(&self.starts, words.firsts[word], tokens + before):
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
        state.reader.locates = 0
        state.reader.traces = False
        self.total = tokens
        return 0 if self.add_gap(end, stop, tokens) else NO_MEMORY

    cdef bint add_gap(self, Py_ssize_t start, Py_ssize_t end, int64_t tokens) noexcept nogil:
        """Add starts to a long stretch between two words."""
        while end - start > GAP_STEP and not self.encoder.collapses:
            if not add_start(&self.starts, start, tokens):
                return False
            start += GAP_STEP
        return True

    cdef Py_ssize_t add_joints(
        self, WordState* state, Py_ssize_t word, int64_t before, Joints* joints
    ) noexcept nogil:
        """Add the joints of a long word. Returns its tokens, NO_MEMORY or INTERRUPTED."""
        cdef const uint8_t* data = state.reader.buffer + state.words.starts[word]
        cdef const Py_ssize_t* origins = state.reader.origins + state.words.starts[word]
        cdef Py_ssize_t n = state.words.lengths[word], at, place, count, part = self.unsure.count
        count = self.join(state, data, n, joints)
        if count < 0:
            return count
        if not have_room(&self.starts, joints.count) or self.has_scores and not grow(
            <void**> &self.scores, &self.score_slots, self.starts.count + joints.count,
            sizeof(double),
        ):
            return NO_MEMORY
        for at in range(joints.count):
            place = joints.items[at].at
            # A slice that ends after such a blank has fewer tokens than the text up to it.
            if origins[place] == origins[place - 1] or ends_cut_off(
                &state.reader, state.words.starts[word] + place
            ):
                continue
            add_ready_joint(&self.starts, origins[place], before + joints.items[at].tokens)
            if self.has_scores:
                self.scores[self.starts.count - 1] = joints.items[at].score
        self.n_joined += joints.count > 0
        self.locate_unsure(state, word, part, before)
        return count

    cdef void locate_unsure(
        self, const WordState* state, Py_ssize_t word, Py_ssize_t part, int64_t before
    ) noexcept nogil:
        """Tell where the unsure parts of a word, from one on, are in the text."""
        cdef const Py_ssize_t* origins = state.reader.origins + state.words.starts[word]
        for part in range(part, self.unsure.count):
            self.unsure.items[part].at = origins[self.unsure.items[part].at]
            self.unsure.items[part].word = state.words.firsts[word]
            self.unsure.items[part].tokens += before

    cdef Py_ssize_t join(
        self, WordState* state, const uint8_t* word, Py_ssize_t n, Joints* joints
    ) noexcept nogil:
        """Find the joints of a long word. Returns its tokens, NO_MEMORY or INTERRUPTED."""
        cdef const WordModel* model = &self.encoder.model
        cdef Py_ssize_t count, part = self.unsure.count
        cdef double score = 0
        cdef bint is_sure = self.is_rounded or not model.is_single or n <= MOST_SINGLE
        joints.count = 0
        if is_sure:
            self.longest_word = max(self.longest_word, n)
        elif model.has_segments:
            return encode_segments(model, state, word, n, NULL)
        if self.is_rounded or (model.has_segments and n > STORED_BYTES and not model.is_single):
            count = join_segments(
                model, state, word, n, n + self.before, self.are_few, joints, &self.unsure
            )
            if self.before > 0 and self.unsure.count > part:
                # Sums before the word decide about all that comes after such a part.
                joints.count = 0
                self.unsure.count = part
            return count
        if not grow(<void**> &state.out, &state.out_slots, 4 * n + 4, sizeof(uint32_t)):
            return NO_MEMORY
        count = best_path(
            model, &state.paths, word, n, &score, state.out, NULL, joints if is_sure else NULL,
            is_sure, rounding_of(model, n + self.before),
        )
        if not state.paths.is_sure:
            joints.count = 0
        return count

    cdef bint has_entangled(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Whether a slice has entangled characters, or some of a part that is counted as a whole."""
        if self.by_runs:
            return is_changed(self.char_map.blocks, &self.text, start, end)
        return has_entangled(&self.starts, start, end)

    cdef bint begins_entangled(self, Py_ssize_t place, Py_ssize_t end) noexcept nogil:
        """Whether what is between a start and a place up to the next one is entangled."""
        if self.by_runs:
            return is_changed(self.char_map.blocks, &self.text, place, end)
        return begins_entangled(&self.starts, place)

    cdef Py_ssize_t ask_count(
        self, Py_ssize_t start, Py_ssize_t end, bint inside
    ) noexcept with gil:
        """Count the tokens of a slice with entangled characters; or INTERRUPTED."""
        try:
            return self.parts.count(start, end, inside)
        except BaseException as error:
            PyErr_SetObject(type(error), error)
            return INTERRUPTED

    @property
    def settled(self):
        """Tokens before a start near the end: a cut within a lower budget is not moved by more text."""
        cdef Py_ssize_t start = self.settled_start()
        return tokens_before(&self.starts, start) if start > 0 else 0

    def settled_start(self):
        """This start; or 0. More text may change the last character, or the marks at the end and what
        is before them.
        """
        cdef Py_ssize_t at = self.starts.n
        while at > 0 and self.char_map.flags_at(&self.text, at - 1) & PAIR:
            at -= 1
        return last_start(&self.starts, at - 2) if at > 1 else 0

    @property
    def nbytes(self):
        """The memory it uses in bytes, without the text."""
        cdef Py_ssize_t bytes_of_word = 20 if self.starts.entangled == NULL else 28
        return (
            bytes_of_word * ((self.starts.n >> 6) + 1) + self.starts.slots * sizeof(int64_t)
            + self.score_slots * sizeof(double) + self.unsure.slots * sizeof(UnsurePart)
        )

    def start_from(self, Py_ssize_t at):
        """The first start from a place on, or -1."""
        return next_start(&self.starts, at)
