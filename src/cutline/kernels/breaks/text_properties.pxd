"""Properties of characters that the rules of text boundaries ask for, in one number.

The numbers are those of tools/build_break_tables.py.
"""

from cutline.kernels.base.common cimport uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    BLOCK_BITS = 7

# Sentence_Break
cdef enum:
    SENTENCE_MASK = 0x0F
    SB_OTHER = 0
    SB_CR = 1
    SB_LF = 2
    SB_SEP = 3
    SB_EXTEND = 4
    SB_SP = 5
    SB_LOWER = 6
    SB_UPPER = 7
    SB_OLETTER = 8
    SB_NUMERIC = 9
    SB_ATERM = 10
    SB_SCONTINUE = 11
    SB_STERM = 12
    SB_CLOSE = 13
    LINE_ENDS = 1 << SB_CR | 1 << SB_LF | 1 << SB_SEP   # a set of these classes

# Word_Break
cdef enum:
    WORD_SHIFT = 4
    WORD_MASK = 0x1F
    WB_OTHER = 0
    WB_CR = 1
    WB_LF = 2
    WB_NEWLINE = 3
    WB_EXTEND = 4
    WB_ZWJ = 5
    WB_REGIONAL = 6
    WB_KATAKANA = 7
    WB_HEBREW = 8
    WB_ALETTER = 9
    WB_SINGLE_QUOTE = 10
    WB_DOUBLE_QUOTE = 11
    WB_MID_NUM_LET = 12
    WB_MID_LETTER = 13
    WB_MID_NUM = 14
    WB_NUMERIC = 15
    WB_EXTEND_NUM_LET = 16
    WB_SPACE = 17

# Grapheme_Cluster_Break
cdef enum:
    GRAPHEME_SHIFT = 9
    GRAPHEME_MASK = 0x0F
    GB_OTHER = 0
    GB_CR = 1
    GB_LF = 2
    GB_CONTROL = 3
    GB_EXTEND = 4
    GB_ZWJ = 5
    GB_REGIONAL = 6
    GB_PREPEND = 7
    GB_SPACING = 8
    GB_L = 9
    GB_V = 10
    GB_T = 11
    GB_LV = 12
    GB_LVT = 13

# Indic_Conjunct_Break
cdef enum:
    INDIC_SHIFT = 13
    INDIC_MASK = 0x03
    INCB_CONSONANT = 1
    INCB_LINKER = 2
    INCB_EXTEND = 3

cdef enum:
    PICTOGRAPHIC = 1 << 15
    OPENING = 1 << 16           # brackets and quotes that open, and vowels written before consonants
    LETTER = 1 << 17            # letters and numbers
    UPPER_CASE = 1 << 18
    CLOSING = 1 << 19           # brackets and quotes that close, dashes, commas, vowels written after
    SPACE = 1 << 20
    PHRASAL = 1 << 21           # of scripts with blanks between phrases alone

# Words by their hashes, in ascending order.
cdef struct WordSet:
    const uint64_t* hashes
    Py_ssize_t n

cdef struct Properties:
    const uint16_t* block_index     # code point >> BLOCK_BITS -> block
    const uint8_t* block_class      # 1 << BLOCK_BITS a block
    const uint32_t* values          # of a class
    WordSet abbreviations
    WordSet before_numbers          # before a full stop after which a number comes
    WordSet before_ordinals         # before a number and a full stop

cdef Properties tables


cdef int need_tables() except -1


cdef inline uint32_t properties_of(uint32_t code_point) noexcept nogil:
    """The properties of a character. Trusts: need_tables was called."""
    cdef uint32_t block = tables.block_index[code_point >> BLOCK_BITS]
    return tables.values[
        tables.block_class[block << BLOCK_BITS | (code_point & (1 << BLOCK_BITS) - 1)]
    ]


cdef inline bint ends_line(uint32_t properties) noexcept nogil:
    return LINE_ENDS >> (properties & SENTENCE_MASK) & 1


cdef inline uint32_t word_class(uint32_t properties) noexcept nogil:
    return properties >> WORD_SHIFT & WORD_MASK


cdef inline uint32_t grapheme_class(uint32_t properties) noexcept nogil:
    return properties >> GRAPHEME_SHIFT & GRAPHEME_MASK


cdef inline uint32_t indic_class(uint32_t properties) noexcept nogil:
    return properties >> INDIC_SHIFT & INDIC_MASK


cdef inline uint64_t next_hash(uint64_t last, uint32_t code_point) noexcept nogil:
    """The hash of a character and the word after it, whose hash is `last`; 0: there is none."""
    return ((last ^ code_point) + 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL


cdef inline bint has_word(const WordSet* words, uint64_t hash_of_word) noexcept nogil:
    cdef Py_ssize_t low = 0, high = words.n, middle
    while low < high:
        middle = (low + high) >> 1
        if words.hashes[middle] < hash_of_word:
            low = middle + 1
        else:
            high = middle
    return low < words.n and words.hashes[low] == hash_of_word
