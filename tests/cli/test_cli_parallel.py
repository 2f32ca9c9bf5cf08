"""Several files at a time, and a large one in another thread: with the same output."""

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cutline.cli import counts, inputs, parallel
from cutline.cli.parallel import ahead, in_order, small_in_order
from cutline.pipeline import parts
from tests.cli.conftest import TEXTS, Invoke


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of all sizes and kinds, good and bad."""
    for number, text in enumerate(TEXTS.values()):
        (tmp_path / f"{number:02}.txt").write_bytes(text.encode())
        (tmp_path / f"{number:02}.md").write_bytes(b"# Title\n\n" + text.encode() * 20)
    (tmp_path / "20 empty").touch()
    (tmp_path / "21 inside a character").write_bytes("añ".encode()[:-1])
    (tmp_path / "22 no utf-8").write_bytes(b"a\xffb" * 100)
    (tmp_path / "23 binary").write_bytes(b"a\0b")
    (tmp_path / "24 gone").symlink_to(tmp_path / "nowhere")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["count"],
        ["count", "--format", "table", "--sort", "tokens"],
        ["count", "--format", "jsonl", "--errors", "replace"],
        ["chunk", "--chunk-size", "16"],
        ["chunk", "--by", "auto", "--chunk-size", "16"],
        ["chunk", "--by", "text", "--chunk-size", "2"],  # too small for some characters
        ["chunk", "--format", "parquet"],
        ["chunk", "--format", "text", "--errors", "replace"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("large_bytes", [1, 300, inputs.LARGE_BYTES])
def test_jobs_do_not_change_the_output(
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    command: list[str],
    large_bytes: int,
) -> None:
    files = [folder, folder / "00.txt", folder / "missing", "-", folder / "22 no utf-8"]
    alone = invoke(*command, "--jobs", "1", *files, stdin=b"one two")
    monkeypatch.setattr(inputs, "LARGE_BYTES", large_bytes)
    for n_jobs in ("2", "5"):
        together = invoke(*command, "-j", n_jobs, *files, stdin=b"one two")
        assert together.exit_code == alone.exit_code == 1
        assert together.stderr == alone.stderr
        assert together.stdout_bytes == alone.stdout_bytes


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_one_large_file_is_counted_in_threads(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, folder: Path, errors: str
) -> None:
    asked = []
    monkeypatch.setattr(counts, "_THREADS_BYTES", 10)
    monkeypatch.setattr(parts, "_PART", 7)
    map_parts = parts.map_parts
    monkeypatch.setattr(parts, "map_parts", lambda *a: asked.append(a[-1]) or map_parts(*a))
    command = ["count", "--format", "jsonl", "--errors", errors, folder, "-"]
    alone = invoke(*command, "--jobs", "1", stdin="one two " * 9)
    assert not asked
    assert invoke(*command, "--jobs", "3", stdin="one two " * 9).stdout == alone.stdout
    assert set(asked) == {3}


def test_results_come_in_order_and_weigh_no_more_than_allowed() -> None:
    lock, running, most = threading.Lock(), 0, 0
    sizes = [3, 1, 4, 0, 50, 5, 9, 2, 6, 0, 0, 5, 3, 5] * 20

    def call(number: int) -> int:
        nonlocal running, most
        with lock:
            running += sizes[number] if sizes[number] < 50 else 0
            most = max(most, running)
        with lock:
            running -= sizes[number] if sizes[number] < 50 else 0
        if number % 7 == 0:
            raise KeyError(number)
        return number

    calls = ((size, lambda number=number: call(number)) for number, size in enumerate(sizes))
    done = []
    for number, result in enumerate(in_order(calls, 3, 10)):
        if number % 7 == 0:
            with pytest.raises(KeyError, match=str(number)):
                result()
        else:
            done.append(result())
    assert done == [number for number in range(len(sizes)) if number % 7]
    assert most <= 10


@pytest.mark.parametrize("size", [1, 1000, 1 << 15])
def test_small_calls_are_made_together_in_order(size: int) -> None:
    together: dict[int, list[int]] = {}

    def call(number: int) -> int:
        together.setdefault(threading.get_ident(), []).append(number)
        if number % 7 == 0:
            raise KeyError(number)
        return number

    # Those without weight are made when asked for, by whoever asks.
    sizes = [0 if number % 50 == 25 else size for number in range(500)]
    calls = ((size, lambda number=number: call(number)) for number, size in enumerate(sizes))
    for number, result in enumerate(small_in_order(calls, 1, 1 << 20)):
        if number % 7 == 0:
            with pytest.raises(KeyError, match=str(number)):
                result()
        else:
            assert result() == number
    assert together.pop(threading.get_ident()) == [n for n in range(500) if not sizes[n]]
    (rest,) = together.values()
    assert rest == [n for n in range(500) if sizes[n]]


def test_small_calls_are_handed_over_by_the_dozen(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = []

    def noted(calls: Iterable[tuple[int, Any]], n_threads: int, most: int) -> Iterator[Any]:
        weights.extend(weight for weight, _ in calls)
        yield from ()

    monkeypatch.setattr(parallel, "in_order", noted)
    sizes = [*[1] * 130, 40_000, *[20_000] * 2, 0, 5]
    assert not list(small_in_order(((size, list) for size in sizes), 2, 1 << 20))
    assert weights == [64, 64, 2, 40_000, 20_000, 20_000, 0, 5]


@pytest.mark.parametrize("n_items", [0, 1, 63, 64, 65, 10_000])
def test_items_taken_ahead_are_the_same(n_items: int) -> None:
    assert list(ahead(iter(range(n_items)))) == list(range(n_items))


@pytest.mark.parametrize("n_items", [0, 1, 64, 5_000])
def test_an_error_comes_after_the_items_before_it(n_items: int) -> None:
    def items() -> Iterator[int]:
        yield from range(n_items)
        raise KeyError("end")

    found = ahead(items())
    assert [next(found) for _ in range(n_items)] == list(range(n_items))
    with pytest.raises(KeyError, match="end"):
        next(found)


def test_only_some_items_are_taken_ahead_and_the_thread_ends_early() -> None:
    before = threading.active_count()
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    found = ahead(items())
    assert [next(found) for _ in range(100)] == list(range(1, 101))
    found.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
    assert taken < 2_000
