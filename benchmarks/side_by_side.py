"""Twelve kinds of documents, cut by every chunker: `python -m benchmarks.side_by_side`.

Each chunker is the one of its package that suits the kind best; all have the same budget in the
tokens of one encoding. The judge knows the units from how the documents were made
(`twelve_kinds`), and counts the tokens of what is given out with tiktoken.

Columns: ends, % of the cuts that are where a person would cut; whole, % of the units (lines,
records, sentences, cells, turns, functions) that lie in one chunk, of those that fit the budget;
fill, mean tokens of a chunk by the budget; over, % of the chunks above it; offsets, % of the
chunks that say rightly where they come from (-: they do not say); lost, characters that no chunk
has, white space left out (?: chunks that are no part of the text); MB/s, the better of two runs.
"""

from __future__ import annotations

import argparse
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any, Final

from benchmarks.chunk_peers import MODELS, tiktoken_encoding
from benchmarks.twelve_kinds import KINDS, Made

# A chunk's text, and where it says that it starts; None if it does not say.
Piece = tuple[str, int | None]
Cut = Callable[[str], Iterable[Piece]]

_COLUMNS: Final = ("ends", "whole", "fill", "over", "offsets", "lost", "MB/s")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one chunker cut one document; shares are from 0 to 1."""

    chunker: str
    ends: float
    whole: float
    fill: float
    over: float
    offsets: float | None
    lost: int
    n_altered: int
    speed: float

    def cells(self) -> list[str]:
        """Return what the table shows."""
        offsets = "-" if self.offsets is None else f"{100 * self.offsets:.0f}"
        lost = f"{self.lost:,}" + f" {self.n_altered:,}?" * bool(self.n_altered)
        shares = [f"{100 * share:.1f}" for share in (self.ends, self.whole)]
        over = f"{100 * self.over:.1f}" if self.over else "0"
        return [self.chunker, *shares, f"{self.fill:.2f}", over, offsets, lost, f"{self.speed:.2f}"]


def judge(made: Made, name: str, cut: Cut, count: Callable[[str], int], size: int) -> Verdict:
    """Cut a document and judge the chunks."""
    text, seconds = made.text, []
    for _ in range(2):
        start = time.perf_counter()
        pieces = list(cut(text))
        seconds.append(time.perf_counter() - start)
    said = [start for _, start in pieces if start is not None]
    right = [start is not None and text.startswith(part, start) for part, start in pieces]
    n_altered = sum(part not in text for part, _ in pieces)
    if all(right):
        spans = [(start, start + len(part)) for part, start in pieces if start is not None]
    else:
        spans = _place(text, [part for part, _ in pieces])
    lost = _lost(text, spans)
    counts = [count(part) for part, _ in pieces]
    cuts = [len(text[:end].rstrip()) for _, end in spans[:-1]]
    fitting = [unit for unit in made.units if count(text[slice(*unit)]) <= size]
    starts = [start for start, _ in spans]
    n_whole = sum(
        (at := bisect_right(starts, start) - 1) >= 0 and end <= spans[at][1]
        for start, end in fitting
    )
    return Verdict(
        name,
        sum(cut in made.ends for cut in cuts) / max(1, len(pieces) - 1),
        n_whole / len(fitting),
        sum(counts) / len(counts) / size,
        sum(own > size for own in counts) / len(counts),
        sum(right) / len(right) if said else None,
        lost,
        n_altered,
        len(text.encode()) / min(seconds) / 1e6,
    )


def _place(text: str, parts: list[str]) -> list[tuple[int, int]]:
    """Find chunks in order by their letters: docling writes other white space."""
    places = [at for at, letter in enumerate(text) if not letter.isspace()]
    letters, end, spans = "".join(text.split()), 0, []
    for part in parts:
        own = "".join(part.split())
        start = letters.find(own, end)
        if own and start >= 0:
            end = start + len(own)
            spans.append((places[start], places[end - 1] + 1))
    return spans


def _lost(text: str, spans: list[tuple[int, int]]) -> int:
    end = lost = 0
    for start, stop in [*spans, (len(text), len(text))]:
        lost += sum(not letter.isspace() for letter in text[end:start])
        end = max(end, stop)
    return lost


def _cutline(kind: str, made: Made, encoding: str, size: int) -> Iterator[tuple[str, Cut]]:
    from cutline import chunker_for

    chunker = chunker_for(made.file_name, encoding, size)
    name = type(chunker).__name__
    yield f"cutline {name}", lambda text: ((c.text, c.start_index) for c in chunker.chunk(text))


def _langchain(kind: str, made: Made, encoding: str, size: int) -> Iterator[tuple[str, Cut]]:
    import langchain_text_splitters as peer

    tiktoken_encoding(encoding)  # fills the cache that it reads
    cls: Any = peer.RecursiveCharacterTextSplitter
    options: dict[str, Any] = {
        "encoding_name": encoding, "chunk_size": size, "chunk_overlap": 0,
        "disallowed_special": (), "add_start_index": True,
    }  # fmt: skip
    languages = {"HTML page": "html", "code": "python", "Markdown": "markdown"}
    if kind in languages:
        separators = cls.get_separators_for_language(peer.Language(languages[kind]))
        options |= {"separators": separators, "is_separator_regex": True}
    splitter = cls.from_tiktoken_encoder(**options)

    def cut(text: str) -> Iterator[Piece]:
        for document in splitter.create_documents([text]):
            yield document.page_content, document.metadata["start_index"]

    yield f"LangChain Recursive {languages.get(kind, '')}".rstrip(), cut


def _llama_index(kind: str, made: Made, encoding: str, size: int) -> Iterator[tuple[str, Cut]]:
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.schema import Document

    encode = partial(tiktoken_encoding(encoding).encode, disallowed_special=())
    splitter = SentenceSplitter(chunk_size=size, chunk_overlap=0, tokenizer=encode)

    def cut(text: str) -> Iterator[Piece]:
        for node in splitter.get_nodes_from_documents([Document(text=text)]):
            yield node.get_content(), getattr(node, "start_char_idx", None)

    yield "LlamaIndex Sentence", cut


def _haystack(kind: str, made: Made, encoding: str, size: int) -> Iterator[tuple[str, Cut]]:
    from haystack import Document
    from haystack.components.preprocessors import RecursiveDocumentSplitter

    tiktoken_encoding("o200k_base")  # fills the cache that it reads
    splitter = RecursiveDocumentSplitter(
        split_length=size, split_unit="token", separators=["\n\n", "\n", ". ", " "]
    )
    splitter.warm_up()

    def cut(text: str) -> Iterator[Piece]:
        for document in splitter.run([Document(content=text)])["documents"]:
            yield document.content or "", document.meta["split_idx_start"]

    yield "Haystack Recursive", cut


def _chonkie(kind: str, made: Made, encoding: str, size: int) -> Iterator[tuple[str, Cut]]:
    import chonkie

    chunker = chonkie.RecursiveChunker(tiktoken_encoding(encoding), chunk_size=size)
    yield (
        "chonkie Recursive",
        lambda text: ((chunk.text, chunk.start_index) for chunk in chunker.chunk(text)),
    )


def _semantic(kind: str, made: Made, encoding: str, size: int) -> Iterator[tuple[str, Cut]]:
    import semantic_text_splitter as peer

    model = MODELS[encoding]
    splitter: Any = peer.TextSplitter.from_tiktoken_model(model, size)
    if kind in ("Markdown", "notebook"):
        splitter = peer.MarkdownSplitter.from_tiktoken_model(model, size)
    elif kind in ("code", "HTML page", "JSON answer"):
        from tree_sitter_language_pack import get_binding

        language: Any = {"code": "python", "HTML page": "html", "JSON answer": "json"}[kind]
        splitter = peer.CodeSplitter.from_tiktoken_model(get_binding(language), model, size)
    name = type(splitter).__name__.removesuffix("Splitter")
    yield (
        f"semantic-text-splitter {name}",
        lambda text: ((part, start) for start, part in splitter.chunk_indices(text)),
    )


def _semchunk(kind: str, made: Made, encoding: str, size: int) -> Iterator[tuple[str, Cut]]:
    from semchunk.semchunk import chunkerify

    split: Any = chunkerify(tiktoken_encoding(encoding), size)

    def cut(text: str) -> Iterator[Piece]:
        parts, offsets = split(text, offsets=True)
        return ((part, start) for part, (start, _) in zip(parts, offsets, strict=True))

    yield "semchunk", cut


def _docling(kind: str, made: Made, encoding: str, size: int) -> Iterator[tuple[str, Cut]]:
    """Make a docling document of the paragraphs: its converters, which read files, are large."""
    if kind not in ("wrapped prose", "legal text", "Chinese"):
        return
    from docling_core.transforms.chunker.hybrid_chunker import HybridChunker
    from docling_core.transforms.chunker.tokenizer.openai import OpenAITokenizer
    from docling_core.types.doc.document import DoclingDocument
    from docling_core.types.doc.labels import DocItemLabel

    tokenizer = OpenAITokenizer(tokenizer=tiktoken_encoding(encoding), max_tokens=size)
    chunker = HybridChunker(tokenizer=tokenizer)

    def cut(text: str) -> Iterator[Piece]:
        document = DoclingDocument(name=PurePath(made.file_name).stem)
        for paragraph in filter(str.strip, text.split("\n\n")):
            document.add_text(DocItemLabel.PARAGRAPH, paragraph.strip("\n"))
        for chunk in chunker.chunk(document):
            yield chunk.text, None

    yield "docling Hybrid", cut


_PEERS: Final = (
    _cutline, _langchain, _llama_index, _haystack, _chonkie, _semantic, _semchunk, _docling,
)  # fmt: skip


def _table(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def _not_the_best(kind: str, verdicts: list[Verdict]) -> Iterator[str]:
    """Name where a peer does better than ours, among those that keep the budget and the text."""
    ours, *peers = verdicts
    for quality in ("ends", "whole", "fill", "speed"):
        rivals = [v for v in peers if not (v.over or v.lost or v.n_altered)]
        best = max(rivals, key=lambda v: float(getattr(v, quality)), default=ours)
        own, theirs = getattr(ours, quality), getattr(best, quality)
        if theirs > own + 0.0005:
            yield f"{kind}, {quality}: {own:.3f}, {best.chunker} {theirs:.3f}"


def main() -> None:
    """Print a table for each kind, and where ours is not the best."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.side_by_side",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--encoding", default="o200k_base", choices=sorted(MODELS))
    parser.add_argument("--size", type=int, default=256, help="the budget [default: 256]")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="only this one")
    options = parser.parse_args()
    count = partial(_count, tiktoken_encoding(options.encoding))
    behind: list[str] = []
    for kind in options.kind or KINDS:
        made = KINDS[kind]()
        verdicts = []
        for peer in _PEERS:
            try:
                ways = list(peer(kind, made, options.encoding, options.size))
            except ImportError as error:
                print(f"{peer.__name__[1:]}: skipped, can't be imported ({error})")
                continue
            verdicts += [judge(made, name, cut, count, options.size) for name, cut in ways]
        print(f"\n## {kind}, {len(made.text):,} characters, at most {options.size} tokens")
        print(_table([["chunker", *_COLUMNS], *(one.cells() for one in verdicts)]), flush=True)
        behind += _not_the_best(kind, verdicts)
    print("\n## where a peer that keeps the budget and the text does better than ours")
    print(*behind or ["nowhere"], sep="\n")


def _count(encoding: Any, text: str) -> int:
    return len(encoding.encode_ordinary(text))


if __name__ == "__main__":
    main()
