"""A folder of thousands of mixed files, to Parquet and into a vector store.

Little memory, nothing doubled or lost, and the same again after the run was killed.
"""

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import names_in
from tests.cli.folder import log_lines, make_folder
from tests.conftest import exhaustive, needs_code

pq = pytest.importorskip("pyarrow.parquet")
pytestmark = [needs_code, pytest.mark.skipif(os.name == "nt", reason="needs POSIX processes")]

MOST_MEGABYTES = 300
CHUNK = [sys.executable, "-m", "cutline", "chunk", "--chunk-size", "256"]
STORE = [sys.executable, "-m", "tests.cli.store"]
ROOT = Path(__file__).resolve().parents[2]
# What runs the program must be small itself: Linux counts the memory of what forked it, too.
LAUNCHER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
most //= 1 << 20 if sys.platform == "darwin" else 1 << 10
print(json.dumps([done.returncode, most, done.stdout, done.stderr]))
"""


class Run(NamedTuple):
    """What a program did."""

    code: int
    megabytes: int
    stdout: str
    stderr: str


def run(*command: object) -> Run:
    launched = [sys.executable, "-c", LAUNCHER, *map(str, command)]
    found = subprocess.run(launched, capture_output=True, text=True, check=True, cwd=ROOT)
    return Run(*json.loads(found.stdout))


def sizes_in(folder: Path) -> list[int]:
    """List the sizes of a folder's files, while another process makes and deletes some."""
    sizes = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            sizes.append(path.lstat().st_size)
    return sizes


def kill(sent: int, target: Path, n_bytes: int, *command: object) -> None:
    """Send a signal to a program when it has written so many bytes into the folder of its target.

    A program that ends sooner, on a busy machine, is started anew.
    """
    for _ in range(5):
        with subprocess.Popen([*map(str, command)], cwd=ROOT, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                sizes = sizes_in(target.parent)
                if sizes and sum(sizes) >= n_bytes:
                    process.send_signal(sent)
                    break
                time.sleep(0.002)
        if process.returncode in (-sent, 128 + sent):
            return
        target.unlink()
    pytest.fail("the program always ends too soon")


class Folder(NamedTuple):
    """Files, and the text that the chunks of each join to; None: it has no chunks."""

    path: Path
    expected: dict[str, str | None]
    log_bytes: int


@pytest.fixture(
    scope="module", params=[(200, 2_000_000), exhaustive((5_000, 200_000_000))], ids=repr
)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    n_files, log_bytes = request.param
    path = tmp_path_factory.mktemp("folder") / "docs"
    return Folder(path, make_folder(path, n_files, log_bytes), log_bytes)


@pytest.fixture(scope="module")
def chunks(folder: Folder) -> Path:
    """The output of an undisturbed run, which is checked here once."""
    target = folder.path.parent / "chunks.parquet"
    done = run(*CHUNK, "--format", "parquet", "-o", target, folder.path)
    print(f"{done.megabytes} MB")
    assert (done.code, done.stdout) == (1, "")
    assert done.megabytes < MOST_MEGABYTES
    failed = [name for name, text in folder.expected.items() if text is None]
    binary = [name for name in failed if name.endswith(".png")]
    assert f"skipped {len(binary)} binary files" in done.stderr
    for name in {*failed} - {*binary}:
        assert f"{folder.path / name}: invalid utf-8" in done.stderr
    assert len(done.stderr.splitlines()) == len(failed) - len(binary) + 1
    return target


def rows(chunks: Path) -> Iterator[tuple[str, int, int, int, str]]:
    columns = ["file", "index", "start_index", "token_count", "text"]
    for batch in pq.ParquetFile(chunks).iter_batches(2000, columns=columns):
        yield from zip(*batch.to_pydict().values(), strict=True)


def test_each_file_is_there_once_and_whole(folder: Folder, chunks: Path) -> None:
    joined: dict[str, list[str]] = {}
    log, n_log = hashlib.sha256(), 0
    length = 0
    for file, index, start, token_count, text in rows(chunks):
        name = Path(file).relative_to(folder.path).as_posix()
        assert 0 < token_count <= 256
        if not index:
            assert name not in joined
            joined[name], length = [], 0
        assert (start, index) == (length, n_log if name == "large.log" else len(joined[name]))
        length += len(text)
        if name == "large.log":
            log.update(text.encode())
            n_log += 1
            assert text.endswith("\n")
        else:
            joined[name].append(text)
    assert joined.pop("large.log") == []
    wanted = {name: text for name, text in folder.expected.items() if text}
    assert {name: "".join(texts) for name, texts in joined.items()} == wanted
    whole = hashlib.sha256()
    for line in log_lines(folder.log_bytes):
        whole.update(line)
    assert log.digest() == whole.digest()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_a_run_that_is_killed_and_run_again_gives_the_same_file(
    folder: Folder, chunks: Path, tmp_path: Path, sent: signal.Signals
) -> None:
    target = tmp_path / "chunks.parquet"
    command = [*CHUNK, "--format", "parquet", "-o", target, folder.path]
    n_bytes = chunks.stat().st_size // 2 if folder.log_bytes > 1 << 25 else 0
    kill(sent, target, n_bytes, *command)
    left = names_in(tmp_path)
    assert len(left) == (sent == signal.SIGKILL)
    assert all(name.startswith(".") and name.endswith(".tmp") for name in left)
    again = run(*command)
    assert (again.code, again.megabytes < MOST_MEGABYTES) == (1, True)
    assert target.read_bytes() == chunks.read_bytes()
    assert names_in(tmp_path) == ["chunks.parquet"]


def stored(path: Path) -> Iterator[tuple[str, int, str]]:
    with closing(sqlite3.connect(path)) as store:
        yield from store.execute("SELECT file, start_index, text FROM chunks")


def test_a_store_that_is_filled_in_two_runs_has_each_chunk_once(
    chunks: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store.db"
    kill(signal.SIGKILL, store, 1 << 19, *STORE, chunks, store)
    assert store.exists()
    done = run(*STORE, chunks, store)
    assert (done.code, done.stderr) == (0, "")
    print(f"{done.megabytes} MB")
    assert done.megabytes < MOST_MEGABYTES
    wanted = ((file, start, text) for file, _, start, _, text in rows(chunks))
    digests = [
        sorted(hashlib.sha256(repr(row).encode()).digest() for row in found)
        for found in (stored(store), wanted)
    ]
    assert digests[0] == digests[1]
