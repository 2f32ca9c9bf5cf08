"""Random texts by the million, against tiktoken and tokenizers: ids and counts, in batches.

    python -m fuzz.compare --seconds 600 --processes 2 --seed 1

A round draws a tokenizer (packaged, toy, random, with permuted or sparse ids; of `tokenizers`,
every kind that `benchmarks.equality` knows) and slices texts from a row of awkward parts. Each
process takes rounds until the time is up. What differs is printed with its round, and as small as
it gets; `--round N` runs that round alone. Each process prints its sums every minute, so that a run
that is ended early counts, too.
"""

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import cutline
from benchmarks.equality import configurations
from cutline.errors import CutlineError
from fuzz.subjects import subject
from tests.texts import NAMED_TEXTS, random_texts

N_TEXTS = 20_000
N_PARTS = 4_000
N_NAMED_SUBJECTS = 15
SECONDS_BETWEEN_LINES = 60
SHARE_OF_TOKENIZERS = 0.1  # they are ten times as slow
SIZES = ((2, 12), (2, 12), (2, 12), (8, 40), (8, 40), (30, 300))  # characters
RUNS = tuple(unit * n for unit in (" ", "a", "\n", "1", "=", "中", "\u0301") for n in (2, 5, 33))

Encode = Callable[[Sequence[str]], list[list[int]]]


@dataclass(frozen=True, slots=True)
class Pair:
    """What is compared."""

    name: str
    encode: Encode
    count: Callable[[Sequence[str]], list[int]]
    want: Encode
    parts: list[str]
    """What texts are made of."""

    def differing(self, texts: Sequence[str]) -> Iterator[str]:
        """Yield the texts whose ids or counts are others than the oracle's."""
        rows = zip(texts, self.encode(texts), self.count(texts), self.want(texts), strict=True)
        return (text for text, ids, n, want in rows if ids != want or n != len(want))

    def smallest(self, text: str) -> str:
        """Leave out parts of a text that differs, shorter and shorter ones, while it differs."""
        size = len(text)
        while size:
            shorter = [text[:at] + text[at + size :] for at in range(len(text) - size + 1)]
            if found := next(self.differing(shorter), None):
                text = found
            else:
                size = min(size, len(text)) // 2
        return text


def same_as_tiktoken(rng: random.Random) -> Pair:
    """Draw one of the fuzz targets' vocabularies."""
    number = rng.choice((rng.randrange(4), rng.randrange(N_NAMED_SUBJECTS), rng.getrandbits(40)))
    chosen = subject(number)
    real, ours, specials = chosen.real, chosen.ours, [*chosen.ours.special_tokens_set]
    if chosen.letters:
        parts = [*chosen.letters, *map(partial(drawn, rng, chosen.letters), range(2, 40))]
    else:
        size = len(ours._vocabulary)
        tokens = (ours._vocabulary.token_bytes(rng.randrange(size)) for _ in range(300))
        parts = [*awkward(), *(token.decode(errors="ignore") for token in tokens)]
    if specials and rng.random() < 0.3:
        return Pair(
            f"{ours.name} with special tokens",
            partial(ours.encode_batch, num_threads=1, allowed_special="all"),
            lambda texts: ours.count_batch(texts, num_threads=1, allowed_special="all").tolist(),
            lambda texts: [real.encode(text, allowed_special="all") for text in texts],
            parts + specials * 9,
        )
    return Pair(
        f"{ours.name} {number}",
        partial(ours.encode_ordinary_batch, num_threads=1),
        lambda texts: ours.count_batch(texts, num_threads=1).tolist(),
        lambda texts: [*map(real.encode_ordinary, texts)],
        parts,
    )


def same_as_tokenizers(rng: random.Random) -> Pair:
    """Draw one of the tokenizers that `benchmarks.equality` makes, which may be refused."""
    name, make = rng.choice(tokenizers())
    tokenizer = make()
    with tempfile.TemporaryDirectory(prefix="cutline-compare-") as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(str(path))
        ours = cutline.load(path)

    def want(texts: Sequence[str]) -> list[list[int]]:
        found = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [one.ids for one in found]

    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    return Pair(
        name,
        partial(ours.encode_batch, num_threads=1, allowed_special="all"),
        lambda texts: ours.count_batch(texts, num_threads=1, allowed_special="all").tolist(),
        want,
        [*map(without_surrogates, awkward()), *added * 5],
    )


