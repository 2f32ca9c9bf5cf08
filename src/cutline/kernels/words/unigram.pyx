"""Unigram: the tokens of a word whose scores have the greatest sum.

Scores are added from the word's beginning, in double precision, and the first of equal sums
stays, as in Hugging Face's `tokenizers`: so the tokens are the same to the last bit. Where no
token of the vocabulary lies across a boundary, the path before it is known: memory is that of the
longest stretch without one. Source: docs/words.md.

Guarded by tests/words/test_encoding.py.
"""

from libc.stdlib cimport free, realloc

from cutline.kernels.base.common cimport NO_MEMORY, NONE, char_bytes, decode_char, grow
from cutline.kernels.words.images cimport META
from cutline.kernels.words.trie cimport child_of, find_in_trie

cdef enum:
    WINDOW = 1024           # bytes of a word that are followed before its tokens are written
    LEAST_JOINT = 24        # bytes from one joint to the next
    AT_ONCE = 32


cdef inline Py_ssize_t character_bytes(uint8_t lead) noexcept nogil:
    return 1 if lead == META else char_bytes(lead)


cdef bint reserve_paths(Paths* paths, Py_ssize_t n) noexcept nogil:
    cdef void* grown
    if n <= paths.slots:
        return True
    n += n // 2 + 64
    grown = realloc(paths.scores, n * sizeof(double))
    if grown == NULL:
        return False
    paths.scores = <double*> grown
    grown = realloc(paths.margins, n * sizeof(double))
    if grown == NULL:
        return False
    paths.margins = <double*> grown
    grown = realloc(paths.starts, n * sizeof(Py_ssize_t))
    if grown == NULL:
        return False
    paths.starts = <Py_ssize_t*> grown
    grown = realloc(paths.tokens, n * sizeof(uint32_t))
    if grown == NULL:
        return False
    paths.tokens = <uint32_t*> grown
    paths.slots = n
    return True


cdef inline void offer(
    Paths* paths, Py_ssize_t end, Py_ssize_t start, uint32_t token, double score
) noexcept nogil:
    """Take a path to a place if it is better than the one that is known."""
    if paths.starts[end] < 0:
        paths.margins[end] = 1e300
    elif score > paths.scores[end]:
        paths.margins[end] = score - paths.scores[end]
    else:
        paths.margins[end] = min(paths.margins[end], paths.scores[end] - score)
        return
    paths.scores[end] = score
    paths.starts[end] = start
    paths.tokens[end] = token


cdef bint extend_paths(
    Paths* paths, Py_ssize_t* known, Py_ssize_t place, double score
) noexcept nogil:
    """Make room for paths to a place and some beyond, none of them found yet."""
    cdef Py_ssize_t at, end = place + AT_ONCE
    if not reserve_paths(paths, end):
        return False
    for at in range(known[0], end):
        paths.starts[at] = -1
    if known[0] == 0:
        paths.scores[0] = score
        paths.starts[0] = 0
    known[0] = end
    return True


cdef inline uint32_t node_after(
    const WordModel* model, const uint8_t* character, Py_ssize_t width
) noexcept nogil:
    """The node that a character leads to from the first root, or 0."""
    cdef uint32_t node = 0
    cdef Py_ssize_t at
    if 2 <= width <= 3:
        return model.nodes_of_characters[decode_char(character, width)]
    for at in range(width):
        node = child_of(&model.trie, node, character[at])
        if node == 0:
            return 0
    return node


cdef Py_ssize_t follow(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n, double score,
    Py_ssize_t least
) noexcept nogil:
    """Find the best path from a place to each place after it: word[0] is there.

    Stops at the first boundary after `least` bytes that no token lies across, or at the end.
    Returns where; or NO_MEMORY.
    """
    cdef Py_ssize_t at = 0, place, width, reach = 1, known = 0
    cdef uint32_t node, token
    cdef bint is_known
    while at < n and (at < reach or at < least):
        if at + 8 > known and not extend_paths(paths, &known, at + 8, score):
            return NO_MEMORY
        width = character_bytes(word[at])
        node = node_after(model, word + at, width)
        place = at + width
        is_known = node != 0 and model.trie.tokens[node] != NONE
        while node != 0:
            token = model.trie.tokens[node]
            if token != NONE:
                if place >= known and not extend_paths(paths, &known, place, score):
                    return NO_MEMORY
                offer(paths, place, at, token, model.scores[token] + paths.scores[at])
                reach = max(reach, place)
            if place == n:
                break
            node = child_of(&model.trie, node, word[place])
            place += 1
        if not is_known:
            offer(paths, at + width, at, NONE, model.unk_score + paths.scores[at])
            reach = max(reach, at + width)
        at += width
    return at


