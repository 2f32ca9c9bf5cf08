"""Encoders by hand: any vocabulary, any split pattern, caches of any size."""

from functools import cache

from cutline.kernels.encode.encoder import Encoder
from cutline.tables import build_bpe_tables, build_scan_tables
from cutline.vocabulary import (
    Vocabulary,
    packaged_encoding,
)
from tests.packaged import packaged_vocabulary
from tests.vocabularies import Ranks, vocabulary_of

# log2 of the entries of both caches: no caches, an entry each, as shipped.
NO_CACHES = (-1, -1)
SMALLEST_CACHES = (0, 0)
DEFAULT_CACHES = (17, 16)


def encoder_of(
    vocabulary: Vocabulary, pat_str: str | None, cache_bits: tuple[int, int] = NO_CACHES
) -> Encoder:
    """The kernel's own encoder, without what `cutline.Encoding` adds."""
    encoder = Encoder()
    encoder._bind(build_bpe_tables(vocabulary), build_scan_tables(pat_str), None, cache_bits)
    return encoder


@cache
def packaged(name: str, cache_bits: tuple[int, int] = NO_CACHES) -> Encoder:
    """An encoder of a packaged encoding; the same object each time."""
    spec = packaged_encoding(name)
    return encoder_of(packaged_vocabulary(spec), spec.pat_str, cache_bits)


def whole_piece(ranks: Ranks, cache_bits: tuple[int, int] = NO_CACHES) -> Encoder:
    """An encoder that does not split."""
    return encoder_of(vocabulary_of(ranks), None, cache_bits)
