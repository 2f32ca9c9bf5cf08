"""Run a target under libFuzzer: `python -m fuzz TARGET [options of libFuzzer]`.

`python -m fuzz --seconds N` runs all targets, each for its part of the time, and says how many
inputs each has tried.
"""

import ctypes
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
GUIDED = "CUTLINE_GUIDED"
"""Set by `fuzz.guided`: the kernels have counters, which they look for in a library."""

TARGETS = {
    "short": ["-max_len=80"],
    "encode": ["-max_len=600"],
    "cut": ["-max_len=60"],
    "limits": ["-max_len=60"],
    "append": ["-max_len=200"],
    "prepend": ["-max_len=200"],
    "interval": ["-max_len=180"],
    "words": ["-max_len=80"],
    "marks": ["-max_len=64"],
    "pipeline": ["-max_len=100"],
    "batches": ["-max_len=300"],
    "train": ["-max_len=300"],
    "pattern": ["-max_len=120", f"-dict={HERE / 'pattern.dict'}"],
    "packed": ["-max_len=4096"],
    "automaton": ["-max_len=4096"],
    "native": ["-max_len=2048"],
    "cutline_file": ["-max_len=400"],
    "rank_file": ["-max_len=4096", f"-dict={HERE / 'rank_file.dict'}"],
    "tokenizer_json": ["-max_len=400"],
    "gguf": ["-max_len=12000"],
    "json": ["-max_len=1000"],
    "counts": ["-max_len=600"],
    "documents": ["-max_len=300"],
    "families": ["-max_len=300"],
    "template": ["-max_len=300"],
    "shorten": ["-max_len=400"],
    "notebook": ["-max_len=300"],
    "chat": ["-max_len=300"],
    "columns": ["-max_len=300"],
}


def run_all(seconds: int) -> None:
    """Run each target in a process of its own; exit code 1 if one of them found something."""
    each = max(seconds // len(TARGETS), 1)
    failed, total = [], 0
    for name in TARGETS:
        command = [sys.executable, "-m", "fuzz", name, f"-max_total_time={each}"]
        ran = subprocess.run(command, capture_output=True, check=False, text=True, errors="replace")
        tried = max(map(int, re.findall(r"^#(\d+)", ran.stderr, re.MULTILINE)), default=0)
        total += tried
        print(f"{name:16}{tried:12,} inputs in {each} s, exit code {ran.returncode}", flush=True)
        if ran.returncode:
            failed.append(name)
            print(ran.stderr[-4000:], file=sys.stderr)
    print(f"{'all':16}{total:12,} inputs; findings: {', '.join(failed) or 'none'}")
    sys.exit(1 if failed else 0)


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] == "--seconds" and sys.argv[2].isdigit():
        run_all(int(sys.argv[2]))
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        targets = "|".join(TARGETS)
        sys.exit(f"usage: python -m fuzz --seconds N, or {targets} [options of libFuzzer]")
    if not (found := importlib.util.find_spec("atheris")) or not found.origin:
        sys.exit("fuzzing needs atheris: pip install atheris")
    if os.environ.get(GUIDED):
        # A libFuzzer that kernels find; atheris uses one that is there, and has its own otherwise.
        library = Path(found.origin).parents[1] / "ubsan_with_fuzzer.so"
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    import atheris

    name, *options = sys.argv[1:]
    os.environ["CUTLINE_CACHE_DIR"] = ""  # millions of patterns would fill the cache folder
    # libFuzzer writes what it keeps into the first folder and only reads the others.
    corpus = HERE / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    folders = [str(corpus), str(HERE / "seeds" / name)]
    with atheris.instrument_imports(include=["cutline"]):
        target = importlib.import_module(f"fuzz.target_{name}")
    defaults = [
        *TARGETS[name],
        "-timeout=20",
        "-rss_limit_mb=4096",
        f"-artifact_prefix={corpus.parent}/{name}-",
    ]
    atheris.Setup([sys.argv[0], *defaults, *options, *folders], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
