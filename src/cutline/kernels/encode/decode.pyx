"""Token ids back to bytes and text, and arrays of ids to lists of int.

Text is made by copying: the characters of each token lie ready in a row of a table, half a line of
the cache, and their number in a second one, of a byte a token. Only tokens that begin or end inside
a character, that have one of four bytes, or many, are decoded, byte by byte.

Guarded by tests/test_decode.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport (
    PyLong_AsLongLongAndOverflow, PyLong_CheckExact, PyLong_FromUnsignedLong,
)
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cython cimport critical_section
from libc.stdlib cimport calloc, free, malloc, qsort

from cutline.kernels.base.late import numpy as np
from cutline.kernels.base.memory import zeroed_memory, zeroed_numbers

from cutline.kernels.base.characters cimport PyUnicode_DATA, Unit
from cutline.kernels.base.common cimport (
    HIGH_BITS, char_bytes, count_dense, decode_char, int64_t, is_continuation, likely, load64,
    low_bytes, memcpy, memset, prefetch, unlikely, uint8_t, uint16_t, uint32_t, uint64_t,
)
from cutline.kernels.base.utf8 cimport valid_width

cdef extern from "native.h":
    const bint SHARES_INTS "CUTLINE_SHARES_INTS"
    int fill_shared "cutline_fill_shared"(
        list target, PyObject** ints, const uint32_t* ids, Py_ssize_t n
    ) except -1
    void publish_byte "cutline_publish_byte"(uint8_t* place, uint8_t byte) noexcept nogil
    uint8_t known_byte "cutline_known_byte"(const uint8_t* place) noexcept nogil
    void acquire "cutline_acquire"() noexcept nogil
    Py_ssize_t read_ids "cutline_read_ids"(PyObject** items, Py_ssize_t n, uint32_t* ids)

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object items)
    void PyList_SET_ITEM(list target, Py_ssize_t at, object item)
    list PyList_New(Py_ssize_t n)
    str PyUnicode_New(Py_ssize_t n, uint32_t highest)

cdef enum:
    AHEAD = 24                  # how many tokens ahead memory is fetched
    LENGTH = (1 << 24) - 1
    SHARED_LIMIT = 1 << 21      # ids from here on get objects of their own
    ROOM = 16                   # bytes, or characters, of a token that are copied at once
    NOGIL_TOKENS = 1024         # fewer are done before another thread could start
    SPARSEST = 4                # times as many ids as tokens, and more, are searched for

# The shape of a token: in the bits of LENGTH how many characters begin in it, and whether it has
# some of these.
cdef enum:
    ABOVE_ASCII = 1 << 24       # characters from U+0080 to U+00FF
    ABOVE_LATIN = 1 << 25       # to U+FFFF
    ABOVE_BMP = 1 << 26
    PARTIAL = 1 << 27           # it is not valid UTF-8: parts of characters
    INNER = 1 << 28             # its first byte is inside a character

# The kind of a token: 0 until it first comes; how many characters its row has, up to ROOM, and
# whether there are some ABOVE_ASCII or ABOVE_LATIN; or that its row has its shape instead.
cdef enum:
    CHARACTERS = 31
    ABOVE = 3 << 5
    SHAPE_IN_ROW = 1 << 7
    TO_SHAPE = 19               # bits between those of ABOVE and a shape's

# By id, NULL until it is first in a list, never freed; the GIL guards it. Memory that nobody has
# written to takes no room.
cdef PyObject** shared_ints = NULL
if SHARES_INTS:
    shared_ints = <PyObject**> calloc(SHARED_LIMIT, sizeof(PyObject*))


cdef list list_of_ids(const uint32_t* ids, Py_ssize_t n):
    """A list of the ids as Python ints."""
    cdef list tokens = PyList_New(n)
    cdef Py_ssize_t at
    cdef object item
    if shared_ints != NULL and highest_of(ids, n) < SHARED_LIMIT:
        fill_shared(tokens, shared_ints, ids, n)
        return tokens
    for at in range(n):
        item = PyLong_FromUnsignedLong(ids[at])
        Py_INCREF(item)
        PyList_SET_ITEM(tokens, at, item)
    return tokens


cdef inline uint32_t highest_of(const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    cdef uint32_t highest = 0
    cdef Py_ssize_t at
    for at in range(n):
        highest = max(highest, ids[at])
    return highest


def ids_to_list(const uint32_t[::1] ids not None):
    """A list of int from a uint32 array: faster than its `tolist`, with shared objects."""
    return list_of_ids(&ids[0], ids.shape[0]) if ids.shape[0] else []


# A character whose bytes come one by one.
cdef struct Part:
    uint8_t data[4]
    Py_ssize_t n
    Py_ssize_t width    # of the whole, as its first byte says


cdef inline bint completes(Part* part, uint8_t byte) noexcept nogil:
    """Add a byte. True: it is the last."""
    if part.n == 0:
        part.width = char_bytes(byte)
    part.data[part.n] = byte
    part.n += 1
    return part.n == part.width


cdef int compare_words(const void* left, const void* right) noexcept nogil:
    cdef uint64_t one = (<const uint64_t*> left)[0], other = (<const uint64_t*> right)[0]
    return (one > other) - (one < other)


cdef inline uint32_t length_of(uint64_t length) except? 0xFFFFFFFF:
    if length > LENGTH:
        raise ValueError(f"a token must have less than 16 MiB, got {length} bytes")
    return <uint32_t> length


cdef class Decoder:
    """Bytes and text of every token id, special tokens included.

    What `text` needs to know of a token is found out when the token first comes.

    Args:
        arena: the bytes of the tokens of a vocabulary.
        offsets: uint64, shape (n + 1,); where each of them begins in the arena (trusted).
        ids: uint32, shape (n,); unique.
        others: the bytes of further tokens by id; no id is among `ids`.

    Cost: linear; O(n log n) if the ids are not in order.
    """

    cdef bytes arena                # of all tokens, and ROOM bytes more
    cdef const uint8_t* bytes_at    # of the arena
    cdef uint32_t[::1] ids          # strictly increasing; what follows lies in this order
    cdef uint64_t[::1] spans        # start << 32 | length, one load a token
    cdef Py_ssize_t n_dense         # ids below this are their own place
    cdef uint32_t[::1] places       # of ids that are not dense: place and 1; 0 where there is none
    cdef Py_ssize_t n_placed        # ids that these are of, from 0 on; 0: they are too sparse
    cdef uint8_t[::1] kinds
    cdef uint16_t[::1] rows         # ROOM characters a token

    def __cinit__(
        self, const uint8_t[::1] arena not None, const uint64_t[::1] offsets not None,
        const uint32_t[::1] ids not None, dict others not None
    ):
        cdef Py_ssize_t n = ids.shape[0] + len(others), at
        if offsets.shape[0] != ids.shape[0] + 1:
            raise ValueError("there must be one offset a token, and one more")
        self.arena = b"".join([arena, *others.values(), bytes(ROOM)])
        if len(self.arena) >> 32:
            raise ValueError(
                f"tokens must have less than 4 GiB together, got {len(self.arena)} bytes"
            )
        self.bytes_at = <const uint8_t*> PyBytes_AS_STRING(self.arena)
        # As one, it is large enough to come from the system: what is not written takes no room.
        # One more than there are, for the address of the first.
        memory = zeroed_memory((2 * ROOM + 8 + 4 + 1) * (n + 1), large_pages=False)
        self.rows, memory = memory[:2 * ROOM * (n + 1)].cast("H"), memory[2 * ROOM * (n + 1) :]
        self.spans, memory = memory[:8 * (n + 1)].cast("Q"), memory[8 * (n + 1) :]
        self.ids, self.kinds = memory[:4 * n].cast("I"), memory[4 * (n + 1) :]
        self.list_tokens(offsets, ids, others)
        self.sort_tokens()
        self.n_dense = count_dense(&self.ids[0], n) if n else 0
        if self.n_dense < n and self.ids[n - 1] < SPARSEST * n:
            self.places = zeroed_numbers("I", self.ids[n - 1] + 1)
            for at in range(n):
                self.places[self.ids[at]] = <uint32_t> at + 1
            self.n_placed = self.ids[n - 1] + 1

    cdef int list_tokens(
        self, const uint64_t[::1] offsets, const uint32_t[::1] ids, dict others
    ) except -1:
        cdef uint32_t[::1] own_ids = self.ids
        cdef uint64_t[::1] spans = self.spans
        cdef Py_ssize_t at
        cdef uint64_t start = offsets[ids.shape[0]]
        own_ids[:ids.shape[0]] = ids
        for at in range(ids.shape[0]):
            spans[at] = offsets[at] << 32 | length_of(offsets[at + 1] - offsets[at])
        for at, (token_id, token) in enumerate(others.items(), ids.shape[0]):
            own_ids[at] = token_id
            spans[at] = start << 32 | length_of(len(token))
            start += len(token)
        return 0

    cdef int sort_tokens(self) except -1:
        """Put the tokens into the order of their ids, in which they mostly are."""
        cdef Py_ssize_t n = self.ids.shape[0], at = 1
        cdef uint64_t[::1] by_id, spans
        while at < n and self.ids[at - 1] < self.ids[at]:
            at += 1
        if at >= n:
            return 0
        by_id, spans = zeroed_numbers("Q", n), zeroed_numbers("Q", n)
        for at in range(n):
            by_id[at] = <uint64_t> self.ids[at] << 32 | at
        qsort(&by_id[0], n, sizeof(uint64_t), compare_words)
        for at in range(n):
            self.ids[at] = <uint32_t> (by_id[at] >> 32)
            spans[at] = self.spans[<uint32_t> by_id[at]]
        self.spans = spans
        return 0

    cdef inline Py_ssize_t place(self, uint32_t token_id) noexcept nogil:
        """Where the token stands in the arrays, or -1."""
        cdef Py_ssize_t low = self.n_dense, high = self.ids.shape[0], middle
        if token_id < <uint64_t> self.n_dense:
            return token_id
        if token_id < <uint64_t> self.n_placed:
            return <Py_ssize_t> self.places[token_id] - 1
        while low < high:
            middle = (low + high) // 2
            if self.ids[middle] < token_id:
                low = middle + 1
            else:
                high = middle
        return low if low < self.ids.shape[0] and self.ids[low] == token_id else -1

    cdef Ids places_of(self, tokens):
        """Where the tokens stand in the arrays. KeyError names the first unknown id."""
        cdef Ids places = Ids(tokens)
        cdef Py_ssize_t at, place
        if places.n and highest_of(places.data, places.n) >= <uint64_t> self.n_dense:
            for at in range(places.n):
                place = self.place(places.data[at])
                if place < 0:
                    raise KeyError(places.data[at])
                places.data[at] = <uint32_t> place
        return places

    cdef inline bytes bytes_at_place(self, Py_ssize_t place):
        cdef uint64_t span = self.spans[place]
        return PyBytes_FromStringAndSize(
            <const char*> self.bytes_at + (span >> 32), span & LENGTH
        )

    def bytes_of(self, token_id):
        """Bytes of one token; KeyError or OverflowError, as in `join`, where there is none."""
        cdef Py_ssize_t place = self.place(id_of(token_id))
        if place < 0:
            raise KeyError(token_id)
        return self.bytes_at_place(place)

    def split(self, tokens):
        """Bytes of each token, in a list. Raises as `join`."""
        cdef Ids places = self.places_of(tokens)
        cdef Py_ssize_t at
        return [self.bytes_at_place(places.data[at]) for at in range(places.n)]

    def join(self, tokens):
        """Bytes of all tokens, joined.

        Args:
            tokens: ids, any iterable of int, or an array of integers.

        Raises:
            KeyError: its argument is the first unknown id.
            OverflowError: an id is negative or does not fit 32 bits; names it.
        """
        return self.join_places(self.places_of(tokens))

    cdef bytes join_places(self, Ids places):
        cdef Py_ssize_t at, total = 0
        cdef bytes joined
        cdef uint8_t* out
        with nogil:
            for at in range(places.n):
                total += self.spans[places.data[at]] & LENGTH
        joined = PyBytes_FromStringAndSize(NULL, total)
        out = <uint8_t*> PyBytes_AS_STRING(joined)
        with nogil:
            self.copy_bytes(places, out, out + total)
        return joined

    cdef void copy_bytes(self, Ids places, uint8_t* out, const uint8_t* end) noexcept nogil:
        """Bytes of all tokens, one after the other; they fill `out` to `end`."""
        cdef const uint32_t* place = places.data
        cdef const uint64_t* spans = &self.spans[0]
        cdef Py_ssize_t at, n = places.n, length
        cdef const uint8_t* token
        for at in range(n):
            prefetch(self.bytes_at + (spans[place[at + AHEAD]] >> 32))
            token = self.bytes_at + (spans[place[at]] >> 32)
            length = spans[place[at]] & LENGTH
            if likely(length <= ROOM and out + ROOM <= end):
                memcpy(out, token, ROOM)
            else:
                memcpy(out, token, length)
            out += length

    def text(self, tokens):
        """Text of all tokens; where they are not valid UTF-8 together, what `join` returns."""
        cdef Ids places = self.places_of(tokens)
        cdef Py_ssize_t total
        cdef uint32_t seen = 0
        cdef str text
        cdef void* out
        if places.n < NOGIL_TOKENS:
            total = self.measure(places, &seen)
        else:
            with nogil:
                total = self.measure(places, &seen)
        if total < 0:
            return self.join_places(places)
        text = PyUnicode_New(total, highest_character(seen))
        out = <void*> PyUnicode_DATA(text)
        if places.n < NOGIL_TOKENS:
            self.copy_text(places, seen, out, total)
        else:
            with nogil:
                self.copy_text(places, seen, out, total)
        return text

    cdef Py_ssize_t measure(self, Ids places, uint32_t* seen) noexcept nogil:
        """Characters of all tokens; -1 if they are not valid UTF-8 together. `seen`: their shapes."""
        cdef const uint32_t* place = places.data
        cdef const uint8_t* kinds = &self.kinds[0]
        cdef uint32_t shape, shapes = 0, kinds_seen = 0
        cdef uint8_t kind
        cdef Py_ssize_t at, total = 0
        cdef Part part
        part.n = part.width = 0
        for at in range(places.n):
            kind = known_byte(kinds + place[at])
            if likely(has_row(kind)):
                kinds_seen |= kind
                total += kind & CHARACTERS
                continue
            shape = self.shape(place[at])
            shapes |= shape
            total += shape & LENGTH
            if shape & PARTIAL and not (
                self.is_valid_after(&part, place[at])
                and (part.n == 0 or at + 1 < places.n and self.shape(place[at + 1]) & PARTIAL)
            ):
                return -1
        acquire()
        seen[0] = shapes | (kinds_seen & ABOVE) << TO_SHAPE
        return total

    cdef bint is_valid_after(self, Part* part, uint32_t place) noexcept nogil:
        """Whether each character that ends in a token is valid; the first may have begun before."""
        cdef uint64_t span = self.spans[place]
        cdef Py_ssize_t byte
        for byte in range(<Py_ssize_t> (span & LENGTH)):
            if not completes(part, self.bytes_at[(span >> 32) + byte]):
                continue
            if part.width > 1 and valid_width(part.data, part.width) != part.width:
                return False
            part.n = 0
        return True

    cdef void copy_text(
        self, Ids places, uint32_t seen, void* out, Py_ssize_t total
    ) noexcept nogil:
        """Characters of all tokens, as `measure` found them: `total`, to a str's memory."""
        if seen & ABOVE_BMP:
            self.copy_characters(places, <uint32_t*> out, <uint32_t*> out + total)
        elif seen & ABOVE_LATIN:
            self.copy_characters(places, <uint16_t*> out, <uint16_t*> out + total)
        else:
            self.copy_characters(places, <uint8_t*> out, <uint8_t*> out + total)

    cdef void copy_characters(self, Ids places, Unit* out, const Unit* end) noexcept nogil:
        cdef Unit last[2 * ROOM]        # a row is copied whole: the last ones would not fit
        cdef Unit* rest = last
        cdef Part part
        cdef Py_ssize_t at
        part.n = part.width = 0
        at = self.copy_tokens(&part, places, 0, &out, end)
        self.copy_tokens(&part, places, at, &rest, last + 2 * ROOM)
        memcpy(out, last, (end - out) * sizeof(Unit))

    cdef Py_ssize_t copy_tokens(
        self, Part* part, Ids places, Py_ssize_t at, Unit** written, const Unit* end
    ) noexcept nogil:
        """Characters of tokens from one on, while a row has room. Returns the first one left."""
        cdef const uint32_t* place = places.data
        cdef const uint8_t* kinds = &self.kinds[0]
        cdef const uint16_t* rows = &self.rows[0]
        cdef uint8_t kind
        cdef Unit* out = written[0]
        while at < places.n and out + ROOM <= end:
            prefetch(rows + <size_t> place[at + AHEAD] * ROOM)
            kind = known_byte(kinds + place[at])
            if likely(has_row(kind)):
                copy_row(rows + <size_t> place[at] * ROOM, out)
                out += kind & CHARACTERS
            else:
                out += self.copy_token(part, place[at], out)
            at += 1
        written[0] = out
        return at

    cdef Py_ssize_t copy_token(self, Part* part, uint32_t place, Unit* out) noexcept nogil:
        """Characters that end in a token without a row. Returns how many."""
        cdef uint64_t span = self.spans[place]
        cdef uint32_t shape = self.shape(place)
        cdef Py_ssize_t at
        if shape & LENGTH != span & LENGTH or shape & PARTIAL:
            return self.decode_token(part, place, out)
        for at in range(<Py_ssize_t> (span & LENGTH)):
            out[at] = <Unit> self.bytes_at[(span >> 32) + at]
        return span & LENGTH

    cdef Py_ssize_t decode_token(self, Part* part, uint32_t place, Unit* out) noexcept nogil:
        """Characters that end in a token, the first of which may have begun. Returns how many."""
        cdef uint64_t span = self.spans[place]
        cdef Py_ssize_t byte, n = 0
        for byte in range(<Py_ssize_t> (span & LENGTH)):
            if completes(part, self.bytes_at[(span >> 32) + byte]):
                out[n] = <Unit> decode_char(part.data, part.width)
                part.n = 0
                n += 1
        return n

    def spans_of(self, tokens):
        """The characters that each token has bytes of: int64, shape (tokens, 2).

        They are counted from the first token, as if the tokens were valid UTF-8. Raises as `join`.
        """
        cdef Ids places = self.places_of(tokens)
        spans = np.empty((places.n, 2), dtype=np.int64)
        cdef int64_t[:, ::1] out = spans
        cdef Py_ssize_t at, done = 0
        cdef uint32_t shape
        with nogil:
            for at in range(places.n):
                shape = self.shape(places.data[at])
                out[at, 0] = done - (shape & INNER != 0 and done > 0)
                done += shape & LENGTH
                out[at, 1] = done
        return spans

    def rows_of(self, tokens):
        """Where tokens stand in `all_ids`: int64, shape (tokens,). Raises as `join`."""
        cdef Ids places = self.places_of(tokens)
        cdef Py_ssize_t at
        rows = np.empty(places.n, dtype=np.int64)
        cdef int64_t[::1] out = rows
        for at in range(places.n):
            out[at] = places.data[at]
        return rows

    def all_ids(self):
        """The ids of all tokens in order: uint32."""
        return np.asarray(self.ids)

    def starts_of(self, tokens):
        """The first column of `spans_of`, as a list of int."""
        cdef Ids places = self.places_of(tokens)
        cdef Py_ssize_t at, done = 0
        cdef uint32_t shape
        cdef list starts = []
        for at in range(places.n):
            shape = self.shape(places.data[at])
            starts.append(done - (shape & INNER != 0 and done > 0))
            done += shape & LENGTH
        return starts

    cdef inline uint32_t shape(self, Py_ssize_t place) noexcept nogil:
        """The shape of a token; from here on `kinds` and `rows` have it."""
        cdef uint8_t kind = known_byte(&self.kinds[place])
        cdef uint32_t shape
        if likely(has_row(kind)):
            return kind & CHARACTERS | (kind & ABOVE) << TO_SHAPE
        if unlikely(kind == 0):
            return self.find_shape(place)
        acquire()
        memcpy(&shape, &self.rows[place * ROOM], sizeof(shape))
        return shape

    cdef uint32_t find_shape(self, Py_ssize_t place) noexcept nogil:
        # Threads that do this at once write the same.
        cdef const uint8_t* token = self.bytes_at + (self.spans[place] >> 32)
        cdef uint32_t shape = shape_of(token, self.spans[place] & LENGTH)
        cdef Py_ssize_t n = shape & LENGTH
        cdef uint8_t kind = SHAPE_IN_ROW
        if shape & (ABOVE_BMP | PARTIAL) or not 0 < n <= ROOM:
            memcpy(&self.rows[place * ROOM], &shape, sizeof(shape))
        else:
            write_characters(token, n, &self.rows[place * ROOM])
            kind = n | (shape >> TO_SHAPE & ABOVE)
        publish_byte(&self.kinds[place], kind)
        return shape


