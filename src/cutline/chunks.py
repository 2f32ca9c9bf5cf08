"""`Chunk`: a slice of a text with its offsets and token count; checks of chunk sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self, TypeAlias

from cutline.checks import checked_integer
from cutline.errors import BudgetError, shown
from cutline.kernels.base.chunks import ChunkFields

if TYPE_CHECKING:
    from dataclasses import Field
    from hashlib import blake2b

__all__ = [
    "Chunk",
    "ChunkSize",
    "checked_sizes",
    "content_hash",
    "model_size",
    "size_for",
    "text_hashes",
    "too_large",
]

ChunkSize: TypeAlias = int | Literal["model"]


class _OfDataclass:
    """An attribute of a class that `dataclasses` asks for, found when it does.

    To import `dataclasses` takes longer than any call that makes chunks should.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        return getattr(_dataclass(), self._name)


class Chunk(ChunkFields):
    """A slice of a text that fits a token budget; a frozen dataclass to `dataclasses.asdict`.

    Attributes:
        text: `source[start_index:end_index]`.
        start_index: its start in the source, in code points.
        end_index: its end.
        token_count: the number of tokens that `text` encodes to on its own.
        index: 0 for the first chunk of the source.
        headings: the headings above it, the outermost first.
        metadata: further data from the chunker; "boundary" names the kind of boundary at its end.
    """

    __slots__ = ()
    __match_args__ = (
        *("text", "start_index", "end_index", "token_count", "index"),
        *("headings", "metadata"),
    )

    text: str
    start_index: int
    end_index: int
    token_count: int
    index: int
    headings: tuple[str, ...]
    metadata: Mapping[str, Any]

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _OfDataclass()
        __dataclass_params__ = _OfDataclass()

    def __init__(
        self,
        text: str,
        start_index: int,
        end_index: int,
        token_count: int,
        index: int,
        headings: tuple[str, ...] | list[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(headings, list):  # as JSON has them
            headings = tuple(headings)
        self._set_fields(
            text, start_index, end_index, token_count, index, headings, metadata or None
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}: a chunk is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}: a chunk is immutable")

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in Chunk.__match_args__)

    def __repr__(self) -> str:
        values = zip(Chunk.__match_args__, self._values(), strict=True)
        return f"{type(self).__qualname__}({', '.join(f'{k}={v!r}' for k, v in values)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values()[:-1])  # metadata need not be hashable

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), self._values()

    def __replace__(self, /, **changes: Any) -> Self:
        return type(self)(**dict(zip(Chunk.__match_args__, self._values(), strict=True)) | changes)

    @property
    def content_hash(self) -> str:
        """A 128-bit hash of text and headings in hex, independent of position.

        >>> Chunk("one", 0, 3, 1, 0).content_hash == Chunk("one", 8, 11, 1, 5).content_hash
        True
        """
        return content_hash(self.text.encode(), self.headings)


@cache
def _dataclass() -> type:
    """Make the dataclass with the fields of a chunk."""
    from dataclasses import field, make_dataclass

    late: dict[str, Any] = {
        "headings": field(default=()),
        "metadata": field(default_factory=dict, hash=False),
    }
    types = Chunk.__annotations__
    fields = ((name, types[name], late.get(name, field())) for name in Chunk.__match_args__)
    return make_dataclass("Chunk", fields, frozen=True, slots=True)


def content_hash(utf8: bytes, headings: Iterable[str]) -> str:
    """Return the hash of a chunk with this text, as UTF-8, and these headings."""
    digest = _empty_digest().copy()  # faster than a new one
    for part in (utf8, *map(str.encode, headings)):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def text_hashes(utf8: bytes, byte_ends: Iterable[int]) -> bytes:
    """Return the hashes of chunks without headings, one after another.

    Args:
        utf8: their texts, one after another.
        byte_ends: where each ends there.
    """
    copy, texts, start, found = _empty_digest().copy, memoryview(utf8), 0, []
    for end in byte_ends:
        digest = copy()
        digest.update((end - start).to_bytes(8, "little"))
        digest.update(texts[start:end])
        found.append(digest.hexdigest())
        start = end
    return "".join(found).encode()


@cache
def _empty_digest() -> blake2b:
    from hashlib import blake2b  # loads a library

    return blake2b(digest_size=16)


def size_for(encoding: Any, chunk_size: ChunkSize, sent: bool = False) -> int:
    """Return a chunk size; that for "model" is the model's limit less its special tokens.

    Args:
        encoding: the model's.
        chunk_size: the number that was given, or "model".
        sent: a template says what is sent, and counts the special tokens itself.

    Raises:
        ValueError: the limit is not known, or leaves no room.
    """
    if not isinstance(chunk_size, str) or chunk_size != "model":
        return chunk_size
    return model_size(encoding, "chunk_size='model'", sent=sent)


def model_size(encoding: Any, asked: str, *, sent: bool = False) -> int:
    """Return the limit of an encoding's model, less its special tokens unless `sent` has them.

    Raises:
        ValueError: the limit, which was `asked` for, is not known, or leaves no room.
    """
    limit: int | None = getattr(encoding, "max_tokens", None)
    if limit is None:
        raise ValueError(
            f"{asked} needs the model's limit, and that of {_name_of(encoding)} is not "
            "known: name the model, or its folder with the file that says it, such as "
            "tokenizer_config.json, as the encoding; or pass a number"
        )
    if sent:
        return limit
    added: int = encoding.num_special_tokens_to_add()
    if limit <= added:
        raise ValueError(
            f"{asked} leaves no room: {encoding.name!r} takes {limit} tokens, of which "
            f"{added} are special"
        )
    return limit - added


def _name_of(encoding: Any) -> str:
    return repr(getattr(encoding, "name", encoding))


def checked_sizes(chunk_size: int, chunk_overlap: int) -> tuple[int, int]:
    """Return the sizes as int.

    Raises:
        TypeError: one is no integer.
        ValueError: chunk_size is below 1, or chunk_overlap is not from 0 to below it.
    """
    chunk_size = checked_integer(chunk_size, "chunk_size")
    chunk_overlap = checked_integer(chunk_overlap, "chunk_overlap")
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be 1 or more tokens, got {shown(chunk_size)}")
    if not 0 <= chunk_overlap < chunk_size:
        raise ValueError(
            f"chunk_overlap must be 0 or more and less than chunk_size ({shown(chunk_size)}), "
            f"got {shown(chunk_overlap)}"
        )
    return chunk_size, chunk_overlap


def too_large(
    character: str, offset: int, tokens: int, chunk_size: int, least: int | None
) -> BudgetError:
    """Build the error for a character that fits no chunk.

    Args:
        character: the character.
        offset: its offset.
        tokens: its number of tokens on its own.
        chunk_size: the requested chunk size.
        least: the smallest size that fits any character; None if that is not known.
    """
    hint = f"a chunk_size of {least} fits any character"
    return BudgetError(
        f"character {character!r} at offset {offset} has {tokens} tokens on its own, more than "
        f"chunk_size={chunk_size}; {hint if least else f'it takes a chunk_size of {tokens}'}"
    )
