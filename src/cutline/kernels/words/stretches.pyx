"""The tokens of a stretch of a text: look each of its words up, encode the rest.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.common cimport (
    NO_MEMORY, NOT_FOUND, SHORT_PIECE, Key, grow, hash_key, hash_long, likely, memcpy, memmove,
    padded_key, prefetch, scramble, uint8_t, uint32_t, uint64_t, unlikely,
)
from cutline.kernels.encode.caches cimport (
    FIRST_LEVEL_TOKENS, STORED_BYTES, FirstEntry, find_stored, first_level_line, in_line,
    index_slot, is_entry_of, store_in_line, store_piece,
)
from cutline.kernels.words.model cimport WORD_PIECE, WordModel
from cutline.kernels.words.reader cimport TOO_LONG, WORD_SLOTS, read_words, start_reading
from cutline.kernels.words.segments cimport encode_segments
from cutline.kernels.words.unigram cimport best_path
from cutline.kernels.words.word_state cimport WordState, make_room
from cutline.kernels.words.wordpiece cimport Lane, longest_matches, match_together


cdef Py_ssize_t count_stretch(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes
) noexcept nogil:
    """Count the tokens of text[start:end] as of a text of its own; or a status."""
    start_reading(&state.reader, start, end, prefixes)
    return count_batches(model, state, read_words(&state.reader, &state.words))


cdef Py_ssize_t count_batches(
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


cdef Py_ssize_t encode_stretch(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes,
    Py_ssize_t before
) noexcept nogil:
    """Write the ids of text[start:end], as of a text of its own, after `before` others.

    Returns how many there are then, or a status.
    """
    cdef Py_ssize_t total = before, n
    start_reading(&state.reader, start, end, prefixes)
    while True:
        n = read_words(&state.reader, &state.words)
        if n <= 0:
            return total if n == 0 else n
        total = encode_words(model, state, total, NULL)
        if total < 0:
            return total


cdef Py_ssize_t trace_stretch(
    const WordModel* model, WordState* state, Py_ssize_t start, Py_ssize_t end, bint prefixes,
    Py_ssize_t before
) noexcept nogil:
    """What encode_stretch does; and write for each id the characters it comes from."""
    cdef Py_ssize_t total = before, done, n, word
    cdef Py_ssize_t totals[WORD_SLOTS]
    start_reading(&state.reader, start, end, prefixes)
    while True:
        n = read_words(&state.reader, &state.words)
        if n <= 0:
            return total if n == 0 else n
        done = total
        total = encode_words(model, state, total, totals)
        if total < 0:
            return total
        if not grow(<void**> &state.spans, &state.span_slots, 2 * total, sizeof(Py_ssize_t)):
            return NO_MEMORY
        for word in range(n):
            if not locate_by_lengths(model, state, word, done, totals[word]):
                n = locate_by_model(model, state, word, done, total)
                if n < 0:
                    return n
            done = totals[word]


cdef inline bint locate_by_lengths(
    const WordModel* model, WordState* state, Py_ssize_t word, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Tell the characters of a word's tokens, the ids from `first` to `last`, by their lengths.

    False: some are unknown, and have others. Those of bytes have fewer than their names.
    """
    cdef const Py_ssize_t* origins = state.reader.origins + state.words.starts[word]
    cdef Py_ssize_t at = 0, end, token, left_out = 0, n = state.words.lengths[word]
    for token in range(first, last):
        if state.out[token] >= model.n_lengths or model.lengths[state.out[token]] == 0:
            return False
        end = at + model.lengths[state.out[token]] - left_out
        if not at < end <= n:
            return False
        state.spans[2 * token] = origins[at]
        state.spans[2 * token + 1] = origins[end - 1] + 1
        at = end
        left_out = model.n_continuation
    return at == n


