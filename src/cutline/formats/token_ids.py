"""Tokens as text, with their ids: as arrays, because a vocabulary has up to a million."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.base.text_table import (
    TextTable,
    code_points_of,
    count_characters,
    take_texts,
)

__all__ = ["UTF8", "Texts", "TokenIds", "TokenScores"]

UTF8: Final = "surrogatepass"
"""How to encode and decode texts: JSON can write lone surrogates."""


class Texts:
    """Many texts, in one buffer.

    Args:
        arena: their UTF-8, joined; or any bytes, for `take` only.
        lengths: integers, shape (n,); the bytes of each.
        is_utf8: whether it is known to be valid UTF-8.

    Attributes:
        arena: as given.
        is_utf8: as given.
        lengths: int64, shape (n,).
        offsets: int64, shape (n + 1,); text k is `arena[offsets[k]:offsets[k + 1]]`.
    """

    def __init__(
        self, arena: bytes, lengths: NDArray[np.integer], *, is_utf8: bool = False
    ) -> None:
        self.arena = arena
        self.is_utf8 = is_utf8
        self.lengths: NDArray[np.int64] = lengths.astype(np.int64)
        self.offsets = _offsets(self.lengths)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Put texts into one buffer."""
        written = [text.encode(errors=UTF8) for text in texts]
        return cls(b"".join(written), np.fromiter(map(len, written), np.int64, len(written)))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, place: int) -> str:
        return self.bytes_of(place).decode(errors=UTF8)

    def __iter__(self) -> Iterator[str]:
        """Yield the texts. Cost: a tenth of looking each up."""
        joined = self.arena.decode(errors=UTF8)
        for start, end in pairwise(self.char_offsets.tolist()):
            yield joined[start:end]

    def bytes_of(self, place: int) -> bytes:
        """Return the bytes of a text."""
        return self.arena[int(self.offsets[place]) : int(self.offsets[place + 1])]

    def take(self, places: NDArray[np.int64]) -> "Texts":
        """Return some of the texts, in the order of their places. Cost: linear."""
        lengths = self.lengths[places]
        if len(places) == len(self) and bool((places[1:] > places[:-1]).all()):
            return self
        taken = take_texts(self.arena or b"\0", self.offsets, places)
        return Texts(taken, lengths, is_utf8=self.is_utf8)

    @cached_property
    def code_points(self) -> NDArray[np.uint32]:
        """The code points of all texts, joined."""
        if self.is_utf8:
            return code_points_of(self.arena)
        utf32 = self.arena.decode(errors=UTF8).encode("utf-32-le", UTF8)
        return np.frombuffer(utf32, dtype="<u4")

    @cached_property
    def char_offsets(self) -> NDArray[np.int64]:
        """Where the texts begin and end in `code_points`: int64, shape (n + 1,)."""
        return _offsets(self.char_lengths)

    @cached_property
    def char_lengths(self) -> NDArray[np.int64]:
        """The characters of each text: int64, shape (n,)."""
        if self.arena.isascii():
            return self.lengths
        return np.asarray(count_characters(self.arena, self.lengths))


class TokenScores(NamedTuple):
    """The tokens of Unigram, whose ids are their places, with their scores, float64."""

    texts: Texts
    scores: NDArray[np.float64]


class TokenIds:
    """Tokens as text, all different, with their ids; some of a mapping's methods.

    Attributes:
        texts: the tokens.
        numbers: int64, shape (n,); their ids.
    """

    def __init__(self, texts: Texts, numbers: NDArray[np.int64]) -> None:
        self.texts = texts
        self.numbers = numbers

    @classmethod
    def of(cls, ids: Mapping[str, int]) -> "TokenIds":
        """Make arrays of a mapping.

        Raises:
            OverflowError: an id is no int64.
        """
        return cls(Texts.of(ids), np.fromiter(ids.values(), np.int64, len(ids)))

    @cached_property
    def table(self) -> TextTable:
        """Finds a token."""
        return TextTable(self.texts.arena or b"\0", self.texts.offsets)

    def place(self, text: str) -> int:
        """Return the place of a token, or -1."""
        return self.table.find(text.encode(errors=UTF8))

    def places(self, texts: Texts) -> NDArray[np.int64]:
        """Return the place of each of many tokens: int64; -1 for those that are none."""
        return self.table.find_all(texts.arena or b"\0", texts.offsets)

    def get(self, text: str, default: int) -> int:
        """Return the id of a token, or else the default."""
        place = self.place(text)
        return default if place < 0 else int(self.numbers[place])

    def __getitem__(self, text: str) -> int:
        place = self.place(text)
        if place < 0:
            raise KeyError(text)
        return int(self.numbers[place])

    def __contains__(self, text: str) -> bool:
        return self.place(text) >= 0

    def __len__(self) -> int:
        return len(self.numbers)


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
