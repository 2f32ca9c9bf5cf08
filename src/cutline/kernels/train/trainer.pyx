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
from cutline.kernels.base.team cimport Led
from cutline.kernels.train.beside cimport (
    Beside, Seen, Sum, add_beside, add_one, add_sum, divide_sums, free_beside, list_sums, make_beside,
    put_in_a_row, set_starts, sum_of,
)
from cutline.kernels.train.pair_heap cimport (
    Pair, Pairs, Token, Tokens, add_pair, drop_best, expect, find_best, free_pairs, lose,
    reserve_places, start_pairs,
)

cdef extern from "native.h":
    void in_large_pages "cutline_in_large_pages"(void* memory, size_t n) noexcept nogil

cdef extern from *:
    """
    static const uint32_t cutline_heavy = (uint32_t)1 << 31;
    """
    const uint32_t HEAVY "cutline_heavy"    # a count that has no room in a place

cdef enum:
    N_BYTES = 256
    MOST_THREADS = 8

# What is done in parts.
cdef enum:
    LAY_OUT
    NOTE_BYTES
    REPLACE
    NOTE

cdef enum:
    MOST_WALKED = 1 << 20       # places, of one call: some ten milliseconds
    AHEAD = 64                  # places that are fetched into the cache before they are looked at

cdef struct Place:
    uint32_t token
    uint32_t weight         # the count of its piece, or HEAVY + where that is; between pieces: 0

# Where a new token was written, and what stands beside it.
cdef struct Made:
    uint32_t at
    uint32_t before         # NONE: nothing, or what is to be noted with the one before
    uint32_t after

# What one thread does of a merge, or of the beginning.
cdef struct Part:
    Beside left
    Beside right
    Sum in_a_row            # new tokens that stand behind another one
    Py_ssize_t first        # of the pair's places
    Py_ssize_t stop
    Made* made
    Py_ssize_t made_slots
    Py_ssize_t n_made
    Sum* byte_pairs
    Py_ssize_t start        # of its pieces, among the places
    Py_ssize_t n_heavy      # in the pieces of the parts before


