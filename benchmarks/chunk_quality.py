"""Judge chunks: `python -m benchmarks.chunk_quality [--corpora DIR]`.

How full they are, what they end at, what they tear apart, and what they lose: ours and the
peers' on the same texts, by the rules of `chunk_judge`. Tokens are tiktoken's, of the chunk as
it is given out. Speeds are not measured here.

Columns: chunks; fill, mean tokens of a chunk by the budget; ends at, % of the cuts; over, % of
the chunks above the budget; lost, characters of the source that no chunk has (white space +
others), and chunks that are no part of the source (?); headings, % that are in one chunk with
the beginning of what follows; functions, % in one chunk, of those that fit the budget.

The last tables are ours with several values of `min_fill`.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Final

from benchmarks import chunk_judge, corpora
from benchmarks.chunk_judge import LEVELS, Units
from benchmarks.chunk_peers import (
    CODE,
    KINDS_OF,
    MARKDOWN,
    TEXT,
    TOKEN,
    Splitter,
    make_splitters,
    samples,
    tiktoken_encoding,
    versions,
)
from benchmarks.harness import add_options, describe_machine

_CHUNK_SIZES: Final = (64, 256, 1024)
_MIN_FILLS: Final = (0.0, 0.25, 0.5, 0.75)
_PARTS: Final = {"prose": "", "code": "functions", "multilingual": "headings"}
_FIND: Final[Mapping[str, Callable[[str], Units]]] = {
    "": lambda text: Units(),
    "functions": chunk_judge.functions,
    "headings": chunk_judge.headings,
}
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one chunker cut one text. Shares are from 0 to 1."""

    corpus: str
    chunk_size: int
    chunker: str
    kind: str
    n_chunks: int
    fill: float
    ends_at: Mapping[str, float]
    over: float
    lost_space: int
    lost_other: int
    n_altered: int
    whole: float | None


@dataclass(frozen=True, slots=True)
class _Subject:
    """A text, where its headings start, and what chunks of a size should not tear apart."""

    corpus: str
    text: str
    headings: frozenset[int]
    chunk_size: int
    units: Units


def judge(subject: _Subject, splitter: Splitter, count: Count) -> Verdict:
    """Cut a text and judge the chunks."""
    text, size = subject.text, subject.chunk_size
    chunks = splitter.texts(text)
    counts = [count(chunk) for chunk in chunks]
    placed = chunk_judge.place(text, chunks)
    cuts = [end for _, end in placed.spans[:-1]]
    at = Counter(
        level for cut in cuts for level in chunk_judge.levels_at(text, cut, subject.headings)
    )
    return Verdict(
        subject.corpus, size, splitter.name, splitter.kind, len(chunks),
        sum(counts) / len(chunks) / size,
        {level: at[level] / max(1, len(cuts)) for level in LEVELS},
        sum(n > size for n in counts) / len(chunks),
        placed.lost_space, placed.lost_other, placed.n_altered,
        subject.units.share_whole(placed.spans),
    )  # fmt: skip


def _subjects(texts: Mapping[str, str], count: Count) -> Iterator[_Subject]:
    for corpus, text in texts.items():
        units = _FIND[_PARTS[corpus]](text)
        headings = frozenset(units.starts if _PARTS[corpus] == "headings" else ())
        counts = [
            count(text[start:end]) for start, end in zip(units.starts, units.ends, strict=True)
        ]
        for chunk_size in _CHUNK_SIZES:
            fitting = chunk_judge.of_size(units, chunk_size, counts)
            yield _Subject(corpus, text, headings, chunk_size, fitting)


def _by_min_fill(encoding: str, chunk_size: int, stable: bool) -> Iterator[Splitter]:
    """Make our chunkers with each minimum of the fill."""
    from cutline.chunking import CodeChunker, MarkdownChunker, TextChunker

    made = partial(Splitter, part=attrgetter("text"))
    for min_fill in _MIN_FILLS:
        options: dict[str, Any] = {"min_fill": min_fill, "stable": stable}
        name = f"min_fill={min_fill:g}{', stable' * stable}"
        chunkers = {
            TEXT: TextChunker(encoding, chunk_size, **options),
            MARKDOWN: MarkdownChunker(encoding, chunk_size, **options),
            CODE: CodeChunker("python", encoding, chunk_size, **options),
        }
        for kind, chunker in chunkers.items():
            yield made(f"cutline {kind.capitalize()} {name}", kind, chunker.chunk)


