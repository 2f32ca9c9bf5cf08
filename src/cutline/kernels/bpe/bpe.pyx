"""Encode one piece exactly by merging, and check which tokens may stand side by side.

Merging gives the tokens that byte pair encoding defines: of all neighbouring parts
whose concatenation is a token, the lowest rank merges first, the leftmost on a
tie. docs/algorithm.md has the proofs: why one recovered split a token is enough
(canonical pairs), why a list of tokens is the encoding if and only if every two
neighbours are compatible, and when whole characters may be merged beforehand.

Guarded by tests/kernels/test_encoders.py.
"""

from cutline.kernels.base.late import numpy as np

from cutline.kernels.base.characters cimport write_utf8
from cutline.kernels.base.common cimport (
    HIGH_BITS, MERGE_LIMIT, count_dense, last_key, load64, memcpy,
)

cdef class BpeTables:
    """The arrays of a vocabulary, kept alive for the pointers that the kernels read.

    Trusts: the arrays came from `cutline.kernels.bpe.build`, which refuses a vocabulary
    in which a byte has no token; every rank in them is below the number of tokens.
    """

    def __cinit__(self, dict arrays not None):
        self.arrays = arrays = dict(arrays)
        cdef const uint8_t[::1] arena = arrays["arena"]
        cdef const uint64_t[::1] offsets = arrays["offsets"]
        cdef const uint32_t[::1] ids = arrays["ids"]
        cdef const uint64_t[:, ::1] token_slots = arrays["token_slots"]
        cdef const uint64_t[::1] pair_slots = arrays["pair_slots"]
        cdef const uint64_t[::1] pair_filter = arrays["pair_filter"]
        cdef const uint32_t[::1] left = arrays["left"]
        cdef const uint32_t[::1] right = arrays["right"]
        cdef const uint32_t[::1] byte_token = arrays["byte_token"]
        cdef const uint64_t[::1] beginnings = arrays["beginnings"]
        cdef const uint64_t[::1] endings = arrays["endings"]
        cdef const uint8_t[::1] non_monotone
        cdef const uint32_t[::1] char_token
        cdef const uint8_t[::1] open_boundaries
        cdef const uint64_t[::1] neighbours
        self.bpe.n_tokens = ids.shape[0]
        self.bpe.max_token_bytes = arrays["max_token_bytes"]
        self.bpe.max_unreachable_bytes = arrays["max_unreachable_bytes"]
        self.bpe.arena = &arena[0]
        self.bpe.offsets = &offsets[0]
        self.bpe.ids = &ids[0]
        self.bpe.n_dense = count_dense(&ids[0], ids.shape[0])
        self.sort_sparse_ids()
        self.bpe.token_slots = <const Slot*> &token_slots[0, 0]
        self.bpe.n_slots = token_slots.shape[0]
        self.bpe.pair_slots = &pair_slots[0]
        self.bpe.pair_shift = shift_of(pair_slots.shape[0])
        self.bpe.pair_filter = &pair_filter[0]
        self.bpe.filter_shift = shift_of(pair_filter.shape[0] * 64)
        self.bpe.left = &left[0]
        self.bpe.right = &right[0]
        self.bpe.byte_token = &byte_token[0]
        self.bpe.beginnings = &beginnings[0]
        self.bpe.endings = &endings[0]
        self.bpe.match_shift = shift_of(beginnings.shape[0] * 32)
        if arrays["non_monotone"] is not None:
            non_monotone = arrays["non_monotone"]
            self.bpe.non_monotone = &non_monotone[0]
        else:
            char_token = arrays["char_token"]
            open_boundaries = arrays["open_boundaries"]
            neighbours = arrays["neighbours"]
            self.bpe.char_token = &char_token[0]
            self.bpe.open_boundaries = &open_boundaries[0]
            self.bpe.neighbours = &neighbours[0]
        fill_ascii_pairs(&self.bpe, self.ascii_pair)

    cdef int sort_sparse_ids(self) except -1:
        """Sort the tokens from n_dense on by id, with their lengths."""
        cdef const uint32_t[::1] sparse_ids, sparse_bytes
        cdef const uint16_t[::1] id_bytes
        cdef Py_ssize_t highest
        if self.bpe.n_dense == self.bpe.n_tokens:
            return 0
        ids = np.asarray(self.arrays["ids"])[self.bpe.n_dense:]
        by_id = np.argsort(ids, kind="stable")
        lengths = np.diff(self.arrays["offsets"])[self.bpe.n_dense:]
        self.arrays["sparse"] = (ids[by_id], lengths[by_id].astype(np.uint32))
        sparse_ids, sparse_bytes = self.arrays["sparse"]
        self.bpe.sparse_ids = &sparse_ids[0]
        self.bpe.sparse_bytes = &sparse_bytes[0]
        highest = sparse_ids[sparse_ids.shape[0] - 1]
        if highest < MOST_IDS * self.bpe.n_tokens:
            table = np.zeros(highest + 1, dtype=np.uint16)
            table[ids] = lengths        # at most 1 << 15
            self.arrays["id_bytes"] = id_bytes = table
            self.bpe.id_bytes = &id_bytes[0]
        return 0


