"""Measure what a fresh process pays: time to the first encode, and memory.

Importing and loading are told apart: the one is mostly numpy's or a package's own
start-up, paid once however many encodings are loaded. Every figure is a new interpreter
that runs a few lines with nothing else imported. Starting the interpreter is not counted;
the operating system's file cache is warm.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import Measurement, Run

IMPORT_TIME = "import"
LOAD_TIME = "load, first encode"
MEMORY_LOADED = "peak memory once loaded"
MEMORY_ENCODED = "peak memory after encoding to a list"
BARE_INTERPRETER = "(python)"

_GREETING = "hello world"
_TIME_SCRIPT = """
import time
start = time.perf_counter()
{imports}
imported = time.perf_counter()
{load}
tokens = encode({greeting!r})
loaded = time.perf_counter()
import json
print(json.dumps([tokens, imported - start, loaded - imported]))
"""

_MEMORY_SCRIPT = """
import json
from benchmarks.memory import peak_bytes
{load}
encode({greeting!r})
loaded = peak_bytes()
with open({corpus!r}, encoding="utf-8", newline="") as file:
    text = file.read()
tokens = encode(text)
print(json.dumps([len(tokens), loaded, peak_bytes()]))
"""


def run_load(run: Run) -> list[Measurement]:
    """Load time in ms (best of the rounds) and peak memory in MB."""
    loads = {name: run.peers[name].cold_start(run.encoding, run.files) for name in run.contenders}
    return _load_times(run, loads) + _peak_memory(run, loads)


def _load_times(run: Run, loads: Mapping[str, str]) -> list[Measurement]:
    expected = run.oracle.encode_to_list(_GREETING)
    best: dict[tuple[str, str], float] = {}
    wrong: set[str] = set()
    for round_number in range(run.rounds + 1):
        for name, cold_start in loads.items():
            imports, load = cold_start.split("\n", 1)
            script = _TIME_SCRIPT.format(imports=imports, load=load, greeting=_GREETING)
            tokens, *seconds = output_of(script)
            if tokens != expected:
                wrong.add(name)
            elif round_number > 0:  # the first fills the file cache and writes .pyc files
                for part, value in zip((IMPORT_TIME, LOAD_TIME), seconds, strict=True):
                    best[part, name] = min(value, best.get((part, name), value))
    return [
        Measurement(part, run.encoding, "cold", name, None, "ms", "differs")
        if name in wrong
        else Measurement(part, run.encoding, "cold", name, best[part, name] * 1e3, "ms")
        for part in (IMPORT_TIME, LOAD_TIME)
        for name in loads
    ]


def _peak_memory(run: Run, loads: Mapping[str, str]) -> list[Measurement]:
    text = run.corpora.texts["prose"]
    corpus = run.files.folder / "prose.txt"
    corpus.write_bytes(text.encode())
    size = f"{len(text.encode()) / 1e6:.3g} MB"
    expected_count = len(run.oracle.encode_to_list(text))
    results = _memory_of("encode = lambda text: []", BARE_INTERPRETER, size, corpus, 0)
    for name, load in loads.items():
        results += _memory_of(load, name, size, corpus, expected_count)
    return results


def _memory_of(
    load: str, name: str, size: str, corpus: Path, expected_count: int
) -> list[Measurement]:
    count, loaded, encoded = output_of(
        _MEMORY_SCRIPT.format(load=load, greeting=_GREETING, corpus=str(corpus))
    )
    note = "" if count == expected_count else "differs"
    return [
        Measurement(MEMORY_LOADED, "nothing yet", "", name, loaded / 1e6, "MB", note),
        Measurement(MEMORY_ENCODED, "prose", size, name, encoded / 1e6, "MB", note),
    ]


def output_of(script: str) -> Any:
    """Run source text in a fresh interpreter, and parse the JSON that it prints."""
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)
