"""The tokens and merges in a `tokenizer.json`, read without an object for each.

What is not plain JSON of the usual form is left to the standard library: then there is no result.

Guarded by tests/kernels/test_json_model.py.
"""

from libc.math cimport isfinite
from libc.stdlib cimport free, malloc

from cutline.kernels.base.late import numpy as np

from cutline.kernels.base.common cimport (
    int64_t, memcmp, memcpy, uint8_t, uint32_t, uint64_t,
)

cdef enum:
    MOST_DIGITS = 18        # any such number is an int64
    NO_DIGIT = 0xFF
    MOST_SCALED = 308       # the greatest power of ten that a double holds

cdef uint64_t TENTH = <uint64_t> 0xFFFFFFFFFFFFFFFF // 10

cdef uint8_t[256] DIGITS        # the values of hexadecimal ones
cdef int digit
for digit in range(256):
    DIGITS[digit] = NO_DIGIT
for digit in range(16):
    DIGITS[<uint8_t> ord("%x" % digit)] = DIGITS[<uint8_t> ord("%X" % digit)] = digit

cdef double[MOST_SCALED + 1] POWERS
cdef int power
for power in range(MOST_SCALED + 1):
    POWERS[power] = float(f"1e{power}")     # as it is written: pow rounds otherwise


cdef struct Input:
    const uint8_t* text
    Py_ssize_t at
    Py_ssize_t n

cdef struct Texts:
    uint8_t* arena
    Py_ssize_t n_bytes
    uint32_t* lengths
    Py_ssize_t n


