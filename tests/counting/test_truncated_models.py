"""Truncated texts of every kind of model: they fit, and none of the next longer ones does."""

import random
from pathlib import Path

import pytest

from cutline import Encoding
from cutline.counting.truncating import LOOK_AHEAD
from tests.conftest import short_or_long

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")
overlaps = pytest.importorskip("tests.words.test_overlaps")
families = pytest.importorskip("tests.pipeline.families")
characters = pytest.importorskip("tests.pipeline.characters")
tokenizers_of = pytest.importorskip("tests.words.tokenizers_of")

MARKERS = ["…", "", " [cut] ", "\u0301", "a", "\n\n"]


def text_for(rng: random.Random) -> str:
    plain = rng.choices(("the ", "The1", "a b ", "box.", "\n", "  ", "e\u0301", "café"), k=60)
    return "".join(plain[: rng.randint(0, 60)]) + overlaps.some_text(rng)


def check(rng: random.Random, encoding: Encoding) -> None:
    text, marker, n = text_for(rng), rng.choice(MARKERS), rng.choice((0, 1, 2, 5, 20, 60))
    if encoding.count(marker) > n or encoding.fits(text, n):
        return
    start = encoding.truncate(text, n, "start", marker)
    end = encoding.truncate(text, n, "end", marker)
    assert encoding.count(start) <= n
    assert encoding.count(end) <= n
    kept = len(start) - len(marker)
    assert start == text[:kept] + marker
    for length in range(kept + 1, min(kept + LOOK_AHEAD, len(text) - 1) + 1):
        assert encoding.count(text[:length] + marker) > n, ascii((text, marker, n, length))
    kept = len(end) - len(marker)
    assert end == marker + text[len(text) - kept :]
    for length in range(kept + 1, min(kept + LOOK_AHEAD, len(text) - 1) + 1):
        assert encoding.count(marker + text[-length:]) > n, ascii((text, marker, n, -length))
    both = encoding.truncate(text, n, "both", marker)
    assert encoding.count(both) <= n
    assert marker in both


@short_or_long("many", 7, 1_000)
@pytest.mark.parametrize(("kind", "name"), overlaps.CASES)
def test_models_of_words(kind: str, name: str, many: int, tmp_path: Path) -> None:
    rng = random.Random(f"{kind}{name}")
    _, encoding = tokenizers_of.both(kind, name, rng, tmp_path)
    for _ in range(many):
        check(rng, encoding)


@short_or_long("many", 7, 1_000)
@pytest.mark.parametrize("family", families.FAMILIES)
def test_byte_level_models(family: str, many: int) -> None:
    rng, encoding = random.Random(family), Encoding.from_tokenizers(families.build(family))
    for _ in range(many):
        check(rng, encoding)


@short_or_long("many", 20, 1_000)
@pytest.mark.parametrize("name", characters.CONFIGURATIONS)
def test_models_over_characters(name: str, many: int) -> None:
    document = characters.make_document(name)
    encoding = Encoding.from_tokenizers(tokenizers.Tokenizer.from_str(document))
    rng = random.Random(name)
    for _ in range(many):
        check(rng, encoding)
