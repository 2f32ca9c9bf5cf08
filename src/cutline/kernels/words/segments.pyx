"""Encode a long word of Unigram segment by segment: each begins at the first of some blanks.

Where no token has a blank after another character, none lies across two segments: the tokens of
one depend on those before it only by the sum of their scores, from which rounding goes on. A
segment whose best path is better than all others by more than rounding moves any sum has its tokens
whatever comes before. Those are kept; others are encoded with the sum that is there, which is that
of the scores of all tokens before, added one by one. Source: docs/words.md.

Guarded by tests/words/test_segments.py.
"""

from libc.math cimport fabs

from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, UNKNOWN, characters_in, grow, hash_key, hash_long, padded_key, prefetch,
    same_bytes, scramble, uint64_t, SHORT_PIECE,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.encode.caches cimport STORED_BYTES, index_slot, store_record, stored_record
from cutline.kernels.words.images cimport META
from cutline.kernels.words.unigram cimport MOST_SUM, best_path, count_path, sure_path

cdef extern from "string.h":
    void* memchr(const void* text, int byte, size_t n) noexcept nogil

cdef enum:
    AT_ONCE = 64            # segments
    RECORD_HEAD = 2         # numbers before what its path has
    SEGMENT = 1 << 27       # in the code of a record, beside how many bytes it has: no word is so long

# Bytes of a word: in a longer one, rounding moves sums by more.
cdef Py_ssize_t MOST_BYTES = <Py_ssize_t> 1 << 32
# The most that rounding moves a sum of up to MOST_SUM in single precision.
cdef double HALF_BIT = 1 / 256.

cdef struct Segment:
    const uint8_t* text
    Py_ssize_t n
    uint64_t hashed


cdef bint has_late_blank(const uint8_t* token, Py_ssize_t n) noexcept nogil:
    """Whether a token has a blank after another character."""
    cdef Py_ssize_t at
    for at in range(1, n):
        if token[at] == META and token[at - 1] != META:
            return True
    return False


cdef Py_ssize_t encode_segments(
    const WordModel* model, WordState* state, const uint8_t* word, Py_ssize_t n, uint32_t* out
) noexcept nogil:
    """Encode a word (n >= 1) of a model that has segments, from a sum of 0.

    Returns how many tokens it has; or NO_MEMORY or INTERRUPTED.

    Args:
        out: gets their ids, and has room for four for each byte; NULL: they are only counted.
    """
    cdef Segment segments[AT_ONCE]
    cdef Segment* segment
    cdef Py_ssize_t at = 0, before, count, total = 0, n_segments, number
    cdef double score = 0
    while at < n:
        before = at
        n_segments = find_segments(state, word, &at, n, segments)
        for number in range(n_segments):
            segment = &segments[number]
            count = 0
            if n < MOST_BYTES and may_be_kept(model, segment, score):
                count = add_known(model, state, segment, &score, out)
            if count == 0:
                count = add_exactly(model, state, segment, &score, out)
            if count < 0:
                return count
            total += count
            out += count if out != NULL else 0
        if is_interrupted(&state.paths.watch, at - before):
            return INTERRUPTED
    return total


cdef inline Py_ssize_t find_segments(
    WordState* state, const uint8_t* word, Py_ssize_t* at, Py_ssize_t n, Segment* segments
) noexcept nogil:
    """Find the next segments, and fetch what may be kept of them. Returns how many."""
    cdef Py_ssize_t count = 0, number
    cdef Segment* segment
    while at[0] < n and count < AT_ONCE:
        segment = &segments[count]
        segment.text = word + at[0]
        at[0] = end_of(word, at[0], n)
        segment.n = word + at[0] - segment.text
        count += 1
        if segment.n <= SHORT_PIECE:
            segment.hashed = scramble(hash_key(padded_key(segment.text, segment.n)))
        elif segment.n <= STORED_BYTES:
            segment.hashed = hash_long(segment.text, segment.n)
        else:
            continue
        prefetch(index_slot(&state.store, segment.hashed))
    for number in range(count):
        if segments[number].n <= STORED_BYTES:
            prefetch(stored_record(&state.store, segments[number].hashed))
    return count


