"""The fuzz targets hold on their seeds, of which every past finding is one."""

import importlib
import random
from collections import Counter
from pathlib import Path

import pytest

import cutline
from cutline.formats import cutline_file
from fuzz.coverage import ranges, sources_of

SEEDS = Path(__file__).resolve().parents[1] / "fuzz" / "seeds"
FILES = sorted(path for path in SEEDS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_target_holds_on_its_seed(path: Path) -> None:
    target = importlib.import_module(f"fuzz.target_{path.parent.name}")
    target.run(path.read_bytes())


def test_every_target_has_seeds() -> None:
    targets = {path.stem.removeprefix("target_") for path in SEEDS.parent.glob("target_*.py")}
    assert targets == {path.parent.name for path in FILES}


def test_a_target_finds_what_is_not_refused_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutline_file, "problem_of", lambda spec: "")
    target = importlib.import_module("fuzz.target_cutline_file")
    # What an input means depends on the tokenizers there are, so several are tried.
    inputs = [number.to_bytes(2, "big") for number in range(2_000)]
    with pytest.raises((AssertionError, KeyError, ValueError)):
        any(map(target.run, inputs))


def test_lines_of_a_kernel_are_found_in_what_cython_writes(tmp_path: Path) -> None:
    path = tmp_path / "made.c"
    marks = ("encode/runs.pyx", 7), ("base/memory.pxd", 12)
    written = "\n".join(
        f' /* "cutline/kernels/{name}":{line}\n  * x   # <<<<\n  */\n  x = 1;'
        for name, line in marks
    )
    path.write_text(f"int x;\n{written}")
    assert sources_of(path) == [None, *[marks[0]] * 4, *[marks[1]] * 4]


def test_missed_lines_are_joined_over_one_between() -> None:
    assert [*map(ranges, ([], [4], [1, 2, 4, 7, 10, 11]))] == ["none", "4", "1-4, 7, 10-11"]


def test_tokenizers_put_together_at_random_are_those_of_tokenizers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("tokenizers", reason="the oracle")
    composed = importlib.import_module("fuzz.composed")
    monkeypatch.setattr(composed, "N_TEXTS", 4)
    tally = Counter[str]()
    for number in range(100):
        assert [*composed.findings(f"test {number}", tally)] == []
    assert tally["tokenizers"] > 15
    monkeypatch.setattr(cutline.Encoding, "count", lambda *_, **__: 7)
    assert any([*composed.findings(f"test {number}", tally)] for number in range(20))


def test_texts_of_files_are_parts_of_them(tmp_path: Path) -> None:
    file_texts = importlib.import_module("fuzz.file_texts")
    with pytest.raises(ValueError, match="no files"):
        file_texts.FileTexts(tmp_path)
    (tmp_path / "empty").touch()
    (tmp_path / "a").write_bytes("größer 名前 ".encode() * 400)
    draw_one = file_texts.FileTexts(tmp_path)
    found = {draw_one(random.Random(seed), {}) for seed in range(300)}
    assert "" in found
    assert any("名前 größer" in text for text in found)
    assert any("名前größer" in text for text in found)
    assert any("Ã¶ÃŸer" in text.replace("\x9f", "Ÿ") for text in found)  # as latin-1
    assert max(map(len, found)) == 400
