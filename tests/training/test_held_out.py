"""What is held out and what is left are the whole corpus, and the shares are about right."""

import gzip
import json
from itertools import pairwise, zip_longest
from pathlib import Path

import pytest

from cutline.errors import SourceError
from cutline.training import count_pieces, held_out
from cutline.training.held_out import HeldOut
from cutline.training.sources import FileSource

LINES = "".join(f"line {n} äöü 日本語\n" for n in range(2000))


def read(source: HeldOut) -> list[str]:
    """What is not held out, of each document."""
    return [b"".join(document.blocks()).decode() for document in source]


def woven(kept: list[str], held: list[str]) -> str:
    """Stretches of one text in turn: kept, held out, kept, ..."""
    return "".join(a + b for a, b in zip_longest(kept, held, fillvalue=""))


@pytest.mark.parametrize("packing", ["", ".gz"])
@pytest.mark.parametrize("block_bytes", [100, 1000, 10_000, 1 << 20])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.99])
def test_lines_are_held_out_of_each_block(
    tmp_path: Path, share: float, block_bytes: int, packing: str
) -> None:
    path = tmp_path / f"a.txt{packing}"
    path.write_bytes(gzip.compress(LINES.encode()) if packing else LINES.encode())
    source = HeldOut(FileSource([path], None, block_bytes=block_bytes), share)
    kept = read(source)
    assert source.bytes_read == source.size_bytes == path.stat().st_size
    assert woven(kept, source.texts) == LINES
    n_bytes, held_bytes = (len(text.encode()) for text in (LINES, "".join(source.texts)))
    if block_bytes > 10_000:
        assert held_bytes == pytest.approx(share * n_bytes, abs=100)
        assert all(text.startswith("line") for text in source.texts)
    elif share < 0.5:  # else there is little choice where a line starts in a block
        assert held_bytes == pytest.approx(share * n_bytes, abs=0.03 * share * n_bytes + 80)


def test_stretches_are_documents_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a a a a a a a a a a \n" * 100)
    source = HeldOut(FileSource([tmp_path / "a.txt"], None, block_bytes=210), 0.1)
    counts = count_pieces(source, pat_str=None)
    assert dict(counts) == {b"a a a a a a a a a a \n" * 9: 10}
    assert source.texts == ["a a a a a a a a a a \n"] * 10


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
