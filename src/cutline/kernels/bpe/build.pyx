"""Build the tables that `bpe` reads from a vocabulary's arena, offsets and ranks.

Tokens are numbered by rank here. docs/algorithm.md says why one split a token (its
own last merge) is all that merging needs to know.

Guarded by tests/kernels/test_splits.py.
"""

from cpython.exc cimport PyErr_CheckSignals

from cutline.kernels.base.late import numpy as np

from cutline.kernels.base.common cimport (
    NONE, char_bytes, decode_char, is_continuation, prefetch, uint8_t, uint32_t, uint64_t,
)
from cutline.kernels.base.utf8 cimport valid_width
from cutline.kernels.bpe.bpe cimport (
    MAX_NON_MONOTONE_BYTES, NEIGHBOUR_BITS, Bpe, Probe, Slot, compatible_before, find_probed,
    find_token, first_slot, hash_neighbours, hash_pair, merge_parts, probe_of, token_bytes,
)
from cutline.kernels.bpe.matches cimport BEGINS, IS_TOKEN, extended
from cutline.kernels.bpe.bpe import shift_of

NON_MONOTONE_LIMIT = MAX_NON_MONOTONE_BYTES

cdef enum:
    AHEAD = 32      # how many tokens ahead memory is fetched
    WATCHED = 1 << 12   # tokens from one look for signals to the next


def slots_for(Py_ssize_t entries):
    """A power of two of slots that `entries` fill at most half."""
    return 1 << max(4, (2 * entries - 1).bit_length())


