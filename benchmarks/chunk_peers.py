"""The chunkers that are compared, each made by the fastest way that its documentation offers.

All count with the same encoding, the peers by tiktoken; semantic-text-splitter has tiktoken's
Rust port inside. None overlaps. semantic-text-splitter is told not to trim: its other offsets
are the same. chonkie's CodeChunker is left out: it fetches its parsers from the network.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from operator import attrgetter
from typing import Any, Final
from unittest.mock import patch

from benchmarks.corpora import Corpora
from benchmarks.peer_files import PeerFiles
from benchmarks.peers import SUBJECT

TOKEN, TEXT, MARKDOWN, CODE = "token", "text", "markdown", "code"
KINDS_OF: Final = {
    "prose": (TOKEN, TEXT),
    "code": (TOKEN, TEXT, CODE),
    "multilingual": (TOKEN, TEXT, MARKDOWN),
}
"""Which kinds of chunkers suit a corpus."""

_SLICES: Final = 8
MODELS: Final = {"o200k_base": "gpt-4o", "cl100k_base": "gpt-4"}


@dataclass(frozen=True, slots=True)
class Splitter:
    """A chunker, made for one budget.

    Attributes:
        name: the package, and which of its chunkers.
        kind: what it looks at: tokens alone, text, Markdown or code.
        split: the call that its users write.
        part: takes the text out of an item of its result.
    """

    name: str
    kind: str
    split: Callable[[str], Sequence[Any]]
    part: Callable[[Any], str] = str

    @property
    def is_ours(self) -> bool:
        """Whether it is cutline's."""
        return self.name.startswith(SUBJECT)

    def texts(self, text: str) -> list[str]:
        """Split a text and give the chunks' texts."""
        return [self.part(item) for item in self.split(text)]


_Make = Callable[[str, int], Iterator[Splitter]]
_chunk_text = attrgetter("text")


def tiktoken_encoding(name: str) -> Any:
    """Load tiktoken's encoding; its ranks come from a cache filled beforehand.

    tiktoken keeps it, so the cache is named for no longer: others have one of their own.
    """
    folder = PeerFiles.in_temporary_folder().tiktoken_cache(name)
    import tiktoken

    with patch.dict(os.environ, TIKTOKEN_CACHE_DIR=str(folder)):
        return tiktoken.get_encoding(name)


def _cutline(encoding: str, chunk_size: int) -> Iterator[Splitter]:
    from cutline.chunking import CodeChunker, MarkdownChunker, TextChunker, TokenChunker
    from cutline.registry import new_encoding

    # Each has an encoding of its own, for it remembers the pieces of what it met.
    made, own = partial(Splitter, part=_chunk_text), partial(new_encoding, encoding)
    yield made("cutline Token", TOKEN, TokenChunker(own(), chunk_size).chunk)
    yield made("cutline Text", TEXT, TextChunker(own(), chunk_size).chunk)
    yield made("cutline Markdown", MARKDOWN, MarkdownChunker(own(), chunk_size).chunk)
    yield made("cutline Code", CODE, CodeChunker("python", own(), chunk_size).chunk)


def _semantic_text_splitter(encoding: str, chunk_size: int) -> Iterator[Splitter]:
    import semantic_text_splitter as peer

    name, model = "semantic-text-splitter", MODELS[encoding]
    text = peer.TextSplitter.from_tiktoken_model(model, chunk_size, trim=False)
    yield Splitter(f"{name} Text", TEXT, text.chunks)
    markdown = peer.MarkdownSplitter.from_tiktoken_model(model, chunk_size, trim=False)
    yield Splitter(f"{name} Markdown", MARKDOWN, markdown.chunks)
    from tree_sitter_language_pack import get_binding

    language = get_binding("python")
    code = peer.CodeSplitter.from_tiktoken_model(language, model, chunk_size, trim=False)
    yield Splitter(f"{name} Code", CODE, code.chunks)


def _semchunk(encoding: str, chunk_size: int) -> Iterator[Splitter]:
    from semchunk.semchunk import chunkerify

    split = chunkerify(tiktoken_encoding(encoding), chunk_size)
    yield Splitter("semchunk", TEXT, split)


def _chonkie(encoding: str, chunk_size: int) -> Iterator[Splitter]:
    import chonkie

    counter = tiktoken_encoding(encoding)
    for kind, name in ((TOKEN, "Token"), (TEXT, "Recursive"), (TEXT, "Sentence")):
        chunker = getattr(chonkie, f"{name}Chunker")(counter, chunk_size=chunk_size)
        yield Splitter(f"chonkie {name}", kind, chunker.chunk, _chunk_text)


def _langchain(encoding: str, chunk_size: int) -> Iterator[Splitter]:
    import langchain_text_splitters as peer

    tiktoken_encoding(encoding)  # fills the cache that it reads
    size: dict[str, Any] = {"chunk_size": chunk_size, "chunk_overlap": 0, "disallowed_special": ()}
    token = peer.TokenTextSplitter(encoding_name=encoding, **size)
    yield Splitter("LangChain Token", TOKEN, token.split_text)
    for kind, name, cls in (
        (TEXT, "Recursive", peer.RecursiveCharacterTextSplitter),
        (MARKDOWN, "Markdown", peer.MarkdownTextSplitter),
        (CODE, "Python", peer.PythonCodeTextSplitter),
    ):
        splitter = cls.from_tiktoken_encoder(encoding, **size)
        yield Splitter(f"LangChain {name}", kind, splitter.split_text)


_PEERS: Final[dict[str, _Make]] = {
    "cutline": _cutline,
    "semantic-text-splitter": _semantic_text_splitter,
    "semchunk": _semchunk,
    "chonkie": _chonkie,
    "langchain-text-splitters": _langchain,
}


def make_splitters(encoding: str, chunk_size: int) -> list[Splitter]:
    """Make all chunkers for a budget; what can't be imported is named and skipped."""
    made: list[Splitter] = []
    for name, make in _PEERS.items():
        try:
            made += make(encoding, chunk_size)
        except ImportError as error:
            print(f"{name}: skipped, can't be imported ({error})")
    return made


def versions() -> str:
    """Name the installed versions."""
    found = []
    for name in (*_PEERS, "tiktoken"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"{name} {'from the source tree' if name == SUBJECT else 'missing'}")
    return ", ".join(found)


def samples(corpora: Corpora, n_bytes: int) -> dict[str, str]:
    """Take so much of each corpus: of code the beginning, of the others slices from all over."""
    texts = {
        name: text[:n_bytes] if name == "code" else _spread(text, n_bytes)
        for name, text in corpora.texts.items()
    }
    return {name: text.encode()[:n_bytes].decode(errors="ignore") for name, text in texts.items()}


def _spread(text: str, n_characters: int) -> str:
    """Join slices of whole paragraphs from places at equal distances."""
    if len(text) <= n_characters:
        return text
    step, size = len(text) // _SLICES, n_characters // _SLICES
    slices = []
    for at in range(0, step * _SLICES, step):
        start = text.find("\n\n", at) + 2 if at else 0
        slices.append(text[start : text.rfind("\n\n", start, start + size) + 2])
    return "".join(slices)