cdef class _Texts:
    """Room for the texts of a document: they are not longer than it."""
    cdef Texts kept

    def __cinit__(self, Py_ssize_t n_bytes):
        # What is not written takes no memory.
        self.kept.arena = <uint8_t*> malloc(n_bytes + 1)
        self.kept.lengths = <uint32_t*> malloc((n_bytes // 2 + 2) * sizeof(uint32_t))
        self.kept.n_bytes = self.kept.n = 0
        if self.kept.arena == NULL or self.kept.lengths == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.kept.arena)
        free(self.kept.lengths)

    cdef tuple taken(self):
        """The texts' UTF-8 and their lengths."""
        lengths = np.empty(self.kept.n, dtype=np.uint32)
        cdef uint32_t[::1] view = lengths
        if self.kept.n:
            memcpy(&view[0], self.kept.lengths, self.kept.n * sizeof(uint32_t))
        return self.kept.arena[:self.kept.n_bytes], lengths


def read_model(const uint8_t[::1] document not None):
    """Find `vocab` and `merges` in the member `model` of a JSON object, and read them.

    Returns:
        None, or the rest of the document with null in their places; and for each of the two the
        texts' UTF-8, joined, with their lengths as uint32. Of `vocab` also the ids, int64, or the
        scores, float64; of `merges` the texts are pairs. Without `merges` it is None. The texts
        are UTF-8 if the document is.

    Trusts nothing: the rest must be read, and have null in these places, for it to be JSON.

    >>> read_model(b'{"model": {"vocab": {"a": 0}, "merges": ["a b"]}}')[0]
    b'{"model": {"vocab": null, "merges": null}}'
    """
    if document.shape[0] == 0:
        return None
    cdef Input json = Input(&document[0], 0, document.shape[0])
    cdef _Texts tokens = None, merges = None
    cdef Py_ssize_t start, n_numbers = document.shape[0] // 4 + 1
    cdef Py_ssize_t key, n_key
    cdef bint in_model = False, has_model = False, is_done = False, is_ids, ok
    numbers = None
    spans = []
    if not opens(&json, c"{"):
        return None
    while True:
        blanks(&json)
        key = json.at + 1
        if not skip_string(&json):
            return None
        n_key = json.at - 1 - key
        if has_escape(json.text + key, n_key) or not opens(&json, c":"):
            return None
        blanks(&json)
        start = json.at
        if not in_model and is_key(&json, key, n_key, b"model"):
            if has_model or not opens(&json, c"{"):
                return None
            in_model = has_model = True
            continue
        if in_model and is_key(&json, key, n_key, b"vocab"):
            if tokens is not None or json.at == json.n:
                return None
            tokens = _Texts(json.n - json.at)
            is_ids = json.text[json.at] == c"{"
            numbers = np.empty(n_numbers, dtype=np.int64 if is_ids else np.float64)
            ok = read_ids(&json, &tokens.kept, numbers) if is_ids else read_scores(
                &json, &tokens.kept, numbers
            )
            if not ok:
                return None
            numbers = numbers[:tokens.kept.n].copy()
            spans.append((start, json.at))
        elif in_model and is_key(&json, key, n_key, b"merges"):
            if merges is not None:
                return None
            merges = _Texts(json.n - json.at)
            with nogil:
                ok = read_pairs(&json, &merges.kept)
            if not ok:
                return None
            spans.append((start, json.at))
        elif not skip_value(&json):
            return None
        while not (is_done or opens(&json, c",")):
            if not opens(&json, c"}"):
                return None
            is_done = not in_model
            in_model = False
        if is_done:
            break
    if tokens is None:
        return None
    rest, done = [], 0
    for first, last in spans:
        rest += [bytes(document[done:first]), b"null"]
        done = last
    rest.append(bytes(document[done:]))
    pairs = None if merges is None else merges.taken()
    return b"".join(rest), (*tokens.taken(), numbers), pairs


cdef inline bint is_key(Input* json, Py_ssize_t at, Py_ssize_t n, bytes key):
    return n == len(key) and memcmp(json.text + at, <const char*> key, n) == 0


cdef bint has_escape(const uint8_t* text, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t at
    for at in range(n):
        if text[at] == c"\\":
            return True
    return False


cdef inline void blanks(Input* json) noexcept nogil:
    cdef uint8_t byte
    while json.at < json.n:
        byte = json.text[json.at]
        if byte != c" " and byte != c"\n" and byte != c"\r" and byte != c"\t":
            return
        json.at += 1


cdef inline bint opens(Input* json, uint8_t mark) noexcept nogil:
    """Whether this mark comes next, which is read."""
    blanks(json)
    if json.at == json.n or json.text[json.at] != mark:
        return False
    json.at += 1
    return True


cdef inline bint closes(Input* json, uint8_t mark, bint* goes_on) noexcept nogil:
    """Whether a comma comes next, or else the mark that closes."""
    goes_on[0] = opens(json, c",")
    return goes_on[0] or opens(json, mark)


cdef bint skip_string(Input* json) noexcept nogil:
    if json.at == json.n or json.text[json.at] != c'"':
        return False
    json.at += 1
    while json.at < json.n and json.text[json.at] != c'"':
        json.at += 2 if json.text[json.at] == c"\\" else 1
    json.at += 1
    return json.at <= json.n


cdef bint skip_value(Input* json) noexcept nogil:
    """Go on to the comma or bracket after a value, which may be no JSON."""
    cdef Py_ssize_t depth = 0
    cdef uint8_t byte
    while json.at < json.n:
        byte = json.text[json.at]
        if byte == c'"':
            if not skip_string(json):
                return False
            continue
        if depth == 0 and (byte == c"," or byte == c"}" or byte == c"]"):
            return True
        if byte == c"{" or byte == c"[":
            depth += 1
        elif byte == c"}" or byte == c"]":
            depth -= 1
        json.at += 1
    return False


# Tokens and merges


cdef bint read_ids(Input* json, Texts* tokens, int64_t[::1] ids) noexcept nogil:
    cdef bint goes_on = True
    if not opens(json, c"{"):
        return False
    while goes_on:
        blanks(json)
        if not (read_text(json, tokens) and opens(json, c":")):
            return False
        blanks(json)
        if not (read_id(json, &ids[tokens.n - 1]) and closes(json, c"}", &goes_on)):
            return False
    return True


cdef bint read_scores(Input* json, Texts* tokens, double[::1] scores) noexcept:
    cdef bint goes_on = True
    if not opens(json, c"["):
        return False
    while goes_on:
        if not opens(json, c"["):
            return False
        blanks(json)
        if not (read_text(json, tokens) and opens(json, c",")):
            return False
        blanks(json)
        if not (
            read_score(json, &scores[tokens.n - 1])
            and opens(json, c"]") and closes(json, c"]", &goes_on)
        ):
            return False
    return True


cdef bint read_pairs(Input* json, Texts* texts) noexcept nogil:
    cdef bint goes_on = True
    if not opens(json, c"["):
        return False
    if opens(json, c"]"):
        return True
    while goes_on:
        if opens(json, c"["):
            blanks(json)
            if not (read_text(json, texts) and opens(json, c",")):
                return False
            blanks(json)
            if not (read_text(json, texts) and opens(json, c"]")):
                return False
        elif not (read_text(json, texts) and cut_at_blank(texts)):
            return False
        if not closes(json, c"]", &goes_on):
            return False
    return True


cdef bint cut_at_blank(Texts* texts) noexcept nogil:
    """Make the last text, a pair with a blank between, two, or drop it; False: it is none."""
    cdef uint32_t n = texts.lengths[texts.n - 1], at = 0
    cdef uint8_t* text = texts.arena + texts.n_bytes - n
    if n >= 8 and memcmp(text, b"#version", 8) == 0:      # the package skips it
        while at < n:
            if text[at] >= 0x80:    # perhaps no UTF-8
                return False
            at += 1
        texts.n -= 1
        texts.n_bytes -= n
        return True
    while at < n and text[at] != c" ":
        at += 1
    if at == n:
        return False
    texts.n_bytes -= 1
    texts.lengths[texts.n - 1] = at
    texts.lengths[texts.n] = n - at - 1
    texts.n += 1
    while at < n - 1:
        text[at] = text[at + 1]
        if text[at] == c" ":
            return False
        at += 1
    return True


cdef bint read_text(Input* json, Texts* texts) noexcept nogil:
    """Read a string, and append its text."""
    # What is written could be anything for the compiler: only what is local need not be read again.
    cdef const uint8_t* at = json.text + json.at
    cdef const uint8_t* end = json.text + json.n
    cdef uint8_t byte
    cdef uint8_t* out = texts.arena + texts.n_bytes
    cdef uint8_t* start = out
    if at == end or at[0] != c'"':
        return False
    at += 1
    while at < end:
        byte = at[0]
        at += 1
        if byte == c'"':
            json.at = at - json.text
            texts.lengths[texts.n] = <uint32_t> (out - start)
            texts.n += 1
            texts.n_bytes += out - start
            return True
        if byte < 0x20:
            return False
        if byte == c"\\":
            json.at = at - json.text
            out = read_escape(json, out)
            if out == NULL:
                return False
            at = json.text + json.at
            continue
        out[0] = byte
        out += 1
    return False


cdef inline uint8_t* read_escape(Input* json, uint8_t* out) noexcept nogil:
    """Write what stands for the character after a backslash. NULL: it is none."""
    cdef int64_t code, low
    cdef uint8_t byte
    if json.at == json.n:
        return NULL
    byte = json.text[json.at]
    json.at += 1
    if byte == c"u":
        code = read_hex(json)
        if 0xD800 <= code < 0xDC00:
            if json.at + 2 > json.n or json.text[json.at] != c"\\" or (
                json.text[json.at + 1] != c"u"
            ):
                return NULL
            json.at += 2
            low = read_hex(json)
            if not 0xDC00 <= low < 0xE000:
                return NULL
            code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00))
        elif code < 0 or 0xDC00 <= code < 0xE000:
            return NULL
        return write_character(<uint32_t> code, out)
    if byte == c'"' or byte == c"\\" or byte == c"/":
        out[0] = byte
    elif byte == c"b":
        out[0] = c"\b"
    elif byte == c"f":
        out[0] = c"\f"
    elif byte == c"n":
        out[0] = c"\n"
    elif byte == c"r":
        out[0] = c"\r"
    elif byte == c"t":
        out[0] = c"\t"
    else:
        return NULL
    return out + 1


