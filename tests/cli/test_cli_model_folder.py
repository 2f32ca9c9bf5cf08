"""A folder of a model like MiniLM, from text to chunks that the model reads whole."""

import json
from pathlib import Path

import pytest

import cutline
from tests.cli.conftest import Invoke

tokenizers = pytest.importorskip("tokenizers", reason="makes the model's tokenizer")

LIMIT = 32
TEXT = "Café tables wobble. Turn the screws, one by one; glue sets in half an hour.\n\n" * 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(
        [TEXT],
        tokenizers.trainers.WordPieceTrainer(
            vocab_size=60, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    path = tmp_path / "tiny-minilm"
    path.mkdir()
    made.save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512}))
    (path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": LIMIT}))
    return path


def test_every_chunk_is_read_whole(folder: Path, invoke: Invoke) -> None:
    encoding = cutline.load(folder)
    assert (encoding.max_tokens, encoding.num_special_tokens_to_add()) == (LIMIT, 2)
    model = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    chunks = cutline.TextChunker(encoding, "model")(TEXT)
    sent = [len(model.encode(chunk.text).ids) for chunk in chunks]
    assert max(sent) <= LIMIT
    assert "".join(chunk.text for chunk in chunks) == TEXT
    (folder / "a.txt").write_text(TEXT, encoding="utf-8")
    result = invoke(
        "chunk", "-e", folder, "--by", "text", "--chunk-size", "model", folder / "a.txt"
    )
    rows = [json.loads(line) for line in result.output.splitlines()]
    assert [row["text"] for row in rows] == [chunk.text for chunk in chunks]
    assert [row["token_count"] + 2 for row in rows] == sent
    result = invoke("count", "-e", folder, folder / "a.txt")
    assert int(result.output.split()[0]) == encoding.count(TEXT)


def test_a_second_model_reads_every_chunk_whole(folder: Path, invoke: Invoke) -> None:
    second = cutline.load(folder)
    chunks = cutline.TextChunker("o200k_base", 500, also_fits={second: "model"})(TEXT)
    assert max(second.count(chunk.text) for chunk in chunks) <= LIMIT - 2
    assert chunks == cutline.TextChunker("o200k_base", 500, also_fits={second: LIMIT - 2})(TEXT)
    assert second.count(TEXT[: second.split_at(TEXT, 99, also_fits={second: "model"})]) <= LIMIT - 2
    assert cutline.verify(
        TEXT, chunks, encoding="o200k_base", chunk_size=500, also_fits={second: "model"}
    ).ok
    (folder / "a.txt").write_text(TEXT, encoding="utf-8")
    arguments = ("chunk", "--by", "text", "--chunk-size", 500, folder / "a.txt", "--also-fits")
    rows = invoke(*arguments, f"{folder}=model").output.splitlines()
    assert [json.loads(row)["text"] for row in rows] == [chunk.text for chunk in chunks]
    for wrong in ("o200k_base=model", "bytes=model"):
        result = invoke(*arguments, wrong)
        assert result.exit_code == 2
        assert "NAME=model needs the model's limit" in result.stderr


def test_what_the_model_reads_is_verified(folder: Path, invoke: Invoke) -> None:
    (folder / "a.txt").write_text(TEXT, encoding="utf-8")
    sending = ("--chunk-size", "model", "--prefix", "Café: ", "-e", folder)
    for options, other in ((sending, sending[:2]), (sending[:2] + sending[4:], sending)):
        made = invoke(
            "chunk", "--by", "token", *options, "-o", folder / "a.jsonl", folder / "a.txt"
        )
        assert made.exit_code == 0
        assert invoke("verify", *options, folder / "a.jsonl").exit_code == 0
        assert invoke("verify", *other, folder / "a.jsonl").exit_code != 0
    encoding = cutline.load(folder)
    chunks = cutline.TextChunker(encoding, "model")(TEXT)
    assert cutline.verify(TEXT, chunks, encoding=encoding, chunk_size="model").ok
    wider = cutline.TokenChunker(encoding, LIMIT - 1)(TEXT)
    assert not cutline.verify(TEXT, wider, encoding=encoding, chunk_size="model").ok
    for counter in ("gpt2", len):
        said = "'model' needs the model's limit, and that of .*(gpt2|len)"
        with pytest.raises(ValueError, match=said):
            cutline.verify(TEXT, chunks, encoding=counter, chunk_size="model")