cdef void fill_ascii_pairs(Bpe* bpe, uint32_t* ascii_pair) noexcept nogil:
    """Look up what any two ASCII bytes merge to.

    Most pieces that are merged are of such bytes, and a few lines of memory hold what most need.
    """
    cdef Py_ssize_t left, right
    for left in range(ASCII):
        for right in range(ASCII):
            ascii_pair[ASCII * left + right] = merged_pair(
                bpe, bpe.byte_token[left], bpe.byte_token[right]
            )
    bpe.ascii_pair = ascii_pair


def shift_of(Py_ssize_t slots):
    """Bits to drop from a 64-bit hash so that it indexes `slots`, a power of two."""
    if slots < 2 or slots & (slots - 1):
        raise ValueError(f"a hash table needs a power of two of slots, got {slots}")
    return 65 - int(slots).bit_length()


cdef bint compatible(const Bpe* bpe, uint32_t left, uint32_t right) noexcept nogil:
    """Whether bytes(left) + bytes(right) encodes to exactly these two tokens."""
    if bpe.non_monotone != NULL and (bpe.non_monotone[left] or bpe.non_monotone[right]):
        return compatible_by_merging(bpe, left, right)
    return compatible_before(bpe, left, right, NONE)


cdef bint compatible_before(
    const Bpe* bpe, uint32_t left, uint32_t right, uint64_t before
) noexcept nogil:
    """The same for tokens of monotone merges, of merges that rank below `before`.

    Undoes the merges at the boundary, the latest first. Before each, asks whether the
    two parts at the boundary would have merged with one another earlier: by rank, and
    on a tie by place, where the part further left goes first.
    """
    cdef uint32_t merged, inner
    while True:
        # A boundary merge of a rank below `before` comes before the merge last undone.
        merged = merged_pair(bpe, left, right)
        if merged < before:
            return False
        # Equal tokens: the left one was formed first, so the right one is undone first.
        if left > right and bpe.left[left] != NONE:
            before = left
            left = bpe.right[left]
            continue
        inner = bpe.left[right]
        if inner != NONE:
            before = <uint64_t> right + 1
            right = inner
        elif bpe.left[left] != NONE:
            before = left
            left = bpe.right[left]
        else:
            return True


cdef bint compatible_by_merging(const Bpe* bpe, uint32_t left, uint32_t right) noexcept nogil:
    """The pair check by its definition: for tokens whose merges do not rise in rank."""
    cdef uint8_t both[2 * MAX_NON_MONOTONE_BYTES]
    cdef uint32_t out[2 * MAX_NON_MONOTONE_BYTES]
    cdef uint32_t ranks[2 * MAX_NON_MONOTONE_BYTES]
    cdef Py_ssize_t n_left = token_bytes(bpe, left), n_right = token_bytes(bpe, right), count
    memcpy(both, bpe.arena + bpe.offsets[left], n_left)
    memcpy(both + n_left, bpe.arena + bpe.offsets[right], n_right)
    count = merge_parts(bpe, both, n_left + n_right, out, ranks)
    return count == 2 and out[0] == left and out[1] == right


cdef Py_ssize_t merge(
    const Bpe* bpe,
    const uint8_t* piece, Py_ssize_t n,     # in: 1 to MERGE_LIMIT bytes
    bint whole_characters,                  # in: the bytes are valid UTF-8
    Segment* segments,                      # in and out: of merge_segments
    uint32_t* out,                          # out: at most n tokens
) noexcept nogil:
    """Encode a short piece by merging its parts. Returns the number of tokens.

    Quadratic in n, hence the limit.
    """
    cdef uint32_t ranks[MERGE_LIMIT]
    cdef Py_ssize_t start = 0
    cdef bint all_ascii = is_ascii(piece, n)
    if all_ascii or not whole_characters or bpe.char_token == NULL:
        byte_parts(bpe, piece, n, all_ascii, out, ranks)
        return merge_ranked(bpe, n, out, ranks)
    return merge_segments(bpe, piece, &start, n, n, segments, out)


