"""Dictionary words by ICU, for scripts without spaces between words."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from typing import Final

from cutline.chunking.levels import Level
from cutline.extras import need
from cutline.kernels.breaks.breaks import keep_graphemes

__all__ = ["DictionaryWordLevel"]

_FIRST_WINDOW: Final = 40  # characters
_WIDER: Final = 4
_LOOK_AHEAD: Final = 32


class DictionaryWordLevel(Level):
    """Boundaries of words by ICU.

    ICU has dictionaries for Chinese, Japanese, Thai, Lao, Khmer and Burmese, whose content
    depends on its version. Otherwise like `WordLevel`.

    Raises:
        ImportError: `icu4py` is not installed: pip install 'cutline[icu]'.
    """

    name = "dictionary word"

    def __init__(self) -> None:
        self._breaker = need("icu4py.breakers", "the level of dictionary words", "icu").WordBreaker

    def find(self, text: str, start: int, end: int, limit: int) -> Iterable[int]:
        """List boundaries of words: see `Level`."""
        return keep_graphemes(text, start, self._places(text, start, end), True)

    def _places(self, text: str, begin: int, end: int) -> list[int]:
        """Return ICU's boundaries in text[begin:end], for a text that begins at `begin`."""
        words = self._breaker(text[begin : end + _LOOK_AHEAD], "en")
        places = accumulate(map(len, words), initial=begin)
        return [*takewhile(end.__ge__, places)][1:]

    def last(self, text: str, start: int, after: int, until: int) -> int:
        """Find the last boundary: see `Level`. Cost: linear in the distance to it."""
        width, searched = _FIRST_WINDOW, until + 1
        while True:
            begin = until - width
            if begin - start < width:
                begin = start  # a second search would cost more
            found = self._places(text, begin, until)
            near = [place for place in found if max(begin, after) < place < searched]
            for place in reversed(near):
                if keep_graphemes(text, start, (place,), True):
                    return place
            if begin <= after:
                return -1
            # A wider window rejects what a narrower one rejected.
            searched = begin + 1
            width *= _WIDER

    def every(self, text: str, start: int, after: int, until: int) -> Sequence[int]:
        """List all boundaries: see `Level`."""
        found = self._places(text, max(start, after - _FIRST_WINDOW), until)
        return keep_graphemes(text, start, [place for place in found if place > after], True)
