"""Joints of a long word of Unigram, segment by segment: their starts, and those inside long ones.

Source: docs/words.md.

Guarded by tests/words/test_segments.py.
"""

from libc.stdlib cimport free

from cutline.kernels.base.common cimport INTERRUPTED, NO_MEMORY, grow, uint32_t
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.encode.caches cimport STORED_BYTES
from cutline.kernels.words.segments cimport (
    RECORD_HEAD, RECORD_SLOTS, SEGMENTS_AT_ONCE, Segment, add_scores, find_segments, known_parts,
    may_be_kept,
)
from cutline.kernels.words.unigram cimport add_joint, best_path
from cutline.kernels.words.unsure_parts cimport UnsurePart, are_many, can_weigh, most_moved, weigh

cdef enum:
    LONG_SEGMENT = 64       # bytes: longer ones get joints inside

# How far a word is joined.
cdef struct Walk:
    Py_ssize_t longest      # bytes of the word, and of what may come before it
    Py_ssize_t known        # bytes of segments that are looked up
    Py_ssize_t tokens
    double sum
    bint is_lost            # unsure parts are too many


cdef Py_ssize_t join_segments(
    const WordModel* model, WordState* state, const uint8_t* word, Py_ssize_t n, Py_ssize_t longest,
    bint are_few, Joints* joints, UnsureParts* unsure
) noexcept nogil:
    """Count the tokens of a word that has segments; or a status. What joints are is told in `Joints`.

    Args:
        longest: bytes of the word, and of what may come before it.
        are_few: few joints are enough: none is inside segments that are looked up.
        joints: emptied, and filled with the starts of segments but the first, and with the joints
            inside long ones. Before and after each, tokens do not depend on one another, but in
            unsure parts.
        unsure: gets the parts between joints whose number of tokens depends on the sum before.
    """
    cdef Joints inside
    cdef Walk walk
    cdef Py_ssize_t status, before = unsure.count
    inside.items = NULL
    inside.slots = inside.count = joints.count = 0
    walk.longest = longest
    walk.known = STORED_BYTES if are_few else LONG_SEGMENT
    walk.tokens = 0
    walk.sum = state.paths.taken = 0
    walk.is_lost = False
    status = join_with(model, state, word, n, &walk, joints, &inside, unsure)
    free(inside.items)
    if walk.is_lost:
        joints.count = 0
        unsure.count = before
    return status if status < 0 else walk.tokens


cdef Py_ssize_t join_with(
    const WordModel* model, WordState* state, const uint8_t* word, Py_ssize_t n, Walk* walk,
    Joints* joints, Joints* inside, UnsureParts* unsure
) noexcept nogil:
    """The same, with room for the joints of a segment. Returns 0 or a status."""
    cdef Segment segments[SEGMENTS_AT_ONCE]
    cdef Segment* segment
    cdef Py_ssize_t at = 0, begun, n_segments, number, status
    while at < n:
        begun = at
        n_segments = find_segments(state, word, &at, n, segments)
        for number in range(n_segments):
            segment = &segments[number]
            if segment.text != word and not add_joint(
                joints, segment.text - word, walk.tokens, walk.sum + state.paths.taken
            ):
                return NO_MEMORY
            status = 0
            if segment.n <= walk.known and may_be_kept(model, segment, walk.longest, walk.sum):
                status = add_known(model, state, segment, walk, unsure)
            if status == 0:
                status = add_exactly(
                    model, state, segment, segment.text - word, walk, joints, inside, unsure
                )
            if status < 0:
                return status
        if is_interrupted(&state.paths.watch, at - begun):
            return INTERRUPTED
    return 0


cdef inline Py_ssize_t add_known(
    const WordModel* model, WordState* state, const Segment* segment, Walk* walk,
    UnsureParts* unsure
) noexcept nogil:
    """Add a segment whose tokens depend on no sum; 0: they do. Or a status."""
    cdef uint32_t found[RECORD_SLOTS]
    cdef const uint32_t* record = found
    cdef Py_ssize_t n_parts = known_parts(model, state, segment, found, &record)
    if n_parts > 0:
        add_scores(model, record + RECORD_HEAD, n_parts, &walk.sum)
        walk.tokens += record[0]
        unsure.more += max(0, n_parts - <Py_ssize_t> record[0])
    return n_parts


cdef Py_ssize_t add_exactly(
    const WordModel* model, WordState* state, const Segment* segment, Py_ssize_t start, Walk* walk,
    Joints* joints, Joints* inside, UnsureParts* unsure
) noexcept nogil:
    """Add a segment from the sum that is there. Returns 0 or a status.

    Args:
        start: where in the word it begins.
    """
    cdef UnsurePart part
    cdef Py_ssize_t number, at = 0, end, tokens = 0, after, total, status
    part.score = walk.sum + state.paths.taken
    if not grow(<void**> &state.out, &state.out_slots, 4 * segment.n + 4, sizeof(uint32_t)):
        return NO_MEMORY
    total = best_path(
        model, &state.paths, segment.text, segment.n, &walk.sum, state.out, NULL, inside, True,
        most_moved(model, walk.longest),
    )
    if total < 0:
        return total
    for number in range(inside.count):
        if not add_joint(
            joints, start + inside.items[number].at, walk.tokens + inside.items[number].tokens,
            inside.items[number].score,
        ):
            return NO_MEMORY
    unsure.more += max(0, state.paths.added - total)
    if not state.paths.is_sure and not can_weigh(model, walk.longest):
        walk.is_lost = True
    for number in range(0 if state.paths.is_sure else inside.count + 1):
        if walk.is_lost:
            break
        end = inside.items[number].at if number < inside.count else segment.n
        after = inside.items[number].tokens if number < inside.count else total
        part.at = start + at
        part.tokens = walk.tokens + tokens
        status = weigh(
            model, &state.paths, segment.text + at, end - at, after - tokens, state.out, &part,
            unsure,
        )
        if status < 0:
            return status
        walk.is_lost = are_many(unsure, walk.longest)
        if number < inside.count:
            part.score = inside.items[number].score
        at, tokens = end, after
    walk.tokens += total
    return 0
