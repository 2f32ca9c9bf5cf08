"""What chunkers do with texts that are hard to cut: `python -m benchmarks.peer_faults`.

Each peer is made as its documentation makes it, without overlap, and counts with o200k_base.
Then every text is cut, and the chunks are judged by tiktoken's counts. docs/comparison.md shows
the table; a test holds it against the peers that are installed.
"""

import base64
import hashlib
import io
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Final, cast

from benchmarks.chunk_peers import tiktoken_encoding

__all__ = ["CASES", "MAKERS", "Case", "faults", "legend", "row", "table"]

ENCODING: Final = "o200k_base"
_MODEL: Final = "gpt-4o"
FINE: Final = "-"

Piece = tuple[int | None, str]
"""A chunk: where it says that it begins, if it says, and its text."""

Split = Callable[[str], Iterable[Piece]]


@dataclass(frozen=True, slots=True)
class Case:
    """A text, and the budget that it is cut to.

    Attributes:
        title: what is hard about it.
        text: the text.
        chunk_size: tokens of a chunk at most.
        shown: the text as an expression, for the legend.
    """

    title: str
    text: str
    chunk_size: int
    shown: str


def _noise(n_bytes: int) -> str:
    """Make text of base64 that is the same in every run."""
    blocks = (hashlib.sha512(bytes([k % 256, k // 256])).digest() for k in range(n_bytes // 64 + 1))
    return base64.b64encode(b"".join(blocks)[:n_bytes]).decode()


def _cases() -> Iterator[Case]:
    yield Case("emoji", "🧑🏿\u200d🤝\u200d🧑🏻" * 2, 4, r"'🧑🏿\u200d🤝\u200d🧑🏻' * 2")
    shown = r"'_`abg\x83\x84\n//¦§¨©ª«¬'"
    yield Case("symbols", "_`abg\x83\x84\n//¦§¨©ª«¬", 8, shown)
    yield Case("Korean", " 주요음같이파출될 때", 8, "' 주요음같이파출될 때'")
    mixed = "让们来起学习aript 脚本构建的基础知 在浏览代码前，让"
    yield Case("Chinese", mixed, 16, f"'{mixed}'")
    yield Case(
        "special", "Special <|endoftext|> here. " * 3, 8, "'Special <|endoftext|> here. ' * 3"
    )
    again = "The same sentence again. "
    yield Case("repeated", again * 500, 64, f"'{again}' * 500")
    yield Case("base64", _noise(15_000), 64, "20,000 characters of base64")
    yield Case("white", "   ", 8, "'   '")
    yield Case("impossible", "你𠮷" * 6, 1, "'你𠮷' * 6")


CASES: Final = tuple(_cases())


def faults(case: Case, split: Split, count: Callable[[str], int]) -> str:
    """Cut a text and say in a few words what is wrong with the chunks.

    Args:
        case: the text and its budget.
        split: the chunker.
        count: tiktoken's.
    """
    try:
        pieces = list(split(case.text))
    except Exception as error:  # whatever a peer raises is what its user gets
        return _raised(error)
    chunks = [text for _, text in pieces]
    found = []
    if (most := max(map(count, chunks), default=0)) > case.chunk_size:
        found.append(f"{most:,} tokens")
    if broken := sum("\ufffd" in chunk for chunk in chunks):
        found.append(f"{broken} broken")
    elif lost := len(case.text) - sum(map(len, chunks)):
        is_white = "".join(case.text.split()) == "".join("".join(chunks).split())
        found.append(f"{lost} lost{'' if is_white else ', not only white space'}")
    if wrong := _wrong_offsets(case.text, pieces):
        found.append(f"{wrong} of {len(pieces)} offsets")
    return ", ".join(found) or FINE


def _wrong_offsets(text: str, pieces: Iterable[Piece]) -> int:
    """Count the chunks that lie elsewhere: other text is there, or the chunk before reaches in."""
    wrong = end = 0
    for start, chunk in pieces:
        if start is not None:
            wrong += start < end or not text.startswith(chunk, start)
            end = start + len(chunk)
    return wrong


def _raised(error: Exception) -> str:
    return type(error).__name__


# The chunkers: each takes a budget


def _plain(split: Callable[[str], Iterable[str]]) -> Split:
    return lambda text: ((None, chunk) for chunk in split(text))


def _slices(chunk_size: int) -> Split:
    encoding = tiktoken_encoding(ENCODING)

    def split(text: str) -> Iterator[str]:
        tokens = encoding.encode_ordinary(text)
        for start in range(0, len(tokens), chunk_size):
            yield encoding.decode(tokens[start : start + chunk_size])

    return _plain(split)


def _langchain_token(chunk_size: int) -> Split:
    from langchain_text_splitters import TokenTextSplitter

    tiktoken_encoding(ENCODING)  # fills the cache that it reads
    splitter = TokenTextSplitter(ENCODING, chunk_size=chunk_size, chunk_overlap=0)
    return _plain(splitter.split_text)


def _langchain_recursive(chunk_size: int) -> Split:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    tiktoken_encoding(ENCODING)
    splitter = RecursiveCharacterTextSplitter.from_tiktoken_encoder(
        ENCODING, chunk_size=chunk_size, chunk_overlap=0, add_start_index=True
    )
    return lambda text: (
        (made.metadata["start_index"], made.page_content)
        for made in splitter.create_documents([text])
    )


def _semchunk(chunk_size: int) -> Split:
    from semchunk.semchunk import chunkerify

    split = chunkerify(tiktoken_encoding(ENCODING), chunk_size)

    def with_offsets(text: str) -> Iterator[Piece]:
        chunks, spans = cast("tuple[list[str], list[tuple[int, int]]]", split(text, offsets=True))
        for chunk, (start, _) in zip(chunks, spans, strict=True):
            yield start, chunk

    return with_offsets


def _semantic_text_splitter(chunk_size: int) -> Split:
    from semantic_text_splitter import TextSplitter

    splitter = TextSplitter.from_tiktoken_model(_MODEL, chunk_size, trim=False)
    made: Split = splitter.chunk_indices
    return made


def _chonkie(name: str) -> Callable[[int], Split]:
    def make(chunk_size: int) -> Split:
        import chonkie

        chunker = getattr(chonkie, f"{name}Chunker")(
            tiktoken_encoding(ENCODING), chunk_size=chunk_size
        )
        return lambda text: ((chunk.start_index, chunk.text) for chunk in chunker.chunk(text))

    return make


def _llama_index(name: str) -> Callable[[int], Split]:
    def make(chunk_size: int) -> Split:
        from llama_index.core import Document, node_parser

        parser = getattr(node_parser, name)(
            chunk_size=chunk_size,
            chunk_overlap=0,
            tokenizer=partial(tiktoken_encoding(ENCODING).encode, allowed_special="all"),
            include_metadata=False,
        )
        return lambda text: (
            (node.start_char_idx, node.text)
            for node in parser.get_nodes_from_documents([Document(text=text)])
        )

    return make


def _haystack(chunk_size: int) -> Split:
    from haystack import Document
    from haystack.components.preprocessors import DocumentSplitter

    tiktoken_encoding(ENCODING)
    splitter = DocumentSplitter(
        "token", split_length=chunk_size, split_overlap=0, tokenizer_encoding=ENCODING
    )
    splitter.warm_up()
    return lambda text: (
        (made.meta["split_idx_start"], made.content)
        for made in splitter.run([Document(content=text)])["documents"]
    )


def _cutline(name: str) -> Callable[[int], Split]:
    def make(chunk_size: int) -> Split:
        import cutline

        chunker = getattr(cutline, f"{name}Chunker")(ENCODING, chunk_size)
        return lambda text: ((chunk.start_index, chunk.text) for chunk in chunker.chunk(text))

    return make


MAKERS: Final[Mapping[str, tuple[str, Callable[[int], Split]]]] = {
    "slices of tokens": ("tiktoken", _slices),
    "LangChain Token": ("langchain-text-splitters", _langchain_token),
    "LangChain Recursive": ("langchain-text-splitters", _langchain_recursive),
    "LlamaIndex Token": ("llama-index-core", _llama_index("TokenTextSplitter")),
    "LlamaIndex Sentence": ("llama-index-core", _llama_index("SentenceSplitter")),
    "Haystack Token": ("haystack-ai", _haystack),
    "chonkie Token": ("chonkie", _chonkie("Token")),
    "chonkie Recursive": ("chonkie", _chonkie("Recursive")),
    "chonkie Sentence": ("chonkie", _chonkie("Sentence")),
    "semchunk": ("semchunk", _semchunk),
    "semantic-text-splitter": ("semantic-text-splitter", _semantic_text_splitter),
    "Cutline Token": ("cutline", _cutline("Token")),
    "Cutline Text": ("cutline", _cutline("Text")),
}
"""The chunkers by what a row of the table is called: their distribution, and how to make one."""


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what LlamaIndex prints and logs of small budgets to itself."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)


def row(name: str) -> str:
    """Run one chunker on all texts: a row of the table.

    Raises:
        ImportError: its package is not installed.
    """
    _, make = MAKERS[name]
    encoding = tiktoken_encoding(ENCODING)

    def count(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    cells = []
    for case in CASES:
        with _silence():
            try:
                cells.append(faults(case, make(case.chunk_size), count))
            except ValueError as error:  # the budget is none that it takes
                cells.append(_raised(error))
    return f"| {' | '.join([name, *cells])} |"


def table() -> Iterator[str]:
    """Yield the lines of the table; a peer that can't be imported is named instead."""
    yield f"| {' | '.join(['', *(case.title for case in CASES)])} |"
    yield f"|{'---|' * (len(CASES) + 1)}"
    for name, (distribution, _) in MAKERS.items():
        try:
            yield row(name)
        except ImportError as error:
            yield f"{distribution}: skipped, can't be imported ({error})"


def legend() -> Iterator[str]:
    """Yield the lines of the table of texts."""
    yield "| | text | tokens at most |"
    yield "|---|---|---:|"
    for case in CASES:
        shown = case.shown.replace("|", r"\|")
        yield f"| {case.title} | `` {shown} `` | {case.chunk_size} |"


def versions() -> Iterator[str]:
    """Yield the peers that are installed, with their versions."""
    for distribution in dict.fromkeys(distribution for distribution, _ in MAKERS.values()):
        try:
            yield f"{distribution} {metadata.version(distribution)}"
        except metadata.PackageNotFoundError:
            continue


def main() -> None:
    """Print the table and its legend."""
    warnings.simplefilter("ignore")  # peers warn of what the table shows
    for line in table():
        print(line, flush=True)
    print("", ", ".join(versions()), "", *legend(), sep="\n")


if __name__ == "__main__":
    main()
