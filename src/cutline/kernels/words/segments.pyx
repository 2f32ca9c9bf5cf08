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
    same_bytes, scramble, SHORT_PIECE,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.encode.caches cimport index_slot, store_record, stored_record
from cutline.kernels.words.images cimport META
from cutline.kernels.words.unigram cimport (
    HALF_BIT, MOST_SUM, best_path, count_path, rounding_of, sure_path, sure_prefixes,
)

cdef extern from "string.h":
    void* memchr(const void* text, int byte, size_t n) noexcept nogil

cdef enum:
    SEGMENT = 1 << 27       # in the code of a record, beside how many bytes it has: no word is so long

# Bytes of a word: in a longer one, rounding moves sums by more.
cdef Py_ssize_t MOST_BYTES = <Py_ssize_t> 1 << 32

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
    cdef Segment segments[SEGMENTS_AT_ONCE]
    cdef Segment* segment
    cdef Py_ssize_t at = 0, before, count, total = 0, n_segments, number
    cdef double score = 0
    while at < n:
        before = at
        n_segments = find_segments(state, word, &at, n, segments)
        for number in range(n_segments):
            segment = &segments[number]
            count = 0
            if may_be_kept(model, segment, n, score):
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


cdef Py_ssize_t add_word(
    const WordModel* model, WordState* state, Py_ssize_t word, double* score
) noexcept nogil:
    """Add the tokens of a word of the batch to a sum. Returns how many; or a status."""
    cdef Segment segment
    segment.text = state.reader.buffer + state.words.starts[word]
    segment.n = state.words.lengths[word]
    return add_exactly(model, state, &segment, score, NULL)


cdef Py_ssize_t find_segments(
    WordState* state, const uint8_t* word, Py_ssize_t* at, Py_ssize_t n, Segment* segments
) noexcept nogil:
    """Find the next segments, and fetch what may be kept of them. Returns how many."""
    cdef Py_ssize_t count = 0, number
    cdef Segment* segment
    while at[0] < n and count < SEGMENTS_AT_ONCE:
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


cdef bint may_be_kept(
    const WordModel* model, const Segment* segment, Py_ssize_t n, double score
) noexcept nogil:
    """Whether sums in a segment of a word of n bytes stay among those for which its tokens are known.

    In single precision they begin anew beyond MOST_SUM.
    """
    return n < MOST_BYTES and segment.n <= STORED_BYTES and (
        not model.is_single or fabs(score) + segment.n * model.most_score < MOST_SUM
    )


cdef inline Py_ssize_t add_known(
    const WordModel* model, WordState* state, Segment* segment, double* score, uint32_t* out
) noexcept nogil:
    """Add the tokens of a segment that do not depend on the sum. Returns how many; or a status.

    0: they depend on it; or their ids are asked for, and some may be unknown.
    """
    cdef uint32_t found[RECORD_SLOTS]
    cdef const uint32_t* record = found
    cdef Py_ssize_t part, n_parts = known_parts(model, state, segment, found, &record)
    if n_parts <= 0 or (out != NULL and record[1] & SOME_UNKNOWN):
        return min(n_parts, 0)
    if out != NULL:
        for part in range(n_parts):
            out[part] = model.ids[record[RECORD_HEAD + part] - 1]
    add_scores(model, record + RECORD_HEAD, n_parts, score)
    return record[0]


cdef Py_ssize_t known_parts(
    const WordModel* model, WordState* state, const Segment* segment, uint32_t* found,
    const uint32_t** record
) noexcept nogil:
    """Look a segment up, or find its path and keep it. Returns how many parts it has; or a status.

    0: the path depends on the sum. See `keep` for the record.

    Args:
        found: has room for a new record.
    """
    # It is looked up again, for what was kept since it was fetched may lie there.
    cdef const uint32_t* kept = stored_record(&state.store, segment.hashed)
    if kept != NULL and kept[0] == (SEGMENT | <uint32_t> segment.n) and same_bytes(
        <const uint8_t*> (kept + 2 + kept[1]), segment.text, segment.n
    ):
        record[0] = kept + 2
        return record[0][1] >> FLAG_BITS
    record[0] = found
    return keep(model, state, segment, found)


cdef void add_scores(
    const WordModel* model, const uint32_t* parts, Py_ssize_t n, double* score
) noexcept nogil:
    """Add the scores of what a path has to a sum, one by one."""
    cdef double sum = score[0]
    cdef Py_ssize_t part
    for part in range(n):
        sum += model.trie.ends[parts[part]].score if parts[part] != 0 else model.unk_score
        if model.is_single:
            sum = <double> <float> sum
    score[0] = sum


cdef Py_ssize_t keep(
    const WordModel* model, WordState* state, const Segment* segment, uint32_t* record
) noexcept nogil:
    """Find the tokens of a segment that do not depend on the sum, and keep them.

    Returns how many parts its path has; 0: there is no such. Or a status.

    Args:
        record: gets how many tokens it has; how many parts, and flags; the parts; then in a byte for
            each of its bytes how many tokens it has up to there, if that does not depend on the sum.
    """
    cdef Py_ssize_t n = segment.n, n_parts, part, count, more = 0
    cdef double most = HALF_BIT if model.is_single else rounding_of(model, MOST_BYTES)
    # Both sums move, with each token; a path has no more tokens than characters.
    cdef double risk = 2 * (characters_in(segment.text, n, n) + 2) * most, score = 0
    cdef uint32_t* parts = record + RECORD_HEAD
    cdef uint32_t ids[4 * STORED_BYTES + 4]
    cdef uint32_t flags = 0
    n_parts = count = sure_path(model, &state.paths, segment.text, n, risk, parts)
    if n_parts < 0:
        return n_parts
    for part in range(n_parts):
        if parts[part] == 0 or parts[part] == model.unk_token:
            flags = SOME_UNKNOWN
    if flags == SOME_UNKNOWN:
        # Not into state.out, which has the ids of words before this one.
        count = add_exactly(model, state, segment, &score, ids)
        if count < 0:
            return count
    elif n_parts > 0 and sure_prefixes(
        &state.paths, segment.text, n, risk, <uint8_t*> (parts + n_parts)
    ):
        flags = SURE_PREFIXES
        more = (n + 3) >> 2
    record[0] = <uint32_t> count
    record[1] = <uint32_t> n_parts << FLAG_BITS | flags
    store_record(
        &state.store, segment.hashed, SEGMENT | <uint32_t> n, segment.text, n, record,
        RECORD_HEAD + n_parts + more,
    )
    return n_parts


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