@cache
def tokenizers() -> list[tuple[str, Callable[[], Any]]]:
    return [*configurations([*map(without_surrogates, awkward())])]


@cache
def awkward() -> list[str]:
    """Return what is known to be awkward, its words, runs, and any characters."""
    texts = [text[:300] for text in (*NAMED_TEXTS.values(), *random_texts(1, 300))]
    words = [f"{blank}{word}" for text in texts for blank in ("", " ") for word in text.split(" ")]
    return [*texts, *words, *RUNS]


def without_surrogates(text: str) -> str:
    return text.encode(errors="replace").decode()


def drawn(rng: random.Random, letters: str, n: int) -> str:
    return "".join(rng.choices(letters, k=n))


def any_characters(rng: random.Random) -> str:
    """Draw neighbours in Unicode, which often are of one script."""
    first = rng.choice(
        (rng.randrange(0x3000), rng.randrange(0xD7F0), 0xE000 + rng.randrange(0x1F000))
    )
    return "".join(chr(first + rng.randrange(16)) for _ in range(rng.randint(1, 4)))


def texts_of(rng: random.Random, parts: list[str], n: int) -> list[str]:
    """Slice `n` texts, short ones most often, from a row of parts."""
    strange = [any_characters(rng) for _ in range(len(parts) // 4)]
    row = "".join(rng.choices(parts + strange, k=N_PARTS))
    numbers = np.random.default_rng(rng.getrandbits(63))
    shortest, longest = rng.choice(SIZES)
    starts = numbers.integers(0, max(len(row) - longest, 1), n)
    ends = starts + numbers.integers(shortest, longest + 1, n)
    return [row[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def run_round(seed: int, number: int) -> tuple[int, int, int]:
    """Compare one block of texts; return their number, characters, and how many differ."""
    rng = random.Random(f"{seed} {number}")
    pair_of = same_as_tokenizers if rng.random() < SHARE_OF_TOKENIZERS else same_as_tiktoken
    try:
        pair = pair_of(rng)
    except CutlineError:
        return 0, 0, 0
    texts = texts_of(rng, pair.parts, N_TEXTS)
    differing = [*pair.differing(texts)]
    if differing:
        least = pair.smallest(min(differing, key=len))
        where = f"--seed {seed} --round {number}: {pair.name}"
        print(f"{where}: {len(differing)} differ, the smallest {least!r}", flush=True)
    return len(texts), sum(map(len, texts)), len(differing)


def run_rounds(seed: int, numbers: range, seconds: float) -> tuple[int, int, int, int]:
    """Run rounds until the time is up; return the sums of their results, and of rounds."""
    start, sums = time.monotonic(), np.zeros(4, dtype=np.int64)
    next_line = start + SECONDS_BETWEEN_LINES
    for number in numbers:
        now = time.monotonic()
        if now > start + seconds:
            break
        if now > next_line:
            said = f"after {now - start:.0f} s, rounds up to {number}"
            print(f"{said}: {summary(seed, *sums.tolist())}", flush=True)
            next_line = now + SECONDS_BETWEEN_LINES
        sums += (*run_round(seed, number), 1)
    found: tuple[int, int, int, int] = tuple(sums.tolist())
    return found


def summary(seed: int, n_texts: int, n_characters: int, n_differing: int, n_rounds: int) -> str:
    return (
        f"seed {seed}: {n_texts:,} texts of {n_characters / max(n_texts, 1):.0f} characters "
        f"on average compared in {n_rounds:,} rounds, {n_differing:,} differ"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--round", type=int, help="run this one alone")
    asked = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["CUTLINE_CACHE_DIR"] = ""  # thousands of patterns would fill the cache folder
    if asked.round is not None:
        found = [run_rounds(asked.seed, range(asked.round, asked.round + 1), asked.seconds)]
    else:
        each = [
            (asked.seed, range(first, sys.maxsize, asked.processes), asked.seconds)
            for first in range(asked.processes)
        ]
        with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
            found = pool.starmap(run_rounds, each)
    sums = [sum(column) for column in zip(*found, strict=True)]
    print(summary(asked.seed, *sums))
    sys.exit(1 if sums[2] else 0)


if __name__ == "__main__":
    main()
