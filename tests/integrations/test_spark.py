"""A real local Spark: the same rows and counts as one process, and nothing lost with a worker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.integrations.cluster import (
    SPARK_MARKS,
    chunks_of,
    deadly_batches,
    deadly_chunker,
    documents,
    in_order,
    spark_session,
    telling_chunker,
)

pytest.importorskip("pyspark", reason="pyspark is not installed")

from cutline.integrations import spark

pytestmark = SPARK_MARKS
ROWS = documents(1_500)
ENC = cutline.get_encoding("o200k_base")


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session("local[2,4]") as made:  # two cores; a task may fail three times
        yield made


@pytest.fixture(scope="module")
def frame(session: Any) -> Any:
    """The documents in four partitions, each of several batches."""
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 100)
    schema = "id bigint, title string, text string"
    rows = [tuple(row.values()) for row in ROWS]
    return session.createDataFrame(rows, schema).repartition(4).cache()


@pytest.mark.parametrize(
    "chunker",
    [
        cutline.TokenChunker(ENC, 16),
        cutline.TokenChunker(ENC, 16, 4),
        cutline.TextChunker(ENC, 16),
    ],
    ids=["tokens", "overlap", "text"],
)
def test_chunks_are_those_of_one_process(frame: Any, chunker: cutline.TokenChunker) -> None:
    got = spark.chunk_dataframe(frame, chunker)
    rows = got.toArrow()
    assert in_order(rows.to_pylist()) == chunks_of(chunker, ROWS)
    assert got.columns == rows.column_names


def test_columns_are_chosen_and_named(frame: Any) -> None:
    chunker = cutline.TokenChunker(ENC, 16)
    got = spark.chunk_dataframe(frame, chunker, carry=["id"], prefix="chunk_")
    assert got.columns[:3] == ["id", "chunk_text", "chunk_start_index"]
    want = [(row["id"], row["index"], row["text"]) for row in chunks_of(chunker, ROWS)]
    assert sorted(map(tuple, got.select("id", "chunk_index", "chunk_text").collect())) == want


def test_counts_are_those_of_one_process(frame: Any) -> None:
    got = in_order(spark.count_dataframe(frame, "o200k_base").toArrow().to_pylist())
    counts = [None if row["text"] is None else ENC.count(row["text"]) for row in ROWS]
    assert got == [row | {"token_count": n} for row, n in zip(ROWS, counts, strict=True)]


def test_what_is_wrong_is_refused_before_spark_computes(frame: Any) -> None:
    chunker = cutline.TokenChunker(ENC, 16)
    with pytest.raises(cutline.SourceError, match="no column 'body'; there is 'id'"):
        spark.chunk_dataframe(frame, chunker, "body")
    with pytest.raises(cutline.SourceError, match="column 'id' must contain strings"):
        spark.count_pieces(frame, "id")
    with pytest.raises(ValueError, match="'text' would occur twice"):
        spark.chunk_dataframe(frame, chunker, "title")
    with pytest.raises(ValueError, match="there is a column 'title' already"):
        spark.count_dataframe(frame, ENC, name="title")
    with pytest.raises(ValueError, match="'x' occurs twice"):
        spark.count_pieces(frame, special_tokens=["x", "x"])


@pytest.mark.parametrize("special", [[], ["<|endoftext|>"]])
def test_training_gives_the_vocabulary_of_one_process(frame: Any, special: list[str]) -> None:
    counts = spark.count_pieces(frame, special_tokens=special)
    texts = [row["text"] for row in ROWS if row["text"] is not None]
    assert counts == cutline.count_pieces(iter(texts), special_tokens=special)
    trained = cutline.train_from_counts(counts, 1_000)
    want = cutline.train(iter(texts), 1_000, special_tokens=special)
    assert trained._mergeable_ranks == want._mergeable_ranks
    assert trained.special_tokens_set == want.special_tokens_set


def test_nothing_to_train_on_is_refused(session: Any) -> None:
    empty = session.createDataFrame([(None,), ("",)], "text string")
    with pytest.raises(cutline.SourceError, match="no text to train on"):
        spark.count_pieces(empty)


def test_a_killed_worker_loses_no_chunk(frame: Any, tmp_path: Path) -> None:
    marker = tmp_path / "died"
    chunker = deadly_chunker(marker)
    got = spark.chunk_dataframe(frame, chunker).toArrow()
    assert marker.exists()
    assert in_order(got.to_pylist()) == chunks_of(cutline.TokenChunker(ENC, 16, 4), ROWS)


def test_a_killed_worker_is_counted_once(frame: Any, tmp_path: Path) -> None:
    marker = tmp_path / "died"
    counts = spark.count_pieces(frame.mapInArrow(deadly_batches(marker), frame.schema))
    assert marker.exists()
    assert counts == cutline.count_pieces(row["text"] for row in ROWS if row["text"] is not None)


def test_a_chunker_is_loaded_once_by_each_worker(frame: Any, tmp_path: Path) -> None:
    log = tmp_path / "loads"
    chunker = telling_chunker(log)
    n_tasks = 12
    got = spark.chunk_dataframe(frame.repartition(n_tasks), chunker)
    assert in_order(got.toArrow().to_pylist()) == chunks_of(chunker, ROWS)
    processes = log.read_text().splitlines()
    assert len(processes) == len(set(processes)) < n_tasks
