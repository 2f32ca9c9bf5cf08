/* What Cython cannot express: prefetching, unaligned loads, filling a list. */
#ifndef CUTLINE_NATIVE_H
#define CUTLINE_NATIVE_H

#include <Python.h>
#include <stdint.h>
#include <string.h>
/* Microsoft's compiler does not say so, but every x86-64 has these instructions. */
#if defined(__SSE2__) || (defined(_M_X64) && !defined(_M_ARM64EC))
#define CUTLINE_HAS_SSE2
#include <emmintrin.h>
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

#if SIZE_MAX < UINT64_MAX
#error "Cutline needs a 64-bit machine: sizes of buffers for long texts would overflow in 32 bits"
#endif

#define CUTLINE_NONE UINT32_MAX
#define CUTLINE_NO_LIMIT ((Py_ssize_t)(SIZE_MAX >> 2))

/* What a condition is most often: the compiler then needs no jump for it. */
#if defined(__GNUC__) || defined(__clang__)
#define cutline_prefetch(address) __builtin_prefetch(address)
#define cutline_likely(condition) __builtin_expect(!!(condition), 1)
#define cutline_unlikely(condition) __builtin_expect(!!(condition), 0)
#else
#ifdef CUTLINE_HAS_SSE2
#define cutline_prefetch(address) _mm_prefetch((const char *)(address), _MM_HINT_T0)
#else
#define cutline_prefetch(address) ((void)(address))
#endif
#define cutline_likely(condition) (condition)
#define cutline_unlikely(condition) (condition)
#endif

/* Ask for large pages in memory that is read at random, before it is written to. Small memory, and a
   system that has none or will not give them, change nothing. */
static inline void cutline_in_large_pages(void *memory, size_t n) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (n >= (size_t)1 << 21) {
        uintptr_t start = ((uintptr_t)memory + 4095) & ~(uintptr_t)4095;
        uintptr_t end = ((uintptr_t)memory + n) & ~(uintptr_t)4095;
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
    }
#else
    (void)memory;
    (void)n;
#endif
}

/* Optimization barrier: keeps this address out of the indexed load. */
static inline const void *cutline_barrier(const void *address) {
#if defined(__GNUC__) || defined(__clang__)
    __asm__("" : "+r"(address));
#endif
    return address;
}

/* In the top byte of a key, where a short piece has its length. */
static const uint64_t cutline_longer = (uint64_t)0xFF << 56;

/* Eight bytes, the first in the lowest place whatever the machine's byte order. */
static inline uint64_t cutline_load64(const uint8_t *from) {
    uint64_t word;
    memcpy(&word, from, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The same for four. */
static inline uint64_t cutline_load32(const uint8_t *from) {
    uint32_t word;
    memcpy(&word, from, 4);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    return word;
}

/* What cutline_load64 reads again. */
static inline void cutline_store64(uint8_t *to, uint64_t word) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(to, &word, 8);
}

/* low_bytes[n]: the lowest n bytes of a word; of -8 to -1 none, of 9 to 16 all eight. */
#define CUTLINE_BYTES_0 0, 0, 0, 0, 0, 0, 0, 0
#define CUTLINE_BYTES_8 ~(uint64_t)0
static const uint64_t cutline_byte_masks[25] = {
    CUTLINE_BYTES_0,
    0,
    0xFF,
    0xFFFF,
    0xFFFFFF,
    0xFFFFFFFF,
    0xFFFFFFFFFF,
    0xFFFFFFFFFFFF,
    0xFFFFFFFFFFFFFF,
    CUTLINE_BYTES_8, CUTLINE_BYTES_8, CUTLINE_BYTES_8,
    CUTLINE_BYTES_8, CUTLINE_BYTES_8, CUTLINE_BYTES_8,
    CUTLINE_BYTES_8, CUTLINE_BYTES_8, CUTLINE_BYTES_8,
};
static const uint64_t *const cutline_low_bytes = cutline_byte_masks + 8;

/* The highest bit of each byte: set where that is no ASCII. */
#define CUTLINE_HIGH_BITS ((uint64_t)0x8080808080808080)

/* An odd number and its inverse modulo 2**64: for the rolling hash of a text's bytes. */
#define CUTLINE_MATCH_FACTOR ((uint64_t)0x9E3779B97F4A7C15)
#define CUTLINE_MATCH_INVERSE ((uint64_t)0xF1DE83E19937733D)
#define CUTLINE_FIRST_MATCH_TAG (~(uint64_t)0 << 29)

/* Both halves of the product of two words, folded into one. */
static inline uint64_t cutline_fold(uint64_t left, uint64_t right) {
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t low = (left & 0xFFFFFFFF) * (right & 0xFFFFFFFF);
    uint64_t middle = (left >> 32) * (right & 0xFFFFFFFF) + (low >> 32);
    uint64_t other = (left & 0xFFFFFFFF) * (right >> 32) + (middle & 0xFFFFFFFF);
    uint64_t high = (left >> 32) * (right >> 32) + (middle >> 32) + (other >> 32);
    return (other << 32 | (low & 0xFFFFFFFF)) ^ high;
#endif
}

/* What was written before the fence is seen by who reads what is written after it. A volatile access
   of Microsoft's compiler is ordered so on x86 only. */
#if defined(_M_ARM64)
#define cutline_fence() __dmb(_ARM64_BARRIER_ISH)
#else
#define cutline_fence() ((void)0)
#endif

/* Store an address after what it points to: others may read it without a lock. */
static inline void cutline_publish(const void **place, const void *address) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_store_n(place, address, __ATOMIC_RELEASE);
#else
    cutline_fence();
    *(const void *volatile *)place = address;
#endif
}

