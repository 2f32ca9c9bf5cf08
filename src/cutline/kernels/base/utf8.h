/* Many characters to UTF-8 at once, or many bytes checked to be UTF-8, without a branch for each:
   words and blanks alternate in most scripts, and every change would be mispredicted. Needs SSSE3,
   asked for when the program runs. */
#ifndef CUTLINE_UTF8_H
#define CUTLINE_UTF8_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#include <tmmintrin.h>

#define CUTLINE_SSSE3 __attribute__((target("ssse3")))
#define CUTLINE_INLINE __attribute__((always_inline)) CUTLINE_SSSE3 static inline

/* Of eight characters below U+0800 in 16 bits each, by which of them are ASCII; and of four others
   in 32 bits each, by which are not ASCII (4 bits) and not below U+0800 (4 bits). */
static uint8_t cutline_by_two[256][16], cutline_by_four[256][16];
static uint8_t cutline_two_bytes[256], cutline_four_bytes[256];

/* Fill the tables of which bytes to keep, and of how many. False: the processor lacks SSSE3. */
static int cutline_prepare_utf8(void) {
    if (!__builtin_cpu_supports("ssse3"))
        return 0;
    for (int mask = 0; mask < 256; mask++) {
        int two = 0, four = 0;
        for (int at = 0; at < 8; at++) {
            cutline_by_two[mask][two++] = (uint8_t)(2 * at);
            if (!(mask >> at & 1))
                cutline_by_two[mask][two++] = (uint8_t)(2 * at + 1);
        }
        for (int at = 0; at < 4; at++)
            for (int byte = 0; byte < 1 + (mask >> at & 1) + (mask >> at >> 4 & 1); byte++)
                cutline_by_four[mask][four++] = (uint8_t)(4 * at + byte);
        cutline_two_bytes[mask] = (uint8_t)two;
        cutline_four_bytes[mask] = (uint8_t)four;
    }
    return 1;
}

/* Four characters below U+10000 that are no surrogates. Returns their bytes; writes 16. */
CUTLINE_INLINE Py_ssize_t cutline_write_four(__m128i text, uint8_t *out) {
    const __m128i low = _mm_set1_epi32(0x3F), beyond = _mm_set1_epi32(0x80);
    __m128i last = _mm_or_si128(_mm_and_si128(text, low), beyond);
    __m128i six = _mm_srli_epi32(text, 6);
    __m128i two = _mm_or_si128(
        _mm_or_si128(six, _mm_set1_epi32(0xC0)), _mm_slli_epi32(last, 8));
    __m128i three = _mm_or_si128(
        _mm_or_si128(_mm_srli_epi32(text, 12), _mm_set1_epi32(0xE0)),
        _mm_or_si128(
            _mm_slli_epi32(_mm_or_si128(_mm_and_si128(six, low), beyond), 8),
            _mm_slli_epi32(last, 16)));
    __m128i above1 = _mm_cmpgt_epi32(text, _mm_set1_epi32(0x7F));
    __m128i above2 = _mm_cmpgt_epi32(text, _mm_set1_epi32(0x7FF));
    int mask = _mm_movemask_ps(_mm_castsi128_ps(above1)) |
               _mm_movemask_ps(_mm_castsi128_ps(above2)) << 4;
    text = _mm_or_si128(_mm_andnot_si128(above1, text), _mm_and_si128(above1, two));
    text = _mm_or_si128(_mm_andnot_si128(above2, text), _mm_and_si128(above2, three));
    text = _mm_shuffle_epi8(text, _mm_loadu_si128((const __m128i *)cutline_by_four[mask]));
    _mm_storeu_si128((__m128i *)out, text);
    return cutline_four_bytes[mask];
}

/* Eight characters of 16 bits. Returns their bytes, of which up to 28 are written; 0: one of them is a
   surrogate. */
CUTLINE_INLINE Py_ssize_t cutline_write_eight(__m128i text, uint8_t *out) {
    const __m128i zero = _mm_setzero_si128();
    __m128i high = _mm_and_si128(text, _mm_set1_epi16((short)0xF800));
    if (_mm_movemask_epi8(_mm_cmpeq_epi16(high, zero)) == 0xFFFF) {
        __m128i is_ascii = _mm_cmpgt_epi16(_mm_set1_epi16(0x80), text);
        __m128i two = _mm_or_si128(
            _mm_or_si128(
                _mm_srli_epi16(text, 6),
                _mm_and_si128(_mm_slli_epi16(text, 8), _mm_set1_epi16(0x3F00))),
            _mm_set1_epi16((short)0x80C0));
        int mask = _mm_movemask_epi8(_mm_packs_epi16(is_ascii, zero));
        text = _mm_or_si128(_mm_and_si128(is_ascii, text), _mm_andnot_si128(is_ascii, two));
        text = _mm_shuffle_epi8(text, _mm_loadu_si128((const __m128i *)cutline_by_two[mask]));
        _mm_storeu_si128((__m128i *)out, text);
        return cutline_two_bytes[mask];
    }
    if (_mm_movemask_epi8(_mm_cmpeq_epi16(high, _mm_set1_epi16((short)0xD800))))
        return 0;
    Py_ssize_t n = cutline_write_four(_mm_unpacklo_epi16(text, zero), out);
    return n + cutline_write_four(_mm_unpackhi_epi16(text, zero), out + n);
}

