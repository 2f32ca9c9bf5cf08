"""Cells are the fewest tokens that make up whole characters."""

import pytest

import cutline
from cutline import Chunk
from cutline.view.tokens import cells, tokens_of
from tests.view.samples import TEXTS, encoding


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
    for cell in cells(text, tokens, shown.sizes_bytes):
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
    assert sum(cell.end - cell.start for cell in cells(text, tokens, shown.sizes_bytes)) == len(
        text
    )


def test_each_chunk_is_encoded_on_its_own() -> None:
    text = "information"
    chunks = [Chunk("infor", 0, 5, 0, 0), Chunk("mation", 5, 11, 0, 1)]
    assert tokens_of(encoding(), chunks).of_texts == [
        encoding().encode_ordinary(text[:5]),
        encoding().encode_ordinary(text[5:]),
    ]
