"""Boundaries of one kind, and sentence windows."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutline
from cutline import boundaries, sentence_windows
from tests.integrations.samples import FISH, REPEATED, UNUSUAL
from tests.oracles import counter

KINDS = ("paragraph", "entry", "line", "sentence", "phrase", "word", "grapheme", "character")
TEXTS = {"fish": FISH, "repeated": REPEATED, "unusual": UNUSUAL, "empty": "", "white": " \n\n "}


@given(st.text(st.sampled_from("aB. \n!é中👍\u0301\ud800"), max_size=60), st.sampled_from(KINDS))
def test_boundaries_rise_to_the_end_of_the_text(text: str, kind: str) -> None:
    found = boundaries(text, kind)
    assert found == sorted(set(found))
    assert found[-1:] == ([len(text)] if text else [])
    assert not text or found[0] > 0


@pytest.mark.parametrize("kind", ["sentence", "phrase", "word", "paragraph"])
def test_boundaries_are_those_that_chunks_end_at(kind: str) -> None:
    text = FISH + UNUSUAL
    ends = set(boundaries(text, kind))
    for chunk in cutline.TextChunker("o200k_base", 20, levels=[kind]).chunk(text):
        # Whether a line end wraps a sentence is told by the text from the chunk's start on.
        if chunk.metadata["boundary"] == kind and (kind != "sentence" or not chunk.index):
            assert chunk.end_index in ends


def test_boundaries_of_patterns_and_functions() -> None:
    assert boundaries("a;b;c", re.compile(";")) == [2, 4, 5]
    assert boundaries("abc", lambda text: [2, 1]) == [1, 2, 3]
    with pytest.raises(ValueError, match="there is no level 'syllable'"):
        boundaries("abc", "syllable")
    with pytest.raises(TypeError, match="text must be a str, got bytes"):
        boundaries(b"abc", "word")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("around", [0, 1, 3, 99])
def test_windows_are_the_sentences_around(text: str, around: int) -> None:
    count = counter("o200k_base")
    found = list(sentence_windows(text, "o200k_base", around))
    sentences = [one.sentence.text for one in found]
    assert "".join(sentences) == text
    assert not any(one.isspace() for one in sentences[1:])
    for place, (sentence, window) in enumerate(found):
        near = sentences[max(0, place - around) : place + around + 1]
        assert window.text == "".join(near)
        assert sentence.index == window.index == place
        for chunk in (sentence, window):
            assert chunk.text == text[chunk.start_index : chunk.end_index]
            assert chunk.token_count == count(chunk.text)


def test_arguments_of_windows_are_checked_at_once() -> None:
    with pytest.raises(ValueError, match="around must be 0 or more sentences, got -1"):
        sentence_windows("a", "o200k_base", -1)
    with pytest.raises(cutline.SurrogateError):
        sentence_windows("\ud800", "o200k_base")
