"""Measure what an edit changes: `python -m benchmarks.edit_stability [--corpora DIR]`.

A document of 1 MB is edited at 200 random places, each time the original: a word or a sentence
is put in, some characters are deleted, a paragraph is moved. A chunk of the original survives
if a chunk of the edited document has the same hash, however often that occurs there and here.
Ours is `Chunk.content_hash`, of the text and its headings; the peers' is their text.

Columns: chunks of the original; survive, mean % of these; least, of the worst edit; anew, the
mean number of chunks that must be embedded again; then the mean % by kind of edit; for code also
the mean of the edits that leave it Python, as tree-sitter sees it: one quote that is deleted
turns strings and code about, as far as the parser can tell. The peers and chunks by tokens alone
get fewer edits, for they take long.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any, Final

from benchmarks import corpora
from benchmarks.chunk_peers import (
    CODE,
    KINDS_OF,
    MARKDOWN,
    TEXT,
    TOKEN,
    make_splitters,
    samples,
    versions,
)
from benchmarks.harness import add_options, check_names, describe_machine

_TARGET: Final = 0.98
_MOST_DELETED: Final = 60
_WORDS: Final = ("never", "Tuesday", "quite", "17", "lighthouse", "Ångström", "re-read", "größer")
_SENTENCES: Final = (
    "This sentence was not here before. ",
    "Nobody had told them, though everybody knew; so they left. ",
    "See also the notes of 12 March (p. 40). ",
)

Edit = Callable[[str, random.Random], str]
Hashes = Callable[[str], list[str]]


def _insert_word(text: str, rng: random.Random) -> str:
    place = _next(text, " ", rng)
    return f"{text[:place]}{rng.choice(_WORDS)} {text[place:]}"


def _insert_sentence(text: str, rng: random.Random) -> str:
    place = _next(text, ". ", rng)
    return text[:place] + rng.choice(_SENTENCES) + text[place:]


def _delete(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text) - _MOST_DELETED)
    return text[:place] + text[place + rng.randint(1, _MOST_DELETED) :]


def _move_paragraph(text: str, rng: random.Random) -> str:
    start = _next(text, "\n\n", rng)
    found = text.find("\n\n", start)
    end = found + 2 if found >= 0 else len(text)
    rest = text[:start] + text[end:]
    place = _next(rest, "\n\n", rng)
    return rest[:place] + text[start:end] + rest[place:]


def _next(text: str, mark: str, rng: random.Random) -> int:
    """Find the end of the first mark behind a random place; the text's, if there is none."""
    found = text.find(mark, rng.randrange(len(text)))
    return found + len(mark) if found >= 0 else len(text)


_EDITS: Final[Mapping[str, Edit]] = {
    "word": _insert_word,
    "sentence": _insert_sentence,
    "delete": _delete,
    "move": _move_paragraph,
}


@dataclass(frozen=True, slots=True)
class Survival:
    """What one chunker's chunks of one document do under edits. Shares are from 0 to 1."""

    corpus: str
    chunker: str
    n_chunks: int
    n_edits: int
    mean: float
    least: float
    anew: float
    by_edit: Mapping[str, float]
    valid: float | None


@dataclass(frozen=True, slots=True)
class Document:
    """A text, and the numbers of the edits that break its syntax; None: it has no syntax."""

    corpus: str
    text: str
    broken_by: frozenset[int] | None

    def edited(self, number: int) -> str:
        """Apply the edit of a number."""
        return _EDITS[_kind(number)](self.text, random.Random(number))


def _kind(number: int) -> str:
    return list(_EDITS)[number % len(_EDITS)]


def _document(corpus: str, text: str, n_edits: int) -> Document:
    document = Document(corpus, text, None)
    if corpus != "code":
        return document
    from tree_sitter_language_pack import get_parser

    parse = get_parser("python").parse
    broken = (n for n in range(n_edits) if parse(document.edited(n).encode()).root_node.has_error)
    return replace(document, broken_by=frozenset(broken))


def measure(document: Document, name: str, hashes: Hashes, n_edits: int) -> Survival:
    """Apply edits to the text, one at a time, and compare the chunks."""
    original = Counter(hashes(document.text))
    n_chunks = original.total()
    shares: list[float] = []
    anew: list[int] = []
    for number in range(n_edits):
        edited = Counter(hashes(document.edited(number)))
        shares.append((original & edited).total() / n_chunks)
        anew.append((edited - original).total())
    by_edit = {kind: fmean(shares[at :: len(_EDITS)]) for at, kind in enumerate(_EDITS)}
    valid = None
    if document.broken_by is not None:
        whole = [share for n, share in enumerate(shares) if n not in document.broken_by]
        valid = fmean(whole) if whole else None
    return Survival(
        document.corpus, name, n_chunks, n_edits, fmean(shares), min(shares), fmean(anew),
        by_edit, valid,
    )  # fmt: skip


