"""How long calls on a large text keep other threads waiting: `python -m benchmarks.gil`.

A second thread looks at the clock again and again; the longest time between two of its looks,
while a call runs, is how long it stood still. Needs two idle cores.
"""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cutline
from benchmarks import corpora

_ROUNDS = 9


def longest_stop(call: Callable[[], object]) -> float:
    """Run a call, and return for how many milliseconds another thread stood still at most."""
    looks: list[float] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            looks.append(time.perf_counter())

    watcher = threading.Thread(target=look)
    watcher.start()
    time.sleep(0.01)
    begun = time.perf_counter()
    call()
    ended = time.perf_counter()
    time.sleep(0.01)
    done.set()
    watcher.join()
    first = max((at for at in range(len(looks)) if looks[at] <= begun), default=0)
    last = min((at for at in range(len(looks)) if looks[at] >= ended), default=len(looks) - 1)
    stops = [looks[at + 1] - looks[at] for at in range(first, last)]
    return 1000 * max(stops, default=0.0)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--encoding", default="o200k_base")
    parser.add_argument("--megabytes", type=float, default=10)
    given = parser.parse_args()
    sys.setswitchinterval(1e-4)  # that the watcher is not left waiting for its turn
    encoding = cutline.get_encoding(given.encoding)
    calls: dict[str, Callable[[str], object]] = {
        "sleep": lambda text: time.sleep(0.05),
        "count": encoding.count,
        "fits": lambda text: encoding.fits(text, len(text)),
        "append": lambda text: encoding.appender().append(text),
        "encode_to_numpy": encoding.encode_to_numpy,
    }
    n_bytes = int(1e6 * given.megabytes)
    print(f"longest stop of another thread, ms; median (and best) of {_ROUNDS} calls")
    for name, text in corpora.load(given.corpora, n_bytes).of_size(n_bytes).items():
        for of_call, call in calls.items():
            encoding.count(text)  # what is built once
            # A text that was not counted before has no UTF-8 kept with it.
            stops = [longest_stop(partial(call, text[:-1] + "x")) for _ in range(_ROUNDS)]
            print(f"{name:20} {of_call:16} {statistics.median(stops):6.2f} ({min(stops):.2f})")


if __name__ == "__main__":
    main()
