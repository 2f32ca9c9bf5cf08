"""What is held out and what is left are the whole corpus, and the shares are about right."""

import gzip
import json
from itertools import pairwise
from pathlib import Path

import pytest

from cutline.errors import SourceError
from cutline.training import held_out
from cutline.training.held_out import HeldOut
from cutline.training.sources import FileSource, find_files

LINES = "".join(f"line {n} äöü 日本語\n" for n in range(2000))


def read(source: HeldOut) -> list[str]:
    return ["".join(document.blocks()) for document in source]


@pytest.mark.parametrize("block_bytes", [100, 1000, 1 << 20])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.99])
def test_end_of_each_file_is_held_out_from_the_start_of_a_line(
    tmp_path: Path, share: float, block_bytes: int
) -> None:
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(LINES[::-1].encode()))
    paths = find_files(tmp_path / "*")
    source = HeldOut(FileSource(paths, None, block_bytes=block_bytes), share)
    first, second = read(source)
    assert source.bytes_read == source.size_bytes == sum(path.stat().st_size for path in paths)
    held = "".join(source.texts)
    assert LINES.startswith(first)
    assert LINES[::-1].startswith(second)
    assert held == LINES[len(first) :] + LINES[::-1][len(second) :]
    assert first.endswith("\n")
    # A packed file is read ahead, so that the place is less exact.
    assert len(LINES) - len(first) == pytest.approx(share * len(LINES), abs=150)
    assert len(second) < len(LINES)


def test_end_without_lines_is_held_out_too(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 1000)
    source = HeldOut(FileSource([tmp_path / "a.txt"], None), 0.25)
    assert read(source) == ["x" * 750]
    assert source.texts == ["x" * 250]


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.99])
def test_rows_are_held_out_at_even_distances(tmp_path: Path, share: float) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"t": str(n)}) + "\n" for n in range(1000)))
    source = HeldOut(FileSource([path], "t"), share)
    left = [int(text) for text in read(source)]
    held = [int(text) for text in source.texts]
    assert sorted(left + held) == list(range(1000))
    assert len(held) == int(1000 * share)
    gaps = {after - before for before, after in pairwise(held)}
    assert max(gaps) - min(gaps) <= 1


def test_what_is_held_out_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "MOST_BYTES", 1000)
    (tmp_path / "a.txt").write_text("x" * 100_000)
    source = HeldOut(FileSource([tmp_path / "a.txt"], None), 0.5)
    read(source)
    assert 900 < len("".join(source.texts)) <= 1001


def test_corpus_without_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(SourceError, match="no text to train on"):
        read(HeldOut(FileSource([tmp_path / "a.txt"], None), 0.5))
