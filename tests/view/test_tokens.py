"""Cells are the fewest tokens that make up whole characters."""

from itertools import pairwise

import pytest

import cutline
from cutline import Chunk
from cutline.view.tokens import ShownTokens, tokenizer_of, tokens_of
from tests.pipeline.families import FAMILIES, build, texts_with
from tests.view.samples import TEXTS, encoding
from tests.wrapping.made import KINDS, made, some_texts, wrapped


def whole(text: str) -> list[Chunk]:
    return [Chunk(text, 0, len(text), 0, 0)]


@pytest.mark.parametrize("name", ["o200k_base", "gpt2"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_cells_tile_text_and_tokens(name: str, text: str) -> None:
    enc = cutline.get_encoding(name)
    shown = tokens_of(enc, whole(text))
    [tokens] = shown.of_texts
    assert tokens == enc.encode_ordinary(text)
    reached = token = 0
    for cell in shown.cells(text):
        assert (cell.start, cell.first) == (reached, token)
        content = enc.decode_bytes(tokens[cell.first : cell.last])
        assert content.decode() == text[cell.start : cell.end]
        for end in range(cell.first + 1, cell.last):
            with pytest.raises(UnicodeDecodeError):
                enc.decode_bytes(tokens[cell.first : end]).decode()
        reached, token = cell.end, cell.last
    assert (reached, token) == (len(text), len(tokens))


@pytest.mark.parametrize("text", ["a-b", "--", "aa--ab-", "-名-前", "", "ab"])
def test_what_has_no_token_is_told_from_what_has(text: str) -> None:
    ranks = {bytes([value]): value for value in range(256)} | {b"ab": 256}
    enc = cutline.Encoding("gaps", pat_str="[^-]+", mergeable_ranks=ranks, special_tokens={})
    shown = tokens_of(enc, whole(text))
    [tokens] = shown.of_texts
    assert [token for token in tokens if token >= 0] == enc.encode_ordinary(text)
    rebuilt = b"".join(
        enc.decode_single_token_bytes(token) if token >= 0 else b"-" * -token for token in tokens
    )
    assert rebuilt.decode() == text
    assert sum(cell.end - cell.start for cell in shown.cells(text)) == len(text)


def test_each_chunk_is_encoded_on_its_own() -> None:
    text = "information"
    chunks = [Chunk("infor", 0, 5, 0, 0), Chunk("mation", 5, 11, 0, 1)]
    assert tokens_of(encoding(), chunks).of_texts == [
        encoding().encode_ordinary(text[:5]),
        encoding().encode_ordinary(text[5:]),
    ]


# Tokenizers that change texts, and those of other makes


def check_tiled(shown: ShownTokens, text: str) -> list[str]:
    """See that cells hold all of the text and all tokens, in order; returns their texts."""
    reached = token = 0
    for cell in shown.cells(text):
        assert (cell.start, cell.first) == (reached, token)
        assert cell.end > reached
        assert cell.last > token
        reached, token = cell.end, cell.last
    assert reached == len(text)
    assert token == len(shown.of_texts[0]) or not text
    return [text[cell.start : cell.end] for cell in shown.cells(text)]


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_tokens_of_changed_texts_lie_where_they_come_from(name: str) -> None:
    tokenizer = build(name)
    enc = cutline.Encoding.from_tokenizers(tokenizer)
    for text in [*TEXTS.values(), *texts_with(tokenizer, 83, 40)]:
        shown = tokens_of(enc, whole(text))
        tokens = [token for token in shown.of_texts[0] if token >= 0]
        assert tokens == enc.encode_ordinary(text)
        check_tiled(shown, text)


def test_a_changed_character_is_where_it_was() -> None:
    enc = cutline.Encoding.from_tokenizers(build("compatible"))
    shown = tokens_of(enc, whole("ﬁ ½ x"))
    assert check_tiled(shown, "ﬁ ½ x")[0] == "ﬁ"
    assert shown.widths != [None]
    assert tokens_of(enc, whole("plain")).widths == [None]


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_of_wrapped_tokenizers_lie_where_they_say(kind: str) -> None:
    wrapped_one = wrapped(kind)
    for text in [*TEXTS.values(), *some_texts(kind)]:
        shown = tokens_of(wrapped_one, whole(text))
        assert [token for token in shown.of_texts[0] if token >= 0] == wrapped_one.encode(text)
        found = check_tiled(shown, text)
        offsets = wrapped_one.offsets_of(text) or []
        starts = {cell.start for cell in shown.cells(text)}
        if all(a[1] <= b[0] for a, b in pairwise(offsets)):  # then each is a cell of its own
            assert {start for start, end in offsets if start < end} <= starts
        assert "".join(found) == text


def test_what_a_wrapped_tokenizer_leaves_out_has_no_token() -> None:
    shown = tokens_of(wrapped("words"), whole("the words  count"))
    assert check_tiled(shown, "the words  count") == ["the", " ", "words", "  ", "count"]
    assert [token < 0 for token in shown.of_texts[0]] == [False, True, False, True, False]


def test_without_offsets_all_tokens_are_one_cell() -> None:
    tokenizer = cutline.wrap(made("bert"))
    tokenizer._has_offsets = False  # as of `tokenizers` 1
    shown = tokens_of(tokenizer, whole("unaffable words"))
    assert check_tiled(shown, "unaffable words") == ["unaffable words"]
    assert shown.of_texts == [tokenizer.encode("unaffable words")]
    assert check_tiled(tokens_of(tokenizer, whole("")), "") == []


def test_tokenizers_that_are_not_wrapped_are_refused_with_a_way_out() -> None:
    with pytest.raises(TypeError, match=r"got Tokenizer: use cutline\.wrap"):
        tokenizer_of(made("bert"))
    with pytest.raises(TypeError, match="got int"):
        tokenizer_of(5)  # type: ignore[arg-type]
    with pytest.raises(cutline.UnknownEncodingError):
        tokenizer_of("o300k")