cdef inline int64_t read_hex(Input* json) noexcept nogil:
    """The value of four hexadecimal digits; -1: these are none."""
    cdef const uint8_t* digits = json.text + json.at
    cdef uint32_t one, two, three, four
    if json.at + 4 > json.n:
        return -1
    one, two, three, four = DIGITS[digits[0]], DIGITS[digits[1]], DIGITS[digits[2]], DIGITS[digits[3]]
    if one | two | three | four == NO_DIGIT:
        return -1
    json.at += 4
    return one << 12 | two << 8 | three << 4 | four


cdef inline uint8_t* write_character(uint32_t code, uint8_t* out) noexcept nogil:
    if code < 0x80:
        out[0] = code
        return out + 1
    if code < 0x800:
        out[0] = 0xC0 | code >> 6
        out[1] = 0x80 | code & 0x3F
        return out + 2
    if code < 0x10000:
        out[0] = 0xE0 | code >> 12
        out[1] = 0x80 | code >> 6 & 0x3F
        out[2] = 0x80 | code & 0x3F
        return out + 3
    out[0] = 0xF0 | code >> 18
    out[1] = 0x80 | code >> 12 & 0x3F
    out[2] = 0x80 | code >> 6 & 0x3F
    out[3] = 0x80 | code & 0x3F
    return out + 4


