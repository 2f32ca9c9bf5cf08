"""Chooses the chunker for a file by the command's options."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial, wraps
from itertools import islice, product
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click
from click.core import ParameterSource

from cutline.cli.decoding import InputError, TextReader
from cutline.cli.failure import Failure, message_of
from cutline.cli.inputs import Watch, shown_name
from cutline.cli.options import also_fits, complete_languages
from cutline.cli.records import Rows
from cutline.cli.sizes import family

if TYPE_CHECKING:
    from cutline import Chunk, Encoding
    from cutline.chunking import Chunker, Node
    from cutline.chunking.chunk_run import ChunkRun
    from cutline.chunks import ChunkSize
    from cutline.cli.rows import Found
    from cutline.template import Template
    from cutline.training.rows import Row

__all__ = ["Chunkers", "Cutting", "chunking_options", "grid_options"]

Command = TypeVar("Command", bound=Callable[..., Any])

# Chunkers that can stream, and the most tokens or bytes that one character can have.
_STREAMED = frozenset({"token", "text"})
_ALWAYS_FITS = 4
_NO_CODE = ("text", "markdown", "notebook")
_TEMPLATES_KEPT = 16
_BARRIERS = (
    *(f"heading {level}" for level in range(1, 7)),
    *("block", "item", "nested item", "gap", "row"),
    *("definition", "member", "statement", "record", "field", "element"),
    *(f"inner {depth}" for depth in range(1, 7)),
    *("turn", "cue", "page", "paragraph", "entry", "line", "sentence"),
)
_FILE = "file"  # the field of a template that is the file's name
_RECORD = "record"  # in a chunk's metadata: the other columns of its row


@dataclass(frozen=True)
class Cutting:
    """How texts are cut: the values of `chunking_options`."""

    by: str
    language: str | None
    chunk_size: "ChunkSize"
    overlap: int
    boundary: str | None
    lines: str | None
    strip: bool
    min_fill: float | None
    balance: bool
    stable: bool
    line_numbers: bool
    also_fits: "dict[str | Encoding, int]"
    never_across: str | None
    pattern: str | None
    prefix: str | None
    with_headings: bool

    def __post_init__(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            click.UsageError: two options contradict each other.
        """
        if isinstance(self.chunk_size, int) and self.overlap >= self.chunk_size:
            raise click.UsageError(
                f"--overlap {self.overlap} must be smaller than --chunk-size {self.chunk_size}"
            )
        if self.language is not None and self.by != "code":
            raise click.UsageError("--language needs --by code")
        if self.lines is not None and self.by == "token":
            raise click.UsageError("--lines needs --by text, markdown, code or auto")
        self.template  # noqa: B018 (refuses a wrong one now)

    @cached_property
    def template(self) -> "Template | None":
        """What is sent for a chunk; None: its text alone.

        Raises:
            click.UsageError: --template is wrong.
        """
        return _template(self.pattern, self.prefix, self.with_headings)

    def with_sizes(self, sizes: tuple[int, ...]) -> Self:
        """Return the options for the largest chunks of several sizes.

        Raises:
            click.UsageError: an option contradicts --sizes.
        """
        source = click.get_current_context().get_parameter_source("chunk_size")
        if source is not ParameterSource.DEFAULT:
            raise click.UsageError("--sizes and --chunk-size are both given: leave one out")
        if self.overlap or self.strip:
            raise click.UsageError(
                "--sizes needs chunks that make up the text: leave out --overlap and --strip"
            )
        return replace(self, chunk_size=sizes[0])

    def sized_for(self, encoding: "Encoding") -> Self:
        """Return a copy whose chunk size is a number.

        Raises:
            click.UsageError: it is "model", whose limit is not known or leaves no room.
        """
        from cutline.chunks import size_for

        try:
            sent = self.template is not None
            return replace(self, chunk_size=size_for(encoding, self.chunk_size, sent))
        except ValueError as error:
            raise click.UsageError(str(error).replace("chunk_size=", "--chunk-size ")) from error

    @property
    def keywords(self) -> dict[str, Any]:
        """Keyword arguments for chunkers, besides the encoding and options that were not given."""
        names = "chunk_size boundary lines strip min_fill balance stable template line_numbers"
        chosen = {name: getattr(self, name) for name in (*names.split(), "never_across")}
        chosen["chunk_overlap"] = self.overlap
        chosen["also_fits"] = self.also_fits or None
        return {name: value for name, value in chosen.items() if value is not None}


