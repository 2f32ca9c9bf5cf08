"""WordPiece: the longest token that the rest of a word begins with comes next.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.common cimport is_continuation
from cutline.kernels.words.trie cimport child_of, ends_token, has_more, label_at, token_at


cdef inline uint32_t longest_match(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, Py_ssize_t* at
) noexcept nogil:
    """The trie's node of the longest token at word[at], or 0. Moves `at` past it."""
    cdef Py_ssize_t place = at[0], width
    cdef uint32_t node = model.continued if place > 0 else 0, best = 0
    while place < n:
        node = child_of(&model.trie, node, label_at(word + place, &width))
        if node == 0:
            break
        place += width
        if ends_token(&model.trie, node):
            best = node
            at[0] = place
        if not has_more(&model.trie, node):
            break
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
