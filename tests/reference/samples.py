"""Vocabularies and texts for the reference: trained, random, and the worst known."""

import random
from collections.abc import Iterator
from functools import cache

from cutline.reference import Tokens
from cutline.vocabulary import (
    packaged_encoding,
)
from tests.packaged import packaged_vocabulary
from tests.texts import NAMED_TEXTS, WORDS
from tests.vocabularies import (
    TOY_TOKENS,
    Ranks,
    random_ranks,
    trained_tokens,
    vocabulary_of,
    with_bytes,
)

ALPHABETS = (b"a", b"ab", b"abc", b"abcd ", "aé".encode(), "中文 ".encode())
RUN_TOKENS = tuple(b"a" * 2**k for k in range(1, 9))


def tokens_of(ranks: Ranks) -> Tokens:
    return Tokens(vocabulary_of(ranks))


@cache
def packaged(name: str) -> Tokens:
    """A packaged encoding's tokens; the same object each time."""
    return Tokens(packaged_vocabulary(packaged_encoding(name)))


def fibonacci_word(length: int) -> str:
    """`abaababa...`: of all words that never repeat with a period the one closest to it."""
    shorter, word = "a", "ab"
    while len(word) < length:
        shorter, word = word, word + shorter
    return word[:length]


def de_bruijn_word(letters: str, length: int) -> str:
    """The first letters of a word in which every word of some length stands just once."""
    order = 1
    while len(letters) ** order < length:
        order += 1
    return "".join(_lyndon_words(letters, order))[:length]


def _lyndon_words(letters: str, order: int) -> Iterator[str]:
    """All Lyndon words whose length divides the order, sorted; joined they are de Bruijn's."""
    word = [-1]
    while word:
        word[-1] += 1
        if order % len(word) == 0:
            yield "".join(letters[place] for place in word)
        period = len(word)
        while len(word) < order:
            word.append(word[-period])
        while word and word[-1] == len(letters) - 1:
            word.pop()


def worst_texts(length: int) -> dict[str, str]:
    """Texts that make encoders slow or wrong, all of one length."""
    return {
        "one letter": "a" * length,
        "blanks": " " * length,
        "two letters": "ab" * (length // 2),
        "fibonacci": fibonacci_word(length),
        "de bruijn of two": de_bruijn_word("ab", length),
        "de bruijn of four": de_bruijn_word("abcd", length),
    }


@cache
def trained_ranks() -> dict[str, Ranks]:
    """Vocabularies trained on small texts of each kind."""
    rng = random.Random(5)
    texts = worst_texts(500) | {
        "words": " ".join(rng.choices(WORDS, k=600)),
        "named": "\n".join(text for text in NAMED_TEXTS.values() if len(text) < 200),
    }
    return {name: with_bytes(tuple(trained_tokens(t.encode(), 80))) for name, t in texts.items()}


def worst_ranks() -> dict[str, Ranks]:
    """One vocabulary for each worst text: what training on it gives, or runs of one letter."""
    blanks = tuple(token.replace(b"a", b" ") for token in RUN_TOKENS)
    return trained_ranks() | {"one letter": with_bytes(RUN_TOKENS), "blanks": with_bytes(blanks)}


def all_small_ranks(n_random: int) -> Iterator[tuple[Ranks, bytes]]:
    """Toy, trained and random vocabularies, each with letters that suit it."""
    for toy in TOY_TOKENS.values():
        yield with_bytes(toy), bytes(sorted(set(b"".join(toy)))) or b"ab"
    for ranks in trained_ranks().values():
        yield ranks, b"ab cd"
    rng = random.Random(3)
    for _ in range(n_random):
        alphabet = rng.choice(ALPHABETS)
        yield random_ranks(rng, alphabet), alphabet
