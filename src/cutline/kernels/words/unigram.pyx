"""Unigram: the tokens of a word whose scores have the greatest sum.

Scores are added from the word's beginning, in double precision, and the first of equal sums
stays, as in Hugging Face's `tokenizers`: so the tokens are the same to the last bit. Where no
token of the vocabulary lies across a boundary, the path before it is known: memory is that of the
longest stretch without one. Source: docs/words.md.

Guarded by tests/words/test_encoding.py.
"""

from libc.math cimport fabs
from libc.stdlib cimport free

from cutline.kernels.base.common cimport (
    INTERRUPTED, NO_MEMORY, NONE, UNKNOWN, characters_in, grow, is_continuation, likely, uint64_t,
)
from cutline.kernels.base.signals cimport is_interrupted
from cutline.kernels.words.images cimport META
from cutline.kernels.words.model cimport Path
from cutline.kernels.words.trie cimport (
    EXACT, LABEL_BITS, NODE_BITS, End, begins_anew, find_in_trie, label_at, next_node,
)

cdef enum:
    WINDOW = 1024           # bytes of a word that are followed before its tokens are written
    LEAST_JOINT = 24        # bytes from one joint to the next
    AT_ONCE = 32
    WATCHED = 1 << 14       # bytes of a word that are added to the watch at a time

cdef double FAR = 1e300     # the margin of a path that is the only one


# The best of some paths to a place, and the sum of the best with another number of tokens.
cdef struct Best:
    double score, other
    uint32_t token, n_tokens
    Py_ssize_t n_bytes


cdef inline void consider(
    const WordModel* model, const Paths* paths, Best* best, const Path* to, double score,
    uint32_t token, Py_ssize_t n_bytes, int compares, bint is_single
) noexcept nogil:
    """Take another path if it is better: that to a place, and a token.

    No branch, for it would not be foreseen.
    """
    cdef bint is_better, differs
    cdef uint32_t n_tokens
    score = added(paths, to, score, is_single)
    is_better = score > best.score
    if compares:
        n_tokens = tokens_with(model, to, token)
        differs = (
            compares == PATHS or n_tokens != best.n_tokens
            or (model.falls_back and n_tokens & HAS_UNKNOWN)
        )
        # Where the best one is not sure, nor is this one.
        best.other = max(best.other, score - to.margin)
        best.other = max(best.other, min(best.score, score)) if differs else best.other
        best.n_tokens = n_tokens if is_better else best.n_tokens
    best.score = score if is_better else best.score
    best.token = token if is_better else best.token
    best.n_bytes = n_bytes if is_better else best.n_bytes


cdef inline double added(
    const Paths* paths, const Path* to, double score, bint is_single
) noexcept nogil:
    """The sum of a path to a place and a token.

    In single precision, that of two floats as doubles is rounded to the nearest float.
    """
    score += to.score
    if is_single:
        score = <double> <float> score
        if to - paths.to < paths.rebased:
            score -= paths.base
    return score


cdef inline uint32_t tokens_with(
    const WordModel* model, const Path* to, uint32_t token
) noexcept nogil:
    """The number of tokens of a path to a place, and another one."""
    cdef uint32_t unknown = token == 0 or token == model.unk_token, before = to.n_tokens >> 31
    cdef uint32_t n_tokens = (to.n_tokens & ~<uint32_t> HAS_UNKNOWN) + 1
    if model.falls_back:
        return n_tokens | (unknown | before) << 31
    return n_tokens - (unknown & before & model.fuses) | unknown << 31


