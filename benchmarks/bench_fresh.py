"""Measure cold, fresh and warm calls apart, each contender in processes of its own.

Caches make the second call on a text another measurement than the first. So a new process
encodes the first half of a text (cold: the first call after loading), the second half (fresh: text
never met, by caches that have met its like) and the second half again (warm). What all contenders
return is compared by a hash; only the calls are timed.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.harness import Measurement, Run
from benchmarks.peer_files import PeerFiles
from benchmarks.peers import PEERS, Contender, Toktok

PHASES = ("cold", "fresh", "warm")
_WARM_CALLS = 3
_ASKED = "encode to numpy", "encode to list", "count"


def run_fresh(run: Run) -> list[Measurement]:
    """MB/s of each phase, on the corpora and on lines in one script."""
    texts = run.corpora.texts | run.corpora.scripts  # not repeated: that would not be fresh
    names = [*run.contenders, Toktok.distribution]
    results = []
    for title, text in texts.items():
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            for operation in _ASKED:
                results += _measure(run, operation, title, Path(file.name), names)
    return results


def _measure(
    run: Run, operation: str, title: str, text: Path, names: Iterable[str]
) -> list[Measurement]:
    best: dict[tuple[str, str], float] = {}
    digests: dict[str, str] = {}
    # Twice at least: memory that a virtual machine gets for the first time takes long.
    for _ in range(max(2, run.rounds // 2)):
        for name in names:
            arguments = [name, run.encoding, operation, str(text)]
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.bench_fresh", *arguments],
                stdout=subprocess.PIPE, check=True,
            )  # fmt: skip
            if (told := json.loads(done.stdout)) is None:
                continue
            digests[name] = told["digest"]
            for phase, speed in zip(PHASES, told["speeds"], strict=True):
                best[name, phase] = max(speed, best.get((name, phase), 0.0))
    want = digests[run.oracle.name]
    return [
        Measurement(f"{operation}, {phase}", title, "", name, best[name, phase], "MB/s")
        if digests[name] == want
        else Measurement(f"{operation}, {phase}", title, "", name, None, "MB/s", "differs")
        for phase in PHASES
        for name in digests
    ]


def _call_of(contender: Contender, operation: str) -> Callable[[str], object] | None:
    if operation == "encode to numpy":
        return contender.encode_to_numpy
    if operation == "encode to list":
        return None if contender.name == Toktok.distribution else contender.encode_to_list
    if contender.count is not None:
        return contender.count
    encode = contender.encode_to_numpy or contender.encode_to_list
    return lambda text: len(encode(text))


def _digest(result: object) -> str:
    if isinstance(result, int):
        return str(result)
    assert isinstance(result, Iterable)
    return hashlib.sha256(array("Q", map(int, result)).tobytes()).hexdigest()


def _child(name: str, encoding: str, operation: str, path: str) -> None:
    import time

    import numpy  # noqa: F401  that of the first who needs it would count

    peer = next(peer for peer in (*PEERS, Toktok()) if peer.distribution == name)
    text = Path(path).read_text(encoding="utf-8")
    halves = [text[: len(text) // 2], text[len(text) // 2 :]]
    call = _call_of(peer.load(encoding, PeerFiles.in_temporary_folder()), operation)
    if call is None:
        print("null")
        return
    speeds = [0.0, 0.0, 0.0]
    digests = []
    for phase, half in ((0, 0), (1, 1), *[(2, 1)] * _WARM_CALLS):
        copy = (halves[half] + " ")[:-1]  # without the UTF-8 that a string may keep
        n_bytes = len(copy.encode())
        start = time.process_time()
        result = call(copy)
        seconds = time.process_time() - start
        speeds[phase] = max(speeds[phase], n_bytes / 1e6 / seconds)
        if phase < 2:
            digests.append(_digest(result))
    print(json.dumps({"speeds": speeds, "digest": "".join(digests)}))


if __name__ == "__main__":
    _child(*sys.argv[1:])
