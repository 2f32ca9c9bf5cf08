"""Measure inputs that are one giant piece, or that no cache has seen.

Some peers are quadratic here, and some panic. Each contender climbs from 10 KB to
1 MB and stops where the next step promises to take too long; the table then shows
its speed at the size it reached. At 10 KB everybody is held against tiktoken; at the
larger sizes against the first in `_ORACLES` that got there.

Timed is a sibling of the compared text in each round: the random inputs redrawn, the
others a little shorter. Some peers remember whole pieces, even of 1 MB, and would
otherwise only look up what they had encoded before.
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from benchmarks.bench_encode import ENCODE_TO_LIST
from benchmarks.harness import Measurement, Run, best_seconds, fresh_copy

_SIZES = (10_000, 100_000, 1_000_000)
_LONGEST_STEP_SECONDS = 20.0
_ORACLES = ("tiktoken", "rs-bpe", "quicktok-v1", "tokenizers", "gigatoken")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}\u200d\N{BOY}"


MakeInput = Callable[[int, int], str]  # from the number of bytes and of the sibling


def repeated(unit: str, prefix: str = "", fewer: int = 0) -> MakeInput:
    """Make the unit again and again, some units fewer; a sibling is shorter still."""
    unit_bytes = len(unit.encode())
    return lambda n_bytes, sibling: prefix + unit * (n_bytes // unit_bytes - fewer - sibling)


def drawn(alphabet: str) -> MakeInput:
    """Make random letters of the alphabet; a sibling is drawn anew."""
    letter_bytes = len(alphabet[0].encode())

    def draw(n_bytes: int, sibling: int) -> str:
        return "".join(random.Random(sibling).choices(alphabet, k=n_bytes // letter_bytes))

    return draw


INPUTS: Mapping[str, MakeInput] = {
    "'a'": repeated("a"),
    "spaces": repeated(" "),
    # Its blanks are a piece of their own, which must not be one of the row before.
    "newline, then blanks": repeated(" ", prefix="\n", fewer=100),
    "newlines in blanks": repeated("\n" + " " * 99),
    "random letters": drawn(_LETTERS),
    "random 'a' and 'b'": drawn("ab"),
    "random digits": drawn("0123456789"),
    "random CJK": drawn("".join(map(chr, range(0x4E00, 0x9FA6)))),
    "ZWJ emoji": repeated(_FAMILY),
}


def run_worst(run: Run) -> list[Measurement]:
    """MB/s of encode to list, on one core, for each input and contender."""
    return [m for name, make in INPUTS.items() for m in _measure_input(run, name, make)]


def _measure_input(run: Run, name: str, make: MakeInput) -> list[Measurement]:
    texts = {size: make(size, 0) for size in _SIZES}
    climbs = {
        who: Climb(contender.encode_to_list, texts) for who, contender in run.contenders.items()
    }
    compare(climbs)
    seconds: dict[str, float] = {}
    for size in _SIZES:
        calls = {
            who: run.contenders[who].encode_to_list
            for who, climb in climbs.items()
            if climb.reached == size and not climb.differs
        }
        if calls:
            siblings = [make(size, sibling) for sibling in range(1, run.rounds + 1)]
            seconds |= best_seconds(calls, fresh_copies(siblings), run.rounds, run.seconds_per_cell)
    return [
        Measurement(
            ENCODE_TO_LIST,
            name,
            f"{_SIZES[-1] // 1000:,} KB",
            who,
            len(texts[climb.reached].encode()) / seconds[who] / 1e6 if who in seconds else None,
            "MB/s",
            climb.note(),
        )
        for who, climb in climbs.items()
    ]


def fresh_copies(texts: Sequence[str]) -> Callable[[int], str]:
    """Give each round its own text, which no contender has met."""
    return lambda index: fresh_copy(texts[index])


class Climb:
    """One contender's way up the sizes, with its results and what ended it."""

    def __init__(self, encode: Callable[[str], list[int]], texts: Mapping[int, str]) -> None:
        self.largest = max(texts)
        self.results: dict[int, list[int]] = {}
        self.reached = 0
        self.failure = ""
        self.differs = False
        previous_seconds = 0.0
        warm_up = texts[min(texts)][:500]
        for size, text in ((0, warm_up), *texts.items()):
            start = time.perf_counter()
            try:
                self.results[size] = encode(text)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a Rust panic is no Exception
                self.failure = type(error).__name__
                return
            seconds = time.perf_counter() - start
            self.reached = size
            if size == 0:
                continue  # the first call builds what is built lazily: its time says nothing
            # Ten times the text; how much worse it gets shows in the step before.
            growth = max(10.0, seconds / previous_seconds) if previous_seconds else 100.0
            if seconds * growth > _LONGEST_STEP_SECONDS:
                return
            previous_seconds = seconds

    def note(self) -> str:
        """Say what the figure isn't, or why there is none; empty if all went well."""
        parts = []
        if self.differs:
            parts.append("differs")
        elif self.reached != self.largest:
            parts.append(f"{self.reached // 1000:,} KB")
        if self.failure:
            parts.append(self.failure)
        return ", ".join(parts)


def compare(climbs: Mapping[str, Climb]) -> None:
    """Mark each contender that disagrees with the oracle at some size."""
    for size in sorted({size for climb in climbs.values() for size in climb.results}):
        expected = _first_result((climbs[who] for who in _ORACLES if who in climbs), size)
        for climb in climbs.values():
            if expected is not None and size in climb.results and climb.results[size] != expected:
                climb.differs = True


def _first_result(climbs: Iterable[Climb], size: int) -> list[int] | None:
    return next((climb.results[size] for climb in climbs if size in climb.results), None)
