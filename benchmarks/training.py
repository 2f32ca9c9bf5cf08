"""Measure training: `python -m benchmarks.training --corpora DIR [--json FILE]`.

Every cell is a fresh process: its seconds and its peak memory. The corpora are the folder's
prose and code, and all three files together; what is larger is made of copies of these, each
with its paragraphs in another order, for no more text is at hand. Copies hold no new pieces,
so the large corpora measure counting above all.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.harness import describe_machine
from benchmarks.trainers import TRAINERS

_FILES = {
    "prose": ("prose_en.txt",),
    "code": ("code_python.txt",),
    "mixed": ("prose_en.txt", "code_python.txt", "docs_multilingual.md"),
}
_CORPORA = (("prose", 8), ("code", 8), ("mixed", 25), ("prose", 100))
_VOCAB_SIZES = (1_000, 5_000, 10_000, 32_000, 100_000)
_GROWTH_BYTES = (1, 2, 5, 10, 25, 50, 100)  # MB
_GROWTH_SIZES = (1_256, 2_256, 5_256, 10_256, 20_256, 50_256, 100_256)
_SUBJECT, _COUNTING = "cutline", "cutline, counting"
_SLOW = {"Python, index + heap": (8, 5_000), "Python, naive": (8, 300)}
_TIMEOUT = 100


@dataclass(frozen=True, slots=True)
class Cell:
    """One training: of how much text, by whom, and what it took."""

    corpus: str
    megabytes: int
    vocab_size: int
    threads: int
    trainer: str
    seconds: float
    peak_mb: float
    n_tokens: int
    digest: str


def main() -> None:
    options = _parse_options()
    print(f"machine: {describe_machine()}\nbest of {options.rounds}, fresh processes", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        cells = list(_grid(options, Path(folder))) + list(_growth(options, Path(folder)))
    print("\n## targets", *_verdicts(cells), sep="\n")
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(cell) for cell in cells], indent=1) + "\n")


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True, help="folder with the corpus files")
    parser.add_argument("--most", type=int, default=100, help="leave out larger corpora (MB)")
    parser.add_argument("--rounds", type=int, default=2, help="best of this many (2)")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    return parser.parse_args()


def _corpus(folder: Path, into: Path, name: str, megabytes: float) -> Path:
    """Write copies of a corpus, in each the paragraphs in another order, up to a size."""
    path = into / f"{name}-{megabytes}.txt"
    if not path.exists():
        text = "\n\n".join((folder / file).read_text("utf-8") for file in _FILES[name])
        rng, paragraphs, left = random.Random(0), text.split("\n\n"), int(megabytes * 1e6)
        with path.open("wb") as file:
            while left > 0:
                block = ("\n\n".join(paragraphs) + "\n\n").encode()[:left]
                file.write(block.decode("utf-8", "ignore").encode())
                left -= len(block)
                rng.shuffle(paragraphs)
    return path


def _measure(path: Path, cell: tuple[str, int, int, int, str], rounds: int) -> Cell | None:
    """Best of some runs; None where one takes too long or the trainer can't be imported."""
    _, _, vocab_size, threads, trainer = cell
    command = [sys.executable, "-m", "benchmarks.trainers", trainer, str(path)]
    best: list[float] | None = None
    for _ in range(rounds):
        try:
            done = subprocess.run(
                [*command, str(vocab_size), str(threads)],
                capture_output=True, text=True, check=True, timeout=_TIMEOUT,
                env=_environment(threads),
            )  # fmt: skip
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            reason = error.stderr[-200:] if error.stderr else f"over {_TIMEOUT} s"
            print(f"{trainer}: left out ({reason!r})", file=sys.stderr)
            return None
        took = json.loads(done.stdout.splitlines()[-1])  # after what peers print
        best = took if best is None else [min(best[0], took[0]), max(best[1], took[1]), *took[2:]]
    assert best is not None
    found = Cell(*cell, *best)  # type: ignore[arg-type]
    print(
        f"{found.corpus:6} {found.megabytes:4} MB  {found.vocab_size:7,}  {threads} thread"
        f"{'s' * (threads > 1):1}  {trainer:22} {found.seconds:8.2f} s {found.peak_mb:7.0f} MB  "
        f"{found.n_tokens:7,} tokens {found.digest}",
        flush=True,
    )
    return found


