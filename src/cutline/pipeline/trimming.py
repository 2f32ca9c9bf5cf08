"""Which blanks at the ends of tokens are in no span, where a post-processor trims them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cutline.kernels.encode.decode import trim_spans
from cutline.normalizing import Prepend, Spell, Step, Strip, normalize
from cutline.spec import AddedToken, TokenizerSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cutline.kernels.encode.decode import Decoder

__all__ = ["WHITE", "Trimmer"]

Ends: TypeAlias = tuple[int, int]
_Rows: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"
"""Ids, and how many blanks are at both ends of each."""

# GPT-2's letter for a blank, and Unicode's white space.
WHITE = (
    "\u0120\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)


class Trimmer:
    """Trims blanks at the ends of tokens from their spans.

    Args:
        spec: the tokenizer.
        decoder: has all of its tokens.

    Cost: building reads all tokens. Then it is linear, without Python's work for most tokens.
    """

    def __init__(self, spec: TokenizerSpec, decoder: Decoder) -> None:
        self._decoder = decoder
        self._trims = spec.trims
        ids = decoder.all_ids()
        self._ends = np.zeros((len(ids), 2), dtype=np.int64)
        added = {token.id: _white_ends(token.content) for token in spec.added_tokens}
        for found, rows in (*_ends_of_tokens(spec), _rows_of(added)):
            is_known = np.isin(found, ids)  # no text has what stands for nothing
            self._ends[np.searchsorted(ids, found[is_known])] = rows[is_known]
        # What the text decides about.
        self._looks: dict[int, Callable[[str, int, int], Ends | None]] = {
            token.id: _Stripping(spec, token).ends
            for token in spec.added_tokens
            if token.lstrip or token.rstrip
        }
        unknown, blank = _unknown_of(spec)
        if unknown is not None:
            inside = tuple(one for one in spec.normalizer if not isinstance(one, Prepend | Strip))
            self._looks[unknown] = partial(_ends_of_unknown, inside, blank)
        self._are_looked_at = np.isin(ids, [*self._looks])

    def trim(self, text: str, tokens: NDArray[np.uint32], spans: NDArray[np.int64]) -> None:
        """Trim the spans of tokens, in place.

        Args:
            text: the text.
            tokens: its tokens.
            spans: theirs.
        """
        rows = self._decoder.rows_of(tokens)
        ends = self._ends[rows]
        if self._looks:
            for place in np.flatnonzero(self._are_looked_at[rows]).tolist():
                look = self._looks[int(tokens[place])]
                if (found := look(text, *spans[place].tolist())) is not None:
                    ends[place] = found
        for takes_prefix in self._trims:
            trim_spans(spans, ends, takes_prefix)


def _rows_of(ends: dict[int, Ends]) -> _Rows:
    rows = np.array([*ends.values()], dtype=np.int64).reshape(-1, 2)
    return np.array([*ends], dtype=np.int64), rows


def _ends_of_tokens(spec: TokenizerSpec) -> list[_Rows]:
    """Return ids, and how many blanks are at both ends of each; others have none."""
    if spec.model is not None or spec.characters is not None:
        return [_rows_of(_white_ends_of_tokens(spec))]
    if spec.marks_words and not spec.led_pat_str:
        return []  # its blank is no character
    tokens, others = spec.vocabulary, spec.unreachable_tokens
    rows = _blank_ends(tokens.arena, tokens.offsets.astype(np.int64))
    kept = [(tokens.ids.astype(np.int64), rows)]
    if not others:
        return kept
    lengths = np.cumsum([0, *map(len, others)])
    rows = _blank_ends(b"".join(others), lengths)
    return [*kept, (np.array([*others.values()], dtype=np.int64), rows)]


def _blank_ends(arena: bytes, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count blanks at both ends of tokens of bytes, and no other white space: shape (tokens, 2)."""
    data = np.frombuffer(arena, dtype=np.uint8)
    others = np.concatenate(([-1], np.flatnonzero(data != ord(" ")), [len(data)]))
    starts, ends = offsets[:-1], offsets[1:]
    first = others[np.searchsorted(others, starts)]
    last = others[np.searchsorted(others, ends) - 1]
    rows = np.stack([np.minimum(first, ends) - starts, ends - np.maximum(last + 1, starts)], axis=1)
    return rows.astype(np.int64)


def _white_ends_of_tokens(spec: TokenizerSpec) -> dict[int, Ends]:
    """Count white space at both ends of the tokens over characters or of words that have any."""
    tokens = zip(spec.vocabulary.ids.tolist(), spec.vocabulary.tokens(), strict=True)
    written = {token_id: token.decode(errors="replace") for token_id, token in tokens}
    if spec.characters is not None:
        # Its blanks are U+2581 in the file, which writes what stands for a byte as its number.
        meant = spec.characters.meanings
        falls_back = isinstance(spec.normalizer[-1], Spell)
        bare = {bytes([byte]) for byte in range(128)} - set(meant.values())
        written = {
            token_id: token.replace(" ", "\u2581")
            for token_id, token in written.items()
            if token_id not in meant and not (falls_back and token.encode() in bare)
        }
    found = {token_id: _white_ends(token) for token_id, token in written.items()}
    return {token_id: ends for token_id, ends in found.items() if ends != (0, 0)}


class _Stripping:
    """An added token that strips white space: a match includes it."""

    def __init__(self, spec: TokenizerSpec, token: AddedToken) -> None:
        self._steps = spec.normalizer if token.normalized else ()
        self._content = normalize(token.content, self._steps, at_start=False)

    def ends(self, text: str, start: int, end: int) -> Ends | None:
        """Count the white space at both ends of a match; None: the model made the token."""
        matched = normalize(text[start:end], self._steps, at_start=start == 0)
        return _white_ends(matched) if self._content in matched else None


def _ends_of_unknown(steps: tuple[Step, ...], blank: str, text: str, start: int, end: int) -> Ends:
    """Count white space at both ends of an unknown token, which keeps its text."""
    return _white_ends(normalize(text[start:end], steps).replace(" ", blank))


def _unknown_of(spec: TokenizerSpec) -> tuple[int | None, str]:
    """Return the id whose tokens keep the text that is unknown, and what blanks are there."""
    if spec.model is None:
        return None, " "
    from cutline.words.models import Unigram  # not for models over bytes
    from cutline.words.splitting import Metaspace

    blank = next((one.replacement for one in spec.splitters if isinstance(one, Metaspace)), " ")
    return spec.model.unk_id if isinstance(spec.model, Unigram) else None, blank


def _white_ends(token: str) -> Ends:
    """Count white space and GPT-2's letter for a blank at both ends of a token's text."""
    return len(token) - len(token.lstrip(WHITE)), len(token) - len(token.rstrip(WHITE))
