"""`Chunker`: what all chunkers share; the same constructor arguments and the same guarantee."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast

from cutline.checks import list_of_texts, need_no_table, plain_text, text_ends
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_run import ChunkRun, each_chunk
from cutline.chunking.chunk_stream import ChunkStream, chunk_parts, window_finder
from cutline.chunking.cutting_apart import cut_at_places
from cutline.chunking.file_parts import file_parts
from cutline.chunking.line_numbers import with_lines
from cutline.chunking.never_across import Barriers, NeverAcross
from cutline.chunking.outline import PLAIN, Outline
from cutline.chunking.plain_finder import asks_few
from cutline.chunking.rules import CountText, Rules
from cutline.chunking.stretch import Stretch
from cutline.chunking.text_blocks import MOST_AT_ONCE, CutBlock, block_size, cuts_stretches
from cutline.chunks import Chunk, ChunkSize, size_for
from cutline.protocols import TokenCounter
from cutline.registry import name_standing_for, token_counter_of
from cutline.threads import cut_into_blocks, map_threads

if TYPE_CHECKING:
    from cutline.counting.limits import AlsoFits, Limit, Measure
    from cutline.template import Template

__all__ = ["USUAL_FILL", "Chunker"]

USUAL_FILL: Final = 0.5
"""The share of its size that a chunk should have at least."""


class Chunker:
    """Base class of all chunkers; for annotations and `isinstance`, not to be made itself.

    For every chunk of every text: `text[chunk.start_index:chunk.end_index] == chunk.text`, and
    `chunk.text` encodes to `chunk.token_count` tokens, at most `chunk_size`, and fits the limits
    of `also_fits`. Without overlap or stripping the chunks joined are the text; with stripping
    only white space is missing.

    Chunkers are equal if their classes and options are, and their encodings have the same names
    and the same tokens; they can be keys of a dict. `repr` shows what is not as by default, and
    makes the chunker again where names stand for its encodings.

    >>> from cutline import TextChunker
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
    _own_fill: ClassVar[float] = USUAL_FILL

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
        return USUAL_FILL if stable else self._own_fill

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

        >>> from cutline import TokenChunker
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

        >>> from cutline import Template, TokenChunker
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
        chunks = self._chunk_at_once(text)
        if chunks is None:
            chunks = list(self._cut(text, self._rules))
        return self._numbered(text, chunks)

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
        ends = text_ends(texts)
        cut_block = self._block_cutter()
        blocks = cut_into_blocks(ends, block_size(cut_block))
        found = map_threads(partial(self._chunk_block, texts, cut_block), blocks, num_threads)
        return [chunks for part in found for chunks in part]

    def _chunk_at_once(self, text: str) -> list[Chunk] | None:
        """Cut a text as a block of one, which a kernel does while it counts; None: by a finder."""
        if len(text) > MOST_AT_ONCE or not asks_few(self._rules):
            return None
        cut_block = self._block_cutter()
        return None if cut_block is None else cut_block([text])[0]

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
            return each_chunk(self._chunk_parts(file_parts(source)))
        if isinstance(source, str | bytes) or not isinstance(source, Iterable):
            got = "one str" if isinstance(source, str) else type(source).__name__
            raise TypeError(
                f"source must be parts of a text or a Path, got {got}: use chunk for a text, and "
                "Path(...) for a file"
            )
        need_no_table(source, "source")
        return each_chunk(self._chunk_parts(source))

    def _chunk_parts(self, parts: Iterable[str]) -> Iterator[Chunk | ChunkRun]:
        """Yield the chunks of a text that comes in parts; many at a time where that is faster."""
        if self._rules.never_across is not None:
            return self._chunks_of_whole(parts)
        return chunk_parts(parts, self._encoding, self._rules)

    def _chunks_of_whole(self, parts: Iterable[str]) -> Iterator[Chunk]:
        try:
            text = "".join(parts)
        except TypeError as error:
            raise TypeError(f"source must be parts of a text, which are str: {error}") from None
        yield from self.chunk(text)

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
