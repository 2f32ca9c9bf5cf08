"""Tokens of a part of a piece, from the tokens of the whole.

A list of tokens is an encoding if, and only if, every two neighbours are compatible. So the
part is encoded afresh only up to the first, and from the last, of the piece's own tokens that
are compatible with what comes out: one or two tokens at each end, nearly always. Where that
fails, the token tree of the piece may help. Source: docs/counting.md.

Guarded by tests/counting/test_intervals.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.characters cimport char_at, utf8_bytes, utf8_of, write_utf8
from cutline.kernels.base.common cimport (
    MERGE_LIMIT, NEED_TREE, NO_LIMIT, NO_MEMORY, NONE, NOT_FOUND, memset, uint8_t, uint32_t,
)
from cutline.kernels.bpe.bpe cimport cached_compatible, find_token, merge
from cutline.kernels.bpe.prefixes cimport Prefixes, extend_prefixes, free_prefixes, start_prefixes
from cutline.kernels.bpe.token_tree cimport is_ancestor
from cutline.kernels.encode.batches cimport encode_piece, reserve
from cutline.kernels.index.bitmaps cimport (
    PIECES, STARTS, RankBitmaps, has_bit, has_inner, last_bit, next_bit, tokens_before,
)
from cutline.kernels.index.text_index cimport byte_at, long_piece_at

cdef extern from "native.h":
    Py_ssize_t note_spent "cutline_add"(Py_ssize_t* place, Py_ssize_t added) noexcept nogil
    void set_spent "cutline_set"(Py_ssize_t* place, Py_ssize_t spent) noexcept nogil
    const void* published "cutline_published_address"(const void** place) noexcept nogil

cdef enum:
    TRIES = 4                           # tokens of the piece tried at each end
    ENCODINGS_BEFORE_TREE = 16          # times that a piece is encoded before its tree is grown
    MOST_TREE_CHARS = (1 << 30) - 1     # their bytes can be numbered in 32 bits

# Some tokens at one end of a part.
cdef struct End:
    Py_ssize_t boundary             # where the piece's own tokens begin, or end
    Py_ssize_t tokens               # beside it


cdef Py_ssize_t count_part(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n_bytes
) noexcept nogil:
    """Tokens of text[start:end], one piece of so many bytes; or a negative status."""
    cdef Py_ssize_t tokens
    if n_bytes > index.bpe.max_unreachable_bytes:
        tokens = count_by_boundaries(index, query, start, end)
        if tokens != NOT_FOUND:
            return tokens
        if n_bytes > MERGE_LIMIT:
            tokens = count_by_tree(index, query, start, end)
            if tokens != NOT_FOUND:
                return tokens
    return encode_afresh(index, query, start, end, n_bytes)


cdef Py_ssize_t count_by_boundaries(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Tokens of text[start:end] where it meets the tokens of a piece of the text; or NOT_FOUND."""
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    cdef End left, right
    if not in_one_piece(index, start, end):
        return NOT_FOUND
    left.boundary = start
    left.tokens = 0
    right.boundary = end
    right.tokens = 0
    if not has_bit(bitmaps, start, PIECES) and not meet_left(index, query, start, end, &left):
        return NOT_FOUND
    if not has_bit(bitmaps, end, PIECES) and not meet_right(
        index, query, left.boundary, end, &right
    ):
        return NOT_FOUND
    return (
        left.tokens + right.tokens
        + tokens_before(bitmaps, right.boundary) - tokens_before(bitmaps, left.boundary)
    )


