"""Encode and count the words of texts: look each one up, encode the rest.

Guarded by tests/words/test_encoding.py.
"""

from cpython.exc cimport PyErr_CheckSignals
from cython cimport auto_pickle, critical_section
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.memory import zeroed_memory

from cutline.kernels.base.characters cimport Characters, Unit, char_at, characters_of
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, NOT_FOUND, SHORT_PIECE, UNKNOWN, Key, characters_in, grow, hash_key,
    hash_long, int64_t, likely, memcpy, memmove, padded_key, prefetch, same_bytes, scramble, uint16_t, unlikely,
)
from cutline.kernels.base.signals cimport is_interrupted, raise_pending
from cutline.kernels.encode.caches cimport (
    FIRST_LEVEL_TOKENS, STORED_BYTES, find_stored, first_level_line, in_line, index_slot, store_in_line,
    store_piece,
)
from cutline.kernels.encode.decode cimport list_of_ids
from cutline.kernels.encode.runs cimport find_runs
from cutline.kernels.words.char_map cimport EDGE_SHIFT, Brief, CharBlock
from cutline.kernels.words.double_array cimport free_slots, pack_slots
from cutline.kernels.words.images cimport META
from cutline.kernels.words.model cimport UNIGRAM, WORD_PIECE
from cutline.kernels.words.reader cimport (
    TOO_LONG, WORD_SLOTS, free_reader, read_words, start_reading,
)
from cutline.kernels.words.separators cimport closed_run, ends_closed, separators_of
from cutline.kernels.words.singles cimport (
    MOST_SINGLES, clear_singles, count_single, end_single, find_tokens, has_room,
)
from cutline.kernels.words.trie cimport (
    LABEL_MASK, META_LABEL, NODE_BITS, add_token, free_loose, free_trie, link_trie, pack_trie,
    start_trie,
)
from cutline.kernels.words.unigram cimport best_path, count_path, free_paths
from cutline.kernels.words.wordpiece cimport longest_matches

cdef enum:
    # Tables of WordPiece: pages met first cost more than what is looked up saves.
    FIRST_LEVEL_BITS = 17
    STORE_BITS = 16
    # ... and of Unigram, whose words are more, and take longer.
    UNIGRAM_BITS = 18
    STEP_BITS = 15
    RING_BYTES = 1 << 22
    BEYOND = 64                 # bytes after the ring that are read where a record is short
    KEPT_STATES = 16
    NOGIL_CHARS = 4096
    NO_LEAD = 0xFFFFFFFF
    WATCHED = 1 << 12           # tokens from one look for signals to the next


@auto_pickle(False)
cdef class OwnedWordState:
    """Owns a state; one call at a time uses it."""

    def __cinit__(self, int first_level_bits, int store_bits, int step_bits):
        cdef size_t first_level_bytes = sizeof(FirstEntry) << max(first_level_bits, 1)
        cdef size_t index_bytes = sizeof(uint64_t) << store_bits
        cdef size_t step_bytes = sizeof(uint64_t) << step_bits if step_bits else 0
        cdef size_t start
        self.memory = zeroed_memory(
            first_level_bytes + index_bytes + step_bytes + RING_BYTES + BEYOND, large_pages=False
        )
        start = <size_t> &self.memory[0]
        self.state.first_level = <FirstEntry*> start
        self.state.most_lines = <uint64_t> 1 << max(first_level_bits - 1, 0)
        self.state.line_mask = min(self.state.most_lines, <uint64_t> FIRST_LINES) - 1
        self.state.store.index = <uint64_t*> (start + first_level_bytes)
        self.state.store.index_mask = (<uint64_t> 1 << store_bits) - 1
        self.state.paths.step_bits = step_bits
        if step_bits:
            self.state.paths.steps = <uint64_t*> (start + first_level_bytes + index_bytes)
        start += step_bytes
        self.state.store.ring = <uint64_t*> (start + first_level_bytes + index_bytes)
        self.state.store.ring_words = RING_BYTES // sizeof(uint64_t)

    def __dealloc__(self):
        free_reader(&self.state.reader)
        free_paths(&self.state.paths)
        free(self.state.out)
        free(self.state.spans)


