"""Properties: the part of `Encoding` that says what it is, and which tokens it has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutline.pipeline.pipeline import Pipeline
    from cutline.spec import TokenizerSpec
    from cutline.vocabulary import Vocabulary

__all__ = ["Properties"]


class Properties:
    """What `Encoding` says of itself, most of it from its spec."""

    __slots__ = ()

    _make_spec: Callable[[], TokenizerSpec]
    _pipeline: Pipeline | None
    _special_tokens: dict[str, int]
    _special_token_values: frozenset[int]
    _is_byte_level: bool
    _highest_id: int
    """The highest id of a token that text encodes to."""

    @abstractmethod
    def _remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what was made before, or make it."""

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Count the special tokens that the model's template adds around a text.

        Args:
            pair: count those around two texts that are sent together.

        Returns:
            The number; 0 unless the encoding comes from a tokenizer with a template.

        >>> import cutline
        >>> cutline.get_encoding("gpt2").num_special_tokens_to_add()
        0
        """
        return self._spec.n_template_tokens[pair]

    @property
    def max_tokens(self) -> int | None:
        """The most tokens that the model reads, those of its template included.

        None if that is not known. `cutline.load` of a folder and `cutline.from_pretrained` read it
        from the files beside the tokenizer. Chunkers take `chunk_size="model"` for what it leaves
        for text.
        Source: docs/models.md, "The limit".
        """
        return self._spec.max_tokens

    @property
    def prompts(self) -> dict[str, str]:
        """The texts that the model expects before a text, by what it is, such as "query".

        Read like `max_tokens`; empty if none are known.
        """
        return dict(self._spec.prompts)

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all ordinary tokens, sorted."""
        return sorted(self._spec.bytes_by_id().values())

    @property
    def pat_str(self) -> str | None:
        """The split pattern; None if there is none."""
        return self._pat_str

    @property
    def content_hash(self) -> str:
        """SHA-256 in hex over everything that determines tokens and ids; equal if these are.

        The name is not included. Cost: linear in the vocabulary at the first use, then cached.

        >>> import cutline, pickle
        >>> enc = cutline.get_encoding("gpt2")
        >>> pickle.loads(pickle.dumps(enc)).content_hash == enc.content_hash
        True
        """
        content_hash: str = self._remember("content hash", lambda: self._spec.content_hash)
        return content_hash

    @property
    def max_token_value(self) -> int:
        """The highest token id."""
        if self._over_characters:
            characters = self._spec.characters
            assert characters is not None
            return characters.first_inner - 1
        others = [*self._special_tokens.values()]
        if self._pipeline is not None:
            others += self.added_tokens.values()
            others += self._spec.unreachable_tokens.values()
        if not self._is_byte_level:
            return max([int(self._vocabulary.ids.max(initial=0)), *others])
        return max([self._highest_id, *others])

    @property
    def n_vocab(self) -> int:
        """The highest token id plus one, as in tiktoken."""
        return self.max_token_value + 1

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`; KeyError if the encoding has none."""
        return self._special_tokens["<|endoftext|>"]

    @property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._special_tokens)

    @property
    def added_tokens(self) -> dict[str, int]:
        """Ids by text of all tokens that are searched for before a text is split.

        These are the special tokens and, from a tokenizer.json, added tokens that are not special.
        """
        return {token.content: token.id for token in self._spec.added_tokens}

    def is_special_token(self, token: int) -> bool:
        """Return whether an id is that of a special token."""
        return token in self._special_token_values

    @property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        ranks: dict[bytes, int] = self._remember("ranks", self._make_ranks)
        return ranks

    def _make_ranks(self) -> dict[bytes, int]:
        ranks: dict[bytes, int] = {}
        for token_id, token in self._spec.bytes_by_id().items():
            ranks.setdefault(token, token_id)  # what text encodes to comes first
        return ranks

    @property
    def _over_characters(self) -> bool:
        return self._pipeline is not None and self._spec.characters is not None

    @property
    def _spec(self) -> TokenizerSpec:
        spec: TokenizerSpec = self._remember("spec", self._make_spec)
        return spec

    @property
    def _vocabulary(self) -> Vocabulary:
        return self._spec.vocabulary

    @property
    def _pat_str(self) -> str | None:
        return self._spec.pat_str
