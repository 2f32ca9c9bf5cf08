"""Train a vocabulary: merge the most frequent pair of neighbouring tokens, again and again.

All pieces lie side by side, one place for each byte, NONE between them. A token stands at
its first place and at its last, so that the neighbours of a place are one step away and no
links are kept. A merge walks the places that its pair was noted at, when it came to be; where
one of them was merged otherwise since, something else stands there. docs/training.md.

Guarded by tests/kernels/test_trainer.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython cimport auto_pickle
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from cutline.kernels.base.common cimport (
    NONE, grow, int64_t, memcpy, prefetch, uint8_t, uint32_t, uint64_t,
)
from cutline.kernels.train.pair_heap cimport (
    Pair, Pairs, Tokens, add_pair, best_pair, drop_best, free_pairs, lose, reserve_places,
    start_pairs,
)

cdef enum:
    N_BYTES = 256
    MOST_WALKED = 1 << 20       # places, of one call: some ten milliseconds
    AHEAD = 8                   # places that are fetched into the cache before they are looked at

cdef struct Place:
    uint32_t token
    uint32_t piece

# What stands beside the merged pair, on one side of it.
cdef struct Beside:
    int64_t* count          # of each token: how often
    Py_ssize_t* n_places    # at how many places; then where the next one is written
    uint32_t* seen          # the tokens with a count
    Py_ssize_t n_seen


@auto_pickle(False)
cdef class Merger:
    """Pieces with their counts, and the merges so far.

    Args:
        arena: all pieces' bytes, one after the other.
        offsets: int64, shape (n + 1,); piece k is `arena[offsets[k]:offsets[k + 1]]`.
        counts: int64, shape (n,); 1 or more.
        vocab_size: how many tokens at most, single bytes and merges.
        min_frequency: pairs that are rarer are not merged; 1 or more.
        max_token_length: in bytes; 0: any.
        ties: TIES_SMALLEST, TIES_LARGEST or TIES_IDS.
    """

    cdef Place* places
    cdef const uint8_t[::1] arena
    cdef const uint8_t* bytes       # of the arena
    cdef uint8_t[N_BYTES] single_bytes
    cdef const int64_t[::1] counts
    cdef Tokens tokens
    cdef Pairs pairs
    cdef Beside left
    cdef Beside right
    cdef uint32_t* merged           # places of the current merge
    cdef Py_ssize_t merged_slots
    cdef uint32_t* made_of          # left and right of each merge
    cdef int64_t* merge_counts
    cdef Py_ssize_t most_tokens     # bytes included
    cdef Py_ssize_t walked          # places, in this call
    cdef uint32_t max_length
    cdef readonly bint finished     # no merge is left

    def __cinit__(
        self,
        const uint8_t[::1] arena not None,
        const int64_t[::1] offsets not None,
        const int64_t[::1] counts not None,
        Py_ssize_t vocab_size,
        int64_t min_frequency,
        uint32_t max_token_length,
        int ties,
    ):
        cdef Py_ssize_t n_pieces = counts.shape[0]
        cdef bint done
        check_pieces(arena, offsets, counts)
        if vocab_size < N_BYTES or vocab_size >= NONE or min_frequency < 1 or not 0 <= ties <= 2:
            raise ValueError("vocab_size, min_frequency or ties is out of range")
        self.arena = arena
        self.bytes = &arena[0] if arena.shape[0] else NULL
        self.counts = counts
        # No more merges than there are bytes to merge.
        self.most_tokens = min(vocab_size, N_BYTES + arena.shape[0])
        self.max_length = max_token_length or NONE
        with nogil:
            done = self.make_room(arena.shape[0], n_pieces) and start_pairs(
                &self.pairs, &self.tokens, ties, min_frequency
            )
            if done and n_pieces > 0:
                self.place_bytes(self.bytes, &offsets[0], n_pieces)
                done = self.note_byte_pairs(arena.shape[0] + n_pieces + 1)
        if not done:
            raise MemoryError(f"no memory to train on {arena.shape[0]} bytes of pieces")

    def __dealloc__(self):
        free(self.places)
        free(self.tokens.starts)
        free(self.tokens.lengths)
        free_pairs(&self.pairs)
        free_beside(&self.left)
        free_beside(&self.right)
        free(self.merged)
        free(self.made_of)
        free(self.merge_counts)

    # The beginning

    cdef bint make_room(self, Py_ssize_t n_bytes, Py_ssize_t n_pieces) noexcept nogil:
        cdef Py_ssize_t most = self.most_tokens, token
        self.places = <Place*> malloc((n_bytes + n_pieces + 1) * sizeof(Place))
        self.tokens.starts = <const uint8_t**> malloc(most * sizeof(const uint8_t*))
        self.tokens.lengths = <uint32_t*> malloc(most * sizeof(uint32_t))
        self.made_of = <uint32_t*> malloc(2 * most * sizeof(uint32_t))
        self.merge_counts = <int64_t*> malloc(most * sizeof(int64_t))
        if (
            not make_beside(&self.left, most) or not make_beside(&self.right, most)
            or self.places == NULL or self.tokens.starts == NULL or self.tokens.lengths == NULL
            or self.made_of == NULL or self.merge_counts == NULL
        ):
            return False
        for token in range(N_BYTES):
            self.single_bytes[token] = token
            self.tokens.starts[token] = self.single_bytes + token
            self.tokens.lengths[token] = 1
        self.tokens.n = N_BYTES
        return True

    cdef void place_bytes(
        self, const uint8_t* arena, const int64_t* offsets, Py_ssize_t n_pieces
    ) noexcept nogil:
        cdef Place* place = self.places
        cdef Py_ssize_t piece, at
        place.token = NONE
        for piece in range(n_pieces):
            for at in range(offsets[piece], offsets[piece + 1]):
                place += 1
                place.token = arena[at]
                place.piece = piece
            place += 1
            place.token = NONE

    cdef bint note_byte_pairs(self, Py_ssize_t n_places) noexcept nogil:
        """Count all pairs of bytes and note where they are."""
        cdef int64_t* count = <int64_t*> calloc(N_BYTES * N_BYTES, sizeof(int64_t))
        cdef Py_ssize_t* n = <Py_ssize_t*> calloc(N_BYTES * N_BYTES, sizeof(Py_ssize_t))
        cdef bint done = count != NULL and n != NULL
        if done:
            done = self.add_byte_pairs(n_places, count, n)
        free(count)
        free(n)
        return done

    cdef bint add_byte_pairs(
        self, Py_ssize_t n_places, int64_t* count, Py_ssize_t* n
    ) noexcept nogil:
        cdef const Place* places = self.places
        cdef Py_ssize_t at, pair, kept = 0
        for at in range(1, n_places - 1):
            if places[at].token != NONE and places[at + 1].token != NONE:
                pair = places[at].token << 8 | places[at + 1].token
                count[pair] += self.counts[places[at].piece]
                n[pair] += 1
        for pair in range(N_BYTES * N_BYTES):
            if self.is_wanted(count[pair], 2):
                kept += n[pair]
        if not reserve_places(&self.pairs, kept):
            return False
        for pair in range(N_BYTES * N_BYTES):
            if not self.is_wanted(count[pair], 2):
                n[pair] = -1
                continue
            at = self.pairs.n_places
            if add_pair(&self.pairs, pair >> 8, pair & 0xFF, count[pair], n[pair]) == NONE:
                return False
            n[pair] = at
        for at in range(1, n_places - 1):
            if places[at].token != NONE and places[at + 1].token != NONE:
                pair = places[at].token << 8 | places[at + 1].token
                if n[pair] >= 0:
                    self.pairs.places[n[pair]] = at
                    n[pair] += 1
        return True

    cdef inline bint is_wanted(self, int64_t count, uint64_t length) noexcept nogil:
        return count >= self.pairs.min_count and length <= self.max_length

    # A merge

    cdef bint merge_once(self) noexcept nogil:
        """Merge the best pair, or be finished. False: no memory."""
        cdef uint32_t best = NONE, made = self.tokens.n
        cdef Pair pair
        cdef Py_ssize_t n
        if self.tokens.n < self.most_tokens:
            best = best_pair(&self.pairs)
        if best == NONE:
            self.finished = True
            return True
        pair = self.pairs.pairs[best]
        if not grow(<void**> &self.merged, &self.merged_slots, pair.n_places, sizeof(uint32_t)):
            return False
        self.walked += pair.n_places
        drop_best(&self.pairs)
        n = self.replace(&pair, made)
        self.make_token(&pair, self.merged[0])
        self.lose_pairs(&pair)
        return self.note_pairs(made, n)

    cdef void make_token(self, const Pair* pair, Py_ssize_t at) noexcept nogil:
        """Give the next id to the pair, which stands at this place."""
        cdef Tokens* tokens = &self.tokens
        cdef Py_ssize_t merge = tokens.n - N_BYTES
        # Before a place lie those of the arena's bytes, and one for each piece, and the first.
        tokens.starts[tokens.n] = self.bytes + (at - 1 - self.places[at].piece)
        tokens.lengths[tokens.n] = tokens.lengths[pair.left] + tokens.lengths[pair.right]
        tokens.n += 1
        self.made_of[2 * merge] = pair.left
        self.made_of[2 * merge + 1] = pair.right
        self.merge_counts[merge] = pair.count

    cdef Py_ssize_t replace(self, const Pair* pair, uint32_t made) noexcept nogil:
        """Put the new token wherever the pair still stands, from left to right.

        Returns the number of these places, which are in `merged`; what stood beside them
        is in `left` and `right`.
        """
        cdef Place* places = self.places
        cdef const uint32_t* noted = self.pairs.places + pair.start
        cdef Py_ssize_t number, at, second, end, n = 0
        cdef uint32_t before, after
        cdef int64_t count
        cdef uint32_t length = self.tokens.lengths[pair.left]
        cdef uint32_t second_length = self.tokens.lengths[pair.right]
        for number in range(pair.n_places):
            prefetch(places + noted[min(number + AHEAD, pair.n_places - 1)])
            at = noted[number]
            second = at + length
            if places[at].token != pair.left or places[second].token != pair.right:
                continue
            end = second + second_length
            before, after = places[at - 1].token, places[end].token
            count = self.counts[places[at].piece]
            # Beside a pair that was merged just now, it took this pair off already.
            if before != NONE and before != made:
                beside_one(&self.left, before, count)
            if after != NONE:
                beside_one(&self.right, after, count)
            # Nothing may be found where a token no longer begins.
            places[second].token = NONE
            places[end - 1].token = made
            places[at].token = made
            self.merged[n] = at
            n += 1
        return n

    cdef void lose_pairs(self, const Pair* pair) noexcept nogil:
        """Take what stood beside the merged pair off the counts."""
        cdef Py_ssize_t number
        cdef uint32_t token
        for number in range(self.left.n_seen):
            token = self.left.seen[number]
            lose(&self.pairs, token, pair.left, self.left.count[token])
        for number in range(self.right.n_seen):
            token = self.right.seen[number]
            lose(&self.pairs, pair.right, token, self.right.count[token])
        forget(&self.left)
        forget(&self.right)

    cdef bint note_pairs(self, uint32_t made, Py_ssize_t n) noexcept nogil:
        """Count what stands beside the new token, and note where. False: no memory."""
        cdef const Place* places = self.places
        cdef uint32_t length = self.tokens.lengths[made], before, after
        cdef Py_ssize_t number, at
        cdef int64_t count
        for number in range(n):
            at = self.merged[number]
            before, after = places[at - 1].token, places[at + length].token
            count = self.counts[places[at].piece]
            # Two new ones side by side are counted once, at the first.
            if before != NONE and before != made:
                beside_one(&self.left, before, count)
            if after != NONE:
                beside_one(&self.right, after, count)
        # All at once: making room moves the places of all pairs.
        if not reserve_places(
            &self.pairs, self.choose(&self.left, made) + self.choose(&self.right, made)
        ):
            return False
        if not self.add_pairs(&self.left, made, True) or not self.add_pairs(
            &self.right, made, False
        ):
            return False
        for number in range(n):
            at = self.merged[number]
            before, after = places[at - 1].token, places[at + length].token
            if before != NONE and before != made and self.left.n_places[before] >= 0:
                self.pairs.places[self.left.n_places[before]] = at - self.tokens.lengths[before]
                self.left.n_places[before] += 1
            if after != NONE and self.right.n_places[after] >= 0:
                self.pairs.places[self.right.n_places[after]] = at
                self.right.n_places[after] += 1
        forget(&self.left)
        forget(&self.right)
        return True

    cdef Py_ssize_t choose(self, Beside* beside, uint32_t made) noexcept nogil:
        """Mark the pairs on one side that are not to be kept. Returns the places of the others."""
        cdef Py_ssize_t number, n_places = 0
        cdef uint32_t token
        for number in range(beside.n_seen):
            token = beside.seen[number]
            if self.is_wanted(
                beside.count[token],
                <uint64_t> self.tokens.lengths[token] + self.tokens.lengths[made],
            ):
                n_places += beside.n_places[token]
            else:
                beside.n_places[token] = -1
        return n_places

    cdef bint add_pairs(self, Beside* beside, uint32_t made, bint to_the_left) noexcept nogil:
        """Keep the chosen pairs of the new token on one side. False: no memory."""
        cdef Py_ssize_t number, start
        cdef uint32_t token, left, right
        for number in range(beside.n_seen):
            token = beside.seen[number]
            if beside.n_places[token] < 0:
                continue
            start = self.pairs.n_places
            left, right = (token, made) if to_the_left else (made, token)
            if add_pair(
                &self.pairs, left, right, beside.count[token], beside.n_places[token]
            ) == NONE:
                return False
            beside.n_places[token] = start
        return True

    # What Python calls

    def advance(self, Py_ssize_t most):
        """Merge at most so many more times, fewer where that takes long.

        Returns:
            The number of merges so far.
        """
        cdef Py_ssize_t until = min(most, self.most_tokens) + self.tokens.n
        cdef bint done = True
        self.walked = 0
        with nogil:
            while (
                done and not self.finished and self.tokens.n < until and self.walked < MOST_WALKED
            ):
                done = self.merge_once()
        if not done:
            self.finished = True
            raise MemoryError(f"no memory after {self.tokens.n - N_BYTES} merges")
        return self.tokens.n - N_BYTES

    def merges(self):
        """The merges so far: ids of left and right, uint32 (n, 2); how often each, int64 (n,)."""
        cdef Py_ssize_t n = self.tokens.n - N_BYTES
        pairs = np.empty((n, 2), dtype=np.uint32)
        counts = np.empty(n, dtype=np.int64)
        cdef uint32_t[:, ::1] pairs_view = pairs
        cdef int64_t[::1] counts_view = counts
        if n:
            memcpy(&pairs_view[0, 0], self.made_of, 2 * n * sizeof(uint32_t))
            memcpy(&counts_view[0], self.merge_counts, n * sizeof(int64_t))
        return pairs, counts

    def newest(self, Py_ssize_t most):
        """The last few merges' tokens, at most so many."""
        cdef Py_ssize_t n = self.tokens.n, token
        return [
            (<const char*> self.tokens.starts[token])[:self.tokens.lengths[token]]
            for token in range(max(N_BYTES, n - max(most, 0)), n)
        ]

    def tokens_so_far(self):
        """All tokens' bytes, one after the other in order of their ids, and lengths, uint32."""
        cdef Py_ssize_t token, at = 0
        lengths = np.empty(self.tokens.n, dtype=np.uint32)
        cdef uint32_t[::1] view = lengths
        memcpy(&view[0], self.tokens.lengths, self.tokens.n * sizeof(uint32_t))
        arena = PyBytes_FromStringAndSize(NULL, lengths.sum(dtype=np.int64))
        cdef char* out = PyBytes_AS_STRING(arena)
        for token in range(self.tokens.n):
            memcpy(out + at, self.tokens.starts[token], self.tokens.lengths[token])
            at += self.tokens.lengths[token]
        return arena, lengths