# Numbers


cdef bint read_id(Input* json, int64_t* out) noexcept nogil:
    """Read digits only, and not too many."""
    cdef Py_ssize_t start = json.at
    cdef int64_t value = 0
    cdef uint8_t byte
    while json.at < json.n:
        byte = json.text[json.at]
        if not c"0" <= byte <= c"9":
            break
        if json.at - start == MOST_DIGITS:
            return False
        value = 10 * value + (byte - c"0")
        json.at += 1
    out[0] = value
    return json.at > start and (json.text[start] != c"0" or json.at == start + 1)


cdef bint read_score(Input* json, double* out) noexcept:
    """Read a number as `tokenizers` does: the digits are one integer, which is then scaled.

    Of a fraction it drops the digits that an integer of 64 bits has no room for.
    """
    cdef Py_ssize_t first
    cdef uint64_t significand = 0
    cdef int64_t exponent = 0
    cdef Py_ssize_t n_fraction = 0
    cdef bint is_negative = False, is_down = False, in_fraction = False, drops = False
    cdef uint8_t byte
    if json.at < json.n and json.text[json.at] == c"-":
        is_negative = True
        json.at += 1
    first = json.at
    if json.at + 1 < json.n and json.text[json.at] == c"0" and (
        c"0" <= json.text[json.at + 1] <= c"9"
    ):
        return False
    while json.at < json.n:
        byte = json.text[json.at]
        if byte == c"." and not in_fraction and json.at > first:
            in_fraction = True
            first = json.at + 1
        elif c"0" <= byte <= c"9":
            if significand > TENTH or (significand == TENTH and byte > c"5"):
                if not in_fraction:
                    return False
                drops = True
            if not drops:
                significand = 10 * significand + (byte - c"0")
                n_fraction += in_fraction
        else:
            break
        json.at += 1
    if json.at == first:
        return False
    if json.at < json.n and json.text[json.at] | 0x20 == c"e":
        json.at += 1
        if json.at < json.n and (json.text[json.at] == c"-" or json.text[json.at] == c"+"):
            is_down = json.text[json.at] == c"-"
            json.at += 1
        first = json.at
        while json.at < json.n and c"0" <= json.text[json.at] <= c"9":
            if json.at - first == 4:
                return False
            exponent = 10 * exponent + (json.text[json.at] - c"0")
            json.at += 1
        if json.at == first:
            return False
    elif not in_fraction and is_negative and significand == 0:
        return False    # the standard library has no -0 that is an integer
    exponent = (-exponent if is_down else exponent) - n_fraction
    if exponent > MOST_SCALED:
        return False
    out[0] = <double> significand
    while exponent < -MOST_SCALED:
        out[0] /= POWERS[MOST_SCALED]
        exponent += MOST_SCALED
    if exponent < 0:
        out[0] /= POWERS[-exponent]
    else:
        out[0] *= POWERS[exponent]
    if is_negative:
        out[0] = -out[0]
    return isfinite(out[0])
