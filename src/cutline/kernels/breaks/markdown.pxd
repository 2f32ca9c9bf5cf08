"""The blocks of a Markdown text: see markdown.pyx."""


cdef class Block:
    cdef readonly str kind, previous, title
    cdef readonly Py_ssize_t start, end, depth
    cdef readonly int level
