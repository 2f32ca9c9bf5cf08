"""What a fuzzed text is encoded with, and the text that bytes stand for."""

import random
from dataclasses import dataclass
from functools import lru_cache

import regex
import tiktoken

import cutline
from cutline import reference
from tests.oracles import DISTINCT, longest_token_bytes, real_tiktoken, with_oracle
from tests.vocabularies import TOY_TOKENS, random_ranks, with_bytes

GAPPED_PATTERN = r"[\p{L}\n]+| +(?!\S)"
PATTERNS = (
    None,
    GAPPED_PATTERN,
    r"\w+|\s+|[^\w\s]+",
    r"[a-c]+|[^a-c]",
    r" ?\p{L}+|\s+(?!\S)|\s+|[^\s\p{L}]",
)
ALPHABETS = ("a", "ab", "abc", "abcd ", "ab \n", "aé", "中文 ", "😀\u200d")
REPEATS = (1, 1, 1, 1, 2, 3, 9, 70, *[1] * 24)
MAX_CHARACTERS = 20_000
N_KEPT = 300  # of a byte there are 256


@dataclass(frozen=True, slots=True)
class Subject:
    """An encoding, the same in tiktoken, and the letters that its tokens are made of."""

    ours: cutline.Encoding
    real: tiktoken.Encoding
    letters: str
    """Empty for a packaged encoding, whose tokens use them all."""
    token_reach: int
    """Characters that a token stands for at most; any number where a pattern drops text."""

    def count(self, text: str) -> int:
        """Count tokens by encoding with tiktoken."""
        return len(tiktoken.Encoding.encode_ordinary(self.real, text))  # whatever the ids are

    def text(self, kind: int, data: bytes) -> str:
        """Make a text of bytes: as UTF-8, with surrogates for what is not, or token by token.

        Where tokens use few letters, a byte is one of them instead.
        """
        if self.letters:
            return "".join(self.letters[byte % len(self.letters)] for byte in data)
        if kind % 3 < 2:
            return data.decode("utf-8", ("replace", "surrogateescape")[kind % 3])
        n_tokens = len(self.ours._vocabulary)
        drawn = (
            int.from_bytes(data[place : place + 3]) % n_tokens for place in range(0, len(data), 3)
        )
        return b"".join(map(self.ours._vocabulary.token_bytes, drawn)).decode("utf-8", "replace")


@lru_cache(maxsize=N_KEPT)
def reference_tokens(encoding: cutline.Encoding) -> reference.Tokens:
    """Make of the vocabulary what the reference takes."""
    return reference.Tokens(encoding._vocabulary)


def reference_count(chosen: Subject, text: str) -> int:
    """Count tokens by the reference, piece by piece.

    Packaged encodings are left to tiktoken: its Unicode classes are not those of `regex`.
    """
    if not chosen.letters:
        return chosen.count(text)
    pattern = chosen.ours._pat_str
    pieces = [text] if pattern is None else regex.findall(pattern, text)
    tokens = reference_tokens(chosen.ours)
    return sum(len(reference.encode_backtracking(tokens, piece.encode())) for piece in pieces)


@lru_cache(maxsize=N_KEPT)
def subject(number: int) -> Subject:
    """Subject 0-3: the packaged encodings. Then the toys, then random vocabularies."""
    if number < len(DISTINCT):
        name = DISTINCT[number]
        ours = cutline.get_encoding(name)
        return Subject(ours, real_tiktoken(name), "", longest_token_bytes(name))
    rng = random.Random(number)
    pat_str = rng.choice(PATTERNS)
    toys = list(TOY_TOKENS.values())
    if number < len(DISTINCT) + len(toys):
        tokens = toys[number - len(DISTINCT)]
        ranks = with_bytes(tokens)
        letters = b"".join(tokens).decode("utf-8", "ignore") or "ab"
    else:
        letters = rng.choice(ALPHABETS)
        ranks = random_ranks(rng, letters.encode())
    letters = "".join(sorted({*letters}))
    reach = MAX_CHARACTERS if pat_str == GAPPED_PATTERN else max(map(len, ranks))
    return Subject(*with_oracle(ranks, pat_str), letters, reach)
