"""`Vocabulary`: the bytes, ids and order of a tokenizer's mergeable tokens.

It has all tokens in one buffer, with arrays of offsets and ids: the form that tables,
kernels and the packed format work on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self, final

from cutline.errors import VocabularyError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
else:
    from cutline.kernels.base.late import numpy as np  # a count does not need it

__all__ = ["MAX_ARENA_BYTES", "MAX_TOKEN_COUNT", "MAX_TOKEN_ID", "Vocabulary"]

MAX_TOKEN_COUNT: Final = 2**21 - 1
"""Tables store a token's index in 21 bits, and reserve one value for 'none'."""

MAX_TOKEN_ID: Final = 2**32 - 2
"""Ids are uint32; the highest value means 'none'."""

MAX_ARENA_BYTES: Final = 2**27
"""Of all tokens together. Tables for more would take a gigabyte."""

_NAMED_AT_MOST: Final = 4


@final
class Vocabulary:
    """The mergeable tokens of a byte-level BPE tokenizer, in rank order. Immutable.

    A token's index is its position in that order; ids may have gaps (p50k_base
    skips 50256, the id of `<|endoftext|>`), indices have none.

    Attributes:
        arena: the tokens' bytes, concatenated.
        offsets: uint64, shape (n + 1,); token k is `arena[offsets[k]:offsets[k + 1]]`.
        ids: uint32, shape (n,), unique. Tokens are in merge order, which in nearly all
            vocabularies is the order of ids too.
        left_lengths: uint32, shape (n,); byte length of the left part of each
            token's last merge, 0 if there is none (single bytes and unreachable
            tokens). None if they have not been computed.

    >>> vocabulary = Vocabulary.from_ranks({bytes([b]): b for b in range(256)} | {b"ab": 256})
    >>> len(vocabulary), vocabulary.token_bytes(256)
    (257, b'ab')
    """

    __slots__ = (
        "_fingerprint",
        "_is_of_words",
        "_is_recovered",
        "_splits",
        "arena",
        "ids",
        "left_lengths",
        "offsets",
    )

    arena: bytes
    offsets: NDArray[np.uint64]
    ids: NDArray[np.uint32]
    left_lengths: NDArray[np.uint32] | None
    _fingerprint: str | None
    _is_of_words: bool
    _is_recovered: bool
    _splits: Any  # what recovering its left lengths left, for who builds tables and takes it out

    def __init__(
        self,
        arena: bytes,
        lengths: ArrayLike,
        ids: ArrayLike,
        left_lengths: ArrayLike | None = None,
        *,
        is_of_words: bool = False,
    ) -> None:
        """Make a vocabulary from arrays; to make one from tokens, use `from_ranks`.

        Args:
            arena: the tokens' bytes in rank order; trusted to contain no token twice.
            lengths: integers, shape (n,); byte length of each token.
            ids: integers, shape (n,); unique.
            left_lengths: integers, shape (n,), or None; see the class.
            is_of_words: see `of_words`.

        Raises:
            VocabularyError: the arrays contradict each other, or a single byte has no token.

        Cost: O(n) in numpy.
        """
        lengths, ids = np.asarray(lengths), np.asarray(ids)
        _check_arrays(arena, lengths, ids)
        offsets = np.zeros(len(lengths) + 1, dtype=np.uint64)
        np.cumsum(lengths, out=offsets[1:], dtype=np.uint64)
        if not is_of_words:
            _check_single_bytes(arena, lengths, offsets)
        if left_lengths is not None:
            left_lengths = np.asarray(left_lengths)
            _check_left_lengths(left_lengths, lengths)
            left_lengths = _frozen(left_lengths.astype(np.uint32))
        for name, value in (
            ("arena", arena),
            ("offsets", _frozen(offsets)),
            ("ids", _frozen(ids.astype(np.uint32))),
            ("left_lengths", left_lengths),
            ("_fingerprint", None),
            ("_is_of_words", is_of_words),
            ("_is_recovered", False),
            ("_splits", None),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of_words(cls, tokens: Iterable[tuple[bytes, int]]) -> Vocabulary:
        """Make the vocabulary of a model that encodes words apart; bytes may have no token.

        Args:
            tokens: UTF-8 as the file has it, such as b"##ing", and the id of each, in the order
                of ids; trusted to contain no token twice.

        Raises:
            VocabularyError: a token is empty, or an id is out of range or given twice.

        >>> Vocabulary.of_words([(b"un", 4), (b"##do", 7)]).to_ranks()
        {b'un': 4, b'##do': 7}
        """
        rows = list(tokens)
        lengths = np.fromiter((len(token) for token, _ in rows), dtype=np.int64, count=len(rows))
        ids = np.fromiter((number for _, number in rows), dtype=np.int64, count=len(rows))
        return cls(b"".join(token for token, _ in rows), lengths, ids, is_of_words=True)

    @classmethod
    def from_tables(cls, arrays: Mapping[str, Any]) -> Self:
        """Take the vocabulary out of its `BpeTables.arrays`, which are trusted."""
        offsets, left = np.array(arrays["offsets"]), np.asarray(arrays["left"])
        left_lengths = np.append(np.diff(offsets), 0)[np.minimum(left, len(left))]
        vocabulary = cls.__new__(cls)
        for name, value in (
            ("arena", bytes(arrays["arena"])),
            ("offsets", _frozen(offsets)),
            ("ids", _frozen(np.array(arrays["ids"]))),
            ("left_lengths", _frozen(left_lengths.astype(np.uint32))),
            ("_fingerprint", None),
            ("_is_of_words", False),
            ("_is_recovered", True),
            ("_splits", None),
        ):
            object.__setattr__(vocabulary, name, value)
        return vocabulary

    @classmethod
    def from_ranks(
        cls, mergeable_ranks: Mapping[bytes, int], order: Sequence[bytes] | None = None
    ) -> Vocabulary:
        """Sort the tokens of a `{token: id}` mapping into a vocabulary.

        Args:
            mergeable_ranks: every token's bytes with its id, which is also its merge
                priority; in any order, without special tokens.
            order: the same tokens in merge order, if that is not the order of ids.

        Returns:
            The vocabulary, with `left_lengths` None.

        Raises:
            VocabularyError: names the token that is empty or not bytes, the id that is
                not an int, out of range or given twice, or the bytes without a token.

        Cost: O(n log n); 40 to 100 ms for 200,000 tokens.

        >>> ranks = {bytes([b]): b for b in range(256)}
        >>> Vocabulary.from_ranks(ranks | {b"ab": 300}).ids[-2:]
        array([255, 300], dtype=uint32)
        """
        _check_ranks(mergeable_ranks)
        tokens = sorted(mergeable_ranks, key=mergeable_ranks.__getitem__)
        ids = np.fromiter(map(mergeable_ranks.__getitem__, tokens), np.int64, len(tokens))
        repeated = np.flatnonzero(ids[1:] == ids[:-1])
        if repeated.size:
            first = int(repeated[0])
            raise VocabularyError(
                f"id {ids[first]} is given to two tokens, {tokens[first]!r} and "
                f"{tokens[first + 1]!r}; ids must be unique"
            )
        if order is not None:
            tokens = list(order)
            ids = np.fromiter(map(mergeable_ranks.__getitem__, tokens), np.int64, len(tokens))
        lengths = np.fromiter(map(len, tokens), dtype=np.uint64, count=len(tokens))
        return cls(b"".join(tokens), lengths, ids)

    def with_left_lengths(
        self, left_lengths: ArrayLike, *, are_recovered: bool = False
    ) -> Vocabulary:
        """Copy the vocabulary with the given `left_lengths`.

        Args:
            left_lengths: integers, shape (n,); see the class.
            are_recovered: they are those that `recover_left_lengths` returned for it, so that
                who builds tables need not check them.

        Raises:
            VocabularyError: the shape differs, or a left part is not shorter than its token.
        """
        left_lengths = np.asarray(left_lengths)
        _check_left_lengths(left_lengths, self.lengths)
        vocabulary = Vocabulary.__new__(Vocabulary)
        for name, value in (
            ("arena", self.arena),
            ("offsets", self.offsets),
            ("ids", self.ids),
            ("left_lengths", _frozen(left_lengths.astype(np.uint32))),
            ("_fingerprint", self._fingerprint),
            ("_is_of_words", self._is_of_words),
            ("_is_recovered", are_recovered),
            ("_splits", self._splits if are_recovered else None),
        ):
            object.__setattr__(vocabulary, name, value)
        self._take_splits()
        return vocabulary

    def _take_splits(self) -> Any:
        """Return what recovering left lengths left, and keep it no longer; None: it did not."""
        splits = self._splits
        object.__setattr__(self, "_splits", None)
        return splits

    @property
    def merges_by_id(self) -> bool:
        """Whether tokens merge in the order of ids, the only order that rank files can store."""
        return bool((self.ids[1:] > self.ids[:-1]).all())

    @property
    def lengths(self) -> NDArray[np.uint64]:
        """Byte length of each token, as uint64 of shape (n,); computed at each use."""
        return np.diff(self.offsets)

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex over the token bytes, their lengths and ids.

        Equal if and only if the vocabularies are; `left_lengths` are not included, since they
        follow from the rest. Cost: O(bytes) at the first use, then cached.
        """
        if self._fingerprint is None:
            from hashlib import sha256  # loads a library

            digest = sha256(len(self).to_bytes(8, "little"))
            digest.update(self.lengths.astype("<u8").tobytes())
            digest.update(self.ids.astype("<u4").tobytes())
            digest.update(self.arena)
            object.__setattr__(self, "_fingerprint", digest.hexdigest())
        assert self._fingerprint is not None
        return self._fingerprint

    def tokens(self) -> list[bytes]:
        """Return every token, in rank order. Cost: O(n)."""
        arena = self.arena
        return [arena[start:end] for start, end in pairwise(self.offsets.tolist())]

    def to_ranks(self) -> dict[bytes, int]:
        """Return the mapping that `from_ranks` takes, in rank order. Cost: O(n)."""
        return dict(zip(self.tokens(), self.ids.tolist(), strict=True))

    def token_bytes(self, index: int) -> bytes:
        """Return the token at an index in rank order (not an id).

        Raises:
            IndexError: the index is not in `range(len(self))`.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"token index {index!r} is outside range({len(self)})")
        return self.arena[int(self.offsets[index]) : int(self.offsets[index + 1])]

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self)} tokens, {self.fingerprint[:12]}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"cannot set {name!r}: a Vocabulary is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete {name!r}: a Vocabulary is immutable")

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        if self._is_of_words:
            return _of_words, (self.arena, narrow(self.lengths), self.ids)
        left_lengths = None if self.left_lengths is None else narrow(self.left_lengths)
        return Vocabulary, (self.arena, narrow(self.lengths), self.ids, left_lengths)