cdef Py_ssize_t encode_word(
    const WordModel* model, WordState* state, Py_ssize_t word, uint32_t* out, Py_ssize_t* spans
) noexcept nogil:
    """The ids of a word of the batch, into `out`, which has room. Returns how many."""
    cdef Py_ssize_t n = state.words.lengths[word]
    cdef const uint8_t* start = state.reader.buffer + state.words.starts[word]
    if n == TOO_LONG:
        out[0] = model.unk_id
        if spans != NULL:
            spans[0] = 0
            spans[1] = NOT_FOUND        # all of it
        return 1
    if model.kind == WORD_PIECE:
        return longest_matches(model, start, n, out, spans)
    return best_path(model, &state.paths, start, n, out, spans, NULL)


cdef inline Py_ssize_t out_slots_of(Py_ssize_t n) noexcept nogil:
    """The most ids of a word of n bytes: four for each, of unknown ones."""
    return 4 * max(n, 1) + 4


cdef Py_ssize_t look_up(
    const WordModel* model, WordState* state, Py_ssize_t word, Key key, Py_ssize_t before,
    bint keep
) noexcept nogil:
    """Encode a word that the first level does not hold, after `before` ids if they are kept.

    `key` is what find_lines made of it.
    """
    cdef Py_ssize_t n = state.words.lengths[word], count
    cdef const uint8_t* start = state.reader.buffer + state.words.starts[word]
    cdef const uint32_t* found
    cdef uint32_t known = 0
    cdef uint64_t hashed = 0
    cdef bint is_stored = 0 < n <= STORED_BYTES
    if not grow(
        <void**> &state.out, &state.out_slots, before + out_slots_of(n), sizeof(uint32_t)
    ):
        return NO_MEMORY
    if is_stored:
        hashed = scramble(hash_key(key)) if n <= SHORT_PIECE else key.low
        found = find_stored(&state.store, hashed, start, n, &known)
        if found != NULL:
            if keep:
                memcpy(state.out + before, found, known * sizeof(uint32_t))
            return known
    count = encode_word(model, state, word, state.out + before, NULL)
    if count < 0:
        return count
    if 0 < n <= SHORT_PIECE and count <= FIRST_LEVEL_TOKENS:
        state.kept += 1
        store_in_line(
            first_level_line(state.first_level, state.line_mask, key), key, state.out + before,
            count,
        )
    elif is_stored and count <= STORED_BYTES:
        store_piece(&state.store, hashed, start, n, state.out + before, count)
    return count


cdef void find_lines(WordState* state, Key* keys, FirstEntry** lines) noexcept nogil:
    """Hash the words of a batch, and fetch what may hold them. The key of a long one is its hash."""
    cdef Py_ssize_t word, n
    cdef const uint8_t* start
    for word in range(state.words.count):
        n = state.words.lengths[word]
        start = state.reader.buffer + state.words.starts[word]
        if 0 < n <= SHORT_PIECE:
            keys[word] = padded_key(start, n)
            lines[word] = first_level_line(state.first_level, state.line_mask, keys[word])
            prefetch(lines[word])
        elif SHORT_PIECE < n <= STORED_BYTES:
            keys[word].low = hash_long(start, n)
            prefetch(index_slot(&state.store, keys[word].low))


cdef inline bint is_short(const WordState* state, Py_ssize_t word) noexcept nogil:
    return 0 < state.words.lengths[word] <= SHORT_PIECE


cdef Py_ssize_t count_words(
    const WordModel* model, WordState* state, Py_ssize_t longest, Py_ssize_t* totals
) noexcept nogil:
    """Count the tokens of the batch. With `totals`, those up to and with each word, too.

    Words of more than `longest` bytes are left out.
    """
    cdef Key keys[WORD_SLOTS]
    cdef FirstEntry* lines[WORD_SLOTS]
    cdef FirstEntry* entry
    cdef Py_ssize_t word, total = 0, count
    make_room(state)
    find_lines(state, keys, lines)
    for word in range(state.words.count):
        if is_short(state, word):
            entry = in_line(lines[word], keys[word])
            if likely(entry.key.low == keys[word].low and entry.key.high == keys[word].high):
                total += entry.known.count
                if totals != NULL:
                    totals[word] = total
                continue
        elif state.words.lengths[word] > longest:
            totals[word] = total
            continue
        count = look_up(model, state, word, keys[word], 0, False)
        if count < 0:
            return count
        total += count
        if totals != NULL:
            totals[word] = total
    return total


