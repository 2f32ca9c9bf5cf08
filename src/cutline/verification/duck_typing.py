"""Chunks and tokenizers of other libraries, by duck typing.

No package is imported for this: any object with the right attributes is a chunk.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, NamedTuple

from cutline.checks import checked_integer, is_missing, plain_text
from cutline.chunks import Chunk
from cutline.encoding import Encoding
from cutline.errors import shown
from cutline.protocols import TokenCounter
from cutline.registry import token_counter_of
from cutline.wrapping import wrap

__all__ = [
    "ReadChunk",
    "Tokenizer",
    "counter_of",
    "metadata_of",
    "named_count_of",
    "own_tokenizer",
    "read_chunk",
    "whole_chunk",
]

Tokenizer = TokenCounter | str | Callable[[str], int] | Any

TEXT_NAMES = ("text", "page_content", "content")
START_NAMES = ("start_index", "start_char_idx", "split_idx_start", "start")
END_NAMES = ("end_index", "end_char_idx", "end")
COUNT_NAMES = ("token_count",)
METADATA_NAMES = ("metadata", "meta")
TIME_NAMES = ("start", "end")  # of a transcript's parts, where they are no offsets


class ReadChunk(NamedTuple):
    """A chunk's own data; None: not given."""

    text: str
    start: int | None
    end: int | None
    token_count: int | None


def read_chunk(chunk: Any, number: int, source: str) -> ReadChunk:
    """Read a chunk: a str, a pair, a mapping, or an object with attributes.

    Args:
        chunk: the chunk.
        number: its number, for the error.
        source: the text that it is a slice of, for a pair of offsets.

    Raises:
        TypeError: it has no text, or an offset or a count that is no integer; names the chunk.
    """
    match chunk:
        case str():
            return ReadChunk(plain_text(chunk), None, None, None)
        case (Integral() as first, str() as text):
            return ReadChunk(plain_text(text), int(first), None, None)
        case (Integral() as first, Integral() as last):
            start, end = int(first), int(last)
            return ReadChunk(source[max(start, 0) : max(end, 0)], start, end, None)
    text = first_of(chunk, TEXT_NAMES, str)
    if text is None:
        hint = "; pass its chunk" if hasattr(chunk, "chunk") else ""
        raise TypeError(
            f"chunk {number}, of type {type(chunk).__name__}, has no text: it must be a str, a "
            "pair of offset and str, a pair of offsets, or have one of "
            f"{', '.join(TEXT_NAMES)} as attribute or key{hint}"
        )
    numbers = (_number(chunk, names, number) for names in (START_NAMES, END_NAMES, COUNT_NAMES))
    return ReadChunk(plain_text(text), *numbers)


def whole_chunk(chunk: Any, read: ReadChunk, number: int, start: int, token_count: int) -> Chunk:
    """Return a chunk of any library as a `Chunk`, with its headings and metadata.

    Args:
        chunk: the chunk.
        read: what `read_chunk` has read of it.
        number: its number, unless it has an index.
        start: where it is.
        token_count: the tokens of its text.
    """
    metadata = metadata_of(chunk)
    own = first_of(chunk, ("index",), Integral)
    return Chunk(
        text=read.text,
        start_index=start,
        end_index=start + len(read.text),
        token_count=token_count,
        index=number if own is None else int(own),
        headings=_headings(chunk, metadata),
        metadata=metadata,
    )


