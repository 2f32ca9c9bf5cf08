"""Cut, and count for training, on a local Spark and a local Ray; beside a plain loop.

    python -m benchmarks.cluster --megabytes 200 --corpora DIR

The job is the same for all: read Parquet files of documents, cut each text, write Parquet files
of chunks. The plain loop calls `chunk` on each text, in one process. Before anything is printed,
the rows of all three are compared, and so are the piece counts.

An engine is first warmed up with both jobs on all documents: that starts its workers and lets Java
compile. These runs are shown as "first". Then comes each job on 2 MB, which shows what a job costs
that has next to nothing to do, "small", and on all documents again, "all".
CPU seconds are those of all processes that the job used together, which other work on the machine
distorts least. The last column says how many times those of the plain loop they are; in brackets,
without those of the small job: how many times for each further megabyte. "move" is the least that
counting in an engine costs: it brings the texts to Python workers, which return the number of rows.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

import cutline
from benchmarks import corpora
from cutline.integrations.arrow import chunk_schema

CORES: Final = 2
N_FILES: Final = 8
ENCODING: Final = "o200k_base"
CHUNK_SIZE: Final = 256
_CORPUS_BYTES: Final = 8_000_000
_FEW_BYTES: Final = 2_000_000
_BATCH_ROWS: Final = 1_000
_STORE_BYTES: Final = 1_500_000_000
_KEPT_WORKERS: Final = 12
_LOOK_SECONDS: Final = 0.25

Result = tuple[float, float, Any]
"""Seconds, seconds of CPU, and what came out."""


def write_documents(folder: Path, texts: list[str], n_bytes: int) -> None:
    """Make a folder and write files of documents of 500 to 8,000 characters from random places."""
    folder.mkdir()
    rng = random.Random(6)
    left, number = n_bytes, 0
    for file in range(N_FILES):
        rows: list[dict[str, Any]] = []
        while left > n_bytes * (N_FILES - 1 - file) // N_FILES:
            text = rng.choice(texts)
            start = rng.randrange(len(text) - 8_000)
            rows.append({"id": number, "text": text[start : start + rng.randint(500, 8_000)]})
            left -= len(rows[-1]["text"].encode())
            number += 1
        pq.write_table(
            pa.Table.from_pylist(rows), folder / f"{file}.parquet", row_group_size=_BATCH_ROWS
        )


class FamilyClock:
    """CPU seconds of this process and all below it, of those that ended too (Linux).

    Not every parent collects the times of its children when they end, Ray's does not. So all are
    looked at again and again, and what was seen last of each counts.
    """

    def __init__(self) -> None:
        self._ticks: dict[tuple[int, str], int] = {}
        self._own_seconds = 0.0
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.seconds()
            time.sleep(_LOOK_SECONDS)

    def seconds(self) -> float:
        """So many up to now, without those that looking takes."""
        with self._lock:
            began = time.thread_time()
            self._look()
            self._own_seconds += time.thread_time() - began
            return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK") - self._own_seconds

    def _look(self) -> None:
        parents, found = {}, {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended
            process = int(entry.name)
            parents[process] = int(fields[1])
            # An id may be used again: with the time of its start it is unique.
            found[process, fields[19]] = int(fields[11]) + int(fields[12])
        for key, ticks in found.items():
            above = key[0]
            while above in parents and above != os.getpid():
                above = parents[above]
            if key in self._ticks or above == os.getpid():
                self._ticks[key] = ticks


def timed(clock: FamilyClock, job: Callable[[], Any]) -> Result:
    """Run a job once."""
    cpu, wall = clock.seconds(), time.perf_counter()
    result = job()
    return time.perf_counter() - wall, clock.seconds() - cpu, result


class Plain:
    """One process, one loop."""

    cores = 1

    def cut(self, source: Path, target: Path, chunker: cutline.TokenChunker) -> None:
        """Cut text by text."""
        schema = chunk_schema(pq.read_schema(source / "0.parquet"))
        with pq.ParquetWriter(target / "0.parquet", schema) as writer:
            for batch in pads.dataset(source).to_batches(batch_size=_BATCH_ROWS):
                rows = [
                    (number, chunk)
                    for number, text in zip(*map(pa.Array.to_pylist, batch.columns), strict=True)
                    for chunk in chunker.chunk(text)
                ]
                names = ("text", "start_index", "end_index", "token_count", "index", "headings")
                columns = [[getattr(chunk, name) for _, chunk in rows] for name in names]
                columns.append([chunk.metadata["boundary"] for _, chunk in rows])
                columns = [[number for number, _ in rows], *columns, ["{}"] * len(rows)]
                arrays = map(pa.array, columns, schema.types)
                writer.write_batch(pa.RecordBatch.from_arrays(list(arrays), schema=schema))

    def count(self, source: Path) -> cutline.PieceCounts:
        """Count in one thread."""
        return cutline.count_pieces(str(source / "*.parquet"), column="text", num_threads=1)


class Spark:
    """Spark in local mode."""

    cores = CORES

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        self.session = (
            SparkSession.builder.master(f"local[{CORES}]")
            .config("spark.driver.memory", "2g")
            .config("spark.sql.shuffle.partitions", CORES)
            .config("spark.sql.files.maxPartitionBytes", 32_000_000)
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", _BATCH_ROWS)
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        self.session.sparkContext.setLogLevel("ERROR")

    def cut(self, source: Path, target: Path, chunker: cutline.TokenChunker) -> None:
        """Cut with `mapInArrow`."""
        from cutline.integrations.spark import chunk_dataframe

        frame = self.session.read.parquet(str(source))
        chunk_dataframe(frame, chunker).write.mode("overwrite").parquet(str(target))

    def count(self, source: Path) -> cutline.PieceCounts:
        """Count with `mapInArrow` and `groupBy`."""
        from cutline.integrations.spark import count_pieces

        return count_pieces(self.session.read.parquet(str(source)))

    def move(self, source: Path) -> int:
        """Bring the texts to Python workers with `mapInArrow`."""

        def numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_pydict({"n": [sum(map(len, batches))]})

        texts = self.session.read.parquet(str(source)).select("text")
        return sum(row["n"] for row in texts.mapInArrow(numbers, "n bigint").collect())

    def stop(self) -> None:
        """End the Java process's work."""
        self.session.stop()


