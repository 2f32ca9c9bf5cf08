"""Text as strings of JSON.

Guarded by tests/kernels/test_json_text.py.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from cutline.kernels.base.common cimport load64, memcpy, memset, uint8_t, uint64_t

cdef uint64_t HIGH_BITS = <uint64_t> 0x8080808080808080
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
    cdef Py_ssize_t n = utf8.shape[0], at = 0, n_out = 2
    cdef const uint8_t* text
    cdef bytes made
    if n == 0:
        return b'""'    # there may be no address
    text = &utf8[0]
    while True:
        at = plain_until(text, at, n)
        if at == n:
            break
        n_out += 5 if ESCAPES[text[at]] == c"u" else 1
        at += 1
    made = PyBytes_FromStringAndSize(NULL, n + n_out)
    write_string(text, n, <uint8_t*> PyBytes_AS_STRING(made))
    return made


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


cdef void write_string(const uint8_t* text, Py_ssize_t n, uint8_t* out) noexcept nogil:
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
