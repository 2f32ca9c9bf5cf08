"""Measure encode, count and decode on whole corpora and on short slices."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.harness import Measurement, Run, best_seconds, fresh_copy
from benchmarks.peers import Contender

ENCODE_TO_NUMPY = "encode to numpy"
ENCODE_TO_LIST = "encode to list"
COUNT = "count"
DECODE = "decode to str"

SLICE_LENGTHS = (10, 100, 1_000, 10_000)
_CHARACTERS_PER_PASS = 1_000_000
_MAX_SLICES = 2_000

Call = Callable[[Any], object]  # from a str, or from a list of ids when decoding


@dataclass(frozen=True, slots=True)
class _Operation:
    """A call to compare; `is_right` holds its result against the text and the oracle's tokens."""

    name: str
    call_of: Callable[[Contender], Call | None]
    is_right: Callable[[Any, str, list[int]], bool]
    reads_tokens: bool = False


@dataclass(frozen=True, slots=True)
class _Batch:
    """Texts that one pass works through: a whole corpus, or many slices of it."""

    name: str
    size: str
    texts: Sequence[str]
    unit: str

    def value(self, seconds: float) -> float:
        if self.unit == "µs":
            return seconds / len(self.texts) * 1e6
        return sum(len(text.encode()) for text in self.texts) / seconds / 1e6


def run_whole(run: Run) -> list[Measurement]:
    """Each corpus in one call: MB/s (10**6 bytes of UTF-8)."""
    results: list[Measurement] = []
    for name, text in run.corpora.texts.items():
        size = f"{len(text.encode()) / 1e6:.3g} MB"
        results += _measure(run, _Batch(name, size, [text], "MB/s"))
    return results


def run_scripts(run: Run) -> list[Measurement]:
    """Time a megabyte of lines in one script, in one call: MB/s."""
    results: list[Measurement] = []
    for name, text in run.corpora.of_scripts(1_000_000).items():
        results += _measure(run, _Batch(name, f"{len(text.encode()) / 1e6:.3g} MB", [text], "MB/s"))
    return results


def run_slices(run: Run) -> list[Measurement]:
    """Slices at random places, the same for everybody: mean µs a call."""
    results: list[Measurement] = []
    for name, text in run.corpora.texts.items():
        rng = random.Random(len(text))
        for n_chars in SLICE_LENGTHS:
            n_slices = min(_MAX_SLICES, _CHARACTERS_PER_PASS // n_chars)
            starts = [rng.randrange(len(text) - n_chars) for _ in range(n_slices)]
            slices = [text[start : start + n_chars] for start in starts]
            results += _measure(run, _Batch(name, f"{n_chars:,} chars", slices, "µs"))
    return results


def _measure(run: Run, batch: _Batch) -> list[Measurement]:
    expected = [run.oracle.encode_to_list(text) for text in batch.texts]
    return [m for op in _OPERATIONS for m in _measure_operation(run, batch, expected, op)]


def _measure_operation(
    run: Run, batch: _Batch, expected: list[list[int]], operation: _Operation
) -> list[Measurement]:
    """Check every contender's results (which also warms it up), then time the right ones."""
    notes = {
        name: _fault(contender, batch, expected, operation)
        for name, contender in run.contenders.items()
    }
    passes = {
        name: _pass_over(call)
        for name, contender in run.contenders.items()
        if not notes[name] and (call := operation.call_of(contender)) is not None
    }

    def argument_of_round(_: int) -> Sequence[object]:
        return expected if operation.reads_tokens else [fresh_copy(t) for t in batch.texts]

    seconds = best_seconds(passes, argument_of_round, run.rounds, run.seconds_per_cell)
    return [
        Measurement(
            operation.name,
            batch.name,
            batch.size,
            name,
            batch.value(seconds[name]) if name in seconds else None,
            batch.unit,
            notes[name],
        )
        for name in run.contenders
    ]


def _fault(
    contender: Contender, batch: _Batch, expected: list[list[int]], operation: _Operation
) -> str:
    """Say what stands in the way of timing this contender; empty if nothing does."""
    call = operation.call_of(contender)
    if call is None:
        return "-"
    try:
        for text, tokens in zip(batch.texts, expected, strict=True):
            if not operation.is_right(
                call(tokens if operation.reads_tokens else text), text, tokens
            ):
                return "differs"
    except Exception as error:  # a peer may refuse a text in its own way; the table says so
        return type(error).__name__
    return ""


def _pass_over(call: Call) -> Callable[[Sequence[object]], object]:
    """One call over all items; keeps a single result, so that freeing it stays off the clock."""

    def one_pass(items: Sequence[object]) -> object:
        result: object = None
        for item in items:
            result = call(item)
        return result

    return one_pass


def call_count(contender: Contender) -> Callable[[str], int]:
    """Give a peer without a count what its users write: the length of the encoding."""
    if contender.count is not None:
        return contender.count
    encode = contender.encode_to_list
    return lambda text: len(encode(text))


_OPERATIONS = (
    _Operation(
        ENCODE_TO_NUMPY,
        lambda contender: contender.encode_to_numpy,
        lambda result, text, tokens: result.tolist() == tokens,
    ),
    _Operation(
        ENCODE_TO_LIST,
        lambda contender: contender.encode_to_list,
        lambda result, text, tokens: result == tokens,
    ),
    _Operation(COUNT, call_count, lambda result, text, tokens: result == len(tokens)),
    _Operation(
        DECODE,
        lambda contender: contender.decode,
        lambda result, text, tokens: result == text,
        reads_tokens=True,
    ),
)
