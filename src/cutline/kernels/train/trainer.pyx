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

cdef extern from "team.h":
    ctypedef struct Team "cutline_team":
        pass
    void offer "cutline_offer"(Team* team, int n_parts) noexcept nogil
    int take "cutline_take"(Team* team) noexcept nogil
    void done_with "cutline_done"(Team* team) noexcept nogil
    void await_all "cutline_await"(Team* team, int n_parts) noexcept nogil
    int next_part "cutline_next"(Team* team) noexcept nogil
    void dismiss_all "cutline_dismiss"(Team* team) noexcept nogil

cdef enum:
    N_BYTES = 256
    MOST_THREADS = 16
    SHARED_PLACES = 256         # of a part of a merge: fewer are not worth another thread
    SHARED_BYTES = 1 << 14      # of a part of the beginning
    MOST_TRIED = 64             # places, to find two that do not touch

# What is done in parts.
cdef enum:
    LAY_OUT
    NOTE_BYTES
    REPLACE
    NOTE

cdef enum:
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

# What one thread does of a merge, or of the beginning.
cdef struct Part:
    Beside left
    Beside right
    Sum in_a_row            # new tokens that stand behind another one
    Py_ssize_t first        # of the pair's places, or of the pieces
    Py_ssize_t stop
    Made* made
    Py_ssize_t n_made
    Sum* byte_pairs
    Py_ssize_t n_heavy      # in the pieces before


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
        n_threads: how many take part: the one that calls `advance`, and those that call `assist`.
            Whether they come does not change what is merged, nor the order.
    """

    cdef const uint8_t[::1] arena
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] counts
    cdef Place* places
    cdef uint8_t* bytes             # of the places, as they were
    cdef uint8_t[N_BYTES] single_bytes
    cdef int64_t* heavy             # counts of HEAVY or more
    cdef Tokens tokens
    cdef Pairs pairs
    cdef Team team
    cdef Part[MOST_THREADS] parts
    cdef int n_threads
    cdef int job
    cdef Pair pair                  # that is merged
    cdef uint32_t token             # that it is merged to
    cdef Made* made                 # places of the current merge
    cdef Py_ssize_t made_slots
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
    ):
        cdef bint done
        check_pieces(arena, offsets, counts)
        if vocab_size < N_BYTES or vocab_size >= NONE or min_frequency < 1 or not 0 <= ties <= 2:
            raise ValueError("vocab_size, min_frequency or ties is out of range")
        self.arena, self.offsets, self.counts = arena, offsets, counts
        self.n_threads = max(1, min(n_threads, MOST_THREADS))
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
        free(self.made)
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
        for part in range(self.n_threads):
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
            made.head = head_of(made.start, 1)
        self.tokens.n = N_BYTES
        return True

    # Work in parts

    cdef void run(self, int job, int n_parts) noexcept nogil:
        """Do the parts of a job, with the threads that are there."""
        cdef int part
        self.job = job
        if n_parts > 1:
            offer(&self.team, n_parts)
        self.work(0)
        if n_parts > 1:
            part = take(&self.team)
            while part >= 0:
                self.work(part)
                done_with(&self.team)
                part = take(&self.team)
            await_all(&self.team, n_parts)

    cdef void work(self, int part) noexcept nogil:
        if self.job == LAY_OUT:
            self.lay_out(&self.parts[part])
        elif self.job == NOTE_BYTES:
            self.note_bytes(&self.parts[part])
        elif self.job == REPLACE:
            self.replace(&self.parts[part])
        else:
            self.note(&self.parts[part])

    # The beginning

    cdef bint begin(self) noexcept nogil:
        """Lay out the pieces, count all pairs of bytes and note where they are. False: no memory."""
        cdef Py_ssize_t n_pieces = self.counts.shape[0]
        cdef int part, n_parts = self.n_parts(self.arena.shape[0], SHARED_BYTES)
        cdef bint done = True
        self.begun = True
        for part in range(n_parts):
            self.parts[part].first = n_pieces * part // n_parts
            self.parts[part].stop = n_pieces * (part + 1) // n_parts
            self.parts[part].byte_pairs = <Sum*> calloc(N_BYTES * N_BYTES, sizeof(Sum))
            done = done and self.parts[part].byte_pairs != NULL
        if not done or not self.set_heavy_apart(n_parts):
            return False
        self.places[0].token, self.places[0].weight = NONE, 0
        self.run(LAY_OUT, n_parts)
        if not self.add_byte_pairs(n_parts):
            return False
        self.run(NOTE_BYTES, n_parts)
        for part in range(n_parts):
            free(self.parts[part].byte_pairs)
            self.parts[part].byte_pairs = NULL
        return True

    cdef int n_parts(self, Py_ssize_t work, Py_ssize_t least) noexcept nogil:
        return max(1, min(self.n_threads, work // least))

    cdef bint set_heavy_apart(self, int n_parts) noexcept nogil:
        cdef Py_ssize_t piece, n_heavy = 0
        cdef int part
        for part in range(n_parts):
            self.parts[part].n_heavy = n_heavy
            for piece in range(self.parts[part].first, self.parts[part].stop):
                n_heavy += self.counts[piece] >= HEAVY
        self.heavy = <int64_t*> malloc((n_heavy + 1) * sizeof(int64_t))
        return self.heavy != NULL

    cdef void lay_out(self, Part* part) noexcept nogil:
        """Write some of the pieces into the places, and count their pairs of bytes."""
        cdef Py_ssize_t piece, at, start, end
        cdef const uint8_t* arena = &self.arena[0] if self.arena.shape[0] else NULL
        cdef Place* place
        cdef Sum* sum
        cdef int64_t count
        cdef uint32_t weight
        for piece in range(part.first, part.stop):
            start, end, count = self.offsets[piece], self.offsets[piece + 1], self.counts[piece]
            weight = count
            if count >= HEAVY:
                weight = HEAVY + part.n_heavy
                self.heavy[part.n_heavy] = count
                part.n_heavy += 1
            place = self.places + start + piece + 1
            for at in range(start, end):
                place.token, place.weight = arena[at], weight
                place += 1
            place.token, place.weight = NONE, 0
            if end > start:
                memcpy(self.bytes + start + piece + 1, arena + start, end - start)
            for at in range(start, end - 1):
                sum = part.byte_pairs + (<Py_ssize_t> arena[at] << 8 | arena[at + 1])
                sum.count += count
                sum.n_places += 1

    cdef bint add_byte_pairs(self, int n_parts) noexcept nogil:
        """Keep the pairs of bytes that are not too rare. False: no memory."""
        cdef Py_ssize_t pair, n_places, kept = 0
        cdef Sum* first = self.parts[0].byte_pairs
        cdef Sum sum
        cdef int part
        for pair in range(N_BYTES * N_BYTES):
            sum = first[pair]
            for part in range(1, n_parts):
                sum.count += self.parts[part].byte_pairs[pair].count
                sum.n_places += self.parts[part].byte_pairs[pair].n_places
            first[pair].count = sum.count if self.is_wanted(sum.count, 2) else 0
            if first[pair].count > 0:
                kept += sum.n_places
        if not reserve_places(&self.pairs, kept):
            return False
        for pair in range(N_BYTES * N_BYTES):
            kept = self.pairs.n_places
            for part in range(n_parts):
                n_places = self.parts[part].byte_pairs[pair].n_places
                self.parts[part].byte_pairs[pair].n_places = kept if first[pair].count > 0 else -1
                kept += n_places
            if first[pair].count > 0 and add_pair(
                &self.pairs, pair >> 8, pair & 0xFF, first[pair].count, kept - self.pairs.n_places
            ) == NONE:
                return False
        return True

    cdef void note_bytes(self, Part* part) noexcept nogil:
        """Note where the pairs of bytes are, in some of the pieces."""
        cdef Py_ssize_t piece, at
        cdef const uint8_t* arena = &self.arena[0] if self.arena.shape[0] else NULL
        cdef Sum* sum
        for piece in range(part.first, part.stop):
            for at in range(self.offsets[piece], self.offsets[piece + 1] - 1):
                sum = part.byte_pairs + (<Py_ssize_t> arena[at] << 8 | arena[at + 1])
                if sum.n_places >= 0:
                    self.pairs.places[sum.n_places] = at + piece + 1
                    sum.n_places += 1

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
        cdef int n_parts, part = 0
        if self.tokens.n < self.most_tokens and not find_best(&self.pairs, &best):
            return False
        if best == NONE:
            self.finished = True
            return True
        self.pair, self.token = self.pairs.pairs[best], self.tokens.n
        self.walked += self.pair.n_places
        if not grow(<void**> &self.made, &self.made_slots, self.pair.n_places, sizeof(Made)):
            return False
        n_parts = self.divide_places()
        drop_best(&self.pairs)
        self.run(REPLACE, n_parts)
        while self.parts[part].n_made == 0:
            part += 1
        self.make_token(&self.pair, self.parts[part].made.at)
        for part in range(1, n_parts):
            add_beside(&self.parts[0].left, &self.parts[part].left)
            add_beside(&self.parts[0].right, &self.parts[part].right)
            add_sum(&self.parts[0].in_a_row, &self.parts[part].in_a_row)
        self.lose_pairs()
        return self.note_pairs(n_parts)

    cdef int divide_places(self) noexcept nogil:
        """Divide the pair's places among the parts. Returns how many these are."""
        cdef const uint32_t* noted = self.pairs.places + self.pair.start
        cdef Py_ssize_t at = 0, n = self.pair.n_places, tried
        cdef int part, n_parts = self.n_parts(n, SHARED_PLACES)
        # What two threads read and write must not meet, so there is more between their places than
        # the pair. A run of them has no such place near, and is not divided.
        cdef uint32_t length = (
            self.tokens.at[self.pair.left].length + self.tokens.at[self.pair.right].length
        )
        for part in range(n_parts):
            self.parts[part].first = at
            if part + 1 < n_parts:
                at = max(at, n * (part + 1) // n_parts)
                tried = at + MOST_TRIED
                while 0 < at < n and at < tried and noted[at] - noted[at - 1] <= length:
                    at += 1
            if part + 1 == n_parts or at == tried:
                at = n
            self.parts[part].stop = at
        return n_parts

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

    cdef void replace(self, Part* part) noexcept nogil:
        """Put the new token wherever the pair still stands, from left to right, in some places.

        These are then in `made`. What stands beside them is in `left` and `right`: as often as it
        stood beside the pair, except for a new token behind another one, whose left token was the
        right neighbour of the pair before: `in_a_row`.
        """
        cdef Place* places = self.places
        cdef const uint32_t* noted = self.pairs.places + self.pair.start
        cdef Made* found = self.made + part.first
        cdef Py_ssize_t number, at, second, end, soon, last = part.stop - 1
        cdef uint32_t left = self.pair.left, right = self.pair.right, made = self.token
        cdef uint32_t before, after
        cdef int64_t count
        cdef Py_ssize_t length = self.tokens.at[left].length
        cdef Py_ssize_t whole_length = length + self.tokens.at[right].length
        part.made = found
        for number in range(part.first, part.stop):
            soon = noted[min(number + AHEAD, last)]
            prefetch(places + soon - 1)
            prefetch(places + soon + whole_length)
            at = noted[number]
            second = at + length
            if places[at].token != left or places[second].token != right:
                continue
            end = at + whole_length
            before, after = places[at - 1].token, places[end].token
            count = self.count_at(at)
            if before == made:
                # Beside the one before it, this pair is taken off already.
                found[-1].after = made
                part.in_a_row.count += count
                part.in_a_row.n_places += 1
                before = NONE
            elif before != NONE:
                beside_one(&part.left, before, count)
            if after != NONE:
                beside_one(&part.right, after, count)
            # Nothing may be found where a token no longer begins.
            places[second].token = NONE
            places[end - 1].token = made
            places[at].token = made
            found.at, found.before, found.after = at, before, after
            found += 1
        part.n_made = found - part.made
        if part.in_a_row.n_places:
            put_in_a_row(&part.right, &part.in_a_row, left, made)

    cdef void lose_pairs(self) noexcept nogil:
        """Take what stood beside the merged pair off the counts."""
        cdef const Beside* left = &self.parts[0].left
        cdef const Beside* right = &self.parts[0].right
        cdef Sum* in_a_row = &self.parts[0].in_a_row
        cdef Py_ssize_t number
        cdef uint32_t token
        for number in range(left.n_seen):
            expect(&self.pairs, left.seen[number], self.pair.left)
        for number in range(right.n_seen):
            expect(&self.pairs, self.pair.right, right.seen[number])
        for number in range(left.n_seen):
            token = left.seen[number]
            lose(&self.pairs, token, self.pair.left, left.sums[token].count)
        for number in range(right.n_seen):
            token = right.seen[number]
            lose(&self.pairs, self.pair.right, token, right.sums[token].count)
        if in_a_row.n_places:
            lose(&self.pairs, self.pair.right, self.pair.left, in_a_row.count)

    cdef bint note_pairs(self, int n_parts) noexcept nogil:
        """Keep the pairs of the new token, and note where they are. False: no memory."""
        cdef Beside* left = &self.parts[0].left
        cdef Beside* right = &self.parts[0].right
        # All at once: making room moves the places of all pairs.
        cdef Py_ssize_t kept = self.choose(left) + self.choose(right)
        cdef int part
        if kept > 0:
            if not reserve_places(&self.pairs, kept):
                return False
            if not self.add_pairs(left, True) or not self.add_pairs(right, False):
                return False
            for part in range(1, n_parts):
                move_on(&self.parts[part].left, left)
                move_on(&self.parts[part].right, right)
            self.run(NOTE, n_parts)
        for part in range(n_parts):
            forget(&self.parts[part].left)
            forget(&self.parts[part].right)
            self.parts[part].in_a_row.count = self.parts[part].in_a_row.n_places = 0
        return True

    cdef void note(self, Part* part) noexcept nogil:
        """Note the places of the new token's pairs, in some of its places."""
        cdef const Token* tokens = self.tokens.at
        cdef uint32_t* places = self.pairs.places
        cdef const Made* made
        cdef Sum* sum
        cdef Py_ssize_t number
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

    cdef Py_ssize_t choose(self, Beside* beside) noexcept nogil:
        """Mark the pairs on one side that are not to be kept. Returns the places of the others."""
        cdef Py_ssize_t number, n_places = 0
        cdef uint64_t length = self.tokens.at[self.token].length
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

    cdef bint add_pairs(self, Beside* beside, bint to_the_left) noexcept nogil:
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
            left, right = (token, self.token) if to_the_left else (self.token, token)
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

    def assist(self):
        """Take part in what another thread's `advance` does, until `dismiss` is called."""
        cdef int part
        with nogil:
            part = next_part(&self.team)
            while part >= 0:
                self.work(part)
                done_with(&self.team)
                part = next_part(&self.team)

    def dismiss(self):
        """Let the threads that assist go, now and whenever they come."""
        dismiss_all(&self.team)

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


cdef inline void add_sum(Sum* sum, const Sum* added) noexcept nogil:
    sum.count += added.count
    sum.n_places += added.n_places


cdef void put_in_a_row(
    Beside* right, const Sum* in_a_row, uint32_t left, uint32_t made
) noexcept nogil:
    """Correct what stands to the right: new tokens, where the pair's left token was counted."""
    cdef Sum* sum = right.sums + left
    cdef Py_ssize_t number = 0
    sum.count -= in_a_row.count
    sum.n_places -= in_a_row.n_places
    if sum.n_places == 0:
        while right.seen[number] != left:
            number += 1
        right.n_seen -= 1
        right.seen[number] = right.seen[right.n_seen]
    right.sums[made] = in_a_row[0]
    right.seen[right.n_seen] = made
    right.n_seen += 1


cdef void add_beside(Beside* all, Beside* added) noexcept nogil:
    """Add the sums of a part, which then has for each token the places in the parts before."""
    cdef Py_ssize_t number, n_before
    cdef Sum* sum
    cdef Sum* more
    for number in range(added.n_seen):
        sum = all.sums + added.seen[number]
        more = added.sums + added.seen[number]
        if sum.count == 0:
            all.seen[all.n_seen] = added.seen[number]
            all.n_seen += 1
        n_before = sum.n_places
        add_sum(sum, more)
        more.n_places = n_before


cdef void move_on(Beside* part, const Beside* all) noexcept nogil:
    """Say where a part's places of each pair are written, given where those of the first part are."""
    cdef Py_ssize_t number, start
    for number in range(part.n_seen):
        start = all.sums[part.seen[number]].n_places
        if start < 0:
            part.sums[part.seen[number]].n_places = -1
        else:
            part.sums[part.seen[number]].n_places += start


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