cdef bint in_one_piece(const TextIndex* index, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Whether text[start:end] is all of a piece of the text, or part of one."""
    cdef const LongPiece* piece
    if has_bit(&index.bitmaps, start, PIECES) and not has_bit(&index.bitmaps, start, STARTS):
        return False    # what belongs to no piece
    if end - start > MERGE_LIMIT:
        piece = long_piece_at(index, end)
        return piece != NULL and piece.start <= start and end <= piece.end
    return next_bit(&index.bitmaps, start + 1, end, PIECES) == NOT_FOUND


cdef Py_ssize_t copy_some(
    const TextIndex* index, Py_ssize_t start, Py_ssize_t end, uint8_t* out
) noexcept nogil:
    """Copy at most MERGE_LIMIT bytes of UTF-8. Returns how many; 0: there are more."""
    cdef Py_ssize_t n = 0, at
    for at in range(start, end):
        if n > MERGE_LIMIT - 4:
            return 0
        n += write_utf8(char_at(&index.text, at), out + n)
    return n


cdef uint32_t token_between(
    const TextIndex* index, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """The token of the text that begins and ends here; NONE: others do as well, or it is long."""
    cdef uint8_t utf8[MERGE_LIMIT]
    cdef Py_ssize_t n
    if has_inner(&index.bitmaps, start, end):
        return NONE
    n = copy_some(index, start, end, utf8)
    return find_token(index.bpe, utf8, n) if n > 0 else NONE


cdef Py_ssize_t encode_some(
    const TextIndex* index, Py_ssize_t start, Py_ssize_t end, uint32_t* out
) noexcept nogil:
    """Encode at most MERGE_LIMIT bytes as one piece. The tokens; 0: there are more bytes."""
    cdef uint8_t utf8[MERGE_LIMIT]
    cdef Py_ssize_t n = copy_some(index, start, end, utf8)
    if n == 0:
        return 0
    if n > index.bpe.max_unreachable_bytes:
        out[0] = find_token(index.bpe, utf8, n)
        if out[0] != NONE:
            return 1
    return merge(index.bpe, utf8, n, True, NULL, out)


cdef bint meet_left(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end, End* met
) noexcept nogil:
    """Encode from start until a token of the text may follow. False: none of the next ones may."""
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    cdef uint32_t out[MERGE_LIMIT]
    cdef uint32_t token
    cdef Py_ssize_t boundary = next_bit(bitmaps, start + 1, end, STARTS), after, tokens, tried
    for tried in range(TRIES):
        if boundary == NOT_FOUND:
            return False
        # The token must be one of the part: it may end where the part does if a piece ends there.
        after = next_bit(bitmaps, boundary + 1, end, STARTS)
        if after == NOT_FOUND:
            if not has_bit(bitmaps, end, PIECES):
                return False
            after = end
        token = token_between(index, boundary, after)
        if token != NONE:
            tokens = encode_some(index, start, boundary, out)
            if tokens == 0:
                return False
            if cached_compatible(index.bpe, query.state.lookups.pair_cache, out[tokens - 1], token):
                met.boundary = boundary
                met.tokens = tokens
                return True
        boundary = after if after < end else NOT_FOUND
    return False


cdef bint meet_right(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end, End* met
) noexcept nogil:
    """Encode up to end from after a token of the text, itself not before start, that may go first.

    False: none of the last ones may.
    """
    cdef const RankBitmaps* bitmaps = &index.bitmaps
    cdef uint32_t out[MERGE_LIMIT]
    cdef uint32_t token
    cdef Py_ssize_t boundary = last_bit(bitmaps, start, end, STARTS), before, tokens, tried
    for tried in range(TRIES):
        if boundary == NOT_FOUND:
            return False
        before = last_bit(bitmaps, start, boundary, STARTS)
        if before == NOT_FOUND:
            return False
        token = token_between(index, before, boundary)
        if token != NONE:
            tokens = encode_some(index, boundary, end, out)
            if tokens == 0:
                return False
            if cached_compatible(index.bpe, query.state.lookups.pair_cache, token, out[0]):
                met.boundary = boundary
                met.tokens = tokens
                return True
        boundary = before
    return False


cdef Py_ssize_t count_by_tree(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Tokens of text[start:end] if a tree of the text knows them; NOT_FOUND or a status."""
    cdef const LongPiece* piece = long_piece_at(index, end)
    cdef const Tree* tree
    if piece == NULL or end > piece.stop or piece.stop - piece.start > MOST_TREE_CHARS:
        return NOT_FOUND
    tree = <const Tree*> published(<const void**> &piece.tree)
    if tree == NULL:
        if (
            note_spent(<Py_ssize_t*> &piece.spent, end - start)
            < ENCODINGS_BEFORE_TREE * (piece.end - piece.start)
        ):
            return NOT_FOUND
        query.wanted, query.start, query.end = piece - index.pieces, start, end
        return NEED_TREE
    return count_in_tree(index, piece, tree, &query.state.lookups, start, end)


cdef void forgo_tree(LongPiece* piece) noexcept nogil:
    """Grow no tree for this piece, however often it is asked for."""
    set_spent(&piece.spent, -NO_LIMIT)


cdef Py_ssize_t count_in_tree(
    const TextIndex* index, const LongPiece* piece, const Tree* tree, Lookups* lookups,
    Py_ssize_t start, Py_ssize_t end,
) noexcept nogil:
    """Tokens of text[start:end], where a tree knows all prefixes of a piece; NOT_FOUND, NO_MEMORY.

    What is asked for may start elsewhere: it is encoded from there until both agree on a
    token. In text that repeats itself they never do: so an eighth of it is tried, no more.
    """
    cdef Py_ssize_t goal = byte_at(index, end) - piece.start_byte
    cdef Py_ssize_t node = byte_at(index, start) - piece.start_byte, tokens
    cdef Prefixes prefixes
    cdef uint8_t* copied
    cdef const uint8_t* utf8
    if start == piece.start:
        return tree.depth[goal]
    memset(&prefixes, 0, sizeof(Prefixes))
    end = min(end, start + MERGE_LIMIT + (end - start) // 8)
    utf8 = utf8_of(&index.text, start, end, &copied)
    tokens = NO_MEMORY
    if utf8 != NULL and start_prefixes(&prefixes, index.bpe, lookups, False):
        tokens = count_until_met(
            index, tree, &prefixes, utf8, utf8_bytes(&index.text, start, end), node, goal
        )
    free_prefixes(&prefixes)
    free(copied)
    return tokens


cdef Py_ssize_t count_until_met(
    const TextIndex* index, const Tree* tree, Prefixes* prefixes,
    const uint8_t* utf8, Py_ssize_t n,          # in: from the start on
    Py_ssize_t node,                            # in: the start as a node; before the tree: negative
    Py_ssize_t goal,                            # in: where the piece from the start on ends
) noexcept nogil:
    """Tokens from the start to the goal, if both agree within n bytes; NOT_FOUND, NO_MEMORY."""
    cdef Py_ssize_t at
    for at in range(n):
        if not extend_prefixes(prefixes, index.bpe, utf8 + at, NO_LIMIT):
            return NO_MEMORY
        node += 1
        # The same last token in both, on the way to the goal: the rest is the tree's.
        if (
            node > 0 and tree.last[node] == prefixes.last[at + 1]
            and is_ancestor(tree, node, goal)
        ):
            return prefixes.counts[at + 1] + tree.depth[goal] - tree.depth[node]
    return NOT_FOUND


cdef Py_ssize_t encode_afresh(
    const TextIndex* index, Query* query, Py_ssize_t start, Py_ssize_t end, Py_ssize_t n_bytes
) noexcept nogil:
    """Tokens of text[start:end], one piece; or a status."""
    cdef uint8_t* copied
    cdef const uint8_t* piece
    cdef Py_ssize_t tokens
    if not reserve(query.state, n_bytes):
        return NO_MEMORY
    piece = utf8_of(&index.text, start, end, &copied)
    if piece == NULL:
        return NO_MEMORY
    tokens = encode_piece(index.bpe, query.state, piece, n_bytes, True, query.state.out)
    free(copied)
    return tokens
