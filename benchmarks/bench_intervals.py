"""Measure the counts of a text's slices, beside encoding each slice, and what they cost.

Slices are cut at random places of a text of 1 MB; all contenders cut theirs out of the
same text, on the clock, as their users would. The counter answers 20,000 queries a round,
so that no cache holds what they need; the others, who take up to thousands of times as
long, get the first of these. Those are held against tiktoken before anybody is timed.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.bench_encode import SLICE_LENGTHS, call_count
from benchmarks.bench_load import output_of
from benchmarks.harness import Measurement, Run, best_seconds, fresh_copy
from benchmarks.peers import SUBJECT

COUNT = "count of a slice"
COUNT_MANY = "count_many, a slice"
SPLIT_AT = "split_at"
BUILD = "build the counter (others: encode)"
NBYTES = "counter's own nbytes"
RESIDENT = "counter's share of the process"
REENCODING = "cutline, encoding"  # without a counter

_TEXT_BYTES = 1_000_000
_QUERIES = 20_000
_OTHERS_CHARACTERS = 1_000_000
_MAX_OTHERS_QUERIES = 2_000
_BUDGETS = (10, 100, 1_000, 10_000)
_SPLIT_TOKENS = 200_000
_MAX_SPLITS = 1_000
_MEMORY_UNIT = "bytes a byte of text"

# Copies of the text come before the first look, so that what is added is the counters',
# with whatever a string keeps once its UTF-8 form has been asked for.
_MEMORY_SCRIPT = """
import json, pathlib, random
import cutline
def resident_bytes():
    status = pathlib.Path("/proc/self/status")
    if not status.exists():
        return None
    return next(int(l.split()[1]) for l in status.open() if l.startswith("VmRSS")) * 1024
def used(text):
    counter = encoding.intervals(text)
    starts = [random.Random(i).randrange(len(text) - 1000) for i in range(1000)]
    counter.count_many([(start, start + 1000) for start in starts])
    return counter
encoding = cutline.get_encoding({encoding!r})
with open({file!r}, encoding="utf-8", newline="") as file:
    text = file.read()
