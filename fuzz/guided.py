"""Fuzz kernels whose branches libFuzzer sees: `python -m fuzz.guided [what python -m fuzz takes]`.

Builds the kernels in a copy of the tree, with clang's counters of branches and of what is compared,
and runs `python -m fuzz` there. What it keeps goes into `fuzz/corpus` of this tree. Needs bash,
clang and git; the build takes a minute.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz.__main__ import GUIDED, HERE
from fuzz.coverage import built

FLAGS = "-O2 -g0 -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="cutline-guided-") as folder:
        tree = Path(folder)
        built(tree, {"CC": "clang", "LDSHARED": "clang -shared", "CUTLINE_FLAGS": FLAGS})
        corpus = HERE / "corpus"
        corpus.mkdir(exist_ok=True)
        (tree / "fuzz/corpus").symlink_to(corpus)
        paths = (str(tree / "src"), str(tree), *filter(None, [os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), GUIDED: "1"}
        command = [sys.executable, "-m", "fuzz", *sys.argv[1:]]
        sys.exit(subprocess.run(command, cwd=tree, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
