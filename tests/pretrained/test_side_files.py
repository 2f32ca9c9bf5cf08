"""Limits and prompts: which of a model's files decides, and what follows for chunks."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.pretrained.side_files import read_facts
from tests.pretrained.made import MINILM, TEXT, bpe, in_module, published, write

SENTENCES = "sentence_bert_config.json"
TOKENIZER = "tokenizer_config.json"
MODEL = "config.json"


def roberta(positions: int, **others: Any) -> dict[str, Any]:
    return {"model_type": "roberta", "max_position_embeddings": positions, **others}


# As published: model, side files, what it reads.
LIMITS: dict[str, tuple[dict[str, Any], int | None]] = {
    "no files": ({}, None),
    "all-MiniLM-L6-v2": (MINILM, 256),
    "all-mpnet-base-v2": (
        {
            SENTENCES: {"max_seq_length": 384},
            TOKENIZER: {"model_max_length": 512},
            MODEL: {
                "model_type": "mpnet",
                "max_position_embeddings": 514,
                "pad_token_id": 1,
            },
        },
        384,
    ),
    "bge-m3": (
        {
            SENTENCES: {"max_seq_length": 8192},
            TOKENIZER: {"model_max_length": 8192},
            MODEL: {
                "model_type": "xlm-roberta",
                "max_position_embeddings": 8194,
                "pad_token_id": 1,
            },
        },
        8192,
    ),
    "e5-mistral": (
        {
            SENTENCES: {"max_seq_length": 4096},
            TOKENIZER: {"model_max_length": 1e30},
            MODEL: {"model_type": "mistral", "max_position_embeddings": 32768},
        },
        4096,
    ),
    "the sentence encoder may take more than the tokenizer says": (
        {
            SENTENCES: {"max_seq_length": 2048},
            TOKENIZER: {"model_max_length": 512},
            MODEL: {"model_type": "bert", "max_position_embeddings": 8192},
        },
        2048,
    ),
    "but no more than it has positions for": (
        {SENTENCES: {"max_seq_length": 1024}, MODEL: {"max_position_embeddings": 512}},
        512,
    ),
    "null is no limit": (
        {SENTENCES: {"max_seq_length": None}, TOKENIZER: {"model_max_length": 77}},
        77,
    ),
    "the integer that means unlimited": (
        {TOKENIZER: {"model_max_length": 1000000000000000019884624838656}},
        None,
    ),
    "another that is too large": ({TOKENIZER: {"model_max_length": 10**20 + 1}}, None),
    "zero and less are no limit": (
        {SENTENCES: {"max_seq_length": 0}, MODEL: {"max_position_embeddings": -1}},
        None,
    ),
    "positions alone": ({MODEL: {"model_type": "bert", "max_position_embeddings": 512}}, 512),
    "roberta": ({MODEL: roberta(514, pad_token_id=1)}, 512),
    "roberta by its default": ({MODEL: roberta(514)}, 512),
    "roberta with padding 0": ({MODEL: roberta(514, pad_token_id=0)}, 513),
    "longformer": (
        {MODEL: {"model_type": "longformer", "max_position_embeddings": 4098, "pad_token_id": 1}},
        4096,
    ),
    "a whole number as a float": ({TOKENIZER: {"model_max_length": 512.0}}, 512),
}


@pytest.mark.parametrize(("files", "limit"), LIMITS.values(), ids=LIMITS.keys())
def test_the_limit_is_what_the_model_reads(
    files: dict[str, Any], limit: int | None, tmp_path: Path
) -> None:
    assert read_facts(write(tmp_path, files)).max_tokens == limit


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        (SENTENCES, '{"max_seq_length": "512"}', "max_seq_length is '512' instead of a whole"),
        (SENTENCES, '{"max_seq_length": true}', "max_seq_length is True instead of a whole"),
        (TOKENIZER, '{"model_max_length": 0.5e1}', None),
        (TOKENIZER, '{"model_max_length": 12.5}', "model_max_length is 12.5 instead of a whole"),
        (TOKENIZER, '{"model_max_length": NaN}', None),
        (MODEL, "[1]", "contains no object but list"),
        (MODEL, "\xff", "contains no JSON"),
        (MODEL, "[" * 100_000, "contains no JSON"),
        (MODEL, '{"max_position_embeddings": 8, "model_type": ["roberta"]}', None),
        (MODEL, json.dumps(roberta(1)), "max_position_embeddings is 1 instead of more than pad"),
        (
            "config_sentence_transformers.json",
            '{"prompts": {"query": 1}}',
            "prompts is {'query': 1} instead of texts by name",
        ),
        (
            "config_sentence_transformers.json",
            '{"prompts": ["query: "]}',
            "prompts is ['query: '] instead of texts by name",
        ),
        ("config_sentence_transformers.json", '{"prompts": null}', None),
    ],
)
def test_a_damaged_side_file_is_named(
    file: str, content: str, said: str | None, tmp_path: Path
) -> None:
    (tmp_path / file).write_bytes(content.encode("latin-1"))
    if said is None:
        read_facts(tmp_path)
        return
    with pytest.raises(cutline.VocabularyError) as caught:
        read_facts(tmp_path)
    assert f"{tmp_path / file}" in str(caught.value)
    assert said in str(caught.value)


def test_a_folder_is_a_model_and_a_file_a_tokenizer(tmp_path: Path) -> None:
    folder = write(tmp_path / "small-model-v1.5", published())
    model = cutline.load(folder)
    assert (model.name, model.max_tokens) == ("small-model-v1.5", 256)
    assert model.prompts == {"query": "query: ", "passage": "passage: "}
    tokenizer = cutline.load(folder / "tokenizer.json")
    assert (tokenizer.max_tokens, tokenizer.prompts) == (None, {})
    assert tokenizer.content_hash == model.content_hash
    assert cutline.get_encoding("gpt2").max_tokens is None
    model.prompts["query"] = "changed"
    assert model.prompts["query"] == "query: "


def test_a_tokenizer_in_the_folder_of_the_first_module_is_found(tmp_path: Path) -> None:
    folder = write(tmp_path / "static-model", in_module("0_Transformer"))
    for model in (cutline.load(folder), cutline.from_pretrained(folder), cutline.wrap(folder)):
        assert (model.name, model.max_tokens) == ("static-model", 256)
        assert model.prompts == {"query": "query: ", "passage": "passage: "}
        assert model.count("Wood glue") == cutline.load(write(tmp_path / "x", published())).count(
            "Wood glue"
        )
    # That of the model's own folder comes first, with the limit that is there.
    write(folder, {"tokenizer.json": bpe().to_str()})
    assert cutline.load(folder).max_tokens is None


@pytest.mark.parametrize(
    "modules",
    ["", "{}", "[]", "[1]", '[{"path": 1}]', '[{"path": "../other"}]', '[{"path": "/other"}]',
     '[{"path": "."}]', '[{"path": "a/../../other"}]', '[{"path": "1_Pooling"}]', "[" * 99_999],
)  # fmt: skip
def test_modules_elsewhere_are_no_part_of_a_model(tmp_path: Path, modules: str) -> None:
    write(tmp_path / "other", published())
    folder = write(tmp_path / "model", {"modules.json": modules, "1_Pooling/config.json": {}})
    for load in (cutline.load, cutline.wrap):
        with pytest.raises(FileNotFoundError, match=r"a folder without tokenizer\.json"):
            load(folder)


def test_limits_and_prompts_survive_pickles_and_native_files(tmp_path: Path) -> None:
    cutline.get_encoding("gpt2").save(tmp_path / "tokenizer.json")
    model = cutline.load(write(tmp_path, MINILM))
    model.save(tmp_path / "saved.cutline")
    for again in (pickle.loads(pickle.dumps(model)), cutline.load(tmp_path / "saved.cutline")):
        assert (again.max_tokens, again.prompts) == (256, model.prompts)
        assert again.content_hash == cutline.get_encoding("gpt2").content_hash
    cutline.get_encoding("gpt2").save(tmp_path / "plain.cutline")
    assert cutline.load(tmp_path / "plain.cutline").max_tokens is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that reads 24 tokens, two of which are its template's."""
    return write(tmp_path / "model", published(**{SENTENCES: {"max_seq_length": 24}}))