/* Eight characters of `kind` bytes as 16 bits each. False: one of them is above U+FFFF. */
CUTLINE_INLINE int cutline_load_eight(const void *text, int kind, __m128i *eight) {
    if (kind == 1) {
        *eight = _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)text), _mm_setzero_si128());
        return 1;
    }
    *eight = _mm_loadu_si128((const __m128i *)text);
    if (kind == 2)
        return 1;
    __m128i later = _mm_loadu_si128((const __m128i *)text + 1);
    __m128i above = _mm_srli_epi32(_mm_or_si128(*eight, later), 16);
    if (_mm_movemask_epi8(_mm_cmpeq_epi32(above, _mm_setzero_si128())) != 0xFFFF)
        return 0;
    const __m128i halves = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    *eight = _mm_unpacklo_epi64(
        _mm_shuffle_epi8(*eight, halves), _mm_shuffle_epi8(later, halves));
    return 1;
}

/* The UTF-8 of the first of n characters of `kind` bytes: up to one that is a surrogate or above
   U+FFFF, or until fewer than `room`, eight or more, are left. Returns how many; moves `out`. */
CUTLINE_INLINE Py_ssize_t cutline_write_some(
    const uint8_t *text, int kind, Py_ssize_t n, Py_ssize_t room, uint8_t **out
) {
    uint8_t *to = *out;
    Py_ssize_t at = 0;
    while (n - at >= room) {
        __m128i eight, more;
        if (!cutline_load_eight(text + at * kind, kind, &eight))
            break;
        Py_ssize_t written = cutline_write_eight(eight, to);
        if (written == 0)
            break;
        at += 8;
        to += written;
        /* Where eight were ASCII, sixteen more may be. */
        while (written == 8 && n - at >= 16) {
            if (!cutline_load_eight(text + at * kind, kind, &eight) ||
                !cutline_load_eight(text + (at + 8) * kind, kind, &more))
                break;
            __m128i above = _mm_srli_epi16(_mm_or_si128(eight, more), 7);
            if (_mm_movemask_epi8(_mm_cmpeq_epi16(above, _mm_setzero_si128())) != 0xFFFF)
                break;
            _mm_storeu_si128((__m128i *)to, _mm_packus_epi16(eight, more));
            at += 16;
            to += 16;
        }
    }
    *out = to;
    return at;
}

/* The same, for the compiler to make a loop of each kind. */
CUTLINE_SSSE3 static Py_ssize_t cutline_write_vectors(
    const void *text, int kind, Py_ssize_t n, Py_ssize_t room, uint8_t **out
) {
    if (kind == 1)
        return cutline_write_some((const uint8_t *)text, 1, n, room, out);
    if (kind == 2)
        return cutline_write_some((const uint8_t *)text, 2, n, room, out);
    return cutline_write_some((const uint8_t *)text, 4, n, room, out);
}

/* What two bytes side by side can have wrong: a bit each. A bit is left where three tables agree, by
   the upper and the lower half of the first byte and the upper half of the second. */
enum {
    CUTLINE_SHORT = 1 << 0,         /* a lead, and no continuation */
    CUTLINE_LONG = 1 << 1,          /* ASCII, and a continuation */
    CUTLINE_OVERLONG_3 = 1 << 2,    /* E0, and below A0 */
    CUTLINE_LARGE = 1 << 3,         /* F4, and above 8F; F5 and more, and above 8F */
    CUTLINE_SURROGATE = 1 << 4,     /* ED, and above 9F */
    CUTLINE_OVERLONG_2 = 1 << 5,    /* C0 or C1 */
    CUTLINE_ENDS_4 = 1 << 6,        /* F0, and below 90; F5 and more, and below 90 */
    CUTLINE_TWO = 1 << 7,           /* two continuations: right where a lead of three or four bytes */
    CUTLINE_ANY_LOW = CUTLINE_SHORT | CUTLINE_LONG | CUTLINE_TWO,
    CUTLINE_ANY_LATER = CUTLINE_LONG | CUTLINE_OVERLONG_2 | CUTLINE_TWO,
    CUTLINE_LARGEST = CUTLINE_ANY_LOW | CUTLINE_LARGE | CUTLINE_ENDS_4
};

