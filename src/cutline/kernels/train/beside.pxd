"""What stands beside a pair that is merged, on one side of it: sums by token."""

from cutline.kernels.base.common cimport int64_t, uint32_t

cdef struct Sum:
    int64_t count
    Py_ssize_t n_places     # at how many places; then where the next one is written

cdef struct Seen:
    uint32_t token
    Sum sum

cdef struct Beside:
    Sum* sums               # of each token; between merges all counts are 0
    Seen* seen              # the tokens that are there
    Py_ssize_t n_seen


cdef bint make_beside(Beside* beside, Py_ssize_t most_tokens) noexcept nogil
cdef void free_beside(Beside* beside) noexcept nogil
cdef void add_beside(Beside* all, const Beside* added) noexcept nogil
cdef void list_sums(Beside* beside) noexcept nogil
cdef void set_starts(Beside* beside) noexcept nogil
cdef void put_in_a_row(
    Beside* right, uint32_t left, uint32_t made, const Sum* in_a_row
) noexcept nogil
cdef void divide_sums(const Beside* all, Beside* part) noexcept nogil


cdef inline void add_one(Sum* sum, int64_t count) noexcept nogil:
    sum.count += count
    sum.n_places += 1


cdef inline void add_sum(Sum* sum, const Sum* added) noexcept nogil:
    sum.count += added.count
    sum.n_places += added.n_places


cdef inline Sum* sum_of(Beside* beside, uint32_t token) noexcept nogil:
    """The sum of a token, which is added to."""
    cdef Sum* sum = beside.sums + token
    if sum.count == 0:
        sum.n_places = 0
        beside.seen[beside.n_seen].token = token
        beside.n_seen += 1
    return sum