@pytest.mark.parametrize("kind", ["token", "text", "markdown", "code"])
def test_chunks_of_every_chunker_fit_what_the_model_reads(kind: str, folder: Path) -> None:
    encoding = cutline.load(folder)
    pytest.importorskip({"markdown": "pyromark", "code": "tree_sitter"}.get(kind, "json"))
    makers: dict[str, Any] = {
        "token": cutline.TokenChunker,
        "text": cutline.TextChunker,
        "markdown": cutline.MarkdownChunker,
        "code": lambda *sizes: cutline.CodeChunker("python", *sizes),
    }
    chunker = makers[kind](encoding, "model", 3)
    assert (chunker.chunk_size, chunker.chunk_overlap) == (22, 3)
    chunks = chunker(TEXT * 3)
    sent = [len(bpe().encode(chunk.text).ids) for chunk in chunks]
    assert len(sent) > 3
    assert 20 < max(sent) <= 24


def test_a_model_without_room_or_without_a_limit_is_refused(folder: Path) -> None:
    write(folder, {SENTENCES: {"max_seq_length": 2}})
    with pytest.raises(ValueError, match="no room: 'model' takes 2 tokens, of which 2 are special"):
        cutline.TextChunker(cutline.load(folder), "model")
    with pytest.raises(ValueError, match="chunk_size='model' needs the model's limit, and that of"):
        cutline.TokenChunker("o200k_base", "model")
    with pytest.raises(TypeError, match="chunk_size must be an integer, got 'all'"):
        cutline.TokenChunker("o200k_base", "all")  # type: ignore[arg-type]
    encoding = cutline.load(write(folder, {SENTENCES: {"max_seq_length": 24}}))
    with pytest.raises(ValueError, match=r"less than chunk_size \(22\), got 22"):
        cutline.TokenChunker(encoding, "model", 22)
