"""Files, starts and stalls: the command beside its kernels, new processes, and first calls.

    python -m benchmarks.command_line files --corpora DIR     # command line to kernel on 100 MB
    python -m benchmarks.command_line start --corpora DIR     # what a new process costs
    python -m benchmarks.command_line stall                   # what first calls cost

`files` repeats prose to a file of 100 MB. Before anything is timed, the counts, and all rows of
chunks, are compared with those of `Encoding.count` and `TextChunker.chunk` on the text in memory,
encoding and caches warm. Then these calls and whole commands take turns; a ratio is the best time
of the call over the best of the command, its start included: 1 means that files cost nothing.

`start` runs new processes in turn: Python alone, with numpy, `cutline count` of 5 KB, and the
first count of 1 MB, load and import included, by Cutline and the peers; the counts are compared
first. Figures are medians of the wall clock.

`stall` makes the first call of each method on a short text in processes of their own, after import
and load, without numpy and with numpy imported before. Figures are the best of the wall clock.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import cutline
from benchmarks import corpora
from benchmarks.harness import check_names, describe_machine
from benchmarks.peer_files import PeerFiles

_COMMAND = (sys.executable, "-m", "cutline")
_SMALL_BYTES = 5_000
_FIRST_BYTES = 1_000_000
_Seconds = tuple[float, float]
"""Of the wall clock, and of CPUs."""

# Source that sets `n` to the number of tokens of `text`; {ranks} is the path of a rank file.
_FIRST_COUNTS = {
    "cutline": "import cutline\nn = cutline.get_encoding({name!r}).count(text)",
    "tiktoken": "import tiktoken\nn = len(tiktoken.get_encoding({name!r}).encode_ordinary(text))",
    "quicktok": "import quicktok\nn = quicktok.get_encoding({name!r}).count(text)",
    "toktok": "import toktok\nn = toktok.batch_count([text], {name!r})[0]",
    "gigatoken": "import gigatoken\n"
    "n = len(gigatoken.Tokenizer.from_tiktoken({ranks!r}).encode(text))",
    "splintr": "import splintr\n"
    "n = len(splintr.Tokenizer.from_pretrained({name!r}).encode_ordinary(text))",
}
_FIRST_CALLS = (
    *("count(text)", "fits(text, 5)", "encode(text)", "encode_to_numpy(text)"),
    *("encode_batch([text, text])", "count_batch([text, text])", "encode_with_offsets(text)"),
    *("decode([24912, 2375])", "decode_bytes([24912])", "decode_tokens_bytes([24912])"),
    *("split(text, 5)", "split(text, 5, 2)", "split_at(text, 5)", "truncate(text, 5)"),
    *("intervals(text)", "appender().append(text)", "prepender().prepend(text)"),
    *("content_hash", "n_vocab"),
)
_FIRST_CALL = """
import time, cutline, {module}
encoding = cutline.get_encoding({name!r})
text = 'hello world. One two three. It is é 中文字 123' * 3
start = time.perf_counter()
encoding.{call}
print(time.perf_counter() - start)
"""
_FIRST_COUNT = (
    "with open({path!r}, encoding='utf-8', newline='') as file:\n    text = file.read()\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command_line", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    sections = {"files": run_files, "start": run_start, "stall": run_stall}
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(sections))
    parser.add_argument("--encoding", default="o200k_base", choices=["o200k_base", "cl100k_base"])
    parser.add_argument("--corpora", type=Path, help="folder with the three corpus files")
    parser.add_argument("--megabytes", type=float, default=100, help="size of the file (100)")
    parser.add_argument("--rounds", type=int, default=0, help="5 for files, 20 for starts")
    options = parser.parse_args()
    check_names(parser, "section", options.sections, sections)
    print(f"machine: {describe_machine()}")
    with tempfile.TemporaryDirectory() as folder:
        # What is installed has its bytecode, and is not compiled by each new process.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "bytecode"))
        for name in options.sections or sections:
            print(f"\n## {name}", flush=True)
            sections[name](options, Path(folder))


def run_files(options: argparse.Namespace, folder: Path) -> None:
    """Time the commands on a large file beside the calls on its text."""
    path = folder / "prose.txt"
    path.write_text(_prose(options, int(options.megabytes * 1e6)), encoding="utf-8", newline="")
    text = path.read_bytes().decode()
    encoding = cutline.get_encoding(options.encoding)
    chunker = cutline.TextChunker(encoding)
    options_of = ["-e", options.encoding]
    chunk = ["chunk", "--by", "text", *options_of]
    commands = {
        "count": (["count", *options_of], lambda: encoding.count(text)),
        "chunk to JSON Lines": ([*chunk, "-o", str(folder / "rows.jsonl")], lambda: chunker(text)),
        "chunk to Parquet": (
            [*chunk, "--format", "parquet", "-o", str(folder / "rows.parquet")],
            lambda: chunker(text),
        ),
    }
    calls: dict[str, Callable[[], object]] = {}
    for name, (arguments, kernel) in commands.items():
        calls[name] = kernel
        calls[f"command, {name}"] = _process([*_COMMAND, *arguments, str(path)])
    _check_count(_output_of([*_COMMAND, "count", *options_of, str(path)]), encoding.count(text))
    for name in ("chunk to JSON Lines", "chunk to Parquet"):
        calls[f"command, {name}"]()
    _check_rows(folder, chunker(text))
    times = _in_turn(calls, options.rounds or 5)
    for name in commands:
        kernel_times, command_times = times[name], times[f"command, {name}"]
        ratios = [
            min(column) / min(other)
            for column, other in zip(
                zip(*kernel_times, strict=True), zip(*command_times, strict=True), strict=True
            )
        ]
        wall = [min(seconds for seconds, _ in rows) for rows in (kernel_times, command_times)]
        print(
            f"{name:<20} in memory {wall[0]:.2f} s, command {wall[1]:.2f} s: "
            f"{ratios[0]:.2f} of its speed, {ratios[1]:.2f} by CPU seconds"
        )


def run_start(options: argparse.Namespace, folder: Path) -> None:
    """Time new processes."""
    files = PeerFiles.in_temporary_folder()
    os.environ["TIKTOKEN_CACHE_DIR"] = str(files.tiktoken_cache(options.encoding))
    small, large = folder / "small.txt", folder / "large.txt"
    small.write_text(_prose(options, _SMALL_BYTES), encoding="utf-8", newline="")
    large.write_text(_prose(options, _FIRST_BYTES), encoding="utf-8", newline="")
    expected = cutline.get_encoding(options.encoding).count(large.read_bytes().decode())
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "python, numpy": [sys.executable, "-c", "import numpy"],
        "import cutline": [sys.executable, "-c", "import cutline"],
        "cutline count, 5 KB": [*_COMMAND, "count", "-e", options.encoding, str(small)],
    }
    ranks = str(files.rank_file(options.encoding))
    for name, source in _FIRST_COUNTS.items():
        script = _FIRST_COUNT.format(path=str(large)) + source.format(
            name=options.encoding, ranks=ranks
        )
        try:
            _check_count(_output_of([sys.executable, "-c", f"{script}\nprint(n)"]), expected)
        except subprocess.CalledProcessError:
            print(f"{name}: skipped, it fails")
        else:
            commands[f"first count of 1 MB, {name}"] = [sys.executable, "-c", script]
    calls = {name: _process(command) for name, command in commands.items()}
    times = _in_turn(calls, options.rounds or 20)
    medians = {name: statistics.median(wall for wall, _ in rows) for name, rows in times.items()}
    for name, seconds in medians.items():
        ratio = seconds / medians["python, numpy"]
        print(f"{name:<30} {seconds * 1e3:6.1f} ms  {ratio:5.2f} of numpy")
    first = {name: seconds for name, seconds in medians.items() if name.startswith("first count")}
    ours = first.pop("first count of 1 MB, cutline")
    if first:
        best = min(first, key=first.__getitem__)
        print(f"{best}: takes {first[best] / ours:.2f} times as long as Cutline")


def run_stall(options: argparse.Namespace, folder: Path) -> None:
    """Time first calls."""
    print(f"{'first call, ms':<28}without numpy  with numpy")
    for call in _FIRST_CALLS:
        best = []
        for module in ("sys", "numpy"):
            script = _FIRST_CALL.format(module=module, name=options.encoding, call=call)
            rounds = range(options.rounds or 5)
            seconds = (float(_output_of([sys.executable, "-c", script])) for _ in rounds)
            best.append(min(seconds) * 1e3)
        print(f"{call:<28}{best[0]:13.1f}{best[1]:12.1f}", flush=True)


def _prose(options: argparse.Namespace, n_bytes: int) -> str:
    text = corpora.load(options.corpora, min(n_bytes, 8_000_000)).texts["prose"]
    text *= -(-n_bytes // len(text.encode()))
    return text.encode()[:n_bytes].decode(errors="ignore")


def _process(command: list[str]) -> Callable[[], object]:
    return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def _output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return done.stdout


def _check_count(printed: str, expected: int) -> None:
    if int(printed.split()[0]) != expected:
        raise SystemExit(f"counted {printed!r} instead of {expected}")


def _check_rows(folder: Path, chunks: list[cutline.Chunk]) -> None:
    import pyarrow.parquet as pq

    names = ("index", "start_index", "end_index", "token_count", "text", "content_hash")
    expected = [tuple(getattr(chunk, name) for name in names) for chunk in chunks]
    with (folder / "rows.jsonl").open(encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    for read in (rows, pq.read_table(folder / "rows.parquet").to_pylist()):
        if [tuple(row[name] for name in names) for row in read] != expected:
            raise SystemExit("the rows of the command are not the chunks of the chunker")


def _in_turn(calls: Mapping[str, Callable[[], object]], n_rounds: int) -> dict[str, list[_Seconds]]:
    times: dict[str, list[_Seconds]] = {name: [] for name in calls}
    for _ in range(n_rounds):
        for name, call in calls.items():
            start, cpu_start = time.perf_counter(), _cpu_seconds()
            result = call()
            seconds = (time.perf_counter() - start, _cpu_seconds() - cpu_start)
            del result  # freed outside the clock
            times[name].append(seconds)
    return times


def _cpu_seconds() -> float:
    """Seconds of CPU of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
