import hashlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
import tiktoken_ext.openai_public as published

from cutline.errors import UnknownEncodingError
from cutline.vocabulary import (
    MODEL_PREFIX_TO_ENCODING,
    MODEL_TO_ENCODING,
    PACKAGED_ENCODINGS,
    RANK_FILE_SHA256,
    Vocabulary,
    list_encoding_names,
    packaged_encoding,
)
from tests.packaged import packaged_vocabulary

CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = published.ENCODING_CONSTRUCTORS
RANK_FILES = sorted(RANK_FILE_SHA256)


def vocabulary_of(rank_file: str) -> Vocabulary:
    return packaged_vocabulary(packaged_encoding(rank_file))


@pytest.fixture
def hash_asked_for(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Let tiktoken's constructors run without their downloads; note the hashes they name."""
    asked: dict[str, str] = {}

    def load_nothing(address: str, expected_hash: str) -> dict[bytes, int]:
        asked[address.rpartition("/")[2].removesuffix(".tiktoken")] = expected_hash
        return {}

    def load_gpt2(**_: str) -> dict[bytes, int]:
        return load_nothing("r50k_base.tiktoken", RANK_FILE_SHA256["r50k_base"])

    monkeypatch.setattr(published, "load_tiktoken_bpe", load_nothing)
    monkeypatch.setattr(published, "data_gym_to_mergeable_bpe_ranks", load_gpt2)
    return asked


@pytest.mark.parametrize("rank_file", RANK_FILES)
def test_packed_vocabulary_is_the_published_file(rank_file: str) -> None:
    ranks = vocabulary_of(rank_file).to_ranks()
    text = b"".join(b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    assert hashlib.sha256(text).hexdigest() == RANK_FILE_SHA256[rank_file]


@pytest.mark.parametrize("rank_file", RANK_FILES)
def test_packed_vocabulary_passes_the_checks_of_from_ranks(rank_file: str) -> None:
    vocabulary = vocabulary_of(rank_file)
    assert Vocabulary.from_ranks(vocabulary.to_ranks()) == vocabulary


@pytest.mark.parametrize("rank_file", RANK_FILES)
def test_both_parts_of_every_last_merge_are_tokens_of_lower_rank(rank_file: str) -> None:
    vocabulary = vocabulary_of(rank_file)
    assert vocabulary.left_lengths is not None
    assert np.array_equal(vocabulary.left_lengths == 0, vocabulary.lengths == 1)
    ranks = vocabulary.to_ranks()
    for (token, rank), left_length in zip(
        ranks.items(), vocabulary.left_lengths.tolist(), strict=True
    ):
        if left_length:
            assert ranks[token[:left_length]] < rank
            assert ranks[token[left_length:]] < rank


@pytest.mark.parametrize("name", sorted(CONSTRUCTORS))
def test_spec_is_what_tiktoken_says(name: str, hash_asked_for: dict[str, str]) -> None:
    expected = CONSTRUCTORS[name]()
    spec = packaged_encoding(name)
    assert spec.name == expected["name"]
    assert spec.pat_str == expected["pat_str"]
    assert dict(spec.special_tokens) == expected["special_tokens"]
    assert spec.explicit_n_vocab == expected.get("explicit_n_vocab")
    assert hash_asked_for == {spec.rank_file: RANK_FILE_SHA256[spec.rank_file]}


def test_names_are_sorted_and_those_of_tiktoken() -> None:
    assert list_encoding_names() == sorted(CONSTRUCTORS)


def test_special_ids_are_no_ids_of_tokens() -> None:
    for spec in PACKAGED_ENCODINGS.values():
        ids = packaged_vocabulary(spec).ids
        assert not np.isin(list(spec.special_tokens.values()), ids).any()


def test_explicit_n_vocab_counts_tokens_and_specials() -> None:
    for spec in PACKAGED_ENCODINGS.values():
        if spec.explicit_n_vocab is not None:
            count = len(packaged_vocabulary(spec)) + len(spec.special_tokens)
            assert count == spec.explicit_n_vocab


def test_specs_cannot_be_changed() -> None:
    spec = packaged_encoding("gpt2")
    with pytest.raises(TypeError):
        spec.special_tokens["<|x|>"] = 1  # type: ignore[index]
    with pytest.raises(AttributeError):
        spec.name = "x"  # type: ignore[misc]


UNKNOWN_NAMES = {
    "o200k": "no encoding is named 'o200k'; did you mean 'o200k_base'?",
    "P50K_EDIT": "no encoding is named 'P50K_EDIT'; did you mean 'p50k_edit'",
    "GPT-4o": "no encoding is named 'GPT-4o'; did you mean the model 'gpt-4o'? Its encoding is 'o2",
    "gpt4o": "no encoding is named 'gpt4o'; did you mean the model 'gpt-4o'? Its encoding is 'o2",
    "x" * 100_000: f"no encoding is named '{'x' * 59}...{'x' * 59}' (100,002 characters); packaged",
    "gpt-4o": "no encoding is named 'gpt-4o'; that is a model: cutline.encoding_for_model('gpt-4",
    "gpt-4o-2024-05-13": "no encoding is named 'gpt-4o-2024-05-13'; that is a model: cutline.e",
    "BAAI/bge-m3": "no encoding is named 'BAAI/bge-m3'; a model of the Hugging Face Hub is loaded",
    "./bge": "no encoding is named './bge'; for a file use cutline.load('./bge')",
    "m/tokenizer.json": "no encoding is named 'm/tokenizer.json'; for a file use cutline.load('m/",
    "": "no encoding is named ''; packaged are cl100k_base, gpt2, o200k_base, o200k_harmony, "
    "p50k_base, p50k_edit, r50k_base; cutline.from_pretrained loads models of the Hugging Face "
    "Hub; tiktoken's plugins are not searched",
}


@pytest.mark.parametrize("name", UNKNOWN_NAMES)
def test_an_unknown_name_gets_a_way_out(name: str) -> None:
    with pytest.raises(UnknownEncodingError) as caught:
        packaged_encoding(name)
    assert str(caught.value).startswith(UNKNOWN_NAMES[name])
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", [None, 3, b"gpt2", ["gpt2"]])
def test_a_name_that_is_no_text_is_refused(name: object) -> None:
    with pytest.raises(UnknownEncodingError, match="an encoding name is a str, got "):
        packaged_encoding(name)  # type: ignore[arg-type]


def test_a_path_instead_of_a_name_is_told_to_be_loaded() -> None:
    with pytest.raises(
        UnknownEncodingError, match=r"Path\('a/b.json'\): .*cutline.load\('a/b.json'\)"
    ):
        packaged_encoding(PurePosixPath("a/b.json"))  # type: ignore[arg-type]


def test_every_model_has_a_packaged_encoding() -> None:
    named = {*MODEL_TO_ENCODING.values(), *MODEL_PREFIX_TO_ENCODING.values()}
    assert named <= set(PACKAGED_ENCODINGS)
