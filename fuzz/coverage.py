"""Which lines of the kernels no fuzz target reaches.

    python -m fuzz.coverage --seconds 20

Builds the kernels in a copy of the tree with gcc's coverage, gives each target for so many seconds
its seeds, what `fuzz/corpus` has of it, then random bytes, and prints for each source the lines
that nothing ran. Needs bash, gcc, gcov and git; the build takes a minute.
"""

import argparse
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from pathlib import Path

from fuzz.__main__ import HERE, TARGETS

FLAGS = "-O0 -g0 --coverage"
WRITTEN_FROM = re.compile(r'\s*/\* "(?:.*/)?kernels/([^"]+\.p(?:yx|xd))":(\d+)$')
"""What Cython writes above the C of a line."""
OURS = re.compile(r"__pyx_(f|pf|pw)_7cutline(?!.*(reduce|setstate)_cython)")

Hits = dict[str, dict[int, int]]
"""By source, by line: how often it ran."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="for each target")
    parser.add_argument("--inputs-only", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inputs_only:
        run_inputs(asked.seconds)
        return
    with tempfile.TemporaryDirectory(prefix="cutline-coverage-") as folder:
        tree = Path(folder)
        built(tree, {"CUTLINE_FLAGS": FLAGS, "LDFLAGS": "--coverage"})
        if (HERE / "corpus").is_dir():
            shutil.copytree(HERE / "corpus", tree / "fuzz/corpus")
        command = [sys.executable, "-m", "fuzz.coverage", "--inputs-only"]
        paths = os.pathsep.join((str(tree / "src"), str(tree)))
        environment = {**os.environ, "PYTHONPATH": paths, "CUTLINE_CACHE_DIR": ""}
        command += ["--seconds", str(asked.seconds)]
        subprocess.run(command, cwd=tree, env=environment, check=True)
        report(lines_of(tree))


def built(tree: Path, flags: dict[str, str]) -> None:
    """Copy the tree, and build its kernels with such flags."""
    subprocess.run([HERE.parent / ".ci/copy", tree], check=True)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(command, cwd=tree, env={**os.environ, **flags}, check=True)


def run_inputs(seconds: float) -> None:
    """Give each target its seeds, its corpus and random bytes; print how many."""
    warnings.simplefilter("ignore")
    for name, options in TARGETS.items():
        target = importlib.import_module(f"fuzz.target_{name}")
        longest, rng = int(options[0].rpartition("=")[2]), random.Random(name)
        kept = [
            path for kind in ("seeds", "corpus") for path in sorted((HERE / kind / name).glob("*"))
        ]
        end, n_tried = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            data = kept[n_tried].read_bytes() if n_tried < len(kept) else b""
            target.run(data or rng.randbytes(rng.randint(1, longest)))
            n_tried += 1
        print(
            f"{name:16}{n_tried:9,} inputs, {min(n_tried, len(kept)):,} of {len(kept):,} kept ones"
        )


def lines_of(tree: Path) -> Hits:
    """Read what ran from gcov, by the lines that the C was written from."""
    hits: Hits = defaultdict(lambda: defaultdict(int))
    for counted in sorted(tree.glob("build/**/*.gcda")):
        command = ["gcov", "--json-format", "--stdout", str(counted)]
        found = subprocess.run(command, cwd=tree, capture_output=True, check=True).stdout
        for document in found.splitlines():
            for file in json.loads(document)["files"]:
                if file["file"].endswith(".c"):
                    sources = sources_of(tree / file["file"])
                    for line in file["lines"]:
                        source = sources[line["line_number"] - 1]
                        if source and OURS.match(line.get("function_name", "")):
                            name, number = source
                            hits[name][number] = max(hits[name][number], line["count"])
    return hits


def sources_of(path: Path) -> list[tuple[str, int] | None]:
    """Return for each line of C the line of a kernel that it was written from."""
    at, sources = None, []
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        if found := WRITTEN_FROM.match(line):
            at = found[1], int(found[2])
        sources.append(at)
    return sources


def report(hits: Hits) -> None:
    """Print the lines that nothing ran, and how many ran."""
    for name, lines in sorted(hits.items()):
        missed = sorted(line for line, count in lines.items() if not count)
        print(f"{name}: {len(lines) - len(missed)} of {len(lines)}; not {ranges(missed)}")
    counts = [count for lines in hits.values() for count in lines.values()]
    print(f"all: {sum(map(bool, counts)):,} of {len(counts):,} lines")


def ranges(lines: list[int]) -> str:
    """Join neighbours: 3-5, 9."""
    found: list[list[int]] = []
    for line in lines:
        if found and line - found[-1][1] <= 2:  # lines between are comments or continue one
            found[-1][1] = line
        else:
            found.append([line, line])
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in found) or "none"


if __name__ == "__main__":
    main()
