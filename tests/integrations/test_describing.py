"""A chunker is written down as plain data, and is the same when it is made again."""

import json
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest

import cutline
from cutline.chunking.chunkers import Chunker
from cutline.integrations.describing import chunker_from, chunker_of, describe
from tests.integrations.samples import FISH, PYTHON, REPEATED, UNUSUAL

CHUNKERS: dict[str, Callable[[], Chunker]] = {
    "token": lambda: cutline.TokenChunker("gpt2", 16, 4),
    "token, graphemes": lambda: cutline.TokenChunker("gpt2", 16, boundary="grapheme", stable=True),
    "text": lambda: cutline.TextChunker("cl100k_base", 24, 5),
    "text, stable": lambda: cutline.TextChunker("o200k_base", 24, stable=True),
    "text, all options": lambda: cutline.TextChunker(
        "o200k_base",
        24,
        levels=["sentence", "word"],
        boundary="character",
        strip=True,
        min_fill=0.75,
        balance=True,
    ),
    "no levels": lambda: cutline.TextChunker("o200k_base", 24, levels=[]),
    "markdown": lambda: cutline.MarkdownChunker("o200k_base", 24, min_fill=0),
    "code": lambda: cutline.CodeChunker("python", "o200k_base", 12, 2),
}


@pytest.mark.parametrize("make", CHUNKERS.values(), ids=CHUNKERS)
def test_a_chunker_made_again_cuts_the_same(make: Callable[[], Chunker]) -> None:
    chunker = make()
    written = json.dumps(describe(chunker))
    for again in (chunker_from(json.loads(written)), pickle.loads(pickle.dumps(chunker))):
        assert type(again) is type(chunker)
        assert describe(again) == describe(chunker)
        for text in (FISH, PYTHON, REPEATED, UNUSUAL):
            assert again.chunk(text) == chunker.chunk(text)


def test_descriptions_tell_all_options_apart() -> None:
    written = [json.dumps(describe(make())) for make in CHUNKERS.values()]
    assert len(set(written)) == len(CHUNKERS)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"levels": [re.compile(";")]}, "with the level ';', a pattern or a function"),
        ({"levels": [re.compile("word")]}, "with the level 'word', a pattern or a function"),
        ({"levels": ["line", lambda text: [1]]}, "with the level '<lambda>', a pattern or"),
        ({"count_text": lambda chunk: chunk.token_count}, "with a count_text; make it in code"),
    ],
)
def test_what_has_no_name_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=re.escape(what)):
        describe(cutline.TextChunker("o200k_base", 8, **options))


def test_other_encodings_are_refused() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    own = cutline.Encoding("gpt2", pat_str=None, mergeable_ranks=ranks, special_tokens={})
    with pytest.raises(ValueError, match="with <Encoding 'gpt2'>, which get_encoding does not"):
        describe(cutline.TextChunker(own))


def test_other_classes_are_refused() -> None:
    class Own(cutline.TextChunker):
        pass

    with pytest.raises(ValueError, match="a chunker of class Own"):
        describe(Own("gpt2"))
    with pytest.raises(ValueError, match="one of token, text, markdown, code, got 'own'"):
        chunker_from({"kind": "own"})


def test_a_chunker_is_given_or_made_by_options() -> None:
    chunker = cutline.TokenChunker("gpt2", 16)
    assert chunker_of(chunker, {"chunk_size": None}) is chunker
    assert describe(chunker_of(None, {"chunk_size": None})) == describe(
        cutline.TextChunker("o200k_base")
    )
    with pytest.raises(TypeError, match="chunk_size, encoding and chunker are both given"):
        chunker_of(chunker, {"chunk_size": 5, "encoding": "gpt2", "strip": None})
    with pytest.raises(TypeError, match="chunker must be one of cutline's chunkers, got int"):
        chunker_of(5, {})  # type: ignore[arg-type]
