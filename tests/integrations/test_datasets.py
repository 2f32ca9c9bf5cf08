"""Hugging Face `datasets`: `map(batched=True)` takes our plain functions."""

from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.integrations.cluster import chunks_of, documents

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
datasets = pytest.importorskip("datasets", reason="datasets is not installed")

from cutline.integrations.arrow import ArrowTexts, chunk_batch, count_batch  # noqa: E402 (as above)

ROWS = documents(200)
ENC = cutline.get_encoding("o200k_base")


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches go to a folder of the test."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    datasets.disable_progress_bars()


@pytest.fixture
def dataset() -> Any:
    return datasets.Dataset.from_list(ROWS).with_format("arrow")


@pytest.mark.parametrize("batch_size", [1, 30, 1_000])
@pytest.mark.parametrize(
    "chunker",
    [cutline.TokenChunker(ENC, 16, 4), cutline.TextChunker(ENC, 16)],
    ids=["tokens", "text"],
)
def test_chunks_are_those_of_one_process(
    dataset: Any, chunker: cutline.TokenChunker, batch_size: int
) -> None:
    arguments = {"chunker": chunker, "column": "text"}
    got = dataset.map(chunk_batch, batched=True, batch_size=batch_size, fn_kwargs=arguments)
    assert got.with_format(None).to_list() == chunks_of(chunker, ROWS)


def test_counts_are_those_of_one_process(dataset: Any) -> None:
    got = dataset.map(count_batch, batched=True, batch_size=50, fn_kwargs={"encoding": ENC})
    counts = [None if row["text"] is None else ENC.count(row["text"]) for row in ROWS]
    want = [row | {"token_count": n} for row, n in zip(ROWS, counts, strict=True)]
    assert got.with_format(None).to_list() == want


def test_a_second_run_is_read_from_the_cache(tmp_path: Path) -> None:
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "saved")
    prints = set()
    for _ in range(2):
        saved = datasets.load_from_disk(tmp_path / "saved").with_format("arrow")
        arguments = {"chunker": cutline.TokenChunker("o200k_base", 16)}
        prints.add(saved.map(chunk_batch, batched=True, fn_kwargs=arguments)._fingerprint)
    assert len(prints) == 1


def test_a_stream_is_chunked_as_it_comes() -> None:
    chunker = cutline.TokenChunker(ENC, 16)
    stream = datasets.Dataset.from_list(ROWS).to_iterable_dataset().with_format("arrow")
    got = stream.map(chunk_batch, batched=True, batch_size=20, fn_kwargs={"chunker": chunker})
    rows = [row for table in got for row in table.to_pylist()]
    assert rows == chunks_of(chunker, ROWS)


def test_training_reads_the_table_of_a_dataset(dataset: Any) -> None:
    texts = [row["text"] for row in ROWS if row["text"] is not None]
    counts = cutline.count_pieces(ArrowTexts(dataset.iter(50)))
    assert counts == cutline.count_pieces(iter(texts))
