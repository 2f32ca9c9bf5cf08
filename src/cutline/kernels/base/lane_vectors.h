/* Where pieces end, by the reports of lanes: 32 bytes at a time with AVX2, 64 with AVX-512, asked for
   when the program runs. What each function does, a loop beside its call does for other processors. */
#ifndef CUTLINE_LANE_VECTORS_H
#define CUTLINE_LANE_VECTORS_H

#include "native.h"

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#include <immintrin.h>

#define CUTLINE_AVX2 __attribute__((target("avx2,bmi,popcnt")))
#define CUTLINE_AVX512 __attribute__((target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,popcnt")))

/* What the processor has: 2, AVX-512 as from Ice Lake and Zen 4 on; 1, AVX2; or 0. */
static int cutline_lane_vectors(void) {
    if (!__builtin_cpu_supports("popcnt"))
        return 0;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2"))
        return 2;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}

/* What cutline_mark_ends does. */
CUTLINE_AVX2 static int cutline_mark_ends_256(
    const uint8_t *decided, Py_ssize_t n_words, uint64_t *ends
) {
    __m256i all = _mm256_setzero_si256();
    for (Py_ssize_t word = 0; word < n_words; word++) {
        uint32_t halves[2];
        for (int half = 0; half < 2; half++, decided += 32) {
            __m256i here = _mm256_loadu_si256((const __m256i *)decided);
            __m256i found = _mm256_slli_epi16(here, 7);
            all = _mm256_or_si256(all, here);
            for (int t = 1; t < 7; t++)
                found = _mm256_or_si256(
                    found,
                    _mm256_slli_epi16(
                        _mm256_loadu_si256((const __m256i *)(decided + t)), 7 - t));
            halves[half] = (uint32_t)_mm256_movemask_epi8(found);
        }
        ends[word] = halves[0] | (uint64_t)halves[1] << 32;
    }
    return _mm256_movemask_epi8(all) != 0;
}

/* Write base + i for each bit i that is set, of several words, while more than 64 slots of `room` are
   left. Returns their number; moves `word` past them. */
CUTLINE_AVX2 static Py_ssize_t cutline_list_words_256(
    const uint64_t *words, Py_ssize_t *word, Py_ssize_t n_words, Py_ssize_t base, Py_ssize_t room,
    Py_ssize_t *places
) {
    Py_ssize_t n = 0, at = *word;
    for (; at < n_words && n < room - 64; at++) {
        uint64_t bits = words[at];
        const Py_ssize_t from = base + 64 * at, end = n + (Py_ssize_t)_mm_popcnt_u64(bits);
        /* Eight at a time, set or not, as elsewhere. */
        for (Py_ssize_t next = n; next < end; next += 8)
            for (int one = 0; one < 8; one++) {
                places[next + one] = from + (Py_ssize_t)_tzcnt_u64(bits);
                bits = _blsr_u64(bits);
            }
        n = end;
    }
    *word = at;
    return n;
}

/* What cutline_mark_ends does. */
CUTLINE_AVX512 static inline int cutline_mark_ends_512(
    const uint8_t *decided, Py_ssize_t n_words, uint64_t *ends
) {
    __m512i all = _mm512_setzero_si512();
    for (Py_ssize_t word = 0; word < n_words; word++, decided += 64) {
        __m512i here = _mm512_loadu_si512(decided);
        __m512i found = _mm512_slli_epi16(here, 7);
        all = _mm512_or_si512(all, here);
        for (int t = 1; t < 7; t++)
            found = _mm512_or_si512(
                found, _mm512_slli_epi16(_mm512_loadu_si512(decided + t), (unsigned)(7 - t)));
        ends[word] = (uint64_t)_mm512_movepi8_mask(found);
    }
    return _mm512_movepi8_mask(all) != 0;
}

/* Write base + i for each bit i that is set, of a word: to 64 slots. Returns their number. */
CUTLINE_AVX512 static inline Py_ssize_t cutline_list_bits_512(
    uint64_t bits, Py_ssize_t base, Py_ssize_t *places
) {
    const __m512i numbers = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
        47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
        31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
        15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i from = _mm512_set1_epi64(base);
    const Py_ssize_t n = (Py_ssize_t)__builtin_popcountll(bits);
    __m512i set = _mm512_maskz_compress_epi8((__mmask64)bits, numbers);
    for (Py_ssize_t at = 0; at < n; at += 8) {
        _mm512_storeu_si512(
            places + at, _mm512_add_epi64(from, _mm512_cvtepu8_epi64(_mm512_castsi512_si128(set))));
        set = _mm512_alignr_epi64(set, set, 1);
    }
    return n;
}

/* What cutline_list_words_256 does. */
CUTLINE_AVX512 static Py_ssize_t cutline_list_words_512(
    const uint64_t *words, Py_ssize_t *word, Py_ssize_t n_words, Py_ssize_t base, Py_ssize_t room,
    Py_ssize_t *places
) {
    Py_ssize_t n = 0, at = *word;
    for (; at < n_words && n < room - 64; at++)
        n += cutline_list_bits_512(words[at], base + 64 * at, places + n);
    *word = at;
    return n;
}

#else

static int cutline_lane_vectors(void) {
    return 0;
}

static inline int cutline_mark_ends_256(const uint8_t *decided, Py_ssize_t n_words, uint64_t *ends) {
    return cutline_mark_ends(decided, n_words, ends);
}

static inline Py_ssize_t cutline_list_words_256(
    const uint64_t *words, Py_ssize_t *word, Py_ssize_t n_words, Py_ssize_t base, Py_ssize_t room,
    Py_ssize_t *places
) {
    (void)words, (void)word, (void)n_words, (void)base, (void)room, (void)places;
    return 0;
}

#define cutline_mark_ends_512 cutline_mark_ends_256
#define cutline_list_words_512 cutline_list_words_256

#endif
#endif
