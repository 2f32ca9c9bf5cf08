"""Do some work again and again, each time with another allocation that fails.

Run with the library made of `SOURCE` preloaded: `python -m tests.kernels.failing_allocations`.
"""

import ctypes
import random
from collections.abc import Callable
from typing import Any

import cutline
from tests.vocabularies import encoding_of, merged_tokens, with_bytes

SOURCE = """
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_realloc(void *, size_t), *__libc_calloc(size_t, size_t);
static long n_left = 0;
void fail_after(long n) { n_left = n; }
long not_yet_failed(void) { long n = n_left; n_left = 0; return n; }
/* Smaller ones are Python's own, mostly. */
static int fails(size_t n) { return n >= 4096 && n_left > 0 && --n_left == 0; }
void *malloc(size_t n) { return fails(n) ? NULL : __libc_malloc(n); }
void *realloc(void *old, size_t n) { return fails(n) ? NULL : __libc_realloc(old, n); }
void *calloc(size_t n, size_t size) { return fails(n * size) ? NULL : __libc_calloc(n, size); }
"""
# Each with its split pattern; without one the text is one piece.
TEXTS = {
    "a run": ("a" * 4_000, None),
    "letters": ("".join(random.Random(1).choices("ab", k=4_000)), None),
    "words": ("".join(random.Random(1).choices("abab \n", k=40_000)), " ?[ab]+| +|\n"),
}
WORK: dict[str, Callable[[cutline.Encoding, str], Any]] = {
    "count": lambda enc, text: enc.count(text),
    "encode": lambda enc, text: enc.encode_ordinary(text),
    "arrays": lambda enc, text: enc.encode_to_numpy(text * 30).tolist(),
    "split": lambda enc, text: enc.split(text, 100),
    "overlap": lambda enc, text: enc.split(text, 100, 90),
    "intervals": lambda enc, text: enc.intervals(text).count(1_000, 3_000),
    "chunks": lambda enc, text: [
        (chunk.text, chunk.token_count) for chunk in cutline.TextChunker(enc, 100).chunk(text)
    ],
    "prepender": lambda enc, text: enc.prepender(text).count,
    "decode": lambda enc, text: enc.decode(enc.encode_ordinary(text)),
}


def main() -> None:
    allocator = ctypes.CDLL(None)
    allocator.fail_after.argtypes = [ctypes.c_long]
    ranks = with_bytes(tuple(merged_tokens(random.Random(2), b"ab", 60)))
    n_failed = 0
    for text, pattern in TEXTS.values():
        for name, work in WORK.items():
            want, n, is_over = work(encoding_of(ranks, pattern), text), 0, False
            while not is_over:
                n += 1
                enc = encoding_of(ranks, pattern)  # whose caches and tables are yet to be made
                enc.decode_bytes([])
                allocator.fail_after(n)
                try:
                    found = work(enc, text)
                except MemoryError:
                    found = want
                is_over = allocator.not_yet_failed() > 0
                n_failed += not is_over
                assert found == want, (name, n)
                assert work(enc, text) == want, (name, n)
    print(n_failed)


if __name__ == "__main__":
    main()
