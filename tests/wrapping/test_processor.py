"""Models of sentencepiece of every type, wrapped: its ids, and no chunk over budget."""

import io
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import VocabularyError
from tests.texts import NAMED_TEXTS

package = pytest.importorskip("sentencepiece", reason="the oracle of these tests")

TEXTS = [text[:600].encode(errors="ignore").decode() for text in NAMED_TEXTS.values()]
TEXTS = [text for text in TEXTS if "\0" not in text] + ["", " ", "  a  b ", "ﬁ Å ½ \u3000 é 日本"]


@cache
def trained(kind: str) -> bytes:
    lines = [line for text in TEXTS for line in text.split("\n") if line]
    written = io.BytesIO()
    package.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=written,
        model_type=kind,
        vocab_size=500,
        hard_vocab_limit=False,
        character_coverage=0.98,
        minloglevel=2,
    )
    return written.getvalue()


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_counts_and_chunks_are_those_of_the_processor(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "spiece.model"
    path.write_bytes(trained(kind))
    real = package.SentencePieceProcessor(model_proto=trained(kind))
    for wrapped in (cutline.wrap(path), pickle.loads(pickle.dumps(cutline.wrap(real)))):
        for text in TEXTS:
            assert wrapped.encode(text) == real.encode(text)
            assert wrapped.count(text) == len(real.encode(text))
            chunks = cutline.TokenChunker(wrapped, chunk_size=20).chunk(text)
            assert "".join(chunk.text for chunk in chunks) == text
            for chunk in chunks:
                assert chunk.token_count == len(real.encode(chunk.text)) <= 20
    assert cutline.wrap(path).name == "spiece"
    assert cutline.wrap(real, name="mine").name == "mine"


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_folder_with_nothing_but_a_model_is_wrapped(kind: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained(kind))
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 99}')
    real = package.SentencePieceProcessor(model_proto=trained(kind))
    wrapped = cutline.wrap(tmp_path)
    assert [wrapped.encode(text) for text in TEXTS] == [real.encode(text) for text in TEXTS]
    assert (wrapped.name, wrapped.max_tokens) == (tmp_path.name, 99)
    (tmp_path / "tokenizer.model").rename(tmp_path / "vocab.txt")
    said = (
        r"a folder without tokenizer\.json and tokenizer\.model; cutline.load reads its vocab\.txt"
    )
    with pytest.raises(FileNotFoundError, match=said):
        cutline.wrap(tmp_path)


def test_offsets_are_code_points() -> None:
    wrapped: Any = cutline.wrap(package.SentencePieceProcessor(model_proto=trained("char")))
    text = "é日a"
    assert wrapped.offsets_of(text)[-1] == (2, 3)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    path.write_bytes(b"no model")
    with pytest.raises(VocabularyError, match=r"x\.model cannot be read by sentencepiece"):
        cutline.wrap(path)
    with pytest.raises(FileNotFoundError):
        cutline.wrap(tmp_path / "y.model")
