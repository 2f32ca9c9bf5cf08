"""The chunkers: the same constructor arguments and the same guarantee."""

from __future__ import annotations

import copy
import os
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypedDict, cast

from cutline.checks import checked_flag, list_of_texts, need_texts, plain_text
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_run import ChunkRun, each_chunk
from cutline.chunking.chunk_stream import ChunkStream, chunk_parts, window_finder
from cutline.chunking.cutting_apart import cut_at_places, cut_each
from cutline.chunking.level_choice import LevelLike, level_as_given, make_levels
from cutline.chunking.levels import Lines
from cutline.chunking.line_numbers import with_lines
from cutline.chunking.never_across import Barriers, NeverAcross, make_barriers
from cutline.chunking.outline import PLAIN, Outline
from cutline.chunking.parsing import COMMONMARK, DATA, parse, structure_of
from cutline.chunking.rules import CountText, Rules
from cutline.chunking.stretch import Stretch
from cutline.chunking.text_blocks import (
    CutBlock,
    block_size,
    cuts_at_breaks,
    cuts_by_tokens,
    cuts_stretches,
)
from cutline.chunks import Chunk, ChunkSize, size_for
from cutline.encoding import Encoding
from cutline.protocols import TokenCounter
from cutline.registry import name_standing_for, token_counter_of
from cutline.threads import cut_into_blocks, map_threads
from cutline.vocabulary import list_encoding_names

if TYPE_CHECKING:
    from typing import Unpack

    from cutline.counting.limits import AlsoFits, Limit, Measure
    from cutline.template import Template

__all__ = [
    "Chunker",
    "CodeChunker",
    "DataChunker",
    "MarkdownChunker",
    "TextChunker",
    "TextOptions",
    "TokenChunker",
]

_TEXT_LEVELS: Final = ("paragraph", "entry", "line", "sentence", "phrase", "word")
_CODE_LEVELS: Final = ("paragraph", "line", "phrase", "word")
_USUAL_FILL: Final = 0.5
_TEXT_FILL: Final = 0.25  # keeps more paragraphs whole
_WRAPPED: Final = ("asciidoc", "org", "rst")  # formats of prose that editors wrap
_READ_BYTES: Final = 1 << 20


class TextOptions(TypedDict, total=False):
    """The options of `TextChunker` that chunkers of structured documents pass on to it."""

    levels: Sequence[LevelLike]
    boundary: str
    lines: Lines
    strip: bool
    min_fill: float | None
    balance: bool
    stable: bool
    template: Template | None
    count_text: CountText | None
    also_fits: AlsoFits
    never_across: NeverAcross
    line_numbers: bool


