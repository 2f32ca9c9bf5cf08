"""Which of several breaks a chunk ends at when the text around them decides.

The same numbers as `cutline.chunking.hashing` gives.

Guarded by tests/chunking/test_choice.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport NOT_FOUND, barrier, grow
from cutline.kernels.breaks.breaks cimport CHARACTER, SENTENCE, last_break
from cutline.kernels.breaks.sentences cimport Walk, begin_sentences, next_sentence
from cutline.kernels.breaks.wrapping cimport LINES

cdef enum:
    HASHED = 16                 # characters on each side of a place

cdef uint64_t MIX = 0x9E3779B97F4A7C15
cdef uint64_t factors[2 * HASHED]       # of the characters around a place


cdef void fill_factors() noexcept:
    cdef uint64_t number
    for number in range(1, 2 * HASHED + 1):
        factors[2 * HASHED - number] = (
            number * number * number * number * number * number * number * MIX | 1
        )


fill_factors()


cdef void free_candidates(Candidates* candidates) noexcept nogil:
    free(candidates.heap)
    free(candidates.points)


cdef bint find_candidates(
    Candidates* candidates, const Characters* text, int kind, Py_ssize_t start,
    Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """Find all breaks b of a kind with after < b <= until. False: no memory.

    Cost: linear in the characters from `after` to `until`.
    """
    cdef Py_ssize_t place
    cdef Walk walk
    candidates.count = 0
    if not copy_points(candidates, text, start, after, until):
        return False
    if not grow(
        <void**> &candidates.heap, &candidates.slots, until - after, sizeof(Candidate)
    ):
        return False
    if kind == CHARACTER:
        for place in range(after + 1, until + 1):
            add_candidate(candidates, after, place)
    elif kind & ~LINES == SENTENCE:
        begin_sentences(&walk, text, kind & LINES, start, after, until)
        place = next_sentence(&walk, after)
        while place != NOT_FOUND:
            add_candidate(candidates, after, place)
            place = next_sentence(&walk, place)
    else:
        place = last_break(text, kind, start, after, until)
        while place != NOT_FOUND:
            add_candidate(candidates, after, place)
            place = last_break(text, kind, start, after, place - 1)
    candidates.is_heap = False
    return True


cdef bint copy_points(
    Candidates* candidates, const Characters* text, Py_ssize_t start,
    Py_ssize_t after, Py_ssize_t until
) noexcept nogil:
    """Copy the characters from HASHED before `after` to HASHED after `until`. False: no memory.

    Those outside text[start:] are zeros.
    """
    cdef Py_ssize_t n = until - after + 2 * HASHED, slot, at
    if not grow(
        <void**> &candidates.points, &candidates.point_slots, n, sizeof(uint64_t)
    ):
        return False
    for slot in range(n):
        at = after - HASHED + slot
        candidates.points[slot] = char_at(text, at) if start <= at < text.n else 0
    return True


cdef inline bint comes_before(const Candidate* one, const Candidate* other) noexcept nogil:
    if one.hashed != other.hashed:
        return one.hashed > other.hashed
    return one.place > other.place


cdef inline void add_candidate(
    Candidates* candidates, Py_ssize_t after, Py_ssize_t place
) noexcept nogil:
    cdef const uint64_t* points = candidates.points + (place - after)
    cdef Candidate candidate
    cdef uint64_t hashed = 0
    cdef Py_ssize_t at
    for at in range(2 * HASHED):
        # The barrier: vectors without a product of 64 bits would take three times as long.
        hashed += (<const uint64_t*> barrier(points))[at] * factors[at]
    hashed = (hashed ^ hashed >> 32) * MIX
    candidate.hashed = hashed ^ hashed >> 29
    candidate.place = place
    candidates.heap[candidates.count] = candidate
    if comes_before(&candidate, &candidates.heap[0]):
        candidates.heap[candidates.count] = candidates.heap[0]
        candidates.heap[0] = candidate
    candidates.count += 1


cdef Py_ssize_t best_candidate(const Candidates* candidates) noexcept nogil:
    """The best place that is left; NOT_FOUND: none is."""
    return candidates.heap[0].place if candidates.count > 0 else NOT_FOUND


cdef Py_ssize_t next_candidate(Candidates* candidates) noexcept nogil:
    """Drop the best place, and give the best of the others: seldom is a second one needed."""
    cdef Py_ssize_t slot
    if not candidates.is_heap:
        for slot in range(candidates.count // 2 - 1, -1, -1):
            sift_down(candidates, slot)
        candidates.is_heap = True
    candidates.count -= 1
    candidates.heap[0] = candidates.heap[candidates.count]
    sift_down(candidates, 0)
    return best_candidate(candidates)


cdef void sift_down(Candidates* candidates, Py_ssize_t slot) noexcept nogil:
    cdef Candidate* heap = candidates.heap
    cdef Candidate moved = heap[slot]
    cdef Py_ssize_t child = 2 * slot + 1
    while child < candidates.count:
        if child + 1 < candidates.count and comes_before(&heap[child + 1], &heap[child]):
            child += 1
        if not comes_before(&heap[child], &moved):
            break
        heap[slot] = heap[child]
        slot = child
        child = 2 * slot + 1
    heap[slot] = moved