@auto_pickle(False)
cdef class Merger(Led):
    """Pieces with their counts, and the merges so far.

    Args:
        arena: all pieces' bytes, one after the other.
        offsets: int64, shape (n + 1,); piece k is `arena[offsets[k]:offsets[k + 1]]`.
        counts: int64, shape (n,); 1 or more.
        vocab_size: how many tokens at most, single bytes and merges.
        min_frequency: pairs that are rarer are not merged; 1 or more.
        max_token_length: in bytes; 0: any.
        ties: TIES_SMALLEST, TIES_LARGEST or TIES_IDS.
        n_threads: how many take part: the one that calls `advance`, and those that call `assist`.
            Whether they come does not change what is merged, nor the order.
        shared_places: a merge that has fewer for each thread is not worth another thread.
    """

    cdef const uint8_t[::1] arena
    cdef const uint8_t* arena_bytes
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] counts
    cdef Place* places
    cdef uint8_t* bytes             # of the places, as they were
    cdef uint8_t[N_BYTES] single_bytes
    cdef int64_t* heavy             # counts of HEAVY or more
    cdef Tokens tokens
    cdef Pairs pairs
    cdef Part[MOST_THREADS] parts   # each with pieces of its own
    cdef readonly int n_parts       # threads that may take part
    cdef Py_ssize_t shared_places
    cdef int n_alone                # of the next long merges, those that are not shared
    cdef int alone
    cdef Beside left                # of all parts
    cdef Beside right
    cdef int job
    cdef Pair pair                  # that is merged
    cdef uint32_t token             # that it is merged to
    cdef uint32_t* made_of          # left and right of each merge
    cdef int64_t* merge_counts
    cdef Py_ssize_t most_tokens     # bytes included
    cdef Py_ssize_t walked          # places, in this call
    cdef uint32_t max_length
    cdef bint begun
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
        int n_threads=1,
        Py_ssize_t shared_places=256,
    ):
        cdef bint done
        check_pieces(arena, offsets, counts)
        if vocab_size < N_BYTES or vocab_size >= NONE or min_frequency < 1 or not 0 <= ties <= 2:
            raise ValueError("vocab_size, min_frequency or ties is out of range")
        self.arena, self.offsets, self.counts = arena, offsets, counts
        self.arena_bytes = &arena[0] if arena.shape[0] else NULL
        self.n_parts = max(1, min(n_threads, MOST_THREADS))
        self.shared_places = shared_places
        self.alone = 64
        # No more merges than there are bytes to merge.
        self.most_tokens = min(vocab_size, N_BYTES + arena.shape[0])
        self.max_length = max_token_length or NONE
        with nogil:
            done = self.make_room(arena.shape[0] + counts.shape[0] + 1) and start_pairs(
                &self.pairs, &self.tokens, ties, min_frequency
            )
        if not done:
            raise MemoryError(f"no memory to train on {arena.shape[0]} bytes of pieces")

    def __dealloc__(self):
        cdef int part
        free(self.places)
        free(self.bytes)
        free(self.heavy)
        free(self.tokens.at)
        free_pairs(&self.pairs)
        for part in range(MOST_THREADS):
            free_beside(&self.parts[part].left)
            free_beside(&self.parts[part].right)
            free(self.parts[part].byte_pairs)
            free(self.parts[part].made)
        free_beside(&self.left)
        free_beside(&self.right)
        free(self.made_of)
        free(self.merge_counts)

    cdef bint make_room(self, Py_ssize_t n_places) noexcept nogil:
        cdef Py_ssize_t most = self.most_tokens, token
        cdef Token* made
        cdef int part
        self.places = <Place*> malloc(n_places * sizeof(Place))
        self.bytes = <uint8_t*> malloc(n_places)
        self.tokens.at = <Token*> malloc(most * sizeof(Token))
        self.made_of = <uint32_t*> malloc(2 * most * sizeof(uint32_t))
        self.merge_counts = <int64_t*> malloc(most * sizeof(int64_t))
        if (
            self.places == NULL or self.bytes == NULL or self.tokens.at == NULL
            or self.made_of == NULL or self.merge_counts == NULL
        ):
            return False
        if not make_beside(&self.left, most) or not make_beside(&self.right, most):
            return False
        for part in range(self.n_parts):
            if not make_beside(&self.parts[part].left, most) or not make_beside(
                &self.parts[part].right, most
            ):
                return False
        in_large_pages(self.places, n_places * sizeof(Place))
        for token in range(N_BYTES):
            self.single_bytes[token] = token
            made = self.tokens.at + token
            made.start = self.single_bytes + token
            made.length = 1
            made.head = <uint32_t> token << 24
        self.tokens.n = N_BYTES
        return True

    # Work in parts

    cdef void run(self, int job, int n_parts) noexcept nogil:
        """Do the parts of a job, with the threads that are there."""
        self.job = job
        if self.share(n_parts):
            # Other programs want the processors: alone for a while, each time for longer.
            self.n_alone = self.alone
            self.alone = min(4 * self.alone, 1 << 20)

    cdef void work(self, int part) noexcept nogil:
        if self.job == LAY_OUT:
            self.lay_out(part)
        elif self.job == NOTE_BYTES:
            self.note_bytes(part)
        elif self.job == REPLACE:
            self.replace(&self.parts[part])
        else:
            self.note(&self.parts[part])

    # The beginning

    cdef bint begin(self) noexcept nogil:
        """Lay out the pieces, count all pairs of bytes and note where they are. False: no memory."""
        cdef int part
        self.begun = True
        for part in range(self.n_parts):
            self.parts[part].byte_pairs = <Sum*> calloc(N_BYTES * N_BYTES, sizeof(Sum))
            if self.parts[part].byte_pairs == NULL:
                return False
        if not self.divide_pieces():
            return False
        self.places[0].token, self.places[0].weight = NONE, 0
        self.run(LAY_OUT, self.n_parts)
        if not self.add_byte_pairs():
            return False
        self.run(NOTE_BYTES, self.n_parts)
        for part in range(self.n_parts):
            free(self.parts[part].byte_pairs)
            self.parts[part].byte_pairs = NULL
        return True

    cdef bint divide_pieces(self) noexcept nogil:
        """Deal the pieces out to the parts, so that each has as much of every kind.

        Then each thread works where it did before, in its own cache. False: no memory.
        """
        cdef Py_ssize_t piece, start = 1, n_heavy = 0
        cdef int part
        for part in range(self.n_parts):
            self.parts[part].start = start
            self.parts[part].n_heavy = n_heavy
            piece = part
            while piece < self.counts.shape[0]:
                start += self.offsets[piece + 1] - self.offsets[piece] + 1
                n_heavy += self.counts[piece] >= HEAVY
                piece += self.n_parts
        self.heavy = <int64_t*> malloc((n_heavy + 1) * sizeof(int64_t))
        return self.heavy != NULL

    cdef void lay_out(self, int number) noexcept nogil:
        """Write a part's pieces into the places, and count their pairs of bytes."""
        cdef Part* part = self.parts + number
        cdef Py_ssize_t piece, n, at
        cdef Place* place = self.places + part.start
        cdef const uint8_t* bytes
        cdef int64_t count
        cdef uint32_t weight
        piece = number
        while piece < self.counts.shape[0]:
            bytes = self.arena_bytes + self.offsets[piece]
            n, count = self.offsets[piece + 1] - self.offsets[piece], self.counts[piece]
            weight = count
            if count >= HEAVY:
                weight = HEAVY + part.n_heavy
                self.heavy[part.n_heavy] = count
                part.n_heavy += 1
            if n > 0:       # else there may be no bytes at all
                memcpy(self.bytes + (place - self.places), bytes, n)
            for at in range(n):
                place[at].token, place[at].weight = bytes[at], weight
            place[n].token, place[n].weight = NONE, 0
            place += n + 1
            for at in range(n - 1):
                add_one(part.byte_pairs + (<Py_ssize_t> bytes[at] << 8 | bytes[at + 1]), count)
            piece += self.n_parts

    cdef bint add_byte_pairs(self) noexcept nogil:
        """Keep the pairs of bytes that are not too rare. False: no memory."""
        cdef Py_ssize_t pair, n_places, kept = 0
        cdef Sum* first = self.parts[0].byte_pairs
        cdef Sum sum
        cdef int part
        for pair in range(N_BYTES * N_BYTES):
            sum = first[pair]
            for part in range(1, self.n_parts):
                add_sum(&sum, self.parts[part].byte_pairs + pair)
            first[pair].count = sum.count if self.is_wanted(sum.count, 2) else 0
            if first[pair].count > 0:
                kept += sum.n_places
        if not reserve_places(&self.pairs, kept):
            return False
        for pair in range(N_BYTES * N_BYTES):
            kept = self.pairs.n_places
            for part in range(self.n_parts):
                n_places = self.parts[part].byte_pairs[pair].n_places
                self.parts[part].byte_pairs[pair].n_places = kept if first[pair].count > 0 else -1
                kept += n_places
            if first[pair].count > 0 and add_pair(
                &self.pairs, pair >> 8, pair & 0xFF, first[pair].count, kept - self.pairs.n_places
            ) == NONE:
                return False
        return True

    cdef void note_bytes(self, int number) noexcept nogil:
        """Note where the pairs of bytes are, in a part's pieces."""
        cdef Part* part = self.parts + number
        cdef Py_ssize_t piece, n, at, place = part.start
        cdef const uint8_t* bytes
        cdef Sum* sum
        piece = number
        while piece < self.counts.shape[0]:
            bytes = self.arena_bytes + self.offsets[piece]
            n = self.offsets[piece + 1] - self.offsets[piece]
            for at in range(n - 1):
                sum = part.byte_pairs + (<Py_ssize_t> bytes[at] << 8 | bytes[at + 1])
                if sum.n_places >= 0:
                    self.pairs.places[sum.n_places] = place + at
                    sum.n_places += 1
            place += n + 1
            piece += self.n_parts

    cdef inline int64_t count_at(self, Py_ssize_t at) noexcept nogil:
        """How often the piece of a place occurs."""
        cdef uint32_t weight = self.places[at].weight
        return weight if weight < HEAVY else self.heavy[weight - HEAVY]

    cdef inline bint is_wanted(self, int64_t count, uint64_t length) noexcept nogil:
        return count >= self.pairs.min_count and length <= self.max_length

    # A merge

    cdef bint merge_once(self) noexcept nogil:
        """Merge the best pair, or be finished. False: no memory."""
        cdef uint32_t best = NONE
        cdef int n_parts, part
        if self.tokens.n < self.most_tokens and not find_best(&self.pairs, &best):
            return False
        if best == NONE:
            self.finished = True
            return True
        self.pair, self.token = self.pairs.pairs[best], self.tokens.n
        self.walked += self.pair.n_places
        n_parts = self.divide_places()
        for part in range(n_parts):
            if not self.make_room_for_made(&self.parts[part]):
                return False
        drop_best(&self.pairs)
        if self.pairs.n_ranked > 0:
            prefetch(self.pairs.pairs + self.pairs.heap[0].pair)
        self.run(REPLACE, n_parts)
        if self.pairs.n_ranked > 0:
            # The next merge, most likely.
            prefetch(self.pairs.places + self.pairs.pairs[self.pairs.heap[0].pair].start)
        part = 0
        while self.parts[part].n_made == 0:
            part += 1
        self.make_token(&self.pair, self.parts[part].made[0].at)
        if n_parts == 1:
            self.lose_pairs(&self.parts[0].left, &self.parts[0].right, 1)
            return self.note_pairs(&self.parts[0].left, &self.parts[0].right, 1)
        self.join(n_parts)
        self.lose_pairs(&self.left, &self.right, n_parts)
        return self.note_pairs(&self.left, &self.right, n_parts)

    cdef int divide_places(self) noexcept nogil:
        """Give each part the places in its pieces, or all to one part. Returns how many these are."""
        cdef const uint32_t* noted = self.pairs.places + self.pair.start
        cdef Py_ssize_t at = 0, low, high, n = self.pair.n_places
        cdef int part, n_parts = self.n_parts if n >= self.n_parts * self.shared_places else 1
        if n_parts > 1 and self.n_alone > 0:
            self.n_alone -= 1
            n_parts = 1
        for part in range(n_parts):
            self.parts[part].first = at
            low, high = at, n
            while part + 1 < n_parts and low < high:
                at = (low + high) // 2
                if noted[at] < self.parts[part + 1].start:
                    low = at + 1
                else:
                    high = at
            at = self.parts[part].stop = high
        return n_parts

    cdef bint make_room_for_made(self, Part* part) noexcept nogil:
        return grow(
            <void**> &part.made, &part.made_slots, part.stop - part.first, sizeof(Made)
        )

    cdef void make_token(self, const Pair* pair, Py_ssize_t at) noexcept nogil:
        """Give the next id to the pair, which stood at this place."""
        cdef Py_ssize_t merge = self.tokens.n - N_BYTES
        cdef Token* made = self.tokens.at + self.tokens.n
        cdef const Token* left = self.tokens.at + pair.left
        cdef const Token* right = self.tokens.at + pair.right
        made.start = self.bytes + at
        made.length = left.length + right.length
        made.head = left.head
        if left.length < 4:
            made.head |= right.head >> (8 * left.length)
        self.tokens.n += 1
        self.made_of[2 * merge] = pair.left
        self.made_of[2 * merge + 1] = pair.right
        self.merge_counts[merge] = pair.count

    cdef void replace(self, Part* part) noexcept nogil:
        """Put the new token wherever the pair still stands, from left to right, in some places.

        These are then in `made`. What stands beside them is in `left` and `right`: as often as it
        stood beside the pair, except for new tokens behind another one, which are `in_a_row`: there
        the left token was the right neighbour of the pair before.
        """
        cdef Place* places = self.places
        cdef const uint32_t* noted = self.pairs.places + self.pair.start
        cdef Made* found = part.made
        cdef Py_ssize_t number, at, second, end
        cdef uint32_t left = self.pair.left, right = self.pair.right, made = self.token
        cdef uint32_t before, after
        cdef int64_t count
        cdef Py_ssize_t length = self.tokens.at[left].length
        cdef Py_ssize_t whole_length = length + self.tokens.at[right].length
        for number in range(part.first, min(part.first + AHEAD, part.stop)):
            expect_place(places + noted[number], whole_length)
        for number in range(part.first, part.stop):
            if number + AHEAD < part.stop:
                expect_place(places + noted[number + AHEAD], whole_length)
            at = noted[number]
            second = at + length
            if places[at].token != left or places[second].token != right:
                continue
            end = at + whole_length
            before, after = places[at - 1].token, places[end].token
            count = self.count_at(at)
            if before == made:
                # Beside the one before it, this pair is taken off already.
                (found - 1).after = made
                add_one(&part.in_a_row, count)
                before = NONE
            elif before != NONE:
                add_one(sum_of(&part.left, before), count)
            if after != NONE:
                add_one(sum_of(&part.right, after), count)
            # Nothing may be found where a token no longer begins.
            places[second].token = NONE
            places[end - 1].token = made
            places[at].token = made
            found.at, found.before, found.after = at, before, after
            found += 1
        part.n_made = found - part.made
        list_sums(&part.left)
        list_sums(&part.right)
        if part.in_a_row.n_places > 0:
            put_in_a_row(&part.right, left, made, &part.in_a_row)

    cdef void join(self, int n_parts) noexcept nogil:
        """Add up what the parts found."""
        cdef int part
        for part in range(n_parts):
            add_beside(&self.left, &self.parts[part].left)
            add_beside(&self.right, &self.parts[part].right)
        list_sums(&self.left)
        list_sums(&self.right)

    cdef void lose_pairs(self, const Beside* left, const Beside* right, int n_parts) noexcept nogil:
        """Take what stood beside the merged pair off the counts."""
        cdef Py_ssize_t number
        cdef Sum* in_a_row
        for number in range(left.n_seen):
            expect(&self.pairs, left.seen[number].token, self.pair.left)
        for number in range(right.n_seen):
            expect(&self.pairs, self.pair.right, right.seen[number].token)
        for number in range(left.n_seen):
            lose(&self.pairs, left.seen[number].token, self.pair.left, left.seen[number].sum.count)
        for number in range(right.n_seen):
            lose(&self.pairs, self.pair.right, right.seen[number].token, right.seen[number].sum.count)
        for number in range(n_parts):
            in_a_row = &self.parts[number].in_a_row
            if in_a_row.n_places > 0:
                lose(&self.pairs, self.pair.right, self.pair.left, in_a_row.count)
                in_a_row.count = in_a_row.n_places = 0

    cdef bint note_pairs(self, Beside* left, Beside* right, int n_parts) noexcept nogil:
        """Keep the pairs of the new token, and note where they are. False: no memory."""
        cdef Py_ssize_t kept
        cdef int part
        # All at once: making room moves the places of all pairs.
        kept = self.choose(left, True) + self.choose(right, False)
        if kept > 0:
            if not reserve_places(&self.pairs, kept):
                return False
            if not self.add_pairs(left, True) or not self.add_pairs(right, False):
                return False
            if n_parts > 1:
                set_starts(left)
                set_starts(right)
                for part in range(n_parts):
                    divide_sums(left, &self.parts[part].left)
                    divide_sums(right, &self.parts[part].right)
            self.run(NOTE, n_parts)
        left.n_seen = right.n_seen = 0
        for part in range(n_parts):
            self.parts[part].left.n_seen = self.parts[part].right.n_seen = 0
        return True

    cdef void note(self, Part* part) noexcept nogil:
        """Note the places of the new token's pairs, in some of its places."""
        cdef const Token* tokens = self.tokens.at
        cdef uint32_t* places = self.pairs.places
        cdef const Made* made
        cdef Sum* sum
        cdef Py_ssize_t number
        set_starts(&part.left)
        set_starts(&part.right)
        for number in range(part.n_made):
            made = part.made + number
            if made.before != NONE:
                sum = part.left.sums + made.before
                if sum.n_places >= 0:
                    places[sum.n_places] = made.at - tokens[made.before].length
                    sum.n_places += 1
            if made.after != NONE:
                sum = part.right.sums + made.after
                if sum.n_places >= 0:
                    places[sum.n_places] = made.at
                    sum.n_places += 1

    cdef Py_ssize_t choose(self, Beside* beside, bint to_the_left) noexcept nogil:
        """Mark the pairs on one side that are not to be kept. Returns the places of the others."""
        cdef Py_ssize_t number, n_places = 0
        cdef uint64_t length = self.tokens.at[self.token].length
        cdef Seen* seen
        for number in range(beside.n_seen):
            seen = beside.seen + number
            if seen.sum.count >= self.pairs.min_count and (
                length + self.tokens.at[seen.token].length <= self.max_length
            ):
                n_places += seen.sum.n_places
                if to_the_left:
                    expect(&self.pairs, seen.token, self.token)
                else:
                    expect(&self.pairs, self.token, seen.token)
            else:
                seen.sum.n_places = -1
        return n_places

    cdef bint add_pairs(self, Beside* beside, bint to_the_left) noexcept nogil:
        """Keep the chosen pairs of the new token on one side. False: no memory."""
        cdef Py_ssize_t number, start
        cdef uint32_t left, right
        cdef Seen* seen
        for number in range(beside.n_seen):
            seen = beside.seen + number
            if seen.sum.n_places < 0:
                continue
            start = self.pairs.n_places
            left, right = self.token, seen.token
            if to_the_left:
                left, right = right, left
            if add_pair(&self.pairs, left, right, seen.sum.count, seen.sum.n_places) == NONE:
                return False
            seen.sum.n_places = start
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
            if not self.begun:
                done = self.begin()
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


cdef inline void expect_place(const Place* place, Py_ssize_t length) noexcept nogil:
    """Fetch into the cache what is soon looked at: a pair and its neighbours."""
    prefetch(place - 1)
    prefetch(place + length)


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
