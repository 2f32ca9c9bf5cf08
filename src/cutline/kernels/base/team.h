/* Parts of a job, for several threads.

   One thread, the leader, offers parts; others take some, and it takes those that nobody took. So it
   waits only for parts that were begun, whoever has the processors. Who has nothing to take looks
   again for a while, then sleeps between looks; at once on the leader's processor, which it would
   only keep from it.

   Guarded by tests/kernels/test_trainer.py. */
#ifndef CUTLINE_TEAM_H
#define CUTLINE_TEAM_H

#include <stdint.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <time.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

typedef struct {
    int64_t offer; /* the number of the job << 16 | its parts << 8 | the next one to take */
    int64_t processor; /* the leader's, + 1; 0: unknown */
    char apart[112];   /* what follows is not in the same line of the cache */
    int64_t n_done; /* parts that were taken and are done */
    int64_t is_over;
} cutline_team;

#if defined(_MSC_VER) && !defined(__clang__)
#define cutline_get64(place) _InterlockedOr64((volatile __int64 *)(place), 0)
#define cutline_put64(place, number) ((void)_InterlockedExchange64((volatile __int64 *)(place), number))
#define cutline_add64(place, n) ((void)_InterlockedExchangeAdd64((volatile __int64 *)(place), n))
#define cutline_swap64(place, old, number) \
    (_InterlockedCompareExchange64((volatile __int64 *)(place), number, old) == (old))
#else
#define cutline_get64(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define cutline_put64(place, number) __atomic_store_n(place, number, __ATOMIC_RELEASE)
#define cutline_add64(place, n) ((void)__atomic_add_fetch(place, n, __ATOMIC_RELEASE))
static inline int cutline_swap64(int64_t *place, int64_t old, int64_t number) {
    return __atomic_compare_exchange_n(place, &old, number, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
#endif

/* So often one looks again before it sleeps: for some 50 microseconds. */
#define CUTLINE_LOOKS 2048

/* A moment, in which this core may do something for others. */
static inline void cutline_relax(void) {
#if defined(_M_X64) && !defined(__clang__)
    _mm_pause();
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    __asm__ __volatile__("yield");
#endif
}

/* Some microseconds, in which this processor is free. */
static inline void cutline_nap(int microseconds) {
#if defined(_WIN32)
    Sleep(1);
#else
    struct timespec moment = {0, 1000 * microseconds};
    nanosleep(&moment, NULL);
#endif
}

/* The number of this processor, + 1; 0: it is unknown. */
static inline int64_t cutline_processor(void) {
#if defined(__linux__)
    return sched_getcpu() + 1;
#else
    return 0;
#endif
}

/* Offer parts 1 to n - 1 of a job; the first is the leader's own. */
static inline void cutline_offer(cutline_team *team, int n_parts) {
    team->n_done = 0;
    cutline_put64(&team->processor, cutline_processor());
    int64_t job = (cutline_get64(&team->offer) >> 16) + 1;
    cutline_put64(&team->offer, job << 16 | (int64_t)n_parts << 8 | 1);
}

/* A part that nobody has taken; -1: there is none. */
static inline int cutline_take(cutline_team *team) {
    int64_t offer = cutline_get64(&team->offer);
    while ((offer & 255) < (offer >> 8 & 255)) {
        if (cutline_swap64(&team->offer, offer, offer + 1))
            return (int)(offer & 255);
        offer = cutline_get64(&team->offer);
    }
    return -1;
}

static inline void cutline_done(cutline_team *team) { cutline_add64(&team->n_done, 1); }

/* Wait for all parts; every one was taken. Returns whether it took long: who took one has lost its
   processor to others. */
static inline int cutline_await(cutline_team *team, int n_parts) {
    int looks = 0;
    for (; cutline_get64(&team->n_done) < n_parts - 1; looks++) {
        if (looks < CUTLINE_LOOKS)
            cutline_relax();
        else
            cutline_nap(50);
    }
    return looks > CUTLINE_LOOKS;
}

/* A part, as soon as there is one; -1: the leader needs nobody any more, or so it seems: it has offered
   nothing for a second or so. Perhaps it was interrupted, and will never say so. */
static inline int cutline_next(cutline_team *team) {
    for (int looks = 0; looks < CUTLINE_LOOKS + 10000; looks++) {
        int part = cutline_take(team);
        if (part >= 0)
            return part;
        if (cutline_get64(&team->is_over))
            return -1;
        int64_t here = looks % 64 == 0 || looks >= CUTLINE_LOOKS ? cutline_processor() : 0;
        if (here && here == cutline_get64(&team->processor)) {
            cutline_nap(500);
            looks += 9;
        } else if (looks < CUTLINE_LOOKS) {
            cutline_relax();
        } else {
            cutline_nap(50);
        }
    }
    return -1;
}

static inline void cutline_dismiss(cutline_team *team) { cutline_put64(&team->is_over, 1); }

#endif
