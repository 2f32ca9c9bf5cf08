"""Few places of a text before and after which tokens are counted apart, with the tokens before.

Guarded by tests/chunking/test_few_slices.py.
"""

from cutline.kernels.base.common cimport NO_MEMORY, UNKNOWN, grow

cdef enum:
    FAR = 1024                  # characters from one start to the next one at most
    GAP = 32                    # characters from one start to the next, or more
    LEAST_GAP = 8               # ... of a text whose characters have many tokens: as many as have
    GAP_TOKENS = 16             # ... so many on average
    LOOK_AFTER = 256            # starts, to see how far apart they are

cdef struct FewStart:
    Py_ssize_t at               # characters before it
    Py_ssize_t tokens           # ... and tokens

# At least `gap` characters apart.
cdef struct FewStarts:
    FewStart* items
    Py_ssize_t count, slots, gap
    Py_ssize_t last             # where the last one is; in: -GAP
    double squares              # of the characters between two, added up
    double most                 # tokens between two, as many as a character finds around it


cdef inline bint are_near(const FewStarts* starts, Py_ssize_t at, Py_ssize_t tokens) noexcept nogil:
    """Whether few tokens are between starts, up to a place of the text: what is there is counted
    again and again at the ends of slices.
    """
    return starts.squares * tokens <= starts.most * at * at


cdef inline int pass_to(FewStarts* starts, Py_ssize_t at) noexcept nogil:
    """Go on to the next start, or the end. 0, or UNKNOWN: it is too far."""
    cdef Py_ssize_t gap = at - max(starts.last, 0)
    starts.squares += <double> gap * gap
    return 0 if gap <= FAR else UNKNOWN


cdef inline int add_few_start(
    FewStarts* starts, Py_ssize_t at, Py_ssize_t tokens
) noexcept nogil:
    """Add a start after the last one. 0, NO_MEMORY, or UNKNOWN: they are too far apart."""
    if pass_to(starts, at) < 0:
        return UNKNOWN
    if tokens > 0:
        starts.gap = max(LEAST_GAP, min(GAP, GAP_TOKENS * at // tokens))
    if not append_start(starts, at, tokens):
        return NO_MEMORY
    if starts.count % LOOK_AFTER == 0 and not are_near(starts, at, tokens):
        return UNKNOWN
    return 0


cdef inline bint append_start(FewStarts* starts, Py_ssize_t at, Py_ssize_t tokens) noexcept nogil:
    """Add a start, wherever the last one is. False: there is no memory."""
    if not grow(<void**> &starts.items, &starts.slots, starts.count + 1, sizeof(FewStart)):
        return False
    starts.items[starts.count].at = starts.last = at
    starts.items[starts.count].tokens = tokens
    starts.count += 1
    return True


cdef inline int end_starts(FewStarts* starts, Py_ssize_t n, Py_ssize_t tokens) noexcept nogil:
    """The text ends. 0, or UNKNOWN: starts are too far apart."""
    return 0 if pass_to(starts, n) == 0 and are_near(starts, n, tokens) else UNKNOWN