def _environment(threads: int) -> dict[str, str]:
    import os

    return os.environ | {"RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}


def _grid(options: argparse.Namespace, into: Path) -> Iterator[Cell]:
    """Every trainer, corpus and vocabulary size; one thread, then two for those that have them."""
    for name, megabytes in _CORPORA:
        if megabytes > options.most:
            continue
        path = _corpus(options.corpora, into, name, megabytes)
        for vocab_size in _VOCAB_SIZES:
            for threads in (1, 2):
                for trainer in TRAINERS:
                    most_mb, most_tokens = _SLOW.get(trainer, (megabytes, vocab_size))
                    if megabytes > most_mb or (trainer in _SLOW and vocab_size != _VOCAB_SIZES[0]):
                        continue
                    if trainer in _SLOW and (threads == 2 or name != "prose"):
                        continue
                    if trainer == _COUNTING and vocab_size != _VOCAB_SIZES[0]:
                        continue
                    key = (name, megabytes, min(vocab_size, most_tokens), threads, trainer)
                    if (cell := _measure(path, key, options.rounds)) is not None:
                        yield cell


def _growth(options: argparse.Namespace, into: Path) -> Iterator[Cell]:
    """Our time against the size of the text, and against the number of merges."""
    for megabytes in _GROWTH_BYTES:
        if megabytes <= options.most:
            path = _corpus(options.corpora, into, "mixed", megabytes)
            key = ("growth", megabytes, 32_000, 1, _SUBJECT)
            if (cell := _measure(path, key, options.rounds)) is not None:
                yield cell
    path = _corpus(options.corpora, into, "mixed", 25)
    for vocab_size in _GROWTH_SIZES:
        key = ("merges", 25, vocab_size, 1, _SUBJECT)
        if (cell := _measure(path, key, options.rounds)) is not None:
            yield cell


def _verdicts(cells: list[Cell]) -> Iterator[str]:
    """PASS or FAIL for each target."""
    found = {(c.corpus, c.megabytes, c.vocab_size, c.threads, c.trainer): c for c in cells}
    for (name, megabytes, vocab_size, threads, trainer), giga in found.items():
        ours = found.get((name, megabytes, vocab_size, threads, _SUBJECT))
        if trainer == "gigatoken" and ours is not None:
            yield _verdict(
                ours.seconds <= giga.seconds,
                f"{vocab_size:,} on {megabytes} MB {name}, threads {threads}: "
                f"{ours.seconds:.2f} s, gigatoken {giga.seconds:.2f}",
            )
    for name, megabytes in _CORPORA:
        ours = found.get((name, megabytes, 32_000, 1, _SUBJECT))
        if ours is None:
            continue
        peers = [
            c for c in cells
            if (c.corpus, c.megabytes, c.vocab_size, c.threads) == (name, megabytes, 32_000, 1)
            and not c.trainer.startswith(_SUBJECT)
        ]  # fmt: skip
        if not peers:
            continue
        leanest = min(peers, key=lambda cell: cell.peak_mb)
        yield _verdict(
            ours.peak_mb <= 1.5 * leanest.peak_mb,
            f"its memory: {ours.peak_mb:.0f} MB, the leanest ({leanest.trainer}) "
            f"{leanest.peak_mb:.0f}",
        )
        one = found.get((name, megabytes, _VOCAB_SIZES[0], 1, _COUNTING))
        two = found.get((name, megabytes, _VOCAB_SIZES[0], 2, _COUNTING))
        if one is not None and two is not None:
            yield _verdict(
                one.seconds >= 1.6 * two.seconds,
                f"counting {megabytes} MB {name} with two threads: "
                f"{one.seconds / two.seconds:.2f} times as fast as with one",
            )


def _verdict(passed: bool, what: str) -> str:
    return f"{'PASS' if passed else 'FAIL'}  {what}"


if __name__ == "__main__":
    main()