class Ray:
    """Ray on this machine alone."""

    cores = CORES

    def __init__(self) -> None:
        import ray

        self.ray = ray
        ray.init(
            num_cpus=CORES,
            object_store_memory=_STORE_BYTES,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            # Else it ends workers that wait for a second, and each job starts some again.
            _system_config={
                "idle_worker_killing_time_threshold_ms": 600_000,
                "num_workers_soft_limit": _KEPT_WORKERS,
            },
        )
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.use_datasource_v2 = False  # starts four processes more to read what is in a footer

    def cut(self, source: Path, target: Path, chunker: cutline.TokenChunker) -> None:
        """Cut with actors."""
        from cutline.integrations.ray import chunk_dataset

        shutil.rmtree(target, ignore_errors=True)
        chunk_dataset(self._read(source), chunker).write_parquet(str(target))

    def count(self, source: Path) -> cutline.PieceCounts:
        """Count with tasks and `groupby`."""
        from cutline.integrations.ray import count_pieces

        return count_pieces(self._read(source), num_partitions=CORES)

    def move(self, source: Path) -> int:
        """Bring the texts to tasks."""
        texts = self._read(source).select_columns(["text"])
        options = {"batch_format": "pyarrow", "batch_size": None}
        numbers = texts.map_batches(lambda batch: pa.table({"n": [len(batch)]}), **options)
        return sum(row["n"] for row in numbers.iter_rows())

    def _read(self, source: Path) -> Any:
        return self.ray.data.read_parquet(str(source), override_num_blocks=N_FILES)

    def stop(self) -> None:
        """End Ray's processes."""
        self.ray.shutdown()


