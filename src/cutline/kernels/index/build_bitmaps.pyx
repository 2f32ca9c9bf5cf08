"""One pass over a text, that scans and encodes it and marks pieces and tokens.

Guarded by tests/counting/test_intervals.py.
"""

from cutline.kernels.base.common cimport (
    MERGE_LIMIT, NO_MEMORY, SHORT_PIECE, char_bytes, characters_in, grow, is_continuation, load64,
    memset, uint32_t, uint64_t,
)
from cutline.kernels.bpe.bpe cimport bytes_of_id
from cutline.kernels.encode.batches cimport BATCH_PIECES, Batch, encode_batch, fill_batch, reserve
from cutline.kernels.index.bitmaps cimport (
    INNER_ONES, INNER_TWOS, PIECES, SETTLED, STARTS, TOKENS, Marks, has_bit, set_bit, tokens_in,
    word_at,
)
from cutline.kernels.index.text_index cimport BYTE_STEP, ROW_STEP, LongPiece
from cutline.kernels.scan.scan cimport Scanner, Walk, begin_walk, ends_whole, walk

# How far the pass has come.
cdef struct Pass:
    Py_ssize_t at               # in bytes
    Py_ssize_t character
    Py_ssize_t examined         # how far any decision up to here looked
    Py_ssize_t piece_slots, row_slots, whole_slots


cdef Py_ssize_t mark_all(
    Counter* counter, Scratch* scratch, const uint8_t* utf8, Py_ssize_t n
) noexcept nogil:
    """Mark the whole text. 0 or NO_MEMORY."""
    cdef Batch batch
    cdef Pass done
    cdef Py_ssize_t next_at, tokens
    memset(&done, 0, sizeof(done))
    while done.at < n:
        next_at = fill_batch(&counter.source, utf8, done.at, n, BATCH_PIECES, &batch)
        if not reserve(scratch, next_at - done.at + 4):
            return NO_MEMORY
        tokens = encode_batch(counter.bpe, scratch, utf8, n, &batch, scratch.out)
        if tokens < 0:
            return tokens
        if not mark_batch(counter, &done, utf8, n, &batch, scratch.out):
            return NO_MEMORY
    set_bit(&counter.marks, counter.text.n, PIECES)
    sum_up(counter)
    return 0


cdef bint mark_batch(
    Counter* counter, Pass* done, const uint8_t* utf8, Py_ssize_t n,
    const Batch* batch, const uint32_t* ids
) noexcept nogil:
    """Mark the pieces of a batch, and characters that belong to none, and pass them.

    False: no memory.
    """
    cdef const Marks* marks = &counter.marks
    cdef Py_ssize_t at = done.at, character = done.character, examined = done.examined
    cdef Py_ssize_t piece, end, n_chars, count, before = 0
    cdef Py_ssize_t stop = batch.ends[batch.count - 1]
    # Up to the next character that is not ASCII, characters need no counting.
    cdef Py_ssize_t wide = stop if counter.text.is_ascii else first_wide(utf8, at, stop)
    cdef uint64_t* words
    cdef uint64_t bit, bits
    for piece in range(batch.count):
        end = batch.ends[piece]
        n_chars = end - at
        if end > wide:
            n_chars = characters_in(utf8 + at, end - at, n - at)
            wide = first_wide(utf8, end, stop)
        count = batch.totals[piece] - before
        words = word_at(marks, character, 0)
        bit = <uint64_t> 1 << (character & 63)
        words[PIECES] |= bit
        # No branch: what a processor guesses wrong costs more.
        words[SETTLED] |= bit * (examined <= at + char_bytes(utf8[at]))
        if count <= n_chars and (end - at <= SHORT_PIECE or count <= 1):
            # Where in a short piece its tokens begin, nobody asks: they stand side by side.
            bits = (<uint64_t> 1 << count) - 1
            words[STARTS] |= bits << (character & 63)
            if (character & 63) + count > 64:
                words[marks.stride + STARTS] |= bits >> (64 - (character & 63))
        else:
            words[STARTS] |= bit
            if n_chars == end - at:
                mark_ascii_tokens(counter, character, ids + before, count)
            else:
                mark_wide_tokens(counter, character, utf8 + at, ids + before, count)
        if not counter.text.is_ascii and character % BYTE_STEP + n_chars >= BYTE_STEP:
            mark_bytes(counter, character, n_chars, utf8, at)
        character += n_chars
        examined = max(examined, batch.examined[piece])
        if end - at > MERGE_LIMIT:
            done.at = end
            done.character = character
            if not note_long(
                counter, done, utf8, n, batch.starts[piece], batch.examined[piece]
            ):
                return False
        at = end
        before = batch.totals[piece]
    done.at = at
    done.character = character
    done.examined = examined
    return True


