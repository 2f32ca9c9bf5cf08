"""WordPiece: the longest token that the rest of a word begins with comes next.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.words.trie cimport child_of, ends_token, has_more, label_at, token_at


cdef Py_ssize_t longest_matches(
    const WordModel* model, const uint8_t* word, Py_ssize_t n, uint32_t* out, Py_ssize_t* spans
) noexcept nogil:
    """The ids of a word (n >= 1), and where each token starts and ends (NULL: not asked).

    A word whose rest begins with no token is unknown as a whole. Returns how many.
    """
    cdef Py_ssize_t at = 0, place, end, count = 0, width
    cdef uint32_t node = 0, best
    while at < n:
        best = 0
        end = at
        place = at
        while place < n:
            node = child_of(&model.trie, node, label_at(word + place, &width))
            if node == 0:
                break
            place += width
            if ends_token(&model.trie, node):
                best = node
                end = place
            if not has_more(&model.trie, node):
                break
        if best == 0:
            out[0] = model.unk_id
            if spans != NULL:
                spans[0] = 0
                spans[1] = n
            return 1
        out[count] = model.ids[token_at(&model.trie, best)]
        if spans != NULL:
            spans[2 * count] = at
            spans[2 * count + 1] = end
        count += 1
        at = end
        node = model.continued
    return count
