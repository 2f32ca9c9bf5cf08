"""No test of this folder reads or writes the user's cache."""

import pytest

from cutline.pretokenize.store import CACHE_VARIABLE


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "")