class Chunkers:
    """Chooses and keeps chunkers.

    Args:
        encoding: counts tokens.
        cutting: the options.
        sizes: the maximum number of tokens at each level, falling; none: one level, of the
            options' size.
        of_rows: the template may have the columns of a row.

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
    ) -> None:
        if not of_rows:
            _need_fields(cutting.template)
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
        self._noted: set[str] = set()
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
            self._note(f"{shown_name(name)}: cut at lines: {problem}")

    def _cut(self, chunker: "Chunker", text: str) -> list["Chunk"]:
        return [*family(chunker, self._sizes, text)] if self._sizes else chunker.chunk(text)

    def chunker_of(self, name: str) -> "Chunker":
        """Return the chunker of a file, with the name in its template.

        Raises:
            InputError: its language is not known, or its parser is not available.
        """
        return self._filled(self._for_file(name), name)

    def columns_with(self, name: str, carry: Sequence[str]) -> frozenset[str] | None:
        """Return the columns of rows that are carried: with some, those of the template, too.

        None: all of them.
        """
        template = self.template_for(name)
        if not carry:
            return None
        return frozenset([*carry, *(() if template is None else template.missing)])

    def render(self, name: str, chunk: "Chunk") -> str:
        """Return what is sent for a chunk of a file: its text, unless there is a template."""
        template = self.template_for(name)
        if template is None:
            return chunk.text
        return _of_row(template, chunk.metadata.get(_RECORD, {})).render(chunk)

    def _template_of(self, name: str) -> "Template | None":
        return with_file(self._cutting.template, name)

    def _filled(self, chunker: "Chunker", name: str) -> "Chunker":
        """Return the chunker for a file, whose name its template may have."""
        template = self.template_for(name)
        return chunker if chunker.template == template else chunker.with_template(template)

    def _note(self, what: str) -> None:
        """Write a note to standard error, once."""
        if what not in self._noted:
            self._noted.add(what)
            click.echo(f"cutline: {what}", err=True)

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
            InputError: the chunker is not known.
        """
        chunker = self._filled(self._for_file(""), name)
        for row, chunks in rows.map(partial(self._cut_rows, chunker)):
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
            return self._cut(chunker.with_template(_of_row(template, row.others)), row.text)

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
                self._note(f"{what} is cut as text: {error}")
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


def _of_row(template: "Template", record: "Mapping[str, Any]") -> "Template":
    """Fill the fields that have no value yet from the columns of a row.

    Raises:
        InputError: the row lacks one.
    """
    from cutline.template import meant

    for name in template.missing:
        if name not in record:
            raise InputError(
                f"--template has {{{name}}}, and the row no such column: besides the text it has "
                f"{', '.join(record) or 'none'}{meant(name, record)}"
            )
    return template.fill_from(record)


def _template(pattern: str | None, prefix: str | None, with_headings: bool) -> "Template | None":
    """Make the template that the options describe; None: the text alone is sent.

    Raises:
        click.UsageError: options contradict each other, or the pattern is wrong.
    """
    if pattern is not None and (prefix is not None or with_headings):
        raise click.UsageError("--template says all that is sent: leave out the other options")
    if pattern is None and prefix is None and not with_headings:
        return None
    from cutline.template import Template

    if pattern is not None:
        pattern = _unescaped(pattern)
    else:
        prefix = _unescaped(prefix or "").replace("{", "{{").replace("}", "}}")
        pattern = prefix + ("{headings}\n\n{text}" if with_headings else "{text}")
    try:
        return Template(pattern)
    except ValueError as error:
        raise click.UsageError(f"--template: {error}") from error