class Chunker:
    """Base class of all chunkers; for annotations and `isinstance`, not to be made itself.

    For every chunk of every text: `text[chunk.start_index:chunk.end_index] == chunk.text`, and
    `chunk.text` encodes to `chunk.token_count` tokens, at most `chunk_size`, and fits the limits
    of `also_fits`. Without overlap or stripping the chunks joined are the text; with stripping
    only white space is missing.

    Chunkers are equal if their classes and options are, and their encodings have the same names
    and the same tokens; they can be keys of a dict. `repr` shows what is not as by default, and
    makes the chunker again where names stand for its encodings.

    >>> chunker = TextChunker("o200k_base", 256, lines="keep", min_fill=0.25)
    >>> chunker
    TextChunker('o200k_base', chunk_size=256, lines='keep')
    >>> eval(repr(chunker)) == chunker
    True
    """

    # What an option is by default; `min_fill` depends on others.
    _defaults: ClassVar[dict[str, Any]] = {
        **{"chunk_overlap": 0, "boundary": "character", "strip": False, "balance": False},
        **{"stable": False, "template": None, "count_text": None, "also_fits": {}},
        **{"never_across": None, "line_numbers": False},
    }
    _own_fill: ClassVar[float] = _USUAL_FILL

    def __init__(
        self,
        encoding: TokenCounter | str,
        chunk_size: ChunkSize,
        *,
        min_fill: float | None,
        stable: bool,
        template: Template | None,
        also_fits: AlsoFits,
        **rules: Any,
    ) -> None:
        self._encoding = counter = token_counter_of(encoding)
        self._rules = Rules(
            chunk_size=size_for(counter, chunk_size, template is not None),
            min_fill=self._usual_fill(stable) if min_fill is None else min_fill,
            stable=stable, template=template, also_fits=_limits(also_fits), **rules,
        )  # fmt: skip

    def _usual_fill(self, stable: bool) -> float:
        """Return what `min_fill` is by default."""
        return _USUAL_FILL if stable else self._own_fill

    def _usual(self) -> dict[str, Any]:
        """Return what each option is by default."""
        return self._defaults | {"min_fill": self._usual_fill(self._rules.stable)}

    @property
    def encoding(self) -> TokenCounter:
        """The encoding or wrapped tokenizer."""
        return self._encoding

    @property
    def chunk_size(self) -> int:
        """The maximum number of tokens of a chunk."""
        return self._rules.chunk_size

    @property
    def chunk_overlap(self) -> int:
        """The maximum number of tokens that a chunk shares with the one before."""
        return self._rules.chunk_overlap

    @property
    def also_fits(self) -> dict[Measure, int]:
        """The further limits that each chunk fits, by encoding, wrapped tokenizer or unit."""
        return dict(self._rules.also_fits)

    @property
    def never_across(self) -> NeverAcross:
        """What no chunk crosses, as it was given, or None."""
        barriers = self._rules.never_across
        return None if barriers is None else barriers.given

    @property
    def count_text(self) -> CountText | None:
        """The function that counts what is sent for a chunk; None means its own tokens."""
        return self._rules.count_text

    def with_count_text(self, count_text: CountText | None) -> Self:
        """Return a copy with another `count_text`.

        >>> chunker = TokenChunker("o200k_base", 4)
        >>> framed = chunker.with_count_text(lambda chunk: chunk.token_count + 2)
        >>> [chunk.text for chunk in framed("one two three four")]
        ['one two', ' three four']
        """
        return self._with(count_text=count_text)

    @property
    def template(self) -> Template | None:
        """What is sent for a chunk; None means its text alone."""
        return self._rules.template

    def with_template(self, template: Template | None) -> Self:
        """Return a copy with another template, such as one filled for a document.

        >>> from cutline import Template
        >>> chunker = TokenChunker("o200k_base", 8, template=Template("{title}: {text}"))
        >>> titled = chunker.with_template(chunker.template.fill(title="Counting"))
        >>> [titled.template.render(chunk) for chunk in titled("one two three four five six seven")]
        ['Counting: one two three four five six', 'Counting:  seven']
        """
        return self._with(template=template)

    def _with(self, **changes: object) -> Self:
        twin = copy.copy(self)
        twin._rules = self._rules.replaced(**changes)
        return twin

    def _apart(self) -> Self:
        """Return a copy whose parser, if it has one, runs in another process.

        A document that crashes the parser then loses its structure, and does not end this process.
        """
        return self

    def _key(self) -> dict[str, Any]:
        """Return what decides whether two chunkers of a class are equal."""
        from cutline.counting.limits import measure_key

        limits = frozenset((measure_key(unit), most) for unit, most in self._rules.also_fits)
        rules = vars(self._rules) | {"also_fits": limits}
        return vars(self) | {"_encoding": measure_key(self._encoding), "_rules": rules}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._encoding.name, self.chunk_size, self.chunk_overlap))

    def _first(self) -> tuple[str, ...]:
        """Return the constructor's arguments before the encoding."""
        return ()

    def _options(self) -> dict[str, Any]:
        """Return the constructor's further arguments, by name, those not given included."""
        rules = self._rules
        return {
            "chunk_size": rules.chunk_size,
            "chunk_overlap": rules.chunk_overlap,
            "boundary": rules.boundary,
            "strip": rules.strip,
            "min_fill": rules.min_fill,
            "balance": rules.balance,
            "stable": rules.stable,
            "template": rules.template,
            "count_text": rules.count_text,
            "also_fits": {_Named(measure): most for measure, most in rules.also_fits},
            "never_across": self.never_across,
            "line_numbers": rules.line_numbers,
        }

    def __repr__(self) -> str:
        defaults, options = self._usual(), self._options().items()
        shown = [
            *map(repr, [*self._first(), _Named(self._encoding)]),
            *(f"{name}={value!r}" for name, value in options if value != defaults.get(name, ...)),
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def chunk(self, text: str) -> list[Chunk]:
        """Cut a text into chunks; an empty text has none.

        Raises:
            BudgetError: (a ValueError) a character alone has more tokens than `chunk_size`
                (possible only below 4), or is over a limit of `also_fits`; or `template` or
                `count_text` leaves no room for one.
            ValueError: the template has a field of the document without a value.
            SurrogateError: (a ValueError) the text has surrogate code points.
            UnsupportedPatternError: the encoding's split pattern runs on the `regex` module.

        Cost: linear in the text; with `also_fits`, that of each tokenizer.
        """
        text = plain_text(text)
        return self._numbered(text, list(self._cut(text, self._rules)))

    __call__ = chunk

    def chunk_batch(self, texts: Sequence[str], *, num_threads: int = 8) -> list[list[Chunk]]:
        """Cut many texts, in threads.

        Raises:
            TypeError: a text is not a str; names its place, before any is cut.
            BudgetError, SurrogateError: as `chunk`; a note names the text's place.

        Cost: that of `chunk`, or less for many short texts. Threads release the GIL for blocks of
        texts where the rules are plain: without structure, stripping, and what is sent.
        Source: docs/encoding.md, "Threads".
        """
        texts = list_of_texts(texts)
        need_texts(texts)
        cut_block = self._block_cutter()
        blocks = cut_into_blocks(list(accumulate(map(str.__len__, texts))), block_size(cut_block))
        found = map_threads(partial(self._chunk_block, texts, cut_block), blocks, num_threads)
        return [chunks for part in found for chunks in part]

    def _block_cutter(self) -> CutBlock | None:
        """Return what cuts blocks of texts as `chunk` does, but for line numbers; or None."""
        return None

    def _chunk_block(
        self, texts: list[str], cut_block: CutBlock | None, block: range
    ) -> list[list[Chunk]]:
        """Cut texts at some places: together those that can be, the others one by one."""
        part = texts[block.start : block.stop]
        found = self._chunk_together(part, cut_block)
        if None not in found:
            return cast("list[list[Chunk]]", found)
        return [
            self._chunk_numbered(place, text) if chunks is None else chunks
            for place, text, chunks in zip(block, part, found, strict=True)
        ]

    def _chunk_together(
        self, texts: list[str], cut_block: CutBlock | None
    ) -> list[list[Chunk] | None]:
        """Return the chunks of each text; None: that must be cut on its own."""
        # A text that makes a block has no need of others.
        if cut_block is None or len(texts) < 2 or {*map(type, texts)} != {str}:
            return [None] * len(texts)
        found = cut_block(texts)
        if not self._rules.line_numbers:
            return found
        return [
            None if chunks is None else self._numbered(text, chunks)
            for text, chunks in zip(texts, found, strict=True)
        ]

    def _chunk_numbered(self, place: int, text: str) -> list[Chunk]:
        try:
            return self.chunk(text)
        except (TypeError, ValueError) as error:
            error.add_note(f"in the text at place {place} of the batch")
            raise

    def _numbered(self, text: str, chunks: list[Chunk]) -> list[Chunk]:
        """Put line numbers into a text's chunks, if they are asked for."""
        return with_lines(text, chunks) if self._rules.line_numbers else chunks

    def iter_chunks(self, source: Iterable[str] | os.PathLike[str]) -> Iterator[Chunk]:
        """Yield the chunks of a text that comes in parts, or of a file, equal to those of `chunk`.

        A chunk comes when about two of them have been read, or an eighth of a long text; with
        `never_across`, or where a text has a structure, the whole text is read first.

        Args:
            source: parts of one text, such as the output of a model, or a file opened with
                `newline=""`, without which offsets are not those of its content; or the path
                of a file in UTF-8, whose line ends are kept.

        Raises:
            OSError: the file cannot be read.
            UnicodeDecodeError: (a ValueError) it is not UTF-8; its message names the file, and the
                byte's offset in it.
            TypeError, BudgetError, SurrogateError: as `chunk`.
        """
        if isinstance(source, os.PathLike):
            return each_chunk(self._chunk_parts(_file_parts(source)))
        if isinstance(source, str | bytes) or not isinstance(source, Iterable):
            got = "one str" if isinstance(source, str) else type(source).__name__
            raise TypeError(
                f"source must be parts of a text or a Path, got {got}: use chunk for a text, and "
                "Path(...) for a file"
            )
        return each_chunk(self._chunk_parts(source))

    def _chunk_parts(self, parts: Iterable[str]) -> Iterator[Chunk | ChunkRun]:
        """Yield the chunks of a text that comes in parts; many at a time where that is faster."""
        if self._rules.never_across is not None:
            return self._chunks_of_whole(parts)
        return chunk_parts(parts, self._encoding, self._rules)

    def _chunks_of_whole(self, parts: Iterable[str]) -> Iterator[Chunk]:
        yield from self.chunk("".join(parts))

    def _cut(self, text: str, rules: Rules, whole: ChunkFinder | None = None) -> Iterator[Chunk]:
        """Yield the chunks of a text by some rules.

        Args:
            text: the text.
            rules: those of this chunker, or of another size.
            whole: a finder for the text by these rules, if there is one.
        """
        if rules.never_across is not None:
            return chain.from_iterable(self._cut_apart(text, rules, rules.never_across, whole))
        finder = self._finder_once(text, rules) if whole is None else whole
        return ChunkStream(rules).chunks(finder, 0, len(text), final=True)

    def _cut_apart(
        self, text: str, rules: Rules, barriers: Barriers, whole: ChunkFinder | None
    ) -> Iterator[list[Chunk]]:
        """Yield the chunks of stretches between barriers: each is a text of its own."""

        def finder_of(stretch: Stretch) -> tuple[ChunkFinder, int]:
            start, end, end_name = stretch
            part = text[start:end]
            return window_finder(part, self._encoding, rules, start, end_name), start

        cut, places = cuts_stretches(self._encoding, rules), barriers.places(text, PLAIN)
        return cut_at_places(text, places, barriers.name, finder_of, rules, cut)

    def _finder_once(self, text: str, rules: Rules) -> ChunkFinder:
        """Return what cuts a text once."""
        return window_finder(text, self._encoding, rules, 0)

    def _finder(self, text: str, rules: Rules) -> ChunkFinder:
        """Return what cuts a text again and again, by some rules."""
        outline, counter = self._outline(text), self._encoding.intervals(text)
        return ChunkFinder(text, counter, rules, outline, encoding=self._encoding)

    def _outline(self, text: str) -> Outline:
        """Return the structure of a text: plain."""
        return PLAIN


class _WrongByteError(UnicodeDecodeError):
    """Of a file that is read in blocks: `start` is an offset in one, the message has the file's."""

    message = ""

    def __str__(self) -> str:
        return self.message


def _file_parts(path: os.PathLike[str]) -> Iterator[str]:
    decoder = getincrementaldecoder("utf-8")()
    n_bytes = 0
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 (loads pathlib)
        while True:
            block = file.read(_READ_BYTES)
            n_bytes += len(block)
            try:
                part = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                wrong = _WrongByteError(*error.args)
                offset = n_bytes - len(error.object) + error.start
                wrong.message = (
                    f"{os.fspath(path)}: invalid utf-8 at byte offset {offset} (byte "
                    f"{error.object[error.start]:#04x}: {error.reason}); pass parts decoded as you "
                    "like, such as open(..., errors='replace', newline='')"
                )
                raise wrong from None
            if part:
                yield part
            if not block:
                return


def _need_first(argument: str, name: object, example: str) -> None:
    """Refuse an encoding in place of the argument that comes before it."""
    got = type(name).__name__
    if isinstance(name, str):
        if name not in list_encoding_names():
            return
        got = f"the encoding {name!r}"
    raise TypeError(f"{argument} comes first, such as {example!r}, then the encoding: got {got}")


class _Named:
    """A token counter or unit, shown by its name where that stands for it."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure

    def __repr__(self) -> str:
        return repr(name_standing_for(self._measure) or self._measure)


def _limits(also_fits: AlsoFits) -> tuple[Limit, ...]:
    if not also_fits:
        return ()
    from cutline.counting.limits import further_limits

    return further_limits(also_fits, least=1)


class TokenChunker(Chunker):
    r"""Chunks as long as the budget allows, cut between any two characters.

    Args:
        encoding: an `Encoding`; the name of a packaged one, or, with a slash, of a model on the
            Hugging Face Hub (see `cutline.from_pretrained`); or a tokenizer wrapped by
            `cutline.wrap`.
        chunk_size: maximum number of tokens of a chunk, overlap included. "model": what the
            model reads (`Encoding.max_tokens`), less the special tokens of its template.
        chunk_overlap: maximum number of tokens that a chunk shares with the one before.
        boundary: "character", or "grapheme" to keep joined emoji and letters with their
            accents whole, unless one alone has more than chunk_size tokens.
        strip: remove white space at both ends of each chunk; it is not counted.
        balance: even out the last two chunks if the last is filled less than `min_fill`.
        min_fill: the share of chunk_size that the last chunk should have, and with `stable`
            each chunk. The default is a half.
        stable: choose cuts between min_fill and chunk_size by the text around them: after an
            edit, chunks that are not near it stay the same.
        template: what is sent for a chunk, with headings, a prompt and the like: a
            `cutline.Template`. It has at most chunk_size tokens, special tokens included; "model"
            is then all that the model reads.
        count_text: returns the tokens that are really sent for a `Chunk`, where no template says
            what. At most chunk_size, too.
        also_fits: further limits that each chunk's text fits at once: maximum numbers of tokens
            by encoding, name or wrapped tokenizer, and of "characters" or "bytes". Overlap and
            `min_fill` are counted by `encoding`; where another limit ends a chunk sooner, the
            share is that of the longest text that fits. What the template makes of it fits, too.
        never_across: what no chunk and no overlap crosses; each stretch between is cut as if it
            were the whole text. "page" (ended by a form feed), "paragraph", "entry", "line" or
            "sentence"; offsets in code points, such as the starts of pages; a compiled regular
            expression, at the ends of its matches; or a function from a text to offsets in it.
        line_numbers: put "start_line" and "end_line" into the metadata of each chunk: the lines
            of its first and its last character, from 1, as editors count them.

    Raises:
        UnknownEncodingError: (a ValueError) no encoding has this name.
        HubError: (an OSError) the model of this name cannot be fetched.
        ValueError, TypeError: an option is out of range; or the model's limit is not known.

    >>> chunker = TokenChunker("o200k_base", 4, 1)
    >>> [chunk.text for chunk in chunker("Measure twice, cut once.")]
    ['Measure twice, cut', ' cut once.']
    >>> chunker = TokenChunker("o200k_base", 4, also_fits={"gpt2": 100, "bytes": 15})
    >>> [chunk.text for chunk in chunker("Measure twice, cut once.")]
    ['Measure twice, ', 'cut once.']
    >>> chunker = TokenChunker("o200k_base", 12, never_across="page")
    >>> [chunk.text for chunk in chunker("Measure twice.\fCut once.")]
    ['Measure twice.\x0c', 'Cut once.']
    """

    def __init__(
        self,
        encoding: TokenCounter | str,
        chunk_size: ChunkSize = 512,
        chunk_overlap: int = 0,
        *,
        boundary: str = "character",
        strip: bool = False,
        min_fill: float | None = None,
        balance: bool = False,
        stable: bool = False,
        template: Template | None = None,
        count_text: CountText | None = None,
        also_fits: AlsoFits = None,
        never_across: NeverAcross = None,
        line_numbers: bool = False,
    ) -> None:
        super().__init__(
            encoding, chunk_size, chunk_overlap=chunk_overlap, levels=make_levels((), boundary),
            strip=strip, min_fill=min_fill, balance=balance, stable=stable, template=template,
            count_text=count_text, also_fits=also_fits, line_numbers=line_numbers,
            never_across=make_barriers(never_across, (), "auto"),
        )  # fmt: skip

    @property
    def _is_bare(self) -> bool:
        """Whether no option but sizes and further limits decides where to cut."""
        rules = self._rules
        is_apart = rules.never_across is not None
        is_changed = rules.stable or rules.line_numbers or is_apart
        return len(rules.levels) == 1 and rules.is_plain and not is_changed

    @property
    def _is_plain(self) -> bool:
        """Whether the result is that of the encoding's `split`."""
        return self._is_bare and not self._rules.also_fits

    def chunk(self, text: str) -> list[Chunk]:
        """Cut a text into chunks: see `Chunker.chunk`."""
        if self._is_plain:
            return self._encoding.split(text, self.chunk_size, self.chunk_overlap)
        encoding = self._encoding
        if self._is_bare and self.chunk_overlap and isinstance(encoding, Encoding):
            return encoding.split(
                text, self.chunk_size, self.chunk_overlap, also_fits=self.also_fits
            )
        return super().chunk(text)

    __call__ = chunk

    def _block_cutter(self) -> CutBlock | None:
        if type(self) is not TokenChunker:  # a subclass may cut differently
            return None
        cutter_by = cuts_by_tokens if self._is_plain else cuts_at_breaks
        return cutter_by(self._encoding, self._rules)


class TextChunker(Chunker):
    r"""Chunks that end at paragraphs, lines, sentences, phrases or words.

    A chunk ends at the last boundary of the best level that fits the budget and fills at least
    `min_fill` of it.

    Args:
        encoding, chunk_size, chunk_overlap, boundary, strip: as for `TokenChunker`.
        balance, stable, template, count_text, also_fits, never_across, line_numbers: as for
            `TokenChunker`.
        levels: the kinds of boundaries, the best first: names ("paragraph", "entry", "line",
            "sentence", "phrase", "word"), compiled regular expressions, whose matches end at
            boundaries, or functions from a text to offsets in it. Graphemes and characters are
            always included.
        lines: which line ends only wrap the text, so that no chunk or sentence ends there for
            them. "auto": where lines are as long as the next word allows, and no record or
            sentence ends. "keep": none, each line is whole; "join": all within a paragraph.
        min_fill: the share of chunk_size that a cut must reach, or else a finer level is tried:
            0 keeps paragraphs whole wherever one fits, 1 fills chunks. The default is a
            quarter, with `stable` a half.

    >>> chunker = TextChunker("o200k_base", 12)
    >>> text = "One fish, two fish. Red fish, blue fish.\n\nBlack fish."
    >>> [(chunk.text, chunk.metadata["boundary"]) for chunk in chunker(text)]
    [('One fish, two fish. Red fish, blue fish.\n\n', 'paragraph'), ('Black fish.', 'end')]
    >>> text = "One fish, two\nfish. Red fish,\nblue fish."
    >>> [chunk.text for chunk in TextChunker("o200k_base", 9)(text)]
    ['One fish, two\n', 'fish. Red fish,\nblue fish.']
    >>> [chunk.text for chunk in TextChunker("o200k_base", 9, lines="join")(text)]
    ['One fish, two\nfish. ', 'Red fish,\nblue fish.']
    """

    _own_fill = _TEXT_FILL
    _structure_names: tuple[str, ...] = ()
    _defaults = Chunker._defaults | {
        **{"levels": _TEXT_LEVELS, "boundary": "grapheme", "lines": "auto"},
    }

    def __init__(
        self,
        encoding: TokenCounter | str,
        chunk_size: ChunkSize = 512,
        chunk_overlap: int = 0,
        *,
        levels: Sequence[LevelLike] = _TEXT_LEVELS,
        boundary: str = "grapheme",
        lines: Lines = "auto",
        strip: bool = False,
        min_fill: float | None = None,
        balance: bool = False,
        stable: bool = False,
        template: Template | None = None,
        count_text: CountText | None = None,
        also_fits: AlsoFits = None,
        never_across: NeverAcross = None,
        line_numbers: bool = False,
    ) -> None:
        super().__init__(
            encoding, chunk_size, chunk_overlap=chunk_overlap,
            levels=make_levels(levels, boundary, lines),
            strip=strip, min_fill=min_fill, balance=balance, stable=stable, template=template,
            count_text=count_text, also_fits=also_fits, line_numbers=line_numbers,
            never_across=make_barriers(never_across, self._structure_names, lines),
        )  # fmt: skip
        self._lines: Lines = plain_text(lines)  # type: ignore[assignment]  # `make_levels` checked

    @property
    def lines(self) -> Lines:
        """Which line ends only wrap the text."""
        return self._lines

    def _block_cutter(self) -> CutBlock | None:
        if type(self) is not TextChunker:
            return None
        return cuts_at_breaks(self._encoding, self._rules)

    def _options(self) -> dict[str, Any]:
        found = super()._options()
        levels = self._rules.chosen_levels
        found["levels"] = tuple(level_as_given(level, self._lines) for level in levels)
        return found | {"lines": self._lines}


class _StructureChunker(TextChunker):
    """A chunker that parses the whole text for its structure."""

    _own_fill = _USUAL_FILL
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

    def _chunk_parts(self, parts: Iterable[str]) -> Iterator[Chunk]:
        return self._chunks_of_whole(parts)

    def _cut_apart(
        self, text: str, rules: Rules, barriers: Barriers, whole: ChunkFinder | None
    ) -> Iterator[list[Chunk]]:
        """Yield the chunks of each stretch between barriers, by the structure of the whole text."""
        finder = self._finder(text, rules) if whole is None else whole
        return cut_each(barriers.stretches(text, finder.outline), finder.within, rules)

    def _finder_once(self, text: str, rules: Rules) -> ChunkFinder:
        return self._finder(text, rules)

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
    r"""Chunks of HTML, other markup, tables, JSON and transcripts, between blocks or records.

    Records, elements, cues and turns of speakers stay whole if they fit the budget; offsets are
    those of the source. A chunk's headings are the titles of the sections that it begins in; the
    keys around its first element in JSON; and the speaker in a transcript, unless his turn begins
    with the chunk.

    Args:
        data_format: "csv", "tsv" or "psv" (whose first record is a header); "json" or "jsonl",
            also for several values one after another; "transcript", for subtitles (SRT,
            WebVTT), too; "html", "rst" (reStructuredText), "org" or "asciidoc". Their levels are
            in docs/chunking.md, "Data".
        encoding, chunk_size, chunk_overlap, boundary, strip, min_fill: as for `TextChunker`.
        levels, lines: as for `TextChunker`, inside records; by default, lines are kept, but not
            in reStructuredText, Org and AsciiDoc, whose prose is wrapped.
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