def filter_words_for(Py_ssize_t n_tokens):
    """Words of the filter of pairs: ten bits a pair keep needless probes near one in ten."""
    return max(2, slots_for(5 * n_tokens) // 64)


def token_slots_for(Py_ssize_t n_tokens):
    """On average a token is found in the second slot, and what is none is known at the fifth."""
    return max(16, n_tokens + n_tokens // 2)


def fill_tables(dict arrays not None):
    """Fill zeroed tables of a vocabulary whose merges are known: what the functions below make.

    Args:
        arrays: by name; arena, lengths, left, right and the ids of the last tokens, where they
            are not the ranks; all others are filled.

    Trusts: all tokens differ, left and right are the parts of their last merges, and no merge is
    non-monotone.
    """
    cdef const uint8_t[::1] arena = arrays["arena"], lengths = arrays["lengths"]
    cdef const uint32_t[::1] left = arrays["left"], right = arrays["right"]
    cdef const uint32_t[::1] sparse_ids = arrays["sparse_ids"]
    cdef uint64_t[::1] offsets = arrays["offsets"]
    cdef uint64_t[:, ::1] token_slots = arrays["token_slots"]
    cdef uint32_t[::1] ids = arrays["ids"], byte_token = arrays["byte_token"]
    cdef uint32_t[::1] char_token = arrays["char_token"]
    cdef Py_ssize_t n = lengths.shape[0], token
    cdef Bpe bpe
    cdef PairTable pairs = PairTable(n, arrays["pair_slots"], arrays["pair_filter"])
    cdef Probe probes[AHEAD]
    cdef const uint8_t* limit = &arena[0] + arena.shape[0]
    for token in range(n):
        offsets[token + 1] = offsets[token] + lengths[token]
        ids[token] = token
    for token in range(sparse_ids.shape[0]):
        ids[n - sparse_ids.shape[0] + token] = sparse_ids[token]
    for token in range(char_token.shape[0]):
        char_token[token] = NONE
    bpe = vocabulary_view(arena, offsets, token_slots, byte_token)
    for token in range(n + AHEAD):
        if token >= AHEAD:
            put_new_token(
                &bpe, <Slot*> &token_slots[0, 0], &probes[token % AHEAD], token - AHEAD
            )
            if left[token - AHEAD] != NONE:
                pairs.add(left[token - AHEAD], right[token - AHEAD], token - AHEAD)
        if token < n:
            probes[token % AHEAD] = probe_of(&arena[offsets[token]], lengths[token], limit)
            prefetch(&token_slots[0, 0] + 3 * first_slot(&bpe, probes[token % AHEAD].hashed))
            if left[token] != NONE:
                pairs.expect(left[token], right[token])
                note_character(&char_token[0], &arena[offsets[token]], lengths[token], token)
            elif lengths[token] == 1:
                byte_token[arena[offsets[token]]] = token


def token_slots(const uint8_t[::1] arena, const uint64_t[::1] offsets):
    """Hash table from a token's bytes to its rank.

    Returns:
        uint64, shape (slots, 3), what `bpe` takes for an array of Slot; and the ranks of two
        equal tokens, or None where all differ.
    """
    cdef Py_ssize_t n = offsets.shape[0] - 1, token
    table = np.zeros((token_slots_for(n), 3), dtype=np.uint64)
    cdef uint64_t[:, ::1] words = table
    cdef Slot* slots = <Slot*> &words[0, 0]
    cdef const uint32_t[::1] byte_token = np.zeros(256, dtype=np.uint32)    # not asked for
    cdef Bpe bpe = vocabulary_view(arena, offsets, table, byte_token)
    cdef Probe probes[AHEAD]
    cdef uint32_t other
    for token in range(n + AHEAD):
        if token % WATCHED == 0:
            PyErr_CheckSignals()
        # Fetches a slot some tokens before one is put there.
        if token >= AHEAD:
            other = put_token(&bpe, slots, &probes[token % AHEAD], token - AHEAD)
            if other != NONE:
                return table, (other, token - AHEAD)
        if token < n:
            probes[token % AHEAD] = probe_of(
                &arena[offsets[token]], token_bytes(&bpe, token), &arena[0] + arena.shape[0]
            )
            prefetch(slots + first_slot(&bpe, probes[token % AHEAD].hashed))
    return table, None


cdef uint32_t put_token(
    const Bpe* bpe, Slot* slots, const Probe* probe, uint32_t token
) noexcept nogil:
    """Put a token into a slot. Returns NONE, or the token that has the same bytes."""
    cdef uint32_t other = find_probed(bpe, probe, bpe.arena + bpe.offsets[token])
    if other == NONE:
        put_new_token(bpe, slots, probe, token)
    return other


cdef inline void put_new_token(
    const Bpe* bpe, Slot* slots, const Probe* probe, uint32_t token
) noexcept nogil:
    """Put a token that is not there into a slot."""
    cdef uint64_t slot = first_slot(bpe, probe.hashed)
    while slots[slot].key.high != 0:
        slot = slot + 1 if slot + 1 < bpe.n_slots else 0
    slots[slot].key = probe.key
    slots[slot].token = token


cdef class PairTable:
    """Collects the pairs that merge; `slots` and `filter_words` are what bpe reads."""

    cdef readonly object slots, filter_words
    cdef uint64_t[::1] table, words
    cdef int shift, filter_shift

    def __cinit__(self, Py_ssize_t n_tokens, slots=None, filter_words=None):
        """Trusts: memory that is given for slots and filter is zero, and of these sizes."""
        if slots is None:
            slots = np.zeros(slots_for(n_tokens), dtype=np.uint64)
            filter_words = np.zeros(filter_words_for(n_tokens), dtype=np.uint64)
        self.slots, self.filter_words = slots, filter_words
        self.table = self.slots
        self.words = self.filter_words
        self.shift = shift_of(self.table.shape[0])
        self.filter_shift = shift_of(self.words.shape[0] * 64)

    cdef void point(self, Bpe* bpe) noexcept:
        bpe.pair_slots = &self.table[0]
        bpe.pair_shift = self.shift
        bpe.pair_filter = &self.words[0]
        bpe.filter_shift = self.filter_shift

    cdef inline void expect(self, uint64_t left, uint64_t right) noexcept nogil:
        """Fetch what `add` will touch."""
        cdef uint64_t hashed = hash_pair(left << 21 | right)
        prefetch(&self.words[hashed >> self.filter_shift >> 6])
        prefetch(&self.table[hashed >> self.shift])

    cdef void add(self, uint64_t left, uint64_t right, uint64_t merged) noexcept nogil:
        cdef uint64_t hashed = hash_pair(left << 21 | right)
        cdef uint64_t bit = hashed >> self.filter_shift
        cdef uint64_t slot = hashed >> self.shift
        self.words[bit >> 6] |= <uint64_t> 1 << (bit & 63)
        while self.table[slot] != 0:
            slot = (slot + 1) & (self.table.shape[0] - 1)
        self.table[slot] = <uint64_t> 1 << 63 | left << 42 | right << 21 | merged


cdef Bpe vocabulary_view(
    const uint8_t[::1] arena, const uint64_t[::1] offsets, const uint64_t[:, ::1] slots,
    const uint32_t[::1] byte_token,
):
    """A Bpe with just enough in it for find_token and merge_parts."""
    cdef Bpe bpe
    bpe.n_tokens = offsets.shape[0] - 1
    bpe.max_token_bytes = arena.shape[0]    # at least
    bpe.arena = &arena[0]
    bpe.offsets = &offsets[0]
    bpe.token_slots = <const Slot*> &slots[0, 0]
    bpe.n_slots = slots.shape[0]
    bpe.byte_token = &byte_token[0]
    bpe.ascii_pair = NULL
    bpe.char_token = NULL
    return bpe


def monotone_left_lengths(
    const uint8_t[::1] arena, const uint64_t[::1] offsets, const uint64_t[:, ::1] slots,
    const uint32_t[::1] byte_token,
):
    """Length of the left part of each token's last merge, by merges of lower rank.

    Returns:
        uint32, shape (tokens,), 0 for single bytes; or None where some token is not
        reached by merges of lower rank alone.
    """
    cdef Bpe bpe = vocabulary_view(arena, offsets, slots, byte_token)
    cdef PairTable pairs = PairTable(bpe.n_tokens)
    pairs.point(&bpe)
    lengths = np.zeros(bpe.n_tokens, dtype=np.uint32)
    cdef Py_ssize_t longest = int(np.diff(np.asarray(offsets)).max())
    cdef uint32_t[::1] out = lengths
    cdef uint32_t[::1] parts = np.empty(longest, dtype=np.uint32)
    cdef uint32_t[::1] ranks = np.empty(longest, dtype=np.uint32)
    cdef Py_ssize_t token, n, count
    for token in range(bpe.n_tokens):
        if token % WATCHED == 0:
            PyErr_CheckSignals()
        n = token_bytes(&bpe, token)
        if n == 1:
            continue
        count = merge_parts(&bpe, bpe.arena + bpe.offsets[token], n, &parts[0], &ranks[0])
        if count != 2:
            return None
        out[token] = token_bytes(&bpe, parts[0])
        pairs.add(parts[0], parts[1], token)
    return lengths


def any_left_lengths(
    const uint8_t[::1] arena, const uint64_t[::1] offsets, const uint64_t[:, ::1] slots,
    const uint32_t[::1] byte_token,
):
    """The same for every vocabulary, by the full merge rule on the tokens' bytes.

    Returns:
        uint32, shape (tokens,), 0 for single bytes and for tokens that merging does
        not reach.

    Cost: cubic in a token's length, hence NON_MONOTONE_LIMIT.
    """
    cdef Bpe bpe = vocabulary_view(arena, offsets, slots, byte_token)
    lengths = np.zeros(bpe.n_tokens, dtype=np.uint32)
    cdef uint32_t[::1] out = lengths
    cdef Py_ssize_t starts[MAX_NON_MONOTONE_BYTES + 1]
    cdef uint32_t ranks[MAX_NON_MONOTONE_BYTES]     # of each part with the next
    cdef uint32_t[::1] of_bytes = np.full(1 << 16, NONE, dtype=np.uint32)    # of two of them
    cdef Py_ssize_t token, n, count, at, best
    cdef const uint8_t* piece
    for token in range(bpe.n_tokens):
        if token_bytes(&bpe, token) == 2:
            piece = bpe.arena + bpe.offsets[token]
            of_bytes[piece[0] << 8 | piece[1]] = token
    for token in range(bpe.n_tokens):
        if token % WATCHED == 0:
            PyErr_CheckSignals()
        n = token_bytes(&bpe, token)
        piece = bpe.arena + bpe.offsets[token]
        count = n
        for at in range(n + 1):
            starts[at] = at
        for at in range(n - 1):
            ranks[at] = of_bytes[piece[at] << 8 | piece[at + 1]]
        while count > 1:
            best = 0
            for at in range(1, count - 1):
                if ranks[at] < ranks[best]:
                    best = at
            if ranks[best] == NONE:
                break
            if count == 2:
                out[token] = starts[1]
            count -= 1
            for at in range(best + 1, count + 1):
                starts[at] = starts[at + 1]
            for at in range(best + 1, count - 1):
                ranks[at] = ranks[at + 1]
            for at in range(max(best - 1, 0), min(best + 1, count - 1)):
                ranks[at] = find_token(&bpe, piece + starts[at], starts[at + 2] - starts[at])
    return lengths


def splits(
    const uint8_t[::1] arena, const uint64_t[::1] offsets, const uint64_t[:, ::1] slots,
    const uint32_t[::1] byte_token, const uint32_t[::1] left_lengths,
):
    """Left and right part of each token's last merge, and the table of pairs.

    Returns:
        uint32 left and right (NONE where there is no split), pair slots, filter words,
        and whether some merge ranks below one that a part of it takes; or the rank of
        the first token whose parts are not tokens.
    """
    cdef Bpe bpe = vocabulary_view(arena, offsets, slots, byte_token)
    cdef PairTable pairs = PairTable(bpe.n_tokens)
    left_tokens = np.full(bpe.n_tokens, NONE, dtype=np.uint32)
    right_tokens = np.full(bpe.n_tokens, NONE, dtype=np.uint32)
    cdef uint32_t[::1] lefts = left_tokens, rights = right_tokens
    cdef Py_ssize_t first, last, token
    cdef bint non_monotone = False
    for first in range(0, bpe.n_tokens, AHEAD):
        if first % WATCHED == 0:
            PyErr_CheckSignals()
        last = min(first + AHEAD, bpe.n_tokens)
        token = split_block(&bpe, first, last, &left_lengths[0], &lefts[0], &rights[0])
        if token >= 0:
            return token
        for token in range(first, last):
            if lefts[token] != NONE:
                pairs.expect(lefts[token], rights[token])
        for token in range(first, last):
            if lefts[token] != NONE:
                pairs.add(lefts[token], rights[token], token)
                non_monotone |= lefts[token] > token and left_lengths[lefts[token]] > 0
                non_monotone |= rights[token] > token and left_lengths[rights[token]] > 0
    return left_tokens, right_tokens, pairs.slots, pairs.filter_words, non_monotone


def wrong_split(
    const uint8_t[::1] arena, const uint64_t[::1] offsets, const uint64_t[:, ::1] slots,
    const uint32_t[::1] byte_token, const uint32_t[::1] left, const uint32_t[::1] right,
    const uint64_t[::1] pair_slots, const uint64_t[::1] pair_filter,
):
    """The rank of a token whose parts are not those of its last merge; -1: all are right.

    Args:
        left, right, pair_slots, pair_filter: what `splits` gave; no merge is non-monotone.

    Cost: linear in the tokens' bytes; a token that merging does not reach, quadratic in its own.
    Source: docs/algorithm.md, "Canonical pairs".
    """
    cdef Bpe bpe = vocabulary_view(arena, offsets, slots, byte_token)
    cdef Py_ssize_t longest = int(np.diff(np.asarray(offsets)).max())
    cdef uint32_t[::1] parts = np.empty(longest, dtype=np.uint32)
    cdef uint32_t[::1] ranks = np.empty(longest, dtype=np.uint32)
    cdef Py_ssize_t token, first
    bpe.left = &left[0]
    bpe.right = &right[0]
    bpe.pair_slots = &pair_slots[0]
    bpe.pair_shift = shift_of(pair_slots.shape[0])
    bpe.pair_filter = &pair_filter[0]
    bpe.filter_shift = shift_of(pair_filter.shape[0] * 64)
    for first in range(0, bpe.n_tokens, WATCHED):
        PyErr_CheckSignals()
        with nogil:
            token = first_wrong_split(&bpe, first, &parts[0], &ranks[0])
        if token >= 0:
            return token
    return -1


cdef Py_ssize_t first_wrong_split(
    const Bpe* bpe, Py_ssize_t first,
    uint32_t* parts, uint32_t* ranks        # scratch: a slot a byte of a token
) noexcept nogil:
    """Look at WATCHED tokens."""
    cdef Py_ssize_t token, n
    for token in range(first, min(first + WATCHED, bpe.n_tokens)):
        n = token_bytes(bpe, token)
        if n == 1:
            continue
        if bpe.left[token] == NONE:
            # Two tokens that spell one would merge.
            if merge_parts(bpe, bpe.arena + bpe.offsets[token], n, parts, ranks) == 2:
                return token
        elif (
            not is_reached(bpe, bpe.left[token]) or not is_reached(bpe, bpe.right[token])
            or not compatible_before(bpe, bpe.left[token], bpe.right[token], token)
        ):
            return token
    return -1


cdef inline bint is_reached(const Bpe* bpe, uint32_t token) noexcept nogil:
    """Whether merging makes this token."""
    return bpe.left[token] != NONE or token_bytes(bpe, token) == 1


cdef Py_ssize_t split_block(
    const Bpe* bpe, Py_ssize_t first, Py_ssize_t last,     # in: at most AHEAD tokens
    const uint32_t* left_lengths, uint32_t* lefts, uint32_t* rights,
) noexcept nogil:
    """Look up the parts of a block of tokens. Returns a token without parts, or -1.

    Fetches the memory of all first: nearly all the time goes into waiting for it.
    """
    cdef Probe probes[AHEAD][2]
    cdef Py_ssize_t token, n, n_left, part
    cdef const uint8_t* limit = bpe.arena + bpe.offsets[bpe.n_tokens]
    cdef const uint8_t* piece
    for token in range(first, last):
        n = token_bytes(bpe, token)
        n_left = left_lengths[token]
        if n_left >= n:
            return token
        if n_left > 0:
            piece = bpe.arena + bpe.offsets[token]
            probes[token - first][0] = probe_of(piece, n_left, limit)
            probes[token - first][1] = probe_of(piece + n_left, n - n_left, limit)
            for part in range(2):
                prefetch(bpe.token_slots + first_slot(bpe, probes[token - first][part].hashed))
    for token in range(first, last):
        n_left = left_lengths[token]
        if n_left > 0:
            piece = bpe.arena + bpe.offsets[token]
            lefts[token] = find_probed(bpe, &probes[token - first][0], piece)
            rights[token] = find_probed(bpe, &probes[token - first][1], piece + n_left)
            if lefts[token] == NONE or rights[token] == NONE:
                return token
    return -1


def match_filters(
    const uint8_t[::1] arena, const uint64_t[::1] offsets, const uint32_t[::1] left,
    const uint32_t[::1] right,
):
    """Filters of what the tokens that merging reaches begin with, and end in.

    Returns:
        uint64 beginnings and endings, of one size, a power of two: two bits for a hash, see
        `matches`.

    Cost: linear in the tokens' bytes.
    """
    cdef Py_ssize_t n_tokens = left.shape[0]
    # At most one bit in five is set, of most vocabularies one in ten.
    cdef Py_ssize_t words = 1 << max(1, (max(arena.shape[0], 8 * n_tokens) - 1).bit_length() - 5)
    beginning_words = np.zeros(words, dtype=np.uint64)
    ending_words = np.zeros(words, dtype=np.uint64)
    cdef uint64_t[::1] beginnings = beginning_words, endings = ending_words
    cdef uint64_t[:, ::1] hashes = np.empty((2, n_tokens), dtype=np.uint64)
    cdef int shift = shift_of(32 * words)
    cdef Py_ssize_t token
    for token in range(n_tokens):
        if token % WATCHED == 0:
            PyErr_CheckSignals()
        if left[token] == NONE and offsets[token + 1] - offsets[token] > 1:
            continue
        set_filter_bits(
            &beginnings[0], shift, &arena[0], offsets, token, left[token], 1, &hashes[0, 0]
        )
        set_filter_bits(
            &endings[0], shift, &arena[0], offsets, token, right[token], -1, &hashes[1, 0]
        )
    return beginning_words, ending_words


cdef inline void set_filter_bits(
    uint64_t* filter, int shift, const uint8_t* arena, const uint64_t[::1] offsets,
    Py_ssize_t token,
    uint32_t part,              # in: its left part, or its right part, or NONE
    Py_ssize_t step,            # in: 1 for its beginnings, -1 for its ends
    uint64_t* hashes,           # in and out: of the tokens up to this one
) noexcept nogil:
    """Put a token's beginnings, or ends, into a filter; those of its part are there already."""
    cdef Py_ssize_t n = offsets[token + 1] - offsets[token], at = 0
    cdef const uint8_t* first = arena + (offsets[token] if step > 0 else offsets[token + 1] - 1)
    cdef uint64_t hashed = 0, slot = 0
    if part < <uint64_t> token:
        at = offsets[part + 1] - offsets[part]
        hashed = hashes[part]
    while at < n:
        hashed = extended(hashed, first[step * at])
        slot = hashed >> shift
        filter[slot >> 5] |= <uint64_t> BEGINS << ((slot & 31) << 1)
        at += 1
    filter[slot >> 5] |= <uint64_t> IS_TOKEN << ((slot & 31) << 1)
    hashes[token] = hashed


def character_tables(
    const uint8_t[::1] arena, const uint64_t[::1] offsets, const uint32_t[::1] left,
):
    """Which characters are one token, and which boundaries between two some token lies across.

    Returns:
        uint32, shape (65536,): the token that a code point of two or three bytes
        merges to, or NONE; uint8, shape (8192,): a bit for each pair of bytes (last
        of a character, first of the next), set where some token that is not made of
        whole characters holds the pair at such a boundary; uint64, shape (4096,): a bit for
        each hash of two characters, not both ASCII, set where some token that is made
        of whole characters holds such two side by side.
    """
    cdef Py_ssize_t n_tokens = offsets.shape[0] - 1, token, n, at
    char_tokens = np.full(65536, NONE, dtype=np.uint32)
    open_bits = np.zeros(8192, dtype=np.uint8)
    neighbour_bits = np.zeros((1 << NEIGHBOUR_BITS) // 64, dtype=np.uint64)
    cdef uint32_t[::1] char_token = char_tokens
    cdef uint8_t[::1] open_boundaries = open_bits
    cdef uint64_t[::1] neighbours = neighbour_bits
    cdef const uint8_t* piece
    cdef uint32_t pair
    for token in range(n_tokens):
        if token % WATCHED == 0:
            PyErr_CheckSignals()
        n = offsets[token + 1] - offsets[token]
        if n == 1 or left[token] == NONE:
            continue
        piece = &arena[offsets[token]]
        if note_character(&char_token[0], piece, n, token):
            continue
        if whole_characters(piece, n):
            note_neighbours(neighbours, piece, n)
            continue
        for at in range(1, n):
            if not is_continuation(piece[at]):
                pair = <uint32_t> piece[at - 1] << 8 | piece[at]
                open_boundaries[pair >> 3] |= 1 << (pair & 7)
    return char_tokens, open_bits, neighbour_bits


cdef inline bint note_character(
    uint32_t* char_token, const uint8_t* piece, Py_ssize_t n, uint32_t token
) noexcept nogil:
    """Note a token that is one character of two or three bytes. False: it is none."""
    if not (n == 2 or n == 3) or char_bytes(piece[0]) != n or valid_width(piece, n) != n:
        return False
    char_token[decode_char(piece, n)] = token
    return True


cdef void note_neighbours(
    uint64_t[::1] neighbours, const uint8_t* piece, Py_ssize_t n
) noexcept nogil:
    """Set the bits of the neighbours in a token of whole characters."""
    cdef Py_ssize_t width = char_bytes(piece[0]), at = width
    cdef uint32_t before = decode_char(piece, width), after
    cdef uint64_t bit
    while at < n:
        width = char_bytes(piece[at])
        after = decode_char(piece + at, width)
        if before | after >= 0x80:
            bit = hash_neighbours(before, after)
            neighbours[bit >> 6] |= <uint64_t> 1 << (bit & 63)
        before = after
        at += width


cdef bint whole_characters(const uint8_t* piece, Py_ssize_t n) noexcept nogil:
    """Whether the bytes are whole characters in valid UTF-8.

    Longer forms of what has a shorter one are not: the character is another token's.
    """
    cdef Py_ssize_t at = 0, width
    while at < n:
        width = 1 if piece[at] < 0x80 else valid_width(piece + at, n - at)
        if width == 0:
            return False
        at += width
    return True
