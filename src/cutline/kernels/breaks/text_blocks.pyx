"""Chunks of many texts, cut at their best breaks: without the GIL, but for making the chunks.

One text after another is cut, in the same memory. Where a chunk of a text takes a longer search, the
text is left to the caller.

Guarded by tests/chunking/test_batches.py.
"""

from cutline.kernels.base.memory import zeroed_numbers

from cutline.kernels.base.characters cimport Characters, characters_of, slice_of
from cutline.kernels.base.common cimport INTERRUPTED, NOT_FOUND, int64_t, memset
from cutline.kernels.base.signals cimport Watch, is_interrupted, raise_pending
from cutline.kernels.breaks.overlaps cimport Cutting, free_starts, next_row, work_of
from cutline.kernels.base.chunks cimport (
    OwnedRows, Rows, add_row, check_type, chunks_of, chunks_of_texts,
)
from cutline.kernels.encode.encoder cimport Block

cdef enum:
    LEAST_WORK = 64             # bytes: what a stretch costs at least, for the watch of signals


cdef class TextCutter:
    """Cuts texts by some rules; holds the memory that it takes. It is used once."""

    def __cinit__(self, *_, **__):
        self.watch.is_on = True

    def __dealloc__(self):
        free_starts(&self.starts)

    cdef int prepare(self, list texts) except -1:
        """Look at all texts, or at that of which stretches will be cut."""
        return 0

    cdef Py_ssize_t cut(
        self, Py_ssize_t number, const Characters* text, Rows* rows
    ) noexcept nogil:
        """Add the chunks of a text that was prepared, or of a stretch of it. Returns how many.

        NOT_FOUND: one takes a longer search, or what else another way may have or explain, and none
        was added; or INTERRUPTED.
        """
        return NOT_FOUND

    cdef int close(self) except -1:
        """Hand back what was taken from encoders."""
        return 0

    cdef Py_ssize_t cut_by(
        self, Cutting cutting, const Characters* text, Rows* rows
    ) noexcept nogil:
        """Add the chunks of a text that is ready to be cut; see `cut`."""
        cdef Py_ssize_t first = rows.n, status
        cdef int64_t last[3]
        cdef int64_t row[4]
        last[0] = last[1] = last[2] = 0
        while last[1] < text.n:
            status = next_row(
                self.overlap, &self.starts, cutting, text, last, last[1], False, row
            )
            if status < 0 or not add_row(rows, row[0], row[1], row[2], row[3]):
                rows.n = first
                return INTERRUPTED if status == INTERRUPTED else NOT_FOUND
            last[0] = row[0]
            last[1] = row[1]
            last[2] = row[2]
            if is_interrupted(&self.watch, work_of(row)):
                rows.n = first
                return INTERRUPTED
        return rows.n - first


def chunk_block(
    type chunk_type not None, list texts not None, TextCutter cutter not None,
    tuple names not None
):
    """Cut each text at the last breaks that fit, and make its chunks.

    Args:
        chunk_type: makes a chunk; see `make_chunk`.
        texts: plain strs.
        cutter: a new one.
        names: of the kinds of breaks, and of the text's end.

    Returns:
        A list of chunks for each text; None: that takes another way.
    """
    cdef Py_ssize_t n = len(texts), at, count = 0
    cdef OwnedRows owned = OwnedRows()
    cdef Block block = Block(texts)
    n_chunks = zeroed_numbers("q", n)
    cdef int64_t[::1] counts = n_chunks
    cutter.prepare(texts)
    with nogil:
        for at in range(n):
            count = cutter.cut(at, block.texts + at, &owned.rows)
            if count == INTERRUPTED:
                break
            counts[at] = count
    if count == INTERRUPTED:
        raise_pending()
    cutter.close()
    return chunks_of_texts(chunk_type, texts, counts, &owned.rows, names)


def chunk_stretches(
    type chunk_type not None, str text not None, const int64_t[::1] places not None,
    Py_ssize_t index, TextCutter cutter not None, tuple names not None
):
    """Cut each stretch of a text as if it were all of it, up to one that takes another way.

    Args:
        chunk_type: makes a chunk; see `make_chunk`.
        places: where the first stretch starts, and where each ends; ascending, and inside the
            text (trusted).
        index: of the first chunk.
        cutter: a new one.
        names: of the kinds, and of the stretches' ends.

    Returns:
        The chunks, with their places in the text, and the number of stretches that they are of.
    """
    cdef Py_ssize_t n = max(places.shape[0] - 1, 0), at = 0, count = 0, row
    cdef OwnedRows owned = OwnedRows()
    cdef Characters whole = characters_of(text), stretch
    cdef Watch watch
    memset(&watch, 0, sizeof(watch))
    watch.is_on = True
    cutter.prepare([text])
    with nogil:
        while at < n:
            if is_interrupted(&watch, LEAST_WORK):
                count = INTERRUPTED
                break
            stretch = slice_of(&whole, places[at], places[at + 1])
            count = cutter.cut(0, &stretch, &owned.rows)
            if count < 0:
                break
            for row in range(owned.rows.n - count, owned.rows.n):
                owned.rows.numbers[4 * row] += places[at]
                owned.rows.numbers[4 * row + 1] += places[at]
            at += 1
    if count == INTERRUPTED:
        raise_pending()
    cutter.close()
    check_type(chunk_type)
    return chunks_of(chunk_type, text, owned.rows.numbers, owned.rows.n, names, 0, index), at