cdef inline Py_ssize_t end_of(const uint8_t* word, Py_ssize_t start, Py_ssize_t n) noexcept nogil:
    """Where the segment ends that starts at a place."""
    cdef const uint8_t* found
    cdef Py_ssize_t at = start + 1
    while at < n:
        found = <const uint8_t*> memchr(word + at, META, n - at)
        if found == NULL:
            return n
        at = found - word
        if word[at - 1] != META:
            return at
        at += 1
    return n


cdef inline bint may_be_kept(
    const WordModel* model, const Segment* segment, double score
) noexcept nogil:
    """Whether sums in a segment stay among those for which its tokens are known.

    In single precision they begin anew beyond MOST_SUM.
    """
    return segment.n <= STORED_BYTES and (
        not model.is_single or fabs(score) + segment.n * model.most_score < MOST_SUM
    )


cdef inline Py_ssize_t add_known(
    const WordModel* model, WordState* state, Segment* segment, double* score, uint32_t* out
) noexcept nogil:
    """Add the tokens of a segment that do not depend on the sum. Returns how many; or a status.

    0: they depend on it; or their ids are asked for, and some may be unknown.
    """
    # It is looked up again, for what was kept since it was fetched may lie there.
    cdef const uint32_t* record = stored_record(&state.store, segment.hashed)
    cdef uint32_t found[RECORD_HEAD + STORED_BYTES]
    cdef const uint32_t* kept = found
    cdef Py_ssize_t count, part
    cdef double sum = score[0]
    if record != NULL and record[0] == (SEGMENT | <uint32_t> segment.n) and same_bytes(
        <const uint8_t*> (record + 2 + record[1]), segment.text, segment.n
    ):
        kept, count = record + 2, record[1] - RECORD_HEAD
    else:
        count = keep(model, state, segment, found)
        if count < 0:
            return count
    if out != NULL and kept[1]:
        return 0
    for part in range(RECORD_HEAD, RECORD_HEAD + count):
        sum += score_of(model, kept[part])
        if model.is_single:
            sum = <double> <float> sum
        if out != NULL:
            out[part - RECORD_HEAD] = model.ids[kept[part] - 1]
    score[0] = sum
    return kept[0]


cdef inline double score_of(const WordModel* model, uint32_t token) noexcept nogil:
    return model.trie.ends[token].score if token != 0 else model.unk_score


cdef Py_ssize_t keep(
    const WordModel* model, WordState* state, const Segment* segment, uint32_t* record
) noexcept nogil:
    """Find the tokens of a segment that do not depend on the sum, and keep them.

    Returns how many parts its path has; 0: there is no such. Or a status.

    Args:
        record: gets how many tokens it has, whether some are unknown, and what the path has.
    """
    cdef Py_ssize_t n = segment.n, count, part
    cdef double most = HALF_BIT if model.is_single else model.rounding * MOST_BYTES
    # Both sums move, with each token; a path has no more tokens than characters.
    cdef double risk = 2 * (characters_in(segment.text, n, n) + 2) * most, score = 0
    cdef uint32_t* parts = record + RECORD_HEAD
    cdef uint32_t ids[4 * STORED_BYTES + 4]
    record[1] = 0
    count = sure_path(model, &state.paths, segment.text, n, risk, parts)
    if count < 0:
        return count
    record[0] = <uint32_t> count
    for part in range(count):
        record[1] |= parts[part] == 0 or parts[part] == model.unk_token
    if record[1]:
        # Not into state.out, which has the ids of words before this one.
        part = add_exactly(model, state, segment, &score, ids)
        if part < 0:
            return part
        record[0] = <uint32_t> part
    store_record(
        &state.store, segment.hashed, SEGMENT | <uint32_t> n, segment.text, n, record,
        RECORD_HEAD + count,
    )
    return count


cdef Py_ssize_t add_exactly(
    const WordModel* model, WordState* state, const Segment* segment, double* score, uint32_t* out
) noexcept nogil:
    """Add the tokens of a segment from the sum that is there. Returns how many; or a status."""
    cdef double before = score[0]
    cdef Py_ssize_t count
    if out == NULL:
        count = count_path(model, &state.paths, segment.text, segment.n, score)
        if count != UNKNOWN:
            return count
        score[0] = before
        if not grow(<void**> &state.out, &state.out_slots, 4 * segment.n + 4, sizeof(uint32_t)):
            return NO_MEMORY
        out = state.out
    return best_path(
        model, &state.paths, segment.text, segment.n, score, out, NULL, NULL, False, 0
    )
