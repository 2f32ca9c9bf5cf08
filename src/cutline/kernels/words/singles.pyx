"""Count words of Unigram by their characters: first all tokens in many words, then best paths.

Texts with which tokens begin grow by a character each time, at all places of all words at once: so
no look into memory waits for another, and no branch depends on what is found. Source: docs/words.md,
"Runs".

Guarded by tests/words/test_runs.py.
"""

from cutline.kernels.base.common cimport UNKNOWN, memset, prefetch, unlikely
from cutline.kernels.words.double_array cimport HUGE_VAL, NEVER, NO_SLOT, ROOT, UNKNOWN_SLOT, Slot

cdef enum:
    MOST_STEPS = 16         # for each character


cdef bint find_tokens(const DoubleArray* array, Singles* singles) noexcept nogil:
    """Find all tokens in the words. False: they are too many, or begin too many longer ones."""
    cdef Py_ssize_t alive, length = 1, steps = MOST_STEPS * singles.n
    memset(singles.longest, 0, sizeof(uint16_t) * (singles.n + 1))
    singles.n_long = 0
    alive = find_characters(array, singles)
    while alive > 0:
        length += 1
        steps -= alive
        if steps < 0 or singles.n_long + alive > LONG_TOKENS:
            return False
        alive = (
            find_short(array, singles, alive, length) if length <= LENGTHS
            else find_long(array, singles, alive, length)
        )
    return True


cdef inline Py_ssize_t find_characters(const DoubleArray* array, Singles* singles) noexcept nogil:
    """Find the tokens of one character. Returns how many texts go on."""
    cdef Py_ssize_t at, left = 0
    cdef uint32_t slot
    cdef const Slot* slots = array.slots
    cdef double* scores = singles.scores + LENGTHS
    for at in range(singles.n):
        slot = singles.codes[at]
        slot = slot if slots[slot].parent == ROOT else UNKNOWN_SLOT
        scores[LENGTHS * at] = slots[slot].score
        scores[LENGTHS * at + 1] = NEVER
        scores[LENGTHS * at + 2] = NEVER
        scores[LENGTHS * at + 3] = NEVER
        left = go_on(singles, left, <uint32_t> at, slots, slot, singles.codes[at + 1], True)
    return left


cdef inline Py_ssize_t go_on(
    Singles* singles, Py_ssize_t left, uint32_t place, const Slot* slots, uint32_t slot,
    uint32_t code, bint is_there
) noexcept nogil:
    """Keep a text as the next one that goes on, if it does. Returns how many do.

    What it may become is fetched, for it is looked at after all others were.
    """
    cdef uint32_t base = slots[slot].base
    singles.places[left] = place
    singles.slots[left] = slot
    singles.longer[left] = base + code
    prefetch(&slots[base + code])
    return left + (is_there & (base != 0) & (code != 0))


cdef inline Py_ssize_t find_short(
    const DoubleArray* array, Singles* singles, Py_ssize_t alive, Py_ssize_t length
) noexcept nogil:
    """Find the tokens of a length among the texts that go on. Returns how many of these still do."""
    cdef Py_ssize_t text, left = 0
    cdef uint32_t place, longer, is_there
    cdef const Slot* slots = array.slots
    cdef double* scores = singles.scores + LENGTHS * length + length - 1
    cdef const uint32_t* after = singles.codes + length
    for text in range(alive):
        place = singles.places[text]
        longer = singles.longer[text]
        is_there = slots[longer].parent == singles.slots[text]
        scores[LENGTHS * place] = slots[longer if is_there else NO_SLOT].score
        left = go_on(singles, left, place, slots, longer, after[place], is_there)
    return left


cdef inline Py_ssize_t find_long(
    const DoubleArray* array, Singles* singles, Py_ssize_t alive, Py_ssize_t length
) noexcept nogil:
    """What find_short does, of lengths for which there is no place at each character."""
    cdef Py_ssize_t text, left = 0, number = singles.n_long
    cdef uint32_t place, longer, is_there, is_token
    cdef const Slot* slots = array.slots
    cdef const uint32_t* after = singles.codes + length
    cdef uint16_t* longest = singles.longest + length
    cdef LongToken* token
    for text in range(alive):
        place = singles.places[text]
        longer = singles.longer[text]
        is_there = slots[longer].parent == singles.slots[text]
        token = &singles.long_tokens[number + 1]
        token.score = slots[longer if is_there else NO_SLOT].score
        token.length = <uint16_t> length
        token.shorter = longest[place]
        is_token = token.score != NEVER
        number += is_token
        longest[place] = <uint16_t> number if is_token else longest[place]
        left = go_on(singles, left, place, slots, longer, after[place], is_there)
    singles.n_long = number
    return left


cdef inline void consider(
    double* best, uint32_t* count, double score, uint32_t other
) noexcept nogil:
    """Take another path if it is better. No branch, for it would not be foreseen."""
    cdef bint is_better = score > best[0]
    count[0] = other if is_better else count[0]
    best[0] = score if is_better else best[0]


cdef Py_ssize_t count_single(const Singles* singles, Py_ssize_t word) noexcept nogil:
    """Count the tokens of a word, all of whose tokens are found.

    UNKNOWN: some may be unknown, or spell the unknown token. Longer tokens come first, as their
    paths do where all tokens that begin at a place are followed before those that begin after it.
    """
    cdef double to[MOST_SINGLES + 1]
    cdef uint32_t tokens[MOST_SINGLES + 1]
    cdef Py_ssize_t start = singles.starts[word], n = singles.starts[word + 1] - 1 - start, end
    cdef const double* scores = singles.scores + LENGTHS * start
    cdef const LongToken* longer
    cdef double best
    cdef uint32_t count, number
    cdef double to_one = 0, to_two = 0, to_three = 0, to_four = 0
    cdef uint32_t one = 0, two = 0, three = 0, four = 0
    to[0] = 0
    tokens[0] = 0
    for end in range(1, n + 1):
        scores += LENGTHS
        best = scores[3] + to_four
        count = four
        number = singles.longest[start + end]
        if unlikely(number != 0):
            best = NEVER
            while number != 0:
                longer = &singles.long_tokens[number]
                consider(
                    &best, &count, longer.score + to[end - longer.length],
                    tokens[end - longer.length],
                )
                number = longer.shorter
            consider(&best, &count, scores[3] + to_four, four)
        consider(&best, &count, scores[2] + to_three, three)
        consider(&best, &count, scores[1] + to_two, two)
        consider(&best, &count, scores[0] + to_one, one)
        to_four, four = to_three, three
        to_three, three = to_two, two
        to_two, two = to_one, one
        to_one, one = best, count + 1
        to[end] = best
        tokens[end] = one
    return UNKNOWN if to_one == HUGE_VAL else <Py_ssize_t> one
