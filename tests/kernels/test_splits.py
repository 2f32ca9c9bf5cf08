"""Stored splits are those of the last merges, or refused: kernels trust them."""

import random
from pathlib import Path

import numpy as np
import pytest

import cutline
from cutline.errors import CorruptDataError, VocabularyError
from cutline.formats.cutline_file import write_cutline
from cutline.spec import TokenizerSpec
from cutline.tables import build_bpe_tables, recover_left_lengths
from cutline.vocabulary import (
    Vocabulary,
    packaged_encoding,
)
from tests.packaged import packaged_vocabulary
from tests.vocabularies import TOY_TOKENS, random_ranks, vocabulary_of, with_bytes


def check_every_other_split(vocabulary: Vocabulary, rng: random.Random) -> None:
    right = recover_left_lengths(vocabulary)
    build_bpe_tables(vocabulary.with_left_lengths(right))
    for guess in (right, np.zeros(len(right), dtype=np.int64), vocabulary.lengths):
        assert recover_left_lengths(vocabulary, guess).tolist() == right.tolist()
    longer = [place for place, length in enumerate(vocabulary.lengths.tolist()) if length > 1]
    for place in rng.sample(longer, min(len(longer), 12)):
        for length in range(min(int(vocabulary.lengths[place]), 12)):
            if length != right[place]:
                wrong = right.copy()
                wrong[place] = length
                assert recover_left_lengths(vocabulary, wrong).tolist() == right.tolist()
                with pytest.raises(CorruptDataError, match="is not the last merge"):
                    build_bpe_tables(vocabulary.with_left_lengths(wrong))


@pytest.mark.parametrize("tokens", TOY_TOKENS.values(), ids=TOY_TOKENS)
def test_any_other_split_of_a_toy_is_refused(tokens: tuple[bytes, ...]) -> None:
    check_every_other_split(vocabulary_of(with_bytes(tokens)), random.Random(1))


@pytest.mark.parametrize("seed", range(30))
def test_any_other_split_of_a_random_vocabulary_is_refused(seed: int) -> None:
    rng = random.Random(seed)
    check_every_other_split(vocabulary_of(random_ranks(rng, rng.choice((b"ab", b"abc")))), rng)


@pytest.mark.parametrize("name", ["o200k_base", "r50k_base"])
def test_packaged_splits_are_right(name: str) -> None:
    packaged = packaged_vocabulary(packaged_encoding(name))
    assert packaged.left_lengths is not None
    assert packaged.left_lengths.tolist() == recover_left_lengths(packaged).tolist()
    build_bpe_tables(packaged.with_left_lengths(packaged.left_lengths))  # which is checked


def test_a_file_whose_links_would_form_a_loop_is_refused(tmp_path: Path) -> None:
    """A part that merging does not make has no place in the trie: its links led nowhere."""
    vocabulary = vocabulary_of(with_bytes((b"aa", b"aaaa", b"aaaab")))
    path = tmp_path / "x.cutline"
    wrong = vocabulary.with_left_lengths([0] * 256 + [1, 0, 4])
    write_cutline(TokenizerSpec("x", wrong, None), path)
    with pytest.raises(VocabularyError, match=r"x\.cutline: the stored split"):
        cutline.load(path)
