"""Chooses the chunker for a file by the command's options."""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import click

from cutline.cli.cutting import Cutting
from cutline.cli.decoding import InputError, TextReader
from cutline.cli.failure import Failure, Notes, message_of
from cutline.cli.inputs import Watch, shown_name
from cutline.cli.records import Rows
from cutline.cli.sending import need_fields, with_file, with_record
from cutline.cli.sizes import family

if TYPE_CHECKING:
    from cutline import Chunk, Encoding
    from cutline.chunking import Chunker, Node
    from cutline.chunking.chunk_run import ChunkRun
    from cutline.cli.rows import Found
    from cutline.template import Template
    from cutline.training.rows import Row

__all__ = ["Chunkers"]

# Chunkers that can stream, and the most tokens or bytes that one character can have.
_STREAMED: Final = frozenset({"token", "text"})
_ALWAYS_FITS: Final = 4
_NO_CODE: Final = ("text", "markdown", "notebook")
_TEMPLATES_KEPT: Final = 16
_RECORD: Final = "record"  # in a chunk's metadata: the other columns of its row


class Chunkers:
    """Chooses and keeps chunkers.

    Args:
        encoding: counts tokens.
        cutting: the options.
        sizes: the maximum number of tokens at each level, falling; none: one level, of the
            options' size.
        of_rows: the template may have the columns of a row.
        carry: the columns of rows that chunks carry; none: all of them.

    Raises:
        Failure: there is no such chunker: an extra is missing, or a language is unknown.
        click.UsageError: there is no such chunk size for this encoding, or no such field; or the
            language of rows is not said.
    """

    def __init__(
        self,
        encoding: "Encoding",
        cutting: Cutting,
        sizes: tuple[int, ...] = (),
        *,
        of_rows: bool = False,
        carry: Sequence[str] = (),
    ) -> None:
        if not of_rows:
            need_fields(cutting.template)
        elif cutting.by == "code" and cutting.language is None:
            raise click.UsageError(
                "--column with --by code needs --language, such as --language python: rows have no "
                "names"
            )
        self._encoding = encoding
        self._sizes = sizes
        self._cutting = cutting = cutting.sized_for(encoding)
        self.chunk_size = int(cutting.chunk_size)
        self._made: dict[str, Chunker] = {}
        self._notes = Notes()
        self._carry = carry
        self._unseen = dict.fromkeys(carry)
        self._has_rows = False
        # Rows are rendered one by one, those of a file together.
        self.template_for = lru_cache(maxsize=_TEMPLATES_KEPT)(self._template_of)
        if cutting.by != "code" or cutting.language is not None:
            try:
                self._for_file("")
            except (ImportError, InputError) as error:
                raise Failure(str(error)) from error

    def text_of(self, name: str, content: bytes, reader: TextReader) -> str:
        """Return the text of a file that is cut: that of a notebook is Markdown.

        Raises:
            InputError: it cannot be read, or is no notebook.
        """
        text = reader.text(content)
        if self._kind_of(name) != "notebook":
            return text
        from cutline import notebook_text

        try:
            return notebook_text(text)
        except ValueError as error:
            raise InputError(str(error)) from error

    def chunk(self, name: str, text: str) -> list["Chunk"]:
        """Cut the text of a file; if its parser fails, at lines, with a note.

        Raises:
            CutlineError: it cannot be cut, or its language is not known.
        """
        chunks = self._cut(self.chunker_of(name), text)
        if chunks:
            self._note_unparsed(name, chunks[0])
        return chunks

    def levels(self, name: str, text: str) -> "list[list[Node]]":
        """Cut the text of a file at several sizes, as `chunk` does.

        Raises:
            CutlineError: as `chunk`.
        """
        from cutline.chunking import HierarchicalChunker

        levels = HierarchicalChunker(self.chunker_of(name), self._sizes).chunk(text)
        if levels[0]:
            self._note_unparsed(name, levels[0][0].chunk)
        return levels

    def _note_unparsed(self, name: str, first: "Chunk") -> None:
        if problem := first.metadata.get("unparsed"):
            self._notes.add(f"{shown_name(name)}: cut at lines: {problem}")

    def _cut(self, chunker: "Chunker", text: str) -> list["Chunk"]:
        return [*family(chunker, self._sizes, text)] if self._sizes else chunker.chunk(text)

    def chunker_of(self, name: str) -> "Chunker":
        """Return the chunker of a file, with the name in its template.

        Raises:
            InputError: its language is not known, or its parser is not available.
        """
        return self._filled(self._for_file(name), name)

    def carried_from(self, name: str) -> frozenset[str] | None:
        """Return the columns of a file's rows that are carried, with those of the template.

        None: all of them.
        """
        template = self.template_for(name)
        if not self._carry:
            return None
        return frozenset([*self._carry, *(() if template is None else template.missing)])

    def note_unseen(self) -> None:
        """Note each column of --carry that no row had: the name may be misspelt."""
        for name in self._unseen if self._has_rows else ():
            self._notes.add(f"--carry {shown_name(name)}: no row has this column")

    def render(self, name: str, chunk: "Chunk") -> str:
        """Return what is sent for a chunk of a file: its text, unless there is a template."""
        template = self.template_for(name)
        if template is None:
            return chunk.text
        return with_record(template, chunk.metadata.get(_RECORD, {})).render(chunk)

    def _template_of(self, name: str) -> "Template | None":
        return with_file(self._cutting.template, name)

    def _filled(self, chunker: "Chunker", name: str) -> "Chunker":
        """Return the chunker for a file, whose name its template may have."""
        template = self.template_for(name)
        return chunker if chunker.template == template else chunker.with_template(template)

    def stream(self, name: str, path: Path, watch: Watch, reader: TextReader) -> "Found":
        """Cut a large file, as `chunk` does; if possible as a stream.

        Args:
            name: the file's name.
            path: its path.
            watch: is told how many bytes were read.
            reader: reads it.

        Raises:
            CutlineError: it is not UTF-8, or cannot be cut; before the first chunk.
            Failure: it cannot be read to its end, or becomes shorter meanwhile.
        """
        least = min([self.chunk_size, *self._cutting.also_fits.values()])
        if (template := self.template_for(name)) is not None:
            sent = "".join(template.frame(()))
            least -= 2 * self._encoding.count(sent) + template.special_tokens_of(self._encoding)
        is_streamed = self._kind_of(name) in _STREAMED and least >= _ALWAYS_FITS
        is_streamed = is_streamed and self._cutting.never_across is None and not self._sizes
        if not (is_streamed and reader.reads_blocks(path)):
            return self.chunk(name, self.text_of(name, path.read_bytes(), reader))
        # What is not UTF-8 has no chunks at all.
        missing_bytes = sum(len(block) for block in reader.utf8_blocks(path))

        def parts() -> Iterator[str]:
            nonlocal missing_bytes
            for block in reader.utf8_blocks(path):
                yield block.decode()
                watch.advance(len(block))
                missing_bytes -= len(block)
            if missing_bytes > 0:
                raise InputError("the file became shorter while it was read")

        found = self.chunker_of(name)._chunk_parts(parts())
        first = list(islice(found, 1))

        def every() -> Iterator["Chunk | ChunkRun"]:
            yield from first
            try:
                yield from found
            except (OSError, InputError) as error:
                raise Failure(f"{shown_name(name)}: {message_of(error)}") from error

        return every()

    def chunk_rows(self, name: str, rows: Rows) -> Iterator["Chunk"]:
        """Cut the text of each row, with its number and its other columns in the metadata.

        Raises:
            InputError: the chunker is not known; or rows failed, and no other has a chunk.
        """
        found = self._chunks_of_rows(self._filled(self._for_file(""), name), rows)
        first = list(islice(found, 1))
        if rows.n_failed and not first:
            raise InputError("no row has a chunk")
        return chain(first, found)

    def _chunks_of_rows(self, chunker: "Chunker", rows: Rows) -> Iterator["Chunk"]:
        for row, chunks in rows.map(partial(self._cut_rows, chunker)):
            self._has_rows = True
            for column in [name for name in self._unseen if name in row.others]:
                del self._unseen[column]
            carried = {"row": row.number, _RECORD: row.others}
            for piece in chunks:
                yield piece.__replace__(metadata={**piece.metadata, **carried})

    def _cut_rows(
        self, chunker: "Chunker", rows: "Sequence[Row]", *, num_threads: int
    ) -> "list[list[Chunk]]":
        """Cut the text of each row; fields of the template are its other columns."""
        template = chunker.template
        if template is not None and not template.missing:
            template = None  # it is the same for all rows
        if template is None and not self._sizes:
            return chunker.chunk_batch([row.text for row in rows], num_threads=num_threads)
        from cutline.threads import CUT_CHARACTERS, map_sized

        def cut(row: "Row") -> "list[Chunk]":
            if template is None:
                return self._cut(chunker, row.text)
            return self._cut(chunker.with_template(with_record(template, row.others)), row.text)

        return map_sized(cut, rows, lambda row: len(row.text), num_threads, CUT_CHARACTERS)

    def _for_file(self, name: str) -> "Chunker":
        """Return the chunker of a file.

        Raises:
            InputError: its language is not known, or its parser is not available.
        """
        kind = self._kind_of(name)
        if kind not in self._made:
            try:
                self._made[kind] = self._make(kind)
            except (ImportError, ValueError) as error:
                if self._cutting.by != "auto" or kind == "text":
                    raise InputError(str(error)) from error
                what = "Markdown" if kind in _NO_CODE else "code"
                self._notes.add(f"{what} is cut as text: {error}")
                self._made[kind] = self._for_file("")
        return self._made[kind]

    def _kind_of(self, name: str) -> str:
        by, language = self._cutting.by, self._cutting.language
        if by not in ("auto", "code"):
            return by
        if language is not None:
            return language
        from cutline.chunking.by_name import kind_of

        kind = kind_of(name)
        if by == "code" and (kind in _NO_CODE or kind.startswith("data/")):
            raise InputError(
                f"its language is not known from its name, {PurePath(name).name!r}: "
                "pass --language, such as --language python"
            )
        return kind

    def _make(self, kind: str) -> "Chunker":
        from cutline.chunking import CodeChunker, TokenChunker, chunker_for

        keywords = self._cutting.keywords
        if self._cutting.by == "auto" and not self._knows_barrier(kind):
            del keywords["never_across"]
        if kind == "token":
            return TokenChunker(self._encoding, **keywords)
        if kind == "text" or kind.startswith("data/"):
            return chunker_for(kind, self._encoding, **keywords)
        if kind in _NO_CODE:
            return chunker_for(kind, self._encoding, isolated=True, **keywords)
        # Any language, also one that no file's name tells.
        return CodeChunker(kind, self._encoding, isolated=True, **keywords)

    def _knows_barrier(self, kind: str) -> bool:
        """Return whether files of a kind can have what --never-across names."""
        from cutline.chunking.never_across import barrier_names
        from cutline.chunking.parsing import COMMONMARK, parse

        barrier = self._cutting.never_across
        if barrier is None:
            return True
        language = COMMONMARK if kind in ("markdown", "notebook") else kind
        return barrier in barrier_names(() if kind == "text" else parse("", language).names)
