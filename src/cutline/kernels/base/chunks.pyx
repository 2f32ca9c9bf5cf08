"""What a chunk holds, and chunks made of rows. To make one costs much of what it takes to find its end,
and needs the GIL: its numbers are no objects here, and its metadata are made when asked for.

Guarded by tests/chunking/test_contract.py.
"""

cimport cython
from cutline.kernels.base.memory import zeroed_numbers

from cpython.object cimport PyObject
from libc.stdlib cimport free

from cutline.kernels.base.characters cimport Characters, characters_of, utf8_bytes
from cutline.kernels.base.common cimport (
    characters_in, int64_t, memcpy, uint8_t, uint16_t, uint32_t,
)
from cutline.kernels.base.new_bytes cimport bytes_data, first_bytes, new_bytes
from cutline.kernels.base.utf8 cimport MOST_AT_WORST, utf8_at_worst, write_text

cdef enum:
    GREATEST = 0x10FFFF         # code point
    MOST_ASCII = 0x7F

cdef extern from "Python.h":
    ctypedef object (*NewFunction)(type made, object arguments, void* named)
    ctypedef struct PyTypeObject:
        NewFunction tp_new
    str substring "PyUnicode_Substring"(str text, Py_ssize_t start, Py_ssize_t end)
    str new_text "PyUnicode_New"(Py_ssize_t n, uint32_t greatest)
    void* PyUnicode_DATA(object text)
    void PyObject_GC_UnTrack(void* one)
    void PyObject_GC_Track(void* one)
    bint PyObject_GC_IsTracked(object one)


cdef extern from "narrow.h":
    uint32_t bits_of "cutline_bits"(const uint8_t* text, int kind, Py_ssize_t n) noexcept nogil
    void narrow_to_1 "cutline_narrow_to_1"(
        const uint8_t* text, int kind, Py_ssize_t n, uint8_t* out
    ) noexcept nogil
    void narrow_to_2 "cutline_narrow_to_2"(
        const uint32_t* text, Py_ssize_t n, uint16_t* out
    ) noexcept nogil


@cython.auto_pickle(False)
cdef class ChunkFields:
    """The fields of a chunk, which are set once, by `_set_fields` or by `make_chunk`.

    Metadata that are no more than a boundary's name become a dict when they are asked for. Until then
    a made chunk holds nothing that could hold it, and the garbage collector need not look at it.
    """

    cdef readonly str text
    cdef readonly Py_ssize_t start_index, end_index, token_count, index
    cdef readonly tuple headings
    cdef object boundary        # None: there is none, or `known` has it
    cdef object known           # metadata, or None

    def _set_fields(
        self, str text not None, Py_ssize_t start_index, Py_ssize_t end_index,
        Py_ssize_t token_count, Py_ssize_t index, tuple headings not None, metadata
    ):
        self.text = text
        self.start_index = start_index
        self.end_index = end_index
        self.token_count = token_count
        self.index = index
        self.headings = headings
        self.known = metadata

    @property
    def metadata(self):
        with cython.critical_section(self):
            if self.known is None:
                made = {} if self.boundary is None else {"boundary": self.boundary}
                if self.known is None:  # still: memory for a dict may let another thread run
                    self.known = made
                if not PyObject_GC_IsTracked(self):
                    PyObject_GC_Track(<void*> self)
            return self.known


cdef str part_of(str text, Py_ssize_t start, Py_ssize_t end):
    """text[start:end]: as PyUnicode_Substring, which compares each character with a bound."""
    cdef Characters characters = characters_of(text)
    cdef const uint8_t* data = <const uint8_t*> characters.data + start * characters.kind
    cdef Py_ssize_t n = end - start
    cdef uint32_t bits
    cdef void* out
    if characters.is_ascii or n < 2 or n == characters.n:
        return substring(text, start, end)
    bits = bits_of(data, characters.kind, n)
    part = new_text(n, min(bits, GREATEST))
    out = PyUnicode_DATA(part)
    if bits <= 0xFF and characters.kind > 1:
        narrow_to_1(data, characters.kind, n, <uint8_t*> out)
    elif bits <= 0xFFFF and characters.kind == 4:
        narrow_to_2(<const uint32_t*> data, n, <uint16_t*> out)
    else:
        memcpy(out, data, n * characters.kind)
    return part


