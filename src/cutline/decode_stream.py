"""`DecodeStream`: text from token ids as they come, a character at a time at the earliest."""

from codecs import getincrementaldecoder, lookup_error
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["DecodeStream"]

_Utf8Decoder = getincrementaldecoder("utf-8")


class DecodeStream:
    r"""Decodes token ids that arrive one by one or in groups; from `Encoding.decode_stream`.

    A token may end inside a character. Its bytes then wait for the rest, so that no
    U+FFFD stands for a character that is only incomplete yet. All that `feed` and
    `finish` return, joined, is what `Encoding.decode` makes of all ids, however they
    were grouped.

    Args:
        decode_bytes: turns ids into bytes: `Encoding.decode_bytes`.
        errors: what to do where the bytes are not UTF-8, as in `bytes.decode`.

    Raises:
        LookupError: no error handler has that name.

    One stream is for one text at a time, and for one thread.

    >>> import cutline
    >>> enc = cutline.get_encoding("gpt2")
    >>> stream = enc.decode_stream()
    >>> [stream.feed(token) for token in enc.encode("a 𓀀")]
    ['a', ' ', '', '', '', '𓀀']
    >>> stream.finish()
    ''
    """

    __slots__ = ("_decode_bytes", "_decoder")

    def __init__(
        self, decode_bytes: Callable[[Iterable[int]], bytes], errors: str = "replace"
    ) -> None:
        if not callable(decode_bytes):
            raise TypeError(
                f"decode_bytes must be a function, got {type(decode_bytes).__name__}: "
                "use get_encoding(...).decode_stream()"
            )
        lookup_error(errors)
        self._decode_bytes = decode_bytes
        self._decoder = _Utf8Decoder(errors)

    def feed(self, tokens: int | Iterable[int]) -> str:
        """Take further ids and return the text of the characters that are known by now.

        Args:
            tokens: one id, or ids in any iterable or numpy array; special tokens too.

        Returns:
            Their text, after what waited for it; "" where a character is incomplete.

        Raises:
            UnknownTokenError: (a KeyError) the encoding has no such id; no id is negative, or
                above 2**32 - 1.
            UnicodeDecodeError: the bytes are not UTF-8, and errors is "strict".

        After an error the stream is as before the call.

        Cost: linear in the bytes of these tokens.
        """
        return self._decoder.decode(self._decode_bytes(_as_ids(tokens)))

    def finish(self) -> str:
        """End the text: return what an incomplete character at its end decodes to.

        Returns:
            "" unless the tokens stopped inside a character. The stream is then ready
            for another text.

        Raises:
            UnicodeDecodeError: they did, and errors is "strict". Those bytes go on waiting
                for the rest of their character, so that every further `finish` raises as
                well: begin another text with a new stream.

        >>> import cutline
        >>> stream = cutline.get_encoding("gpt2").decode_stream()
        >>> stream.feed(cutline.get_encoding("gpt2").encode("😀")[:1]), stream.finish()
        ('', '\ufffd')
        """
        return self._decoder.decode(b"", final=True)


def _as_ids(tokens: Any) -> Iterable[int]:
    """Put a single id, which is what cannot be iterated over, into a list."""
    try:
        iter(tokens)
    except TypeError:
        return [tokens]
    ids: Iterable[int] = tokens
    return ids
