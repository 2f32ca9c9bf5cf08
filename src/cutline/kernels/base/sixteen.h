/* Which of sixteen characters are of some kind: a bit for each, the lowest for the first. A loop of
   comparisons would do, but where it is inlined compilers unroll it instead of using vectors. */
#ifndef CUTLINE_SIXTEEN_H
#define CUTLINE_SIXTEEN_H

#include "native.h"

#ifdef CUTLINE_HAS_SSE2
typedef struct { __m128i low, high; } cutline_wide_t;    /* sixteen numbers of 16 bits */

static inline __m128i cutline_load_narrow(const uint8_t *text) {
    return _mm_loadu_si128((const __m128i *)text);
}

static inline cutline_wide_t cutline_load_wide(const uint16_t *text) {
    cutline_wide_t both = {
        _mm_loadu_si128((const __m128i *)text), _mm_loadu_si128((const __m128i *)text + 1)};
    return both;
}

/* Of four bytes each: what is above 0x7FFF becomes 0x7FFF. */
static inline cutline_wide_t cutline_load_widest(const uint32_t *text) {
    const __m128i *four = (const __m128i *)text;
    cutline_wide_t both = {
        _mm_packs_epi32(_mm_loadu_si128(four), _mm_loadu_si128(four + 1)),
        _mm_packs_epi32(_mm_loadu_si128(four + 2), _mm_loadu_si128(four + 3))};
    return both;
}

/* Of 8 and of 16 bits: where a comparison was true. */
#define CUTLINE_NARROW_BITS(found) ((uint32_t)_mm_movemask_epi8(found))
#define CUTLINE_WIDE_BITS(one) \
    ((uint32_t)_mm_movemask_epi8(_mm_packs_epi16(one(both.low), one(both.high))))

static inline uint32_t cutline_narrow_line_ends(const uint8_t *text) {
    __m128i found = cutline_load_narrow(text);
    /* From 0x0A to 0x0D: at most 3 beyond, which a saturating subtraction makes 0. */
    __m128i beyond = _mm_sub_epi8(found, _mm_set1_epi8(0x0A));
    return CUTLINE_NARROW_BITS(_mm_or_si128(
        _mm_cmpeq_epi8(_mm_subs_epu8(beyond, _mm_set1_epi8(3)), _mm_setzero_si128()),
        _mm_cmpeq_epi8(found, _mm_set1_epi8((char)0x85))));
}

static inline __m128i cutline_eight_line_ends(__m128i text) {
    __m128i beyond = _mm_sub_epi16(text, _mm_set1_epi16(0x0A));
    return _mm_or_si128(
        _mm_cmpeq_epi16(_mm_subs_epu16(beyond, _mm_set1_epi16(3)), _mm_setzero_si128()),
        _mm_or_si128(
            _mm_cmpeq_epi16(text, _mm_set1_epi16(0x85)),
            _mm_cmpeq_epi16(_mm_srli_epi16(text, 1), _mm_set1_epi16(0x2028 >> 1))));
}

static inline uint32_t cutline_wide_line_ends(const uint16_t *text) {
    cutline_wide_t both = cutline_load_wide(text);
    return CUTLINE_WIDE_BITS(cutline_eight_line_ends);
}

static inline uint32_t cutline_widest_line_ends(const uint32_t *text) {
    cutline_wide_t both = cutline_load_widest(text);
    return CUTLINE_WIDE_BITS(cutline_eight_line_ends);
}

/* Of UTF-8: where characters begin. */
static inline uint32_t cutline_narrow_beginnings(const uint8_t *text) {
    return CUTLINE_NARROW_BITS(_mm_cmpgt_epi8(cutline_load_narrow(text), _mm_set1_epi8((char)0xBF)));
}

static inline uint32_t cutline_wide_surrogates(const uint16_t *text) {
    cutline_wide_t both = cutline_load_wide(text);
    const __m128i ten = _mm_set1_epi16((short)0xF800), surrogate = _mm_set1_epi16((short)0xD800);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(
        _mm_cmpeq_epi16(_mm_and_si128(both.low, ten), surrogate),
        _mm_cmpeq_epi16(_mm_and_si128(both.high, ten), surrogate)));
}

