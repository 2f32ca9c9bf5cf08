"""sentencepiece's own files give what the package `sentencepiece` gives."""

import io
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from tests.texts import NAMED_TEXTS

package = pytest.importorskip("sentencepiece", reason="the oracle of these tests")

LETTERS = [
    *"abehlotwr()<>.1 \n\t", " ", " ", "\u2581", "the", "<x>", "ab", "  ", "\n\n", "é", "日", "本",
    "字",
    "😀", "\ue000", "\u0301", "ж", "한",
]  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"byte_fallback": True},
    "no prefix": {"byte_fallback": True, "add_dummy_prefix": False},
    "unknown": {},
    "symbols": {"byte_fallback": True, "user_defined_symbols": ["<x>", "ab", "  ", "\n"]},
    "symbols, no prefix": {
        "byte_fallback": True,
        "add_dummy_prefix": False,
        "user_defined_symbols": ["<x>", "日本"],
    },
    "across blanks": {"byte_fallback": True, "split_by_whitespace": False},
    "characters": {"model_type": "char", "vocab_size": 500},
    "characters, bytes": {"model_type": "char", "byte_fallback": True, "vocab_size": 500},
    "characters, symbols": {
        "model_type": "char",
        "vocab_size": 500,
        "user_defined_symbols": ["<x>", "the"],
    },
    "control symbols": {"byte_fallback": True, "control_symbols": ["é", "日", "the", "\n"]},
    "control symbols, unknown": {"model_type": "char", "vocab_size": 500, "control_symbols": ["e"]},
    "across scripts": {"byte_fallback": True, "split_by_unicode_script": False},
}


@cache
def trained(name: str, **more: Any) -> bytes:
    texts = [line for text in NAMED_TEXTS.values() for line in text[:2000].split("\n") if line]
    texts = [text.encode(errors="ignore").decode() for text in texts]
    texts += ["the theme of them all (they say) ends. ", "日本 the 日本 한국 é 😀  a  b "] * 9
    written = io.BytesIO()
    settings = {
        "vocab_size": 1200,
        "model_type": "bpe",
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "character_coverage": 0.98,
        "minloglevel": 2,
        "hard_vocab_limit": False,
    }
    package.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=written, **settings | OPTIONS[name] | more
    )
    data = written.getvalue()
    if symbols := OPTIONS[name].get("control_symbols"):
        processor = package.SentencePieceProcessor(model_proto=data)
        if not processor.encode(symbols[0]):
            pytest.skip("sentencepiece 0.2.0 loses texts with the characters of such symbols")
    return data


def loaded(data: bytes, folder: Path) -> tuple[cutline.Encoding, Any]:
    path = folder / "tokenizer.model"
    path.write_bytes(data)
    return cutline.load(path), package.SentencePieceProcessor(model_proto=data)


@pytest.mark.parametrize("name", OPTIONS)
def test_ids_and_counts_of_slices_are_those_of_sentencepiece(name: str, tmp_path: Path) -> None:
    encoding, processor = loaded(trained(name), tmp_path)
    assert encoding.n_vocab == processor.vocab_size()
    chooser = random.Random(name)
    texts = ["".join(chooser.choices(LETTERS, k=chooser.randint(0, 25))) for _ in range(600)]
    named = [text[:3000].encode(errors="ignore").decode() for text in NAMED_TEXTS.values()]
    for text in [*texts, *named]:
        if "\0" in text:
            continue
        tokens = processor.encode(text)
        assert encoding.encode_ordinary(text) == tokens, text
        assert encoding.count(text) == len(tokens)
    for text in texts[:60]:
        counter = encoding.intervals(text)
        start = chooser.randint(0, len(text))
        end = chooser.randint(start, len(text))
        assert counter.count(start, end) == len(processor.encode(text[start:end])), text


def test_decoding_is_that_of_sentencepiece(tmp_path: Path) -> None:
    encoding, processor = loaded(trained("plain"), tmp_path)
    for text in ("the theme (日本)", " a  b ", "字 ж", ""):
        tokens = processor.encode(text)
        assert encoding.decode(tokens) == processor.decode(tokens) == text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"model_type": "unigram", "vocab_size": 700},
            "supported: load the model's tokenizer.json instead",
        ),
        ({"model_type": "word", "byte_fallback": False}, "the type WORD"),
        ({"normalization_rule_name": "nmt_nfkc"}, "rules of normalization"),
        ({"remove_extra_whitespaces": True}, "remove_extra_whitespaces"),
        ({"treat_whitespace_as_suffix": True}, "blanks at the ends of words"),
        ({"unk_piece": "\u2047"}, "an unknown piece of one character"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError) as caught:
        loaded(trained("plain", **more), tmp_path)
    assert message in str(caught.value)
    assert "cutline.wrap(" in str(caught.value)


def test_a_folder_whose_other_files_add_tokens_is_refused(tmp_path: Path) -> None:
    encoding, _ = loaded(trained("symbols"), tmp_path)
    config = {str(place): {"content": text} for place, text in enumerate(["<unk>", "<x>"])}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": config}))
    (tmp_path / "added_tokens.json").write_text('{"</s>": 2}')
    assert cutline.load(tmp_path).content_hash == encoding.content_hash
    (tmp_path / "added_tokens.json").write_text('{"<|im_start|>": 1200}')
    said = r"does not have the token '<\|im_start\|>', which .* adds: transformers makes"
    with pytest.raises(VocabularyError, match=said):
        cutline.load(tmp_path)
    assert cutline.load(tmp_path / "tokenizer.model").content_hash == encoding.content_hash


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    data = trained("plain")
    for end in (100, len(data) - 5):
        with pytest.raises(VocabularyError):
            loaded(data[:end], tmp_path)


def test_the_published_file_of_mistral(tmp_path: Path) -> None:
    folder = Path(pytest.importorskip("mistral_common").__file__).parent / "data"
    if not (folder / "tokenizer.model.v1").is_file():
        pytest.skip("this version has no such file")
    encoding, processor = loaded((folder / "tokenizer.model.v1").read_bytes(), tmp_path)
    for text in [*NAMED_TEXTS.values(), *(" " * n + "a" for n in range(60))]:
        text = text[:3000].encode(errors="ignore").decode()
        assert encoding.encode_ordinary(text) == processor.encode(text)
