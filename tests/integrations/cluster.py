"""What the tests of engines need: documents, workers that die, chunkers that tell of loading."""

import os
import random
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import cutline
from tests.texts import NAMED_TEXTS, random_texts

FATAL = "Here the worker dies, once."
SPARK_MARKS = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@contextmanager
def spark_session(master: str, **config: str) -> Iterator[Any]:
    """A real Spark on this machine, with two shuffle partitions; names have `__` for a dot."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = (
        SparkSession.builder.master(master)
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    for name, value in config.items():
        builder = builder.config(name.replace("__", "."), value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def documents(n_texts: int) -> list[dict[str, Any]]:
    """Texts of all kinds with a number and a title; some null or empty, one of them `FATAL`."""
    rng = random.Random(12)
    some: list[str | None] = [*NAMED_TEXTS.values(), *random_texts(13, 50), None, ""]
    texts = [rng.choice(some) for _ in range(n_texts)]
    long = [" ".join(filter(None, rng.choices(some, k=60))) for _ in range(n_texts // 4)]
    rows = [*texts, *long, None, ""]
    rng.shuffle(rows)
    rows.insert(2 * len(rows) // 3, FATAL)
    return [{"id": row, "title": f"no. {row}", "text": text} for row, text in enumerate(rows)]


def chunks_of(chunker: Any, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What one process gives: `chunk`, row by row, with the columns that the engines give."""
    return [
        {
            "id": row["id"],
            "title": row["title"],
            "text": chunk.text,
            "start_index": chunk.start_index,
            "end_index": chunk.end_index,
            "token_count": chunk.token_count,
            "index": chunk.index,
            "headings": list(chunk.headings),
            "boundary": chunk.metadata["boundary"],
            "metadata": "{}",
        }
        for row in rows
        for chunk in (chunker.chunk(row["text"]) if row["text"] else [])
    ]


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Engines keep no order: sort by document and chunk."""
    return sorted(rows, key=lambda row: (row["id"], row.get("index", 0)))


def die_once(marker: Path) -> None:
    """Kill this process, as the kernel does where memory runs out; but only the first time."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def kill_executor_once(marker: Path) -> None:
    """Kill the Java process above Spark's Python worker, with all it holds; write down which."""
    if not marker.exists():
        daemon = os.getppid()
        executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        marker.write_text(Path(f"/proc/{executor}/cmdline").read_text())
        os.kill(executor, signal.SIGKILL)


def deadly_chunker(marker: Path) -> cutline.TokenChunker:
    """A chunker whose process dies when it meets `FATAL` first; pickled whole, as it is local."""
    fatal, kill = FATAL, local(die_once)

    class Deadly(cutline.TokenChunker):
        def chunk(self, text: str) -> list[cutline.Chunk]:
            if text == fatal:
                kill(marker)
            return super().chunk(text)

    return Deadly("o200k_base", 16, 4)


def deadly_batches(marker: Path, how: Callable[[Path], None] = die_once) -> Any:
    """What passes batches through, but kills behind the first one that holds `FATAL`."""
    fatal, kill = FATAL, local(how)

    def passed(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch
            if fatal in batch["text"].to_pylist():
                kill(marker)

    return passed


def telling_chunker(log: Path) -> cutline.TokenChunker:
    """A chunker that writes the process down when it is unpickled; its encoding has no name."""
    encoding = cutline.train(iter(["one two three four five " * 9]), 300)

    class Telling(cutline.TokenChunker):
        def __setstate__(self, state: dict[str, Any]) -> None:
            self.__dict__.update(state)
            with log.open("a") as file:
                file.write(f"{os.getpid()}\n")

    return Telling(encoding, 16)


def local(function: Any) -> Any:
    """A function that workers, which cannot import the tests, get by value."""
    import types

    needed = {"os": os, "signal": signal, "Path": Path}
    made = types.FunctionType(function.__code__, needed, function.__name__)
    made.__module__ = "__main__"
    return made
