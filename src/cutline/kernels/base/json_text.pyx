"""Text as strings of JSON.

Guarded by tests/kernels/test_json_text.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from cutline.kernels.base.common cimport HIGH_BITS, int64_t, load64, memcpy, memset, uint8_t, uint64_t

cdef enum:
    DIGITS = 20     # of a number at most, its sign included

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
    const int64_t[::1] byte_ends not None, list tails not None
):
    """Lines that consist of numbers, a string of JSON, and a tail.

    Args:
        names: what stands before each number of a line, and before the string.
        numbers: those of all lines.
        utf8: the strings, one after another.
        byte_ends: where each ends there.
        tails: what follows each string.

    >>> from array import array
    >>> json_lines((b"[", b", ", b", "), array("q", [1, -2]), b"a", array("q", [1]), [b"]"])
    b'[1, -2, "a"]'
    """
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(utf8)
    cdef Py_ssize_t n = byte_ends.shape[0], n_numbers = len(names) - 1, line, place, start = 0
    cdef Py_ssize_t n_out = n * n_numbers * DIGITS
    cdef uint8_t* out
    cdef bytes made, part
    if numbers.shape[0] != n * n_numbers or len(tails) != n:
        raise ValueError("each line needs its numbers and its tail")
    for part in names:
        n_out += n * len(part)
    for line in range(n):
        n_out += string_bytes(text + start, byte_ends[line] - start) + len(<bytes> tails[line])
        start = byte_ends[line]
    made = PyBytes_FromStringAndSize(NULL, n_out)
    out = <uint8_t*> PyBytes_AS_STRING(made)
    start = 0
    for line in range(n):
        for place in range(n_numbers):
            out = write_bytes(names[place], out)
            out = write_number(numbers[line * n_numbers + place], out)
        out = write_bytes(names[n_numbers], out)
        out = write_string(text + start, byte_ends[line] - start, out)
        out = write_bytes(tails[line], out)
        start = byte_ends[line]
    return made[:out - <uint8_t*> PyBytes_AS_STRING(made)]


cdef inline uint8_t* write_bytes(bytes part, uint8_t* out):
    memcpy(out, PyBytes_AS_STRING(part), len(part))
    return out + len(part)


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
