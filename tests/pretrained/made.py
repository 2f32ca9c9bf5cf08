"""Small models as they are published: tokenizers made with the real package, and side files."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

tokenizers = pytest.importorskip("tokenizers", reason="makes the tokenizers of these tests")
decoders, models = tokenizers.decoders, tokenizers.models
normalizers, pre, processors = (
    tokenizers.normalizers,
    tokenizers.pre_tokenizers,
    tokenizers.processors,
)

TEXT = """Wood glue sets in half an hour. Clamp the parts, and wipe off what runs out.
Keep the teeth dry. Oil the blade once a month; hang the saw where nothing touches it.
吾輩は猫である。Straße, naïve, İstanbul 👍🏽 — 1984.
"""
SPECIAL = ["[UNK]", "[CLS]", "[SEP]"]


@cache
def bpe() -> Any:
    """Byte-level BPE with a template of two tokens."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=SPECIAL,
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    return _with_template(tokenizer, trainer)


@cache
def word_piece() -> Any:
    """BERT's kind, with truncation and padding as MiniLM's file has them."""
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=200, special_tokens=SPECIAL, show_progress=False
    )
    tokenizer = _with_template(tokenizer, trainer)
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding(length=128)
    return tokenizer


def _with_template(tokenizer: Any, trainer: Any) -> Any:
    tokenizer.train_from_iterator(TEXT.splitlines(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer


MINILM: dict[str, dict[str, Any]] = {
    "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
    "tokenizer_config.json": {"model_max_length": 512, "tokenizer_class": "BertTokenizer"},
    "config.json": {"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0},
    "config_sentence_transformers.json": {
        "prompts": {"query": "query: ", "passage": "passage: "},
        "default_prompt_name": None,
    },
}
"""The side files of a small sentence encoder: 256, although two files say 512."""


def published(**others: Any) -> dict[str, Any]:
    """The files of a model: byte-level BPE, the side files, and weights."""
    return {
        "tokenizer.json": bpe().to_str(),
        **MINILM,
        "model.safetensors": b"\0" * 5000,
        "README.md": "# A model",
        **others,
    }


def in_module(module: str, **others: Any) -> dict[str, Any]:
    """The same as an older sentence-transformers writes it: in the folder of the first module."""
    own = ("config_sentence_transformers.json", "README.md")
    listed = [{"idx": 0, "name": "0", "path": module}, {"idx": 1, "name": "1", "path": "1_Pooling"}]
    files = published(**others)
    moved = {name if name in own else f"{module}/{name}": files[name] for name in files}
    return {**moved, "modules.json": json.dumps(listed), "config.json": {"__version__": "0.3.9"}}


def write(folder: Path, files: dict[str, Any]) -> Path:
    """Write the files of a model into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        content = json.dumps(value) if isinstance(value, dict) else value
        data = content.encode() if isinstance(content, str) else content
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder
