"""Where each of many texts ends, if they lie one after another.

One thread looks at all texts before others may work: what it would wait for is the memory where
each says what it is, and how long.

Guarded by tests/kernels/test_text_ends.py.
"""

from cutline.kernels.base.memory import zeroed_numbers

from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH

from cutline.kernels.base.common cimport int64_t, prefetch

cdef enum:
    AHEAD = 16      # how many texts ahead memory is fetched


def text_ends(list texts not None):
    """The ends: int64, in characters from 0; or the place of the first that is no str.

    Cost: linear in the number of texts. What a subclass of str overrides does not count.

    >>> list(text_ends(["one", "", "two"])), text_ends(["one", 2])
    ([3, 3, 6], 1)
    """
    cdef Py_ssize_t n = len(texts), at, end = 0
    cdef PyObject* text
    ends = zeroed_numbers("q", n)
    cdef int64_t[::1] out = ends
    for at in range(n):
        if at + AHEAD < n:
            prefetch(PyList_GET_ITEM(texts, at + AHEAD))
        text = PyList_GET_ITEM(texts, at)
        if not PyUnicode_Check(<object> text):
            return at
        end += PyUnicode_GET_LENGTH(<object> text)
        out[at] = end
    return ends
