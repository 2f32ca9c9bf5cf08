"""A model of words: its tables, and what Python asks of it.

Guarded by tests/words/test_encoding.py.
"""

from cpython.exc cimport PyErr_CheckSignals
from cython cimport auto_pickle
from libc.stdlib cimport calloc, free

from cutline.kernels.base.late import numpy as np

from cutline.kernels.base.characters cimport characters_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NONE, NOT_FOUND, UNKNOWN, int64_t, memcpy, same_bytes, uint8_t, uint16_t, uint32_t,
)
from cutline.kernels.base.signals cimport raise_pending
from cutline.kernels.encode.decode cimport list_of_ids
from cutline.kernels.encode.runs cimport Separators
from cutline.kernels.words.char_map cimport CharMap
from cutline.kernels.words.double_array cimport free_slots, pack_slots
from cutline.kernels.words.images cimport META
from cutline.kernels.words.model cimport UNIGRAM, WORD_PIECE
from cutline.kernels.words.reader cimport Reader
from cutline.kernels.words.run_counts cimport count_runs, count_text
from cutline.kernels.words.segments cimport has_late_blank
from cutline.kernels.words.separators cimport separators_of
from cutline.kernels.words.stretches cimport encode_stretch, trace_stretch
from cutline.kernels.words.trie cimport (
    NODE_BITS, add_token, find_in_trie, free_spellings, free_trie, link_trie, pack_trie,
    start_spellings,
)
from cutline.kernels.words.word_state cimport OwnedWordState, WordState

cdef enum:
    # Tables of WordPiece: pages met first cost more than what is looked up saves.
    FIRST_LEVEL_BITS = 17
    STORE_BITS = 16
    # ... and of Unigram, whose words are more, and take longer.
    UNIGRAM_BITS = 18
    STEP_BITS = 15
    # Of the first level, before more of it is used: to encode a word of WordPiece again takes less
    # than pages of memory that few words share.
    LINES_A_PIECE = 1
    UNIGRAM_LINES_A_PIECE = 2
    KEPT_STATES = 16
    NOGIL_CHARS = 4096
    LEAST_CHANGING = 128        # characters whose runs are looked up: some near the end are not found
    MOST_SCORE = 30_000         # from MOST_SUM to 2 ** 17 there is room for one
    SPARSEST = 4                # times as many ids as tokens, and more, have no table
    LEAST_LENGTHS = 1 << 12
    MOST_BYTES = 0xFFFF         # of a token that the table has
    WATCHED = 1 << 12           # tokens from one look for signals to the next