cdef Py_ssize_t encode_words(
    const WordModel* model, WordState* state, Py_ssize_t before
) noexcept nogil:
    """Write the ids of the batch after `before` others. Returns how many there are then."""
    cdef Key keys[WORD_SLOTS]
    cdef FirstEntry* lines[WORD_SLOTS]
    cdef FirstEntry* entry
    cdef Py_ssize_t word, count
    make_room(state)
    find_lines(state, keys, lines)
    if not grow(
        <void**> &state.out, &state.out_slots, before + 4 * WORD_SLOTS, sizeof(uint32_t)
    ):
        return NO_MEMORY
    for word in range(state.words.count):
        if is_short(state, word):
            entry = in_line(lines[word], keys[word])
            if likely(entry.key.low == keys[word].low and entry.key.high == keys[word].high):
                # There is room for three: look_up makes room for what it adds and four more.
                memcpy(state.out + before, entry.known.tokens, 3 * sizeof(uint32_t))
                before += entry.known.count
                continue
        count = look_up(model, state, word, keys[word], before + 4 * WORD_SLOTS, True)
        if count < 0:
            return count
        memmove(        # of a long word the two overlap
            state.out + before, state.out + before + 4 * WORD_SLOTS, count * sizeof(uint32_t)
        )
        before += count
    return before


