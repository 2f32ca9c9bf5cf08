"""What lies between runs of words, by the images of characters.

Guarded by tests/words/test_runs.py.
"""

from cutline.kernels.base.characters cimport Characters, char_at
from cutline.kernels.base.common cimport memcmp, uint8_t, uint32_t
from cutline.kernels.encode.runs cimport NO_PREFIX, Runs, Separators
from cutline.kernels.words.char_map cimport (
    APART, IS_BLANK, JOINS, LEFT, OPENS, PAIR, RIGHT, Brief, CharBlock,
)


cdef inline Separators separators_of(const CharBlock* ascii) noexcept nogil:
    """The blank, and the line feed if it means the same."""
    cdef const Brief* brief = &ascii.briefs[c" "]
    cdef Separators found
    cdef uint8_t flags = ascii.images[c" "].flags
    cdef bint ends_words = brief.kinds != 0 and brief.n == 0
    found.one = found.other = c" "
    found.are_removed = ends_words
    found.lead_runs = False
    found.prefix = NO_PREFIX
    found.after_lines = found.after_stops = NULL
    # Of blanks between two runs, as of those between two words, at most one may count.
    found.are_known = (
        (ends_words or (brief.kinds & IS_BLANK and brief.first == APART))
        and not flags & (LEFT | RIGHT | PAIR | OPENS | JOINS)
    )
    if flags == ascii.images[c"\n"].flags and memcmp(
        brief, &ascii.briefs[c"\n"], sizeof(Brief)
    ) == 0:
        found.other = c"\n"
    return found


cdef inline bint ends_closed(
    CharBlock** blocks, const Characters* text, Py_ssize_t end
) noexcept nogil:
    """Whether what comes after a run is apart from it: it does not end in a blank of some kind."""
    cdef uint32_t code_point = char_at(text, end - 1)
    cdef const Brief* brief = &blocks[code_point >> 8].briefs[code_point & 0xFF]
    return brief.kinds != 0 and not brief.kinds & IS_BLANK


cdef inline Py_ssize_t closed_run(
    const Runs* runs, Py_ssize_t run, CharBlock** blocks, const Characters* text
) noexcept nogil:
    """The first run, from one on, that ends so; the number of runs: there is none."""
    while run < runs.count and not ends_closed(blocks, text, runs.edges[2 * run + 1]):
        run += 1
    return run


cdef inline bint ends_word(
    CharBlock** blocks, const Characters* text, Py_ssize_t end
) noexcept nogil:
    """Whether a word ends before a place whatever comes after, if the character there is brief."""
    cdef uint32_t code_point = char_at(text, end - 1)
    return blocks[code_point >> 8].briefs[code_point & 0xFF].last == 0


cdef inline bint is_separator(const Separators* separators, uint32_t code_point) noexcept nogil:
    return code_point == separators.one or code_point == separators.other
