"""Every code point alone and in contexts, by BPE tokenizers of each kind, against `tokenizers`.

WordPiece and Unigram: tests/words.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import cutline
from tests.pipeline import characters, ended_characters
from tests.pipeline.families import FAMILIES, build, tokenizers

CONTEXTS = ("a{}", "{}a", " {} ", "a{}b", "1{}\u0301")
POINTS = [*range(0xD800), *range(0xE000, 0x110000)]
EVERY = 1_201  # in a short run
_BLOCK = 1 << 14
_TOGETHER = 64  # in one text, by contexts

KINDS: dict[str, Callable[[], Any]] = {
    **{f"bytes, {name}": partial(build, name) for name in FAMILIES},
    **{
        f"characters, {name}": partial(
            lambda name: tokenizers.Tokenizer.from_str(characters.make_document(name)), name
        )
        for name in characters.CONFIGURATIONS
    },
    **{
        f"ended, {name}": partial(ended_characters.trained, name, 0)
        for name in ended_characters.KINDS
    },
}


def texts_of(points: list[int]) -> list[str]:
    """The characters, each in a text of its own; and in contexts, many in a text."""
    alone = [*map(chr, points)]
    parts = [alone[at : at + _TOGETHER] for at in range(0, len(alone), _TOGETHER)]
    return alone + ["\n".join(map(one.format, part)) for part in parts for one in CONTEXTS]


def differing(kind: str, points: list[int]) -> list[str]:
    """The texts that are encoded or counted otherwise than there."""
    tokenizer = KINDS[kind]()
    encoding = cutline.Encoding.from_tokenizers(tokenizer)
    found = []
    for start in range(0, len(points), _BLOCK):
        texts = texts_of(points[start : start + _BLOCK])
        there = [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]
        here = encoding.encode_batch(texts, allowed_special="all")
        counts = encoding.count_batch(texts).tolist()
        for text, ids, ours, count in zip(texts, there, here, counts, strict=True):
            if ids != ours or count != len(ids):
                found.append(text)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_code_points_alone_and_in_contexts(kind: str) -> None:
    assert differing(kind, POINTS[::EVERY]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_every_code_point_alone_and_in_contexts(kind: str) -> None:
    assert differing(kind, POINTS) == []
