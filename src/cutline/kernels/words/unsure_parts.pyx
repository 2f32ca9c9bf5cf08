"""Parts between joints whose number of tokens depends on the sum before them, by its rounding.

A part is unsure if a path with another number of tokens is nearly as good as the best one. With sums
of 24 bits, where all in it lie between two neighbouring powers of two, each score is rounded by as
much whatever the sum is: so its tokens are found once for each power. Source: docs/words.md.

Guarded by tests/words/test_unsure_parts.py.
"""

from libc.math cimport floor, fmax, frexp, ldexp

from cutline.kernels.base.common cimport (
    NO_MEMORY, UNKNOWN, characters_in, grow, is_continuation, memset, uint32_t,
)
from cutline.kernels.words.model cimport Paths
from cutline.kernels.words.unigram cimport (
    HALF_BIT, MOST_SUM, NUMBERS, best_path, compared, follow_part, rounding_of,
)

cdef enum:
    LONGEST_TRIED = 512     # bytes of a part
    MOST_CHANGE = 100       # tokens
    LEAST_UNSURE = 64       # parts of a text, and one for so many bytes
    BYTES_A_PART = 2048
    SINGLE_BITS = 24
    DOUBLE_BITS = 53
    SINGLE_BINADES = 17     # sums are less than 2 ** 17 from 0


cdef double most_moved(const WordModel* model, Py_ssize_t n) noexcept nogil:
    """By how much rounding may move a sum, less that in another text, with each token.

    Args:
        n: bytes of the word, and of what may come before it.
    """
    # Both are rounded, and so are the two sums that are compared to know how far they are apart.
    return 4 * HALF_BIT if model.is_single else rounding_of(model, n)


cdef bint can_weigh(const WordModel* model, Py_ssize_t n) noexcept nogil:
    """Whether sums in a word of at most n bytes stay below the powers of two that are tried."""
    return model.is_single or n * model.most_score < ldexp(1, BINADES)


cdef bint are_many(const UnsureParts* unsure, Py_ssize_t n) noexcept nogil:
    """Whether unsure parts are so many in n bytes that joints do not pay."""
    return unsure.count > LEAST_UNSURE + n // BYTES_A_PART


cdef inline int binades_of(const WordModel* model) noexcept nogil:
    """Sums are less than this power of two from 0."""
    return SINGLE_BINADES if model.is_single else BINADES


cdef inline double half_bit(const WordModel* model, int binade) noexcept nogil:
    """The most that rounding moves sums of less than 2 ** binade."""
    return ldexp(1, binade - (SINGLE_BITS if model.is_single else DOUBLE_BITS) - 1)


cdef Py_ssize_t weigh(
    const WordModel* model, Paths* paths, const uint8_t* text, Py_ssize_t n, Py_ssize_t count,
    uint32_t* out, UnsurePart* part, UnsureParts* unsure
) noexcept nogil:
    """See whether rounding may change how many tokens a part between two joints has.

    Returns 0, or a status.

    Args:
        count: its tokens, from the sum that is there.
        out: has room for four ids for each byte.
        part: where it is, the tokens and the sum before it are told; gets the rest.
        unsure: gets the part if it may.
    """
    cdef Py_ssize_t status
    part.least = 0
    part.depth = n * model.most_score
    part.below = NOT_TOLD
    memset(part.changes, NOT_TOLD, sizeof(part.changes))
    if n <= LONGEST_TRIED:
        status = try_part(model, paths, text, n, count, out, part)
        if status < 0 or part.least == binades_of(model):
            return min(status, 0)
    if not grow(
        <void**> &unsure.items, &unsure.slots, unsure.count + 1, sizeof(UnsurePart)
    ):
        return NO_MEMORY
    unsure.items[unsure.count] = part[0]
    unsure.count += 1
    unsure.more += characters_in(text, n, n)
    return 0


cdef Py_ssize_t try_part(
    const WordModel* model, Paths* paths, const uint8_t* text, Py_ssize_t n, Py_ssize_t count,
    uint32_t* out, UnsurePart* part
) noexcept nogil:
    """Find where rounding may decide in a part, and what it changes there. Returns 0 or a status."""
    cdef int compares = compared(model, text, n)
    # By how much a path is better is known exactly, for these sums are not rounded to 24 bits.
    cdef Py_ssize_t status = follow_part(model, paths, text, n, 0, compares, False)
    if status < 0:
        return status
    part.least = least_binade(model, paths.to[n].margin, characters_in(text, n, n) + 2)
    if part.least == binades_of(model):
        return 0
    part.depth = depth_of(paths, text, n)
    # A path whose first token is unknown could be one with the end of what is before; zones between
    # powers of two tell nothing where sums fall and rise.
    if compares != NUMBERS or not model.is_falling:
        return 0
    return try_binades(model, paths, text, n, count, out, part)


cdef inline int least_binade(
    const WordModel* model, double margin, Py_ssize_t roundings
) noexcept nogil:
    """The greatest k such that rounding does not make up for a margin where sums are less than 2 ** k."""
    cdef int least = binades_of(model)
    while least > 0 and margin <= 2 * roundings * half_bit(model, least):
        least -= 1
    return least