def _need_fields(template: "Template | None") -> None:
    """Refuse a template with a field that neither a chunk nor a file has.

    Raises:
        click.UsageError: it has one.
    """
    from cutline.template import OF_CHUNKS, meant

    known = (*OF_CHUNKS, _FILE)
    for name in template.missing if template is not None else ():
        if name not in known:
            raise click.UsageError(
                f"--template: there is no {{{name}}}: the fields are "
                f"{', '.join(f'{{{one}}}' for one in known)}, and with --column of `cutline "
                f"chunk` the other columns of a row{meant(name, known)}"
            )


def with_file(template: "Template | None", name: str) -> "Template | None":
    """Fill in a file's name, where a template has it."""
    if template is None or _FILE not in template.missing:
        return template
    return template.fill(file=shown_name(name))


def _unescaped(text: str) -> str:
    r"""Replace \n and \t, which are hard to type in a shell; two backslashes are one."""
    found = {"n": "\n", "t": "\t", "\\": "\\"}
    return re.sub(r"\\(.)", lambda match: found.get(match[1], match[0]), text)


def _chunk_size(ctx: click.Context, param: click.Parameter, value: str) -> "ChunkSize":
    """Convert what --chunk-size got: a number of tokens, or "model"."""
    if value == "model":
        return "model"
    size: int = click.IntRange(min=1)(value, param, ctx)
    return size