/* Not zero in any byte that is wrong after the ones before it, of sixteen. */
CUTLINE_INLINE __m128i cutline_wrong_bytes(const uint8_t *text) {
    const __m128i by_upper = _mm_setr_epi8(
        CUTLINE_LONG, CUTLINE_LONG, CUTLINE_LONG, CUTLINE_LONG,
        CUTLINE_LONG, CUTLINE_LONG, CUTLINE_LONG, CUTLINE_LONG,
        (char)CUTLINE_TWO, (char)CUTLINE_TWO, (char)CUTLINE_TWO, (char)CUTLINE_TWO,
        CUTLINE_SHORT | CUTLINE_OVERLONG_2, CUTLINE_SHORT,
        CUTLINE_SHORT | CUTLINE_OVERLONG_3 | CUTLINE_SURROGATE,
        CUTLINE_SHORT | CUTLINE_LARGE | CUTLINE_ENDS_4);
    const __m128i by_lower = _mm_setr_epi8(
        (char)(CUTLINE_ANY_LOW | CUTLINE_OVERLONG_2 | CUTLINE_OVERLONG_3 | CUTLINE_ENDS_4),
        (char)(CUTLINE_ANY_LOW | CUTLINE_OVERLONG_2),
        (char)CUTLINE_ANY_LOW, (char)CUTLINE_ANY_LOW, (char)(CUTLINE_ANY_LOW | CUTLINE_LARGE),
        (char)CUTLINE_LARGEST, (char)CUTLINE_LARGEST, (char)CUTLINE_LARGEST, (char)CUTLINE_LARGEST,
        (char)CUTLINE_LARGEST, (char)CUTLINE_LARGEST, (char)CUTLINE_LARGEST, (char)CUTLINE_LARGEST,
        (char)(CUTLINE_LARGEST | CUTLINE_SURROGATE),
        (char)CUTLINE_LARGEST, (char)CUTLINE_LARGEST);
    const __m128i by_next = _mm_setr_epi8(
        CUTLINE_SHORT, CUTLINE_SHORT, CUTLINE_SHORT, CUTLINE_SHORT,
        CUTLINE_SHORT, CUTLINE_SHORT, CUTLINE_SHORT, CUTLINE_SHORT,
        (char)(CUTLINE_ANY_LATER | CUTLINE_OVERLONG_3 | CUTLINE_ENDS_4),
        (char)(CUTLINE_ANY_LATER | CUTLINE_OVERLONG_3 | CUTLINE_LARGE),
        (char)(CUTLINE_ANY_LATER | CUTLINE_SURROGATE | CUTLINE_LARGE),
        (char)(CUTLINE_ANY_LATER | CUTLINE_SURROGATE | CUTLINE_LARGE),
        CUTLINE_SHORT, CUTLINE_SHORT, CUTLINE_SHORT, CUTLINE_SHORT);
    const __m128i half = _mm_set1_epi8(0x0F);
    __m128i now = _mm_loadu_si128((const __m128i *)text);
    __m128i one = _mm_loadu_si128((const __m128i *)(text - 1));
    __m128i two = _mm_loadu_si128((const __m128i *)(text - 2));
    __m128i three = _mm_loadu_si128((const __m128i *)(text - 3));
    __m128i wrong = _mm_and_si128(
        _mm_and_si128(
            _mm_shuffle_epi8(by_upper, _mm_and_si128(_mm_srli_epi16(one, 4), half)),
            _mm_shuffle_epi8(by_lower, _mm_and_si128(one, half))),
        _mm_shuffle_epi8(by_next, _mm_and_si128(_mm_srli_epi16(now, 4), half)));
    /* The third byte of three or four, and the fourth: from 0x80 on what is left of their lead. */
    __m128i later = _mm_or_si128(
        _mm_subs_epu8(two, _mm_set1_epi8((char)(0xE0 - 0x80))),
        _mm_subs_epu8(three, _mm_set1_epi8((char)(0xF0 - 0x80))));
    return _mm_xor_si128(_mm_and_si128(later, _mm_set1_epi8((char)0x80)), wrong);
}

/* How far valid bytes go on from a character on, before which there are three more: the beginning
   of one that is looked at again, for it or one of the next sixteen bytes may be wrong. */
CUTLINE_SSSE3 static Py_ssize_t cutline_skip_valid(
    const uint8_t *text, Py_ssize_t at, Py_ssize_t n
) {
    const Py_ssize_t first = at;
    while (n - at >= 16) {
        __m128i now = _mm_loadu_si128((const __m128i *)(text + at));
        /* After an ASCII character, ASCII is right. */
        if (text[at - 1] < 0x80 && _mm_movemask_epi8(now) == 0) {
            at += 16;
            continue;
        }
        __m128i wrong = cutline_wrong_bytes(text + at);
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(wrong, _mm_setzero_si128())) != 0xFFFF)
            break;
        at += 16;
    }
    /* The last character may not be whole. */
    for (int back = 1; back <= 3 && at - back >= first; back++)
        if (text[at - back] >= 0xC0)
            return at - back;
    return at;
}

#else

static int cutline_prepare_utf8(void) {
    return 0;
}

static inline Py_ssize_t cutline_skip_valid(
    const uint8_t *text, Py_ssize_t at, Py_ssize_t n
) {
    (void)text, (void)n;
    return at;
}

static inline Py_ssize_t cutline_write_vectors(
    const void *text, int kind, Py_ssize_t n, Py_ssize_t room, uint8_t **out
) {
    (void)text, (void)kind, (void)n, (void)room, (void)out;
    return 0;
}

#endif
#endif