cdef bint make_beside(Beside* beside, Py_ssize_t most_tokens) noexcept nogil:
    beside.count = <int64_t*> calloc(most_tokens, sizeof(int64_t))
    beside.n_places = <Py_ssize_t*> calloc(most_tokens, sizeof(Py_ssize_t))
    beside.seen = <uint32_t*> malloc(most_tokens * sizeof(uint32_t))
    return beside.count != NULL and beside.n_places != NULL and beside.seen != NULL


cdef void free_beside(Beside* beside) noexcept nogil:
    free(beside.count)
    free(beside.n_places)
    free(beside.seen)


cdef inline void beside_one(Beside* beside, uint32_t token, int64_t count) noexcept nogil:
    if beside.count[token] == 0:
        beside.seen[beside.n_seen] = token
        beside.n_seen += 1
    beside.count[token] += count
    beside.n_places[token] += 1


cdef void forget(Beside* beside) noexcept nogil:
    cdef Py_ssize_t number
    for number in range(beside.n_seen):
        beside.count[beside.seen[number]] = 0
        beside.n_places[beside.seen[number]] = 0
    beside.n_seen = 0


cdef int check_pieces(
    const uint8_t[::1] arena, const int64_t[::1] offsets, const int64_t[::1] counts
) except -1:
    """Refuse arrays that do not describe pieces which tile the arena, with their counts."""
    cdef Py_ssize_t piece, n = counts.shape[0]
    if offsets.shape[0] != n + 1 or offsets[0] != 0 or offsets[n] != arena.shape[0]:
        raise ValueError("offsets must divide the arena among the pieces")
    if arena.shape[0] + n >= <Py_ssize_t> NONE - 1:
        raise ValueError(f"{arena.shape[0]} bytes of distinct pieces; less than 4 GiB can be merged")
    for piece in range(n):
        if offsets[piece + 1] < offsets[piece]:
            raise ValueError(f"piece {piece} ends before it begins")
        if counts[piece] < 1:
            raise ValueError(f"piece {piece} has a count of {counts[piece]}")
    return 0
