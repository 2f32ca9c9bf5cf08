"""How much of a text is sure to have more tokens than a budget, whatever comes after it.

The pieces at its beginning stay as they are where no splitting reads as far as its end. What comes
after them is the beginning of one more piece, whose tokens reach no farther than if each began at
the end of the one before, or earlier. So this holds where splitting drops parts of texts, and where
pieces are marked, too. The proof: docs/tokenizers.md, "Pieces that are sure".
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.splitting import end_over_budget
from cutline.pretokenize.splitting import Splitting, edges_of_beginning
from cutline.text_encoder import TextEncoder

__all__ = ["SurePieces"]


class SurePieces:
    """Counts the tokens that a text has for sure.

    Args:
        splittings: split the text.
        count: counts the tokens of pieces, given by their starts and ends in turn.
        unfinished: writes the beginning of a piece as it is encoded.
    """

    def __init__(
        self,
        splittings: Sequence[Splitting],
        count: Callable[[TextEncoder, bytes, NDArray[np.int64]], int],
        unfinished: Callable[[str], str],
    ) -> None:
        self._splittings = splittings
        self._count = count
        self._unfinished = unfinished

    def end_over(self, encoder: TextEncoder, text: str, n: int) -> int | None:
        """Find a length such that each text has more than n tokens that begins with so much.

        Args:
            encoder: counts.
            text: nothing changes it any more; without added tokens.
            n: the budget.

        Returns:
            A number of characters, the least one or a little more; None: all of it may fit.

        Cost: linear in the text, some times.
        """
        found = self._last_that_counts(encoder, text, n)
        look = 1
        while found is not None and found + look < len(text):
            if self._last_that_counts(encoder, text[: found + look], n) is not None:
                return found + look
            look *= 2
        return None if found is None else len(text)

    def _last_that_counts(self, encoder: TextEncoder, text: str, n: int) -> int | None:
        """Return where the token ends that is over the budget, or more; None: none is."""
        utf8 = text.encode()
        edges = edges_of_beginning(self._splittings, utf8)
        before, start, end = edges[:-2], int(edges[-2]), int(edges[-1])
        tokens = self._count(encoder, utf8, before)
        if tokens <= n:
            begun = self._unfinished(utf8[start:end].decode())
            letters = begun.encode()
            reached = end_over_budget(encoder, letters, n - tokens)
            return (
                None if reached < 0 else _characters(utf8[:start]) + _characters(letters[:reached])
            )
        fits, over = 0, len(before) // 2
        while over - fits > 1:
            middle = (fits + over) // 2
            if self._count(encoder, utf8, before[: 2 * middle]) <= n:
                fits = middle
            else:
                over = middle
        return _characters(utf8[: before[2 * over - 1]])


def _characters(utf8: bytes) -> int:
    return len(utf8.decode(errors="ignore"))