static inline const void *cutline_published_address(const void *const *place) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
#else
    const void *address = *(const void *const volatile *)place;
    cutline_fence();
    return address;
#endif
}

/* The same for a word, 0 until it is stored: who reads another one sees what was stored before. */
static inline void cutline_publish_word(uint64_t *place, uint64_t word) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_store_n(place, word, __ATOMIC_RELEASE);
#else
    cutline_fence();
    *(volatile uint64_t *)place = word;
#endif
}

static inline uint64_t cutline_published(const uint64_t *place) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
#else
    uint64_t word = *(const volatile uint64_t *)place;
    cutline_fence();
    return word;
#endif
}

/* The word alone, for who has seen it published: another thread may store the same again. */
static inline uint64_t cutline_known(const uint64_t *place) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_load_n(place, __ATOMIC_RELAXED);
#else
    return *(const volatile uint64_t *)place;
#endif
}

/* The same for bytes: who has found some that are stored calls cutline_acquire, and sees then what was
   stored before them. */
static inline void cutline_publish_byte(uint8_t *place, uint8_t byte) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_store_n(place, byte, __ATOMIC_RELEASE);
#else
    cutline_fence();
    *(volatile uint8_t *)place = byte;
#endif
}

static inline uint8_t cutline_known_byte(const uint8_t *place) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_load_n(place, __ATOMIC_RELAXED);
#else
    return *(const volatile uint8_t *)place;
#endif
}

static inline void cutline_acquire(void) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#else
    cutline_fence();
#endif
}

/* Add to a number that other threads may add to as well. Returns the sum. */
static inline Py_ssize_t cutline_add(Py_ssize_t *place, Py_ssize_t added) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_add_fetch(place, added, __ATOMIC_RELAXED);
#elif defined(_WIN64)
    return _InterlockedExchangeAdd64(place, added) + added;
#elif defined(_WIN32)
    return _InterlockedExchangeAdd((volatile long *)place, added) + added;
#else
    return *place += added;
#endif
}

/* Store a number that other threads may add to, or look at. */
static inline void cutline_set(Py_ssize_t *place, Py_ssize_t number) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_store_n(place, number, __ATOMIC_RELAXED);
#else
    *(volatile Py_ssize_t *)place = number;
#endif
}

static inline Py_ssize_t cutline_get(const Py_ssize_t *place) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_load_n(place, __ATOMIC_RELAXED);
#else
    return *(const volatile Py_ssize_t *)place;
#endif
}

/* Store `mine` where 0 is, and return 0; or else what is there. Who finds 0 sees all that was done
   before cutline_leave. The GIL does as much. */
