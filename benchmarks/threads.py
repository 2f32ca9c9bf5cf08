"""What several threads gain: the same job with one thread and with several, in turns.

    python -m benchmarks.threads --threads 2 --corpora DIR
    python -m benchmarks.threads --jobs count_batch chunk_batch "chunk_batch, breaks" --row 3000

Rows are a thousand characters, or as many as are asked for, the text of "one text" is all of them.
For each job: milliseconds with one thread and with several, the best of the rounds; how many times
faster several are; and CPU seconds of several to those of one. What is not gained is more CPU, or
time in which threads wait for the GIL, or for a processor that another program has. On a machine
with other work believe the CPU, and the share of samples with the GIL: those of this command to
those that it takes without `--gil`.

    py-spy record --gil --format raw --rate 500 --output gil.txt -- python -m benchmarks.threads

Results are compared first.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cutline
from benchmarks import corpora
from benchmarks.harness import add_options

_CHUNK_SIZE = 256
_VOCAB_SIZE = 5_000

Job = Callable[[int], Any]


def jobs_on(encoding: cutline.Encoding, text: str, file: Path, row: int) -> dict[str, Job]:
    """List the jobs, which take the number of threads; rows have `row` characters."""
    rows = [text[at : at + row] for at in range(0, len(text), row)]
    chunker = cutline.TokenChunker(encoding, _CHUNK_SIZE)
    at_breaks = cutline.TextChunker(encoding, _CHUNK_SIZE)
    return {
        "count_batch": lambda n: encoding.count_batch(rows, num_threads=n),
        "encode_batch": lambda n: encoding.encode_ordinary_batch(rows, num_threads=n),
        "chunk_batch": lambda n: chunker.chunk_batch(rows, num_threads=n),
        "chunk_batch, breaks": lambda n: at_breaks.chunk_batch(rows, num_threads=n),
        "one text, count": lambda n: encoding.count(text, num_threads=n),
        "one text, numpy": lambda n: encoding.encode_to_numpy(
            text, disallowed_special=(), num_threads=n
        ),
        "one text, list": lambda n: encoding.encode_ordinary(text, num_threads=n),
        "count pieces": lambda n: cutline.count_pieces(file, num_threads=n),
        "train": lambda n: cutline.train(file, vocab_size=_VOCAB_SIZE, num_threads=n),
    }


def measure(job: Job, n_threads: int, rounds: int) -> tuple[float, float, float, float]:
    """Return seconds and CPU seconds with one thread, and both with several."""
    best = [float("inf")] * 4
    for _ in range(rounds):
        for column, threads in ((0, 1), (2, n_threads)):
            wall, cpu = time.perf_counter(), time.process_time()
            made = job(threads)
            best[column] = min(best[column], time.perf_counter() - wall)
            best[column + 1] = min(best[column + 1], time.process_time() - cpu)
            del made  # before the next round, which would pay for it
    return best[0], best[1], best[2], best[3]


def same(first: Any, second: Any) -> bool:
    """Return whether two results are equal."""
    if isinstance(first, cutline.Encoding):
        return bool(first.content_hash == second.content_hash)
    return np.array_equal(first, second) if isinstance(first, np.ndarray) else first == second


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_options(parser, megabytes=32, what="text of each corpus, which is repeated")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--row", type=int, default=1_000, help="characters of a row")
    parser.add_argument("--jobs", nargs="*", help="of those that it lists; all")
    options = parser.parse_args()
    encoding = cutline.get_encoding(options.encoding)
    found = corpora.load(options.corpora, int(options.megabytes * 1e6))
    print(f"texts {found.origin}", flush=True)
    for name, text in found.texts.items():
        text *= max(1, round(options.megabytes * 1e6 / len(text.encode())))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "text.txt"
            file.write_text(text, encoding="utf-8", newline="")
            for what, job in jobs_on(encoding, text, file, options.row).items():
                if options.jobs and what not in options.jobs:
                    continue
                if not same(job(1), job(options.threads)):
                    raise SystemExit(f"{what}: not what one thread gives")
                wall, cpu, wall_n, cpu_n = measure(job, options.threads, options.rounds)
                print(
                    f"{name:6} {what:19} {wall * 1e3:8.0f} ms {wall_n * 1e3:8.0f} ms "
                    f"{wall / wall_n:5.2f}x   CPU {cpu_n / cpu:4.2f}x",
                    flush=True,
                )


if __name__ == "__main__":
    main()
