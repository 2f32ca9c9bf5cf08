"""Tokens that `tokenizer_config.json` adds to a tokenizer.json, as `AutoTokenizer` has them."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from tests.pretrained.made import TEXT, bpe, word_piece, write

tokenizers = pytest.importorskip("tokenizers")

PLAIN = {"lstrip": False, "rstrip": False, "single_word": False}
CONFIGS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "what the file has": {
        "added_tokens_decoder": {
            "0": {"content": "[UNK]", **PLAIN, "normalized": False, "special": True}
        },
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
    },
    "a described token, with the id of another": {
        "added_tokens_decoder": {
            "900": {"content": "<b>", **PLAIN, "normalized": False, "special": False}
        }
    },
    "several, by their ids and not their order": {
        "added_tokens_decoder": {
            "901": {"content": "<b>", "special": True},
            "99": {"content": "<new>"},
        }
    },
    "other flags for a token of the file": {
        "added_tokens_decoder": {
            "2": {"content": "[SEP]", **PLAIN, "rstrip": True, "normalized": False, "special": True}
        }
    },
    "roles": {"eos_token": "<b>", "bos_token": "<new>", "pad_token": None, "add_bos_token": True},
    "a role with flags": {
        "mask_token": {
            "__type": "AddedToken", "content": "<new>", **PLAIN, "lstrip": True,
            "normalized": False, "special": True,
        }
    },
    "a role for a described token": {
        "eos_token": "<b>",
        "added_tokens_decoder": {"900": {"content": "<b>", **PLAIN, "normalized": True}},
    },
    "a letter with a role": {"sep_token": "o"},
    "more special tokens": {"additional_special_tokens": ["<b>", "[SEP]", "<new>"]},
    "more special tokens by name": {"extra_special_tokens": {"image_token": "<b>"}},
    "roles of the model's own": {"image_token": "<new>", "eos_token": "<b>", "audio_token": "<c>"},
    "an empty text": {"bos_token": "", "eos_token": "<b>"},
}  # fmt: skip
TEXTS = ["", "<b>", "a <b> saw<new>dry [SEP]  <c> the [MASK]", " <new> <new>\n<b>o o", TEXT]


def folder_with(config: dict[str, Any], made: Any, folder: Path) -> Path:
    """A model without padding, whose token transformers would add, too."""
    named = {"tokenizer_class": "PreTrainedTokenizerFast", **config}
    document = {**json.loads(made.to_str()), "padding": None}
    return write(folder, {"tokenizer.json": document, "tokenizer_config.json": named})


def random_texts() -> list[str]:
    rng = random.Random(7)
    parts = ["<b>", "<new>", "<c>", "[SEP]", "[MASK]", " ", "\n", "dry", "o", "saw", "é", "👍🏽"]
    return ["".join(rng.choices(parts, k=12)) for _ in range(100)]


@pytest.mark.parametrize("made", [bpe, word_piece], ids=["byte-level BPE", "WordPiece"])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_folder_has_the_tokens_of_auto_tokenizer(name: str, made: Any, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = folder_with(CONFIGS[name], made(), tmp_path)
    real = transformers.AutoTokenizer.from_pretrained(folder)
    ours, wrapped = cutline.load(folder), cutline.wrap(folder)
    for text in TEXTS + random_texts():
        want = real(text, add_special_tokens=False)["input_ids"]
        assert ours.encode(text, allowed_special="all") == want
        assert wrapped.encode(text) == want
    added = {token.content for token in real.added_tokens_decoder.values()}
    assert ours.added_tokens.keys() == added
    special = {t.content for t in real.added_tokens_decoder.values() if t.special}
    assert ours.special_tokens_set == special


# As transformers 5.24 has them: a test without that package.
WANTED = {
    "nothing": {},
    "several, by their ids and not their order": {"<new>": 340, "<b>": 341},
    "roles": {"<new>": 340, "<b>": 341},
    "a letter with a role": {"o": 81},
    "roles of the model's own": {"<b>": 340, "<new>": 341, "<c>": 342},
}


@pytest.mark.parametrize("name", WANTED)
def test_new_tokens_have_the_next_ids_and_those_of_the_model_their_own(
    name: str, tmp_path: Path
) -> None:
    made = bpe()
    folder = folder_with(CONFIGS[name], made, tmp_path)
    ours = cutline.load(folder).added_tokens
    own = cutline.load(folder / "tokenizer.json").added_tokens
    assert {text: ours[text] for text in ours.keys() - own.keys()} == WANTED[name]
    assert made.token_to_id("o") == 81


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"added_tokens_decoder": ["<b>"]}, "added_tokens_decoder is .* instead"),
        ({"extra_special_tokens": [7]}, r"extra_special_tokens is \[7\] instead"),
        (
            {"added_tokens_decoder": {"9": {"content": "<b>", "lstrip": 1}}},
            "instead of",
        ),
    ],
)
def test_a_damaged_configuration_is_named(
    config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    folder = folder_with(config, bpe(), tmp_path)
    with pytest.raises(VocabularyError, match=said):
        cutline.load(folder)
    assert cutline.load(folder / "tokenizer.json").n_vocab == 340


def test_an_added_token_without_an_id_is_refused(tmp_path: Path) -> None:
    document = json.loads(bpe().to_str())
    document["added_tokens"][0]["id"] = None
    with pytest.raises(VocabularyError, match="added_tokens, place 0"):
        cutline.load(write(tmp_path, {"tokenizer.json": document}))