cdef double depth_of(const Paths* paths, const uint8_t* text, Py_ssize_t n) noexcept nogil:
    """How much farther from 0 sums in a part are than that before it, rounding included."""
    cdef Py_ssize_t place
    cdef double depth = 0
    for place in range(1, n + 1):
        if place == n or not is_continuation(text[place]):
            depth = fmax(depth, -paths.to[place].score)
    return depth + 1 + n * HALF_BIT


cdef Py_ssize_t try_binades(
    const WordModel* model, Paths* paths, const uint8_t* text, Py_ssize_t n, Py_ssize_t count,
    uint32_t* out, UnsurePart* part
) noexcept nogil:
    """Find what sums between two powers of two change. Returns 0 or a status.

    Sums that are apart by an even multiple of their last bit are rounded alike.

    Args:
        count: tokens that changes are compared with.
        out: has room for its ids.
    """
    cdef int binade
    cdef double power
    cdef Py_ssize_t even, odd
    if part.depth < ldexp(1, part.least):
        even = count_from(model, paths, text, n, 0, out)
        if even < 0:
            return even
        part.below = change_of(even - count)
    for binade in range(part.least, binades_of(model)):
        power = ldexp(1, binade)
        if part.depth > power / 4:
            continue
        even = count_from(model, paths, text, n, -1.25 * power, out)
        if even < 0:
            return even
        odd = count_from(
            model, paths, text, n, -1.25 * power - 2 * half_bit(model, binade + 1), out
        )
        if odd < 0:
            return odd
        if odd == even:
            part.changes[binade] = change_of(even - count)
    return 0


cdef inline Py_ssize_t count_from(
    const WordModel* model, Paths* paths, const uint8_t* text, Py_ssize_t n, double sum,
    uint32_t* out
) noexcept nogil:
    """Count the tokens of a part after a sum; or a status."""
    return best_path(model, paths, text, n, &sum, out, NULL, NULL, False, 0)


cdef inline signed char change_of(Py_ssize_t change) noexcept nogil:
    """A difference of tokens, or NOT_TOLD."""
    return <signed char> change if -MOST_CHANGE <= change <= MOST_CHANGE else NOT_TOLD


cdef Py_ssize_t changed_tokens(
    const WordModel* model, const UnsureParts* unsure, Py_ssize_t first, Py_ssize_t last,
    double moved, Py_ssize_t tokens, bint may_change, Py_ssize_t* changes
) noexcept nogil:
    """Sum up what changes in a slice between two characters, the first inside a word. 0, or UNKNOWN.

    Args:
        unsure: the parts of a text.
        moved: how much greater sums of the first word are in the slice.
        tokens: of the text before the first character.
        may_change: else UNKNOWN if any part has other tokens.
        changes: gets the sum.
    """
    cdef Py_ssize_t number = first_from(unsure, first)
    cdef const UnsurePart* part
    cdef signed char change
    changes[0] = 0
    while number < unsure.count and unsure.items[number].at < last:
        part = &unsure.items[number]
        if part.word >= first:
            return 0        # sums begin with this word, as those of the text did
        change = change_in(model, part, moved, part.tokens - tokens + unsure.more)
        if change == NOT_TOLD or (change != 0 and not may_change):
            return UNKNOWN
        changes[0] += change
        number += 1
    return 0


cdef inline Py_ssize_t first_from(const UnsureParts* unsure, Py_ssize_t place) noexcept nogil:
    """The number of the first part that begins at a character or after it."""
    cdef Py_ssize_t low = 0, high = unsure.count, middle
    while low < high:
        middle = (low + high) >> 1
        if unsure.items[middle].at < place:
            low = middle + 1
        else:
            high = middle
    return low


cdef signed char change_in(
    const WordModel* model, const UnsurePart* part, double moved, Py_ssize_t n_scores
) noexcept nogil:
    """What a part's tokens are more in a slice whose sums are by so much greater; or NOT_TOLD.

    Args:
        n_scores: at most so many are added between the slice's start and the part.
    """
    # Each of both sums was rounded with each score.
    cdef double doubt = 2 * n_scores * half_bit(model, binades_of(model)) + 1
    cdef double near = -(moved + part.score) - doubt
    cdef double far = -(moved + part.score) + doubt + part.depth
    # Sums begin anew inside a token, too, if its characters alone bring them there.
    cdef double most = ldexp(1, BINADES), anew
    cdef int binade
    if model.is_single:
        most = MOST_SUM - model.longest * model.most_score
        if near >= MOST_SUM:
            # At least so often sums began anew, each time somewhat beyond MOST_SUM.
            anew = floor(near / (MOST_SUM + model.most_score))
            near -= anew * (MOST_SUM + model.most_score)
            far -= anew * MOST_SUM
    if fmax(far, -near) < ldexp(1, part.least):
        return part.below
    frexp(far, &binade)
    if far >= most or near < fmax(1, ldexp(1, binade - 1)):
        return NOT_TOLD
    return part.changes[binade - 1]


cdef double half_bit_of(const WordModel* model, double sum) noexcept nogil:
    """The most that rounding moves sums down to one, which is not over 0."""
    cdef int power
    frexp(-sum, &power)
    return half_bit(model, min(max(power, 0), binades_of(model)))