static inline Py_ssize_t cutline_enter(Py_ssize_t *place, Py_ssize_t mine) {
#if defined(Py_GIL_DISABLED) && (defined(__GNUC__) || defined(__clang__))
    Py_ssize_t found = 0;
    __atomic_compare_exchange_n(place, &found, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    return found;
#elif defined(Py_GIL_DISABLED) && defined(_WIN64)
    return _InterlockedCompareExchange64(place, mine, 0);
#else
    Py_ssize_t found = *place;
    if (found == 0)
        *place = mine;
    return found;
#endif
}

static inline void cutline_leave(Py_ssize_t *place) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_store_n(place, 0, __ATOMIC_RELEASE);
#else
    cutline_fence();
    *(volatile Py_ssize_t *)place = 0;
#endif
}

/* Bytes of UTF-8 that continue a character, 10......, among n: a multiple of 16. */
static inline Py_ssize_t cutline_continuations(const uint8_t *text, Py_ssize_t n) {
    Py_ssize_t at = 0;
#ifdef CUTLINE_HAS_SSE2
    const __m128i zero = _mm_setzero_si128(), lead = _mm_set1_epi8(-64);
    __m128i sums = zero;
    for (; at + 64 <= n; at += 64) {
        __m128i ones = zero;    /* in each byte, up to four */
        for (int part = 0; part < 64; part += 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(text + at + part));
            ones = _mm_sub_epi8(ones, _mm_cmplt_epi8(bytes, lead));
        }
        sums = _mm_add_epi64(sums, _mm_sad_epu8(ones, zero));
    }
    for (; at < n; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text + at));
        __m128i ones = _mm_sub_epi8(zero, _mm_cmplt_epi8(bytes, lead));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(ones, zero));
    }
    uint64_t halves[2];
    _mm_storeu_si128((__m128i *)halves, sums);
    return (Py_ssize_t)(halves[0] + halves[1]);
#else
    uint64_t sum = 0;
    for (; at < n; at += 8) {
        uint64_t word = cutline_load64(text + at);
        word &= ~(word << 1) & CUTLINE_HIGH_BITS;
        sum += (word >> 7) * 0x0101010101010101u >> 56;
    }
    return (Py_ssize_t)sum;
#endif
}

/* Which of 64 characters, of 1, 2 or 4 bytes each, are one of two: the first in the lowest bit. */
static inline uint64_t cutline_matches(const uint8_t *text, int kind, uint32_t one, uint32_t other) {
    uint64_t matches = 0;
#ifdef CUTLINE_HAS_SSE2
    const __m128i *from = (const __m128i *)text;
    if (kind == 1) {
        const __m128i a = _mm_set1_epi8((char)one), b = _mm_set1_epi8((char)other);
        for (int at = 0; at < 64; at += 16) {
            __m128i units = _mm_loadu_si128(from++);
            units = _mm_or_si128(_mm_cmpeq_epi8(units, a), _mm_cmpeq_epi8(units, b));
            matches |= (uint64_t)(uint32_t)_mm_movemask_epi8(units) << at;
        }
    } else if (kind == 2) {
        const __m128i a = _mm_set1_epi16((short)one), b = _mm_set1_epi16((short)other);
        for (int at = 0; at < 64; at += 16, from += 2) {
            __m128i low = _mm_loadu_si128(from), high = _mm_loadu_si128(from + 1);
            low = _mm_or_si128(_mm_cmpeq_epi16(low, a), _mm_cmpeq_epi16(low, b));
            high = _mm_or_si128(_mm_cmpeq_epi16(high, a), _mm_cmpeq_epi16(high, b));
            low = _mm_packs_epi16(low, high);
            matches |= (uint64_t)(uint32_t)_mm_movemask_epi8(low) << at;
        }
    } else {
        const __m128i a = _mm_set1_epi32((int)one), b = _mm_set1_epi32((int)other);
        for (int at = 0; at < 64; at += 8, from += 2) {
            __m128i low = _mm_loadu_si128(from), high = _mm_loadu_si128(from + 1);
            low = _mm_or_si128(_mm_cmpeq_epi32(low, a), _mm_cmpeq_epi32(low, b));
            high = _mm_or_si128(_mm_cmpeq_epi32(high, a), _mm_cmpeq_epi32(high, b));
            low = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());
            matches |= (uint64_t)(uint32_t)_mm_movemask_epi8(low) << at;
        }
    }