cdef inline void find_path(
    const WordModel* model, Paths* paths, Py_ssize_t at, Py_ssize_t end, uint32_t node,
    int compares, bint is_single
) noexcept nogil:
    """Find the best path to the end of the character at a place; those to all before it are known.

    `node` is the trie's, of what ends there. Longer tokens come first, as their paths do where all
    tokens that begin at a place are followed before those that begin after it.
    """
    cdef const End* ends = model.trie.ends
    cdef Path* to = paths.to
    cdef uint32_t token = model.trie.nodes[node].longest & ~EXACT, last = token
    cdef Best best
    cdef const Path* first
    best.other = 0
    best.n_tokens = 0
    best.token = token
    best.n_bytes = end - at if token == 0 else ends[token].n_bytes
    first = &to[end - best.n_bytes]
    best.score = added(
        paths, first, model.unk_score if token == 0 else ends[token].score, is_single
    )
    if compares:
        best.n_tokens = tokens_with(model, first, token)
        best.other = best.score - first.margin
    if token != 0:
        to[end].score = to[end].margin = 0
        # Two at a time, the second of which may be none: how many there are is not foreseen.
        while True:
            token = ends[token].shorter
            last = token if token != 0 else last
            consider(
                model, paths, &best, &to[end - ends[token].n_bytes], ends[token].score, token,
                ends[token].n_bytes, compares, is_single,
            )
            token = ends[token].shorter
            if token == 0:
                break
            last = token
            consider(
                model, paths, &best, &to[end - ends[token].n_bytes], ends[token].score, token,
                ends[token].n_bytes, compares, is_single,
            )
        if ends[last].n_bytes != end - at:
            # The character is no token.
            consider(
                model, paths, &best, &to[at], model.unk_score, 0, end - at, compares, is_single
            )
    to[end].score = best.score
    if compares:
        to[end].margin = best.score - best.other
        to[end].n_tokens = best.n_tokens
    to[end].start = end - best.n_bytes
    to[end].token = best.token


cdef inline uint32_t next_kept(
    const WordModel* model, Paths* paths, uint32_t node, uint32_t label
) noexcept nogil:
    """What next_node gives; if it was asked for lately, a step is one look into a table.

    To find it takes several, after branches that are not foreseen.
    """
    cdef uint64_t key = <uint64_t> node << LABEL_BITS | (label + 1)
    cdef uint64_t* step
    if paths.steps == NULL:
        return next_node(&model.trie, node, label)
    step = paths.steps + (key * <uint64_t> 0x9E3779B97F4A7C15 >> (64 - paths.step_bits))
    if likely(step[0] >> NODE_BITS == key):
        node = <uint32_t> (step[0] & ((1 << NODE_BITS) - 1))
    else:
        node = next_node(&model.trie, node, label)
        step[0] = key << NODE_BITS | node
    return node


cdef inline Py_ssize_t follow(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n, double score,
    Py_ssize_t least, int compares
) noexcept nogil:
    """Find the best path from a place to each place after it: word[0] is there.

    Stops at the first boundary after `least` bytes that lies in no text with which a token begins,
    so in no token, or at the end. Returns where; or NO_MEMORY or INTERRUPTED. Where it `compares`, each
    place knows its margin.
    """
    cdef uint32_t node = 0
    if not reserve_paths(paths, AT_ONCE):
        return NO_MEMORY
    begin_path(paths, score)
    return follow_on(model, paths, word, 0, n, &node, least, compares)


cdef void begin_path(Paths* paths, double score) noexcept nogil:
    """Begin where all paths are the same up to here."""
    paths.to[0].score = score
    paths.to[0].margin = FAR
    paths.to[0].n_tokens = 0
    paths.to[0].start = 0
    paths.rebased = 0


cdef inline void rebase(Paths* paths, Py_ssize_t at) noexcept nogil:
    """Begin sums anew at a place, for they lose their last bits as they become greater."""
    paths.rebased = at
    paths.base = paths.to[at].score
    paths.taken += paths.base
    paths.to[at].score = 0


cdef inline Py_ssize_t follow_on(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t at, Py_ssize_t n,
    uint32_t* reached, Py_ssize_t least, int compares
) noexcept nogil:
    """Go on where the paths to all places up to `at` are known, and the node reached there."""
    if model.is_single:
        return follow_as(model, paths, word, at, n, reached, least, compares, True)
    return follow_as(model, paths, word, at, n, reached, least, compares, False)


