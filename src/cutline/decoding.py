"""Decoding: the half of `Encoding` that needs no split pattern."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import index, length_hint
from typing import TYPE_CHECKING, Any, TypeVar

from cutline.errors import UnknownTokenError, shown, shown_type
from cutline.kernels.encode.decode import Decoder
from cutline.threads import map_sized

if TYPE_CHECKING:
    from cutline.decode_stream import DecodeStream

__all__ = ["Decoding"]

Decoded = TypeVar("Decoded", str, bytes)


class Decoding:
    """The decoding methods of `Encoding`, which has the tokens."""

    __slots__ = ()

    name: str
    _drops_blank: bool
    """Whether decoding drops a blank at the start of a text."""
    _marks_ends: bool
    """Whether tokens that end a word write a blank there, but for the last one of a text."""
    _special_token_values: frozenset[int]
    """The ids of the special tokens."""
    _memo: dict[str, Any]
    """What was made once; "text" is the decoder's, if it alone gives the text of tokens."""

    @property
    @abstractmethod
    def max_token_value(self) -> int:
        """The highest token id."""

    @property
    @abstractmethod
    def _decoder(self) -> Decoder:
        """The decoder: every token's bytes by id."""

    @property
    @abstractmethod
    def _first_decoder(self) -> Decoder | None:
        """The decoder of the first token; None: it writes what it writes elsewhere."""

    @property
    @abstractmethod
    def _word_ends(self) -> frozenset[int]:
        """The ids of the tokens that end a word, if these write a blank there."""

    def decode(
        self,
        tokens: Iterable[int],
        errors: str = "replace",
        *,
        skip_special_tokens: bool = False,
    ) -> str:
        """Decode token ids to text.

        Args:
            tokens: ids; any iterable of int, or an array of integers: of numpy, Arrow, `array`,
                or what else has a buffer.
            errors: how to handle bytes that are not UTF-8, as in `bytes.decode`.
            skip_special_tokens: leave out the special tokens, such as `<|im_end|>` after a
                model's answer; added tokens that are not special stay.

        Raises:
            UnknownTokenError: (a KeyError) the encoding has no such id; no id is negative, or
                above 2**32 - 1.

        Cost: linear; copying, with a look at each id. Where tokens are not valid UTF-8 together,
        such as those of a cut text, also that of `bytes.decode`.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").decode([31373, 995])
        'hello world'
        >>> cutline.get_encoding("gpt2").decode([31373, 995, 50256], skip_special_tokens=True)
        'hello world'
        """
        text_of = self._memo.get("text") or self._text
        try:
            found = text_of(self._not_special(tokens) if skip_special_tokens else tokens)
        except (KeyError, OverflowError) as error:
            raise self._unknown_id(error) from None
        except TypeError as error:
            raise _no_ids(error, tokens) from None
        text = found if isinstance(found, str) else found.decode("utf-8", errors)
        return text.removeprefix(" ") if self._drops_blank else text

    def decode_bytes(self, tokens: Iterable[int]) -> bytes:
        """Decode token ids to bytes.

        Raises:
            UnknownTokenError: (a KeyError) the encoding has no such id; no id is negative, or
                above 2**32 - 1.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").decode_bytes([31373, 995])
        b'hello world'
        """
        joined = self._join(tokens, at_start=True)
        return joined.removeprefix(b" ") if self._drops_blank else joined

    def _not_special(self, tokens: Any) -> Any:
        """Return ids without those of special tokens."""
        special = self._special_token_values
        if not hasattr(tokens, "__array__"):
            return [one for one in map(index, tokens) if one not in special]
        import numpy as np

        ids = np.asarray(tokens)
        if ids.ndim != 1 or ids.dtype.kind == "f":
            return tokens
        return ids[~np.isin(ids, [*special])]

    def _text(self, tokens: Iterable[int]) -> str | bytes:
        """Return the text of tokens, or their bytes if these are not valid UTF-8 together."""
        if self._marks_ends:
            return self._join(tokens, at_start=True)
        if self._first_decoder is None:
            # From now on without this function, which takes longer than a few tokens.
            self._memo["text"] = self._decoder.text
            return self._decoder.text(tokens)
        ids = _sliceable(tokens)
        first, rest = self._first_decoder.text(ids[:1]), self._decoder.text(ids[1:])
        if isinstance(first, str) and isinstance(rest, str):
            return first + rest
        return self._join(ids, at_start=True)

    def _join(self, tokens: Iterable[int], *, at_start: bool = False) -> bytes:
        """Return the bytes of tokens, at the start of a text or not, and up to its end then."""
        try:
            if at_start and self._marks_ends:
                ids = [*map(index, tokens)]
                joined = self._decoder.join(ids)
                return joined[:-1] if ids and ids[-1] in self._word_ends else joined
            if self._first_decoder is None or not at_start:
                return self._decoder.join(tokens)
            ids = _sliceable(tokens)
            return self._first_decoder.join(ids[:1]) + self._decoder.join(ids[1:])
        except (KeyError, OverflowError) as error:
            raise self._unknown_id(error) from None
        except TypeError as error:
            raise _no_ids(error, tokens) from None

    def decode_batch(
        self,
        batch: Sequence[Iterable[int]],
        *,
        errors: str = "replace",
        num_threads: int = 8,
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Decode many lists of ids with `decode`, in threads; an error notes the list's place."""
        decode = partial(self.decode, errors=errors, skip_special_tokens=skip_special_tokens)
        return _decode_all(decode, batch, num_threads)

    def decode_bytes_batch(
        self, batch: Sequence[Iterable[int]], *, num_threads: int = 8
    ) -> list[bytes]:
        """Decode many lists of ids with `decode_bytes`, in threads; else as `decode_batch`."""
        return _decode_all(self.decode_bytes, batch, num_threads)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one token, ordinary or special.

        Raises:
            TypeError: it is no integer.
            UnknownTokenError: (a KeyError) the encoding has no such id; no id is negative, or
                above 2**32 - 1.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").decode_single_token_bytes(995)
        b' world'
        """
        try:
            return self._decoder.bytes_of(token)
        except (KeyError, OverflowError) as error:
            raise self._unknown_id(error) from None
        except TypeError:
            raise TypeError(f"a token id must be an integer, got {shown(token)}") from None

    def decode_tokens_bytes(self, tokens: Iterable[int]) -> list[bytes]:
        """Return the bytes of each token.

        Raises:
            UnknownTokenError: (a KeyError) the encoding has no such id; no id is negative, or
                above 2**32 - 1.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").decode_tokens_bytes([31373, 995])
        [b'hello', b' world']
        """
        try:
            return self._decoder.split(tokens)
        except (KeyError, OverflowError) as error:
            raise self._unknown_id(error) from None
        except TypeError as error:
            raise _no_ids(error, tokens) from None

    def decode_with_offsets(self, tokens: Iterable[int]) -> tuple[str, list[int]]:
        """Decode ids to text, and return where in it each token begins.

        Returns:
            The text, and for each token the code-point offset of the first character that
            contains bytes of it.

        Raises:
            UnicodeDecodeError: the tokens do not make valid UTF-8.
            UnknownTokenError: (a KeyError) the encoding has no such id; no id is negative, or
                above 2**32 - 1.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").decode_with_offsets([31373, 995])
        ('hello world', [0, 5])
        """
        try:
            tokens = list(tokens)
        except TypeError as error:
            raise _no_ids(error, tokens) from None
        text = self.decode(tokens, errors="strict")
        starts = self._decoder.starts_of(tokens)
        first = tokens[:1]
        shift = len(self._join(first)) - len(self._join(first, at_start=True))
        if self._marks_ends:  # a blank at the end of a text
            shift = 0
        if self._drops_blank and self._join(tokens[:8]).startswith(b" "):
            shift = 1
        if shift:
            starts[1:] = [max(start - shift, 0) for start in starts[1:]]
        return text, starts

    def decode_stream(
        self, errors: str = "replace", *, skip_special_tokens: bool = False
    ) -> DecodeStream:
        """Decode ids incrementally: text is returned as soon as its characters are complete.

        Args:
            errors: how to handle bytes that are not UTF-8, as in `bytes.decode`.
            skip_special_tokens: leave out the special tokens, as `decode` does.

        Returns:
            A `DecodeStream`: `feed` it ids one by one or in groups, then `finish` it.

        Raises:
            LookupError: no error handler has that name.

        >>> import cutline
        >>> stream = cutline.get_encoding("gpt2").decode_stream()
        >>> stream.feed(31373) + stream.feed([995, 0]) + stream.finish()
        'hello world!'
        """
        from cutline.decode_stream import DecodeStream

        return DecodeStream(
            self._join,
            errors,
            drops_blank=self._drops_blank,
            decode_first=None if self._marks_ends else partial(self._join, at_start=True),
            choose=self._not_special if skip_special_tokens else None,
            word_ends=self._word_ends,
        )

    def _unknown_id(self, error: KeyError | OverflowError) -> UnknownTokenError:
        if isinstance(error, OverflowError):
            return UnknownTokenError(str(error))
        return UnknownTokenError(
            f"token id {error.args[0]!r} is not in {self.name!r}, whose highest is "
            f"{self.max_token_value}"
        )


def _no_ids(error: TypeError, tokens: object) -> TypeError:
    """Build the error for what is no ids, of which the kernel's says little."""
    if isinstance(tokens, str):
        got = "one str: it is text already, which encode takes"
    elif hasattr(tokens, "__index__") and not getattr(tokens, "ndim", 0):  # an array has it, too
        got = "one integer: put it into a list"
    elif isinstance(tokens, Iterable):
        wrong = ((at, one) for at, one in enumerate(tokens) if not hasattr(one, "__index__"))
        at, one = next(wrong, (None, None))
        got = f"{shown_type(tokens)}: {error}" if at is None else f"{shown(one)} at place {at}"
    else:
        got = shown_type(tokens)
    return TypeError(f"tokens must be an iterable of token ids, which are integers, got {got}")


def _decode_all(
    decode: Callable[[Iterable[int]], Decoded], batch: Iterable[Iterable[int]], num_threads: int
) -> list[Decoded]:
    if isinstance(batch, str) or not isinstance(batch, Iterable):
        raise TypeError(f"batch must be a sequence of lists of ids, got {shown_type(batch)}")
    lists = list(batch)

    def decode_at(place: int) -> Decoded:
        try:
            return decode(lists[place])
        except (TypeError, ValueError, KeyError) as error:
            error.add_note(f"at place {place} of the batch")
            raise

    return map_sized(decode_at, range(len(lists)), lambda at: length_hint(lists[at]), num_threads)


def _sliceable(tokens: Iterable[int]) -> Any:
    """Return ids of which slices can be taken; a deque's cannot."""
    is_one = isinstance(tokens, list | tuple | range) or hasattr(tokens, "__array__")
    return tokens if is_one else [*tokens]
