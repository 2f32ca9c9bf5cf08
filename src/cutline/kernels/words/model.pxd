"""The model of a tokenizer that encodes words: its tables, and the work for one word.

Guarded by tests/words/test_encoding.py.
"""

from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t, uint64_t
from cutline.kernels.base.signals cimport Watch
from cutline.kernels.words.double_array cimport DoubleArray
from cutline.kernels.words.trie cimport Trie

cdef enum:
    WORD_PIECE = 0
    UNIGRAM = 1

cdef struct WordModel:
    int kind
    Trie trie
    DoubleArray array
    const uint32_t* ids             # number of a token -> its id
    uint32_t unk_id
    uint16_t* lengths               # of each id: the bytes of its token; 0: other ones are possible
    Py_ssize_t n_lengths
    Py_ssize_t n_continuation       # bytes of these that a word lacks which does not begin there
    # WordPiece
    uint32_t continued              # the root of tokens that go on with a word
    # Unigram
    double unk_score
    double most_score               # how far from 0 the score of a token, or of what is unknown, is
    bint is_single                  # sums are rounded to single precision, as sentencepiece's are
    bint is_falling                 # no score is over 0, nor so low that rounded sums reach 2 ** 17
    double rounding                 # the most that rounding moves a sum, for each byte of a word
    uint32_t unk_token              # the number of the token of what is unknown and 1
    bint fuses
    bint falls_back
    bint has_segments               # no token lies across a blank that comes after something else
    Py_ssize_t longest              # bytes of a token, or of an unknown character
    uint32_t byte_ids[256]
    uint8_t meta[4]                 # the bytes that META stands for
    Py_ssize_t n_meta

# The best path to a byte of a word. There is none where no character ends.
cdef struct Path:
    double score
    double margin                   # by how much it is better than any with another number of tokens
    Py_ssize_t start                # where its last token starts
    uint32_t token                  # the number of its last token and 1; 0: unknown
    uint32_t n_tokens               # since the last joint; see HAS_UNKNOWN

cdef struct Paths:
    Path* to                        # each byte of a word
    Py_ssize_t slots
    uint64_t* steps                 # from node to node, as they were last found; NULL: not kept
    int step_bits                   # log2 of how many
    Py_ssize_t added                # scores, to the sum of the last word
    bint is_sure                    # of the last word: no score before it could change their number
    Watch watch
    bint begins_unknown     # the first token of the last word is unknown characters
    # In single precision: sums at this place and after it are by so much greater than before it.
    Py_ssize_t rebased
    double base
    double taken                    # from all sums so far, for they began anew