def trim_spans(int64_t[:, ::1] spans not None, const int64_t[:, ::1] ends not None, bint takes_prefix):
    """Trim spans, as post-processors of `tokenizers` do, in place.

    Args:
        spans: int64, shape (n, 2); of tokens.
        ends: int64, shape (n, 2); how many blanks are at both ends of each.
        takes_prefix: a single blank before the text was inserted, and is in no span.
    """
    cdef Py_ssize_t at
    cdef int64_t start, end, leading
    if ends.shape[0] != spans.shape[0] or ends.shape[1] != 2 or spans.shape[1] != 2:
        raise ValueError(f"there are {spans.shape[0]} spans, and ends of {ends.shape[0]}")
    for at in range(spans.shape[0]):
        start, end, leading = spans[at, 0], spans[at, 1], ends[at, 0]
        if leading == 1 and takes_prefix and (at == 0 or start == 0):
            leading = 0
        start = min(start + leading, end)
        if end >= ends[at, 1]:
            end = max(end - ends[at, 1], start)
        spans[at, 0], spans[at, 1] = start, end


cdef inline bint has_row(uint8_t kind) noexcept nogil:
    """Whether a token of this kind has its characters in its row."""
    return <signed char> kind > 0


cdef inline void copy_row(const uint16_t* row, Unit* out) noexcept nogil:
    cdef uint16_t few[ROOM]
    cdef Py_ssize_t at
    if Unit is uint16_t:
        memcpy(out, row, sizeof(few))
    else:
        memcpy(few, row, sizeof(few))
        for at in range(ROOM):
            out[at] = <Unit> few[at]


