"""`DecodeStream`: incremental decoding of token ids, in whole characters."""

from codecs import getincrementaldecoder, lookup_error
from collections.abc import Callable, Collection, Iterable
from operator import index
from typing import Any, Self

__all__ = ["DecodeStream"]

_Utf8Decoder = getincrementaldecoder("utf-8")


class DecodeStream:
    r"""Decodes token ids that arrive one by one or in groups; from `Encoding.decode_stream`.

    A token may end inside a character. Its bytes are then held back until the character
    is complete, instead of giving U+FFFD. The results of `feed` and `finish`, joined, are
    what `Encoding.decode` returns for all ids, however they were grouped.

    Args:
        decode_bytes: turns ids into bytes: `Encoding.decode_bytes`.
        errors: how to handle bytes that are not UTF-8, as in `bytes.decode`.
        drops_blank: a blank at the start of a text is dropped.
        decode_first: turns ids at the start of a text into bytes, where the first one writes
            something else there.
        choose: returns the ids that are decoded, of those that arrive; None: all.
        word_ends: ids of tokens whose last byte is a blank that the last token does not write.

    Raises:
        LookupError: no error handler has that name.

    A stream is for one text at a time and for one thread.

    >>> import cutline
    >>> enc = cutline.get_encoding("gpt2")
    >>> stream = enc.decode_stream()
    >>> [stream.feed(token) for token in enc.encode("a 𓀀")]
    ['a', ' ', '', '', '', '𓀀']
    >>> stream.finish()
    ''
    """

    __slots__ = (
        "_at_start",
        "_choose",
        "_decode_bytes",
        "_decode_first",
        "_decoder",
        "_drops_blank",
        "_holds_blank",
        "_is_empty",
        "_word_ends",
    )

    def __init__(
        self,
        decode_bytes: Callable[[Iterable[int]], bytes],
        errors: str = "replace",
        *,
        drops_blank: bool = False,
        decode_first: Callable[[Iterable[int]], bytes] | None = None,
        choose: Callable[[Iterable[int]], Collection[int]] | None = None,
        word_ends: Collection[int] = (),
    ) -> None:
        if not callable(decode_bytes):
            raise TypeError(
                f"decode_bytes must be a function, got {type(decode_bytes).__name__}: "
                "use get_encoding(...).decode_stream()"
            )
        lookup_error(errors)
        self._decode_bytes = decode_bytes
        self._decoder = _Utf8Decoder(errors)
        self._decode_first = decode_first or decode_bytes
        self._choose = choose
        self._word_ends = word_ends
        self._holds_blank = False
        self._drops_blank = self._at_start = drops_blank
        self._is_empty = True

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._decoder = _Utf8Decoder(self._decoder.errors)
        twin._decoder.setstate(self._decoder.getstate())
        return twin

    def __repr__(self) -> str:
        return f"<DecodeStream: {len(self._decoder.getstate()[0])} bytes held back>"

    def feed(self, tokens: int | Iterable[int]) -> str:
        """Take further ids and return the text of the characters that are complete by now.

        Args:
            tokens: one id, or an iterable or numpy array of ids; special tokens too.

        Returns:
            Their text, after any bytes held back; "" while a character is incomplete.

        Raises:
            UnknownTokenError: (a KeyError) the encoding has no such id; no id is negative, or
                above 2**32 - 1.
            UnicodeDecodeError: the bytes are not UTF-8, and errors is "strict".

        After an error the stream is unchanged.

        Cost: linear in the bytes of these tokens.
        """
        ids = _as_ids(tokens)
        if self._choose is not None:
            ids = self._choose(ids)
        decoded = (self._decode_first if self._is_empty else self._decode_bytes)(ids)
        holds_blank = self._holds_blank
        if self._word_ends and len(ids):
            *_, last = ids
            decoded, holds_blank = b" " * holds_blank + decoded, index(last) in self._word_ends
            decoded = decoded[:-1] if holds_blank else decoded
        text = self._decoder.decode(decoded[self._at_start and decoded.startswith(b" ") :])
        self._holds_blank = holds_blank
        self._at_start = self._at_start and not decoded
        self._is_empty = self._is_empty and not len(ids)
        return text

    def finish(self) -> str:
        """End the text: decode the incomplete character at its end, if there is one.

        Returns:
            "" unless the tokens ended inside a character. The stream is then ready
            for another text.

        Raises:
            UnicodeDecodeError: they did, and errors is "strict". The bytes stay held back,
                so every further `finish` raises as well: begin another text with a new
                stream.

        >>> import cutline
        >>> stream = cutline.get_encoding("gpt2").decode_stream()
        >>> stream.feed(cutline.get_encoding("gpt2").encode("😀")[:1]), stream.finish()
        ('', '\ufffd')
        """
        text = self._decoder.decode(b"", final=True)
        self._at_start, self._is_empty = self._drops_blank, True
        self._holds_blank = False
        return text


def _as_ids(tokens: Any) -> Collection[int]:
    """Put a single id into a list; it is recognized by not being iterable."""
    try:
        iter(tokens)
    except TypeError:
        return [tokens]
    ids: Collection[int] = tokens if hasattr(tokens, "__len__") else [*tokens]
    return ids
