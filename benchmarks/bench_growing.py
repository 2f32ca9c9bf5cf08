"""Measure the count of a text that grows by a little, beside counting all of it again.

A text of 10 KB, 100 KB or 10 MB gets up to 20,000 characters in steps of 20, at its end
(`Appender`) or at its beginning (`Prepender`). They come from another place of the corpus in
each round, since the same again would only be looked up in a cache; between the rounds, and
off the clock, the text is cut back. Texts also grow to 10 MB from nothing; and by single
characters, where most are one giant piece. What a text has grown to is held against tiktoken
before the timing, and from 100 KB of single characters on, and for the 10 MB grown from
nothing, against `Encoding.count`, which is held against tiktoken elsewhere.

For the others a step is one count of the whole text; they are timed on few, for these take
long. On the way from nothing to 10 KB a text has half its length on average: they count that.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from benchmarks.bench_encode import call_count
from benchmarks.bench_worst import drawn, repeated
from benchmarks.harness import Measurement, Run, best_seconds, fresh_copy
from benchmarks.peers import SUBJECT

if TYPE_CHECKING:
    from cutline import Encoding

APPEND = "append 20 characters"
PREPEND = "prepend 20 characters"
APPEND_CHARACTER = "append one character"
PREPEND_CHARACTER = "prepend one character"
RECOUNTING = "cutline, count"  # of the whole text

_STEP_CHARACTERS = 20
_STEPS_AT = {10_000: 100, 100_000: 1_000, 10_000_000: 1_000}  # bytes of text: steps a round
_GROWN_BYTES = 10_000_000
_GIANT_BYTES = (10_000, 100_000, 1_000_000)
_FEW_ROUNDS = 3

_GIANTS = {
    "'a'": repeated("a"),
    "spaces": repeated(" "),
    "newline, then blanks": repeated(" ", prefix="\n"),
    "'日', then 'A'": repeated("A", prefix="日"),
    "dashes": repeated("-"),
    "random letters": drawn("abcdefghijklmnopqrstuvwxyz"),
    "digits": repeated("1"),
    "'s": repeated("'s"),
}


Add = Callable[[str], None]
Cell = tuple[float | None, str]  # the value, and a note on what is wrong


class _Growing(Protocol):
    """An `Appender` or a `Prepender`."""

    @property
    def count(self) -> int: ...
    def truncate(self, length: int) -> None: ...


@dataclass(frozen=True, slots=True)
class _Direction:
    """Where the text grows."""

    by_steps: str
    by_characters: str
    at_end: bool

    def start(self, encoding: "Encoding", text: str) -> tuple[_Growing, Add]:
        """Make what holds the text, and give it with its call to add to it."""
        if self.at_end:
            appender = encoding.appender(text)
            return appender, appender.append
        prepender = encoding.prepender(text)
        return prepender, prepender.prepend

    def steps(self, text: str, width: int) -> list[str]:
        """Cut a text into what is added step by step."""
        if self.at_end:
            return [text[at : at + width] for at in range(0, len(text), width)]
        return [text[max(0, at - width) : at] for at in range(len(text), 0, -width)]

    def join(self, base: str, added: str) -> str:
        """Put a text where it grows to."""
        return base + added if self.at_end else added + base


_DIRECTIONS = (
    _Direction(APPEND, APPEND_CHARACTER, at_end=True),
    _Direction(PREPEND, PREPEND_CHARACTER, at_end=False),
)


def run_growing(run: Run) -> list[Measurement]:
    """Mean µs a step."""
    results: list[Measurement] = []
    for name, source in run.corpora.of_size(_GROWN_BYTES).items():
        for n_bytes in _STEPS_AT:
            results += _measure_steps(run, name, n_bytes, source)
        results += _measure_growth(run, name, source)
    for name, make in _GIANTS.items():
        for n_bytes in _GIANT_BYTES:
            results += _measure_characters(run, name, n_bytes, make(n_bytes, 0))
    return results


def _measure_steps(run: Run, name: str, n_bytes: int, source: str) -> list[Measurement]:
    """Time steps near one length, and the others' counts of such a text."""
    base = source.encode()[:n_bytes].decode(errors="ignore")
    n_chars = _STEPS_AT[n_bytes] * _STEP_CHARACTERS
    rng = random.Random(n_bytes)
    starts = [rng.randrange(len(source) - n_chars) for _ in range(run.rounds + 1)]
    parts = [source[start : start + n_chars] for start in starts]
    others = _time_counts(run, base)
    results: list[Measurement] = []
    for direction in _DIRECTIONS:
        growing, add = direction.start(run.cutline, base)
        first, *later = (direction.steps(part, _STEP_CHARACTERS) for part in parts)
        _grow(add, first)
        grown = direction.join(base, parts[0])
        if growing.count == len(run.oracle.encode_to_list(grown)):
            prepare = partial(_cut_back, growing, len(base), add, later)
            ours = _time_steps(run, prepare, len(first), run.rounds)
        else:
            ours = None, "differs"
        results += _row(direction.by_steps, name, _size(n_bytes), {SUBJECT: ours, **others})
    return results


