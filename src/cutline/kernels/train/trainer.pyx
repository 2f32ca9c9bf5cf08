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
    Pair, Pairs, Token, Tokens, add_pair, drop_best, expect, find_best, free_pairs, head_of, lose,
    reserve_places, start_pairs,
)

cdef extern from "native.h":
    void in_large_pages "cutline_in_large_pages"(void* memory, size_t n) noexcept nogil

cdef enum:
    N_BYTES = 256
    MOST_WALKED = 1 << 20       # places, of one call: some ten milliseconds
    AHEAD = 16                  # places that are fetched into the cache before they are looked at

cdef uint32_t HEAVY = 1 << 31   # a count that has no room in a place

cdef struct Place:
    uint32_t token
    uint32_t weight         # the count of its piece, or HEAVY + where that is; between pieces: 0

# What stands beside the merged pair, on one side of it.
cdef struct Sum:
    int64_t count           # how often
    Py_ssize_t n_places     # at how many places; then where the next one is written

cdef struct Beside:
    Sum* sums               # of each token
    uint32_t* seen          # the tokens with a sum
    Py_ssize_t n_seen

# Where a new token was written, and what stands beside it.
cdef struct Made:
    uint32_t at
    uint32_t before         # NONE: nothing, or what is to be noted with the one before
    uint32_t after


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
    cdef uint8_t* bytes             # of the places, as they were
    cdef uint8_t[N_BYTES] single_bytes
    cdef int64_t* heavy             # counts of HEAVY or more
    cdef Tokens tokens
    cdef Pairs pairs
    cdef Beside left
    cdef Beside right
    cdef Sum in_a_row               # new tokens that stand behind another
    cdef Made* made                 # places of the current merge
    cdef Py_ssize_t made_slots
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
        # No more merges than there are bytes to merge.
        self.most_tokens = min(vocab_size, N_BYTES + arena.shape[0])
        self.max_length = max_token_length or NONE
        with nogil:
            done = self.make_room(arena.shape[0] + n_pieces + 1) and start_pairs(
                &self.pairs, &self.tokens, ties, min_frequency
            )
            if done and arena.shape[0] > 0:
                done = self.place_bytes(&arena[0], &offsets[0], &counts[0], n_pieces)
                done = done and self.note_byte_pairs(arena.shape[0] + n_pieces + 1)
        if not done:
            raise MemoryError(f"no memory to train on {arena.shape[0]} bytes of pieces")

    def __dealloc__(self):
        free(self.places)
        free(self.bytes)
        free(self.heavy)
        free(self.tokens.at)
        free_pairs(&self.pairs)
        free_beside(&self.left)
        free_beside(&self.right)
        free(self.made)
        free(self.made_of)
        free(self.merge_counts)

    # The beginning

    cdef bint make_room(self, Py_ssize_t n_places) noexcept nogil:
        cdef Py_ssize_t most = self.most_tokens, token
        cdef Token* made
        self.places = <Place*> malloc(n_places * sizeof(Place))
        self.bytes = <uint8_t*> malloc(n_places)
        self.tokens.at = <Token*> malloc(most * sizeof(Token))
        self.made_of = <uint32_t*> malloc(2 * most * sizeof(uint32_t))
        self.merge_counts = <int64_t*> malloc(most * sizeof(int64_t))
        if (
            not make_beside(&self.left, most) or not make_beside(&self.right, most)
            or self.places == NULL or self.bytes == NULL or self.tokens.at == NULL
            or self.made_of == NULL or self.merge_counts == NULL
        ):
            return False
        in_large_pages(self.places, n_places * sizeof(Place))
        for token in range(N_BYTES):
            self.single_bytes[token] = token
            made = self.tokens.at + token
            made.start = self.single_bytes + token
            made.length = 1
            made.head = head_of(made.start, 1)
        self.tokens.n = N_BYTES
        return True

    cdef bint place_bytes(
        self, const uint8_t* arena, const int64_t* offsets, const int64_t* counts,
        Py_ssize_t n_pieces,
    ) noexcept nogil:
        """Lay out the pieces. False: no memory."""
        cdef Place* place = self.places
        cdef Py_ssize_t piece, at, n_heavy = 0
        cdef uint32_t weight
        for piece in range(n_pieces):
            n_heavy += counts[piece] >= HEAVY
        self.heavy = <int64_t*> malloc((n_heavy + 1) * sizeof(int64_t))
        if self.heavy == NULL:
            return False
        n_heavy = 0
        place.token, place.weight = NONE, 0
        for piece in range(n_pieces):
            weight = counts[piece]
            if counts[piece] >= HEAVY:
                weight = HEAVY + n_heavy
                self.heavy[n_heavy] = counts[piece]
                n_heavy += 1
            for at in range(offsets[piece], offsets[piece + 1]):
                place += 1
                place.token, place.weight = arena[at], weight
            memcpy(
                self.bytes + offsets[piece] + piece + 1, arena + offsets[piece],
                offsets[piece + 1] - offsets[piece],
            )
            place += 1
            place.token, place.weight = NONE, 0
        return True

    cdef inline int64_t count_at(self, Py_ssize_t at) noexcept nogil:
        """How often the piece of a place occurs."""
        cdef uint32_t weight = self.places[at].weight
        return weight if weight < HEAVY else self.heavy[weight - HEAVY]

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
                count[pair] += self.count_at(at)
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
        if self.tokens.n < self.most_tokens and not find_best(&self.pairs, &best):
            return False
        if best == NONE:
            self.finished = True
            return True
        pair = self.pairs.pairs[best]
        if not grow(<void**> &self.made, &self.made_slots, pair.n_places, sizeof(Made)):
            return False
        self.walked += pair.n_places
        drop_best(&self.pairs)
        n = self.replace(&pair, made)
        self.make_token(&pair, self.made[0].at)
        self.lose_pairs(&pair)
        return self.note_pairs(made, n)

    cdef void make_token(self, const Pair* pair, Py_ssize_t at) noexcept nogil:
        """Give the next id to the pair, which stood at this place."""
        cdef Py_ssize_t merge = self.tokens.n - N_BYTES
        cdef Token* made = self.tokens.at + self.tokens.n
        made.start = self.bytes + at
        made.length = self.tokens.at[pair.left].length + self.tokens.at[pair.right].length
        made.head = head_of(made.start, made.length)
        self.tokens.n += 1
        self.made_of[2 * merge] = pair.left
        self.made_of[2 * merge + 1] = pair.right
        self.merge_counts[merge] = pair.count

    cdef Py_ssize_t replace(self, const Pair* pair, uint32_t made) noexcept nogil:
        """Put the new token wherever the pair still stands, from left to right.

        Returns the number of these places, which are in `made`. What stands beside them is in
        `left` and `right`: as often as it stood beside the pair, except for a new token in a row
        with the one before, whose right neighbour was the pair's left token.
        """
        cdef Place* places = self.places
        cdef const uint32_t* noted = self.pairs.places + pair.start
        cdef Made* found = self.made
        cdef Py_ssize_t number, at, second, end, soon
        cdef Py_ssize_t last = <Py_ssize_t> pair.n_places - 1
        cdef uint32_t before, after
        cdef int64_t count
        cdef Py_ssize_t length = self.tokens.at[pair.left].length
        cdef Py_ssize_t whole_length = length + self.tokens.at[pair.right].length
        for number in range(last + 1):
            soon = noted[min(number + AHEAD, last)]
            prefetch(places + soon - 1)
            prefetch(places + soon + whole_length)
            at = noted[number]
            second = at + length
            if places[at].token != pair.left or places[second].token != pair.right:
                continue
            end = at + whole_length
            before, after = places[at - 1].token, places[end].token
            count = self.count_at(at)
            if before == made:
                # Beside the one before it, this pair is taken off already.
                found[-1].after = made
                self.in_a_row.count += count
                self.in_a_row.n_places += 1
                before = NONE
            elif before != NONE:
                beside_one(&self.left, before, count)
            if after != NONE:
                beside_one(&self.right, after, count)
            # Nothing may be found where a token no longer begins.
            places[second].token = NONE
            places[end - 1].token = made
            places[at].token = made
            found.at, found.before, found.after = at, before, after
            found += 1
        return found - self.made

    cdef void lose_pairs(self, const Pair* pair) noexcept nogil:
        """Take what stood beside the merged pair off the counts."""
        cdef Py_ssize_t number
        cdef uint32_t token
        for number in range(self.left.n_seen):
            expect(&self.pairs, self.left.seen[number], pair.left)
        for number in range(self.right.n_seen):
            expect(&self.pairs, pair.right, self.right.seen[number])
        for number in range(self.left.n_seen):
            token = self.left.seen[number]
            lose(&self.pairs, token, pair.left, self.left.sums[token].count)
        for number in range(self.right.n_seen):
            token = self.right.seen[number]
            lose(&self.pairs, pair.right, token, self.right.sums[token].count)
        if self.in_a_row.n_places:
            self.right.sums[pair.left].count -= self.in_a_row.count
            self.right.sums[pair.left].n_places -= self.in_a_row.n_places
            self.right.sums[self.tokens.n - 1] = self.in_a_row
            self.right.seen[self.right.n_seen] = self.tokens.n - 1
            self.right.n_seen += 1
            self.in_a_row.count = self.in_a_row.n_places = 0

    cdef bint note_pairs(self, uint32_t made, Py_ssize_t n) noexcept nogil:
        """Keep the pairs of the new token, and note where they are. False: no memory."""
        cdef const Made* found
        cdef Sum* sum
        cdef Py_ssize_t number, kept
        # All at once: making room moves the places of all pairs.
        kept = self.choose(&self.left, made) + self.choose(&self.right, made)
        if kept > 0:
            if not reserve_places(&self.pairs, kept):
                return False
            if not self.add_pairs(&self.left, made, True) or not self.add_pairs(
                &self.right, made, False
            ):
                return False
            for number in range(n):
                found = self.made + number
                if found.before != NONE:
                    sum = self.left.sums + found.before
                    if sum.n_places >= 0:
                        self.pairs.places[sum.n_places] = (
                            found.at - self.tokens.at[found.before].length
                        )
                        sum.n_places += 1
                if found.after != NONE:
                    sum = self.right.sums + found.after
                    if sum.n_places >= 0:
                        self.pairs.places[sum.n_places] = found.at
                        sum.n_places += 1
        forget(&self.left)
        forget(&self.right)
        return True

    cdef Py_ssize_t choose(self, Beside* beside, uint32_t made) noexcept nogil:
        """Mark the pairs on one side that are not to be kept. Returns the places of the others."""
        cdef Py_ssize_t number, n_places = 0
        cdef uint64_t length = self.tokens.at[made].length
        cdef Sum* sum
        for number in range(beside.n_seen):
            sum = beside.sums + beside.seen[number]
            if sum.count >= self.pairs.min_count and (
                self.is_wanted(sum.count, length + self.tokens.at[beside.seen[number]].length)
            ):
                n_places += sum.n_places
            else:
                sum.n_places = -1
        return n_places

    cdef bint add_pairs(self, Beside* beside, uint32_t made, bint to_the_left) noexcept nogil:
        """Keep the chosen pairs of the new token on one side. False: no memory."""
        cdef Py_ssize_t number, start
        cdef uint32_t token, left, right
        cdef Sum* sum
        for number in range(beside.n_seen):
            token = beside.seen[number]
            sum = beside.sums + token
            if sum.n_places < 0:
                continue
            start = self.pairs.n_places
            left, right = (token, made) if to_the_left else (made, token)
            if add_pair(&self.pairs, left, right, sum.count, sum.n_places) == NONE:
                return False
            sum.n_places = start
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
            (<const char*> self.tokens.at[token].start)[:self.tokens.at[token].length]
            for token in range(max(N_BYTES, n - max(most, 0)), n)
        ]

    def tokens_so_far(self):
        """All tokens' bytes, one after the other in order of their ids, and lengths, uint32."""
        cdef Py_ssize_t token, at = 0
        lengths = np.empty(self.tokens.n, dtype=np.uint32)
        cdef uint32_t[::1] view = lengths
        for token in range(self.tokens.n):
            view[token] = self.tokens.at[token].length
        arena = PyBytes_FromStringAndSize(NULL, lengths.sum(dtype=np.int64))
        cdef char* out = PyBytes_AS_STRING(arena)
        for token in range(self.tokens.n):
            memcpy(out + at, self.tokens.at[token].start, self.tokens.at[token].length)
            at += self.tokens.at[token].length
        return arena, lengths


cdef bint make_beside(Beside* beside, Py_ssize_t most_tokens) noexcept nogil:
    beside.sums = <Sum*> calloc(most_tokens, sizeof(Sum))
    beside.seen = <uint32_t*> malloc(most_tokens * sizeof(uint32_t))
    return beside.sums != NULL and beside.seen != NULL


cdef void free_beside(Beside* beside) noexcept nogil:
    free(beside.sums)
    free(beside.seen)


cdef inline void beside_one(Beside* beside, uint32_t token, int64_t count) noexcept nogil:
    cdef Sum* sum = beside.sums + token
    if sum.count == 0:
        beside.seen[beside.n_seen] = token
        beside.n_seen += 1
    sum.count += count
    sum.n_places += 1


cdef void forget(Beside* beside) noexcept nogil:
    cdef Py_ssize_t number
    for number in range(beside.n_seen):
        beside.sums[beside.seen[number]].count = 0
        beside.sums[beside.seen[number]].n_places = 0
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
