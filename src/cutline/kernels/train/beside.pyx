"""What stands beside a pair that is merged, on one side of it: sums by token.

Each thread that takes part in a merge sums on its own. Its sums are then listed beside their
tokens, as another thread would wait for each line of the cache that it reads anywhere else.

Guarded by tests/kernels/test_trainer.py.
"""

from libc.stdlib cimport calloc, free, malloc


cdef bint make_beside(Beside* beside, Py_ssize_t most_tokens) noexcept nogil:
    beside.sums = <Sum*> calloc(most_tokens, sizeof(Sum))
    beside.seen = <Seen*> malloc(most_tokens * sizeof(Seen))
    return beside.sums != NULL and beside.seen != NULL


cdef void free_beside(Beside* beside) noexcept nogil:
    free(beside.sums)
    free(beside.seen)


cdef void add_beside(Beside* all, const Beside* added) noexcept nogil:
    cdef Py_ssize_t number
    for number in range(added.n_seen):
        if added.seen[number].sum.n_places > 0:
            add_sum(sum_of(all, added.seen[number].token), &added.seen[number].sum)


cdef void list_sums(Beside* beside) noexcept nogil:
    """Put the sums beside their tokens, where they are read in a row."""
    cdef Py_ssize_t number
    cdef Sum* sum
    for number in range(beside.n_seen):
        sum = beside.sums + beside.seen[number].token
        beside.seen[number].sum = sum[0]
        sum.count = 0


cdef void set_starts(Beside* beside) noexcept nogil:
    """Let the sums tell where the next place of each token's pair is written."""
    cdef Py_ssize_t number
    for number in range(beside.n_seen):
        beside.sums[beside.seen[number].token].n_places = beside.seen[number].sum.n_places


cdef void put_in_a_row(
    Beside* right, uint32_t left, uint32_t made, const Sum* in_a_row
) noexcept nogil:
    """Correct what is to the right: new tokens, where the pair's left token was counted."""
    cdef Py_ssize_t number = 0
    while right.seen[number].token != left:
        number += 1
    right.seen[number].sum.count -= in_a_row.count
    right.seen[number].sum.n_places -= in_a_row.n_places
    right.seen[right.n_seen].token = made
    right.seen[right.n_seen].sum = in_a_row[0]
    right.n_seen += 1


cdef void divide_sums(const Beside* all, Beside* part) noexcept nogil:
    """Let a part begin to write where the parts before it end; `all` has where that is."""
    cdef Py_ssize_t number, n_places
    cdef Sum* sum
    for number in range(part.n_seen):
        sum = all.sums + part.seen[number].token
        n_places = part.seen[number].sum.n_places
        part.seen[number].sum.n_places = sum.n_places
        if sum.n_places >= 0:
            sum.n_places += n_places
