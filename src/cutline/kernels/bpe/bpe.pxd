"""Vocabulary tables, and what needs nothing but them: look-ups and the pair check."""

from cutline.kernels.base.common cimport (
    LONGER, NONE, SHORT_PIECE, Key, char_bytes, decode_char, hash_key, hash_long, prefetch,
    same_bytes,
    scramble, short_key, uint8_t, uint16_t, uint32_t, uint64_t,
)

cdef enum:
    PAIR_CACHE_BITS = 13
    PAIR_CACHE_SLOTS = 1 << 13
    # Longest token of a vocabulary with non-monotone merges: bounds a stack buffer.
    MAX_NON_MONOTONE_BYTES = 2048
    ASCII = 128
    NEIGHBOUR_BITS = 18     # of the hash of two characters
    SEGMENT_BITS = 12       # of the hash of a segment in their cache
    SEGMENT_TOKENS = 3
    MOST_IDS = 4            # up to the highest, for each token, where lengths are in a table by id

# A slot of the table of tokens.
cdef struct Slot:
    Key key                     # see Probe; high is 0 where the slot is free
    uint64_t token

# A segment of a piece and its tokens: most recur, though the piece does not.
cdef struct Segment:
    Key key
    uint32_t tokens[SEGMENT_TOKENS]
    uint32_t count

# Tokens are numbered by rank inside the kernels; `ids` turns a rank into the token's id.
cdef struct Bpe:
    Py_ssize_t n_tokens
    Py_ssize_t max_token_bytes
    Py_ssize_t max_unreachable_bytes   # 0: merging reaches every token
    const uint8_t* arena
    const uint64_t* offsets            # n_tokens + 1
    const uint32_t* ids                # rank -> id
    Py_ssize_t n_dense                 # ranks below this one are their ids
    # The other tokens, in the order of their ids, which need not be that of their ranks.
    const uint32_t* sparse_ids
    const uint32_t* sparse_bytes       # how long each of them is
    const uint16_t* id_bytes           # by id, if these are not many more than tokens; or NULL
    const Slot* token_slots            # by the hash of the bytes, then the next free one
    uint64_t n_slots
    const uint64_t* pair_slots         # 1 << 63 | left << 42 | right << 21 | merged
    int pair_shift
    const uint64_t* pair_filter        # bit set: some pair may hash here
    int filter_shift
    const uint32_t* left               # rank -> left part of its last merge, or NONE
    const uint32_t* right
    const uint8_t* non_monotone        # rank -> 1: it or a part of it is a non-monotone merge
    const uint32_t* byte_token         # 256
    const uint32_t* ascii_pair         # 128 * 128: what two ASCII bytes merge to; NULL: not known
    const uint32_t* char_token         # BMP code point -> token, or NONE; NULL: do not use
    const uint8_t* open_boundaries     # 65,536 bits, byte pair inside a straddling token
    const uint64_t* neighbours         # bit set: two characters may stand so in a token
    # Filters of what tokens begin with and end in; only of tokens that merging reaches.
    const uint64_t* beginnings
    const uint64_t* endings
    int match_shift


cdef class BpeTables:
    """Owns the arrays that a Bpe points to."""
    cdef Bpe bpe
    cdef readonly dict arrays
    cdef uint32_t ascii_pair[ASCII * ASCII]
    cdef int sort_sparse_ids(self) except -1


cdef inline uint32_t id_of_rank(const Bpe* bpe, uint32_t token) noexcept nogil:
    """The token's id, without a look at the table where it can be saved."""
    return token if token < bpe.n_dense else bpe.ids[token]


# Bytes as the table of tokens has them. Up to 15 of them are the key itself, so that a token is
# found by one look at memory; of more, key is their hash and number, which others may share.
cdef struct Probe:
    Key key
    uint64_t hashed


cdef inline Probe probe_of(const uint8_t* piece, Py_ssize_t n, const uint8_t* limit) noexcept nogil:
    """What to look for n bytes with (n >= 1). Reads nothing at or beyond `limit`."""
    return short_probe(short_key(piece, n, limit)) if n <= SHORT_PIECE else long_probe(piece, n)


cdef inline Probe long_probe(const uint8_t* piece, Py_ssize_t n) noexcept nogil:
    """What to look for more than SHORT_PIECE bytes with."""
    cdef Probe probe
    probe.hashed = probe.key.low = hash_long(piece, n)
    probe.key.high = <uint64_t> n | LONGER
    return probe


cdef inline Probe short_probe(Key key) noexcept nogil:
    cdef Probe probe
    probe.key = key
    probe.hashed = scramble(hash_key(key))
    return probe


cdef inline uint64_t first_slot(const Bpe* bpe, uint64_t hashed) noexcept nogil:
    return (hashed >> 32) * bpe.n_slots >> 32


cdef inline uint32_t find_token(const Bpe* bpe, const uint8_t* piece, Py_ssize_t n) noexcept nogil:
    """The token with exactly these bytes (n >= 1), or NONE."""
    cdef Probe probe
    if n > bpe.max_token_bytes:
        return NONE
    probe = probe_of(piece, n, piece + n)
    return find_probed(bpe, &probe, piece)


