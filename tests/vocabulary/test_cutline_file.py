"""`.cutline` files give back what was written, and damage to them is named."""

import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutline
from cutline.errors import CorruptDataError, VocabularyError
from cutline.formats.cutline_file import read_cutline, write_cutline
from cutline.formats.merges import list_texts
from cutline.spec import AddedToken, TokenizerSpec
from cutline.vocabulary import Vocabulary, pack
from tests.vocabulary.samples import SINGLE_BYTES, SPARSE_RANKS, rank_mappings

BODY_START = 8 + 32
STORED = TokenizerSpec.plain(
    "sparse «1»",
    Vocabulary.from_ranks(SPARSE_RANKS).with_left_lengths([0] * 256 + [1, 2, 1, 0, 1]),
    r"\S+|\s+",
    {"<s>": 500, "<|é|>": 501, "same id": 501},
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("native") / "x.cutline"
    write_cutline(STORED, path)
    return path.read_bytes()


def sealed(body: bytes) -> bytes:
    """A file with a checksum that fits, as somebody would forge it."""
    return b"cutenc\x01\x00" + hashlib.sha256(body).digest() + body


@settings(max_examples=25)
@given(
    name=st.text(max_size=5),
    pat_str=st.none() | st.text(max_size=5),
    special_tokens=st.dictionaries(st.text(max_size=5), st.integers(0, 2**32)),
    ranks=rank_mappings(),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    pat_str: str | None,
    special_tokens: dict[str, int],
    ranks: dict[bytes, int],
) -> None:
    path = tmp_path_factory.mktemp("native") / "x.cutline"
    vocabulary = Vocabulary.from_ranks(ranks)
    added = tuple(map(AddedToken, special_tokens, special_tokens.values()))
    stored = TokenizerSpec(name, vocabulary, pat_str, added)
    write_cutline(stored, path)
    # A token that is written like an ordinary one may be that one.
    texts = dict(zip(vocabulary.ids.tolist(), list_texts(vocabulary), strict=True))
    others = {one: number for one, number in special_tokens.items() if texts.get(number) != one}
    try:
        TokenizerSpec.plain(name, vocabulary, pat_str, others)
    except VocabularyError as error:
        with pytest.raises(VocabularyError, match=re.escape(str(error))):
            read_cutline(path)
    else:
        assert read_cutline(path) == stored


def test_left_lengths_are_kept(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "x.cutline"
    path.write_bytes(written)
    read = read_cutline(path)
    assert read == STORED
    assert STORED.vocabulary.left_lengths is not None
    assert np.array_equal(read.vocabulary.left_lengths, STORED.vocabulary.left_lengths)
    write_cutline(read, path)
    assert path.read_bytes() == written


def test_truncation_at_any_place_is_found(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "x.cutline"
    for size in range(len(written)):
        path.write_bytes(written[:size])
        with pytest.raises(VocabularyError) as caught:
            read_cutline(path)
        assert str(caught.value).startswith(str(path))


def test_damage_to_any_byte_is_found(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "x.cutline"
    numbers = random.Random(7)
    for place in range(len(written)):
        damaged = bytearray(written)
        damaged[place] ^= 1 << numbers.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(VocabularyError) as caught:
            read_cutline(path)
        assert str(caught.value).startswith(str(path))


@settings(max_examples=500)
@given(data=st.data())
def test_a_forged_file_gives_an_encoding_or_a_vocabulary_error(
    tmp_path_factory: pytest.TempPathFactory, written: bytes, data: st.DataObject
) -> None:
    forged = bytearray(written[BODY_START:])
    for _ in range(data.draw(st.integers(1, 4))):
        forged[data.draw(st.integers(0, len(forged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "forged.cutline"
    path.write_bytes(sealed(bytes(forged[: data.draw(st.integers(0, len(forged)))])))
    try:
        stored = read_cutline(path)
    except VocabularyError:
        return
    write_cutline(stored, path)
    assert read_cutline(path) == stored
    check_encoding(stored)


def check_encoding(stored: TokenizerSpec) -> None:
    """Whatever the stored splits: refused, or text in tokens decodes to itself."""
    text = stored.vocabulary.arena[:600]
    try:
        encoding = cutline.Encoding.from_spec(stored._replace(pat_str=None))
    except (CorruptDataError, VocabularyError):
        return
    assert encoding.decode_bytes(encoding._encode_single_piece(text)) == text


def with_header(header: Any) -> bytes:
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return sealed(
        len(data).to_bytes(4, "little") + data + pack(Vocabulary.from_ranks(SINGLE_BYTES))
    )


GOOD_HEADER = {"name": "x", "pat_str": None, "special_tokens": {}}
REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "begins with b'' instead of b'cutenc'"),
    "another file": (b"PK\3\4 or so", r"begins with b'PK\x03\x04 o' instead of b'cutenc'"),
    "cut off": (b"cutenc\1\0abc", "ends after 11 bytes, inside its first fields"),
    "later version": (b"cutenc\2\0" + bytes(40), "has version 2 of the format"),
    "no json": (with_header(b"{"), "contains no JSON in its header from byte 44"),
    "deep json": (with_header(b"[" * 100_000), "contains no JSON in its header from byte 44"),
    "no object": (
        with_header([1]),
        "contains something else than name, pat_str and special_tokens",
    ),
    "no name": (with_header(GOOD_HEADER | {"name": None}), "contains something else than name"),
    "number as pattern": (with_header(GOOD_HEADER | {"pat_str": 1}), "contains something else"),
    "id as text": (
        with_header(GOOD_HEADER | {"special_tokens": {"<s>": "1"}}),
        "contains something else than name",
    ),
    "one field more": (with_header(GOOD_HEADER | {"x": 1}), "contains something else than name"),
    "header beyond the end": (sealed(b"\xff\xff\xff\xff{}"), "contains something else than name"),
    "no vocabulary": (sealed(b"\2\0\0\0{}"), "contains something else than name"),
}


def test_the_forged_file_of_correct_parts_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.cutline"
    path.write_bytes(with_header(GOOD_HEADER))
    assert read_cutline(path).vocabulary.to_ranks() == SINGLE_BYTES


@pytest.mark.parametrize("name", REFUSED)
def test_errors_name_the_path_and_the_place(name: str, tmp_path: Path) -> None:
    data, message = REFUSED[name]
    path = tmp_path / "x.cutline"
    path.write_bytes(data)
    with pytest.raises(VocabularyError) as caught:
        read_cutline(path)
    assert str(caught.value).startswith(f"{path} {message}")


def test_a_missing_vocabulary_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.cutline"
    header = json.dumps(GOOD_HEADER).encode()
    path.write_bytes(sealed(len(header).to_bytes(4, "little") + header))
    with pytest.raises(
        VocabularyError, match=f"contains no vocabulary from byte {44 + len(header)}"
    ):
        read_cutline(path)
