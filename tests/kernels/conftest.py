"""No test of this folder reads or writes the user's cache; kernels have their tables of breaks."""

import pytest

from cutline.chunking.break_tables import load_tables
from cutline.pretokenize.store import CACHE_VARIABLE

load_tables()


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "")
