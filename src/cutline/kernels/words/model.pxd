"""The model of a tokenizer that encodes words: its tables, and the work for one word.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.common cimport uint8_t, uint32_t
from cutline.kernels.words.trie cimport Trie

cdef enum:
    WORD_PIECE = 0
    UNIGRAM = 1

cdef struct WordModel:
    int kind
    Trie trie
    const uint32_t* ids             # number of a token -> its id
    uint32_t unk_id
    # WordPiece
    uint32_t continued              # the root of tokens that go on with a word
    # Unigram
    const double* scores            # by number
    uint32_t* nodes_of_characters   # of the BMP: the node that a character leads to, or 0
    double unk_score
    double rounding                 # the most that rounding moves a sum, for each byte of a word
    bint fuses
    bint falls_back
    Py_ssize_t longest              # bytes of a token, or of an unknown character
    uint32_t byte_ids[256]
    uint8_t meta[4]                 # the bytes that META stands for
    Py_ssize_t n_meta

# Memory for the paths of a word: the best to each of its bytes.
cdef struct Paths:
    double* scores
    double* margins                 # by how much the best is better than the next
    Py_ssize_t* starts              # where its last token starts; -1: no path
    uint32_t* tokens                # its last token, by number; NONE: unknown
    Py_ssize_t slots
    bint is_sure                    # of the last word: no score before it could change its tokens
    bint begins_unknown     # the first token of the last word is unknown characters