def _of_words(arena: bytes, lengths: NDArray[Any], ids: NDArray[Any]) -> Vocabulary:
    return Vocabulary(arena, lengths, ids, is_of_words=True)


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Store non-negative integers in the smallest unsigned type, little-endian."""
    dtype = np.min_scalar_type(int(values.max(initial=0)))
    return values.astype(dtype.newbyteorder("<"))


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _check_ranks(mergeable_ranks: Mapping[bytes, int]) -> None:
    """Refuse a mapping whose keys are not tokens or whose values are not ids."""
    if not isinstance(mergeable_ranks, Mapping):
        kind = type(mergeable_ranks).__name__
        raise TypeError(f"mergeable_ranks must be a mapping from tokens to ids, got {kind}")
    for token in mergeable_ranks:
        if type(token) is not bytes:
            raise VocabularyError(f"token {token!r} is {type(token).__name__}; tokens are bytes")
    if b"" in mergeable_ranks:
        raise VocabularyError(
            f"the empty token b'' has id {mergeable_ranks[b'']!r}; every token needs a byte"
        )
    for token, token_id in mergeable_ranks.items():
        if type(token_id) is not int:
            raise VocabularyError(
                f"token {token!r} has id {token_id!r}, which is {type(token_id).__name__}; "
                "ids are int"
            )
        if not 0 <= token_id <= MAX_TOKEN_ID:
            raise VocabularyError(
                f"token {token!r} has id {token_id}; ids are from 0 to {MAX_TOKEN_ID}"
            )
    # Before the arrays are built: here missing bytes are easiest to name.
    _refuse_missing(byte for byte in range(256) if bytes([byte]) not in mergeable_ranks)


def _check_arrays(arena: bytes, lengths: NDArray[Any], ids: NDArray[Any]) -> None:
    """Refuse arrays whose tokens do not tile the arena."""
    if lengths.ndim != 1 or lengths.shape != ids.shape:
        raise VocabularyError(
            f"lengths have shape {lengths.shape} and ids {ids.shape}; "
            "both need one entry for each token"
        )
    if lengths.dtype.kind not in "iu" or ids.dtype.kind not in "iu":
        raise VocabularyError(
            f"lengths are {lengths.dtype} and ids {ids.dtype}; both must be integers"
        )
    if len(ids) > MAX_TOKEN_COUNT:
        raise VocabularyError(f"{len(ids)} tokens; at most {MAX_TOKEN_COUNT} are supported")
    if len(arena) > MAX_ARENA_BYTES:
        raise VocabularyError(
            f"the tokens have {len(arena)} bytes; at most {MAX_ARENA_BYTES} are supported"
        )
    if (lengths < 1).any() or (lengths > len(arena)).any() or int(lengths.sum()) != len(arena):
        raise VocabularyError(
            f"the token lengths do not divide the {len(arena)} bytes among {len(lengths)} tokens"
        )
    in_order = ids if bool((ids[1:] > ids[:-1]).all()) else np.sort(ids)
    repeated = np.flatnonzero(in_order[1:] == in_order[:-1])
    if repeated.size:
        raise VocabularyError(f"id {in_order[repeated[0]]} is given to two tokens")
    if ids.size and not 0 <= int(in_order[0]) <= int(in_order[-1]) <= MAX_TOKEN_ID:
        raise VocabularyError(
            f"the ids run from {in_order[0]} to {in_order[-1]}; "
            f"they must lie in 0 to {MAX_TOKEN_ID}"
        )


def _check_single_bytes(arena: bytes, lengths: NDArray[Any], offsets: NDArray[np.uint64]) -> None:
    places = offsets[:-1][lengths == 1].astype(np.int64)
    present = np.bincount(np.frombuffer(arena, dtype=np.uint8)[places], minlength=256)
    if present.max() > 1:
        twice = bytes([int(present.argmax())])
        raise VocabularyError(f"token {twice!r} appears twice; tokens must be unique")
    _refuse_missing(np.flatnonzero(present == 0).tolist())


def _refuse_missing(missing_bytes: Iterable[int]) -> None:
    missing = [bytes([byte]) for byte in missing_bytes]
    if not missing:
        return
    named = ", ".join(map(repr, missing[:_NAMED_AT_MOST]))
    more = f" and {len(missing) - _NAMED_AT_MOST} more" if len(missing) > _NAMED_AT_MOST else ""
    subject = "1 single byte has" if len(missing) == 1 else f"{len(missing)} single bytes have"
    raise VocabularyError(
        f"{subject} no token: {named}{more}; any text can contain any byte, "
        "so each of the 256 needs a token"
    )


def _check_left_lengths(left_lengths: NDArray[Any], lengths: NDArray[Any]) -> None:
    if left_lengths.shape != lengths.shape or left_lengths.dtype.kind not in "iu":
        raise VocabularyError(
            f"left_lengths are {left_lengths.dtype} of shape {left_lengths.shape}; "
            f"they must be integers of shape {lengths.shape}"
        )
    wrong = np.flatnonzero((left_lengths < 0) | (left_lengths >= lengths))
    if wrong.size:
        index = int(wrong[0])
        raise VocabularyError(
            f"the left part of token {index} has {left_lengths[index]} bytes and the token "
            f"{lengths[index]}; a left part is shorter than its token"
        )
