"""Bytes that are written without the GIL, and whose number is known only then.

Guarded by tests/kernels/test_json_text.py.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF

cdef extern from "Python.h":
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char* data, Py_ssize_t n) except NULL
    char* bytes_data "PyBytes_AS_STRING"(PyObject* made) nogil
    int resize_bytes "_PyBytes_Resize"(PyObject** made, Py_ssize_t n) except -1


cdef inline bytes first_bytes(PyObject* made, Py_ssize_t n):
    """The first n of bytes, which nothing else refers to yet."""
    resize_bytes(&made, n)
    first = <bytes> made
    Py_DECREF(first)    # the reference that is `made`
    return first
