"""Encode a long text that is not ASCII in blocks of its UTF-8.

A block stays in the processor's cache while it is written, searched and encoded; the whole text's
UTF-8 would be written to memory, page by page met for the first time, and read again.

Guarded by tests/kernels/test_blocks.py.
"""

from cutline.kernels.base.characters cimport Characters, utf8_bytes
from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, UNKNOWN, grow, memmove, uint8_t,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.base.utf8 cimport MOST_AT_WORST, UTF8_ROOM, utf8_at_worst, write_text
from cutline.kernels.encode.batches cimport (
    MOST_UNWANTED, Batch, add_tokens, encode_text, look_for_unwanted, pieces_by_lanes, use_lanes,
)
from cutline.kernels.scan.lanes cimport CHUNK

cdef enum:
    BLOCK = 1 << 18     # bytes, with what is left of the last block
    STEP = 1 << 13      # characters written at a time: they may take four bytes each, or one
    # What a chunk's pieces may depend on; and of a string that may begin there, the rest.
    BEYOND = 2 * CHUNK + MOST_UNWANTED


# What is known of a text.
cdef struct Written:
    Characters rest     # the characters that are not yet written to state.utf8
    Py_ssize_t at       # there, a piece begins that is not yet encoded
    Py_ssize_t n        # bytes written
    Py_ssize_t searched     # before there, no unwanted string begins


cdef bint pays_in_blocks(const Source* source, const Characters* text) noexcept nogil:
    """Whether a text is long, not ASCII, and scanned by lanes."""
    return (
        not text.is_ascii and utf8_at_worst(text) > BLOCK
        and source.scanner != NULL and source.scanner.lane_table != NULL
    )


cdef Py_ssize_t encode_in_blocks(
    const Bpe* bpe, Source* source, EncoderState* state,
    const Characters* text,     # in: pays_in_blocks
    Py_ssize_t before,      # in: tokens in state.out to keep, or -1: keep none, only count
    Py_ssize_t limit,       # in: stop once there are more tokens than this
) noexcept nogil:
    """What encode_text does. UNKNOWN: the text has surrogates.

    The pieces of a chunk are those of the whole text if deciding on them did not look beyond the
    block. Where lanes do not pay, or look as far, the rest is encoded as one.
    """
    cdef Written written
    cdef Py_ssize_t total = 0, added
    written.rest = text[0]
    written.at = written.n = written.searched = 0
    if not grow(<void**> &state.utf8, &state.utf8_bytes, BLOCK + UTF8_ROOM, 1):
        return NO_MEMORY
    use_lanes(source, state, text.n, tells_lookahead=False)
    added = 0 if source.chunk != NULL else UNKNOWN
    while written.rest.n > 0 and added >= 0 and total <= limit:
        if not write_block(source, state, &written):
            return UNKNOWN
        if written.rest.n > 0:
            added = encode_block(bpe, source, state, &written, before, limit, &total)
    if added == UNKNOWN:
        added = write_rest(state, &written)
    if added < 0:
        return added
    if total > limit:
        return total
    added = encode_text(
        bpe, source, state, state.utf8 + written.at, written.n - written.at,
        before + total if before >= 0 else -1, limit - total,
    )
    return added if added < 0 else total + added


cdef bint write_block(Source* source, EncoderState* state, Written* written) noexcept nogil:
    """Write the next characters behind what is left of the last block. False: a surrogate."""
    cdef Py_ssize_t done = written.at
    memmove(state.utf8, state.utf8 + done, written.n - done)
    written.at = 0
    written.n -= done
    written.searched = max(written.searched - done, 0)
    source.chunk.start = source.chunk.at = source.chunk.stop = 0
    source.laned_from = max(source.laned_from - done, 0)
    while written.rest.n > 0 and written.n + 4 * STEP <= BLOCK:
        if not write_some(state, written, STEP):
            return False
    written.searched = look_for_unwanted(state, state.utf8, written.searched, written.n)
    return True


cdef bint write_some(EncoderState* state, Written* written, Py_ssize_t most) noexcept nogil:
    """Write up to so many characters more, for which there is room. False: a surrogate."""
    cdef Characters part = written.rest
    cdef Py_ssize_t added
    part.n = min(part.n, most)
    added = write_text(&part, True, state.utf8 + written.n)
    if added < 0:
        return False
    written.n += added
    written.rest.data = <const uint8_t*> part.data + part.n * part.kind
    written.rest.n -= part.n
    return True


cdef Py_ssize_t write_rest(EncoderState* state, Written* written) noexcept nogil:
    """Write all other characters. 0; UNKNOWN: a surrogate; or NO_MEMORY."""
    cdef Py_ssize_t n = utf8_at_worst(&written.rest)
    if written.rest.n > MOST_AT_WORST:
        n = utf8_bytes(&written.rest, 0, written.rest.n)
    if not grow(<void**> &state.utf8, &state.utf8_bytes, written.n + n + UTF8_ROOM, 1):
        return NO_MEMORY
    return 0 if write_some(state, written, written.rest.n) else UNKNOWN


cdef Py_ssize_t encode_block(
    const Bpe* bpe, Source* source, EncoderState* state, Written* written, Py_ssize_t before,
    Py_ssize_t limit, Py_ssize_t* total     # in and out: tokens so far
) noexcept nogil:
    """Encode chunk after chunk, but the last ones. UNKNOWN: the rest is to be encoded as one.

    0; or as encode_text.
    """
    cdef Batch batch
    cdef Py_ssize_t added, done
    while total[0] <= limit and (
        written.at < source.chunk.stop or written.n - written.at > BEYOND
    ):
        done = written.at
        pieces_by_lanes(source, state.utf8, done, written.n, &batch)
        if batch.count == 0:
            return UNKNOWN
        written.at = source.chunk.at
        if is_interrupted(&state.lookups.watch, written.at - done):
            return INTERRUPTED
        added = add_tokens(
            bpe, state, state.utf8, written.n, &batch,
            before + total[0] if before >= 0 else -1,
        )
        if added < 0:
            return added
        total[0] += added
    return 0