cdef Py_ssize_t locate_by_model(
    const WordModel* model, WordState* state, Py_ssize_t word, Py_ssize_t first, Py_ssize_t used
) noexcept nogil:
    """Do it by encoding the word once more, after the `used` ids. Returns 0 or a status."""
    cdef const Py_ssize_t* origins = state.reader.origins + state.words.starts[word]
    cdef Py_ssize_t needed = used + out_slots_of(state.words.lengths[word]), count, at
    cdef Py_ssize_t* found
    if not grow(<void**> &state.out, &state.out_slots, needed, sizeof(uint32_t)):
        return NO_MEMORY
    if not grow(<void**> &state.spans, &state.span_slots, 2 * needed, sizeof(Py_ssize_t)):
        return NO_MEMORY
    found = state.spans + 2 * used
    count = encode_word(model, state, word, state.out + used, found)
    for at in range(count):
        state.spans[2 * (first + at)] = origins[found[2 * at]]
        state.spans[2 * (first + at) + 1] = (
            state.words.ends[word] if found[2 * at + 1] == NOT_FOUND
            else origins[found[2 * at + 1] - 1] + 1
        )
    return min(count, 0)


cdef Py_ssize_t count_words(
    const WordModel* model, WordState* state, Py_ssize_t longest, Py_ssize_t* totals
) noexcept nogil:
    """Count the tokens of the batch. With `totals`, those up to and with each word, too.

    Words of more than `longest` bytes are left out.
    """
    cdef Key keys[WORD_SLOTS]
    cdef FirstEntry* lines[WORD_SLOTS]
    cdef Py_ssize_t new[WORD_SLOTS]
    cdef FirstEntry* entry
    cdef Py_ssize_t word, total = 0, count, n_new = 0
    cdef bint is_matched = model.kind == WORD_PIECE and model.array.slots != NULL
    make_room(state)
    find_lines(state, keys, lines)
    for word in range(state.words.count):
        count = NOT_FOUND
        if is_short(state, word):
            entry = in_line(lines[word], keys[word])
            if likely(is_entry_of(entry, keys[word])):
                count = entry.known.count
        elif state.words.lengths[word] > longest:
            count = 0
        elif model.has_segments and state.words.lengths[word] > STORED_BYTES:
            count = encode_segments(
                model, state, state.reader.buffer + state.words.starts[word],
                state.words.lengths[word], NULL,
            )
            if count < 0:
                return count
        elif is_matched and SHORT_PIECE < state.words.lengths[word] <= STORED_BYTES:
            count = stored_count(state, word, keys[word].low)
        if unlikely(count == NOT_FOUND):
            if is_matched and 0 < state.words.lengths[word] <= STORED_BYTES:
                new[n_new] = word
                n_new += 1
                continue
            count = look_up(model, state, word, keys[word], 0, False)
            if count < 0:
                return count
        total += count
        if totals != NULL:
            totals[word] = count
    if n_new > 0:
        count = count_new(model, state, new, n_new, keys, lines, totals)
        if count < 0:
            return count
        total += count
    if totals != NULL:
        for word in range(1, state.words.count):
            totals[word] += totals[word - 1]
    return total


cdef inline Py_ssize_t stored_count(
    const WordState* state, Py_ssize_t word, uint64_t hashed
) noexcept nogil:
    """How many tokens a word in the store has, or NOT_FOUND."""
    cdef uint32_t count
    cdef const uint8_t* start = state.reader.buffer + state.words.starts[word]
    if find_stored(&state.store, hashed, start, state.words.lengths[word], &count) == NULL:
        return NOT_FOUND
    return count


cdef Py_ssize_t count_new(
    const WordModel* model, WordState* state, const Py_ssize_t* words, Py_ssize_t n,
    const Key* keys, FirstEntry** lines, Py_ssize_t* counts
) noexcept nogil:
    """Match words of at most STORED_BYTES that WordPiece has not met, and keep what was found.

    Returns how many tokens they have, or NO_MEMORY; and those of each, if they are asked for.
    """
    cdef Lane lanes[WORD_SLOTS]
    cdef Lane* lane
    cdef Py_ssize_t number, word, total = 0, room = 0
    if not grow(<void**> &state.out, &state.out_slots, n * STORED_BYTES, sizeof(uint32_t)):
        return NO_MEMORY
    for number in range(n):
        word, lane = words[number], &lanes[number]
        lane.word = state.reader.buffer + state.words.starts[word]
        lane.n = state.words.lengths[word]
        lane.tokens = state.out + room
        room += lane.n
    match_together(model, lanes, n)
    for number in range(n):
        word, lane = words[number], &lanes[number]
        total += lane.count
        if counts != NULL:
            counts[word] = lane.count
        if lane.n > SHORT_PIECE:
            store_piece(
                &state.store, keys[word].low, lane.word, lane.n, lane.tokens, lane.count
            )
        elif not is_entry_of(in_line(lines[word], keys[word]), keys[word]):  # twice in the batch
            store_in_line(lines[word], keys[word], lane.tokens, lane.count)
            state.kept += 1
    return total


