"""Measure chunking: `python -m benchmarks.chunk_speed [--corpora DIR]`.

Sections: `speed`, each kind of chunker on texts that suit it, in each round on other text, which
nobody has met, over all rounds; `again`, ours on the same text in every round, the best of them;
`hostile`, inputs without a place to cut, ours up to 10 MB, the peers on 100 KB; `stream`, the
memory of a stream; `options`, ours with options and on other texts, new in each round; `overlap`,
chunks that share all but one token. Seconds are those of the process on the CPU, on one core.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import corpora, report
from benchmarks.chunk_peers import KINDS_OF, TEXT, TOKEN, Splitter, make_splitters, versions
from benchmarks.chunk_stream import CHUNK_SIZE
from benchmarks.chunk_texts import lines_by_script, log_lines
from benchmarks.corpora import Corpora
from benchmarks.harness import (
    Measurement,
    add_options,
    best_seconds,
    check_names,
    describe_machine,
    fresh_copy,
    pin_to_one_core,
    seconds_of_rounds,
)
from benchmarks.peers import SUBJECT
from cutline import Chunk, Encoding, Template, TextChunker, TokenChunker
from cutline.registry import new_encoding

_CHUNK_SIZES: Final = (64, 256, 1024)
_WARM_UP_CHARACTERS: Final = 20_000
_SMALL_BYTES: Final = (10_000, 100_000)
_LARGE_BYTES: Final = (2_500_000, 5_000_000, 10_000_000)
_LONGEST_SECONDS: Final = 20.0
_LONG_SECONDS: Final = 2.0  # measured once
_HOSTILE_ROUNDS: Final = 2
_LARGE_OVERLAPS: Final = (4_000, 8_000, 16_000)  # characters
_ROUNDS_AGAIN: Final = 40
_OURS: Final = "our chunkers"
_STREAMED: Final = ("TokenChunker", "TextChunker")

_MIN_TOKEN_SPEED: Final = 100.0
_MIN_TEXT_RATIO: Final = 10.0
_MOST_STREAM_MB: Final = 200.0
_MOST_GROWTH: Final = 1.3  # of the time of a megabyte, from the first large size to the last

_LONG_PIECE: Final = "a" * 1_000
_FAMILY: Final = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}\u200d\N{BOY}"
Make = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class _Run:
    encoding: str
    corpora: Corpora
    n_bytes: int
    rounds: int
    seconds: float
    stream_megabytes: float


def main() -> None:
    options = _parse_options()
    pinning = pin_to_one_core()
    loaded = corpora.load(options.corpora, int(8e6))
    run = _Run(
        options.encoding, loaded, int(options.megabytes * 1e6), options.rounds, options.seconds,
        options.stream,
    )  # fmt: skip
    header = {
        "encoding": run.encoding,
        "machine": f"{describe_machine()}; {pinning}",
        "load of the machine": ", ".join(f"{load:.1f}" for load in os.getloadavg()),
        "versions": versions(),
        "corpora": loaded.origin,
        "timing": f"CPU seconds of the process, in turn; speed: all of {run.rounds} rounds",
    }
    print(*(f"{key}: {value}" for key, value in header.items()), report.RATIO_LEGEND, sep="\n")
    found: dict[str, list[Measurement]] = {}
    for name in options.sections or _SECTIONS:
        found[name] = _SECTIONS[name](run)
        print("\n" + report.table(name, found[name]), flush=True)
    verdicts = list(_verdicts(found))
    print("\n## targets", *verdicts, sep="\n")
    if options.json is not None:
        report.write_json(options.json, header, found, verdicts)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chunk_speed", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(_SECTIONS))
    add_options(parser, megabytes=0.4, what="of text a round")
    parser.add_argument("--rounds", type=int, default=6, help="texts for each cell (6)")
    parser.add_argument("--seconds", type=float, default=3.0, help="most time for a cell (3)")
    parser.add_argument("--stream", type=float, default=1000.0, help="megabytes to stream (1000)")
    options = parser.parse_args()
    check_names(parser, "section", options.sections, _SECTIONS)
    return options


# Speed


def _speed(run: _Run) -> list[Measurement]:
    """MB/s of each kind of chunker on the corpora that suit it."""
    results: list[Measurement] = []
    slices = {
        corpus: _slices(run.corpora.texts[corpus], run.n_bytes, run.rounds * len(_CHUNK_SIZES))
        for corpus in KINDS_OF
    }
    for number, chunk_size in enumerate(_CHUNK_SIZES):
        splitters = make_splitters(run.encoding, chunk_size)
        for corpus, kinds in KINDS_OF.items():
            texts = slices[corpus][number * run.rounds :]
            for kind in kinds:
                calls = {s.name: s.split for s in splitters if s.kind == kind}
                _check(next(s for s in splitters if s.kind == kind and s.is_ours), texts[0])
                for split in calls.values():
                    split(texts[0][:_WARM_UP_CHARACTERS])
                times = seconds_of_rounds(
                    calls, partial(_fresh, texts), run.rounds, run.seconds, time.process_time
                )
                results += [
                    Measurement(
                        _operation(kind), corpus, f"n = {chunk_size}", _column(name),
                        run.n_bytes * len(seconds) / sum(seconds) / 1e6, "MB/s",
                    )
                    for name, seconds in times.items()
                ]  # fmt: skip
    # A table goes by operation, its rows by corpus and budget.
    return sorted(results, key=lambda found: found.operation)


def _fresh(texts: Sequence[str], round_number: int) -> str:
    return fresh_copy(texts[1 + round_number])


def _slices(text: str, n_bytes: int, rounds: int) -> list[str]:
    """Cut one slice out of a text to check and warm up with, and one for each round."""
    utf8 = text.encode()
    if len(utf8) < (rounds + 1) * n_bytes:
        raise SystemExit(
            f"--megabytes: a corpus has {len(utf8):,} bytes, {rounds + 1} slices that share "
            f"nothing take {(rounds + 1) * n_bytes:,}"
        )
    step = (len(utf8) - n_bytes) // rounds
    starts = [round_number * step for round_number in range(rounds + 1)]
    return [utf8[start : start + n_bytes].decode(errors="ignore") for start in starts]


def _check(ours: Splitter, text: str) -> None:
    """Hold our chunks against the text, one of whose pieces needs what is built but once."""
    text += _LONG_PIECE
    if "".join(ours.texts(text)) != text:
        raise SystemExit(f"{ours.name}: the chunks joined are not the text")


def _operation(kind: str) -> str:
    return f"{kind} chunks"


def _column(name: str) -> str:
    return SUBJECT if name.startswith(SUBJECT) else name


def _again(run: _Run) -> list[Measurement]:
    """MB/s of our chunkers on text whose pieces they have met."""
    results: list[Measurement] = []
    ours = [s for s in make_splitters(run.encoding, CHUNK_SIZE) if s.is_ours]
    for corpus in KINDS_OF:
        texts = _slices(run.corpora.texts[corpus], run.n_bytes, 1)[1:] * (_ROUNDS_AGAIN + 1)
        calls = {s.kind: s.split for s in ours if s.kind in (TOKEN, TEXT)}
        for split in calls.values():
            split(texts[0])
        seconds = best_seconds(
            calls, partial(_fresh, texts), _ROUNDS_AGAIN, run.seconds, time.process_time
        )
        results += [
            Measurement(
                f"{_operation(kind)}, text met before", corpus, f"n = {CHUNK_SIZE}", SUBJECT,
                run.n_bytes / seconds[kind] / 1e6, "MB/s",
            )
            for kind in calls
        ]  # fmt: skip
    return sorted(results, key=lambda found: found.operation)


# Options


def _options(run: _Run) -> list[Measurement]:
    """MB/s of our chunkers with options, beside `count`, on text that nobody has met."""
    n_bytes = run.n_bytes * (run.rounds + 1)
    texts = {
        "prose": run.corpora.texts["prose"],
        "code": run.corpora.texts["code"],
        "log": log_lines(n_bytes),
        "Chinese": run.corpora.zh,
        **lines_by_script(run.corpora.texts["multilingual"]),
    }
    results: list[Measurement] = []
    for name, text in texts.items():
        size = min(run.n_bytes, len(text.encode()) // (run.rounds + 1))
        slices = _slices(text, size, run.rounds)
        calls = _ways(run.encoding)
        for way, call in calls.items():
            text = slices[0] + _LONG_PIECE
            _check_counts(run.encoding, way, call(text), text)
        times = seconds_of_rounds(
            calls, partial(_fresh, slices), run.rounds, run.seconds, time.process_time
        )
        results += [
            Measurement(
                way, name, f"{size / 1e3:.0f} KB a round", SUBJECT,
                size * len(spent) / sum(spent) / 1e6, "MB/s",
            )
            for way, spent in times.items()
        ]  # fmt: skip
    return sorted(results, key=lambda found: found.operation)


def _ways(encoding: str) -> dict[str, Callable[[str], Sequence[Chunk] | int]]:
    """Our calls, each with an encoding of its own."""

    def own() -> Encoding:
        return new_encoding(encoding)

    overlap, words = CHUNK_SIZE // 8, ["word"]
    # Of the same size, so that now the one, now the other ends a chunk.
    two = {new_encoding("cl100k_base"): CHUNK_SIZE}
    stored = {"bytes": 40_000}
    passage = Template("passage: {headings}\n\n{text}", special_tokens=2)
    around = Template("<passage>{text}</passage>", special_tokens=2)
    return {
        "count": own().count,
        "Token": TokenChunker(own(), CHUNK_SIZE).chunk,
        "Token, overlap": TokenChunker(own(), CHUNK_SIZE, overlap).chunk,
        "Token, stable": TokenChunker(own(), CHUNK_SIZE, stable=True).chunk,
        "Text": TextChunker(own(), CHUNK_SIZE).chunk,
        "Text, overlap": TextChunker(own(), CHUNK_SIZE, overlap).chunk,
        "Text, stable": TextChunker(own(), CHUNK_SIZE, stable=True).chunk,
        "Token, two limits": TokenChunker(own(), CHUNK_SIZE, also_fits=two).chunk,
        "Token, overlap, two limits": TokenChunker(own(), CHUNK_SIZE, overlap, also_fits=two).chunk,
        "Text, two limits": TextChunker(own(), CHUNK_SIZE, also_fits=two).chunk,
        "Text, bytes": TextChunker(own(), CHUNK_SIZE, also_fits=stored).chunk,
        "Token, template": TokenChunker(own(), CHUNK_SIZE, template=passage).chunk,
        "Text, template": TextChunker(own(), CHUNK_SIZE, template=passage).chunk,
        "Text, template around": TextChunker(own(), CHUNK_SIZE, template=around).chunk,
        "Text, words": TextChunker(own(), CHUNK_SIZE, levels=words).chunk,
        "Text, words, n = 16": TextChunker(own(), 16, levels=words).chunk,
    }


def _check_counts(encoding: str, way: str, found: Sequence[Chunk] | int, text: str) -> None:
    """Hold chunks against the text, and their counts against `count`."""
    count = new_encoding(encoding).count
    for chunk in found if not isinstance(found, int) else ():
        if chunk.text != text[chunk.start_index : chunk.end_index]:
            raise SystemExit(f"{way}: a chunk is no slice of the text")
        if chunk.token_count != count(chunk.text):
            raise SystemExit(f"{way}: a chunk is counted wrongly")
        if chunk.metadata.get("sent_tokens", 0) > CHUNK_SIZE:
            raise SystemExit(f"{way}: more is sent than fits")


def _overlap(run: _Run) -> list[Measurement]:
    """Characters of all chunks a second, by the length of the text."""
    results: list[Measurement] = []
    texts = {
        "digits": "1234567890" * _LARGE_OVERLAPS[-1],
        "letters": "abcdefghij" * _LARGE_OVERLAPS[-1],
        "prose": run.corpora.texts["prose"],
    }
    split = new_encoding(run.encoding).split
    calls: dict[str, Callable[[str], Sequence[Chunk]]] = {
        "Encoding.split": lambda text: split(text, 512, 511),
        "TextChunker": TextChunker(new_encoding(run.encoding), 512, 511).chunk,
    }
    for name, text in texts.items():
        for size in _LARGE_OVERLAPS:
            for way, call in calls.items():
                seconds = float("inf")
                for _ in range(_HOSTILE_ROUNDS):
                    start = time.process_time()
                    chunks = call(text[:size])
                    seconds = min(seconds, time.process_time() - start)
                speed = sum(len(chunk.text) for chunk in chunks) / seconds / 1e6
                results.append(
                    Measurement(way, name, f"{size:,} characters", SUBJECT, speed, "M characters/s")
                )
    return sorted(results, key=lambda found: found.operation)


# Hostile inputs


def _repeated(unit: str) -> Make:
    return lambda n_bytes: unit * (n_bytes // len(unit.encode()))


def _one_line(n_bytes: int) -> str:
    """Make words with blanks between, without a full stop."""
    rng = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 10))) for _ in range(5_000)]
    line = " ".join(rng.choices(words, k=100_000))
    return (line * -(-n_bytes // len(line)))[:n_bytes]


_INPUTS: Final[Mapping[str, Make]] = {
    "one line": _one_line,
    "'a'": _repeated("a"),
    "spaces": _repeated(" "),
    "newlines": _repeated("\n"),
    "ZWJ emoji": _repeated(_FAMILY),
}


def _hostile(run: _Run) -> list[Measurement]:
    """MB/s on inputs that have no place to cut, by size."""
    return sorted(_climbs(run), key=lambda found: found.operation)


def _climbs(run: _Run) -> Iterator[Measurement]:
    splitters = make_splitters(run.encoding, CHUNK_SIZE)
    for splitter in splitters:  # the first call builds what is built lazily
        splitter.split("One. Two.\n")
    for input_name, make in _INPUTS.items():
        for splitter in splitters:
            sizes = (*_SMALL_BYTES, *_LARGE_BYTES) if splitter.is_ours else _SMALL_BYTES
            speeds, note = _climb(splitter, make, sizes)
            for size in sizes[1:]:
                ours = size in _LARGE_BYTES
                yield Measurement(
                    _OURS if ours else _operation(splitter.kind),
                    input_name,
                    f"{size / 1e6:g} MB",
                    splitter.name if ours else _column(splitter.name),
                    speeds.get(size),
                    "MB/s",
                    note if size not in speeds or size == sizes[-1] else "",
                )


def _climb(splitter: Splitter, make: Make, sizes: Sequence[int]) -> tuple[dict[int, float], str]:
    """Measure size after size, until the next one would take too long."""
    speeds: dict[int, float] = {}
    slower = 1.0  # the last size than the one before
    for before, size in zip((0, *sizes), sizes, strict=False):
        if before and size / speeds[before] / 1e6 * slower > _LONGEST_SECONDS:
            return speeds, "too slow"
        text = make(size)
        seconds = float("inf")
        for _ in range(_HOSTILE_ROUNDS):
            start = time.process_time()
            try:
                texts = splitter.texts(text)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a Rust panic is no Exception
                return speeds, type(error).__name__
            seconds = min(seconds, max(time.process_time() - start, 1e-6))
            if seconds > _LONG_SECONDS or not splitter.is_ours:
                break  # peers remember what they have met
        if splitter.is_ours and "".join(texts) != text:
            raise SystemExit(f"{splitter.name}: the chunks joined are not the text")
        if not texts:
            return speeds, "no chunks"
        speeds[size] = size / seconds / 1e6
        slower = max(1.0, speeds[before] / speeds[size]) if before else 1.0
    return speeds, ""


# Streams


def _stream(run: _Run) -> list[Measurement]:
    """Peak memory of fresh processes, and their speed."""
    results: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.txt"
        path.write_text(run.corpora.texts["prose"], "utf-8", newline="")
        for name in _STREAMED:
            command = [sys.executable, "-m", "benchmarks.chunk_stream", name, run.encoding]
            done = subprocess.run(
                [*command, str(path), str(run.stream_megabytes)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise SystemExit(f"{name}: {done.stderr}")
            seconds, peak_mb, n_chunks, _, most = json.loads(done.stdout)
            size, note = f"{run.stream_megabytes:g} MB", f"{n_chunks:,} chunks, <= {most} tokens"
            speed = run.stream_megabytes / seconds
            results += [
                Measurement("memory of the process", "prose", size, name, peak_mb, "MB", note),
                Measurement("speed", "prose", size, name, speed, "MB/s"),
            ]
    return sorted(results, key=lambda found: found.operation)


_SECTIONS: Final[Mapping[str, Callable[[_Run], list[Measurement]]]] = {
    "speed": _speed,
    "again": _again,
    "hostile": _hostile,
    "stream": _stream,
    "options": _options,
    "overlap": _overlap,
}


# Targets


def _verdicts(found: Mapping[str, Sequence[Measurement]]) -> Iterator[str]:
    """Give a PASS or FAIL line for each target that was measured."""
    size = f"n = {CHUNK_SIZE}"
    speed = [m for m in found.get("speed", ()) if m.size == size and m.value is not None]
    for corpus in KINDS_OF:
        here = {(m.operation, m.contender): m.value or 0 for m in speed if m.text == corpus}
        if not here:
            continue
        token, text = (here[_operation(kind), SUBJECT] for kind in (TOKEN, TEXT))
        aware = {
            who: value for (kind, who), value in here.items()
            if kind != _operation(TOKEN) and who != SUBJECT
        }  # fmt: skip
        fastest = max(aware, key=aware.__getitem__)
        yield _line(
            token >= _MIN_TOKEN_SPEED,
            f"TokenChunker >= {_MIN_TOKEN_SPEED:g} MB/s, {corpus}: {token:.1f}",
        )
        yield _line(
            text >= _MIN_TEXT_RATIO * aware[fastest],
            f"TextChunker >= {_MIN_TEXT_RATIO:g}x the fastest peer that looks at the text, "
            f"{corpus}: {text / aware[fastest]:.1f}x ({text:.1f} MB/s; {fastest} "
            f"{aware[fastest]:.2f})",
        )
    for measurement in found.get("again", ()):
        if measurement.operation.startswith(TOKEN) and measurement.value is not None:
            yield _line(
                measurement.value >= _MIN_TOKEN_SPEED,
                f"TokenChunker >= {_MIN_TOKEN_SPEED:g} MB/s on {measurement.text} met before: "
                f"{measurement.value:.1f}",
            )
    yield from _linear(found.get("hostile", ()))
    for measurement in found.get("stream", ()):
        if measurement.unit == "MB" and measurement.value is not None:
            yield _line(
                measurement.value < _MOST_STREAM_MB,
                f"{measurement.contender}, a stream of {measurement.size} under "
                f"{_MOST_STREAM_MB:g} MB of memory: {measurement.value:.0f} MB",
            )


def _linear(hostile: Sequence[Measurement]) -> Iterator[str]:
    first, *_, last = (f"{size / 1e6:g} MB" for size in _LARGE_BYTES)
    cells = {(m.contender, m.text, m.size): m for m in hostile if m.operation == _OURS}
    for who in dict.fromkeys(name for name, _, _ in cells):
        label = f"{who}, linear on hostile inputs"
        stopped = [cells[who, text, last] for text in _INPUTS]
        if notes := [f"{m.text}: {m.note}" for m in stopped if m.value is None]:
            yield _line(False, f"{label}: {last} of {'; '.join(notes)}")
        growth = {
            text: cells[who, text, first].value / value  # type: ignore[operator]
            for text in _INPUTS
            if (value := cells[who, text, last].value) is not None
        }
        if growth:
            worst = max(growth, key=growth.__getitem__)
            yield _line(
                growth[worst] <= _MOST_GROWTH,
                f"{label}: a byte of {last} takes {growth[worst]:.2f} times as long as one of "
                f"{first} ({worst})",
            )


def _line(kept: bool, text: str) -> str:
    return f"{'PASS' if kept else 'FAIL'}  {text}"


if __name__ == "__main__":
    main()
