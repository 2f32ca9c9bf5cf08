"""Few places of a text before and after which tokens are counted apart, with the tokens before.

Guarded by tests/chunking/test_few_slices.py.
"""

from cutline.kernels.base.common cimport NO_MEMORY, UNKNOWN, grow, unlikely

cdef enum:
    FAR = 1024                  # characters from one start to the next one at most

cdef struct FewStart:
    Py_ssize_t at               # characters before it
    Py_ssize_t tokens           # ... and tokens

# At least `gap` characters apart.
cdef struct FewStarts:
    FewStart* items
    Py_ssize_t count, slots, gap
    Py_ssize_t last             # where the last one is; in: -gap


cdef inline int add_few_start(
    FewStarts* starts, Py_ssize_t at, Py_ssize_t tokens
) noexcept nogil:
    """Add a start after the last one. 0 or NO_MEMORY."""
    if not grow(<void**> &starts.items, &starts.slots, starts.count + 1, sizeof(FewStart)):
        return NO_MEMORY
    starts.items[starts.count].at = starts.last = at
    starts.items[starts.count].tokens = tokens
    starts.count += 1
    return 0
