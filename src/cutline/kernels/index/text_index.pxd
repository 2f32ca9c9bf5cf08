"""What is kept of a text to count any slice of it, and what one query writes.

Guarded by tests/counting/test_intervals.py.
"""

from cutline.kernels.base.characters cimport Characters, char_at, utf8_bytes, utf8_width
from cutline.kernels.base.common cimport NOT_FOUND, int64_t, uint8_t, uint32_t, uint64_t
from cutline.kernels.bpe.bpe cimport Bpe
from cutline.kernels.bpe.token_tree cimport Tree
from cutline.kernels.encode.batches cimport BATCH_PIECES, Batch, EncoderState, Source
from cutline.kernels.index.bitmaps cimport RankBitmaps

cdef enum:
    BUFFER_BYTES = 8192
    BYTE_STEP = 512
    STATE_STEP = 64               # characters of a long piece from one remembered state to the next

# A piece of more than MERGE_LIMIT bytes.
cdef struct LongPiece:
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t stop             # how far its tree will go, and what is known of its scan
    Py_ssize_t lookahead_end    # characters looked at; more than there are: the text's end
    Py_ssize_t start_byte
    Py_ssize_t first_state
    Py_ssize_t first_whole
    Py_ssize_t spent            # characters encoded for lack of a tree; negative: no tree helps
    const Tree* tree            # NULL: not grown yet

# What a query reads, and nothing writes but the growing of a tree.
cdef struct TextIndex:
    Characters text
    RankBitmaps bitmaps
    uint64_t* byte_samples      # bytes before every BYTE_STEP characters; not of ASCII
    const Bpe* bpe
    Source source
    LongPiece* pieces
    Py_ssize_t n_pieces
    # The scans of the long pieces, each where its piece says:
    uint32_t* dfa_states        # state offset after every STATE_STEP characters; 0: it died
    uint64_t* whole             # bit k: cut off after character k, it is one piece
    Py_ssize_t n_states, n_whole

# Short pieces are collected from one query after another, to be encoded in one go.
cdef struct Query:
    EncoderState* state
    int64_t* sums                   # tokens, by row
    Py_ssize_t row                  # of the present query
    Py_ssize_t rows[BATCH_PIECES]
    Batch batch
    Py_ssize_t used
    Py_ssize_t wanted, start, end   # NEED_TREE: a long piece, and the slice that wants its tree
    Py_ssize_t scanned              # characters, by all queries
    uint8_t utf8[BUFFER_BYTES]


cdef inline LongPiece* long_piece_at(const TextIndex* index, Py_ssize_t at) noexcept nogil:
    """The last long piece that starts before `at`, or NULL."""
    cdef Py_ssize_t low = 0, high = index.n_pieces, middle
    while low < high:
        middle = (low + high) >> 1
        if index.pieces[middle].start < at:
            low = middle + 1
        else:
            high = middle
    return index.pieces + low - 1 if low > 0 else NULL


cdef inline Py_ssize_t byte_at(const TextIndex* index, Py_ssize_t at) noexcept nogil:
    """Where a character begins in UTF-8."""
    if index.text.is_ascii:
        return at
    return <Py_ssize_t> index.byte_samples[at // BYTE_STEP] + utf8_bytes(
        &index.text, at - at % BYTE_STEP, at
    )


cdef inline Py_ssize_t char_at_byte(const TextIndex* index, Py_ssize_t byte) noexcept nogil:
    """The character that begins at this byte, or NOT_FOUND."""
    cdef Py_ssize_t low = 0, high = index.text.n // BYTE_STEP + 1, middle, at, offset
    if index.text.is_ascii:
        return byte
    while low + 1 < high:
        middle = (low + high) >> 1
        if <Py_ssize_t> index.byte_samples[middle] <= byte:
            low = middle
        else:
            high = middle
    at = low * BYTE_STEP
    offset = <Py_ssize_t> index.byte_samples[low]
    while offset < byte:
        offset += utf8_width(char_at(&index.text, at))
        at += 1
    return at if offset == byte else NOT_FOUND
