"""A text's UTF-8, and how far bytes are valid UTF-8.

Guarded by tests/kernels/test_utf8.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from cpython.unicode cimport PyUnicode_AsUTF8String

from cutline.kernels.base.characters cimport Characters, Unit, characters_of, utf8_bytes, write_utf8
from cutline.kernels.base.common cimport HIGH_BITS, load64, memcpy, uint16_t, uint32_t, uint64_t
from cutline.kernels.base.new_bytes cimport bytes_data, first_bytes, new_bytes

cdef extern from "utf8.h":
    bint prepare_vectors "cutline_prepare_utf8"() noexcept nogil
    Py_ssize_t write_vectors "cutline_write_vectors"(
        const void* text, int kind, Py_ssize_t n, Py_ssize_t room, uint8_t** out
    ) noexcept nogil
    Py_ssize_t skip_valid "cutline_skip_valid"(
        const uint8_t* text, Py_ssize_t at, Py_ssize_t n
    ) noexcept nogil

cdef extern from "sixteen.h":
    uint32_t wide_surrogates "cutline_wide_surrogates"(const uint16_t* text) noexcept nogil
    uint32_t widest_surrogates "cutline_widest_surrogates"(const uint32_t* text) noexcept nogil

cdef enum:
    SIXTEEN = 16
    LINE = 32       # characters that are taken together where eight before were ASCII

cdef Py_ssize_t LONG = 1 << 16  # characters that take CPython some 50 µs

cdef bint has_vectors = prepare_vectors()


cpdef bytes encode_utf8(str text):
    """`text.encode()`, in half its time: CPython looks at each character of text that is not ASCII.

    Releases the GIL where a text has two bytes a character, and for every text that takes CPython
    a while.

    Raises:
        UnicodeEncodeError: the text has a surrogate code point.
    """
    if text is None:
        raise TypeError("text must be a str, got None")
    cdef Characters characters = characters_of(text)
    cdef PyObject* utf8
    cdef Py_ssize_t n = utf8_at_worst(&characters)
    if characters.kind != 2 and characters.n < LONG:
        return PyUnicode_AsUTF8String(text)
    if characters.n > MOST_AT_WORST:
        with nogil:
            n = utf8_bytes(&characters, 0, characters.n)
    utf8 = new_bytes(NULL, n)
    with nogil:
        n = write_text(&characters, False, <uint8_t*> bytes_data(utf8))
    if n < 0:
        Py_DECREF(<object> utf8)
        return PyUnicode_AsUTF8String(text)     # which says where the surrogate is
    return first_bytes(utf8, n)


def has_surrogates(str text not None):
    """Whether a text has a surrogate code point. Releases the GIL where it is long."""
    cdef Characters characters = characters_of(text)
    cdef bint found
    if characters.kind == 1:
        return False
    with nogil:
        if characters.kind == 2:
            found = any_surrogate(<const uint16_t*> characters.data, characters.n)
        else:
            found = any_surrogate(<const uint32_t*> characters.data, characters.n)
    return found


def encode_by(str text not None, bint vectors, Py_ssize_t room):
    """What encode_utf8 gives, of any kind and length; None: a surrogate.

    Args:
        text: any.
        vectors: whether eight characters are written at once; else one by one.
        room: so many are left to be written one by one, at least 8; fewer than UTF8_ROOM write
            behind the text's UTF-8.
    """
    cdef Characters characters = characters_of(text)
    cdef Py_ssize_t n = utf8_bytes(&characters, 0, characters.n)
    cdef bytes utf8 = PyBytes_FromStringAndSize(NULL, n + UTF8_ROOM - max(room, 8))
    cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(utf8)
    done = write_characters(&characters, vectors and has_vectors, max(room, 8), out)
    return utf8[:n] if done >= 0 else None


cdef inline bint any_surrogate(const Unit* text, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t at = 0
    while at + SIXTEEN <= n:
        if Unit is uint16_t and wide_surrogates(<const uint16_t*> text + at):
            return True
        if Unit is uint32_t and widest_surrogates(<const uint32_t*> text + at):
            return True
        at += SIXTEEN
    while at < n:
        if text[at] >> 11 == 0x1B:
            return True
        at += 1
    return False


cdef Py_ssize_t write_text(const Characters* text, bint is_wide, uint8_t* out) noexcept nogil:
    """Write a text's UTF-8. Returns its bytes; -1: the text has a surrogate.

    is_wide: the output has UTF8_ROOM bytes more, which may be written, too.
    """
    return write_characters(text, has_vectors, 8 if is_wide else UTF8_ROOM, out)


cdef Py_ssize_t write_characters(
    const Characters* text, bint by_vectors, Py_ssize_t room, uint8_t* out
) noexcept nogil:
    if text.kind == 1:
        return write_all(<const uint8_t*> text.data, text.n, by_vectors, room, out)
    if text.kind == 2:
        return write_all(<const uint16_t*> text.data, text.n, by_vectors, room, out)
    return write_all(<const uint32_t*> text.data, text.n, by_vectors, room, out)


cdef inline bint is_ascii(const Unit* text) noexcept nogil:
    """Whether LINE characters are; vectors of them, in loops that know their number."""
    cdef Unit seen = 0
    cdef Py_ssize_t at
    for at in range(LINE):
        seen |= text[at]
    return seen < 0x80


cdef Py_ssize_t write_all(
    const Unit* text, Py_ssize_t n, bint by_vectors, Py_ssize_t room, uint8_t* out
) noexcept nogil:
    cdef const uint8_t* begin = out
    cdef Py_ssize_t at = 0, stop, place
    cdef uint64_t words[4]          # eight characters
    cdef uint64_t seen, no_ascii
    if Unit is uint8_t:
        no_ascii = HIGH_BITS
    elif Unit is uint16_t:
        no_ascii = <uint64_t> 0xFF80FF80FF80FF80
    else:
        no_ascii = <uint64_t> 0xFFFFFF80FFFFFF80
    while at < n:
        stop = n
        if by_vectors and n - at >= room:
            at += write_vectors(text + at, sizeof(Unit), n - at, room, &out)
            stop = min(at + 8, n)   # one of these is why vectors stop
        while at <= stop - 8:
            memcpy(words, text + at, 8 * sizeof(Unit))
            seen = words[0]
            for place in range(1, <Py_ssize_t> sizeof(Unit)):
                seen |= words[place]
            if seen & no_ascii:
                break
            for place in range(8):
                out[place] = <uint8_t> text[at + place]
            at += 8
            out += 8
            while at <= stop - LINE and is_ascii(text + at):
                for place in range(LINE):
                    out[place] = <uint8_t> text[at + place]
                at += LINE
                out += LINE
        while at < stop and text[at] < 0x80:
            out[0] = <uint8_t> text[at]
            at += 1
            out += 1
        while at < stop and text[at] >= 0x80:
            if Unit is not uint8_t and text[at] >> 11 == 0xD800 >> 11:
                return -1
            out += write_utf8(text[at], out)
            at += 1
    return out - begin


def valid_bytes(const uint8_t[::1] data not None):
    """Bytes of the longest beginning that consists of whole characters in valid UTF-8.

    What follows it is no UTF-8, or a character whose end is missing. Releases the GIL.

    >>> valid_bytes("año".encode()), valid_bytes("añ".encode()[:-1]), valid_bytes(b"a\\xff")
    (4, 1, 1)
    """
    cdef Py_ssize_t n = data.shape[0], at = 0, width
    cdef const uint8_t* text = &data[0] if n else NULL
    with nogil:
        while at < n:
            if text[at] < 0x80:
                at += 1
                while at <= n - 8 and not load64(text + at) & HIGH_BITS:
                    at += 8
            else:
                width = valid_width(text + at, n - at)
                if not width:
                    break
                at += width
                if has_vectors and at >= 3:
                    at = skip_valid(text, at, n)
    return at