cdef str text_of(str text, Py_ssize_t start, Py_ssize_t end, const uint8_t* utf8, Py_ssize_t n):
    """text[start:end], whose UTF-8 has n bytes: where these are ASCII, they are what is copied."""
    cdef Py_ssize_t n_characters = end - start
    if n_characters != n or n < 2:
        return part_of(text, start, end)
    part = new_text(n, MOST_ASCII)
    memcpy(PyUnicode_DATA(part), utf8, n)
    return part


cdef ChunkFields new_chunk(
    type chunk_type, str part, Py_ssize_t start, Py_ssize_t end, Py_ssize_t tokens, Py_ssize_t index
):
    """Make a chunk, of a type that is checked, which still needs headings, and metadata or a boundary."""
    cdef ChunkFields chunk = (<PyTypeObject*> chunk_type).tp_new(chunk_type, (), NULL)
    PyObject_GC_UnTrack(<void*> chunk)
    chunk.text = part
    chunk.start_index = start
    chunk.end_index = end
    chunk.token_count = tokens
    chunk.index = index
    return chunk


cdef int check_type(type chunk_type) except -1:
    if not issubclass(chunk_type, ChunkFields):
        raise TypeError(f"no type of chunks: {chunk_type!r}")
    return 0


def make_chunk(
    type chunk_type not None, str text not None, Py_ssize_t start, Py_ssize_t end,
    Py_ssize_t offset, Py_ssize_t tokens, Py_ssize_t index, tuple headings not None,
    dict metadata not None
):
    """Make the chunk text[start:end] of a text that lies at `offset` in its source.

    Args:
        chunk_type: a subclass of ChunkFields.
    """
    check_type(chunk_type)
    chunk = new_chunk(
        chunk_type, part_of(text, start, end), offset + start, offset + end, tokens, index
    )
    chunk.headings = headings
    chunk.known = metadata
    PyObject_GC_Track(<void*> chunk)
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
    cdef Py_ssize_t n = rows.shape[0] // 4
    check_type(chunk_type)
    return chunks_of(chunk_type, text, &rows[0] if n else NULL, n, names, offset, index)


def make_outlined(
    type chunk_type not None, str text not None, const int64_t[::1] rows not None,
    tuple names not None, Py_ssize_t offset, Py_ssize_t index, Py_ssize_t floor, headings_at,
    metadata
):
    """Make such chunks of a text with a structure.

    Args:
        floor: where the first chunk adds text; each other one does at the end of the one before.
        headings_at: from where a chunk adds text to its headings.
        metadata: from the start and the end of a chunk to what it has besides a boundary's name.
    """
    cdef Py_ssize_t row
    cdef ChunkFields chunk
    cdef list made = make_chunks(chunk_type, text, rows, names, offset, index)
    for row in range(len(made)):
        chunk = made[row]
        chunk.headings = headings_at(floor)
        floor = rows[4 * row + 1]
        more = metadata(rows[4 * row], floor)
        if more:
            chunk.known = {"boundary": chunk.boundary, **more}
            chunk.boundary = None
            PyObject_GC_Track(<void*> chunk)
    return made


cdef list chunks_of(
    type chunk_type, str text, const int64_t* rows, Py_ssize_t n, tuple names, Py_ssize_t offset,
    Py_ssize_t index
):
    """What make_chunks does; the type is checked."""
    cdef Py_ssize_t row, start, end
    cdef ChunkFields chunk
    cdef list made = []
    for row in range(n):
        start, end = rows[4 * row], rows[4 * row + 1]
        chunk = new_chunk(
            chunk_type, part_of(text, start, end), offset + start, offset + end, rows[4 * row + 2],
            index + row,
        )
        chunk.headings = ()
        chunk.boundary = names[rows[4 * row + 3]]
        made.append(chunk)
    return made


