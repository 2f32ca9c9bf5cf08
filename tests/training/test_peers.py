"""All merges at 32,000 tokens are those of rustbpe, bpeasy and Hugging Face's trainer."""

from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
import regex

import cutline
from cutline.training.merging import train_vocabulary
from tests.training.test_train import GPT2

VOCAB_SIZE = 32_000
bpeasy = pytest.importorskip("bpeasy")
rustbpe = pytest.importorskip("rustbpe")
tokenizers = pytest.importorskip("tokenizers")

pytestmark = pytest.mark.exhaustive


def tokens_by_id(ranks: dict[bytes, int]) -> list[bytes]:
    return sorted(ranks, key=ranks.__getitem__)


@lru_cache(maxsize=1)
def ours(corpus: str) -> list[bytes]:
    """Our tokens; both peers merge pairs that occur only once, too."""
    encoding = cutline.train(iter([corpus]), VOCAB_SIZE, pat_str=GPT2, ties="ids", min_frequency=1)
    return list(encoding._mergeable_ranks)


def test_tokens_are_those_of_rustbpe(corpus: str) -> None:
    trainer = rustbpe.Tokenizer()
    trainer.train_from_iterator(iter([corpus]), VOCAB_SIZE, pattern=GPT2)
    ranks = {bytes(token): rank for token, rank in trainer.get_mergeable_ranks()}
    assert ours(corpus) == tokens_by_id(ranks)


def test_tokens_are_those_of_bpeasy(corpus: str) -> None:
    longest = 1_000
    assert ours(corpus) == tokens_by_id(bpeasy.train_bpe(iter([corpus]), GPT2, longest, VOCAB_SIZE))


def test_tokens_are_those_of_hugging_face(corpus: str) -> None:
    """Its ids, which decide ties, are in the order of the characters that stand for bytes."""
    pre_tokenizers = tokenizers.pre_tokenizers
    alphabet = {
        pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(chr(byte))[0][0]: byte
        for byte in range(128)
    }
    alphabet |= upper_half(set(pre_tokenizers.ByteLevel.alphabet()) - set(alphabet))
    bytes_in_order = bytes(alphabet[character] for character in sorted(alphabet))
    rank_of_byte = bytes(bytes_in_order.index(byte) for byte in range(256))

    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=sorted(alphabet),
    )
    model.train_from_iterator([corpus], trainer)
    ids = model.get_vocab()
    theirs = [bytes(alphabet[c] for c in token) for token in sorted(ids, key=ids.__getitem__)]

    # With bytes numbered as there, ours are the same merges.
    counts = Counter(
        match.group().encode().translate(rank_of_byte) for match in regex.finditer(GPT2, corpus)
    )
    vocabulary = train_vocabulary(
        np.frombuffer(b"".join(counts), dtype=np.uint8),
        np.cumsum([0, *map(len, counts)], dtype=np.int64),
        np.fromiter(counts.values(), dtype=np.int64, count=len(counts)),
        n_merges=VOCAB_SIZE - 256,
        min_frequency=2,
        ties="ids",
        max_token_length=None,
        progress=None,
    )
    assert [token.translate(bytes_in_order) for token in vocabulary.tokens()] == theirs


def upper_half(characters: set[str]) -> dict[str, int]:
    """The characters of the bytes from 128: printable Latin-1 is itself, the rest comes behind."""
    printed = [*range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(128, 256) if byte not in printed]
    named = {chr(byte): byte for byte in printed}
    behind = sorted(characters - set(named))
    return named | dict(zip(behind, others, strict=True))
