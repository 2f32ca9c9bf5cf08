"""Run the benchmarks: `python -m benchmarks [section ...]`."""

import argparse
import os
from collections.abc import Callable, Mapping

from benchmarks import corpora, report, targets
from benchmarks.bench_chat import run_chat
from benchmarks.bench_encode import run_scripts, run_slices, run_whole
from benchmarks.bench_fresh import run_fresh
from benchmarks.bench_growing import run_growing
from benchmarks.bench_intervals import run_intervals
from benchmarks.bench_load import run_load
from benchmarks.bench_output import run_output
from benchmarks.bench_pure import run_pure
from benchmarks.bench_worst import run_worst
from benchmarks.harness import (
    Measurement,
    Run,
    add_options,
    check_names,
    describe_machine,
    pin_to_one_core,
)
from benchmarks.peer_files import PeerFiles
from benchmarks.peers import ORACLE, PEERS, Contender

_SECTIONS: Mapping[str, Callable[[Run], list[Measurement]]] = {
    "whole": run_whole,
    "scripts": run_scripts,
    "fresh": run_fresh,
    "slices": run_slices,
    "worst": run_worst,
    "output": run_output,
    "load": run_load,
    "intervals": run_intervals,
    "growing": run_growing,
    "pure": run_pure,
    "chat": run_chat,
}


def main() -> None:
    options = _parse_options()
    pinning = pin_to_one_core()  # before any peer starts its threads
    run = _prepare(options)
    versions = ", ".join(f"{name} {run.peers[name].version()}" for name in run.contenders)
    header = {
        "encoding": run.encoding,
        "machine": f"{describe_machine()}; {pinning}",
        "versions": versions,
        "corpora": run.corpora.origin,
        "zh": run.corpora.zh_origin(),
        "no count of their own, so len(encode)": ", ".join(
            name for name, contender in run.contenders.items() if contender.count is None
        ),
        "timing": f"best of {run.rounds}, contenders in turn; equal to {ORACLE} before timed",
    }
    print(*(f"{key}: {value}" for key, value in header.items()), sep="\n")
    print(report.RATIO_LEGEND)
    sections: dict[str, list[Measurement]] = {}
    for name in options.sections or _SECTIONS:
        sections[name] = _SECTIONS[name](run)
        print("\n" + report.table(name, sections[name]), flush=True)
    verdicts = targets.verdicts(sections)
    print("\n## targets", *verdicts, sep="\n")
    if options.json is not None:
        report.write_json(options.json, header, sections, verdicts)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(_SECTIONS))
    add_options(parser, megabytes=8.0, what="size of a corpus")
    parser.add_argument("--rounds", type=int, default=7, help="best of this many (7)")
    parser.add_argument("--seconds", type=float, default=3.0, help="most time for a cell (3)")
    options = parser.parse_args()
    check_names(parser, "section", options.sections, _SECTIONS)
    return options


def _prepare(options: argparse.Namespace) -> Run:
    files = PeerFiles.in_temporary_folder()
    os.environ["TIKTOKEN_CACHE_DIR"] = str(files.tiktoken_cache(options.encoding))
    peers = {peer.distribution: peer for peer in PEERS}
    contenders: dict[str, Contender] = {}
    for name, peer in peers.items():
        try:
            contenders[name] = peer.load(options.encoding, files)
        except ImportError as error:
            print(f"{name}: skipped, can't be imported ({error})")
    if ORACLE not in contenders:
        raise SystemExit(f"{ORACLE} is what results are compared with; pip install {ORACLE}")
    return Run(
        encoding=options.encoding,
        peers=peers,
        contenders=contenders,
        corpora=corpora.load(options.corpora, int(options.megabytes * 1e6)),
        files=files,
        rounds=options.rounds,
        seconds_per_cell=options.seconds,
    )


if __name__ == "__main__":
    main()