cdef list chunks_of_utf8(
    type chunk_type, str text, const uint8_t* utf8, Py_ssize_t n, const Rows* rows, tuple names
):
    """Make the chunks of a text of rows in bytes of its UTF-8, which is read but once.

    Chunks begin in the order of the rows.
    """
    cdef const int64_t* numbers = rows.numbers
    cdef Py_ssize_t row, at = 0, start = 0, until = 0, end = 0      # in bytes, and characters
    cdef ChunkFields chunk
    cdef list made = []
    check_type(chunk_type)
    for row in range(rows.n):
        if numbers[0] == until:
            start = end
        else:
            start += characters_in(utf8 + at, numbers[0] - at, n - at)
        at = numbers[0]
        until = numbers[1]
        end = start + characters_in(utf8 + at, until - at, n - at)
        chunk = new_chunk(
            chunk_type, text_of(text, start, end, utf8 + at, until - at), start, end, numbers[2], row
        )
        chunk.headings = ()
        chunk.boundary = names[numbers[3]]
        made.append(chunk)
        numbers += 4
    return made


cdef list chunks_of_texts(
    type chunk_type, list texts, const int64_t[::1] n_chunks, const Rows* rows, tuple names
):
    """Make the chunks of texts, whose rows follow one another. None of a text with -1 chunks."""
    cdef Py_ssize_t at, first = 0
    cdef list found = []
    check_type(chunk_type)
    for at in range(len(texts)):
        if n_chunks[at] < 0:
            found.append(None)
            continue
        found.append(
            chunks_of(
                chunk_type, texts[at], rows.numbers + 4 * first, n_chunks[at], names, 0, 0
            )
        )
        first += n_chunks[at]
    return found


cdef class OwnedRows:

    def __dealloc__(self):
        free(self.rows.numbers)


def chunk_numbers(const int64_t[::1] rows not None, Py_ssize_t offset, Py_ssize_t index):
    """Index, start, end and tokens of each chunk, from its four numbers as in `make_chunks`."""
    cdef Py_ssize_t row, n = rows.shape[0] // 4
    numbers = zeroed_numbers("q", 4 * n)
    cdef int64_t[::1] made = numbers
    for row in range(n):
        made[4 * row] = index + row
        made[4 * row + 1] = offset + rows[4 * row]
        made[4 * row + 2] = offset + rows[4 * row + 1]
        made[4 * row + 3] = rows[4 * row + 2]
    return numbers


def chunk_texts(str text not None, const int64_t[::1] rows not None):
    """The chunks' texts as UTF-8, one after another, and where each ends there.

    The text has no surrogates. Releases the GIL.
    """
    cdef Characters characters = characters_of(text), chunk = characters
    cdef Py_ssize_t row, n = rows.shape[0] // 4, n_bytes = 0
    cdef PyObject* made
    cdef uint8_t* out
    byte_ends = zeroed_numbers("q", n)
    cdef int64_t[::1] ends = byte_ends
    with nogil:
        chunk.n = 0
        for row in range(n):
            chunk.n += rows[4 * row + 1] - rows[4 * row]
        n_bytes = chunk.n if characters.is_ascii else utf8_at_worst(&chunk)
        if chunk.n > MOST_AT_WORST:
            n_bytes = 0
            for row in range(n):
                n_bytes += utf8_bytes(&characters, rows[4 * row], rows[4 * row + 1])
    made = new_bytes(NULL, n_bytes)
    with nogil:
        out = <uint8_t*> bytes_data(made)
        n_bytes = 0
        for row in range(n):
            chunk.data = <const uint8_t*> characters.data + characters.kind * rows[4 * row]
            chunk.n = rows[4 * row + 1] - rows[4 * row]
            if characters.is_ascii:
                memcpy(out + n_bytes, chunk.data, chunk.n)
                n_bytes += chunk.n
            else:
                n_bytes += write_text(&chunk, False, out + n_bytes)
            ends[row] = n_bytes
    return first_bytes(made, n_bytes), byte_ends
