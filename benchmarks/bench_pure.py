"""Measure pure byte-pair encoding: no split pattern, so that the whole text is one piece.

This is where methods part: linear ones keep their speed from 1 KB to 1 MB, quadratic
ones lose nine tenths of it with each step up. A contender stops where the next step
promises to take too long (see `bench_worst`), and the larger sizes say so. tiktoken gets
the pattern `(?s:.+)`; rs-bpe is GitHub's `bpe` crate.

The table is that of the last token of every prefix, which gives the count of every prefix
of a piece, too. It is what `split_at` fills for a piece of more than 64 bytes when the
budget is more than the text can have: it looks up whether the text is a token, fills the
table to the text's end, and finds that all of it fits. Nothing else is timed.
"""

from collections.abc import Callable, Mapping

from benchmarks.bench_worst import Climb, MakeInput, compare, drawn, fresh_copies, repeated
from benchmarks.harness import Measurement, Run, best_seconds
from benchmarks.peers import SUBJECT, cutline_without_pattern

ENCODE_PURE = "encode to list, no split pattern"
TABLE = "last token of every prefix"
LARGEST_SIZE = "1,000 KB"

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_MORE_THAN_ANY = 10**9

Encode = Callable[[str], list[int]]


def run_pure(run: Run) -> list[Measurement]:
    """MB/s on one core, for each text, size and contender."""
    loaded = {name: run.peers[name].load_without_pattern(run.encoding) for name in run.contenders}
    encoders = {name: encode for name, encode in loaded.items() if encode is not None}
    split_at = cutline_without_pattern(run.encoding).split_at

    def fill_table(text: str) -> int:
        return split_at(text, _MORE_THAN_ANY)

    results: list[Measurement] = []
    for name, make in _inputs(run).items():
        results += _measure_encoding(run, name, make, encoders)
        results += _measure_table(run, name, make, fill_table)
    return results


def _inputs(run: Run) -> dict[str, MakeInput]:
    texts = run.corpora.of_size(_SIZES[-1] + 1_000 * run.rounds)
    return {
        "prose": _part_of(texts["prose"]),
        "code": _part_of(texts["code"]),
        "random letters": drawn("abcdefghijklmnopqrstuvwxyz"),
        "'a'": repeated("a"),
        "spaces": repeated(" "),
        "dashes": repeated("-"),
        "'ab'": repeated("ab"),
    }


def _part_of(text: str) -> MakeInput:
    utf8 = text.encode()
    return lambda n_bytes, sibling: utf8[1_000 * sibling :][:n_bytes].decode(errors="ignore")


def _measure_encoding(
    run: Run, name: str, make: MakeInput, encoders: Mapping[str, Encode]
) -> list[Measurement]:
    texts = {size: make(size, 0) for size in _SIZES}
    climbs = {who: Climb(encode, texts) for who, encode in encoders.items()}
    compare(climbs)
    results: list[Measurement] = []
    for size in _SIZES:
        right = {
            who: encoders[who]
            for who, climb in climbs.items()
            if size <= climb.reached and not climb.differs
        }
        speeds = _speeds(run, make, size, right)
        results += [
            _cell(ENCODE_PURE, name, size, who, speeds.get(who), climb.note())
            for who, climb in climbs.items()
        ]
    return results


def _measure_table(
    run: Run, name: str, make: MakeInput, fill_table: Callable[[str], int]
) -> list[Measurement]:
    results: list[Measurement] = []
    for size in _SIZES:
        text = make(size, 0)
        if fill_table(text) == len(text):
            speed = _speeds(run, make, size, {SUBJECT: fill_table})[SUBJECT]
            results.append(_cell(TABLE, name, size, SUBJECT, speed))
        else:
            results.append(_cell(TABLE, name, size, SUBJECT, None, "differs"))
    return results


def _speeds(
    run: Run, make: MakeInput, size: int, calls: Mapping[str, Callable[[str], object]]
) -> dict[str, float]:
    siblings = [make(size, sibling) for sibling in range(1, run.rounds + 1)]
    seconds = best_seconds(calls, fresh_copies(siblings), run.rounds, run.seconds_per_cell)
    return {who: size / seconds[who] / 1e6 for who in seconds}


def _cell(
    operation: str, name: str, size: int, who: str, speed: float | None, note: str = ""
) -> Measurement:
    """Make a cell; what stopped a contender is said only where there is no figure."""
    note = "" if speed is not None else note
    return Measurement(operation, name, f"{size // 1000:,} KB", who, speed, "MB/s", note)
