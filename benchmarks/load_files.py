"""Loading files of tokenizers, beside `tokenizers`: `python -m benchmarks.load_files FILE ...`.

For each file: the milliseconds of CPU that the first load of a fresh process takes, which imports
what it needs, and those of a load after it. Packages take turns; the best of the rounds counts.
"""

import argparse
from pathlib import Path

from benchmarks.bench_load import output_of

_PACKAGES = {
    "cutline": "import cutline\nload = cutline.load",
    "tokenizers": "import tokenizers\nload = tokenizers.Tokenizer.from_file",
}
_SCRIPT = """
import json, time
{package}
seconds = []
for _ in range(3):
    start = time.process_time()
    loaded = load({path!r})
    seconds.append(time.process_time() - start)
    del loaded
print(json.dumps([seconds[0], min(seconds[1:])]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load_files", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a tokenizer.json")
    parser.add_argument("--rounds", type=int, default=5, help="best of this many (5)")
    options = parser.parse_args()
    print("| file | package | first load, ms | again, ms |", "|---|---|---:|---:|", sep="\n")
    for path in options.files:
        rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in _PACKAGES}
        for _ in range(options.rounds):
            for name, package in _PACKAGES.items():
                script = _SCRIPT.format(package=package, path=str(path))
                rounds[name].append(tuple(output_of(script)))
        for name, found in rounds.items():
            first, again = (min(column) * 1e3 for column in zip(*found, strict=True))
            print(f"| {path} | {name} | {first:.1f} | {again:.1f} |", flush=True)


if __name__ == "__main__":
    main()
