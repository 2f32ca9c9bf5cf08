"""Chunks of texts with a structure by every kind of model, compared with those found one by one."""

import random
from pathlib import Path
from typing import Any

import pytest

from cutline import Encoding, TextChunker
from cutline.chunking.chunk_finder import ChunkFinder
from cutline.chunking.chunk_stream import ChunkStream
from cutline.chunking.outline import Outline
from tests.chunking.test_blocks_of_models import ENTANGLED
from tests.chunking.test_outlined import random_structure
from tests.conftest import short_or_long

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
overlaps = pytest.importorskip("tests.words.test_overlaps")
families = pytest.importorskip("tests.pipeline.families")
characters = pytest.importorskip("tests.pipeline.characters")
tokenizers_of = pytest.importorskip("tests.words.tokenizers_of")

BYTE_LEVEL = [
    *("qwen 2.5", "gpt neox, olmo", "modernbert", "precompiled", "whisper", "prefix space"),
    "as bert normalizes",
]


def text_for(rng: random.Random, encoding: Encoding) -> str:
    added = [*encoding.added_tokens, "the ", "[1, 2]\n"]
    parts = ["the ", "a b ", "quick, ", "box.", "\n", "\n\n", '{"x": 1},']
    parts += rng.choices(added, k=2)
    plain = "".join(rng.choices(parts, k=rng.randint(0, 80)))
    return rng.choice((plain, overlaps.some_text(rng), plain + overlaps.some_text(rng)))


def check(rng: random.Random, encoding: Encoding) -> bool:
    """Compare the chunks of a text; return whether a kernel found many of them."""
    text, size = text_for(rng, encoding), rng.choice((4, 9, 70, 100, 256))
    rules = TextChunker(
        encoding, size, rng.choice((0, 0, 0, 1, size // 3, size - 1)),
        min_fill=rng.choice((0.0, 0.25, 1.0)), boundary=rng.choice(("grapheme", "character")),
        levels=rng.choice(((), ("line", "word"), ("paragraph", "line", "sentence", "word"))),
        balance=rng.random() < 0.3,
    )._rules  # fmt: skip
    outline = Outline(random_structure(rng, text))
    found: list[Any] = []
    is_quick = False
    for is_slow in (False, True):
        finder = ChunkFinder(text, encoding.intervals(text), rules, outline, encoding=encoding)
        if is_slow:
            finder._plain = None
        else:
            is_quick = finder.next_chunks(0, 0, len(text), 0) is not None
        stream = ChunkStream(rules)
        found.append(
            overlaps.outcome(
                lambda finder=finder, stream=stream, text=text: stream.chunks(
                    finder, 0, len(text), final=True
                )
            )
        )
    assert found[0] == found[1], ascii(text)
    return is_quick


@short_or_long("many", 10, 1_000)
@pytest.mark.parametrize(("kind", "name"), overlaps.CASES)
def test_models_of_words(kind: str, name: str, many: int, tmp_path: Path) -> None:
    rng = random.Random(f"{kind}{name}")
    _, encoding = tokenizers_of.both(kind, name, rng, tmp_path)
    n_quick = sum(check(rng, encoding) for _ in range(many))
    assert n_quick > many / 4 or name in ENTANGLED


@short_or_long("many", 60, 2_000)
@pytest.mark.parametrize("family", BYTE_LEVEL)
def test_byte_level_models(family: str, many: int) -> None:
    rng, encoding = random.Random(family), Encoding.from_tokenizers(families.build(family))
    assert sum(check(rng, encoding) for _ in range(many)) > many / 20


@short_or_long("many", 60, 2_000)
@pytest.mark.parametrize("family", ["llama 2", "gemma", "mistral", "nllb"])
def test_models_over_characters(family: str, many: int) -> None:
    document = characters.make_document(family)
    encoding = Encoding.from_tokenizers(tokenizers.Tokenizer.from_str(document))
    rng = random.Random(family)
    assert sum(check(rng, encoding) for _ in range(many)) > many / 20