cdef inline Py_ssize_t follow_as(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t at, Py_ssize_t n,
    uint32_t* reached, Py_ssize_t least, int compares, bint is_single
) noexcept nogil:
    """What follow_on does, for each way to add."""
    cdef Py_ssize_t end, width, watched = at
    cdef uint32_t node = reached[0]
    while at < n:
        node = next_kept(model, paths, node, label_at(word + at, &width))
        if at >= least and at > 0 and begins_anew(&model.trie, node):
            break
        end = at + width
        if is_single and fabs(paths.to[at].score) > MOST_SUM:
            rebase(paths, at)
        if end >= paths.slots and not reserve_paths(paths, end + AT_ONCE):
            return NO_MEMORY
        find_path(model, paths, at, end, node, compares, is_single)
        at = end
        if at - watched >= WATCHED:
            if is_interrupted(&paths.watch, at - watched):
                return INTERRUPTED
            watched = at
    reached[0] = node
    return at if not is_interrupted(&paths.watch, at - watched) else INTERRUPTED


cdef bint reserve_paths(Paths* paths, Py_ssize_t n) noexcept nogil:
    return grow(<void**> &paths.to, &paths.slots, n, sizeof(Path))


cdef inline bint is_unknown(const WordModel* model, uint32_t token) noexcept nogil:
    return token == 0 or model.ids[token - 1] == model.unk_id


cdef Py_ssize_t write_unknown(
    const WordModel* model, const uint8_t* word, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t count, uint32_t* out, Py_ssize_t* spans
) noexcept nogil:
    """Write the ids of unknown characters, word[start:end], after `count` others.

    Returns how many there are then.
    """
    cdef uint32_t token = find_in_trie(&model.trie, 0, word + start, end - start)
    cdef Py_ssize_t at, byte, before = count
    if token != NONE or not model.falls_back:
        out[count] = model.unk_id if token == NONE else model.ids[token]
        count += 1
    else:
        for at in range(start, end):
            if word[at] != META:
                out[count] = model.byte_ids[word[at]]
                count += 1
                continue
            for byte in range(model.n_meta):
                out[count] = model.byte_ids[model.meta[byte]]
                count += 1
    if spans != NULL:
        for at in range(before, count):
            spans[2 * at] = start
            spans[2 * at + 1] = end
    return count


cdef Py_ssize_t best_path(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n,
    double* score, uint32_t* out, Py_ssize_t* spans, Joints* joints, bint compares, double moved
) noexcept nogil:
    """The ids of a word (n >= 1). Returns how many, or NO_MEMORY or INTERRUPTED.

    Args:
        score: the sum before the word; then that after it.
        out: has room for four for each byte.
        spans: where each token starts and ends; NULL: not asked.
        joints: emptied, and filled with places at which the word can be cut; NULL: not asked.
        compares: say whether the number is sure; joints are such if it is.
        moved: by so much rounding may move a sum, less that in another text, with each token.
    """
    cdef Py_ssize_t at = 0, end, count = 0, run = -1, place, after
    cdef uint32_t token
    cdef bint is_sure = True, unknown
    cdef Py_ssize_t least
    cdef double before
    paths.added = 0
    if joints != NULL:
        joints.count = 0
    while at < n:
        least = WINDOW if joints == NULL else LEAST_JOINT
        before = score[0] + paths.taken
        if compares:
            end = follow(
                model, paths, word + at, n - at, score[0], least, compared(model, word + at, n - at)
            )
        else:
            end = follow(model, paths, word + at, n - at, score[0], least, NEITHER)
        if end < 0:
            return end
        score[0] = paths.to[end].score
        is_sure = is_sure and paths.to[end].margin > (characters_in(word + at, end, end) + 2) * moved
        turn_around(paths, end)
        after = paths.to[0].start
        if at == 0:
            paths.begins_unknown = is_unknown(model, paths.to[after].token)
        place = 0
        while place < end:
            token = paths.to[after].token
            unknown = is_unknown(model, token)
            paths.added += 1
            if run >= 0 and not (unknown and model.fuses):
                count = write_unknown(model, word, run, at + place, count, out, spans)
                run = -1
            if unknown:
                run = at + place if run < 0 else run
            else:
                if place == 0 and joints != NULL and at > 0 and not add_joint(
                    joints, at, count, before
                ):
                    return NO_MEMORY
                out[count] = model.ids[token - 1]
                if spans != NULL:
                    spans[2 * count] = at + place
                    spans[2 * count + 1] = at + after
                count += 1
            place = after
            after = paths.to[after].start
        at += end
    if run >= 0:
        count = write_unknown(model, word, run, n, count, out, spans)
    paths.is_sure = is_sure
    return count