static inline __m128i cutline_four_surrogates(const uint32_t *text) {
    return _mm_cmpeq_epi32(
        _mm_and_si128(_mm_loadu_si128((const __m128i *)text), _mm_set1_epi32((int)0xFFFFF800)),
        _mm_set1_epi32(0xD800));
}

static inline uint32_t cutline_widest_surrogates(const uint32_t *text) {
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(
        _mm_packs_epi32(cutline_four_surrogates(text), cutline_four_surrogates(text + 4)),
        _mm_packs_epi32(cutline_four_surrogates(text + 8), cutline_four_surrogates(text + 12))));
}

static inline uint32_t cutline_narrow_stops(const uint8_t *text) {
    __m128i found = cutline_load_narrow(text);
    return CUTLINE_NARROW_BITS(_mm_or_si128(
        /* Below 0x20, and as a signed number also from 0x80 on. */
        _mm_or_si128(
            _mm_cmplt_epi8(found, _mm_set1_epi8(0x20)), _mm_cmpeq_epi8(found, _mm_set1_epi8('.'))),
        _mm_or_si128(
            _mm_cmpeq_epi8(found, _mm_set1_epi8('!')), _mm_cmpeq_epi8(found, _mm_set1_epi8('?')))));
}

static inline __m128i cutline_eight_stops(__m128i text) {
    __m128i found = _mm_or_si128(
        _mm_cmplt_epi16(text, _mm_set1_epi16(0x20)), _mm_cmpgt_epi16(text, _mm_set1_epi16(0x7F)));
    found = _mm_or_si128(found, _mm_cmpeq_epi16(text, _mm_set1_epi16('.')));
    found = _mm_or_si128(found, _mm_cmpeq_epi16(text, _mm_set1_epi16('!')));
    found = _mm_or_si128(found, _mm_cmpeq_epi16(text, _mm_set1_epi16('?')));
    /* After Greek and Armenian: `:` and `;`. */
    return _mm_or_si128(
        found, _mm_cmpeq_epi16(_mm_or_si128(text, _mm_set1_epi16(1)), _mm_set1_epi16(';')));
}

static inline uint32_t cutline_wide_stops(const uint16_t *text) {
    cutline_wide_t both = cutline_load_wide(text);
    return CUTLINE_WIDE_BITS(cutline_eight_stops);
}

#else
#define CUTLINE_BITS_OF(name, type, condition)          \
    static inline uint32_t name(const type *text) {     \
        uint32_t bits = 0;                              \
        for (int at = 0; at < 16; at++) {               \
            const uint32_t one = text[at];              \
            bits |= (uint32_t)(condition) << at;        \
        }                                               \
        return bits;                                    \
    }

CUTLINE_BITS_OF(cutline_narrow_line_ends, uint8_t, one - 0x0A <= 3 || one == 0x85)
CUTLINE_BITS_OF(
    cutline_wide_line_ends, uint16_t, one - 0x0A <= 3 || one == 0x85 || one >> 1 == 0x2028 >> 1)
CUTLINE_BITS_OF(
    cutline_widest_line_ends, uint32_t, one - 0x0A <= 3 || one == 0x85 || one >> 1 == 0x2028 >> 1)
CUTLINE_BITS_OF(cutline_narrow_beginnings, uint8_t, one >> 6 != 2)
CUTLINE_BITS_OF(cutline_wide_surrogates, uint16_t, one >> 11 == 0x1B)
CUTLINE_BITS_OF(cutline_widest_surrogates, uint32_t, one >> 11 == 0x1B)
CUTLINE_BITS_OF(
    cutline_narrow_stops, uint8_t,
    one < 0x20 || one >= 0x80 || one == '.' || one == '!' || one == '?')
CUTLINE_BITS_OF(
    cutline_wide_stops, uint16_t,
    one < 0x20 || one >= 0x80 || one == '.' || one == '!' || one == '?' || (one | 1) == ';')
#endif

#endif