cdef bint may_merge_characters(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n, bint whole_characters
) noexcept nogil:
    """Whether merge_segments pays for a piece: it has characters of several bytes."""
    return whole_characters and bpe.char_token != NULL and not is_ascii(piece, n)


cdef inline void close_gap(uint32_t* gap, Py_ssize_t n) noexcept nogil:
    """Move the n numbers after a gap back into it: a call of memmove takes longer."""
    cdef uint32_t* end = gap + n
    cdef uint64_t two
    while gap + 1 < end:
        memcpy(&two, gap + 1, sizeof(two))
        memcpy(gap, &two, sizeof(two))
        gap += 2
    if gap < end:
        gap[0] = gap[1]


cdef inline bint is_ascii(const uint8_t* piece, Py_ssize_t n) noexcept nogil:
    """Whether all bytes are; asks the last one first, for most pieces are of one script."""
    cdef Py_ssize_t at = n - 1
    while at >= 7:
        if load64(piece + at - 7) & HIGH_BITS:
            return False
        at -= 8
    while at >= 0 and piece[at] < ASCII:
        at -= 1
    return at < 0


cdef inline void byte_parts(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n, bint all_ascii,
    uint32_t* parts, uint32_t* ranks,       # out: n slots each
) noexcept nogil:
    """The parts that merging bytes begins with, and what neighbours merge to."""
    cdef Py_ssize_t at
    parts[0] = bpe.byte_token[piece[0]]
    if all_ascii and bpe.ascii_pair != NULL:
        for at in range(1, n):
            parts[at] = bpe.byte_token[piece[at]]
            ranks[at - 1] = bpe.ascii_pair[ASCII * piece[at - 1] + piece[at]]
        return
    for at in range(1, n):
        parts[at] = bpe.byte_token[piece[at]]
        fetch_pair(bpe, parts[at - 1], parts[at])
    for at in range(n - 1):
        ranks[at] = merged_pair(bpe, parts[at], parts[at + 1])


cdef Py_ssize_t merge_parts(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n,
    uint32_t* parts, uint32_t* ranks,       # n slots each
) noexcept nogil:
    byte_parts(bpe, piece, n, is_ascii(piece, n), parts, ranks)
    return merge_ranked(bpe, n, parts, ranks)


cdef inline Py_ssize_t merge_ranked(
    const Bpe* bpe, Py_ssize_t count, uint32_t* parts, uint32_t* ranks
) noexcept nogil:
    """Merge parts, the lowest rank first. Returns how many are left."""
    cdef Py_ssize_t at, best
    cdef uint32_t lowest
    while count > 1:
        lowest = NONE
        best = 0
        for at in range(count - 1):
            if ranks[at] < lowest:
                lowest = ranks[at]
                best = at
        if lowest == NONE:
            break
        if best > 0:
            fetch_pair(bpe, parts[best - 1], lowest)
        if best < count - 2:
            fetch_pair(bpe, lowest, parts[best + 2])
        parts[best] = lowest
        count -= 1
        close_gap(parts + best + 1, count - best - 1)
        close_gap(ranks + best, count - best - 1)
        if best > 0:
            ranks[best - 1] = merged_pair(bpe, parts[best - 1], lowest)
        if best < count - 1:
            ranks[best] = merged_pair(bpe, lowest, parts[best + 1])
    return count


cdef inline Py_ssize_t merge_segment(
    const Bpe* bpe,
    const uint8_t* text, Py_ssize_t n, Py_ssize_t count,    # in: the segment; how many parts it has
    Segment* segments,          # in and out: the cache of segments; or NULL
    uint32_t* parts             # in: what merging begins with; out: the tokens
) noexcept nogil:
    """Merge the parts of a segment. Returns how many are left."""
    cdef uint32_t merged
    cdef Key key
    cdef Segment* segment
    if count == 1:
        return 1
    if count == 2:
        merged = merged_pair(bpe, parts[0], parts[1])
        if merged == NONE:
            return 2
        parts[0] = merged
        return 1
    if segments == NULL or n > SHORT_PIECE:
        return merge_neighbours(bpe, count, parts)
    key = last_key(text, n)
    segment = segments + (hash_key(key) >> (64 - SEGMENT_BITS))
    if segment.key.low == key.low and segment.key.high == key.high:
        memcpy(parts, segment.tokens, sizeof(segment.tokens))
        return segment.count
    count = merge_neighbours(bpe, count, parts)
    if count <= SEGMENT_TOKENS:
        segment.key = key
        memcpy(segment.tokens, parts, sizeof(segment.tokens))
        segment.count = <uint32_t> count
    return count