cdef inline bint is_unknown(const WordModel* model, uint32_t token) noexcept nogil:
    return token == NONE or model.ids[token] == model.unk_id


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
    uint32_t* out, Py_ssize_t* spans, Joints* joints
) noexcept nogil:
    """The ids of a word (n >= 1). Returns how many, or NO_MEMORY.

    Args:
        out: has room for four for each byte.
        spans: where each token starts and ends; NULL: not asked.
        joints: emptied, and filled with places at which the word can be cut; NULL: not asked.
    """
    cdef Py_ssize_t at = 0, end, count = 0, run = -1, place, after
    cdef double score = 0
    cdef uint32_t token
    cdef bint is_sure = True, unknown
    if joints != NULL:
        joints.count = 0
    while at < n:
        end = follow(
            model, paths, word + at, n - at, score, WINDOW if joints == NULL else LEAST_JOINT
        )
        if end < 0:
            return NO_MEMORY
        score = paths.scores[end]
        is_sure = turn_around(paths, end, (end + 2) * model.rounding * n) and is_sure
        after = paths.starts[0]
        if at == 0:
            paths.begins_unknown = is_unknown(model, paths.tokens[after])
        place = 0
        while place < end:
            token = paths.tokens[after]
            unknown = is_unknown(model, token)
            if run >= 0 and not (unknown and model.fuses):
                count = write_unknown(model, word, run, at + place, count, out, spans)
                run = -1
            if unknown:
                run = at + place if run < 0 else run
            else:
                if place == 0 and joints != NULL and at > 0 and not add_joint(joints, at, count):
                    return NO_MEMORY
                out[count] = model.ids[token]
                if spans != NULL:
                    spans[2 * count] = at + place
                    spans[2 * count + 1] = at + after
                count += 1
            place = after
            after = paths.starts[after]
        at += end
    if run >= 0:
        count = write_unknown(model, word, run, n, count, out, spans)
    paths.is_sure = is_sure
    if joints != NULL and not is_sure:
        joints.count = 0
    return count


cdef inline bint turn_around(Paths* paths, Py_ssize_t end, double risk) noexcept nogil:
    """Let each place of the best path to `end` lead to the next one, instead of the one before.

    Returns whether sums that began otherwise would give the same path, for rounding moves them by
    less than the next best path is behind.
    """
    cdef Py_ssize_t place = end, after = end, start
    cdef bint is_sure = True
    while place > 0:
        is_sure = is_sure and paths.margins[place] > risk
        start = paths.starts[place]
        paths.starts[place] = after
        after = place
        place = start
    paths.starts[0] = after
    return is_sure


cdef inline bint add_joint(Joints* joints, Py_ssize_t at, Py_ssize_t tokens) noexcept nogil:
    if not grow(<void**> &joints.items, &joints.slots, joints.count + 1, sizeof(Joint)):
        return False
    joints.items[joints.count].at = at
    joints.items[joints.count].tokens = tokens
    joints.count += 1
    return True


cdef Py_ssize_t count_prefixes(
    const WordModel* model, Paths* paths, const uint8_t* word, Py_ssize_t n, Py_ssize_t* counts
) noexcept nogil:
    """Count the tokens of every prefix: counts[k] is that of word[:k], for k from 0 to n.

    The best path to a place is that of the text up to it. Only counts where characters end mean
    something. Returns 0 or NO_MEMORY.
    """
    cdef Py_ssize_t place, start, run
    cdef uint32_t token
    cdef double risk = (n + 2) * model.rounding * n
    if follow(model, paths, word, n, 0, n) < 0:
        return NO_MEMORY
    counts[0] = 0
    paths.is_sure = True
    # While places are looked through in order, `margins` holds where a run of unknown ones began.
    for place in range(1, n + 1):
        start = paths.starts[place]
        if start < 0:
            continue
        paths.is_sure = paths.is_sure and paths.margins[place] > risk
        token = paths.tokens[place]
        if not is_unknown(model, token):
            counts[place] = counts[start] + 1
            paths.margins[place] = -1
            continue
        run = start
        if start > 0 and model.fuses and paths.margins[start] >= 0:
            run = <Py_ssize_t> paths.margins[start]
        paths.margins[place] = run
        if not model.falls_back or find_in_trie(&model.trie, 0, word + run, place - run) != NONE:
            counts[place] = counts[run] + 1
            continue
        # Bytes go on with those of the run, unless the run so far is a token.
        if find_in_trie(&model.trie, 0, word + run, start - run) != NONE:
            start = run
        counts[place] = counts[start] + count_bytes(model, word + start, place - start)
    return 0


cdef inline Py_ssize_t count_bytes(
    const WordModel* model, const uint8_t* run, Py_ssize_t n
) noexcept nogil:
    """The bytes of unknown characters."""
    cdef Py_ssize_t at, count = n
    for at in range(n):
        count += (model.n_meta - 1) * (run[at] == META)
    return count


cdef void free_paths(Paths* paths) noexcept nogil:
    free(paths.scores)
    free(paths.margins)
    free(paths.starts)
    free(paths.tokens)