#else
    for (int at = 0; at < 64; at++) {
        uint32_t unit = kind == 1   ? text[at]
                        : kind == 2 ? ((const uint16_t *)text)[at]
                                    : ((const uint32_t *)text)[at];
        matches |= (uint64_t)(unit == one || unit == other) << at;
    }
#endif
    return matches;
}

/* Which of 64 characters begin words, by their first and last edges, which lie in turn after the last
   one of the character before: the first one is neither 0 nor what is before it. And which have a
   first one that is refused. Reads 16 bytes beyond the edges. */
static inline uint64_t cutline_words_begun(
    const uint8_t *edges, uint8_t refused, uint64_t *are_refused
) {
    uint64_t go_on = 0;
    *are_refused = 0;
#ifdef CUTLINE_HAS_SSE2
    const __m128i zero = _mm_setzero_si128(), low = _mm_set1_epi16(0xFF);
    const __m128i other = _mm_set1_epi16(refused);
    for (int at = 0; at < 64; at += 16, edges += 32) {
        __m128i same[2], bad[2];
        for (int half = 0; half < 2; half++) {
            const uint8_t *from = edges + 16 * half;
            __m128i first = _mm_loadu_si128((const __m128i *)(from + 1));
            __m128i last = _mm_loadu_si128((const __m128i *)from);
            first = _mm_and_si128(first, low);
            last = _mm_and_si128(last, low);
            same[half] = _mm_or_si128(_mm_cmpeq_epi16(first, last), _mm_cmpeq_epi16(first, zero));
            bad[half] = _mm_cmpeq_epi16(first, other);
        }
        same[0] = _mm_packs_epi16(same[0], same[1]);
        bad[0] = _mm_packs_epi16(bad[0], bad[1]);
        go_on |= (uint64_t)(uint32_t)_mm_movemask_epi8(same[0]) << at;
        *are_refused |= (uint64_t)(uint32_t)_mm_movemask_epi8(bad[0]) << at;
    }
#else
    for (int at = 0; at < 64; at++, edges += 2) {
        go_on |= (uint64_t)(edges[1] == edges[0] || edges[1] == 0) << at;
        *are_refused |= (uint64_t)(edges[1] == refused) << at;
    }
#endif
    return ~go_on;
}

/* Whether a byte is among 64. */
static inline int cutline_has_byte(const uint8_t *text, uint8_t byte) {
#ifdef CUTLINE_HAS_SSE2
    const __m128i *from = (const __m128i *)text;
    const __m128i wanted = _mm_set1_epi8((char)byte);
    __m128i low = _mm_or_si128(
        _mm_cmpeq_epi8(_mm_loadu_si128(from), wanted),
        _mm_cmpeq_epi8(_mm_loadu_si128(from + 1), wanted));
    __m128i high = _mm_or_si128(
        _mm_cmpeq_epi8(_mm_loadu_si128(from + 2), wanted),
        _mm_cmpeq_epi8(_mm_loadu_si128(from + 3), wanted));
    return _mm_movemask_epi8(_mm_or_si128(low, high)) != 0;
#else
    uint8_t seen = 0;
    for (int at = 0; at < 64; at++)
        seen |= text[at] == byte;
    return seen;
#endif
}

/* Set bits of a word; compilers turn this into one instruction where there is one. */
static inline int cutline_popcount(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (int)(word * 0x0101010101010101u >> 56);
}

/* Place of the highest set bit; the word is not zero. */
static inline int cutline_top_bit(uint64_t word) {
#if defined(__GNUC__) || defined(__clang__)
    return 63 - __builtin_clzll(word);
#else
    word |= word >> 1;
    word |= word >> 2;
    word |= word >> 4;
    word |= word >> 8;
    word |= word >> 16;
    word |= word >> 32;
    return cutline_popcount(word) - 1;
#endif
}

/* Place of the lowest set bit; the word is not zero. */
static inline int cutline_low_bit(uint64_t word) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(word);
#elif defined(_WIN64)
    unsigned long place;
    _BitScanForward64(&place, word);
    return (int)place;
