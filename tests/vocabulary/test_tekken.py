"""Mistral's tekken.json: ids, special tokens, damage."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from tests.pretokenize.patterns import PATTERNS
from tests.texts import random_texts

TOKENS = [*(bytes([byte]) for byte in range(256)), b"th", b"the", b" the", "é".encode()]


def document(n_special: int = 5, unused: int = 2) -> dict[str, Any]:
    tokens = [*TOKENS, *(b"unused%d" % place for place in range(unused))]
    return {
        "config": {
            "pattern": PATTERNS["mistral tekken"],
            "num_vocab_tokens": len(tokens),
            "default_vocab_size": len(TOKENS) + n_special,
            "default_num_special_tokens": n_special,
            "version": "v3",
        },
        "vocab": [
            {"rank": rank, "token_bytes": b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate(tokens)
        ],
        "special_tokens": [
            {"rank": 0, "token_str": "<unk>", "is_control": True},
            {"rank": 1, "token_str": "<s>", "is_control": True},
        ],
    }


def load(content: dict[str, Any], tmp_path: Path) -> cutline.Encoding:
    (tmp_path / "tekken.json").write_text(json.dumps(content))
    return cutline.load(tmp_path / "tekken.json")


def test_ids_are_ranks_behind_the_special_tokens(tmp_path: Path) -> None:
    encoding = load(document(), tmp_path)
    assert encoding.name == "tekken"
    assert encoding.encode("<s>the thé", allowed_special="all") == [1, 262, 37, 261, 264]
    assert encoding._special_tokens == {
        "<unk>": 0, "<s>": 1, "<SPECIAL_2>": 2, "<SPECIAL_3>": 3, "<SPECIAL_4>": 4,
    }  # fmt: skip
    assert encoding.n_vocab == len(TOKENS) + 5
    same = cutline.Encoding(
        "same",
        pat_str=PATTERNS["mistral tekken"],
        mergeable_ranks={token: rank + 5 for rank, token in enumerate(TOKENS)},
        special_tokens={},
    )
    for text in random_texts(73, 100):
        assert encoding.encode_ordinary(text) == same.encode_ordinary(text)


def test_older_files_do_not_list_their_special_tokens(tmp_path: Path) -> None:
    content = document(n_special=20)
    del content["special_tokens"]
    encoding = load(content, tmp_path)
    assert encoding.encode("<s>[INST]", allowed_special="all") == [1, 3]
    assert encoding._special_tokens["[TOOL_CONTENT]"] == 19


def test_a_file_may_list_no_special_tokens(tmp_path: Path) -> None:
    encoding = load(document(n_special=2) | {"special_tokens": []}, tmp_path)
    assert encoding._special_tokens == {"<SPECIAL_0>": 0, "<SPECIAL_1>": 1}


def test_it_is_found_in_a_folder(tmp_path: Path) -> None:
    load(document(), tmp_path)
    assert cutline.load(tmp_path, name="nemo").encode_ordinary("the") == [262]


def at(*keys: str | int, to: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = to

    return change


DAMAGED: dict[str, tuple[Callable[[Any], None], str]] = {
    "no pattern": (at("config", "pattern", to=None), "config is"),
    "sizes that do not fit": (at("config", "default_vocab_size", to=1), "config is"),
    "a rank out of order": (at("vocab", 3, "rank", to=9), "vocab, place 3"),
    "not base64": (at("vocab", 3, "token_bytes", to="?"), "vocab, place 3"),
    "a token twice": (at("vocab", 3, "token_bytes", to="AA=="), "vocab, place 3"),
    "a token that is none": (at("vocab", 3, to=7), "vocab, place 3"),
    "special tokens that are no list": (at("special_tokens", to={}), "special_tokens has {}"),
    "a special token of high rank": (at("special_tokens", 0, "rank", to=5), "special_tokens has"),
    "a byte missing": (at("vocab", 0, "token_bytes", to="AAA="), "1 single byte has no token"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_named(name: str, tmp_path: Path) -> None:
    content = document()
    change, message = DAMAGED[name]
    change(content)
    with pytest.raises(VocabularyError) as caught:
        load(content, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'tekken.json'}: {message}")
