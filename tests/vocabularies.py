"""Small vocabularies with every property that a published one can do without."""

import random
import zlib
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise

import cutline
from cutline.vocabulary import Vocabulary


class Ranks(dict[bytes, int]):
    """Tokens in the order of merging, numbered by rank, and ids that may say nothing of it.

    Hugging Face's vocabularies are often numbered by frequency. So that no test takes the order
    of ids for that of merging, ids are drawn: from the tokens, so that they stay the same.
    """

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """The id of every token."""
        rng, own = random.Random(zlib.crc32(b"\n".join(self))), sorted(self.values())
        kind = rng.choice(("ranks", "two swapped", "permuted", "permuted", "sparse", "high"))
        if kind == "two swapped":
            first, second = rng.sample(range(len(own)), 2)
            own[first], own[second] = own[second], own[first]
        elif kind == "permuted":
            rng.shuffle(own)
        elif kind != "ranks":
            own = rng.sample(range(2**32 - 2 - 5 * len(own), 2**32 - 2), len(own))
            if kind == "sparse":
                own = rng.sample(range(200 * len(own)), len(own))
        return dict(zip(sorted(self, key=self.__getitem__), own, strict=True))

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens under these ids."""
        return Vocabulary.from_ranks(self.ids, sorted(self, key=self.__getitem__))


def ids_of(ranks: Mapping[bytes, int]) -> Mapping[bytes, int]:
    """The ids of drawn ranks; of others, which are a published vocabulary's, they are the ids."""
    return ranks.ids if isinstance(ranks, Ranks) else ranks


def vocabulary_of(ranks: Mapping[bytes, int]) -> Vocabulary:
    """The tokens under those ids."""
    return ranks.vocabulary if isinstance(ranks, Ranks) else Vocabulary.from_ranks(ranks)


def encoding_of(ranks: Mapping[bytes, int], pat_str: str | None) -> cutline.Encoding:
    """An encoding in which tokens merge by rank, without special tokens."""
    return cutline.Encoding.from_vocabulary(
        "drawn", pat_str=pat_str, vocabulary=vocabulary_of(ranks), special_tokens={}
    )


# Named because a rule that holds for OpenAI's vocabularies fails on them.
TOY_TOKENS: dict[str, tuple[bytes, ...]] = {
    "no tokens but bytes": (),
    "unreachable bca": (b"ac", b"bca"),
    "irregular abc": (b"abc", b"bc"),
    "retracted bbb": (b"bb", b"bbb"),
    "irregular chain": (b"abcd", b"bcd", b"cd"),
    "unreachable prefix": (b"ab", b"bc", b"abc", b"abcb"),
    "powers of a": (b"aa", b"aaaa", b"aaaaaaaa", b"a" * 16),
    "odd runs of a": (b"aa", b"aaa", b"aaaaa"),
    "overlapping thirds": (b"ab", b"ca", b"bc", b"abca", b"cab"),
    "han over blank": (b" \xe4", b"\xb8\xad", b"\xad\xe6", " 中文".encode(), "中文".encode()),
    "all pairs of ab": (b"ba", b"ab", b"bb", b"aa"),
}

# What no published pattern does: scans that look far, meet late or never, or in step only, and
# leave gaps; None: one piece for all.
SCANS: tuple[str | None, ...] = (
    None,
    r"ab*c|\w",
    r"a*b|a",
    r"a*b|\w",
    r"(?:aa)*b|a",
    r"(?:ab)+c|[abc]",
    r"a{1,70}|b+",
    r"a*ba*|a*c+|a|b|c",
    r"a+(?!\S)|\w| +",
    r"\S+|\s+(?!\S)|\s",
    r"b+",
    r"\p{L}+",
)


def with_bytes(tokens: tuple[bytes, ...]) -> Ranks:
    """The 256 bytes first, then the tokens in order."""
    single = (bytes([value]) for value in range(256))
    return Ranks({token: rank for rank, token in enumerate([*single, *tokens])})


def merged_tokens(rng: random.Random, alphabet: bytes, n_tokens: int) -> list[bytes]:
    """Tokens that are two earlier ones joined, as training makes them."""
    parts = [bytes([value]) for value in alphabet]
    made: list[bytes] = []
    for _ in range(n_tokens * 4):
        token = rng.choice(parts) + rng.choice(parts)
        if len(made) < n_tokens and token not in parts and len(token) <= 24:
            made.append(token)
            parts.append(token)
    return made