def _ours(encoding: str, chunk_size: int) -> Iterator[tuple[str, str, Hashes]]:
    """Yield kind, name and hashes of each of our chunkers, plain and stable."""
    from cutline.chunking import (
        Chunker,
        CodeChunker,
        MarkdownChunker,
        TextChunker,
        TokenChunker,
    )

    def hashes_of(chunker: Chunker) -> Hashes:
        return lambda text: [chunk.content_hash for chunk in chunker.chunk(text)]

    for stable in (False, True):
        options: dict[str, Any] = {"stable": stable}
        chunkers = {
            TOKEN: TokenChunker(encoding, chunk_size, **options),
            TEXT: TextChunker(encoding, chunk_size, **options),
            MARKDOWN: MarkdownChunker(encoding, chunk_size, **options),
            CODE: CodeChunker("python", encoding, chunk_size, **options),
        }
        for kind, chunker in chunkers.items():
            yield kind, f"cutline {kind.capitalize()}{', stable' * stable}", hashes_of(chunker)


def _peers(encoding: str, chunk_size: int) -> Iterator[tuple[str, str, Hashes]]:
    for splitter in make_splitters(encoding, chunk_size):
        if not splitter.is_ours:
            yield splitter.kind, splitter.name, splitter.texts


def _table(title: str, found: Sequence[Survival]) -> str:
    has_syntax = any(one.valid is not None for one in found)
    header = ["chunker", "chunks", "edits", "survive", "least", "anew", *_EDITS]
    rows = [[*header, *["still Python"] * has_syntax]]
    for one in found:
        mean, least, *by_edit = (
            f"{100 * share:.2f}" for share in (one.mean, one.least, *one.by_edit.values())
        )
        valid = [f"{100 * one.valid:.2f}"] if one.valid is not None else []
        counts = f"{one.n_chunks:,}", str(one.n_edits)
        rows.append([one.chunker, *counts, mean, least, f"{one.anew:.1f}", *by_edit, *valid])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return f"\n## {title}\n" + "\n".join(lines)


def _verdicts(found: Sequence[Survival]) -> Iterator[str]:
    for one in found:
        if one.chunker.endswith(", stable"):
            word = "PASS" if one.mean >= _TARGET else "FAIL"
            valid = "" if one.valid is None else f", {100 * one.valid:.2f} if it is still Python"
            yield (
                f"{word}  {one.chunker}, {one.corpus}: >= {100 * _TARGET:g} % of the chunks "
                f"survive an edit: {100 * one.mean:.2f}, at least {100 * one.least:.2f}{valid}"
            )


def main() -> None:
    options = _parse_options()
    loaded = corpora.load(options.corpora, int(8e6))
    texts = samples(loaded, int(options.megabytes * 1e6))
    header = {
        "encoding": options.encoding,
        "machine": describe_machine(),
        "versions": versions(),
        "corpora": f"{loaded.origin}; {options.megabytes:g} MB of each; n = {options.chunk_size}",
    }
    print(*(f"{key}: {value}" for key, value in header.items()), sep="\n", flush=True)
    contenders = [
        (kind, name, hashes, options.edits if make is _ours and kind != TOKEN else options.few)
        for make in (_ours, _peers)
        for kind, name, hashes in make(options.encoding, options.chunk_size)
    ]
    found: list[Survival] = []
    for corpus in options.corpus or texts:
        document = _document(corpus, texts[corpus], options.edits)
        here = [
            measure(document, name, hashes, n_edits)
            for kind, name, hashes, n_edits in contenders
            if kind in KINDS_OF[corpus]
        ]
        print(_table(f"edits: {corpus}", here), flush=True)
        found += here
    verdicts = list(_verdicts(found))
    print("\n## targets", *verdicts, sep="\n")
    if options.json is not None:
        data = {**header, "edits": list(map(asdict, found)), "targets": verdicts}
        options.json.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.edit_stability",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("corpus", nargs="*", help=", ".join(KINDS_OF))
    add_options(parser, megabytes=1.0, what="size of a document")
    parser.add_argument("--chunk-size", type=int, default=256, help="tokens of a chunk (256)")
    parser.add_argument("--edits", type=int, default=200, help="for ours (200)")
    parser.add_argument("--few", type=int, default=20, help="edits for what takes long (20)")
    options = parser.parse_args()
    check_names(parser, "corpus", options.corpus, KINDS_OF)
    if options.few < len(_EDITS) or options.edits < options.few:
        parser.error(f"--few must be {len(_EDITS)} or more, and --edits not below it")
    return options


if __name__ == "__main__":
    main()