cdef Py_ssize_t merge_neighbours(
    const Bpe* bpe, Py_ssize_t count, uint32_t* parts
) noexcept nogil:
    """Merge parts of which nothing is known yet. Returns how many are left."""
    cdef uint32_t ranks[MERGE_LIMIT]
    cdef Py_ssize_t at
    for at in range(count - 1):
        ranks[at] = merged_pair(bpe, parts[at], parts[at + 1])
    return merge_ranked(bpe, count, parts, ranks)


cdef Py_ssize_t next_closed_boundary(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t start, Py_ssize_t n
) noexcept nogil:
    """The next boundary between two characters that no token lies across; n: there is none."""
    cdef Py_ssize_t width = char_bytes(piece[start]), at = start + width
    cdef uint32_t before = decode_char(piece + start, width), after
    while at < n:
        if before < 0x80:
            while at + 8 <= n and not load64(piece + at) & HIGH_BITS:
                at += 8
                before = piece[at - 1]
            if at == n:
                return n
        width = char_bytes(piece[at])
        after = decode_char(piece + at, width)
        if not may_meet(bpe, before, after) and not is_open_boundary(bpe, piece + at):
            return at
        before = after
        at += width
    return n


cdef inline bint may_meet(const Bpe* bpe, uint32_t before, uint32_t after) noexcept nogil:
    """Whether two characters may stand side by side in a token that is whole characters."""
    cdef uint64_t bit
    # Any two of ASCII do in some token, or nearly so.
    if before | after < 0x80:
        return True
    bit = hash_neighbours(before, after)
    return bpe.neighbours[bit >> 6] >> (bit & 63) & 1


cdef inline bint is_open_boundary(const Bpe* bpe, const uint8_t* boundary) noexcept nogil:
    """Whether a token that is not whole characters may lie across this boundary."""
    cdef uint32_t pair = <uint32_t> (boundary - 1)[0] << 8 | boundary[0]
    return bpe.open_boundaries[pair >> 3] >> (pair & 7) & 1


cdef bint is_closed_between(const Bpe* bpe, uint32_t before, uint32_t after) noexcept nogil:
    """Whether next_closed_boundary finds the boundary between two characters."""
    cdef uint8_t[8] both
    cdef Py_ssize_t at
    if may_meet(bpe, before, after):
        return False
    at = write_utf8(before, both)
    write_utf8(after, both + at)
    return not is_open_boundary(bpe, both + at)


cdef Py_ssize_t merge_segments(
    const Bpe* bpe, const uint8_t* piece,
    Py_ssize_t* start,          # in: where a segment begins; out: where the first one left begins
    Py_ssize_t n,
    Py_ssize_t enough,          # in: no segment is begun from here on
    Segment* segments,          # in and out: the cache of segments; or NULL
    uint32_t* out               # out: a slot for each byte
) noexcept nogil:
    """Encode a piece segment by segment, each up to the next closed boundary. Returns the tokens.

    Leaves a segment of more than MERGE_LIMIT bytes. Merging begins with whole characters where that
    is proven exact, else with bytes. No token reaches over a boundary that is not open unless it
    consists of whole characters, so a character between two such boundaries merges by itself before
    anything else touches it.
    """
    cdef Py_ssize_t at = start[0], after, width, next_width = char_bytes(piece[at])
    cdef Py_ssize_t count = 0, n_parts = 0
    cdef uint32_t char, next_char = decode_char(piece + at, next_width), token
    cdef bint is_open = False, next_is_open, is_closed
    while at < enough or n_parts > 0:
        width = next_width
        char = next_char
        after = at + width
        if after - start[0] > MERGE_LIMIT:
            break
        next_is_open = False
        is_closed = True
        if after < n:
            next_width = char_bytes(piece[after])
            next_char = decode_char(piece + after, next_width)
            next_is_open = is_open_boundary(bpe, piece + after)
            is_closed = not next_is_open and not may_meet(bpe, char, next_char)
        token = NONE
        if (width == 2 or width == 3) and not (is_open or next_is_open):
            token = bpe.char_token[char]
        if token != NONE:
            out[count + n_parts] = token
            n_parts += 1
        else:
            while at < after:
                out[count + n_parts] = bpe.byte_token[piece[at]]
                n_parts += 1
                at += 1
        is_open = next_is_open
        at = after
        if is_closed:
            # A segment that is the whole piece was looked up as such.
            count += merge_segment(
                bpe, piece + start[0], at - start[0], n_parts,
                segments if at - start[0] < n else NULL, out + count,
            )
            n_parts = 0
            start[0] = at
    return count