def arbitrary_tokens(rng: random.Random, alphabet: bytes, n_tokens: int) -> list[bytes]:
    """Tokens that merging may never reach, in any order of length."""
    drawn = (bytes(rng.choices(alphabet, k=rng.randint(2, 6))) for _ in range(n_tokens))
    return list(dict.fromkeys(drawn))


def giant_tokens(rng: random.Random, alphabet: bytes) -> list[bytes]:
    """Tokens of around 300 bytes with all that merging needs to reach some of them."""
    doubled = [alphabet[:1] * 2**k for k in range(1, 9)]
    return [*doubled, bytes(rng.choices(alphabet, k=300)), alphabet[:2] * 150]


def trained_tokens(text: bytes, n_tokens: int) -> list[bytes]:
    """Tokens by training on one piece: the most frequent pair, the smaller bytes on a tie.

    A pair that spells a token already made is left alone: tokens are unique.
    """
    parts = [text[i : i + 1] for i in range(len(text))]
    made: dict[bytes, None] = {}
    while len(made) < n_tokens:
        counts = Counter(pair for pair in pairwise(parts) if b"".join(pair) not in made)
        if not counts or max(counts.values()) < 2:
            break
        left, right = min(counts, key=lambda pair: (-counts[pair], pair))
        made[left + right] = None
        joined: list[bytes] = []
        for part in parts:
            if part == right and joined and joined[-1] == left:
                joined[-1] += part
            else:
                joined.append(part)
        parts = joined
    return list(made)


def rank_layout(rng: random.Random, tokens: list[bytes]) -> Ranks:
    """Ranks for tokens in this order or another: dense, with gaps, shuffled, or near 2**32."""
    kind = rng.choice(("dense", "gaps", "gaps", "high", "shuffled"))
    if kind == "shuffled":
        tokens = rng.sample(tokens, len(tokens))
    first = 2**32 - 2 - 1_000 * len(tokens) if kind == "high" else 0
    ranks: list[int] = []
    for _ in tokens:
        largest_gap = {"gaps": 20_000, "high": 1_000}.get(kind, 1)
        first += rng.randint(1, largest_gap)
        ranks.append(first)
    if kind == "gaps":
        ranks[-1] += 2**21
    return Ranks(zip(tokens, ranks, strict=True))


def random_ranks(rng: random.Random, alphabet: bytes) -> Ranks:
    """A random vocabulary over all bytes whose longer tokens use the alphabet alone."""
    makers = (merged_tokens, arbitrary_tokens)
    tokens = rng.choice(makers)(rng, alphabet, rng.choice((2, 5, 20, 80)))
    if rng.random() < 0.3:
        tokens += arbitrary_tokens(rng, alphabet, 10)
    if rng.random() < 0.2:
        tokens += giant_tokens(rng, alphabet)
    longer = list(dict.fromkeys(tokens))
    single = [bytes([value]) for value in range(256)]
    order = single + longer if rng.random() < 0.7 else longer + single
    return rank_layout(rng, order)


def character_ranks(rng: random.Random, letters: str) -> Ranks:
    """A random vocabulary of characters and words, and of tokens that break characters."""
    characters = [letter.encode() for letter in letters]
    tokens = [character[:end] for character in characters for end in range(2, len(character) + 1)]
    words = list(characters)
    for _ in range(rng.choice((3, 10, 40))):
        words.append(rng.choice(words) + rng.choice(words))
    tokens += words[len(characters) :]
    for _ in range(rng.choice((0, 1, 2, 6))):
        before, behind = rng.choice(words), rng.choice(words)
        tokens.append(before[rng.randrange(len(before)) :] + behind[: rng.randint(1, len(behind))])
        # Of a lower rank than the characters, so that it is formed first.
        tokens.insert(0, before[-1:] + behind[:1])
    if rng.random() < 0.2:
        rng.shuffle(tokens)
    longer = tuple(dict.fromkeys(token for token in tokens if 1 < len(token) <= 24))
    return with_bytes(longer)


def token_text(rng: random.Random, ranks: Mapping[bytes, int], n_tokens: int) -> bytes:
    """Whole and cut tokens in a row: what encoders meet at the seams."""
    longer = [token for token in ranks if len(token) > 1] or [b"ab"]
    parts = []
    for _ in range(n_tokens):
        token = rng.choice(longer)
        parts.append(token[rng.randrange(len(token)) :] if rng.random() < 0.3 else token)
    return b"".join(parts)
