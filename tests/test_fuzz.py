"""The fuzz targets hold on their seeds, of which every past finding is one."""

import importlib
from pathlib import Path

import pytest

SEEDS = Path(__file__).resolve().parents[1] / "fuzz" / "seeds"
FILES = sorted(path for path in SEEDS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_target_holds_on_its_seed(path: Path) -> None:
    target = importlib.import_module(f"fuzz.target_{path.parent.name}")
    target.run(path.read_bytes())


def test_every_target_has_seeds() -> None:
    targets = {path.stem.removeprefix("target_") for path in SEEDS.parent.glob("target_*.py")}
    assert targets == {path.parent.name for path in FILES}
