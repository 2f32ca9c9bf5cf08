"""The vocabularies of the packaged encodings: as loaded, and what they were made of."""

from functools import cache
from pathlib import Path

import cutline
from cutline.vocabulary import PackagedEncoding, Vocabulary, unpack

SOURCES = Path(__file__).resolve().parents[1] / "tools" / "vocabularies"


def packaged_vocabulary(spec: PackagedEncoding) -> Vocabulary:
    return cutline.get_encoding(spec.rank_file)._vocabulary


@cache
def source_vocabulary(rank_file: str) -> Vocabulary:
    """What `tools` packed of a published file, and made the prepared tables of."""
    return unpack((SOURCES / f"{rank_file}.bin").read_bytes())
