/* Copying characters to fewer bytes each, many at a time. */
#ifndef CUTLINE_NARROW_H
#define CUTLINE_NARROW_H

#include "native.h"

/* The bits that are set in any of n characters, of 1, 2 or 4 bytes each. */
static inline uint32_t cutline_bits(const uint8_t *text, int kind, Py_ssize_t n) {
    Py_ssize_t at = 0;
    uint32_t bits = 0;
#ifdef CUTLINE_HAS_SSE2
    const Py_ssize_t step = 64 / kind;
    __m128i one = _mm_setzero_si128(), other = one;
    for (; at + step <= n; at += step) {
        const __m128i *from = (const __m128i *)(text + at * kind);
        one = _mm_or_si128(one, _mm_or_si128(_mm_loadu_si128(from), _mm_loadu_si128(from + 1)));
        other = _mm_or_si128(other, _mm_or_si128(_mm_loadu_si128(from + 2), _mm_loadu_si128(from + 3)));
    }
    uint32_t lanes[4];
    _mm_storeu_si128((__m128i *)lanes, _mm_or_si128(one, other));
    bits = lanes[0] | lanes[1] | lanes[2] | lanes[3];
    if (kind <= 2)
        bits = (bits | bits >> 16) & 0xFFFF;
    if (kind == 1)
        bits = (bits | bits >> 8) & 0xFF;
#endif
    if (kind == 1)
        for (; at < n; at++)
            bits |= text[at];
    else if (kind == 2)
        for (; at < n; at++)
            bits |= ((const uint16_t *)text)[at];
    else
        for (; at < n; at++)
            bits |= ((const uint32_t *)text)[at];
    return bits;
}

/* Write n characters, of 2 or 4 bytes each, that all fit one byte. */
static inline void cutline_narrow_to_1(const uint8_t *text, int kind, Py_ssize_t n, uint8_t *out) {
    Py_ssize_t at = 0;
#ifdef CUTLINE_HAS_SSE2
    for (; at + 16 <= n; at += 16) {
        const __m128i *from = (const __m128i *)(text + at * kind);
        __m128i low = _mm_loadu_si128(from), high = _mm_loadu_si128(from + 1);
        if (kind == 4) {
            low = _mm_packs_epi32(low, high);
            high = _mm_packs_epi32(_mm_loadu_si128(from + 2), _mm_loadu_si128(from + 3));
        }
        _mm_storeu_si128((__m128i *)(out + at), _mm_packus_epi16(low, high));
    }
#endif
    if (kind == 2)
        for (; at < n; at++)
            out[at] = (uint8_t)((const uint16_t *)text)[at];
    else
        for (; at < n; at++)
            out[at] = (uint8_t)((const uint32_t *)text)[at];
}

/* Write n characters, of 4 bytes each, that all fit two. */
static inline void cutline_narrow_to_2(const uint32_t *text, Py_ssize_t n, uint16_t *out) {
    Py_ssize_t at = 0;
#ifdef CUTLINE_HAS_SSE2
    for (; at + 8 <= n; at += 8) {
        const __m128i *from = (const __m128i *)(text + at);
        /* As signed numbers, which are all that can be packed without a change. */
        __m128i low = _mm_srai_epi32(_mm_slli_epi32(_mm_loadu_si128(from), 16), 16);
        __m128i high = _mm_srai_epi32(_mm_slli_epi32(_mm_loadu_si128(from + 1), 16), 16);
        _mm_storeu_si128((__m128i *)(out + at), _mm_packs_epi32(low, high));
    }
#endif
    for (; at < n; at++)
        out[at] = (uint16_t)text[at];
}

#endif