def _table(title: str, verdicts: Sequence[Verdict], unit: str) -> str:
    header = ["n", "chunker", "chunks", "fill", *(f"ends at {level}" for level in LEVELS)]
    rows = [[*header, "over", "lost", unit]]
    for v in verdicts:
        lost = f"{v.lost_space:,} + {v.lost_other:,}" + f", {v.n_altered:,} ?" * bool(v.n_altered)
        ends = [f"{100 * v.ends_at[level]:.1f}" for level in LEVELS]
        whole = "" if v.whole is None else f"{100 * v.whole:.1f}"
        over = f"{100 * v.over:.2f}" if v.over else "0"
        first = str(v.chunk_size), v.chunker, f"{v.n_chunks:,}", f"{v.fill:.2f}"
        rows.append([*first, *ends, over, lost, whole])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return f"\n## {title}\n" + "\n".join(lines)


def _not_the_best(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Name where a peer does better than our chunker that suits the corpus best.

    Only peers count that look at the text, keep the budget and lose no more than white space.
    """
    for corpus, kinds in KINDS_OF.items():
        best = kinds[-1].capitalize()
        for chunk_size in _CHUNK_SIZES:
            here = [v for v in verdicts if (v.corpus, v.chunk_size) == (corpus, chunk_size)]
            ours = next((v for v in here if v.chunker == f"cutline {best}"), None)
            if ours is None:
                continue
            for label, value in _qualities(ours).items():
                rivals = {
                    v.chunker: _qualities(v)[label]
                    for v in here
                    if not v.chunker.startswith("cutline")
                    and v.kind != TOKEN
                    and not (v.over or v.lost_other or v.n_altered)
                }
                rival = max(rivals, key=rivals.__getitem__, default=None)
                if rival is not None and rivals[rival] > value + 0.0005:
                    yield (
                        f"{corpus}, n = {chunk_size}, {label}: {ours.chunker} {value:.3f}, "
                        f"{rival} {rivals[rival]:.3f}"
                    )


def _qualities(verdict: Verdict) -> dict[str, float]:
    ends = {f"ends at {level}": share for level, share in verdict.ends_at.items()}
    unit = _PARTS[verdict.corpus]
    whole = {unit: verdict.whole} if verdict.whole is not None else {}
    return {"fill": verdict.fill, **ends, **whole}


def main() -> None:
    options = _parse_options()
    loaded = corpora.load(options.corpora, int(8e6))
    texts = samples(loaded, int(options.megabytes * 1e6))
    header = {
        "encoding": options.encoding,
        "machine": describe_machine(),
        "versions": versions(),
        "corpora": f"{loaded.origin}; {options.megabytes:g} MB of each",
    }
    print(*(f"{key}: {value}" for key, value in header.items()), sep="\n", flush=True)
    encode = tiktoken_encoding(options.encoding).encode_ordinary
    subjects = list(_subjects(texts, lambda text: len(encode(text))))

    def judge_all(make: Callable[[int], Iterator[Splitter]]) -> list[Verdict]:
        return [
            judge(subject, splitter, lambda text: len(encode(text)))
            for subject in subjects
            for splitter in make(subject.chunk_size)
            if splitter.kind in KINDS_OF[subject.corpus]
        ]

    every = judge_all(lambda size: iter(make_splitters(options.encoding, size)))
    _print("chunkers", every)
    print("\n## where a peer that keeps the budget and the text does better than ours")
    print(*_not_the_best(every), sep="\n", flush=True)
    ours: list[Verdict] = []
    for stable in (False, True):
        found = judge_all(partial(_by_min_fill, options.encoding, stable=stable))
        _print("ours by min_fill" + ", stable" * stable, found)
        ours += found
    if options.json is not None:
        data = {**header, "chunkers": list(map(asdict, every)), "min_fill": list(map(asdict, ours))}
        options.json.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _print(title: str, verdicts: Sequence[Verdict]) -> None:
    for corpus, unit in _PARTS.items():
        here = [v for v in verdicts if v.corpus == corpus]
        print(_table(f"{title}: {corpus}", here, unit), flush=True)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.chunk_quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser, megabytes=0.5, what="size of a text")
    return parser.parse_args()


if __name__ == "__main__":
    main()
