"""The trainers that are compared. Each runs in a process of its own, which prints what it took.

    python -m benchmarks.trainers NAME FILE VOCAB_SIZE THREADS

All of them read the file, split by GPT-2's pattern (gigatoken knows no other), and train. The
clock starts when the libraries are imported. With one thread it is the processor's, so that other
programs matter less. Peers that take an iterator of texts are given blocks of whole
lines, about a megabyte each.
"""

import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from benchmarks.memory import peak_bytes

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_BLOCK_BYTES = 1 << 20
_Token = TypeVar("_Token", bytes, str)

# Trains when called; returns the tokens' bytes, in order.
Training = Callable[[], list[bytes]]


def _blocks(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as file:
        while lines := file.readlines(_BLOCK_BYTES):
            yield "".join(lines)


def _by_id(ids: Mapping[_Token, int]) -> list[_Token]:
    return sorted(ids, key=ids.__getitem__)


def _cutline(path: Path, vocab_size: int, threads: int) -> Training:
    from cutline import train as train_encoding  # imports what it needs, before the clock starts

    def train() -> list[bytes]:
        encoding = train_encoding(
            path, vocab_size, pat_str=PATTERN, ties="ids", num_threads=threads
        )
        return encoding._vocabulary.tokens()

    return train


def _cutline_count(path: Path, vocab_size: int, threads: int) -> Training:
    from cutline import count_pieces

    def count() -> list[bytes]:
        return [str(len(count_pieces(path, pat_str=PATTERN, num_threads=threads))).encode()]

    return count


def _gigatoken(path: Path, vocab_size: int, threads: int) -> Training:
    import gigatoken

    def train() -> list[bytes]:
        tokens, _ = gigatoken.train_bpe(path, vocab_size, [])
        return [tokens[token] for token in sorted(tokens)]

    return train


def _rustbpe(path: Path, vocab_size: int, threads: int) -> Training:
    import rustbpe

    def train() -> list[bytes]:
        tokenizer = rustbpe.Tokenizer()
        tokenizer.train_from_iterator(_blocks(path), vocab_size, pattern=PATTERN)
        return _by_id({bytes(token): rank for token, rank in tokenizer.get_mergeable_ranks()})

    return train


def _bpeasy(path: Path, vocab_size: int, threads: int) -> Training:
    import bpeasy

    def train() -> list[bytes]:
        return _by_id(bpeasy.train_bpe(_blocks(path), PATTERN, 128, vocab_size))

    return train


def _tokenizers(path: Path, vocab_size: int, threads: int) -> Training:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )

    def train() -> list[bytes]:
        tokenizer.train_from_iterator(_blocks(path), trainer)
        return [token.encode() for token in _by_id(tokenizer.get_vocab())]

    return train


def _python_counts(path: Path) -> Counter[bytes]:
    import regex

    counts: Counter[bytes] = Counter()
    for block in _blocks(path):
        counts.update(match.group().encode() for match in regex.finditer(PATTERN, block))
    return counts


def _naive(path: Path, vocab_size: int, threads: int) -> Training:
    from cutline import reference

    def train() -> list[bytes]:
        merges = reference.train(_python_counts(path), vocab_size, ties="ids")
        return [bytes([byte]) for byte in range(256)] + [m.left + m.right for m in merges]

    return train


def _index_heap(path: Path, vocab_size: int, threads: int) -> Training:
    from benchmarks.python_trainer import train_by_index

    return lambda: train_by_index(_python_counts(path), vocab_size)


TRAINERS: dict[str, Callable[[Path, int, int], Training]] = {
    "cutline": _cutline,
    "cutline, counting": _cutline_count,
    "gigatoken": _gigatoken,
    "rustbpe": _rustbpe,
    "bpeasy": _bpeasy,
    "tokenizers": _tokenizers,
    "Python, index + heap": _index_heap,
    "Python, naive": _naive,
}


def main() -> None:
    name, file, vocab_size, threads = sys.argv[1:]
    train = TRAINERS[name](Path(file), int(vocab_size), int(threads))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])
    clock = time.process_time if threads == "1" else time.perf_counter
    start = clock()
    tokens = train()
    seconds = clock() - start
    digest = hashlib.sha256(b"\0".join(tokens)).hexdigest()[:12]
    print(json.dumps([seconds, peak_bytes() / 1e6, len(tokens), digest]))


if __name__ == "__main__":
    main()
