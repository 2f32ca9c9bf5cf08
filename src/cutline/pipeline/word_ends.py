"""`MarkingPipeline`: an encoding whose tokens say that they end a piece, such as CLIP's.

Normalized text is split here, and each piece gets a blank at its end, by which the kernel splits
it once more. What pieces do not have, white space mostly, is gone by then.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.scan.scan import scan_pieces
from cutline.kernels.words.splitting import mark_ends
from cutline.normalizing import Traced
from cutline.pipeline.pipeline import Pipeline
from cutline.spec import AddedToken, TokenizerSpec
from cutline.tables import build_scan_tables

__all__ = ["MARKED_PATTERN", "MarkingPipeline"]

MARKED_PATTERN: Final = "[^ ]+ "
"""Splits what a `MarkingPipeline` has marked."""


class MarkingPipeline(Pipeline):
    """Marks the ends of pieces.

    Args:
        spec: the tokenizer; it marks word ends.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(spec)
        self._scan_tables = build_scan_tables(spec.pat_str)

    def __reduce__(self) -> tuple[type["MarkingPipeline"], tuple[TokenizerSpec]]:
        return MarkingPipeline, (self.spec,)

    def pieces(
        self, text: str, allowed: frozenset[str], *, at_start: bool = True
    ) -> Iterator[str | AddedToken]:
        """Cut a text into added tokens and the marked text between them; see `Pipeline`."""
        for piece in super().pieces(text, allowed, at_start=at_start):
            yield piece if isinstance(piece, AddedToken) else self.mark(piece)

    def mark(self, text: str) -> str:
        """Return the pieces of normalized text, each with a blank at its end."""
        return mark_ends(self._scan_tables, _utf8(text)).decode()

    def trace_marks(self, traced: Traced) -> Traced:
        """Mark a traced text: a mark came from the last character of its piece."""
        utf8 = _utf8(traced.text)
        starts, ends, _ = scan_pieces(self._scan_tables, utf8)
        character = _characters(utf8)
        firsts, lengths = character[starts], character[ends] - character[starts]
        at = np.arange(int(lengths.sum()) + len(lengths))  # in the marked text
        shifts = firsts - (np.cumsum(lengths + 1) - lengths - 1)
        places = at + np.repeat(shifts, lengths + 1)
        places = np.minimum(places, np.repeat(firsts + lengths - 1, lengths + 1))
        return Traced(self.mark(traced.text), traced.spans[places])


def _utf8(text: str) -> bytes:
    """Encode a text; lone surrogates become U+FFFD, as everywhere."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _characters(utf8: bytes) -> NDArray[np.int64]:
    """Return for each byte of a text, and its end, how many characters begin before it."""
    begins = (np.frombuffer(utf8, dtype=np.uint8) & 0xC0) != 0x80
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(begins, dtype=np.int64)])
