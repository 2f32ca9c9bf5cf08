"""Make chunks. The constructor of a frozen dataclass costs more than to find where a chunk ends.

Guarded by tests/chunking/test_contract.py.
"""

from cutline.kernels.base.common cimport int64_t

cdef extern from "Python.h":
    int set_slot "PyObject_GenericSetAttr"(object chunk, object name, object value) except -1
    str part_of "PyUnicode_Substring"(str text, Py_ssize_t start, Py_ssize_t end)


cpdef object make_chunk(
    type chunk_type, str text, Py_ssize_t start, Py_ssize_t end, Py_ssize_t offset,
    Py_ssize_t tokens, Py_ssize_t index, tuple headings, dict metadata
):
    """Make the chunk text[start:end] of a text that lies at `offset` in its source.

    Sets the slots of `chunk_type`, which may be frozen.
    """
    if chunk_type is None or text is None:
        raise TypeError("a chunk needs a type and a text, got None")
    cdef object chunk = chunk_type.__new__(chunk_type)
    set_slot(chunk, "text", part_of(text, start, end))
    set_slot(chunk, "start_index", offset + start)
    set_slot(chunk, "end_index", offset + end)
    set_slot(chunk, "token_count", tokens)
    set_slot(chunk, "index", index)
    set_slot(chunk, "headings", headings)
    set_slot(chunk, "metadata", metadata)
    return chunk


def make_chunks(
    type chunk_type not None, str text not None, const int64_t[::1] rows not None,
    tuple names not None, Py_ssize_t offset, Py_ssize_t index
):
    """Make the chunks of start, end, tokens, and the place in `names` of a boundary's: four numbers each.

    Args:
        offset: where the text lies in its source.
        index: of the first chunk.
    """
    cdef Py_ssize_t row
    return [
        make_chunk(
            chunk_type, text, rows[4 * row], rows[4 * row + 1], offset, rows[4 * row + 2],
            index + row, (), {"boundary": names[rows[4 * row + 3]]},
        )
        for row in range(rows.shape[0] // 4)
    ]
