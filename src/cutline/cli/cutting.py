"""The options that say how texts are cut, and the values that they have together."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Self

import click
from click.core import ParameterSource

from cutline.cli.options import also_fits, complete_languages
from cutline.cli.sending import Command, make_template, sent_options, with_options

if TYPE_CHECKING:
    from cutline import Encoding
    from cutline.chunks import ChunkSize
    from cutline.template import Template

__all__ = [
    "BARRIERS",
    "Cutting",
    "chunk_size_of",
    "chunking_options",
    "grid_options",
    "size_for",
]

BARRIERS: Final = (
    *(f"heading {level}" for level in range(1, 7)),
    *("block", "item", "nested item", "gap", "row"),
    *("definition", "member", "statement", "record", "field", "element"),
    *("commit", "file", "hunk"),
    *("message", "part", "inner part"),
    *("calendar", "component", "inner component", "property"),
    *(f"inner {depth}" for depth in range(1, 7)),
    *("turn", "cue", "page", "paragraph", "entry", "line", "sentence"),
)


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
        return make_template(self.pattern, self.prefix, self.with_headings)

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
        sent = self.template is not None
        return replace(self, chunk_size=size_for(encoding, self.chunk_size, sent=sent))

    @property
    def keywords(self) -> dict[str, Any]:
        """Keyword arguments for chunkers, besides the encoding and options that were not given."""
        names = "chunk_size boundary lines strip min_fill balance stable template line_numbers"
        chosen = {name: getattr(self, name) for name in (*names.split(), "never_across")}
        chosen["chunk_overlap"] = self.overlap
        chosen["also_fits"] = self.also_fits or None
        return {name: value for name, value in chosen.items() if value is not None}


def chunk_size_of(ctx: click.Context, param: click.Parameter, value: str) -> "ChunkSize":
    """Convert what --chunk-size got: a number of tokens, or "model"."""
    if value == "model":
        return "model"
    try:
        int(value)
    except ValueError:
        why = f"{value!r} is neither a number of tokens nor `model`"
        raise click.BadParameter(why, ctx, param) from None
    size: int = click.IntRange(min=1)(value, param, ctx)
    return size


def size_for(encoding: "Encoding", chunk_size: "ChunkSize", *, sent: bool) -> int:
    """Return a chunk size as a number; see `chunks.size_for`.

    Raises:
        click.UsageError: it is "model", whose limit is not known or leaves no room.
    """
    from cutline import chunks

    try:
        return chunks.size_for(encoding, chunk_size, sent)
    except ValueError as error:
        raise click.UsageError(str(error).replace("chunk_size=", "--chunk-size ")) from error


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
        callback=chunk_size_of,
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
        callback=_several(lambda value, param, ctx: chunk_size_of(ctx, param, value)),
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
_OTHERS = [
    click.option(
        "--language",
        metavar="NAME",
        shell_complete=complete_languages,
        help="With --by code, such as python.  [default: by the file's name]",
    ),
    *sent_options,
    also_fits,
    click.option(
        "--never-across",
        metavar="NAME",
        type=click.Choice(BARRIERS),
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
    return with_options(wrapped, [*_SIZES, *_OTHERS])  # type: ignore[no-any-return]


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
    return with_options(wrapped, [*_GRID, *_OTHERS])  # type: ignore[no-any-return]
