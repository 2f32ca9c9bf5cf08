"""A trie of tokens as a double array: from a text to a longer one is a look into one slot.

Children of several texts lie among one another, each where its parent's base and the code of its
last character say. So whether a text has a child takes no branch, and how many children it has
does not matter: what `trie` needs a search for. It takes half as much memory again.

Guarded by tests/words/test_runs.py.
"""

from cutline.kernels.base.common cimport uint32_t
from cutline.kernels.words.trie cimport Trie

cdef enum:
    NO_SLOT = 0             # of no text; no token
    UNKNOWN_SLOT = 1        # of each character with which no token begins
    CONTINUED = 1           # ... and the parent of those with which a word goes on in WordPiece
    ROOT = 0xFFFFFFFF       # the parent of characters

cdef struct Slot:
    uint32_t parent         # the slot of the text without its last character; 0: nothing is here
    uint32_t base           # a child's slot is this and its last character's code; 0: there are none
    # Of the token that is the text, or NEVER; of WordPiece its id and 1, or 0.
    double score

cdef struct DoubleArray:
    Slot* slots             # of a character alone: its code. NULL: tokens did not fit
    uint32_t* codes         # of each code point; 0: no token has it

cdef extern from "math.h":
    const double HUGE_VAL   # the score of a character that is no token, and of the unknown token

cdef extern from *:
    """
    #define CUTLINE_NEVER -1e300
    #define CUTLINE_MOST_SCORE 1e280
    """
    const double NEVER "CUTLINE_NEVER"
    const double MOST_SCORE "CUTLINE_MOST_SCORE"    # of a token


cdef bint pack_slots(
    DoubleArray* array, const Trie* trie, uint32_t unk_token, const uint32_t* ids
) noexcept nogil
cdef void free_slots(DoubleArray* array) noexcept nogil