ENGINES: Final[dict[str, Callable[[], Spark | Ray]]] = {"spark": Spark, "ray": Ray}


def chunks_in(folder: Path) -> "list[pa.ChunkedArray]":
    """All columns of chunks, in the order of documents."""
    names = ["id", "index", "text", "start_index", "end_index", "token_count", "boundary"]
    table = pads.dataset(folder, format="parquet").to_table(names)
    columns = table.sort_by([("id", "ascending"), ("index", "ascending")]).columns
    return list(columns)


def line(name: str, job: str, cores: int, megabytes: float, result: Result) -> str:
    """Say what one run took."""
    wall, cpu, _ = result
    return (
        f"{name:6} {job:12} {wall:7.1f} s {megabytes / wall / cores:7.1f} MB/s a core "
        f"{cpu:8.1f} s of CPU {megabytes / cpu:7.1f} MB/s of CPU"
    )


def compare(folder: Path, engines: list[str], megabytes: float) -> None:
    """Run all jobs of all engines on the documents in a folder."""
    clock = FamilyClock()
    chunker, plain = cutline.TokenChunker(ENCODING, CHUNK_SIZE), Plain()
    target = folder / "plain"
    target.mkdir()
    jobs: dict[str, Callable[[Any, Path, Path], Any]] = {
        "cut": lambda engine, source, target: engine.cut(source, target, chunker),
        "count": lambda engine, source, target: engine.count(source),
    }
    alone = {}
    for job, work in jobs.items():
        alone[job] = timed(clock, partial(work, plain, folder / "documents", target))
        print(line("plain", f"{job} all", 1, megabytes, alone[job]), flush=True)
    chunks, counts = chunks_in(target), alone["count"][2]
    for name in engines:
        began = time.perf_counter()
        engine, target = ENGINES[name](), folder / name
        print(f"{name:6} start        {time.perf_counter() - began:7.1f} s", flush=True)
        try:
            for job, work in jobs.items():
                run = timed(clock, partial(work, engine, folder / "documents", target))
                print(line(name, f"{job} first", CORES, megabytes, run), flush=True)
            moved = timed(clock, partial(engine.move, folder / "documents"))
            times = moved[1] / alone["count"][1]
            print(f"{line(name, 'move all', CORES, megabytes, moved)} {times:5.2f}x", flush=True)
            for job, work in jobs.items():
                few = timed(clock, partial(work, engine, folder / "few", folder / f"{name} few"))
                print(line(name, f"{job} small", CORES, _FEW_BYTES / 1e6, few), flush=True)
                run = timed(clock, partial(work, engine, folder / "documents", target))
                got, want = (chunks_in(target), chunks) if job == "cut" else (run[2], counts)
                if got != want:
                    raise SystemExit(f"{name}: not what the plain loop gives")
                times, more = run[1] / alone[job][1], (run[1] - few[1]) / alone[job][1]
                shown = line(name, f"{job} all", CORES, megabytes, run)
                print(f"{shown} {times:5.2f}x ({more:.2f}x)", flush=True)
        finally:
            engine.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=200.0)
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--engines", nargs="*", choices=ENGINES, default=list(ENGINES))
    options = parser.parse_args()
    found = corpora.load(options.corpora, _CORPUS_BYTES)
    print(f"texts {found.origin}", flush=True)
    with tempfile.TemporaryDirectory(prefix="cutline-cluster-") as scratch:
        folder, texts = Path(scratch), list(found.texts.values())
        write_documents(folder / "few", texts, _FEW_BYTES)
        write_documents(folder / "documents", texts, int(options.megabytes * 1e6))
        compare(folder, options.engines, options.megabytes)


if __name__ == "__main__":
    main()