cdef inline uint32_t highest_character(uint32_t shape) noexcept nogil:
    if shape & ABOVE_BMP:
        return 0x10FFFF
    if shape & ABOVE_LATIN:
        return 0xFFFF
    return 0xFF if shape & ABOVE_ASCII else 0x7F


cdef inline uint32_t above_of(uint8_t lead) noexcept nogil:
    """In the shape of a token: which characters begin with this byte."""
    if lead < 0xC4:
        return ABOVE_ASCII
    return ABOVE_LATIN if lead < 0xF0 else ABOVE_BMP


cdef uint32_t shape_of(const uint8_t* token, Py_ssize_t n) noexcept nogil:
    """The shape of a token of n bytes; ROOM more can be read."""
    cdef Py_ssize_t at = 0, width
    cdef uint32_t shape
    while at < n and not load64(token + at) & low_bytes[min(n - at, 8)] & HIGH_BITS:
        at += 8
    if at >= n:
        return n
    shape = at + (INNER if is_continuation(token[0]) else 0)
    while at < n:
        if token[at] < 0x80:
            shape += 1
            at += 1
            continue
        width = valid_width(token + at, n - at)
        if width == 0:
            shape |= PARTIAL
            width = 1
        if not is_continuation(token[at]):
            shape = (shape + 1) | above_of(token[at])
        at += width
    return shape


