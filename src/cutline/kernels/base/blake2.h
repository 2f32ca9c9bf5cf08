/* BLAKE2b (RFC 7693) of several messages at once, one in each lane of a vector: a message alone keeps
   a processor waiting, because every step needs the one before. */
#ifndef CUTLINE_BLAKE2_H
#define CUTLINE_BLAKE2_H

#include "native.h"

#define CUTLINE_BLAKE2_BLOCK 128

#if defined(__GNUC__) || defined(__clang__)
#define CUTLINE_HASH_LANES 4
#define CUTLINE_HASH_INLINE __attribute__((always_inline)) static inline
typedef uint64_t cutline_lanes __attribute__((vector_size(8 * CUTLINE_HASH_LANES)));
#else
#define CUTLINE_HASH_LANES 1
#define CUTLINE_HASH_INLINE static inline
typedef uint64_t cutline_lanes;
#endif

/* What is known of the messages so far, and the next block of each. */
typedef struct {
    cutline_lanes chain[8];
    const uint8_t *block[CUTLINE_HASH_LANES];
    uint64_t n_bytes[CUTLINE_HASH_LANES]; /* up to the end of the block, without what pads it */
    uint64_t last[CUTLINE_HASH_LANES];    /* all bits, if it is the last block; else none */
} cutline_hashes;

static const uint64_t cutline_blake2_start[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

/* Load one word of each block. */
CUTLINE_HASH_INLINE void cutline_load_words(
    const uint8_t *const *block, int place, cutline_lanes *words
) {
#if CUTLINE_HASH_LANES == 4
    *words = (cutline_lanes){
        cutline_load64(block[0] + 8 * place), cutline_load64(block[1] + 8 * place),
        cutline_load64(block[2] + 8 * place), cutline_load64(block[3] + 8 * place),
    };
#else
    *words = cutline_load64(block[0] + 8 * place);
#endif
}

#define CUTLINE_ROTATED(value, bits) ((value) >> (bits) | (value) << (64 - (bits)))
#define CUTLINE_MIX(a, b, c, d, x, y)          \
    a = a + b + words[x];                      \
    d = CUTLINE_ROTATED(d ^ a, 32);            \
    c = c + d;                                 \
    b = CUTLINE_ROTATED(b ^ c, 24);            \
    a = a + b + words[y];                      \
    d = CUTLINE_ROTATED(d ^ a, 16);            \
    c = c + d;                                 \
    b = CUTLINE_ROTATED(b ^ c, 63);
#define CUTLINE_ROUND(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15) \
    CUTLINE_MIX(v[0], v[4], v[8], v[12], s0, s1)                                             \
    CUTLINE_MIX(v[1], v[5], v[9], v[13], s2, s3)                                             \
    CUTLINE_MIX(v[2], v[6], v[10], v[14], s4, s5)                                            \
    CUTLINE_MIX(v[3], v[7], v[11], v[15], s6, s7)                                            \
    CUTLINE_MIX(v[0], v[5], v[10], v[15], s8, s9)                                            \
    CUTLINE_MIX(v[1], v[6], v[11], v[12], s10, s11)                                          \
    CUTLINE_MIX(v[2], v[7], v[8], v[13], s12, s13)                                           \
    CUTLINE_MIX(v[3], v[4], v[9], v[14], s14, s15)

/* Take the next block of every message. */
CUTLINE_HASH_INLINE void cutline_take_blocks(cutline_hashes *hashes) {
    cutline_lanes words[16], v[16], n_bytes, last;
    memcpy(&n_bytes, hashes->n_bytes, sizeof n_bytes);
    memcpy(&last, hashes->last, sizeof last);
    for (int at = 0; at < 16; at++)
        cutline_load_words(hashes->block, at, &words[at]);
    for (int at = 0; at < 8; at++) {
        v[at] = hashes->chain[at];
        v[at + 8] = (cutline_lanes){0} + cutline_blake2_start[at];
    }
    v[12] ^= n_bytes;
    v[14] ^= last;
    CUTLINE_ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    CUTLINE_ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
    CUTLINE_ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4)
    CUTLINE_ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8)
    CUTLINE_ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13)
    CUTLINE_ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9)
    CUTLINE_ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11)
    CUTLINE_ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10)
    CUTLINE_ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5)
    CUTLINE_ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0)
    CUTLINE_ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    CUTLINE_ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
    for (int at = 0; at < 8; at++)
        hashes->chain[at] ^= v[at] ^ v[at + 8];
}

typedef void (*cutline_take)(cutline_hashes *hashes);

static void cutline_take_plain(cutline_hashes *hashes) { cutline_take_blocks(hashes); }

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
__attribute__((target("avx2"))) static void cutline_take_avx2(cutline_hashes *hashes) {
    cutline_take_blocks(hashes);
}

/* It rotates by an instruction, and has registers for all words. */
__attribute__((target("avx512f,avx512vl"))) static void cutline_take_avx512(
    cutline_hashes *hashes
) {
    cutline_take_blocks(hashes);
}
#endif

/* The fastest way up to `level`: 0 is any processor's, 1 that of AVX2, 2 that of AVX-512. */
static cutline_take cutline_take_of(int level) {
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    if (level >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        return cutline_take_avx512;
    if (level >= 1 && __builtin_cpu_supports("avx2"))
        return cutline_take_avx2;
#endif
    (void)level;
    return cutline_take_plain;
}

/* A message is about to begin in a lane: its digest will have 16 bytes. */
static void cutline_begin_hash(cutline_hashes *hashes, int lane) {
    for (int at = 0; at < 8; at++)
        ((uint64_t *)&hashes->chain[at])[lane] = cutline_blake2_start[at];
    ((uint64_t *)&hashes->chain[0])[lane] ^= 0x01010010;
}

/* The digest of the message in a lane, in hex: 32 characters. */
static void cutline_write_hash(const cutline_hashes *hashes, int lane, uint8_t *out) {
    for (int at = 0; at < 16; at++) {
        uint64_t word = ((const uint64_t *)&hashes->chain[at / 8])[lane];
        uint8_t byte = (uint8_t)(word >> (8 * (at % 8)));
        out[2 * at] = (uint8_t)"0123456789abcdef"[byte >> 4];
        out[2 * at + 1] = (uint8_t)"0123456789abcdef"[byte & 15];
    }
}

#endif