@auto_pickle(False)
cdef class WordEncoder:
    """A model of words, and what it does to texts whose characters do not change one another.

    Args:
        raw: the images of characters of texts as they are.
        plain: those of normalized texts.
        arena: the tokens in UTF-8, with META for the replacement of a blank, joined.
        offsets: int64, shape (n + 1,); token k is `arena[offsets[k]:offsets[k + 1]]`.
        ids: uint32, of each token.
        unk_id: the id of what is unknown.
        options: `prefixes`, `collapses`, `strips_end` of the reader; `changed_runs`: counts what
            characters that change one another become (None: it is not known run by run);
            `strips_start`: slices do not begin with white space; and of WordPiece
            `continuation` (bytes) and `most_characters`; of Unigram `scores` (float64), `fuses`,
            `is_single` (sums are rounded to single precision), `meta` (the bytes that META stands
            for) and `byte_ids` (uint32, shape (256,), or None).
    """

    def __cinit__(
        self, CharMap raw not None, CharMap plain not None, bytes arena not None,
        const int64_t[::1] offsets not None, const uint32_t[::1] ids not None, uint32_t unk_id,
        dict options not None,
    ):
        cdef const uint8_t* token
        cdef Py_ssize_t number = 0, n, longest = 0, n_before, readable, n_tokens = ids.shape[0]
        cdef uint32_t highest = 0
        cdef const double[::1] scores
        cdef const uint32_t[::1] byte_ids
        cdef bytes meta, continuation = options.get("continuation", b"")
        cdef bint is_cut = "scores" not in options
        cdef uint8_t blank = META
        self.raw = raw
        self.plain = plain
        self.idle = []
        self.changed_runs = options.get("changed_runs")
        self.prefixes = options["prefixes"]
        self.collapses = options["collapses"]
        self.strips_end = options["strips_end"]
        self.strips_start = options["strips_start"]
        self.most_characters = options.get("most_characters", 0)
        self.model.unk_id = unk_id
        self.model.ids = &ids[0] if ids.shape[0] else NULL
        self.held = [ids]
        if not start_spellings(&self.spellings, ids.shape[0]):
            raise MemoryError("no memory for the tokens of a vocabulary")
        if "scores" in options:
            self.model.kind = UNIGRAM
            scores = options["scores"]
            self.held.append(scores)
            self.model.unk_score = options["unk_score"]
            self.model.most_score = options["most_score"]
            self.model.rounding = options["rounding"]
            self.model.is_single = options["is_single"]
            self.model.is_falling = (
                self.model.unk_score <= 0 and self.model.most_score < MOST_SCORE
            )
            for number in range(len(scores)):
                self.model.is_falling = self.model.is_falling and scores[number] <= 0
            self.model.fuses = options["fuses"]
            if options["byte_ids"] is not None:
                self.model.falls_back = True
                meta = options["meta"]
                if len(meta) > <Py_ssize_t> sizeof(self.model.meta):
                    raise ValueError(f"meta is {meta!r}, more than one character")
                self.model.n_meta = len(meta)
                for number in range(len(meta)):
                    self.model.meta[number] = meta[number]
                byte_ids = options["byte_ids"]
                for number in range(256):
                    self.model.byte_ids[number] = byte_ids[number]
        else:
            self.model.kind = WORD_PIECE
            self.model.continued = 1 if continuation else 0
        n_before = self.model.n_continuation = len(continuation)
        for number in range(n_tokens):
            highest = max(highest, ids[number])
        if highest < SPARSEST * n_tokens + LEAST_LENGTHS:
            self.model.n_lengths = highest + 1
            self.model.lengths = <uint16_t*> calloc(self.model.n_lengths, sizeof(uint16_t))
            if self.model.lengths == NULL:
                raise MemoryError("no memory for the tokens of a vocabulary")
        for number in range(n_tokens):
            if number % WATCHED == 0:
                PyErr_CheckSignals()
            token = <const uint8_t*> <const char*> arena + offsets[number]
            readable = len(arena) - offsets[number]
            n = offsets[number + 1] - offsets[number]
            is_cut = is_cut or has_late_blank(token, n)
            longest = max(longest, n)
            if ids[number] == unk_id:
                self.model.unk_token = <uint32_t> number + 1
                # It is unknown together with what is before it.
                is_cut = is_cut or (n > 0 and token[0] == META)
            elif self.model.lengths != NULL and n <= MOST_BYTES:
                self.model.lengths[ids[number]] = <uint16_t> n
            add_token(&self.spellings, 0, token, n, readable, <uint32_t> number)
            if n_before and n >= n_before and same_bytes(
                token, <const uint8_t*> <const char*> continuation, n_before
            ):
                add_token(
                    &self.spellings, 1, token + n_before, n - n_before, readable - n_before,
                    <uint32_t> number,
                )
        if not pack_trie(&self.spellings, &self.model.trie):
            raise MemoryError("no memory for the tokens of a vocabulary")
        self.separators = separators_of(raw.blocks[0])
        if self.model.kind == UNIGRAM:
            self.model.longest = max(4, longest)
            if not link_trie(
                &self.model.trie, &offsets[0], &scores[0] if len(scores) else NULL, len(scores)
            ) or not pack_slots(&self.model.array, &self.model.trie, self.model.unk_token, NULL):
                raise MemoryError("no memory for the tokens of a vocabulary")
            # A blank that is a token is not unknown together with what is before it.
            self.model.has_segments = (
                not is_cut and find_in_trie(&self.model.trie, 0, &blank, 1) != NONE
            )
        elif n_tokens and not pack_slots(&self.model.array, &self.model.trie, 0, self.model.ids):
            raise MemoryError("no memory for the tokens of a vocabulary")
        free_spellings(&self.spellings)

    def __dealloc__(self):
        free_spellings(&self.spellings)
        free_trie(&self.model.trie)
        free_slots(&self.model.array)
        free(self.model.lengths)

    cdef OwnedWordState take(self):
        try:
            return self.idle.pop()
        except IndexError:
            if self.model.kind == UNIGRAM:
                return OwnedWordState(
                    UNIGRAM_BITS, UNIGRAM_BITS,
                    STEP_BITS if self.model.trie.n_nodes < 1 << NODE_BITS else 0,
                    UNIGRAM_LINES_A_PIECE,
                )
            return OwnedWordState(FIRST_LEVEL_BITS, STORE_BITS, 0, LINES_A_PIECE)

    cdef void release(self, OwnedWordState owned):
        if len(self.idle) < KEPT_STATES:
            self.idle.append(owned)

    cdef void begin(self, WordState* state, CharMap char_map, str text):
        cdef Reader* reader = &state.reader
        reader.blocks = char_map.blocks
        reader.text = characters_of(text)
        reader.collapses = self.collapses
        reader.joins = char_map.joins
        reader.leads_all = char_map.leads_all
        reader.strips_end = self.strips_end
        reader.most_characters = self.most_characters
        reader.locates = 0
        reader.traces = False
        state.paths.watch.is_on = False
        state.prefixes.start = NOT_FOUND
        state.prefixes.n = NOT_FOUND
        state.may_change = False
        state.changed_runs = <void*> self.changed_runs
        reader.watch = &state.paths.watch

    cdef int check(self, Py_ssize_t outcome) except -1:
        """Raise what a status says."""
        if outcome == INTERRUPTED:
            raise_pending()
        if outcome < 0:
            raise MemoryError("no memory for the words of a text")
        return 0

    def count(
        self, str text not None, bint is_plain=False, bint prefixes=True,
        bint keeps_end=False,
    ):
        """Count the tokens of a text.

        Args:
            text: has no surrogates.
            is_plain: it is normalized.
            prefixes: it is at the start of a text.
            keeps_end: it goes on, or nothing is cut off at its end.

        Returns:
            The number; -1 where characters are entangled.
        """
        cdef CharMap char_map = self.plain if is_plain else self.raw
        cdef Py_ssize_t total = 0, rest, place = 0
        cdef OwnedWordState owned = self.take()
        cdef WordState* state = &owned.state
        cdef Separators separators = self.separators
        self.begin(state, char_map, text)
        prefixes = prefixes and self.prefixes
        if keeps_end:
            state.reader.strips_end = 0
        # Words of WordPiece are short, and encoded as soon as runs are looked up.
        separators.are_known &= (
            self.model.kind == UNIGRAM and not is_plain and prefixes == self.prefixes
        )
        if state.reader.text.n >= NOGIL_CHARS:
            state.paths.watch.is_on = True
        if separators.are_known:
            # Runs that are known have been looked through.
            if state.paths.watch.is_on:
                with nogil:
                    total = count_runs(&self.model, state, separators, prefixes, False, &place)
            else:
                total = count_runs(&self.model, state, separators, prefixes, False, &place)
            self.check(total)
        if char_map.prepare_from(text, place) >= 0:
            if separators.are_known and not keeps_end and self.changed_runs is not None:
                rest = self.count_changing(state, text, prefixes, place)
            else:
                rest = UNKNOWN
            self.release(owned)
            return -1 if rest == UNKNOWN else total + rest
        if state.paths.watch.is_on:
            with nogil:
                rest = count_text(&self.model, state, separators, prefixes, place)
        else:
            rest = count_text(&self.model, state, separators, prefixes, place)
        self.check(rest)
        total += rest
        self.release(owned)
        return total

    cdef Py_ssize_t count_changing(
        self, WordState* state, str text, bint prefixes, Py_ssize_t place
    ) except -2:
        """Count the tokens from a place on, in runs; UNKNOWN where there are none.

        Runs whose characters change one another, and the end of the text, are normalized in Python.
        """
        cdef Py_ssize_t total = 0, rest
        if len(text) - place >= LEAST_CHANGING:
            self.raw.prepare_all(text)
            state.may_change = True
            with nogil:
                total = count_runs(&self.model, state, self.separators, prefixes, True, &place)
            if total == UNKNOWN:
                return UNKNOWN
            self.check(total)
        if place == 0:
            return UNKNOWN
        rest = self.changed_runs.count_end(text[place:], place == 0)
        return total + rest

    def encode(
        self, str text not None, bint as_list, bint is_plain=False, bint prefixes=True,
        bint keeps_end=False,
    ):
        """Encode a text; see `count`. A list of ids or an array, or None if it is entangled."""
        cdef CharMap char_map = self.plain if is_plain else self.raw
        cdef Py_ssize_t total
        cdef OwnedWordState owned
        if char_map.prepare(text) >= 0:
            return None
        owned = self.take()
        total = self.add_part(
            &owned.state, char_map, text, 0, len(text), prefixes, keeps_end, False, 0
        )
        found = list_of_ids(owned.state.out, total) if as_list else array_of(owned.state.out, total)
        self.release(owned)
        return found

    def encode_with_spans(
        self, str text not None, bint is_plain=False, bint prefixes=True,
        bint keeps_end=False,
    ):
        """Encode a text; see `count`. Ids (uint32) and the characters of each (int64, (n, 2))."""
        cdef CharMap char_map = self.plain if is_plain else self.raw
        cdef Py_ssize_t total
        cdef OwnedWordState owned
        if char_map.prepare(text) >= 0:
            return None
        owned = self.take()
        total = self.add_part(
            &owned.state, char_map, text, 0, len(text), prefixes, keeps_end, True, 0
        )
        ids, spans = array_of(owned.state.out, total), spans_of(&owned.state, total)
        self.release(owned)
        return ids, spans

    cdef Py_ssize_t add_part(
        self, WordState* state, CharMap char_map, str text, Py_ssize_t start, Py_ssize_t end,
        bint prefixes, bint keeps_end, bint traces, Py_ssize_t before
    ) except -1:
        """Encode text[start:end] as a text of its own, after `before` ids; see encode_stretch."""
        cdef Py_ssize_t total
        self.begin(state, char_map, text)
        state.reader.traces = traces
        if keeps_end:
            state.reader.strips_end = 0
        state.paths.watch.is_on = True
        prefixes = prefixes and self.prefixes
        with nogil:
            if traces:
                total = trace_stretch(&self.model, state, start, end, prefixes, before)
            else:
                total = encode_stretch(&self.model, state, start, end, prefixes, before)
        self.check(total)
        return total

    def encode_parts(self, str text not None, list parts not None, bint traces):
        """Encode a text part by part, at whose edges words end.

        Args:
            text: has no surrogates.
            parts: of each: its start and end; what it is normalized to, or None: none of its
                characters change one another; of each character of that the span of the part that it
                comes from (int64), or None: that is not asked for; and whether it gets a prefix.
            traces: the characters that each token comes from are asked for.

        Returns:
            Ids (uint32), and the characters of each (int64, shape (n, 2)); or of none.
        """
        cdef OwnedWordState owned = self.take()
        cdef WordState* state = &owned.state
        cdef Py_ssize_t total = 0, before, start, end
        cdef const int64_t[:, ::1] rows
        cdef bint prefixes
        cdef str made
        self.raw.prepare_all(text)
        for start, end, made, rows, prefixes in parts:
            before = total
            if made is None:
                total = self.add_part(
                    state, self.raw, text, start, end, prefixes, False, traces, before
                )
                continue
            self.plain.prepare_all(made)
            total = self.add_part(
                state, self.plain, made, 0, len(made), prefixes, False, traces, before
            )
            if traces:
                to_origins(state.spans, before, total, start, rows)
        ids = array_of(state.out, total)
        spans = spans_of(state, total if traces else 0)
        self.release(owned)
        return ids, spans


cdef void to_origins(
    Py_ssize_t* spans, Py_ssize_t first, Py_ssize_t last, Py_ssize_t start,
    const int64_t[:, ::1] rows
) noexcept nogil:
    """Make spans of what a part became those of the text, where the part starts."""
    cdef Py_ssize_t at
    for at in range(first, last):
        spans[2 * at] = start + rows[spans[2 * at], 0]
        spans[2 * at + 1] = start + rows[spans[2 * at + 1] - 1, 1]


cdef object spans_of(const WordState* state, Py_ssize_t n):
    """The spans of n tokens in an array."""
    cdef int64_t[:, ::1] rows
    spans = np.empty((n, 2), dtype=np.int64)
    if n:
        rows = spans
        memcpy(&rows[0, 0], state.spans, 2 * n * sizeof(int64_t))
    return spans


cdef object array_of(const uint32_t* ids, Py_ssize_t n):
    cdef uint32_t[::1] out
    found = np.empty(n, dtype=np.uint32)
    if n:
        out = found
        with nogil:
            memcpy(&out[0], ids, n * sizeof(uint32_t))
    return found
