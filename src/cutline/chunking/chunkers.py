"""Chunkers of any text: at each character, or at the best break."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypedDict

from cutline.checks import plain_text
from cutline.chunking.chunker import Chunker
from cutline.chunking.level_choice import LevelLike, level_as_given, make_levels
from cutline.chunking.levels import Lines
from cutline.chunking.never_across import NeverAcross, make_barriers
from cutline.chunking.rules import CountText
from cutline.chunking.text_blocks import CutBlock, cuts_at_breaks, cuts_by_tokens
from cutline.chunks import Chunk, ChunkSize
from cutline.encoding import Encoding
from cutline.protocols import TokenCounter

if TYPE_CHECKING:
    from cutline.counting.limits import AlsoFits
    from cutline.template import Template

__all__ = ["TextChunker", "TextOptions", "TokenChunker"]

_TEXT_LEVELS: Final = ("paragraph", "entry", "line", "sentence", "phrase", "word")
_TEXT_FILL: Final = 0.25  # keeps more paragraphs whole


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
