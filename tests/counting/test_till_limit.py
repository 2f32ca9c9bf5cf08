"""Counting up to a limit gives the count or None, and reads no more of a long text than decides."""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.counting import till_limit
from cutline.counting.recounted import RecountedAppender
from cutline.counting.with_special import WithSpecial
from cutline.pipeline.pipeline import Pipeline
from cutline.pipeline.words import WordPipeline
from tests.conftest import short_or_long
from tests.pipeline import characters, families
from tests.texts import NAMED_TEXTS
from tests.words.configurations import ONE_WORD
from tests.words.tokenizers_of import CONFIGURATIONS, MODELS, tokenizer_of

tokenizers = pytest.importorskip("tokenizers", reason="the oracle of these tests")

LONG = "One of 12 words, and the other's: a café\u0301. " * 20_000
# A word is one token, however long; and no prefix says how far a cut reaches.
ALL_DECIDES = (
    *(f"WordPiece, {name}" for name in ONE_WORD),
    *(f"{kind}, runs removed" for kind in MODELS),
)


def of_characters(name: str) -> Any:
    return tokenizers.Tokenizer.from_str(characters.make_document(name))


def of_words(kind: str, name: str) -> Any:
    return tokenizer_of(kind, name, random.Random(3))


TOKENIZERS: dict[str, Callable[[], Any]] = {
    **{name: partial(families.build, name) for name in families.FAMILIES},
    **{name: partial(of_characters, name) for name in characters.CONFIGURATIONS},
    **{
        f"{kind}, {name}": partial(of_words, kind, name)
        for kind in MODELS
        for name in CONFIGURATIONS
    },
}


def loaded(name: str, folder: Path) -> tuple[cutline.Encoding, Callable[[str], int]]:
    """An encoding, and what counts by the package."""
    tokenizer = TOKENIZERS[name]()
    path = folder / "tokenizer.json"
    path.write_text(tokenizer.to_str(), encoding="utf-8")
    return cutline.load(path), families.count_of(tokenizer)


def noted_lengths(
    monkeypatch: pytest.MonkeyPatch, owners: tuple[type, ...], method: str
) -> list[int]:
    """The characters of each text that is the last argument of a method."""
    lengths: list[int] = []
    for owner in owners:
        count = getattr(owner, method)

        def noted(*given: Any, count: Any = count) -> Any:
            lengths.append(len(given[-1]))
            return count(*given)

        monkeypatch.setattr(owner, method, noted)
    return lengths


@short_or_long("n_texts", 4, 25)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_it_is_the_count_or_none(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, n_texts: int
) -> None:
    monkeypatch.setattr(till_limit, "_LEAST", 4)
    monkeypatch.setattr(till_limit, "_CHARACTERS_A_TOKEN", 1)
    encoding, count = loaded(name, tmp_path)
    texts = families.texts_with(TOKENIZERS[name](), 5, n_texts)
    for text in [*texts, *(one[:150] for one in NAMED_TEXTS.values())]:
        if any("\ud800" <= character <= "\udfff" for character in text):
            continue
        tokens = count(text)
        for limit in {0, 1, 3, tokens // 2, tokens - 1, tokens, tokens + 1} - {-1}:
            want = tokens if tokens <= limit else None
            assert encoding.count_till_limit(text, limit) == want, (text, limit)


@pytest.mark.parametrize("name", ["qwen 2.5", "not split", "llama 2", "WordPiece, t5"])
def test_surrogates_are_counted(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(till_limit, "_LEAST", 4)
    encoding, _ = loaded(name, tmp_path)
    for text in ("a" * 30 + "\ud800", "\ud83d\ude00" * 20, "ab " * 9 + "\udc00" * 9 + " ab" * 20):
        tokens = encoding.count(text)
        for limit in range(tokens + 2):
            want = tokens if tokens <= limit else None
            assert encoding.count_till_limit(text, limit) == want


@pytest.mark.parametrize("name", [name for name in TOKENIZERS if name not in ALL_DECIDES])
def test_no_more_is_counted_than_decides(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    encoding, _ = loaded(name, tmp_path)
    counted = noted_lengths(monkeypatch, (Pipeline, WordPipeline), "count")
    assert encoding.count_till_limit(LONG, 100) is None
    assert not encoding.fits(LONG, 100)
    assert sum(counted) <= 2 * till_limit._LEAST


def test_nor_with_special_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = noted_lengths(monkeypatch, (WithSpecial,), "count")
    encoding, text = cutline.get_encoding("o200k_base"), "one <|endoftext|> two " * 30_000
    assert not encoding.fits(text, 5, allowed_special="all")
    assert sum(counted) <= till_limit._LEAST


@pytest.mark.parametrize("name", ["qwen 2.5", "clip", "nllb", "llama 2", "not split"])
def test_a_growing_text_fits_or_not(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(till_limit, "_LEAST", 4)
    monkeypatch.setattr(till_limit, "_CHARACTERS_A_TOKEN", 1)
    encoding, count = loaded(name, tmp_path)
    rng = random.Random(8)
    texts = families.texts_with(TOKENIZERS[name](), 6, 40)
    for begun, more in zip(texts, rng.sample(texts, len(texts)), strict=True):
        tokens, growing = count(begun + more), encoding.appender(begun)
        for limit in {0, tokens // 2, tokens - 1, tokens, tokens + 1} - {-1}:
            assert growing.fits(more, limit) == (tokens <= limit), (begun, more, limit)


@pytest.mark.parametrize("name", ["qwen 2.5", "nllb"])
def test_a_growing_text_counts_no_more_than_decides(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    encoding, _ = loaded(name, tmp_path)
    counted = noted_lengths(monkeypatch, (RecountedAppender,), "_count_with")
    assert not encoding.appender("Begun é").fits(LONG, 100)
    assert sum(counted) <= till_limit._LEAST
