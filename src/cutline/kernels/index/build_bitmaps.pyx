"""One pass over a text, which scans and encodes it and sets the bits of its pieces and tokens.

Guarded by tests/counting/test_intervals.py.
"""

from cutline.kernels.base.common cimport (
    HIGH_BITS, INTERRUPTED, MERGE_LIMIT, NO_LIMIT, NO_MEMORY, SHORT_PIECE, char_bytes, characters_in, grow,
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

cdef extern from "native.h":
    int popcount "cutline_popcount"(uint64_t word) noexcept nogil

cdef extern from "sixteen.h":
    uint32_t narrow_beginnings "cutline_narrow_beginnings"(const uint8_t* text) noexcept nogil

# How far the pass has come.
cdef struct Pass:
    Py_ssize_t at               # in bytes
    Py_ssize_t character
    Py_ssize_t lookahead_end    # how far any decision up to here looked
    Py_ssize_t wide             # of the batch: here is the next character that is not ASCII
    Py_ssize_t tokens           # of the batch
    uint64_t pieces, safe, starts   # bits of the block that were not set yet
    Py_ssize_t piece_slots, state_slots, whole_slots


cdef Py_ssize_t index_text(
    TextIndex* index, EncoderState* state, const uint8_t* utf8, Py_ssize_t n
) noexcept nogil:
    """Mark the whole text, without the GIL. 0, NO_MEMORY or INTERRUPTED."""
    cdef Batch batch
    cdef Source source = index.source
    cdef Pass done
    cdef Py_ssize_t tokens, before
    state.lookups.watch.is_on = True
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
        if is_interrupted(&state.lookups.watch, done.at - before):
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
    cdef Py_ssize_t piece = 0, stop = batch.ends[batch.count - 1]
    # Up to the next character that is not ASCII, characters need no counting.
    done.wide = stop if index.text.is_ascii else first_wide(utf8, done.at, stop)
    done.tokens = 0
    while True:
        piece = pass_plain(done, batch, piece)
        if piece == batch.count:
            break
        if not pass_piece(index, done, utf8, n, batch, piece, ids):
            return False
        piece += 1
    set_bits(index, done)
    return True


cdef inline Py_ssize_t pass_plain(
    Pass* done, const Batch* batch, Py_ssize_t piece
) noexcept nogil:
    """Pass short pieces of ASCII that lie in the block. Returns the first that is none.

    Most are: few numbers and no branch for what they are is what makes this fast.
    """
    cdef Py_ssize_t at = done.at, place = done.character & 63, lookahead_end = done.lookahead_end
    cdef Py_ssize_t tokens = done.tokens, size, count
    cdef uint64_t pieces = done.pieces, safe = done.safe, starts = done.starts, bit
    while piece < batch.count:
        size = batch.ends[piece] - at
        count = batch.totals[piece] - tokens
        if (
            at + size > done.wide or size > SHORT_PIECE or count > size or place + size >= 64
        ):
            break
        bit = <uint64_t> 1 << place
        pieces |= bit
        safe |= bit * (lookahead_end <= at + 1)
        # Nothing reads where the tokens of a short piece begin: bits side by side will do.
        starts |= (bit << count) - bit
        lookahead_end = max(lookahead_end, batch.lookahead_end[piece])
        tokens += count
        at += size
        place += size
        piece += 1
    done.character += place - (done.character & 63)
    done.at = at
    done.lookahead_end = lookahead_end
    done.tokens = tokens
    done.pieces = pieces
    done.safe = safe
    done.starts = starts
    return piece


cdef bint pass_piece(
    TextIndex* index, Pass* done, const uint8_t* utf8, Py_ssize_t n, const Batch* batch,
    Py_ssize_t piece, const uint32_t* ids
) noexcept nogil:
    """Mark any piece, and pass it. False: no memory."""
    cdef Py_ssize_t at = done.at, character = done.character, end = batch.ends[piece]
    cdef Py_ssize_t n_chars = end - at, count = batch.totals[piece] - done.tokens
    cdef int place = character & 63
    cdef uint64_t bits = 1
    if end > done.wide:
        n_chars = characters_in(utf8 + at, end - at, n - at)
        done.wide = first_wide(utf8, end, batch.ends[batch.count - 1])
    if count <= n_chars and (end - at <= SHORT_PIECE or count <= 1):
        bits = (<uint64_t> 1 << count) - 1
    elif n_chars == end - at:
        set_ascii_tokens(index, character, ids + done.tokens, count)
    else:
        set_wide_tokens(index, character, utf8 + at, n - at, ids + done.tokens, count)
    done.pieces |= <uint64_t> 1 << place
    # No branch: mispredictions would cost more.
    done.safe |= <uint64_t> (done.lookahead_end <= at + char_bytes(utf8[at])) << place
    done.starts |= bits << place
    done.lookahead_end = max(done.lookahead_end, batch.lookahead_end[piece])
    done.tokens = batch.totals[piece]
    done.at = end
    if place + n_chars >= 64:
        set_bits(index, done)
        # What did not fit into the block: bits lie within the piece.
        done.starts = bits >> (64 - place) if place > 0 else 0
        if not index.text.is_ascii and character % BYTE_STEP + n_chars >= BYTE_STEP:
            sample_bytes(index, character, n_chars, utf8, at)
    done.character = character + n_chars
    return end - at <= MERGE_LIMIT or note_long(
        index, done, utf8, n, batch.starts[piece], batch.lookahead_end[piece]
    )


cdef inline void set_bits(TextIndex* index, Pass* done) noexcept nogil:
    """Set the bits of the block that the pass has come to."""
    cdef uint64_t* words = word_at(&index.bitmaps, done.character, 0)
    words[PIECES] |= done.pieces
    words[SAFE] |= done.safe
    words[STARTS] |= done.starts
    done.pieces = done.safe = done.starts = 0


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
    while at + 8 <= end and load64(text + at) & HIGH_BITS == 0:
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
    const TextIndex* index, Py_ssize_t character, const uint8_t* utf8, Py_ssize_t readable,
    const uint32_t* ids, Py_ssize_t count
) noexcept nogil:
    """Set where the tokens of a piece begin, from UTF-8 of which nothing is `readable` later."""
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    cdef Py_ssize_t token, start = 0, block = 0
    cdef uint64_t begins = beginnings(utf8, readable), up_to
    character -= 1      # the last one before the block
    for token in range(count - 1):
        start += bytes_of_id(index.bpe, ids[token])
        while start >= block + 64:
            character += popcount(begins)
            block += 64
            begins = beginnings(utf8 + block, readable - block)
        up_to = begins << (63 - (start & 63))
        set_token(bitmaps, character + popcount(up_to), up_to >> 63)


cdef inline void set_token(
    const RankBitmaps* bitmaps, Py_ssize_t character, bint begins
) noexcept nogil:
    """Set that a token begins in a character, where that begins, too, or further in."""
    if begins:
        set_bit(bitmaps, character, STARTS)
    elif has_bit(bitmaps, character, INNER_ONES):
        set_bit(bitmaps, character, INNER_TWOS)
        word_at(bitmaps, character, INNER_ONES)[0] &= ~(<uint64_t> 1 << (character & 63))
    else:
        set_bit(bitmaps, character, INNER_ONES)


cdef inline uint64_t beginnings(const uint8_t* utf8, Py_ssize_t readable) noexcept nogil:
    """Which of 64 bytes begin a character: a bit for each, up to what is readable."""
    cdef uint64_t found = 0
    cdef Py_ssize_t at
    if readable >= 64:
        for at in range(4):
            found |= <uint64_t> narrow_beginnings(utf8 + 16 * at) << 16 * at
        return found
    for at in range(readable):
        found |= <uint64_t> (not is_continuation(utf8[at])) << at
    return found


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
