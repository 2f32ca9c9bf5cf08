"""Run a target under libFuzzer: `python -m fuzz TARGET [options of libFuzzer]`."""

import importlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
TARGETS = {
    "encode": ["-max_len=600"],
    "cut": ["-max_len=60"],
    "limits": ["-max_len=60"],
    "append": ["-max_len=200"],
    "prepend": ["-max_len=200"],
    "interval": ["-max_len=180"],
    "train": ["-max_len=300"],
    "pattern": ["-max_len=120", f"-dict={HERE / 'pattern.dict'}"],
    "packed": ["-max_len=4096"],
    "automaton": ["-max_len=4096"],
    "native": ["-max_len=2048"],
    "rank_file": ["-max_len=4096", f"-dict={HERE / 'rank_file.dict'}"],
    "tokenizer_json": ["-max_len=16"],
    "gguf": ["-max_len=12000"],
    "json": ["-max_len=1000"],
    "counts": ["-max_len=600"],
}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: python -m fuzz {'|'.join(TARGETS)} [options of libFuzzer]")
    try:
        import atheris
    except ImportError:
        sys.exit("fuzzing needs atheris: pip install atheris")
    name, *options = sys.argv[1:]
    os.environ["CUTLINE_CACHE_DIR"] = ""  # millions of patterns would fill the cache folder
    # libFuzzer writes what it keeps into the first folder and only reads the others.
    corpus = HERE / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    folders = [str(corpus), str(HERE / "seeds" / name)]
    with atheris.instrument_imports(include=["cutline"]):
        target = importlib.import_module(f"fuzz.target_{name}")
    defaults = [*TARGETS[name], "-timeout=20", f"-artifact_prefix={corpus.parent}/{name}-"]
    atheris.Setup([sys.argv[0], *defaults, *options, *folders], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
