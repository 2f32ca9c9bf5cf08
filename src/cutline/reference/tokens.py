"""A vocabulary with derived data: canonical pairs, regular tokens, automata.

Everything here describes `E`, pure merging, without the whole-piece rule.

Source: docs/algorithm.md, "Canonical pairs".
"""

from collections.abc import Mapping
from functools import cached_property

from cutline.reference.search import Automaton, automaton_of
from cutline.reference.textbook import merge
from cutline.vocabulary import Vocabulary

__all__ = ["Tokens"]


class Tokens(dict[bytes, int]):
    """The rank of every token. Must not be changed.

    Args:
        vocabulary: a `Vocabulary`, or the rank of every token by its bytes, which is its id as
            well. Tokens may be non-monotone or unreachable.

    Attributes:
        ids: the id of every token.
        splits: the canonical pair of every reachable token of several bytes: the two parts of
            its last merge. A token is *reachable* if it is in here or a single byte.
        regular: the reachable tokens in whose merges ranks never decrease.
        longest: length in bytes of the longest token.
        pair_cache: results of the pair check.

    Raises:
        VocabularyError: (a ValueError) an id is given twice, or a single byte has no token.

    Cost: quadratic in a token's length, linear in their number; about 4 s for o200k_base.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"abc": 256, b"bc": 257, b"xyz": 258}
    >>> tokens = Tokens(ranks)
    >>> tokens.splits
    {b'bc': (b'b', b'c'), b'abc': (b'a', b'bc')}
    >>> b"bc" in tokens.regular, b"abc" in tokens.regular, b"xyz" in tokens.regular
    (True, False, False)
    """

    def __init__(self, vocabulary: Vocabulary | Mapping[bytes, int]) -> None:
        if not isinstance(vocabulary, Vocabulary):
            vocabulary = Vocabulary.from_ranks(vocabulary)
        super().__init__((token, rank) for rank, token in enumerate(vocabulary.tokens()))
        self.ids = vocabulary.to_ranks()
        self.longest = max(map(len, self))
        self.pair_cache: dict[tuple[bytes, bytes], bool] = {}
        self.splits: dict[bytes, tuple[bytes, bytes]] = {}
        self.regular = {token for token in self if len(token) == 1}
        for token in sorted(self, key=len):
            # Stop before the last merge: its two parts are the canonical pair.
            parts = merge(self, token, stop_at=2)
            if len(parts) == 2:
                self.splits[token] = parts[0], parts[1]
                if all(self._may_precede(part, token) for part in parts):
                    self.regular.add(token)

    def _may_precede(self, part: bytes, token: bytes) -> bool:
        return part in self.regular and (len(part) == 1 or self[part] < self[token])

    def is_reachable(self, token: bytes) -> bool:
        """Return whether merging a token's bytes forms it."""
        return len(token) == 1 or token in self.splits

    @cached_property
    def reachable(self) -> Automaton:
        """Finds the reachable tokens. Cost: linear in their bytes."""
        return automaton_of(filter(self.is_reachable, self))

    @cached_property
    def everything(self) -> Automaton:
        """Finds all tokens. Cost: as `reachable`."""
        return automaton_of(self)

    @cached_property
    def shorter(self) -> dict[bytes, bytes]:
        """For each reachable token the longest reachable token that is a proper prefix of it.

        Single bytes have none. Cost: linear in the tokens' bytes.
        """
        return {
            token: next(
                filter(self.is_reachable, (token[:k] for k in range(len(token) - 1, 0, -1)))
            )
            for token in self.splits
        }