def _headings(chunk: Any, metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a chunk's headings; adapters to other packages join them, in the metadata."""
    found = first_of(chunk, ("headings",), (list, tuple))
    if found is None:
        found = first_of(metadata, ("headings",), (list, tuple, str)) or ()
    return tuple(found.split(" > ")) if isinstance(found, str) else tuple(map(str, found))


def metadata_of(chunk: Any) -> Mapping[str, Any]:
    """Return a chunk's metadata; rows of tables have it as JSON."""
    found = first_of(chunk, METADATA_NAMES, (Mapping, str))
    if isinstance(found, str):
        with suppress(ValueError, RecursionError):
            found = json.loads(found)
    boundary = first_of(chunk, ("boundary",), str)
    known = {} if boundary is None else {"boundary": boundary}
    return {**known, **found} if isinstance(found, Mapping) else known


def own_tokenizer(encoding: Tokenizer) -> Any:
    """Return cutline's tokenizer for a name, or for one of Hugging Face; any other as it is."""
    if isinstance(encoding, str | Encoding | TokenCounter):
        return token_counter_of(encoding)
    if hasattr(getattr(encoding, "backend_tokenizer", encoding), "no_truncation"):
        return wrap(encoding)  # ignores its truncation and padding
    return encoding


def counter_of(encoding: Tokenizer) -> Callable[[str], int]:
    """Return a function that counts the tokens of a text, without special-token templates.

    Raises:
        TypeError: the object neither counts nor encodes.
    """
    own = own_tokenizer(encoding)
    if isinstance(own, Encoding | TokenCounter):
        return own.count
    if hasattr(encoding, "encode_ordinary"):  # tiktoken: special tokens as ordinary text
        return lambda text: len(encoding.encode_ordinary(text))
    if hasattr(encoding, "encode"):
        return _encoder_counter(encoding.encode)
    if callable(encoding):
        return _checked_counter(encoding)
    raise TypeError(
        "encoding must be an Encoding, a name, a function that counts tokens, or an object with "
        f"encode(), got {type(encoding).__name__}"
    )


class NamedCount(NamedTuple):
    """A function that counts, under the name of its tokenizer."""

    name: str
    count: Callable[[str], int]


def named_count_of(tokenizer: Tokenizer) -> TokenCounter | NamedCount:
    """Return a tokenizer with a name and `count`; see `counter_of`."""
    if isinstance(tokenizer, str | Encoding | TokenCounter):
        return token_counter_of(tokenizer)
    count = counter_of(tokenizer)
    names = (getattr(tokenizer, name, None) for name in ("name", "__name__"))
    return NamedCount(str(next(filter(None, names), type(tokenizer).__name__)), count)


def _encoder_counter(encode: Callable[..., Any]) -> Callable[[str], int]:
    """Count with an `encode` method, without the special tokens that it may add."""
    options: dict[str, Any] = {"add_special_tokens": False}
    try:
        encode("", **options)
    except TypeError:
        options = {}

    def count(text: str) -> int:
        tokens = encode(text, **options)
        return len(getattr(tokens, "ids", tokens))

    return count


def _checked_counter(counter: Callable[[str], Any]) -> Callable[[str], int]:
    """Count with a function of the caller's."""

    def count(text: str) -> int:
        return checked_integer(counter(text), "what the function that counts returns")

    return count


def _number(chunk: Any, names: tuple[str, ...], number: int) -> int | None:
    """Find an integer in a chunk or in its metadata; see `read_chunk`."""
    for holder in (chunk, *(_get(chunk, name) for name in METADATA_NAMES)):
        for name in names:
            value = _get(holder, name)
            if isinstance(value, Integral):
                return int(value)
            if name in TIME_NAMES or not isinstance(value, Real | str) or is_missing(value):
                continue
            try:
                return _integer_of(value)
            except ValueError:
                raise TypeError(
                    f"chunk {number} has {name}={shown(value)}, which must be an integer"
                ) from None
    return None


def _integer_of(value: Any) -> int:
    """Return an integer that a table has as another type: 5.0 beside missing ones, "5" in CSV."""
    if not isinstance(value, str) and value != value // 1:
        raise ValueError
    return int(value)


def first_of(holder: Any, names: tuple[str, ...], kind: type | tuple[type, ...]) -> Any:
    """Return the first of some attributes or keys that has a type; None if there is none."""
    values = (_get(holder, name) for name in names)
    return next((value for value in values if isinstance(value, kind)), None)


def _get(holder: Any, name: str) -> Any:
    if isinstance(holder, Mapping):
        return holder.get(name)
    return getattr(holder, name, None)