def _several(convert: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Make a callback that converts the parts of a value between commas; each counts once."""

    def converted(ctx: click.Context, param: click.Parameter, value: str) -> list[Any]:
        parts = [part.strip() for part in value.split(",")]
        return list(dict.fromkeys(convert(part, param, ctx) for part in parts))

    return converted


_OVERLAP = click.IntRange(min=0)
_KINDS = click.Choice(["auto", "token", "text", "markdown", "code"])
_SIZES = [
    click.option(
        "--by",
        type=_KINDS,
        default="auto",
        help="Where to cut: as suits the file, by its name; anywhere; at paragraphs, sentences, "
        "phrases or words; at Markdown blocks; or at functions and statements.",
    ),
    click.option(
        "--chunk-size",
        metavar="TOKENS",
        callback=_chunk_size,
        default="512",
        help="Maximum tokens of a chunk, overlap included; or `model`: what the model of "
        "--encoding reads, less its special tokens.",
    ),
    click.option(
        "--overlap",
        metavar="TOKENS",
        type=_OVERLAP,
        default=0,
        help="Maximum tokens that a chunk shares with the one before it.",
    ),
]
_GRID = [
    click.option(
        "--by",
        metavar="KIND,...",
        callback=_several(lambda value, param, ctx: _KINDS.convert(value, param, ctx)),
        default="auto",
        help="Where to cut, one or more of auto, token, text, markdown and code: see "
        "`cutline chunk`.",
    ),
    click.option(
        "--chunk-size",
        metavar="TOKENS,...",
        callback=_several(lambda value, param, ctx: _chunk_size(ctx, param, value)),
        default="128,256,512",
        help="Maximum tokens of a chunk, one or more numbers, or `model`.",
    ),
    click.option(
        "--overlap",
        metavar="TOKENS,...",
        callback=_several(lambda value, param, ctx: _OVERLAP.convert(value, param, ctx)),
        default="0",
        help="Maximum tokens that a chunk shares with the one before it, one or more numbers.",
    ),
]
_SENT = [
    click.option(
        "--template",
        "pattern",
        metavar="TEXT",
        help="What is sent for a chunk, such as 'passage: {headings}\\n\\n{text}', with {index} "
        "and {file}, and with --column the row's other columns: it has at most --chunk-size "
        "tokens, special tokens included.",
    ),
    click.option("--prefix", metavar="TEXT", help="The same: TEXT before each chunk."),
    click.option(
        "--with-headings", is_flag=True, help="The same: the headings, a blank line, and the text."
    ),
]
_OTHERS = [
    click.option(
        "--language",
        metavar="NAME",
        shell_complete=complete_languages,
        help="With --by code, such as python.  [default: by the file's name]",
    ),
    *_SENT,
    also_fits,
    click.option(
        "--never-across",
        metavar="NAME",
        type=click.Choice(_BARRIERS),
        help="No chunk crosses a `heading 1` (or `heading 2` or higher, and so on), a `page` (form "
        "feeds end them), a `record`, `turn`, `definition`, `paragraph`, `line` or `sentence`. "
        "Files that cannot have one are cut as usual, unless --by says what they are.",
    ),
    click.option(
        "--boundary",
        type=click.Choice(["character", "grapheme"]),
        help="What is never split: code points, or graphemes (user-perceived characters) that fit "
        "a chunk.  [default: character with --by token, else grapheme]",
    ),
    click.option(
        "--lines",
        type=click.Choice(["auto", "keep", "join"]),
        help="Which line ends only wrap the text: as it looks, none, or all within a paragraph.  "
        "[default: auto, for code keep]",
    ),
    click.option("--strip", is_flag=True, help="Remove white space at the ends of chunks."),
    click.option(
        "--min-fill",
        metavar="SHARE",
        type=click.FloatRange(0, 1),
        help="Share of --chunk-size that a cut must reach, or else a worse kind is tried; with "
        "--stable, that every chunk has.  [default: 0.25 for text, else 0.5]",
    ),
    click.option("--balance", is_flag=True, help="Even out the last two chunks."),
    click.option(
        "--stable",
        is_flag=True,
        help="Choose cuts by the text around them: an edit changes only the chunks near it.",
    ),
    click.option(
        "--line-numbers",
        is_flag=True,
        help="Say the lines of the file that a chunk is on, as start_line and end_line, from 1.",
    ),
]


def chunking_options(command: Command) -> Command:
    """Add the chunking options; the command gets them as `cutting`."""

    @wraps(command)
    def with_cutting(**values: Any) -> Any:
        names = Cutting.__dataclass_fields__
        cutting = Cutting(**{name: values.pop(name) for name in names})
        return command(cutting=cutting, **values)

    wrapped: Any = with_cutting
    return _with_options(wrapped, [*_SIZES, *_OTHERS])  # type: ignore[no-any-return]


def template_options(command: Command) -> Command:
    """Add the options of what is sent for a chunk; the command gets them as `template`."""

    @wraps(command)
    def with_template(
        pattern: str | None, prefix: str | None, with_headings: bool, **values: Any
    ) -> Any:
        template = _template(pattern, prefix, with_headings)
        _need_fields(template)
        return command(template=template, **values)

    wrapped: Any = with_template
    return _with_options(wrapped, _SENT)  # type: ignore[no-any-return]


def grid_options(command: Command) -> Command:
    """Add the chunking options, several values of some; the command gets all as `cuttings`."""

    @wraps(command)
    def with_cuttings(**values: Any) -> Any:
        several = [values.pop(name) for name in ("by", "chunk_size", "overlap")]
        others = {name: values.pop(name) for name in Cutting.__dataclass_fields__ if name in values}
        cuttings = [
            Cutting(by=by, chunk_size=size, overlap=overlap, **others)
            for by, overlap, size in product(several[0], several[2], several[1])
        ]
        return command(cuttings=cuttings, **values)

    wrapped: Any = with_cuttings
    return _with_options(wrapped, [*_GRID, *_OTHERS])  # type: ignore[no-any-return]


def _with_options(command: Command, options: list[Any]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