cdef inline uint32_t find_probed(
    const Bpe* bpe, const Probe* probe, const uint8_t* piece
) noexcept nogil:
    """The token with these bytes, whose probe is known, or NONE; NONE for no bytes."""
    cdef uint64_t slot = first_slot(bpe, probe.hashed)
    cdef const Slot* entry
    while True:
        entry = bpe.token_slots + slot
        if entry.key.high == 0:
            return NONE     # first of all, for a piece of no bytes has this key
        if entry.key.low == probe.key.low and entry.key.high == probe.key.high:
            if probe.key.high < LONGER or same_bytes(
                bpe.arena + bpe.offsets[entry.token], piece, probe.key.high ^ LONGER
            ):
                return <uint32_t> entry.token
        slot += 1
        if slot == bpe.n_slots:
            slot = 0


cdef inline uint64_t hash_pair(uint64_t pair) noexcept nogil:
    pair *= <uint64_t> 0x9E3779B97F4A7C15
    return (pair ^ pair >> 29) * <uint64_t> 0xD6E8FEB86659FD93


cdef inline uint32_t merged_pair(const Bpe* bpe, uint64_t left, uint64_t right) noexcept nogil:
    """The token that this pair of neighbours merges to, or NONE."""
    cdef uint64_t pair = left << 21 | right
    cdef uint64_t hashed = hash_pair(pair)
    cdef uint64_t bit = hashed >> bpe.filter_shift
    cdef uint64_t mask, slot, entry
    if not bpe.pair_filter[bit >> 6] >> (bit & 63) & 1:
        return NONE
    mask = (<uint64_t> 1 << (64 - bpe.pair_shift)) - 1
    slot = hashed >> bpe.pair_shift
    pair |= <uint64_t> 1 << 42
    while True:
        entry = bpe.pair_slots[slot]
        if entry >> 21 == pair:
            return entry & 0x1FFFFF
        if entry == 0:
            return NONE
        slot = (slot + 1) & mask


cdef inline void fetch_pair(const Bpe* bpe, uint64_t left, uint64_t right) noexcept nogil:
    """Fetch what merged_pair will read, so that it waits for several pairs at once."""
    cdef uint64_t hashed = hash_pair(left << 21 | right)
    prefetch(&bpe.pair_filter[hashed >> bpe.filter_shift >> 6])
    prefetch(&bpe.pair_slots[hashed >> bpe.pair_shift])


cdef inline Py_ssize_t token_bytes(const Bpe* bpe, uint32_t token) noexcept nogil:
    return <Py_ssize_t> (bpe.offsets[token + 1] - bpe.offsets[token])


cdef inline Py_ssize_t bytes_of_id(const Bpe* bpe, uint32_t token_id) noexcept nogil:
    """Bytes of the token that has this id."""
    cdef Py_ssize_t low = 0, high = bpe.n_tokens - bpe.n_dense, middle
    if token_id < <uint64_t> bpe.n_dense:
        return token_bytes(bpe, token_id)
    if bpe.id_bytes != NULL:
        return bpe.id_bytes[token_id]
    while low + 1 < high:
        middle = (low + high) >> 1
        if bpe.sparse_ids[middle] <= token_id:
            low = middle
        else:
            high = middle
    return bpe.sparse_bytes[low]


cdef inline bint has_closed_boundaries(const Bpe* bpe) noexcept nogil:
    """Whether no token of any kind lies across the boundaries that next_closed_boundary finds."""
    return bpe.char_token != NULL and bpe.max_unreachable_bytes == 0


cdef inline uint64_t hash_neighbours(uint32_t before, uint32_t after) noexcept nogil:
    cdef uint64_t both = <uint64_t> before << 32 | after
    return both * <uint64_t> 0x9E3779B97F4A7C15 >> (64 - NEIGHBOUR_BITS)


cdef bint compatible(const Bpe* bpe, uint32_t left, uint32_t right) noexcept nogil
cdef bint compatible_before(
    const Bpe* bpe, uint32_t left, uint32_t right, uint64_t before
) noexcept nogil


cdef inline bint cached_compatible(
    const Bpe* bpe, uint64_t* pair_cache, uint32_t left, uint32_t right
) noexcept nogil:
    """The pair check, with a cache of its last answers: long pieces ask the same often.

    The pair-compatibility cache has PAIR_CACHE_SLOTS entries, all zero at first, of 1 << 63 |
    left << 22 | right << 1 | answer. NULL: no cache.
    """
    cdef uint64_t pair = <uint64_t> left << 21 | right
    cdef uint64_t* slot
    if pair_cache == NULL:
        return compatible(bpe, left, right)
    slot = pair_cache + (hash_pair(pair) >> (64 - PAIR_CACHE_BITS))
    pair |= <uint64_t> 1 << 62
    if slot[0] >> 1 != pair:
        slot[0] = pair << 1 | <uint64_t> compatible(bpe, left, right)
    return slot[0] & 1


cdef Py_ssize_t next_closed_boundary(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t start, Py_ssize_t n
) noexcept nogil
cdef bint is_closed_between(const Bpe* bpe, uint32_t before, uint32_t after) noexcept nogil
cdef bint may_merge_characters(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n, bint whole_characters
) noexcept nogil
cdef Py_ssize_t merge_segments(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t* start, Py_ssize_t n, Py_ssize_t enough,
    Segment* segments, uint32_t* out
) noexcept nogil
cdef Py_ssize_t merge_parts(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n, uint32_t* parts, uint32_t* ranks,
) noexcept nogil
cdef Py_ssize_t merge(
    const Bpe* bpe, const uint8_t* piece, Py_ssize_t n, bint whole_characters, Segment* segments,
    uint32_t* out
) noexcept nogil
