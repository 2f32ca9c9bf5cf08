"""Encodings that do all that a tokenizer does: added tokens, normal forms, blanks put before.

A text that none of this changes, whole or in slices, is what it is for an `Encoding`, so
everything is as fast. Other texts are encoded as changed, and counted in parts: slices.py.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from operator import index
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from cutline.chunks import Chunk
from cutline.encoding import Encoding
from cutline.errors import BudgetError, UnknownTokenError
from cutline.kernels.encode.decode import Decoder
from cutline.pipeline.added import AddedFinder
from cutline.pipeline.facts import Facts
from cutline.pipeline.normalizing import Prepend, Step
from cutline.tables import build_decoder
from cutline.text import plain_text
from cutline.vocabulary import Vocabulary
from cutline.vocabulary.tokenizer_json import AddedToken

if TYPE_CHECKING:
    from cutline.pipeline.borders import Borders
    from cutline.pipeline.reach import Reach

__all__ = ["ChangingEncoding", "TokenizerEncoding"]


class TokenizerEncoding(Encoding):
    """An encoding with more facts than an `Encoding` has; made by `cutline.load`.

    Its special tokens are the added tokens that the tokenizer calls special, found the way
    their flags say. Ordinary text is what it is for an `Encoding`.
    """

    __slots__ = ("_added", "_facts", "_finder_of_normalized", "_finder_of_raw")

    _facts: Facts
    _added: dict[str, int]
    _finder_of_raw: AddedFinder
    _finder_of_normalized: AddedFinder

    @classmethod
    def from_facts(
        cls, name: str, pat_str: str | None, vocabulary: Vocabulary, facts: Facts
    ) -> Self:
        """Make an encoding; what it is made of is what it pickles as.

        Raises:
            VocabularyError, PatternError: as `Encoding`.
        """
        taken = set(vocabulary.ids.tolist())
        added = {token.content: token.id for token in facts.added_tokens}
        own = {text: number for text, number in added.items() if number not in taken}
        encoding = cls.from_vocabulary(
            name, pat_str=pat_str, vocabulary=vocabulary, special_tokens=own
        )
        special = {token.content: token.id for token in facts.added_tokens if token.special}
        raw = [token for token in facts.added_tokens if not token.normalized]
        normalized = [token for token in facts.added_tokens if token.normalized]
        for attribute, value in (
            ("_facts", facts),
            ("_added", own),
            ("_special_tokens", special),
            ("_special_finder", type(encoding._special_finder)(special)),
            ("_special_token_values", frozenset(special.values())),
            ("_finder_of_raw", AddedFinder(raw, [token.content for token in raw])),
            (
                "_finder_of_normalized",
                AddedFinder(normalized, [facts.normalize(one.content) for one in normalized]),
            ),
        ):
            object.__setattr__(encoding, attribute, value)
        return encoding

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (
            type(self),
            self.name,
            self._pat_str,
            self._vocabulary,
            self._facts,
            self._source,
        )

    def _content(self) -> list[Any]:
        facts = replace(self._facts, silent_tokens=dict(sorted(self._facts.silent_tokens.items())))
        return [*super()._content(), ascii(facts)]

    @property
    def _has_facts(self) -> bool:
        return True

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """See `Encoding.num_special_tokens_to_add`."""
        return self._facts.n_template_tokens[pair]

    @property
    def added_tokens(self) -> dict[str, int]:
        """Ids of all added tokens by text, those that are not special among them."""
        return {token.content: token.id for token in self._facts.added_tokens}

    @property
    def max_token_value(self) -> int:
        """See `Encoding.max_token_value`."""
        others = (*self.added_tokens.values(), *self._facts.silent_tokens.values())
        return max(int(self._vocabulary.ids.max()), max(others, default=0))

    @property
    def _decoder(self) -> Decoder:
        decoder: Decoder = self._remember(
            "decoder",
            lambda: build_decoder(self._vocabulary, self._added, self._facts.silent_tokens),
        )
        return decoder

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """See `Encoding.encode_single_token`."""
        piece = text_or_bytes.encode() if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
        try:
            return super().encode_single_token(text_or_bytes)
        except UnknownTokenError:
            found = self._facts.silent_tokens.get(piece)
            if found is None:
                found = self._added.get(piece.decode(errors="surrogateescape"))
            if found is None:
                raise
            return found

    # Texts in parts

    def _encode_allowed(self, text: str, allowed: frozenset[str]) -> list[int]:
        return self._encode_pieces(self._pieces(text, allowed))

    def _encode_allowed_to_numpy(self, text: str, allowed: frozenset[str]) -> NDArray[np.uint32]:
        return np.array(self._encode_allowed(text, allowed), dtype=np.uint32)

    def _pieces(
        self, text: str, allowed: frozenset[str], *, at_start: bool = True
    ) -> Iterator[str | AddedToken]:
        """Cut a text into added tokens and what is encoded between them.

        Args:
            text: any text.
            allowed: the special tokens to find.
            at_start: it stands at the start of a text.
        """
        facts, counts = self._facts, self._counting(allowed)
        for start, end, token in self._finder_of_raw.cut(text, counts):
            if token is not None:
                yield token
            else:
                section = facts.normalize(text[start:end], at_start=at_start)
                for first, last, inner in self._finder_of_normalized.cut(section, counts):
                    if inner is not None:
                        yield inner
                    else:
                        part = section[first:last]
                        blank = facts.prefix_space and at_start and not part.startswith(" ")
                        yield f" {part}" if blank else part
                    at_start = True
            at_start = True

    @staticmethod
    def _counting(allowed: frozenset[str]) -> Callable[[AddedToken], bool]:
        """Tell of a token whether it is to be found."""
        return lambda token: not token.special or token.content in allowed

    def _encode_pieces(self, pieces: Iterable[str | AddedToken]) -> list[int]:
        tokens: list[int] = []
        for piece in pieces:
            if isinstance(piece, AddedToken):
                tokens.append(piece.id)
            else:
                tokens += self._encode_plain(piece)
        return tokens

    def _encode_plain(self, text: str) -> list[int]:
        """Encode what no step changes any more."""
        return Encoding.encode_ordinary(self, text)


class ChangingEncoding(TokenizerEncoding):
    """An encoding for which text can be other than its own pieces.

    Ordinary encoding finds the added tokens that are not special, changes the text between
    them, and splits that. Slices and chunks are of the text as it was given.
    """

    __slots__ = ("_inner", "_ordinary_finders", "_steps_inside")

    _inner: Encoding
    _ordinary_finders: tuple[AddedFinder, ...]
    _steps_inside: tuple[Step, ...]

    @classmethod
    def from_facts(
        cls, name: str, pat_str: str | None, vocabulary: Vocabulary, facts: Facts
    ) -> Self:
        """See `Encoding.from_facts`."""
        encoding = super().from_facts(name, pat_str, vocabulary, facts)
        inner = Encoding.from_vocabulary(
            name, pat_str=pat_str, vocabulary=vocabulary, special_tokens={}
        )
        ordinary = [
            {text: token for text, token in finder.texts.items() if not token.special}
            for finder in (encoding._finder_of_raw, encoding._finder_of_normalized)
        ]
        for attribute, value in (
            ("_inner", inner),
            ("_ordinary_finders", tuple(AddedFinder(one.values(), one) for one in ordinary if one)),
            ("_steps_inside", tuple(one for one in facts.steps if not isinstance(one, Prepend))),
        ):
            object.__setattr__(encoding, attribute, value)
        return encoding

    @property
    def _has_automaton(self) -> bool:
        """No: what works on the automaton alone would leave out the changes."""
        return False

    def _is_unchanged(self, text: str) -> bool:
        """Tell whether nothing changes a text or any slice of it."""
        if self._facts.changes_starts:
            return not text
        return self._is_unchanged_inside(text)

    def _is_unchanged_inside(self, text: str) -> bool:
        """Tell the same of a text that goes on from a border."""
        for step in self._steps_inside:
            if not step.keeps_slices(text):
                return False
        for finder in self._ordinary_finders:  # noqa: SIM110 (short texts are many)
            if finder.may_find(text):
                return False
        return True

    # Whole texts

    def encode_ordinary(self, text: str) -> list[int]:
        """See `Encoding.encode_ordinary`."""
        text = plain_text(text)
        if self._is_unchanged(text):
            return self._inner.encode_ordinary(text)
        return self._encode_pieces(self._pieces(text, frozenset()))

    def _encode_plain(self, text: str) -> list[int]:
        return self._inner.encode_ordinary(text)

    def _encode_to_numpy(self, text: str) -> NDArray[np.uint32]:
        text = plain_text(text)
        if self._is_unchanged(text):
            return self._inner._encode_to_numpy(text)
        return np.array(self.encode_ordinary(text), dtype=np.uint32)

    def count(self, text: str) -> int:
        """See `Encoding.count`."""
        text = plain_text(text)
        return self._inner.count(text) if self._is_unchanged(text) else self._count(text)

    def _count_inside(self, text: str) -> int:
        """Count the tokens of a text that goes on from a border."""
        if self._is_unchanged_inside(text):
            return self._inner.count(text)
        return self._count(text, at_start=False)

    def _count(self, text: str, *, at_start: bool = True) -> int:
        return sum(
            1 if isinstance(piece, AddedToken) else self._inner.count(piece)
            for piece in self._pieces(text, frozenset(), at_start=at_start)
        )

    def count_till_limit(self, text: str, limit: int) -> int | None:
        """See `Encoding.count_till_limit`."""
        text = plain_text(text)
        if self._is_unchanged(text):
            return self._inner.count_till_limit(text, limit)
        if limit < 0:
            raise ValueError(f"limit must be 0 or more, got {limit}")
        total = self._count(text)
        return total if total <= limit else None

    def _encode_block(self, texts: list[str]) -> list[list[int]]:
        return [self.encode_ordinary(text) for text in texts]

    def _count_block(self, texts: list[str]) -> NDArray[np.int64]:
        return np.array([self.count(text) for text in texts], dtype=np.int64)

    def _encode_bytes(self, text: bytes) -> list[int]:
        try:
            return self.encode_ordinary(text.decode())
        except UnicodeDecodeError as error:
            raise UnicodeDecodeError(
                "utf-8", text, error.start, error.end,
                f"{self.name!r} changes texts before it splits them, which takes valid ones",
            ) from None  # fmt: skip

    def _max_bytes_of(self, n: int) -> int | None:
        """Characters that n tokens cover at most; None where that is not known."""
        from cutline.pipeline.borders import most_characters

        return most_characters(self._facts, self._inner, n)

    def _most_tokens_of_a_character(self) -> int:
        """See `Encoding._most_tokens_of_a_character`. Cost: a second, once."""

        def most() -> int:
            points = chain(range(0xD800), range(0xE000, 0x110000))
            return int(self._count_block([*map(chr, points)]).max())

        found: int = self._remember("most tokens of a character", most)
        return found

    # Slices of texts

    @property
    def _reach(self) -> "Reach":
        from cutline.pipeline.reach import Reach

        reach: Reach = self._remember(
            "reach", lambda: Reach(self._facts, self._vocabulary, self._ordinary_finders)
        )
        return reach

    @property
    def _borders(self) -> "Borders":
        from cutline.pipeline.borders import Borders

        borders: Borders = self._remember("borders", lambda: Borders(self._facts, self._pat_str))
        return borders

    def intervals(self, text: str, *, byte_offsets: bool = False) -> Any:
        """See `Encoding.intervals`."""
        from cutline.pipeline.slices import SliceCounter

        text = plain_text(text)
        if self._is_unchanged(text):
            return self._inner.intervals(text, byte_offsets=byte_offsets)
        if byte_offsets:
            raise ValueError(
                f"{self.name!r} changes this text before it splits it: its slices are counted "
                "by code points only"
            )
        return SliceCounter(self, text)

    def split_at(self, text: str, n: int, start: int = 0) -> int:
        """See `Encoding.split_at`."""
        text, n, start = plain_text(text), index(n), index(start)
        reach = self._max_bytes_of(n) if n >= 0 else None
        if reach is None or not 0 <= start <= len(text):
            window, begin = text, start
        else:
            window, begin = text[start : start + reach], 0
        if self._is_unchanged(window):
            found = self._inner.split_at(window, n, begin)
        else:
            found = self.intervals(window).split_at(begin, n)
        return found + start - begin

    def split(self, text: str, chunk_size: int, chunk_overlap: int = 0) -> list[Chunk]:
        """See `Encoding.split`."""
        from cutline.chunking.chunkers import split_by_counting

        text = plain_text(text)
        if self._is_unchanged(text):
            with suppress(BudgetError):  # which would not say what size fits all other texts
                return self._inner.split(text, chunk_size, chunk_overlap)
        return split_by_counting(self, text, chunk_size, chunk_overlap)

    def appender(self, text: str = "") -> Any:
        """See `Encoding.appender`."""
        from cutline.pipeline.growing import ChangingAppender

        return ChangingAppender(self, text)

    def prepender(self, text: str = "") -> Any:
        """See `Encoding.prepender`."""
        from cutline.pipeline.growing import ChangingPrepender

        return ChangingPrepender(self, text)


def _rebuild(
    cls: type[TokenizerEncoding],
    name: str,
    pat_str: str | None,
    vocabulary: Vocabulary,
    facts: Facts,
    source: dict[str, Any],
) -> TokenizerEncoding:
    """Make an encoding again from its pickle."""
    return cls.from_facts(name, pat_str, vocabulary, facts)._from(source)