cdef int compared(const WordModel* model, const uint8_t* word, Py_ssize_t n) noexcept nogil:
    """What the path of a part of a word is compared with.

    One whose first token is unknown, though as many follow, could be one with the end of what is
    before; there is none if the first character is a token.
    """
    cdef Py_ssize_t width
    cdef uint32_t token
    if not model.fuses:
        return NUMBERS
    label_at(word, &width)
    token = find_in_trie(&model.trie, 0, word, min(n, width))
    return NUMBERS if token != NONE and token + 1 != model.unk_token else PATHS


cdef Py_ssize_t count_path(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n, double* score
) noexcept nogil:
    """Count the tokens of a word (n >= 1), or NO_MEMORY or INTERRUPTED.

    `score` is the sum before the word; then that after it.

    UNKNOWN: some are unknown, or spell the unknown token, and have to be written to be counted.
    """
    cdef Py_ssize_t at = 0, end, count = 0, place
    cdef uint32_t token, unknown = model.unk_token
    while at < n:
        end = follow(model, paths, word + at, n - at, score[0], WINDOW, NEITHER)
        if end < 0:
            return end
        score[0] = paths.to[end].score
        place = end
        while place > 0:
            token = paths.to[place].token
            if token == 0 or token == unknown:
                return UNKNOWN
            place = paths.to[place].start
            count += 1
        at += end
    return count


cdef double rounding_of(const WordModel* model, Py_ssize_t n) noexcept nogil:
    """By how much rounding moves a sum in a word of at most n bytes with each token."""
    return model.rounding * n


cdef Py_ssize_t follow_part(
    const WordModel* model, Paths* paths, const uint8_t* part, Py_ssize_t n, double score,
    int compares, bint is_single
) noexcept nogil:
    """Find the best path from a sum to each place of a part of a word (n >= 1). Returns 0 or a status."""
    cdef uint32_t node = 0
    if not reserve_paths(paths, AT_ONCE):
        return NO_MEMORY
    begin_path(paths, score)
    if is_single:
        return min(follow_as(model, paths, part, 0, n, &node, n, compares, True), 0)
    return min(follow_as(model, paths, part, 0, n, &node, n, compares, False), 0)


cdef Py_ssize_t sure_path(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n, double risk,
    uint32_t* tokens
) noexcept nogil:
    """Find the path of a word (n >= 1), whatever the sum before it.

    Returns how many tokens it has, unknown characters being one each; 0: another path is worse by no
    more than `risk`. Or NO_MEMORY or INTERRUPTED.

    Args:
        tokens: has room for n; gets their numbers and 1, or 0.
    """
    cdef Py_ssize_t place = 0, count = 0
    # By how much it is better is known exactly, for these sums are not rounded to 24 bits.
    cdef Py_ssize_t status = follow_part(model, paths, word, n, 0, PATHS, False)
    if status < 0:
        return status
    if not paths.to[n].margin > risk:
        return 0
    turn_around(paths, n)
    while place < n:
        place = paths.to[place].start
        tokens[count] = paths.to[place].token
        count += 1
    return count


cdef bint sure_prefixes(
    const Paths* paths, const uint8_t* word, Py_ssize_t n, double risk, uint8_t* counts
) noexcept nogil:
    """Count the tokens of each prefix of a word of at most 255 bytes, whose sure path was found.

    False: some depend on the sum before the word, or have unknown characters.
    """
    cdef Py_ssize_t place
    cdef const Path* to
    for place in range(1, n + 1):
        to = &paths.to[place]
        if place < n and is_continuation(word[place]):
            continue
        if not to.margin > risk or to.n_tokens & HAS_UNKNOWN:
            return False
        counts[place - 1] = <uint8_t> to.n_tokens
    return True


cdef inline void turn_around(Paths* paths, Py_ssize_t end) noexcept nogil:
    """Let each place of the best path to `end` lead to the next one, instead of the one before."""
    cdef Py_ssize_t place = end, after = end, start
    while place > 0:
        start = paths.to[place].start
        paths.to[place].start = after
        after = place
        place = start
    paths.to[0].start = after