def _measure_growth(run: Run, name: str, text: str) -> list[Measurement]:
    """Time all the steps from nothing to a text."""
    expected = run.cutline.count(text)
    size = f"0 to {_size(_GROWN_BYTES)}"
    results: list[Measurement] = []
    for direction in _DIRECTIONS:
        ours = _time_from_nothing(run, direction, direction.steps(text, _STEP_CHARACTERS), expected)
        results += _row(direction.by_steps, name, size, {SUBJECT: ours})
    return results


def _measure_characters(run: Run, name: str, n_bytes: int, text: str) -> list[Measurement]:
    """Time all the characters from nothing to a text."""
    expected = run.cutline.count(text)
    others: dict[str, Cell] = {}
    if n_bytes == _GIANT_BYTES[0]:
        expected = len(run.oracle.encode_to_list(text))
        others = _time_counts(run, text[: len(text) // 2])
    results: list[Measurement] = []
    for direction in _DIRECTIONS:
        ours = _time_from_nothing(run, direction, direction.steps(text, 1), expected)
        results += _row(direction.by_characters, name, _size(n_bytes), {SUBJECT: ours, **others})
    return results


def _time_counts(run: Run, text: str) -> dict[str, Cell]:
    """Time the counts of a whole text, by everybody who gives the right one."""
    counts = {RECOUNTING: run.cutline.count} | {
        peer: call_count(contender) for peer, contender in run.contenders.items() if peer != SUBJECT
    }
    expected = len(run.oracle.encode_to_list(text))
    notes = {who: _fault(count, text, expected) for who, count in counts.items()}
    right = {who: count for who, count in counts.items() if not notes[who]}
    seconds = best_seconds(right, lambda _: fresh_copy(text), _FEW_ROUNDS, run.seconds_per_cell)
    return {
        who: (seconds[who] * 1e6 if who in seconds else None, note) for who, note in notes.items()
    }


def _fault(count: Callable[[str], int], text: str, expected: int) -> str:
    try:
        return "" if count(text) == expected else "differs"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a Rust panic is no Exception
        return type(error).__name__


def _time_from_nothing(
    run: Run, direction: _Direction, steps: Sequence[str], expected: int
) -> Cell:
    growing, add = direction.start(run.cutline, "")
    _grow(add, steps)
    if growing.count != expected:
        return None, "differs"

    def prepare(round_number: int) -> tuple[Add, Sequence[str]]:
        return direction.start(run.cutline, "")[1], steps

    return _time_steps(run, prepare, len(steps), _FEW_ROUNDS)


def _time_steps(
    run: Run, prepare: Callable[[int], tuple[Add, Sequence[str]]], n_steps: int, rounds: int
) -> Cell:
    calls = {SUBJECT: lambda prepared: _grow(*prepared)}
    seconds = best_seconds(calls, prepare, rounds, run.seconds_per_cell)
    return seconds[SUBJECT] / n_steps * 1e6, ""


def _cut_back(
    growing: _Growing,
    length: int,
    add: Add,
    steps_of_rounds: Sequence[Sequence[str]],
    round_number: int,
) -> tuple[Add, Sequence[str]]:
    growing.truncate(length)
    return add, steps_of_rounds[round_number]


def _grow(add: Add, steps: Sequence[str]) -> None:
    for step in steps:
        add(step)


def _row(operation: str, name: str, size: str, cells: Mapping[str, Cell]) -> list[Measurement]:
    return [
        Measurement(operation, name, size, who, value, "µs", note)
        for who, (value, note) in cells.items()
    ]


def _size(n_bytes: int) -> str:
    return f"{n_bytes // 1000:,} KB" if n_bytes < 1_000_000 else f"{n_bytes // 1_000_000} MB"