#else
    return cutline_popcount((word & (0 - word)) - 1);
#endif
}

/* ends: bit i is set if bit t of decided[i + t] is, for any t from 0 to 6. Reads six bytes
   beyond the 64 for each word. Returns whether bit 7 of any byte is set. */
static inline int cutline_mark_ends(
    const uint8_t *decided, Py_ssize_t n_words, uint64_t *ends
) {
#ifdef CUTLINE_HAS_SSE2
    __m128i all = _mm_setzero_si128();
    for (Py_ssize_t word = 0; word < n_words; word++) {
        ends[word] = 0;
        for (int part = 0; part < 64; part += 16, decided += 16) {
            __m128i here = _mm_loadu_si128((const __m128i *)decided);
            __m128i found = _mm_slli_epi16(here, 7);
            for (int t = 1; t < 7; t++) {
                __m128i later = _mm_loadu_si128((const __m128i *)(decided + t));
                found = _mm_or_si128(found, _mm_slli_epi16(later, 7 - t));
            }
            all = _mm_or_si128(all, here);
            ends[word] |= (uint64_t)(uint32_t)_mm_movemask_epi8(found) << part;
        }
    }
    return _mm_movemask_epi8(all) != 0;
#else
    const uint64_t lowest = 0x0101010101010101u;
    uint64_t all = 0;
    for (Py_ssize_t word = 0; word < n_words; word++) {
        ends[word] = 0;
        for (int part = 0; part < 64; part += 8, decided += 8) {
            uint64_t found = cutline_load64(decided);
            all |= found;
            for (int t = 1; t < 7; t++)
                found |= cutline_load64(decided + t) >> t;
            /* The lowest bits of eight bytes, gathered in the top byte. */
            ends[word] |= ((found & lowest) * 0x0102040810204080u >> 56) << part;
        }
    }
    return (all & lowest << 7) != 0;
#endif
}

/* One int object per id, made once: a new reference costs a fraction of a new int.
   A free-threaded build makes new ints, for there a reference to an object of
   another thread is an atomic operation on a shared cache line. */
#ifdef Py_GIL_DISABLED
#define CUTLINE_SHARES_INTS 0
#else
#define CUTLINE_SHARES_INTS 1
#endif

/* Copies items that are plain ints of one digit, as nearly all ids are, up to the first other one.
   Returns their number. */
static inline Py_ssize_t cutline_read_ids(PyObject **items, Py_ssize_t n, uint32_t *ids) {
    const Py_ssize_t ahead = 24;
    for (Py_ssize_t at = 0; at < n; at++) {
        if (at + ahead < n)
            cutline_prefetch(items[at + ahead]);
        if (!PyLong_CheckExact(items[at]))
            return at;
        PyLongObject *number = (PyLongObject *)items[at];
#if PY_VERSION_HEX >= 0x030C0000
        if (!PyUnstable_Long_IsCompact(number))
            return at;
        Py_ssize_t id = PyUnstable_Long_CompactValue(number);
        if (id < 0)
            return at;
#else
        Py_ssize_t digits = Py_SIZE(number);
        if ((size_t)digits > 1)
            return at;
        Py_ssize_t id = digits * (Py_ssize_t)number->ob_digit[0];
#endif
        ids[at] = (uint32_t)id;
    }
    return n;
}

/* list[at] = ints[ids[at]] for a new list of n empty slots; ints that are not there yet are made.
   Returns -1 with an exception if there is no memory. */
static inline int cutline_fill_shared(
    PyObject *list, PyObject **ints, const uint32_t *ids, Py_ssize_t n
) {
    const Py_ssize_t ahead = 24;
    for (Py_ssize_t at = 0; at < n; at++) {
        if (at + ahead < n)
            cutline_prefetch(ints[ids[at + ahead]]);
        PyObject *number = ints[ids[at]];
        if (cutline_unlikely(number == NULL)) {
            number = ints[ids[at]] = PyLong_FromUnsignedLong(ids[at]);
            if (number == NULL)
                return -1;
        }
        PyList_SET_ITEM(list, at, Py_NewRef(number));
    }
    return 0;
}

#endif