cdef bint add_joint(
    Joints* joints, Py_ssize_t at, Py_ssize_t tokens, double score
) noexcept nogil:
    """Add a joint after all others. False: no memory."""
    if not grow(<void**> &joints.items, &joints.slots, joints.count + 1, sizeof(Joint)):
        return False
    joints.items[joints.count].at = at
    joints.items[joints.count].tokens = tokens
    joints.items[joints.count].score = score
    joints.count += 1
    return True


cdef Py_ssize_t count_prefixes(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n, Py_ssize_t* counts,
    bint compares, double moved
) noexcept nogil:
    """Count the tokens of every prefix: counts[k] is that of word[:k], for k from 0 to n.

    The best path to a place is that of the text up to it. Only counts where characters end mean
    something. Returns 0, NO_MEMORY or INTERRUPTED.

    Args:
        compares: say whether the counts are sure: sums that began otherwise would give the same,
            for rounding moves them by less than paths with other numbers of tokens are behind.
        moved: see best_path.
    """
    cdef uint32_t node = 0
    cdef Py_ssize_t place
    cdef double risk = (characters_in(word, n, n) + 2) * moved
    if not reserve_paths(paths, AT_ONCE):
        return NO_MEMORY
    begin_path(paths, 0)
    counts[0] = 0
    if not compares:
        return count_more_prefixes(model, paths, word, 0, n, &node, counts)
    place = follow_on(model, paths, word, 0, n, &node, n, compared(model, word, n))
    if place < 0:
        return place
    paths.is_sure = True
    for place in range(1, n + 1):
        if place == n or not is_continuation(word[place]):
            paths.is_sure = paths.is_sure and paths.to[place].margin > risk
    count_to(model, paths, word, 0, n, counts)
    return 0


cdef Py_ssize_t count_more_prefixes(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t begun, Py_ssize_t n,
    uint32_t* node, Py_ssize_t* counts
) noexcept nogil:
    """Go on where the paths to places up to `begun` are known, their counts, and the node there.

    A word may have begun before: the known places are at least its last `window_of` bytes, and
    `margin` holds how many bytes of unknown characters end at each.
    """
    cdef Py_ssize_t status = follow_on(model, paths, word, begun, n, node, n, NEITHER)
    if status < 0:
        return status
    count_to(model, paths, word, begun, n, counts)
    return 0


cdef void count_to(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t begun, Py_ssize_t n,
    Py_ssize_t* counts
) noexcept nogil:
    """Count the tokens of the paths to places after `begun`."""
    cdef Py_ssize_t place, start, run
    if begun == 0:
        paths.to[0].margin = 0
    for place in range(begun + 1, n + 1):
        if place < n and is_continuation(word[place]):
            continue
        start = paths.to[place].start
        if not is_unknown(model, paths.to[place].token):
            counts[place] = counts[start] + 1
            paths.to[place].margin = 0
            continue
        run = start - (<Py_ssize_t> paths.to[start].margin if model.fuses else 0)
        paths.to[place].margin = place - run
        if not model.falls_back:
            counts[place] = counts[start] + (run == start)
        elif is_known_run(model, word, run, place):
            counts[place] = counts[run] + 1
        else:
            # Bytes go on with those of the run, unless the run so far is a token.
            if is_known_run(model, word, run, start):
                start = run
            counts[place] = counts[start] + count_bytes(model, word + start, place - start)


cdef inline bint is_known_run(
    const WordModel* model, const uint8_t* word, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Whether unknown characters, together, are the text of a token. Start may lie before word."""
    return (
        0 < end - start <= model.longest
        and find_in_trie(&model.trie, 0, word + start, end - start) != NONE
    )


cdef Py_ssize_t window_of(const WordModel* model) noexcept nogil:
    """Bytes before a place that decide, with the paths to them, about all that comes after it.

    A token reaches back over at most the longest; the unknown token may be one that is spelled
    so, and a run of unknown characters before it that is a token is as long, too.
    """
    return 2 * model.longest


cdef inline Py_ssize_t count_bytes(
    const WordModel* model, const uint8_t* run, Py_ssize_t n
) noexcept nogil:
    """The bytes of unknown characters."""
    cdef Py_ssize_t at, count = n
    for at in range(n):
        count += (model.n_meta - 1) * (run[at] == META)
    return count


cdef void free_paths(Paths* paths) noexcept nogil:
    free(paths.to)