cdef Py_ssize_t count_stretch(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil:
    """Count the tokens of text[start:end] as of a text of its own; or a status."""
    start_reading(&state.reader, start, end, prefixes)
    return count_batches(model, state, read_words(&state.reader, &state.words))


cdef inline Py_ssize_t count_batches(
    const WordModel* model, WordState* state, Py_ssize_t n
) noexcept nogil:
    """Count the tokens of the batch, which has n words, and of those after it; or a status."""
    cdef Py_ssize_t total = 0, count
    while n > 0:
        count = count_words(model, state, ANY_LENGTH, NULL)
        if count < 0:
            return count
        total += count
        n = read_words(&state.reader, &state.words)
    return total if n == 0 else n


cdef Py_ssize_t count_run(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil:
    """What count_stretch does, of a run: if it is one word, that is looked up no more."""
    cdef Py_ssize_t n
    start_reading(&state.reader, start, end, prefixes)
    n = read_words(&state.reader, &state.words)
    if n != 1 or state.reader.at < end or state.reader.is_open:
        return count_batches(model, state, n)
    n = count_path(
        model, &state.paths, state.reader.buffer + state.words.starts[0], state.words.lengths[0]
    )
    if n != UNKNOWN:
        return n
    if not grow(
        <void**> &state.out, &state.out_slots, out_slots_of(state.words.lengths[0]),
        sizeof(uint32_t),
    ):
        return NO_MEMORY
    return encode_word(model, state, 0, state.out, NULL)


cdef inline uint32_t lead_of(const WordState* state, Py_ssize_t start, bint prefixes) noexcept nogil:
    """What is put before a run, like what a character is; 0: nothing, or NO_LEAD: not known.

    A blank that stays is the beginning of the word, if the edges of both are the same.
    """
    cdef const Brief* blank = &state.reader.blocks[0].briefs[c" "]
    if start == 0 or blank.n == 0:
        return META_LABEL if prefixes else 0
    if blank.n != 1 or blank.written[0] != META:
        return NO_LEAD
    return <uint32_t> blank.last << EDGE_SHIFT | META_LABEL


cdef inline void add_single(
    const WordModel* model, WordState* state, Py_ssize_t run, bint prefixes
) noexcept nogil:
    """Add a run, for which there is room, if it is one word and each of its characters stays one."""
    cdef Singles* singles = &state.singles
    cdef Py_ssize_t start = state.runs.edges[2 * run], n = state.runs.edges[2 * run + 1] - start
    cdef uint32_t lead = lead_of(state, start, prefixes), edge, first
    cdef uint32_t* codes = singles.codes + singles.n
    cdef const Characters* text = &state.reader.text
    if lead == NO_LEAD:
        return
    if lead != 0:
        codes[0] = model.array.codes[lead & LABEL_MASK]
        codes += 1
    if text.kind == 1:
        edge = read_singles(model, state, <const uint8_t*> text.data + start, n, codes)
    elif text.kind == 2:
        edge = read_singles(model, state, <const uint16_t*> text.data + start, n, codes)
    else:
        edge = read_singles(model, state, <const uint32_t*> text.data + start, n, codes)
    if edge == 0 or (lead >> EDGE_SHIFT != 0 and lead >> EDGE_SHIFT != edge):
        return
    first = char_at(text, start)
    if lead == META_LABEL and (
        state.reader.blocks[first >> 8].single[first & 0xFF] & LABEL_MASK == META_LABEL
    ):
        return
    state.single_runs[singles.n_words] = run
    end_single(singles, n + (lead != 0))


cdef inline uint32_t read_singles(
    const WordModel* model, const WordState* state, const Unit* text, Py_ssize_t n, uint32_t* codes
) noexcept nogil:
    """Look up the code of each character. Returns the edge of all, or 0 if they differ."""
    cdef CharBlock** blocks = state.reader.blocks
    cdef const CharBlock* block = blocks[0]
    cdef uint32_t single, differs = 0, first = blocks[text[0] >> 8].single[text[0] & 0xFF]
    cdef Py_ssize_t at
    for at in range(n):
        if Unit is not uint8_t:
            block = blocks[text[at] >> 8]
        single = block.single[text[at] & 0xFF]
        codes[at] = model.array.codes[single & LABEL_MASK]
        differs |= single ^ first
    return 0 if differs >> EDGE_SHIFT else first >> EDGE_SHIFT


cdef void count_new_runs(
    const WordModel* model, WordState* state, bint prefixes
) noexcept nogil:
    """Count and keep the runs of the batch that are not known, but for those that have to be read."""
    cdef Runs* runs = &state.runs
    cdef const Characters* text = &state.reader.text
    cdef Py_ssize_t run, n
    if model.array.slots == NULL:
        return
    for run in range(runs.count):
        n = runs.edges[2 * run + 1] - runs.edges[2 * run]
        if runs.counts[run] >= 0 or n >= MOST_SINGLES or not ends_closed(
            state.reader.blocks, text, runs.edges[2 * run + 1]
        ):
            continue
        if not has_room(&state.singles, n + 1):
            count_singles(model, state)
        add_single(model, state, run, prefixes)
    count_singles(model, state)


cdef void count_singles(const WordModel* model, WordState* state) noexcept nogil:
    """Count and keep the runs that were added."""
    cdef Singles* singles = &state.singles
    cdef Py_ssize_t word, run, count
    if singles.n_words > 0 and find_tokens(&model.array, singles):
        for word in range(singles.n_words):
            run = state.single_runs[word]
            count = count_single(singles, word)
            if count != UNKNOWN:
                state.runs.counts[run] = <int32_t> count
                keep_run(state, run, count)
    clear_singles(singles)


cdef Py_ssize_t count_runs(
    const WordModel* model, WordState* state, Separators separators, bint prefixes, bint reads,
    Py_ssize_t* place
) noexcept nogil:
    """Count the tokens from a place on, at which a text or a separator begins; or a status.

    Moves `place` to where runs near the end of the text are left, and what comes after those that
    are known if no others are read.
    """
    cdef Runs* runs = &state.runs
    cdef Py_ssize_t at = place[0], begun, run, first, start, count, total = 0
    cdef const Characters* text = &state.reader.text
    state.reader.end = text.n
    while True:
        begun = at
        make_room(state)
        find_runs(
            runs, text, at, separators, state.first_level, state.line_mask, &state.store
        )
        run = 0
        if runs.are_known and runs.count:
            total += runs.total
            at = runs.edges[2 * runs.count - 1]
            run = runs.count
        elif reads:
            count_new_runs(model, state, prefixes)
        while run < runs.count:
            count = runs.counts[run]
            if unlikely(count < 0):
                if not reads:
                    break
                first = run
                run = closed_run(runs, run, state.reader.blocks, text)
                if run == runs.count:
                    break
                start = runs.edges[2 * first]
                count = count_run(
                    model, state, start - (start > 0), runs.edges[2 * run + 1], prefixes
                )
                if count < 0:
                    return count
                if run == first:
                    keep_run(state, run, count)
            total += count
            at = runs.edges[2 * run + 1]
            run += 1
        place[0] = at
        if at == begun or (run < runs.count and not reads):
            return total
        if is_interrupted(&state.paths.watch, at - begun):
            return INTERRUPTED


cdef Py_ssize_t count_text(
    const WordModel* model, WordState* state, Separators separators, bint prefixes,
    Py_ssize_t place
) noexcept nogil:
    """Count the tokens of the text from a place on; see count_runs. Or a status."""
    cdef Py_ssize_t total = 0, rest
    if separators.are_known:
        total = count_runs(model, state, separators, prefixes, True, &place)
        if total < 0:
            return total
    rest = count_stretch(model, state, place, state.reader.text.n, prefixes)
    return rest if rest < 0 else total + rest


cdef Py_ssize_t encode_stretch(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil:
    """Write the ids of text[start:end] as of a text of its own. Returns how many, or a status."""
    cdef Py_ssize_t total = 0, n
    start_reading(&state.reader, start, end, prefixes)
    while True:
        n = read_words(&state.reader, &state.words)
        if n <= 0:
            return total if n == 0 else n
        total = encode_words(model, state, total)
        if total < 0:
            return total


cdef Py_ssize_t trace_stretch(
    const WordModel* model, WordState* state, Py_ssize_t n_characters, bint prefixes
) noexcept nogil:
    """Write the ids of the text, and for each the characters it comes from, into the state."""
    cdef Py_ssize_t total = 0, n, word, count, at, start, end, origin
    cdef Reader* reader = &state.reader
    start_reading(reader, 0, n_characters, prefixes)
    while True:
        n = read_words(reader, &state.words)
        if n <= 0:
            return total if n == 0 else n
        for word in range(n):
            count = total + out_slots_of(state.words.lengths[word])
            if not grow(<void**> &state.out, &state.out_slots, count, sizeof(uint32_t)):
                return NO_MEMORY
            if not grow(<void**> &state.spans, &state.span_slots, 2 * count, sizeof(Py_ssize_t)):
                return NO_MEMORY
            count = encode_word(
                model, state, word, state.out + total, state.spans + 2 * total
            )
            if count < 0:
                return count
            origin = state.words.starts[word]
            for at in range(total, total + count):
                start = state.spans[2 * at]
                end = state.spans[2 * at + 1]
                state.spans[2 * at] = reader.origins[origin + start]
                state.spans[2 * at + 1] = (
                    state.words.ends[word] if end == NOT_FOUND
                    else reader.origins[origin + end - 1] + 1
                )
            total += count


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
        options: `prefixes`, `collapses`, `strips_end` of the reader; `strips_start`: slices do
                not begin with white space; and of WordPiece
            `continuation` (bytes) and `most_characters`; of Unigram `scores` (float64), `fuses`
            `meta` (the bytes that META stands for) and `byte_ids` (uint32, shape (256,), or None).
    """

    def __cinit__(
        self, CharMap raw not None, CharMap plain not None, bytes arena not None,
        const int64_t[::1] offsets not None, const uint32_t[::1] ids not None, uint32_t unk_id,
        dict options not None,
    ):
        cdef const uint8_t* token
        cdef Py_ssize_t number = 0, n, longest = 0, n_before, total
        cdef const double[::1] scores
        cdef const uint32_t[::1] byte_ids
        cdef bytes meta, continuation = options.get("continuation", b"")
        self.raw = raw
        self.plain = plain
        self.idle = []
        self.prefixes = options["prefixes"]
        self.collapses = options["collapses"]
        self.strips_end = options["strips_end"]
        self.strips_start = options["strips_start"]
        self.most_characters = options.get("most_characters", 0)
        self.model.unk_id = unk_id
        self.model.ids = &ids[0] if ids.shape[0] else NULL
        self.held = [ids]
        total = characters_in(<const uint8_t*> <const char*> arena, len(arena), len(arena))
        if not start_trie(&self.loose, total if "scores" in options else 2 * total):
            raise MemoryError("no memory for the tokens of a vocabulary")
        if "scores" in options:
            self.model.kind = UNIGRAM
            scores = options["scores"]
            self.held.append(scores)
            self.model.unk_score = options["unk_score"]
            self.model.rounding = options["rounding"]
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
        n_before = len(continuation)
        for number in range(ids.shape[0]):
            if number % WATCHED == 0:
                PyErr_CheckSignals()
            token = <const uint8_t*> <const char*> arena + offsets[number]
            n = offsets[number + 1] - offsets[number]
            longest = max(longest, n)
            if ids[number] == unk_id:
                self.model.unk_token = <uint32_t> number + 1
            add_token(&self.loose, 0, token, n, <uint32_t> number)
            if n_before and n >= n_before and same_bytes(
                token, <const uint8_t*> <const char*> continuation, n_before
            ):
                add_token(
                    &self.loose, 1, token + n_before, n - n_before, <uint32_t> number
                )
        if not pack_trie(&self.loose, &self.model.trie):
            raise MemoryError("no memory for the tokens of a vocabulary")
        self.separators = separators_of(raw.blocks[0])
        if self.model.kind == UNIGRAM:
            self.model.longest = max(4, longest)
            if not link_trie(
                &self.model.trie, &self.loose, &scores[0] if len(scores) else NULL, len(scores)
            ) or not pack_slots(&self.model.array, &self.model.trie, self.model.unk_token):
                raise MemoryError("no memory for the tokens of a vocabulary")
        free_loose(&self.loose)

    def __dealloc__(self):
        free_loose(&self.loose)
        free_trie(&self.model.trie)
        free_slots(&self.model.array)

    cdef OwnedWordState take(self):
        try:
            return self.idle.pop()
        except IndexError:
            if self.model.kind == UNIGRAM:
                return OwnedWordState(
                    UNIGRAM_BITS, UNIGRAM_BITS,
                    STEP_BITS if self.model.trie.n_nodes < 1 << NODE_BITS else 0,
                )
            return OwnedWordState(FIRST_LEVEL_BITS, STORE_BITS, 0)

    cdef void release(self, OwnedWordState owned):
        if len(self.idle) < KEPT_STATES:
            self.idle.append(owned)

    cdef void begin(self, WordState* state, CharMap char_map, str text):
        cdef Reader* reader = &state.reader
        reader.blocks = char_map.blocks
        reader.text = characters_of(text)
        reader.collapses = self.collapses
        reader.strips_end = self.strips_end
        reader.most_characters = self.most_characters
        reader.locates = reader.traces = False
        state.paths.watch.is_on = False
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
            self.release(owned)
            return -1
        if state.paths.watch.is_on:
            with nogil:
                rest = count_text(&self.model, state, separators, prefixes, place)
        else:
            rest = count_text(&self.model, state, separators, prefixes, place)
        self.check(rest)
        total += rest
        self.release(owned)
        return total

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
        self.begin(&owned.state, char_map, text)
        prefixes = prefixes and self.prefixes
        if keeps_end:
            owned.state.reader.strips_end = 0
        owned.state.paths.watch.is_on = True
        with nogil:
            total = encode_stretch(
                &self.model, &owned.state, 0, owned.state.reader.text.n, prefixes
            )
        self.check(total)
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
        cdef int64_t[:, ::1] rows
        if char_map.prepare(text) >= 0:
            return None
        owned = self.take()
        self.begin(&owned.state, char_map, text)
        owned.state.reader.traces = True
        prefixes = prefixes and self.prefixes
        if keeps_end:
            owned.state.reader.strips_end = 0
        owned.state.paths.watch.is_on = True
        with nogil:
            total = trace_stretch(
                &self.model, &owned.state, owned.state.reader.text.n, prefixes
            )
        self.check(total)
        spans = np.empty((total, 2), dtype=np.int64)
        rows = spans
        if total:
            memcpy(&rows[0, 0], owned.state.spans, 2 * total * sizeof(int64_t))
        ids = array_of(owned.state.out, total)
        self.release(owned)
        return ids, spans


cdef object array_of(const uint32_t* ids, Py_ssize_t n):
    cdef uint32_t[::1] out
    found = np.empty(n, dtype=np.uint32)
    if n:
        out = found
        with nogil:
            memcpy(&out[0], ids, n * sizeof(uint32_t))
    return found