cdef void write_characters(const uint8_t* token, Py_ssize_t n, uint16_t* out) noexcept nogil:
    """The n characters of a valid text, none of which takes four bytes."""
    cdef Py_ssize_t at, width
    for at in range(n):
        width = char_bytes(token[0])
        out[at] = <uint16_t> decode_char(token, width)
        token += width


cdef inline uint32_t id_of(item) except? 0xFFFFFFFF:
    """A token id as the tables have it."""
    cdef int overflow = 0
    cdef object number = item if PyLong_CheckExact(item) else PyNumber_Index(item)
    # What does not fit gives -1.
    cdef long long token_id = PyLong_AsLongLongAndOverflow(number, &overflow)
    if not 0 <= token_id <= 0xFFFFFFFF:
        # Python refuses to write one of thousands of digits.
        n_bits = number.bit_length()
        got = f"{number}" if n_bits < 1 << 10 else f"an integer of {n_bits} bits"
        raise OverflowError(f"token ids must be from 0 to 2**32 - 1, got {got}")
    return <uint32_t> token_id


cdef class Ids:
    """Token ids of any kind as a buffer of uint32, of its own, and AHEAD zeros after them."""

    cdef uint32_t* data
    cdef Py_ssize_t n

    def __cinit__(self, tokens):
        if type(tokens) is not list and type(tokens) is not tuple:
            array = array_of(tokens)
            if array is not None:
                self.copy_array(array)
                return
            tokens = list(tokens)
        self.copy_items(tokens)

    def __dealloc__(self):
        free(self.data)

    cdef int reserve(self, Py_ssize_t n) except -1:
        self.n = n
        self.data = <uint32_t*> malloc((n + AHEAD) * sizeof(uint32_t))
        if self.data == NULL:
            raise MemoryError(f"no memory for {n} token ids")
        memset(self.data + n, 0, AHEAD * sizeof(uint32_t))
        return 0

    cdef int copy_array(self, array) except -1:
        cdef const uint32_t[::1] ids
        if array.dtype != np.uint32 and array.size:
            if not 0 <= int(array.min()) <= int(array.max()) <= 0xFFFFFFFF:
                id_of(array[(array < 0) | (array > 0xFFFFFFFF)][0])     # which refuses it
        ids = np.ascontiguousarray(array, dtype=np.uint32)
        self.reserve(ids.shape[0])
        if self.n > 0:
            memcpy(self.data, &ids[0], self.n * sizeof(uint32_t))
        return 0

    cdef int copy_items(self, ids) except -1:
        """Copy the ids of a list or a tuple."""
        cdef Py_ssize_t at
        with critical_section(ids):
            self.reserve(len(ids))
            at = read_ids(PySequence_Fast_ITEMS(ids), self.n, self.data)
        while at < self.n:
            # An item's __index__ may be anybody's code, and shorten the list.
            if at >= len(ids):
                raise RuntimeError("the list of tokens became shorter while it was read")
            self.data[at] = id_of(ids[at])
            at += 1
        return 0


cdef object array_of(tokens):
    """An array of integers that shares the memory of what has one; else None."""
    try:
        # What is no array is refused before numpy is imported.
        source = tokens if hasattr(tokens, "__array__") else memoryview(tokens)
        array = np.asarray(source)
    except (TypeError, ValueError):
        return None
    return array if array.ndim == 1 and array.dtype.kind in "iu" else None