copies = [(text + " ")[:-1] for _ in range(32)]
kept = used(text)
before = resident_bytes()
counters = [used(copy) for copy in copies]
after = resident_bytes()
added = None if after is None else (after - before) / len(counters)
print(json.dumps([counters[0].total, counters[0].nbytes, added]))
"""


@dataclass(frozen=True, slots=True)
class _Queries:
    """Many queries of one kind, answered in one pass; each is a row of two integers."""

    answers_to: Callable[[Any], Any]  # rows as a list or as an array, to as many integers
    rows: Any

    def __call__(self, round_number: int) -> object:
        return self.answers_to(self.rows)

    def fault(self, expected: list[int]) -> str:
        """Hold the first answers against what they should be; empty if they are right.

        All are asked for, so that nothing is left to be built on the clock.
        """
        try:
            answers = self.answers_to(self.rows)[: len(expected)]
        except Exception as error:  # a peer may refuse a text in its own way; the table says so
            return type(error).__name__
        return "" if list(answers) == expected else "differs"


def run_intervals(run: Run) -> list[Measurement]:
    """Mean µs a query; MB/s of the building; memory."""
    results: list[Measurement] = []
    for name, text in run.corpora.of_size(_TEXT_BYTES).items():
        for n_chars in SLICE_LENGTHS:
            results += _measure_counts(run, name, text, n_chars)
        for max_tokens in _BUDGETS:
            results += _measure_splits(run, name, text, max_tokens)
        results += _measure_building(run, name, text)
        results += _measure_memory(run, name, text)
    return results


def _measure_counts(run: Run, name: str, text: str, n_chars: int) -> list[Measurement]:
    rng = random.Random(n_chars)
    starts = [rng.randrange(len(text) - n_chars) for _ in range(_QUERIES)]
    slices = [(start, start + n_chars) for start in starts]
    few = slices[: min(_MAX_OTHERS_QUERIES, _OTHERS_CHARACTERS // n_chars)]
    counter = run.cutline.intervals(text)
    queries = {
        COUNT_MANY: _Queries(counter.count_many, np.array(slices)),
        SUBJECT: _Queries(_by_pairs(counter.count), slices),
        REENCODING: _Queries(_by_slices(run.cutline.count, text), few),
    }
    for peer, contender in run.contenders.items():
        if peer != SUBJECT:
            queries[peer] = _Queries(_by_slices(call_count(contender), text), few)
    expected = [len(run.oracle.encode_to_list(text[start:end])) for start, end in few]
    cells = _time(run, queries, expected)
    of_counter = {who: cell for who, cell in cells.items() if who != COUNT_MANY}
    of_array = of_counter | {SUBJECT: cells[COUNT_MANY]}
    return [
        Measurement(operation, name, f"{n_chars:,} chars", who, value, "µs", note)
        for operation, row in ((COUNT, of_counter), (COUNT_MANY, of_array))
        for who, (value, note) in row.items()
    ]


def _measure_splits(run: Run, name: str, text: str, max_tokens: int) -> list[Measurement]:
    """Time `split_at`, which no peer has, beside `Encoding.split_at`."""
    rng = random.Random(max_tokens)
    starts = range(max(1, len(text) - 8 * max_tokens))
    queries_of_a_pass = min(_MAX_SPLITS, _SPLIT_TOKENS // max_tokens)
    rows = [(rng.choice(starts), max_tokens) for _ in range(queries_of_a_pass)]
    counter = run.cutline.intervals(text)
    from_text = _by_pairs(lambda start, n: run.cutline.split_at(text, n, start))
    cells = _time(
        run,
        {
            SUBJECT: _Queries(_by_pairs(counter.split_at), rows),
            REENCODING: _Queries(from_text, rows),
        },
        from_text(rows),
    )
    return [
        Measurement(SPLIT_AT, name, f"{max_tokens:,} tokens", who, value, "µs", note)
        for who, (value, note) in cells.items()
    ]


def _time(
    run: Run, queries: Mapping[str, _Queries], expected: list[int]
) -> dict[str, tuple[float | None, str]]:
    """Mean µs a query for those that answer right, and what is wrong with the others."""
    notes = {who: asked.fault(expected) for who, asked in queries.items()}
    right = {who: asked for who, asked in queries.items() if not notes[who]}
    seconds = best_seconds(right, lambda index: index, run.rounds, run.seconds_per_cell)
    return {
        who: (seconds[who] / len(asked.rows) * 1e6 if who in seconds else None, notes[who])
        for who, asked in queries.items()
    }


def _measure_building(run: Run, name: str, text: str) -> list[Measurement]:
    """Time the building beside one encoding of the text: ours to an array, theirs to a list."""
    builders: dict[str, Callable[[str], object]] = {
        SUBJECT: run.cutline.intervals,
        REENCODING: lambda text: run.cutline.encode_to_numpy(text, disallowed_special=()),
    }
    expected = run.oracle.encode_to_list(text)
    notes = {
        SUBJECT: "" if run.cutline.intervals(text).total == len(expected) else "differs",
        REENCODING: "",
    }
    for peer, contender in run.contenders.items():
        if peer != SUBJECT:
            builders[peer] = contender.encode_to_list
            notes[peer] = "" if contender.encode_to_list(text) == expected else "differs"
    right = {who: build for who, build in builders.items() if not notes[who]}
    seconds = best_seconds(right, lambda _: fresh_copy(text), run.rounds, run.seconds_per_cell)
    n_bytes = len(text.encode())
    return [
        Measurement(
            BUILD,
            name,
            f"{n_bytes / 1e6:.3g} MB",
            who,
            n_bytes / seconds[who] / 1e6 if who in seconds else None,
            "MB/s",
            notes[who],
        )
        for who in builders
    ]


def _measure_memory(run: Run, name: str, text: str) -> list[Measurement]:
    """Weigh the counter in a fresh process, after a thousand queries."""
    file = run.files.folder / f"slices of {name}.txt"
    file.write_bytes(text.encode())
    total, own_bytes, added_bytes = output_of(
        _MEMORY_SCRIPT.format(encoding=run.encoding, file=str(file))
    )
    n_bytes = len(text.encode())
    size = f"{n_bytes / 1e6:.3g} MB"
    note = "" if total == len(run.oracle.encode_to_list(text)) else "differs"
    return [
        Measurement(
            operation,
            name,
            size,
            SUBJECT,
            None if used is None else used / n_bytes,
            _MEMORY_UNIT,
            note if used is not None else "-",
        )
        for operation, used in ((NBYTES, own_bytes), (RESIDENT, added_bytes))
    ]


def _by_pairs(call: Callable[[int, int], int]) -> Callable[[list[tuple[int, int]]], list[int]]:
    return lambda rows: [call(first, second) for first, second in rows]


def _by_slices(
    count: Callable[[str], int], text: str
) -> Callable[[list[tuple[int, int]]], list[int]]:
    return lambda rows: [count(text[start:end]) for start, end in rows]
