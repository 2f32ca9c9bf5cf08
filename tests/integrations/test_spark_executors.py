"""Spark with executors of their own, real Java processes: nothing is lost with one of them."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.integrations.cluster import (
    chunks_of,
    deadly_batches,
    documents,
    in_order,
    kill_executor_once,
)

pytest.importorskip("pyspark", reason="pyspark is not installed")

from cutline.integrations import spark

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.skipif(sys.platform != "linux", reason="an executor is found by /proc"),
]
ROWS = documents(1_500)


@pytest.fixture(scope="module")
def frame() -> Iterator[Any]:
    """The documents in six partitions, for two executors with a core each."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    rows = [tuple(row.values()) for row in ROWS]
    yield session.createDataFrame(rows, "id bigint, title string, text string").repartition(6)
    session.stop()


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