cdef Py_ssize_t encode_words(
    const WordModel* model, WordState* state, Py_ssize_t before, Py_ssize_t* totals
) noexcept nogil:
    """Write the ids of the batch after `before` others. Returns how many there are then.

    With `totals`, those up to and with each word, too.
    """
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
            if likely(
                is_entry_of(entry, keys[word]) and entry.known.count <= FIRST_LEVEL_TOKENS
            ):
                # There is room for three: look_up makes room for what it adds and four more.
                memcpy(state.out + before, entry.known.tokens, 3 * sizeof(uint32_t))
                before += entry.known.count
                if totals != NULL:
                    totals[word] = before
                continue
        count = look_up(model, state, word, keys[word], before + 4 * WORD_SLOTS, True)
        if count < 0:
            return count
        memmove(        # of a long word the two overlap
            state.out + before, state.out + before + 4 * WORD_SLOTS, count * sizeof(uint32_t)
        )
        before += count
        if totals != NULL:
            totals[word] = before
    return before


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


cdef Py_ssize_t look_up(
    const WordModel* model, WordState* state, Py_ssize_t word, Key key, Py_ssize_t before,
    bint keep
) noexcept nogil:
    """Encode a word whose ids the first level does not hold, after `before` others if they are kept.

    If it is short, and the first level does not even have its count, the store is not asked.
    `key` is what find_lines made of it.
    """
    cdef Py_ssize_t n = state.words.lengths[word], count
    cdef const uint8_t* start = state.reader.buffer + state.words.starts[word]
    cdef const uint32_t* found
    cdef FirstEntry* line = NULL
    cdef uint32_t known = 0
    cdef uint64_t hashed = key.low
    cdef bint is_stored = SHORT_PIECE < n <= STORED_BYTES, is_counted = False
    if is_short(state, word):
        line = first_level_line(state.first_level, state.line_mask, key)
        is_counted = is_stored = is_entry_of(in_line(line, key), key)
        hashed = scramble(hash_key(key))
    if not grow(
        <void**> &state.out, &state.out_slots, before + out_slots_of(n), sizeof(uint32_t)
    ):
        return NO_MEMORY
    if is_stored:
        found = find_stored(&state.store, hashed, start, n, &known)
        if found != NULL:
            if keep:
                memcpy(state.out + before, found, known * sizeof(uint32_t))
            return known
    count = encode_word(model, state, word, state.out + before, NULL)
    if count < 0:
        return count
    if line != NULL and not is_counted:
        state.kept += 1
        store_in_line(line, key, state.out + before, count)
    if (is_stored or (line != NULL and keep and count > FIRST_LEVEL_TOKENS)) and (
        count <= STORED_BYTES
    ):
        store_piece(&state.store, hashed, start, n, state.out + before, count)
    return count


cdef Py_ssize_t encode_word(
    const WordModel* model, WordState* state, Py_ssize_t word, uint32_t* out, Py_ssize_t* spans
) noexcept nogil:
    """The ids of a word of the batch, into `out`, which has room. Returns how many."""
    cdef Py_ssize_t n = state.words.lengths[word]
    cdef double score = 0
    cdef const uint8_t* start = state.reader.buffer + state.words.starts[word]
    if n == TOO_LONG:
        out[0] = model.unk_id
        if spans != NULL:
            spans[0] = 0
            spans[1] = NOT_FOUND        # all of it
        return 1
    if model.kind == WORD_PIECE:
        return longest_matches(model, start, n, out, spans)
    if model.has_segments and n > STORED_BYTES and spans == NULL:
        return encode_segments(model, state, start, n, out)
    return best_path(model, &state.paths, start, n, &score, out, spans, NULL, False, 0)
