"""One pass over a text, which scans and encodes it and sets the bits of its pieces and tokens.

Guarded by tests/counting/test_intervals.py.
"""

from cutline.kernels.base.common cimport (
    INTERRUPTED, MERGE_LIMIT, NO_LIMIT, NO_MEMORY, SHORT_PIECE, char_bytes, characters_in, grow,
    is_continuation, load64, memset, uint32_t, uint64_t,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.bpe.bpe cimport bytes_of_id
from cutline.kernels.encode.batches cimport Batch, Source, encode_after, fill_batch, use_lanes
from cutline.kernels.index.bitmaps cimport (
    INNER_ONES, INNER_TWOS, PIECES, SAFE, STARTS, TOKENS, RankBitmaps, has_bit, set_bit, tokens_in,
    word_at,
)
from cutline.kernels.index.text_index cimport BYTE_STEP, STATE_STEP, LongPiece
from cutline.kernels.scan.scan cimport PieceScan, Scanner, begin_scan, continue_scan, ends_whole

# How far the pass has come.
cdef struct Pass:
    Py_ssize_t at               # in bytes
    Py_ssize_t character
    Py_ssize_t lookahead_end    # how far any decision up to here looked
    Py_ssize_t piece_slots, state_slots, whole_slots


cdef Py_ssize_t index_text(
    TextIndex* index, EncoderState* state, const uint8_t* utf8, Py_ssize_t n
) noexcept nogil:
    """Mark the whole text, without the GIL. 0, NO_MEMORY or INTERRUPTED."""
    cdef Batch batch
    cdef Source source = index.source
    cdef Pass done
    cdef Py_ssize_t tokens, before
    source.watch.is_on = True
    memset(&done, 0, sizeof(done))
    use_lanes(&source, state, n, tells_lookahead=True)
    while done.at < n:
        before = done.at
        fill_batch(&source, utf8, done.at, n, NO_LIMIT, &batch)
        tokens = encode_after(index.bpe, state, 0, utf8, n, &batch)
        if tokens < 0:
            return tokens
        if not index_batch(index, &done, utf8, n, &batch, state.out):
            return NO_MEMORY
        if is_interrupted(&source.watch, done.at - before):
            return INTERRUPTED
    set_bit(&index.bitmaps, index.text.n, PIECES)
    sum_up(index)
    return 0


cdef bint index_batch(
    TextIndex* index, Pass* done, const uint8_t* utf8, Py_ssize_t n,
    const Batch* batch, const uint32_t* ids
) noexcept nogil:
    """Mark the pieces of a batch, and characters that belong to none, and pass them.

    False: no memory.
    """
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    cdef Py_ssize_t at = done.at, character = done.character, lookahead_end = done.lookahead_end
    cdef Py_ssize_t piece, end, n_chars, count, before = 0
    cdef Py_ssize_t stop = batch.ends[batch.count - 1]
    # Up to the next character that is not ASCII, characters need no counting.
    cdef Py_ssize_t wide = stop if index.text.is_ascii else first_wide(utf8, at, stop)
    cdef uint64_t* words
    cdef uint64_t bit, bits
    for piece in range(batch.count):
        end = batch.ends[piece]
        n_chars = end - at
        if end > wide:
            n_chars = characters_in(utf8 + at, end - at, n - at)
            wide = first_wide(utf8, end, stop)
        count = batch.totals[piece] - before
        words = word_at(bitmaps, character, 0)
        bit = <uint64_t> 1 << (character & 63)
        words[PIECES] |= bit
        # No branch: mispredictions would cost more.
        words[SAFE] |= bit * (lookahead_end <= at + char_bytes(utf8[at]))
        if count <= n_chars and (end - at <= SHORT_PIECE or count <= 1):
            # Nothing reads where the tokens of a short piece begin: bits side by side will do.
            bits = (<uint64_t> 1 << count) - 1
            words[STARTS] |= bits << (character & 63)
            if (character & 63) + count > 64:
                words[bitmaps.stride + STARTS] |= bits >> (64 - (character & 63))
        else:
            words[STARTS] |= bit
            if n_chars == end - at:
                set_ascii_tokens(index, character, ids + before, count)
            else:
                set_wide_tokens(index, character, utf8 + at, ids + before, count)
        if not index.text.is_ascii and character % BYTE_STEP + n_chars >= BYTE_STEP:
            sample_bytes(index, character, n_chars, utf8, at)
        character += n_chars
        lookahead_end = max(lookahead_end, batch.lookahead_end[piece])
        if end - at > MERGE_LIMIT:
            done.at = end
            done.character = character
            if not note_long(
                index, done, utf8, n, batch.starts[piece], batch.lookahead_end[piece]
            ):
                return False
        at = end
        before = batch.totals[piece]
    done.at = at
    done.character = character
    done.lookahead_end = lookahead_end
    return True


cdef void sample_bytes(
    TextIndex* index, Py_ssize_t character, Py_ssize_t n_chars, const uint8_t* utf8, Py_ssize_t at
) noexcept nogil:
    """Note where every so many characters begin, among those after one, in UTF-8 at `at`."""
    cdef Py_ssize_t end = character + n_chars
    while character < end:
        at += char_bytes(utf8[at])
        character += 1
        if character % BYTE_STEP == 0:
            index.byte_samples[character // BYTE_STEP] = at


cdef inline Py_ssize_t first_wide(
    const uint8_t* text, Py_ssize_t at, Py_ssize_t end
) noexcept nogil:
    """The place of the first byte in text[at:end] that is not ASCII, or `end`."""
    while at + 8 <= end and load64(text + at) & <uint64_t> 0x8080808080808080 == 0:
        at += 8
    while at < end and text[at] < 0x80:
        at += 1
    return at


cdef void set_ascii_tokens(
    const TextIndex* index, Py_ssize_t at, const uint32_t* ids, Py_ssize_t count
) noexcept nogil:
    cdef Py_ssize_t token
    for token in range(count - 1):
        at += bytes_of_id(index.bpe, ids[token])
        set_bit(&index.bitmaps, at, STARTS)


cdef void set_wide_tokens(
    const TextIndex* index, Py_ssize_t character, const uint8_t* utf8, const uint32_t* ids,
    Py_ssize_t count
) noexcept nogil:
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    cdef Py_ssize_t token, at = 0, start = 0
    for token in range(count - 1):
        start += bytes_of_id(index.bpe, ids[token])
        while at < start:
            at += 1
            character += not is_continuation(utf8[at])
        if not is_continuation(utf8[at]):
            set_bit(bitmaps, character, STARTS)
        elif has_bit(bitmaps, character, INNER_ONES):
            set_bit(bitmaps, character, INNER_TWOS)
            word_at(bitmaps, character, INNER_ONES)[0] &= ~(<uint64_t> 1 << (character & 63))
        else:
            set_bit(bitmaps, character, INNER_ONES)


cdef bint note_long(
    TextIndex* index, Pass* done, const uint8_t* utf8, Py_ssize_t n,
    Py_ssize_t start, Py_ssize_t lookahead_end
) noexcept nogil:
    """Add the long piece that was just passed to the list. False: no memory."""
    cdef LongPiece* piece
    if not grow(
        <void**> &index.pieces, &done.piece_slots, index.n_pieces + 1, sizeof(LongPiece)
    ):
        return False
    piece = index.pieces + index.n_pieces
    piece.end = done.character
    piece.start = done.character - characters_in(utf8 + start, done.at - start, n - start)
    # One more: the last of a run of blanks goes to the next piece, unless a cut is there.
    piece.stop = min(piece.end + 1, index.text.n)
    piece.start_byte = start
    piece.spent = 0
    piece.tree = NULL
    piece.lookahead_end = index.text.n + 1
    if lookahead_end <= n:
        piece.lookahead_end = piece.end + characters_in(
            utf8 + done.at, lookahead_end - done.at, n - done.at
        )
    index.n_pieces += 1
    return remember_scan(index, done, piece)


cdef bint remember_scan(TextIndex* index, Pass* done, LongPiece* piece) noexcept nogil:
    """Note the automaton's states, and after which characters it would end the piece.

    False: no memory.
    """
    cdef const Scanner* scanner = index.source.scanner
    cdef Py_ssize_t n_chars = piece.stop - piece.start, length
    cdef Py_ssize_t n_states = n_chars // STATE_STEP + 1, n_whole = n_chars // 64 + 1
    cdef PieceScan scan
    if not grow(
        <void**> &index.dfa_states, &done.state_slots, index.n_states + n_states, sizeof(uint32_t)
    ) or not grow(
        <void**> &index.whole, &done.whole_slots, index.n_whole + n_whole, sizeof(uint64_t)
    ):
        return False
    piece.first_state = index.n_states
    piece.first_whole = index.n_whole
    index.n_states += n_states
    index.n_whole += n_whole
    memset(index.dfa_states + piece.first_state, 0, n_states * sizeof(uint32_t))
    memset(index.whole + piece.first_whole, 0, n_whole * sizeof(uint64_t))
    begin_scan(scanner, &scan, piece.start)
    for length in range(1, n_chars + 1):
        continue_scan(scanner, &index.text, &scan, piece.start + length)
        if ends_whole(scanner, &scan):
            index.whole[piece.first_whole + (length >> 6)] |= <uint64_t> 1 << (length & 63)
        if scan.dfa_state == 0:
            break
        if length % STATE_STEP == 0:
            index.dfa_states[piece.first_state + length // STATE_STEP] = scan.dfa_state
    return True


cdef void sum_up(TextIndex* index) noexcept nogil:
    """Sum up tokens over the blocks."""
    cdef RankBitmaps* bitmaps = &index.bitmaps
    cdef Py_ssize_t block, tokens = 0
    for block in range(bitmaps.n_blocks):
        bitmaps.words[block * bitmaps.stride + TOKENS] = tokens
        tokens += tokens_in(bitmaps, block, ~<uint64_t> 0)
