"""Time calls fairly, and name the machine."""

import argparse
import gc
import os
import platform
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.corpora import Corpora
from benchmarks.peer_files import PeerFiles
from benchmarks.peers import ORACLE, Contender, Peer

if TYPE_CHECKING:
    from cutline import Encoding

Argument = TypeVar("Argument")


def add_options(parser: argparse.ArgumentParser, *, megabytes: float, what: str) -> None:
    """Add what all benchmarks of texts are asked for.

    Args:
        parser: of a benchmark.
        megabytes: of text, if not said otherwise.
        what: that is the size of.
    """
    add = parser.add_argument
    add("--encoding", default="o200k_base", choices=["o200k_base", "cl100k_base"])
    add("--corpora", type=Path, help="folder with the three corpus files")
    add("--megabytes", type=float, default=megabytes, help=f"{what} ({megabytes:g})")
    add("--json", type=Path, help="also write the results to this file")


def check_names(
    parser: argparse.ArgumentParser, kind: str, names: Iterable[str], known: Collection[str]
) -> None:
    """End the program if a name is unknown."""
    for name in names:
        if name not in known:
            parser.error(f"unknown {kind} {name!r}; there are {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class Run:
    """What every benchmark of one run shares."""

    encoding: str
    peers: Mapping[str, Peer]
    contenders: Mapping[str, Contender]
    corpora: Corpora
    files: PeerFiles
    rounds: int
    seconds_per_cell: float

    @property
    def oracle(self) -> Contender:
        """The contender that all results are held against."""
        return self.contenders[ORACLE]

    @property
    def cutline(self) -> "Encoding":
        """The encoding itself, for what no other contender can do."""
        import cutline

        return cutline.get_encoding(self.encoding)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One cell of a table. `value` is None when there is nothing to time: see `note`."""

    operation: str
    text: str
    size: str
    contender: str
    value: float | None
    unit: str
    note: str = ""


def best_seconds(
    calls: Mapping[str, Callable[[Argument], object]],
    argument_of_round: Callable[[int], Argument],
    rounds: int,
    seconds_per_cell: float,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Time the calls as `seconds_of_rounds` does, and keep each one's best round."""
    times = seconds_of_rounds(calls, argument_of_round, rounds, seconds_per_cell, clock)
    return {name: min(seconds) for name, seconds in times.items()}


def seconds_of_rounds(
    calls: Mapping[str, Callable[[Argument], object]],
    argument_of_round: Callable[[int], Argument],
    rounds: int,
    seconds_per_cell: float,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time the calls in turn, round after round.

    The machine's bad moments then meet everybody. A call that has used up its
    seconds sits out the later rounds. Arguments are made outside the clock.
    `time.process_time` as the clock leaves out what others do on the machine.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    gc.collect()
    gc.disable()
    try:
        for round_number in range(rounds):
            for name, call in calls.items():
                if sum(times[name]) > seconds_per_cell:
                    continue
                argument = argument_of_round(round_number)
                start = clock()
                result = call(argument)
                seconds = clock() - start
                del result  # freeing is not encoding
                times[name].append(seconds)
    finally:
        gc.enable()
    return times


def fresh_copy(text: str) -> str:
    """Make an equal string that doesn't share the original's cached UTF-8 form.

    CPython keeps the UTF-8 form of a string once a library has asked for it; without
    a copy only the first contender would pay for the conversion.
    """
    return (text + " ")[:-1]


def pin_to_one_core() -> str:
    """Stay on one core if the system allows it, and say what was done."""
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned to a core (the system has no call for it)"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core}"


def describe_machine() -> str:
    """CPU model, system, Python and date."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    system = f"{platform.system()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{_cpu_model()}, {os.cpu_count()} cores; {system}; {python}; {now}"


def _cpu_model() -> str:
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.exists():
        for line in cpu_info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown CPU"
