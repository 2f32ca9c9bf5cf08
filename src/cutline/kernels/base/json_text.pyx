"""Text as strings of JSON.

Guarded by tests/kernels/test_json_text.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdlib cimport free, malloc

from cutline.kernels.base.common cimport HIGH_BITS, int64_t, load64, memcpy, memset, uint8_t, uint64_t
from cutline.kernels.base.new_bytes cimport bytes_data, first_bytes, new_bytes

cdef enum:
    DIGITS = 20     # of a number at most, its sign included

cdef struct Part:
    const uint8_t* data
    Py_ssize_t n

# What lines consist of, but for numbers.
cdef struct Lines:
    const Part* names
    Py_ssize_t n_numbers
    const uint8_t* text
    const Part* tails
    const uint8_t* hashes
    Py_ssize_t hash_bytes       # of each
    const Part* end

cdef uint64_t ONES = <uint64_t> 0x0101010101010101

# What stands after the backslash, by byte; 0: the byte stands for itself.
cdef uint8_t[256] ESCAPES
memset(ESCAPES, 0, 256)
memset(ESCAPES, c"u", 32)
ESCAPES[c"\b"], ESCAPES[c"\f"], ESCAPES[c"\n"], ESCAPES[c"\r"], ESCAPES[c"\t"] = b"bfnrt"
ESCAPES[c'"'], ESCAPES[c"\\"] = b'"\\'


def json_string(const uint8_t[::1] utf8 not None):
    """The string of JSON for a text's UTF-8: `json.dumps(text, ensure_ascii=False).encode()`.

    >>> json_string('say "ñ"\\n'.encode()).decode()
    '"say \\\\"ñ\\\\"\\\\n"'
    """
    cdef Py_ssize_t n = utf8.shape[0]
    cdef const uint8_t* text
    cdef bytes made
    if n == 0:
        return b'""'    # there may be no address
    text = &utf8[0]
    made = PyBytes_FromStringAndSize(NULL, string_bytes(text, n))
    write_string(text, n, <uint8_t*> PyBytes_AS_STRING(made))
    return made


def json_lines(
    tuple names not None, const int64_t[::1] numbers not None, bytes utf8 not None,
    const int64_t[::1] byte_ends not None, tuple tails not None, const int64_t[:] kinds not None,
    bytes hashes not None, bytes end not None
):
    """Lines that consist of numbers, a string of JSON, a tail, a hash, and an end. Releases the GIL.

    Args:
        names: what stands before each number of a line, and before the string.
        numbers: those of all lines.
        utf8: the strings, one after another.
        byte_ends: where each ends there.
        tails: what follows a string, by kinds of lines.
        kinds: of each line.
        hashes: what follows the tail of each, as many bytes for one as for another.
        end: of all lines.

    >>> from array import array
    >>> json_lines(
    ...     (b"[", b", ", b", "), array("q", [1, -2]), b"a", array("q", [1]), (b", ",), array("q", [0]),
    ...     b"99", b"]",
    ... )
    b'[1, -2, "a", 99]'
    """
    cdef Py_ssize_t n = byte_ends.shape[0], n_numbers = len(names) - 1, line
    cdef Lines lines
    cdef Part* parts
    cdef PyObject* made
    if numbers.shape[0] != n * n_numbers or kinds.shape[0] != n or n and len(hashes) % n:
        raise ValueError("each line needs its numbers, its kind and its hash")
    for line in range(n):
        if not 0 <= kinds[line] < len(tails):
            raise ValueError("each kind of lines needs a tail")
    parts = <Part*> malloc((len(names) + len(tails) + 1) * sizeof(Part))
    if parts == NULL:
        raise MemoryError
    for line, part in enumerate((*names, *tails, end)):
        parts[line].data = <const uint8_t*> PyBytes_AS_STRING(part)
        parts[line].n = len(<bytes> part)
    lines.names, lines.tails = parts, parts + len(names)
    lines.end = lines.tails + len(tails)
    lines.n_numbers = n_numbers
    lines.text = <const uint8_t*> PyBytes_AS_STRING(utf8)
    lines.hashes = <const uint8_t*> PyBytes_AS_STRING(hashes)
    lines.hash_bytes = len(hashes) // n if n else 0
    try:
        with nogil:
            line = lines_bytes(&lines, byte_ends, kinds)
        made = new_bytes(NULL, line)
        with nogil:
            line = write_lines(&lines, numbers, byte_ends, kinds, <uint8_t*> bytes_data(made))
    finally:
        free(parts)
    return first_bytes(made, line)


cdef Py_ssize_t lines_bytes(
    const Lines* lines, const int64_t[::1] byte_ends, const int64_t[:] kinds
) noexcept nogil:
    """The most bytes that the lines can have."""
    cdef Py_ssize_t n = byte_ends.shape[0], n_out, start = 0, line, place
    n_out = n * (lines.n_numbers * DIGITS + lines.hash_bytes + lines.end.n)
    for place in range(lines.n_numbers + 1):
        n_out += n * lines.names[place].n
    for line in range(n):
        n_out += string_bytes(lines.text + start, byte_ends[line] - start)
        n_out += lines.tails[kinds[line]].n
        start = byte_ends[line]
    return n_out


cdef Py_ssize_t write_lines(
    const Lines* lines, const int64_t[::1] numbers, const int64_t[::1] byte_ends,
    const int64_t[:] kinds, uint8_t* begin
) noexcept nogil:
    """Write the lines. Returns their bytes."""
    cdef Py_ssize_t n = byte_ends.shape[0], n_numbers = lines.n_numbers, start = 0, line, place
    cdef uint8_t* out = begin
    cdef Part digits
    digits.n = lines.hash_bytes
    for line in range(n):
        for place in range(n_numbers):
            out = write_part(&lines.names[place], out)
            out = write_number(numbers[line * n_numbers + place], out)
        out = write_part(&lines.names[n_numbers], out)
        out = write_string(lines.text + start, byte_ends[line] - start, out)
        out = write_part(&lines.tails[kinds[line]], out)
        digits.data = lines.hashes + line * digits.n
        out = write_part(&digits, out)
        out = write_part(lines.end, out)
        start = byte_ends[line]
    return out - begin


cdef inline uint8_t* write_part(const Part* part, uint8_t* out) noexcept nogil:
    memcpy(out, part.data, part.n)
    return out + part.n


cdef uint8_t* write_number(int64_t number, uint8_t* out) noexcept nogil:
    cdef uint8_t[DIGITS] digits
    cdef int n = 0
    cdef uint64_t rest = <uint64_t> number
    if number < 0:
        out[0] = c"-"
        out += 1
        rest = 0 - rest
    while True:
        n += 1
        digits[DIGITS - n] = <uint8_t> (c"0" + rest % 10)
        rest //= 10
        if not rest:
            break
    memcpy(out, digits + DIGITS - n, n)
    return out + n


cdef Py_ssize_t string_bytes(const uint8_t* text, Py_ssize_t n) noexcept nogil:
    """Bytes of the string, its quotes included."""
    cdef Py_ssize_t at = 0, n_out = n + 2
    while True:
        at = plain_until(text, at, n)
        if at == n:
            return n_out
        n_out += 5 if ESCAPES[text[at]] == c"u" else 1
        at += 1


cdef inline Py_ssize_t plain_until(const uint8_t* text, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    """The first byte from `at` on that is escaped, or n."""
    cdef uint64_t word, quote, backslash
    while at <= n - 8:
        word = load64(text + at)
        quote = word ^ ONES * c'"'
        backslash = word ^ ONES * c"\\"
        # The high bit of a byte: it is zero after the xor, or below 0x20; and it was ASCII. A
        # borrow may set it in more bytes, but only in a word that has one to escape.
        if ((quote - ONES) | (backslash - ONES) | (word - ONES * 0x20)) & ~word & HIGH_BITS:
            break
        at += 8
    while at < n and not ESCAPES[text[at]]:
        at += 1
    return at


cdef uint8_t* write_string(const uint8_t* text, Py_ssize_t n, uint8_t* out) noexcept nogil:
    """Returns where the string ends."""
    cdef Py_ssize_t at = 0, until
    out[0] = c'"'
    out += 1
    while True:
        until = plain_until(text, at, n)
        memcpy(out, text + at, until - at)
        out += until - at
        if until == n:
            break
        out += write_escape(text[until], out)
        at = until + 1
    out[0] = c'"'
    return out + 1


cdef inline Py_ssize_t write_escape(uint8_t byte, uint8_t* out) noexcept nogil:
    """Returns the number of bytes written."""
    out[0] = c"\\"
    out[1] = ESCAPES[byte]
    if out[1] != c"u":
        return 2
    out[2] = out[3] = c"0"
    out[4] = c"0" + (byte >> 4)
    out[5] = (c"0" if byte & 15 < 10 else c"a" - 10) + (byte & 15)
    return 6
