"""`MarkingPipeline`: an encoding whose tokens say that they end a piece, such as CLIP's.

Or that they begin one, or whose ByteLevel puts a blank before each piece. Normalized text is split
here, and each piece gets a blank at its end, or start, by which the kernel splits it once more.
What pieces do not have, white space mostly, is gone by then. In a model over characters, a stand-in
is written for each character that is no token where it is.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cutline.checks import without_surrogates
from cutline.kernels.words.splitting import mark_pieces
from cutline.normalizing import Traced
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.sure_pieces import SurePieces
from cutline.pretokenize.splitting import Splitting, split_edges
from cutline.spec import LED_PIECE, AddedToken, TokenizerSpec
from cutline.tables import WHOLE_TEXT_PATTERN
from cutline.text_encoder import TextEncoder

__all__ = ["MarkingPipeline", "marked_pattern"]


def marked_pattern(spec: TokenizerSpec) -> str:
    """Return what splits marked text; a stand-in may be where a blank was."""
    if spec.led_pat_str:
        return spec.led_pat_str
    return LED_PIECE if spec.marks_word_starts else "[^ ]+ ?"


class _Unknown:
    """Writes the stand-in of a model over characters for unknown ones in marked text.

    An unknown character beside the mark of its piece takes it with it. The stand-in merges with
    nothing, so that what follows it may be in the same piece.

    Args:
        spec: the tokenizer.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        assert spec.characters is not None
        meanings, first_inner = spec.characters.meanings, spec.characters.first_inner
        inside, marked, self._stand_in = [], [], ""
        rows = zip(spec.vocabulary.tokens(), spec.vocabulary.ids.tolist(), strict=True)
        for token, token_id in rows:
            if token_id >= first_inner:
                continue
            text = token.decode()
            if token_id in meanings:
                self._stand_in = text
            elif len(text) == 1:
                inside.append(text)
            elif len(text) == 2 and " " in text:
                marked.append(text.replace(" ", ""))
        unknown, beside = _other_than(inside), _other_than(marked)
        self._inside = re.compile(unknown)
        self._found = re.compile(
            f" {beside}|(?<! ){unknown}" if spec.marks_word_starts else f"{unknown}(?! )|{beside} "
        )

    def apply(self, marked: str) -> str:
        return self._found.sub(self._stand_in, marked)

    def inside(self, letters: str) -> str:
        """Write stand-ins in a part of a piece without a mark beside it."""
        return self._inside.sub(self._stand_in, letters)

    def trace(self, marked: Traced) -> Traced:
        begins = np.ones(len(marked.text), dtype=np.bool_)
        for found in self._found.finditer(marked.text):
            begins[found.start() + 1 : found.end()] = False
        starts = np.flatnonzero(begins)
        return marked.rewritten(self.apply(marked.text), starts, np.ones_like(starts))


def _other_than(characters: list[str]) -> str:
    """Write a pattern for a character other than a blank and some others."""
    return f"[^ {re.escape(''.join(characters))}]"


class MarkingPipeline(Pipeline):
    """Marks the ends of pieces, or their starts.

    Args:
        spec: the tokenizer; it marks one of them.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(spec)
        pieces = Splitting(spec.pat_str or WHOLE_TEXT_PATTERN, "removed", inverted=True)
        self._splittings = spec.splittings or (pieces,)
        self._unknown = None if spec.characters is None else _Unknown(spec)

    def __reduce__(self) -> tuple[type["MarkingPipeline"], tuple[TokenizerSpec]]:
        return MarkingPipeline, (self.spec,)

    def _pieces_of_section(
        self, text: str, counts: Callable[[AddedToken], bool], place: int, at_start: bool
    ) -> Iterator[str | AddedToken]:
        """Cut what is between two added tokens into others and the marked text between them."""
        for piece in super()._pieces_of_section(text, counts, place, at_start):
            yield piece if isinstance(piece, AddedToken) else self.mark(piece)

    def count_between(self, encoder: TextEncoder, text: str) -> int:
        """See `Pipeline`."""
        return encoder._count_normalized(self.mark(text))

    def mark(self, text: str) -> str:
        """Return the pieces of normalized text, each with its blank."""
        utf8 = without_surrogates(text).encode()
        return self._mark(utf8, split_edges(self._splittings, utf8))

    def _mark(self, utf8: bytes, edges: NDArray[np.int64]) -> str:
        marked = mark_pieces(utf8, edges, self.spec.marks_word_starts).decode()
        return marked if self._unknown is None else self._unknown.apply(marked)

    def unfinished(self, text: str) -> str:
        """Return normalized text as it is marked where it begins a piece that goes on after it."""
        if self.spec.marks_word_starts:
            text = f" {text}"
            return text if self._unknown is None else self._unknown.apply(text)
        return text if self._unknown is None else self._unknown.inside(text)

    @cached_property
    def sure_pieces(self) -> SurePieces:
        """See `Pipeline`."""
        return SurePieces(self._splittings, self._count_marked, self.unfinished)

    def _count_marked(self, encoder: TextEncoder, utf8: bytes, edges: NDArray[np.int64]) -> int:
        """Count the tokens of pieces, given by their starts and ends in turn."""
        return encoder._count_normalized(self._mark(utf8, edges))

    def trace_marks(self, traced: Traced) -> Traced:
        """Mark a traced text: a mark came from the character beside it."""
        utf8 = without_surrogates(traced.text).encode()
        edges = split_edges(self._splittings, utf8)
        begun = _characters(utf8)[edges]
        firsts, lengths = begun[::2], begun[1::2] - begun[::2]
        at = np.arange(int(lengths.sum()) + len(lengths))  # in the marked text
        shifts = firsts - (np.cumsum(lengths + 1) - lengths - 1)
        places = at + np.repeat(shifts, lengths + 1)
        if self.spec.marks_word_starts:
            places = np.maximum(places - 1, np.repeat(firsts, lengths + 1))
        else:
            places = np.minimum(places, np.repeat(firsts + lengths - 1, lengths + 1))
        written = mark_pieces(utf8, edges, self.spec.marks_word_starts).decode()
        marked = Traced(written, traced.spans[places])
        return marked if self._unknown is None else self._unknown.trace(marked)


def _characters(utf8: bytes) -> NDArray[np.int64]:
    """Return for each byte of a text, and its end, how many characters begin before it."""
    begins = (np.frombuffer(utf8, dtype=np.uint8) & 0xC0) != 0x80
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(begins, dtype=np.int64)])
