"""WordPiece: the longest token that the rest of a word begins with comes next.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.common cimport UNKNOWN, is_continuation, prefetch
from cutline.kernels.words.double_array cimport CONTINUED, ROOT, Slot
from cutline.kernels.words.reader cimport WORD_SLOTS
from cutline.kernels.words.trie cimport child_of, ends_token, has_more, label_at, token_at


cdef inline uint32_t longest_match(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, Py_ssize_t* at
) noexcept nogil:
    """The trie's node of the longest token at word[at], or 0. Moves `at` past it."""
    cdef bint may_grow
    return match_from(model, word, n, at, model.continued if at[0] > 0 else 0, &may_grow)


cdef inline uint32_t match_from(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, Py_ssize_t* at, uint32_t root,
    bint* may_grow
) noexcept nogil:
    """The same of tokens from a root on. And whether the token may be longer if the word is."""
    cdef Py_ssize_t place = at[0], width
    cdef uint32_t node = root, best = 0
    may_grow[0] = False
    while place < n:
        node = child_of(&model.trie, node, label_at(word + place, &width))
        if node == 0:
            return best
        place += width
        if ends_token(&model.trie, node):
            best = node
            at[0] = place
        if not has_more(&model.trie, node):
            return best
    may_grow[0] = True
    return best


cdef Py_ssize_t longest_matches(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, uint32_t* out, Py_ssize_t* spans
) noexcept nogil:
    """The ids of a word (n >= 1), and where each token starts and ends (NULL: not asked).

    A word whose rest begins with no token is unknown as a whole. Returns how many.
    """
    cdef Py_ssize_t at = 0, start, count = 0
    cdef uint32_t best
    while at < n:
        start = at
        best = longest_match(model, word, n, &at)
        if best == 0:
            out[0] = model.unk_id
            if spans != NULL:
                spans[0] = 0
                spans[1] = n
            return 1
        out[count] = model.ids[token_at(&model.trie, best)]
        if spans != NULL:
            spans[2 * count] = start
            spans[2 * count + 1] = at
        count += 1
    return count


cdef void match_together(const WordModel* model, Lane* lanes, Py_ssize_t n) noexcept nogil:
    """Match n words side by side, for most of the time goes by waiting for slots.

    There are at most WORD_SLOTS words.
    """
    cdef Lane* going_on[WORD_SLOTS]
    cdef Py_ssize_t lane, left
    for lane in range(n):
        going_on[lane] = &lanes[lane]
        begin_lane(model, &lanes[lane])
    while n > 0:
        left = 0
        for lane in range(n):
            going_on[left] = going_on[lane]
            left += go_on(model, going_on[lane])
        n = left


cdef inline void begin_lane(const WordModel* model, Lane* lane) noexcept nogil:
    lane.count = 0
    lane.start = lane.end = lane.at = 0
    look_ahead(model, lane, ROOT, 0)


cdef inline void look_ahead(
    const WordModel* model, Lane* lane, uint32_t parent, uint32_t base
) noexcept nogil:
    """Fetch the slot of the text that is one character longer."""
    cdef Py_ssize_t width
    cdef uint32_t label = label_at(lane.word + lane.at, &width)
    lane.at += width
    lane.parent = parent
    lane.slot = base + model.array.codes[label]
    prefetch(&model.array.slots[lane.slot])


cdef inline bint go_on(const WordModel* model, Lane* lane) noexcept nogil:
    """Look at the slot that was fetched. False: the word is done."""
    cdef const Slot* slot = &model.array.slots[lane.slot]
    cdef bint is_there = slot.parent == lane.parent
    if is_there and slot.score > 0:
        lane.token = <uint32_t> (slot.score - 1)
        lane.end = lane.at
    if is_there and slot.base != 0 and lane.at < lane.n:
        look_ahead(model, lane, lane.slot, slot.base)
        return True
    if lane.end == lane.start:
        lane.tokens[0] = model.unk_id
        lane.count = 1
        return False
    lane.tokens[lane.count] = lane.token
    lane.count += 1
    if lane.end == lane.n:
        return False
    lane.start = lane.at = lane.end
    if model.continued:
        look_ahead(model, lane, CONTINUED, model.array.slots[CONTINUED].base)
    else:
        look_ahead(model, lane, ROOT, 0)
    return True


cdef void count_matches(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, Py_ssize_t* counts
) noexcept nogil:
    """Count the tokens of every prefix: counts[k] is that of word[:k], where characters end.

    A prefix begins with the word's tokens that end in it, for the longest match in it can be no
    longer one. So only what is left after these is matched again.
    """
    cdef Py_ssize_t at = 0, start, end, rest, count = 0, more
    counts[0] = 0
    while at < n:
        start = at
        if longest_match(model, word, n, &at) == 0:
            for end in range(start + 1, n + 1):
                counts[end] = 1
            return
        for end in range(start + 1, at):
            if is_continuation(word[end]):
                continue
            rest, more = start, 0
            while rest < end and longest_match(model, word, end, &rest) != 0:
                more += 1
            counts[end] = count + more if rest == end else 1
        count += 1
        counts[at] = count


cdef Py_ssize_t match_settled(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, Py_ssize_t* matched
) noexcept nogil:
    """Match the tokens that stay the same however a word goes on.

    Args:
        word: what is left of it after `matched` tokens, to which those found are added; UNKNOWN
            if nothing that follows can be matched.

    Returns:
        Where the first token begins that may change.
    """
    cdef Py_ssize_t at = 0, start
    cdef uint32_t best
    cdef bint may_grow
    while at < n:
        start = at
        best = match_from(model, word, n, &at, model.continued if matched[0] else 0, &may_grow)
        if may_grow:
            return start
        if best == 0:
            matched[0] = UNKNOWN
            return n
        matched[0] += 1
    return n


cdef Py_ssize_t count_rest(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, Py_ssize_t matched
) noexcept nogil:
    """Count the tokens of a word that ends n bytes after the first `matched` of them."""
    cdef Py_ssize_t at = 0
    cdef bint may_grow
    while at < n:
        if match_from(model, word, n, &at, model.continued if matched else 0, &may_grow) == 0:
            return 1
        matched += 1
    return matched
