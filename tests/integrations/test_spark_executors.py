"""Spark with executors of their own, real Java processes: nothing is lost with one of them."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.integrations.cluster import (
    SPARK_MARKS,
    chunks_of,
    deadly_batches,
    documents,
    in_order,
    kill_executor_once,
    spark_session,
)

pytest.importorskip("pyspark", reason="pyspark is not installed")

from cutline.integrations import spark

pytestmark = [
    *SPARK_MARKS,
    pytest.mark.skipif(sys.platform != "linux", reason="an executor is found by /proc"),
]
ROWS = documents(1_500)


@pytest.fixture(scope="module")
def frame() -> Iterator[Any]:
    """The documents in six partitions, for two executors with a core each."""
    rows = [tuple(row.values()) for row in ROWS]
    with spark_session(
        "local-cluster[2,1,1024]",
        spark__executor__memory="1g",
        spark__sql__execution__arrow__maxRecordsPerBatch="100",
    ) as session:
        yield session.createDataFrame(rows, "id bigint, title string, text string").repartition(6)


def was_executor(marker: Path) -> bool:
    """Whether it is written there that an executor was killed."""
    return "CoarseGrainedExecutorBackend" in marker.read_text()


def test_a_killed_executor_loses_no_chunk(frame: Any, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    chunker = cutline.TokenChunker("o200k_base", 16, 4)
    deadly = frame.mapInArrow(deadly_batches(marker, kill_executor_once), frame.schema)
    got = spark.chunk_dataframe(deadly, chunker).toArrow()
    assert was_executor(marker)
    assert in_order(got.to_pylist()) == chunks_of(chunker, ROWS)


def test_a_killed_executor_is_counted_once(frame: Any, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    deadly = frame.mapInArrow(deadly_batches(marker, kill_executor_once), frame.schema)
    counts = spark.count_pieces(deadly)
    assert was_executor(marker)
    assert counts == cutline.count_pieces(row["text"] for row in ROWS if row["text"] is not None)