cdef void mark_bytes(
    Counter* counter, Py_ssize_t character, Py_ssize_t n_chars, const uint8_t* utf8, Py_ssize_t at
) noexcept nogil:
    """Note where every so many characters begin, among those behind one, in UTF-8 at `at`."""
    cdef Py_ssize_t end = character + n_chars
    while character < end:
        at += char_bytes(utf8[at])
        character += 1
        if character % BYTE_STEP == 0:
            counter.byte_marks[character // BYTE_STEP] = at


cdef inline Py_ssize_t first_wide(
    const uint8_t* text, Py_ssize_t at, Py_ssize_t end
) noexcept nogil:
    """The place of the first byte in text[at:end] that is not ASCII, or `end`."""
    while at + 8 <= end and load64(text + at) & <uint64_t> 0x8080808080808080 == 0:
        at += 8
    while at < end and text[at] < 0x80:
        at += 1
    return at


cdef void mark_ascii_tokens(
    const Counter* counter, Py_ssize_t at, const uint32_t* ids, Py_ssize_t count
) noexcept nogil:
    cdef Py_ssize_t token
    for token in range(count - 1):
        at += bytes_of_id(counter.bpe, ids[token])
        set_bit(&counter.marks, at, STARTS)


cdef void mark_wide_tokens(
    const Counter* counter, Py_ssize_t character, const uint8_t* utf8, const uint32_t* ids,
    Py_ssize_t count
) noexcept nogil:
    cdef const Marks* marks = &counter.marks
    cdef Py_ssize_t token, at = 0, start = 0
    for token in range(count - 1):
        start += bytes_of_id(counter.bpe, ids[token])
        while at < start:
            at += 1
            character += not is_continuation(utf8[at])
        if not is_continuation(utf8[at]):
            set_bit(marks, character, STARTS)
        elif has_bit(marks, character, INNER_ONES):
            set_bit(marks, character, INNER_TWOS)
            word_at(marks, character, INNER_ONES)[0] &= ~(<uint64_t> 1 << (character & 63))
        else:
            set_bit(marks, character, INNER_ONES)


cdef bint note_long(
    Counter* counter, Pass* done, const uint8_t* utf8, Py_ssize_t n,
    Py_ssize_t start, Py_ssize_t examined
) noexcept nogil:
    """Add the long piece that was just passed to the list. False: no memory."""
    cdef LongPiece* piece
    if not grow(
        <void**> &counter.pieces, &done.piece_slots, counter.n_pieces + 1, sizeof(LongPiece)
    ):
        return False
    piece = counter.pieces + counter.n_pieces
    piece.end = done.character
    piece.start = done.character - characters_in(utf8 + start, done.at - start, n - start)
    # One more: the last of a run of blanks goes to the next piece, unless a cut is there.
    piece.stop = min(piece.end + 1, counter.text.n)
    piece.start_byte = start
    piece.spent = 0
    piece.tree = NULL
    piece.examined = counter.text.n + 1
    if examined <= n:
        piece.examined = piece.end + characters_in(
            utf8 + done.at, examined - done.at, n - done.at
        )
    counter.n_pieces += 1
    return remember_scan(counter, done, piece)


cdef bint remember_scan(Counter* counter, Pass* done, LongPiece* piece) noexcept nogil:
    """Note the automaton's rows, and behind which characters it would end the piece.

    False: no memory.
    """
    cdef const Scanner* scanner = counter.source.scanner
    cdef Py_ssize_t n_chars = piece.stop - piece.start, length
    cdef Py_ssize_t n_rows = n_chars // ROW_STEP + 1, n_whole = n_chars // 64 + 1
    cdef Walk scan
    if not grow(
        <void**> &counter.rows, &done.row_slots, counter.n_rows + n_rows, sizeof(uint32_t)
    ) or not grow(
        <void**> &counter.whole, &done.whole_slots, counter.n_whole + n_whole, sizeof(uint64_t)
    ):
        return False
    piece.first_row = counter.n_rows
    piece.first_whole = counter.n_whole
    counter.n_rows += n_rows
    counter.n_whole += n_whole
    memset(counter.rows + piece.first_row, 0, n_rows * sizeof(uint32_t))
    memset(counter.whole + piece.first_whole, 0, n_whole * sizeof(uint64_t))
    begin_walk(scanner, &scan, piece.start)
    for length in range(1, n_chars + 1):
        walk(scanner, &counter.text, &scan, piece.start + length)
        if ends_whole(scanner, &scan):
            counter.whole[piece.first_whole + (length >> 6)] |= <uint64_t> 1 << (length & 63)
        if scan.row == 0:
            break
        if length % ROW_STEP == 0:
            counter.rows[piece.first_row + length // ROW_STEP] = scan.row
    return True


cdef void sum_up(Counter* counter) noexcept nogil:
    """Sum up tokens over the blocks."""
    cdef Marks* marks = &counter.marks
    cdef Py_ssize_t block, tokens = 0
    for block in range(marks.n_blocks):
        marks.words[block * marks.stride + TOKENS] = tokens
        tokens += tokens_in(marks, block, ~<uint64_t> 0)
