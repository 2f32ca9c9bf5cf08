"""The caches of pieces, inlined into the encoder: what encoding a piece gave, looked up by its bytes.

Short pieces of few tokens are in the first level, two to a line of the processor's cache; of words,
the counts of all short ones. All others are in the store: an index of places in a ring, into which
each new piece is written after the last one, over the oldest.

Guarded by tests/kernels/test_caches.py.
"""

from cutline.kernels.base.common cimport (
    Key, hash_key, memcpy, memset, same_bytes, uint8_t, uint32_t, uint64_t,
)

cdef enum:
    FIRST_LEVEL_TOKENS = 3
    STORED_BYTES = 255          # longest piece in the store
    TAG_BITS = 24               # of the hash of a piece, in the index of the store

# The tokens of a piece and their number.
cdef struct Known:
    uint32_t tokens[FIRST_LEVEL_TOKENS]
    uint32_t count

# Two of these are a line.
cdef struct FirstEntry:
    Key key
    Known known

# The index holds `place << TAG_BITS | tag`, two for each hash: where the piece was written, in words
# of 8 bytes since the ring was new, and some bits of its hash. At that place: its code (how many
# bytes it has) and how many tokens in one word, its tokens, its bytes. A place that was written over
# is too far behind the next one.
cdef struct Store:
    uint64_t* index
    uint64_t index_mask
    uint64_t* ring
    uint64_t ring_words         # a power of two
    uint64_t next_word


cdef inline FirstEntry* first_level_line(
    FirstEntry* first_level, uint64_t line_mask, Key key
) noexcept nogil:
    """The line that holds the piece of a key, if one does."""
    return first_level + 2 * (hash_key(key) >> 40 & line_mask)


cdef inline FirstEntry* in_line(FirstEntry* line, Key key) noexcept nogil:
    """The entry of a line that holds the piece of a key, if one does."""
    return line + (line.key.low != key.low)


cdef inline bint is_entry_of(const FirstEntry* entry, Key key) noexcept nogil:
    return ((entry.key.low ^ key.low) | (entry.key.high ^ key.high)) == 0


cdef inline void store_in_line(
    FirstEntry* line, Key key, const uint32_t* tokens, Py_ssize_t count
) noexcept nogil:
    """Put a piece into its line; the one before the last leaves it.

    Of more than FIRST_LEVEL_TOKENS, only their number is of use there.
    """
    line[1] = line[0]
    line.key = key
    memcpy(line.known.tokens, tokens, min(count, FIRST_LEVEL_TOKENS) * sizeof(uint32_t))
    line.known.count = count


cdef inline void spread_lines(
    FirstEntry* first_level, uint64_t n_lines, uint64_t line_mask
) noexcept nogil:
    """Use more lines, those beyond n_lines being zeros: pieces move where their keys say."""
    cdef uint64_t number
    cdef int place
    cdef FirstEntry entry
    cdef FirstEntry* line
    cdef FirstEntry* moved
    cdef FirstEntry* before
    for number in range(n_lines):
        line = first_level + 2 * number
        before = NULL
        for place in range(1, -1, -1):
            entry = line[place]
            moved = first_level_line(first_level, line_mask, entry.key)
            if moved == line or entry.key.high == 0:
                continue
            # A new line is not read before it is written: its page would be met twice.
            if moved == before:
                moved[1] = moved[0]
            moved[0] = entry
            before = moved
            line[place] = line[1]
            memset(&line[1], 0, sizeof(FirstEntry))


cdef inline uint64_t* index_slot(const Store* store, uint64_t hashed) noexcept nogil:
    """The first of the two entries of the index that may be those of a piece."""
    return store.index + (hashed >> 20 & store.index_mask & ~<uint64_t> 1)


cdef inline const uint32_t* stored_record(const Store* store, uint64_t hashed) noexcept nogil:
    """The piece in the ring that may be the one of this hash, or NULL."""
    cdef const uint64_t* slot = index_slot(store, hashed)
    cdef uint64_t tags = (1 << TAG_BITS) - 1
    cdef uint64_t entry = slot[((slot[0] ^ hashed) & tags) != 0]
    cdef uint64_t place = entry >> TAG_BITS
    if (entry ^ hashed) & tags or store.next_word - place > store.ring_words:
        return NULL
    return <const uint32_t*> (store.ring + (place & (store.ring_words - 1)))


cdef inline const uint32_t* find_stored(
    const Store* store, uint64_t hashed, const uint8_t* piece, Py_ssize_t n, uint32_t* count
) noexcept nogil:
    """The tokens of a piece in the store, and their number; NULL: it is not there."""
    cdef const uint32_t* record = stored_record(store, hashed)
    if record == NULL or record[0] != <uint32_t> n:
        return NULL
    if not same_bytes(<const uint8_t*> (record + 2 + record[1]), piece, n):
        return NULL
    count[0] = record[1]
    return record + 2


cdef inline void store_piece(
    Store* store, uint64_t hashed, const uint8_t* piece, Py_ssize_t n,
    const uint32_t* tokens, Py_ssize_t count
) noexcept nogil:
    """Write a piece of at most STORED_BYTES into the ring."""
    store_record(store, hashed, <uint32_t> n, piece, n, tokens, count)


cdef inline void store_record(
    Store* store, uint64_t hashed, uint32_t code, const uint8_t* piece, Py_ssize_t n,
    const uint32_t* tokens, Py_ssize_t count
) noexcept nogil:
    """Write what has a code, which is the length of a piece or more than any is, into the ring.

    Of the two entries that the index has for it, the older one is lost.
    """
    cdef uint64_t words = (8 + 4 * count + n + 7) >> 3, place = store.next_word
    cdef uint64_t left = store.ring_words - (place & (store.ring_words - 1))
    cdef uint64_t* slot = index_slot(store, hashed)
    cdef uint32_t* record
    if words > left:
        place += left       # a piece lies in one stretch
    record = <uint32_t*> (store.ring + (place & (store.ring_words - 1)))
    record[0] = code
    record[1] = count
    memcpy(record + 2, tokens, count * sizeof(uint32_t))
    memcpy(record + 2 + count, piece, n)
    store.next_word = place + words
    slot[1] = slot[0]
    slot[0] = place << TAG_BITS | (hashed & ((1 << TAG_BITS) - 1))
