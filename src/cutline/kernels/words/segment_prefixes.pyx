"""Count the tokens of the prefixes of a long word of Unigram, segment by segment.

The tokens of a segment are added to those before it: as they were kept, or as its best path has
them from the sum that is there. Source: docs/words.md.

Guarded by tests/words/test_segments.py.
"""

from cutline.kernels.base.common cimport INTERRUPTED, NO_MEMORY, uint32_t
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.words.segments cimport (
    RECORD_HEAD, RECORD_SLOTS, SEGMENTS_AT_ONCE, SURE_PREFIXES, Segment, add_scores, find_segments,
    known_parts, may_be_kept,
)
from cutline.kernels.words.unigram cimport begin_path, count_more_prefixes, reserve_paths


cdef Py_ssize_t count_segment_prefixes(
    const WordModel* model, WordState* state, const uint8_t* word, Py_ssize_t n, Py_ssize_t most,
    Py_ssize_t* counts
) noexcept nogil:
    """Count prefixes of a word (n >= 1) of a model that has segments: counts[k] is that of word[:k].

    Only counts where characters end mean something. Stops after the first segment up to whose end
    there are more than `most` tokens, as there are in all longer prefixes then. Returns where; or
    NO_MEMORY or INTERRUPTED.
    """
    cdef Segment segments[SEGMENTS_AT_ONCE]
    cdef Py_ssize_t at = 0, done = 0, before, n_segments, number, status
    cdef double score = 0
    counts[0] = 0
    while at < n:
        before = at
        n_segments = find_segments(state, word, &at, n, segments)
        for number in range(n_segments):
            status = 0
            if may_be_kept(model, &segments[number], n, score):
                status = add_known(model, state, &segments[number], &score, counts + done)
            if status == 0:
                status = add_exactly(model, state, &segments[number], &score, counts + done)
            if status < 0:
                return status
            done += segments[number].n
            if counts[done] > most:
                return done
        if is_interrupted(&state.paths.watch, at - before):
            return INTERRUPTED
    return n


cdef inline Py_ssize_t add_known(
    const WordModel* model, WordState* state, const Segment* segment, double* score,
    Py_ssize_t* counts
) noexcept nogil:
    """Add the counts of a segment to counts[0] where no sum decides; 0: it does. Or a status."""
    cdef uint32_t found[RECORD_SLOTS]
    cdef const uint32_t* record = found
    cdef Py_ssize_t n_parts = known_parts(model, state, segment, found, &record), at
    cdef const uint8_t* prefixes
    if n_parts <= 0 or not record[1] & SURE_PREFIXES:
        return min(n_parts, 0)
    prefixes = <const uint8_t*> (record + RECORD_HEAD + n_parts)
    for at in range(segment.n):
        counts[at + 1] = counts[0] + prefixes[at]
    add_scores(model, record + RECORD_HEAD, n_parts, score)
    return n_parts


cdef Py_ssize_t add_exactly(
    const WordModel* model, WordState* state, const Segment* segment, double* score,
    Py_ssize_t* counts
) noexcept nogil:
    """The same by the best path from the sum that is there. Returns 0 or a status."""
    cdef uint32_t node = 0
    cdef Py_ssize_t status
    if not reserve_paths(&state.paths, segment.n + 1):
        return NO_MEMORY
    begin_path(&state.paths, score[0])
    status = count_more_prefixes(
        model, &state.paths, segment.text, 0, segment.n, &node, counts
    )
    score[0] = state.paths.to[segment.n].score
    return status
