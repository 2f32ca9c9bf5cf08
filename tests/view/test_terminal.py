"""The view in a terminal: all of the text, and no command from it."""

import re

import pytest

import cutline
from cutline.chunks import Chunk
from cutline.view import terminal_view
from cutline.view.terminal import printable
from cutline.view.tokens import Tokenizer
from tests.pipeline.families import build
from tests.view.samples import TEXTS, encoding, overlapping, stripped
from tests.wrapping.made import made, wrapped

COLOR = re.compile(r"\x1b\[(?:0|1|38;5;\d+;48;5;\d+)m")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("has_colors", [True, False])
def test_every_chunk_is_shown_whole(text: str, has_colors: bool) -> None:
    for chunks in (overlapping(text), stripped(text)):
        shown = "".join(terminal_view(text, chunks, encoding(), has_colors=has_colors))
        plain = re.sub("[⟪⟫]", "", COLOR.sub("", shown))
        place = 0
        for chunk in chunks:
            place = plain.index(f"\n#{chunk.index}  ", place)
            assert f"{chunk.token_count:,} tokens" in plain[place:].splitlines()[1]
            place = plain.index(printable(chunk.text), place)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_control_reaches_the_terminal(text: str) -> None:
    title = "a\x1b]0;title\x07\n"
    shown = "".join(terminal_view(text, overlapping(text), encoding(), title=title))
    plain = COLOR.sub("", shown)
    assert set(re.findall(r"[\x00-\x1f\x7f-\x9f]", plain)) <= {"\n", "\t"}
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", plain)


def test_names_cannot_speak_to_the_terminal() -> None:
    named = cutline.Encoding.from_vocabulary(
        "\x1b]0;a\x07\nb",
        pat_str=None,
        vocabulary=cutline.get_encoding("gpt2")._vocabulary,
        special_tokens={},
    )
    shown = "".join(terminal_view("one", ["one"], named, title="\x1b[31m\n", has_colors=False))
    assert "\x1b" not in shown
    assert "␛]0;a␇␊b" in shown


def test_without_colors_there_is_no_escape() -> None:
    text = TEXTS["scripts"]
    shown = "".join(terminal_view(text, overlapping(text), encoding(), has_colors=False))
    assert "\x1b" not in shown


def test_neighbouring_tokens_differ_and_what_is_shared_is_grey() -> None:
    text = "one two three four"
    chunks = encoding().split(text, 3, 1)
    shown = "".join(terminal_view(text, chunks, encoding(), chunk_size=3))
    colored = re.findall(r"\x1b\[38;5;16;48;5;(\d+)m([^\x1b]*)", shown)
    assert colored == [
        ("230", "one"),
        ("223", " two"),
        ("230", " th"),
        ("254", "ree"),
        ("254", "ree"),
        ("153", " four"),
    ]


def test_what_is_shared_is_between_signs_without_colors() -> None:
    text = "one two three four five"
    chunks = encoding().split(text, 3, 1)
    shown = "".join(terminal_view(text, chunks, encoding(), has_colors=False))
    lines = [line for line in shown.splitlines()[3:] if line and not line.startswith("#")]
    assert [chunk.text for chunk in chunks] == ["one two three", "ree four five"]
    assert lines == ["one two th⟪ree⟫", "⟪ree⟫ four five"]


def test_a_chunk_that_others_hold_whole_is_between_signs() -> None:
    text = "one two three"
    chunks = [Chunk(text[a:b], a, b, 1, n) for n, (a, b) in enumerate([(0, 7), (3, 7), (7, 13)])]
    shown = "".join(terminal_view(text, chunks, encoding(), has_colors=False))
    assert "one⟪ two⟫\n" in shown
    assert "\n⟪ two⟫\n" in shown
    assert "\n three\n" in shown


def test_lost_text_is_named() -> None:
    text = "  one  "
    shown = "".join(terminal_view(text, stripped(text), encoding(), has_colors=False))
    assert "2 characters in no chunk: ··" in shown


def painted(text: str, tokenizer: Tokenizer) -> list[str]:
    shown = "".join(terminal_view(text, [text], tokenizer))
    return re.findall(r"\x1b\[38;5;16;48;5;\d+m([^\x1b]*)", shown)


@pytest.mark.parametrize("has_colors", [True, False])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_chunks_of_wrapped_tokenizers_are_shown_whole(text: str, has_colors: bool) -> None:
    for kind in ("bert", "unigram_that_strips", "sentence_piece"):
        chunks = wrapped(kind).split(text, 16, 4)
        shown = "".join(terminal_view(text, chunks, wrapped(kind), has_colors=has_colors))
        plain = re.sub("[⟪⟫]", "", COLOR.sub("", shown))
        assert all(printable(chunk.text) in plain for chunk in chunks)


def test_tokens_of_other_makes_take_turns_in_colour() -> None:
    assert painted("the words  count", wrapped("words")) == ["the", " ", "words", "  ", "count"]
    without_places = cutline.wrap(made("words"))
    without_places._has_offsets = False
    assert painted("the words  count", without_places) == ["the words  count"]
    changing = cutline.Encoding.from_tokenizers(build("compatible"))
    assert painted("x½y", changing) == ["x", "½", "y"]
