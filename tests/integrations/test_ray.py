"""A real local Ray: the same rows and counts as one process, and nothing lost with a worker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.integrations.cluster import (
    chunks_of,
    deadly_batches,
    deadly_chunker,
    documents,
    in_order,
    telling_chunker,
)

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("ray.data", reason="ray is not installed")

from cutline.integrations import ray as on_ray  # noqa: E402 (needs ray)

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
ROWS = documents(1_500)
ENC = cutline.get_encoding("o200k_base")
STORE_BYTES = 200_000_000


@pytest.fixture(scope="module")
def dataset() -> Iterator[Any]:
    """The documents in four blocks."""
    import ray

    ray.init(
        num_cpus=2,
        object_store_memory=STORE_BYTES,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    table = pa.Table.from_pylist(ROWS)
    quarter = len(table) // 4 + 1
    yield ray.data.from_arrow([table.slice(at, quarter) for at in range(0, len(table), quarter)])
    ray.shutdown()


def rows_of(dataset: Any) -> list[dict[str, Any]]:
    """All rows, in the order of documents and chunks."""
    batches = dataset.iter_batches(batch_format="pyarrow", batch_size=None)
    return in_order(row for batch in batches for row in batch.to_pylist())


@pytest.mark.parametrize(
    "chunker",
    [
        cutline.TokenChunker(ENC, 16),
        cutline.TokenChunker(ENC, 16, 4),
        cutline.TextChunker(ENC, 16),
    ],
    ids=["tokens", "overlap", "text"],
)
def test_chunks_are_those_of_one_process(dataset: Any, chunker: cutline.TokenChunker) -> None:
    got = on_ray.chunk_dataset(dataset, chunker, batch_size=100)
    assert rows_of(got) == chunks_of(chunker, ROWS)


def test_columns_are_chosen_and_named(dataset: Any) -> None:
    from ray.data import ActorPoolStrategy

    chunker = cutline.TokenChunker(ENC, 16)
    two = ActorPoolStrategy(size=2)
    got = on_ray.chunk_dataset(dataset, chunker, carry=["id"], prefix="chunk_", compute=two)
    rows = rows_of(got)
    assert list(rows[0])[:3] == ["id", "chunk_text", "chunk_start_index"]
    want = [(row["id"], row["index"], row["text"]) for row in chunks_of(chunker, ROWS)]
    assert sorted((row["id"], row["chunk_index"], row["chunk_text"]) for row in rows) == want


def test_counts_are_those_of_one_process(dataset: Any) -> None:
    counts = [None if row["text"] is None else ENC.count(row["text"]) for row in ROWS]
    want = [row | {"token_count": n} for row, n in zip(ROWS, counts, strict=True)]
    assert rows_of(on_ray.count_dataset(dataset, "o200k_base")) == want


@pytest.mark.parametrize("special", [[], ["<|endoftext|>"]])
def test_training_gives_the_vocabulary_of_one_process(dataset: Any, special: list[str]) -> None:
    counts = on_ray.count_pieces(dataset, special_tokens=special, num_partitions=2)
    texts = [row["text"] for row in ROWS if row["text"] is not None]
    assert counts == cutline.count_pieces(iter(texts), special_tokens=special)
    trained = cutline.train_from_counts(counts, 1_000)
    want = cutline.train(iter(texts), 1_000, special_tokens=special)
    assert trained._mergeable_ranks == want._mergeable_ranks
    assert trained.special_tokens_set == want.special_tokens_set


def test_nothing_to_train_on_is_refused(dataset: Any) -> None:
    import ray

    empty = ray.data.from_arrow(pa.table({"text": pa.array([None, ""], pa.string())}))
    with pytest.raises(cutline.SourceError, match="no text to train on"):
        on_ray.count_pieces(empty, num_partitions=2)


def test_a_killed_worker_loses_no_chunk(dataset: Any, tmp_path: Path) -> None:
    marker = tmp_path / "died"
    got = on_ray.chunk_dataset(dataset, deadly_chunker(marker), batch_size=100)
    rows = rows_of(got)
    assert marker.exists()
    assert rows == chunks_of(cutline.TokenChunker(ENC, 16, 4), ROWS)


def test_a_killed_worker_is_counted_once(dataset: Any, tmp_path: Path) -> None:
    marker = tmp_path / "died"
    passed = deadly_batches(marker)
    deadly = dataset.map_batches(lambda batch: passed([batch]), batch_format="pyarrow")
    counts = on_ray.count_pieces(deadly, num_partitions=2)
    assert marker.exists()
    assert counts == cutline.count_pieces(row["text"] for row in ROWS if row["text"] is not None)


def test_a_chunker_is_loaded_once_by_each_actor(dataset: Any, tmp_path: Path) -> None:
    from ray.data import ActorPoolStrategy

    log = tmp_path / "loads"
    chunker = telling_chunker(log)
    compute = ActorPoolStrategy(size=1)
    got = on_ray.chunk_dataset(dataset, chunker, batch_size=50, compute=compute)
    assert rows_of(got) == chunks_of(chunker, ROWS)
    assert len(log.read_text().splitlines()) == 1
