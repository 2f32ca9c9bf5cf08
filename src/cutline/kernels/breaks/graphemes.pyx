"""Where grapheme clusters end: what a reader takes for a character, by UAX #29.

Nothing before `start` counts. Rules are named as in UAX #29, section 3.

Guarded by tests/kernels/test_break_rules.py.
"""

from cutline.kernels.base.characters cimport char_at
from cutline.kernels.base.common cimport uint32_t
from cutline.kernels.breaks.text_properties cimport (
    GB_CONTROL, GB_CR, GB_EXTEND, GB_L, GB_LF, GB_LV, GB_LVT, GB_PREPEND, GB_REGIONAL, GB_SPACING,
    GB_T, GB_V, GB_ZWJ, INCB_CONSONANT, INCB_EXTEND, INCB_LINKER, PICTOGRAPHIC, grapheme_class,
    indic_class, properties_of,
)

cdef enum:
    CONTROLS = 1 << GB_CR | 1 << GB_LF | 1 << GB_CONTROL
    ATTACHED = 1 << GB_EXTEND | 1 << GB_ZWJ | 1 << GB_SPACING
    AFTER_L = 1 << GB_L | 1 << GB_V | 1 << GB_LV | 1 << GB_LVT
    ENDS_IN_V = 1 << GB_LV | 1 << GB_V
    AFTER_V = 1 << GB_V | 1 << GB_T
    ENDS_IN_T = 1 << GB_LVT | 1 << GB_T


cdef bint is_grapheme_boundary(
    const Characters* text, Py_ssize_t start, Py_ssize_t at     # in: start <= at <= text.n
) noexcept nogil:
    """Whether a cluster ends at a place."""
    cdef uint32_t before, after, left, right
    if at == start or at == text.n:                                     # GB1, GB2
        return True
    before = properties_of(char_at(text, at - 1))
    after = properties_of(char_at(text, at))
    left, right = grapheme_class(before), grapheme_class(after)
    if (CONTROLS >> left | CONTROLS >> right) & 1:                      # GB3 to GB5
        return not (left == GB_CR and right == GB_LF)
    if (
        ATTACHED >> right & 1 or left == GB_PREPEND                     # GB9, GB9a, GB9b
        or (left == GB_L and AFTER_L >> right & 1)                      # GB6
        or (ENDS_IN_V >> left & 1 and AFTER_V >> right & 1)             # GB7
        or (ENDS_IN_T >> left & 1 and right == GB_T)                    # GB8
    ):
        return False
    if left == GB_REGIONAL and right == GB_REGIONAL:                    # GB12, GB13
        return regional_before(text, start, at) % 2 == 0
    if indic_class(after) == INCB_CONSONANT:
        return not is_conjunct(text, start, at)
    return not (left == GB_ZWJ and after & PICTOGRAPHIC and is_joined(text, start, at))


cdef Py_ssize_t regional_before(
    const Characters* text, Py_ssize_t start, Py_ssize_t at
) noexcept nogil:
    """Regional indicators right before a place."""
    cdef Py_ssize_t count = 0
    while at - count > start and grapheme_class(
        properties_of(char_at(text, at - count - 1))
    ) == GB_REGIONAL:
        count += 1
    return count


cdef bint is_conjunct(const Characters* text, Py_ssize_t start, Py_ssize_t at) noexcept nogil:
    """GB9c: whether a linker joins the consonant at a place with one before it."""
    cdef bint linked = False
    cdef uint32_t kind
    while at > start:
        at -= 1
        kind = indic_class(properties_of(char_at(text, at)))
        if kind == INCB_LINKER:
            linked = True
        elif kind != INCB_EXTEND:
            return linked and kind == INCB_CONSONANT
    return False


cdef bint is_joined(const Characters* text, Py_ssize_t start, Py_ssize_t at) noexcept nogil:
    """GB11: whether the joiner before a place stands after a pictograph and what extends it."""
    cdef uint32_t found
    at -= 1
    while at > start:
        at -= 1
        found = properties_of(char_at(text, at))
        if grapheme_class(found) != GB_EXTEND:
            return found & PICTOGRAPHIC != 0
    return False
