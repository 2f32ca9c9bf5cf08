"""Members of a class of characters in a text: find the first, change all.

A class is the rising edges of its half-open ranges, as in `CharSet.edges`.

Guarded by tests/words/test_steps.py.
"""

from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from cutline.kernels.base.characters cimport Characters, char_at, characters_of
from cutline.kernels.base.common cimport NOT_FOUND, uint32_t

cdef enum:
    ASCII_END = 128

cdef extern from "Python.h":
    object PyUnicode_FromKindAndData(int kind, const void* buffer, Py_ssize_t n)


cdef inline bint is_member(const int32_t* edges, Py_ssize_t n, uint32_t code_point) noexcept nogil:
    """Whether so many edges, at least one, lie around a character."""
    cdef const int32_t* low = edges
    cdef Py_ssize_t half
    if <int32_t> code_point < edges[0] or <int32_t> code_point >= edges[n - 1]:
        return False
    while n > 1:
        half = n >> 1
        low += half * (low[half] <= <int32_t> code_point)
        n -= half
    return not (low - edges) & 1


cdef Py_ssize_t find_member(
    const Characters* text, const int32_t* edges, Py_ssize_t n, Py_ssize_t start
) noexcept nogil:
    cdef Py_ssize_t at, n_ascii = 0  # edges around ASCII: few
    cdef uint32_t code_point
    while n_ascii < n and edges[n_ascii] < ASCII_END:
        n_ascii += 1
    n_ascii += n_ascii & 1  # of a range that goes on
    for at in range(start, text.n):
        code_point = char_at(text, at)
        if code_point >= ASCII_END:
            if is_member(edges, n, code_point):
                return at
        elif n_ascii and is_member(edges, n_ascii, code_point):
            return at
    return NOT_FOUND


def first_member(
    str text not None, const int32_t[::1] edges not None, Py_ssize_t start=0
):
    """The place of the first member of a class from `start`, 0 or more, on; or -1."""
    cdef Characters characters = characters_of(text)
    if edges.shape[0] == 0:
        return NOT_FOUND
    return find_member(&characters, &edges[0], edges.shape[0], start)


def change_members(str text not None, const int32_t[::1] edges not None, str instead):
    """Write something instead of each member of a class; None: the member between two blanks."""
    cdef Characters characters = characters_of(text), new = characters_of(instead or "")
    cdef Py_ssize_t first, at, place, used = 0
    cdef Py_ssize_t most = 3 if instead is None else max(1, new.n)
    cdef uint32_t* out
    cdef uint32_t code_point
    if edges.shape[0] == 0:
        return text
    first = find_member(&characters, &edges[0], edges.shape[0], 0)
    if first == NOT_FOUND:
        return text
    out = <uint32_t*> malloc((characters.n * most + 1) * sizeof(uint32_t))
    if out == NULL:
        raise MemoryError(f"no memory to change {characters.n} characters")
    for at in range(characters.n):
        code_point = char_at(&characters, at)
        if at < first or not is_member(&edges[0], edges.shape[0], code_point):
            out[used] = code_point
            used += 1
        elif instead is None:
            out[used] = out[used + 2] = c" "
            out[used + 1] = code_point
            used += 3
        else:
            for place in range(new.n):
                out[used] = char_at(&new, place)
                used += 1
    try:
        return PyUnicode_FromKindAndData(sizeof(uint32_t), out, used)
    finally:
        free(out)
