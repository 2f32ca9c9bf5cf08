"""Chunkers of documents with a structure: Markdown, source code and data."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from cutline.checks import checked_flag
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream, counter_for
from cutline.chunking.chunker import USUAL_FILL
from cutline.chunking.chunkers import TextChunker, TextOptions
from cutline.chunking.cutting_apart import cut_each
from cutline.chunking.levels import Lines
from cutline.chunking.never_across import Barriers
from cutline.chunking.outline import Outline
from cutline.chunking.parsing import COMMONMARK, DATA, parse, structure_of
from cutline.chunking.plain_finder import asks_few
from cutline.chunking.rules import Rules
from cutline.chunks import Chunk, ChunkSize
from cutline.protocols import TokenCounter
from cutline.vocabulary import list_encoding_names

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["CodeChunker", "DataChunker", "MarkdownChunker"]

_CODE_LEVELS: Final = ("paragraph", "line", "phrase", "word")
_WRAPPED: Final = ("asciidoc", "email", "latex", "org", "rst")  # formats of prose that editors wrap


class _StructureChunker(TextChunker):
    """A chunker that parses the whole text for its structure."""

    _own_fill = USUAL_FILL
    _own: ClassVar[dict[str, Any]] = {}
    _defaults = TextChunker._defaults | {"isolated": False}

    def __init__(
        self,
        language: str,
        encoding: TokenCounter | str,
        chunk_size: ChunkSize,
        chunk_overlap: int,
        options: TextOptions,
        *,
        isolated: bool = False,
    ) -> None:
        own: dict[str, Any] = {**self._own, **options}
        self._language, self._isolated = language, checked_flag(isolated, "isolated")
        # Fails now if the parser is missing, or the language is unknown.
        self._structure_names = parse("", language).names
        super().__init__(encoding, chunk_size, chunk_overlap, **own)

    def _chunk_at_once(self, text: str) -> list[Chunk] | None:
        """Cut a text in one run of a kernel, which mostly is all; None: by other rules."""
        rules = self._rules
        if not asks_few(rules):
            return None
        finder = self._finder_once(text, rules)
        run = finder.next_chunks(0, 0, len(text), 0)
        made, end = ([], 0) if run is None else ([*run], run.last[1])
        if end < len(text):
            made += ChunkStream(rules, end, len(made)).chunks(finder, 0, len(text), final=True)
        return made

    def _chunk_parts(self, parts: Iterable[str]) -> Iterator[Chunk]:
        return self._chunks_of_whole(parts)

    def _cut_apart(
        self, text: str, rules: Rules, barriers: Barriers, whole: ChunkFinder | None
    ) -> Iterator[list[Chunk]]:
        """Yield the chunks of each stretch between barriers, by the structure of the whole text."""
        finder = self._finder(text, rules) if whole is None else whole
        return cut_each(barriers.stretches(text, finder.outline), finder.within, rules)

    def _finder_once(self, text: str, rules: Rules) -> ChunkFinder:
        outline, counter = self._outline(text), counter_for(text, self._encoding, rules)
        return ChunkFinder(text, counter, rules, outline, encoding=self._encoding)

    @property
    def isolated(self) -> bool:
        """Whether the parser runs in another process."""
        return self._isolated

    def _apart(self) -> Self:
        """Return a copy with `isolated`."""
        twin = copy.copy(self)
        twin._isolated = True
        return twin

    def _options(self) -> dict[str, Any]:
        return super()._options() | {"isolated": self._isolated}

    def _outline(self, text: str) -> Outline:
        return Outline(structure_of(text, self._language, isolated=self._isolated))


class MarkdownChunker(_StructureChunker):
    r"""Chunks of a Markdown document that follow its headings and blocks.

    Sections, tables, lists, fenced code, block quotes and the like stay whole if they fit the
    budget. Each chunk has the headings of the sections that it begins in.

    Args:
        encoding, chunk_size, chunk_overlap, boundary, strip, min_fill: as for `TextChunker`.
        levels, lines: as for `TextChunker`, inside blocks.
        balance, stable, template, count_text, also_fits, line_numbers: as for `TextChunker`.
        never_across: also "heading 1", or "heading 2" for headings of levels 1 and 2, and so on, or
            "block"; and as for `TokenChunker`, but by the structure of the whole text.
        isolated: parse in another process, which is reused: see `CodeChunker`.

    Raises:
        ImportError: `pyromark` is not installed: pip install 'cutline[markdown]'.

    >>> chunker = MarkdownChunker("o200k_base", 12)
    >>> text = "# Fish\n\nOne, two.\n\n## Red\n\nA red fish.\n\n## Blue\n\nA blue fish.\n"
    >>> [(chunk.headings, chunk.text[:8]) for chunk in chunker(text)]
    [(('Fish',), '# Fish\n\n'), (('Fish', 'Red'), '## Red\n\n'), (('Fish', 'Blue'), '## Blue\n')]
    """

    def __init__(
        self,
        encoding: TokenCounter | str,
        chunk_size: ChunkSize = 512,
        chunk_overlap: int = 0,
        *,
        isolated: bool = False,
        **options: Unpack[TextOptions],
    ) -> None:
        super().__init__(
            COMMONMARK, encoding, chunk_size, chunk_overlap, options, isolated=isolated
        )

    def _chunk_like(self, text: str, parsed: str) -> list[Chunk]:
        """Cut a text by the structure of another one that is as long."""
        finder = ChunkFinder(
            text, self._encoding.intervals(text), self._rules, self._outline(parsed),
            encoding=self._encoding,
        )  # fmt: skip
        return list(ChunkStream(self._rules).chunks(finder, 0, len(text), final=True))


class CodeChunker(_StructureChunker):
    r"""Chunks of source code that follow its definitions.

    Functions, methods and classes stay whole if they fit the budget, with their comments.
    Each chunk has the definitions that it begins in, as `headings`.

    Args:
        language: such as "python"; `code_languages()` lists them.
        encoding, chunk_size, chunk_overlap, boundary, strip, min_fill: as for `TextChunker`.
        levels, lines: as for `TextChunker`, inside statements; by default, lines are kept.
        balance, stable, template, count_text, also_fits, line_numbers: as for `TextChunker`.
        never_across: also "definition", "member" or "statement"; and as for `MarkdownChunker`.
        isolated: parse in another process, which is reused, with limits on memory and time.
            Grammars come from many authors, and some documents crash one, or keep it busy for
            hours; in this process that ends or blocks the program. In another process only
            that text loses its structure: an `UnparsedWarning` says so, and "unparsed" in its
            chunks' metadata. The command line and the functions for Arrow, Spark and Ray use
            it.

    Raises:
        ValueError: no such language.
        ImportError: tree-sitter, or the language's grammar, is not installed: pip install
            'cutline[code]'.

    >>> chunker = CodeChunker("python", "o200k_base", 12, line_numbers=True)
    >>> text = "def rip():\n    return 1\n\n\ndef cope():\n    return 2\n"
    >>> [(chunk.metadata["start_line"], chunk.metadata["end_line"]) for chunk in chunker(text)]
    [(1, 4), (5, 6)]
    """

    _own: ClassVar[dict[str, Any]] = {"levels": _CODE_LEVELS, "lines": "keep"}
    _defaults = _StructureChunker._defaults | _own

    def __init__(
        self,
        language: str,
        encoding: TokenCounter | str,
        chunk_size: ChunkSize = 512,
        chunk_overlap: int = 0,
        *,
        isolated: bool = False,
        **options: Unpack[TextOptions],
    ) -> None:
        _need_first("language", language, "python")
        super().__init__(language, encoding, chunk_size, chunk_overlap, options, isolated=isolated)

    def _first(self) -> tuple[str, ...]:
        return (self.language,)

    @property
    def language(self) -> str:
        """The programming language."""
        return self._language


class DataChunker(_StructureChunker):
    r"""Chunks of HTML, other markup, tables, JSON, mail and the like, between their parts.

    Records, elements, messages, events, cues, turns of speakers and hunks stay whole if they fit
    the budget; offsets are those of the source. A chunk's headings are the titles of the sections
    that it begins in; the keys around its first element in JSON; the subject of a message; the name
    of an event or contact; commit, path and function in a diff; and the speaker in a transcript,
    unless his turn begins with the chunk.

    Args:
        data_format: "csv", "tsv" or "psv" (whose first record is a header); "json" or "jsonl",
            also for several values one after another; "transcript", for subtitles (SRT,
            WebVTT), too; "email", for messages and mailboxes (mbox); "icalendar" or "vcard";
            "diff", for patches and `git log -p`; "html", "rst" (reStructuredText), "org",
            "asciidoc" or "latex". Their levels are in docs/chunking.md, "Data".
        encoding, chunk_size, chunk_overlap, boundary, strip, min_fill: as for `TextChunker`.
        levels, lines: as for `TextChunker`, inside records; by default, lines are kept, but not
            in reStructuredText, Org, AsciiDoc, LaTeX and mail, whose prose is wrapped.
        balance, stable, template, count_text, also_fits, line_numbers: as for `TextChunker`.
        never_across: also a level of the format, such as "record", "turn" or in markup "heading
            1"; and as for `MarkdownChunker`.

    Raises:
        ValueError: no such format.

    >>> chunker = DataChunker("jsonl", "o200k_base", 16)
    >>> text = '{"id": 1, "name": "Rip saw"}\n{"id": 2, "name": "Coping saw"}\n'
    >>> [chunk.text for chunk in chunker(text)]
    ['{"id": 1, "name": "Rip saw"}\n', '{"id": 2, "name": "Coping saw"}\n']
    """

    def __init__(
        self,
        data_format: str,
        encoding: TokenCounter | str,
        chunk_size: ChunkSize = 512,
        chunk_overlap: int = 0,
        **options: Unpack[TextOptions],
    ) -> None:
        _need_first("data_format", data_format, "csv")
        options = {"lines": _lines_of(data_format), **options}
        super().__init__(f"{DATA}{data_format}", encoding, chunk_size, chunk_overlap, options)

    def _first(self) -> tuple[str, ...]:
        return (self.data_format,)

    def _usual(self) -> dict[str, Any]:
        return super()._usual() | {"lines": _lines_of(self.data_format)}

    def _apart(self) -> Self:
        """Return the chunker: its parsers are part of this package."""
        return self

    @property
    def data_format(self) -> str:
        """The format of the data."""
        return self._language.removeprefix(DATA)


def _lines_of(data_format: str) -> Lines:
    """Return what `lines` is by default."""
    return "auto" if data_format in _WRAPPED else "keep"


def _need_first(argument: str, name: object, example: str) -> None:
    """Refuse an encoding in place of the argument that comes before it."""
    got = type(name).__name__
    if isinstance(name, str):
        if name not in list_encoding_names():
            return
        got = f"the encoding {name!r}"
    raise TypeError(f"{argument} comes first, such as {example!r}, then the encoding: got {got}")
