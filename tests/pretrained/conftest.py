"""A hub of the test's own, for this process and for others."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pretrained.hub_server import Hub, serving


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """The folder of huggingface_hub's cache."""
    return tmp_path / "home" / "hub"


@pytest.fixture
def environment(hub_server: Hub, cache: Path) -> dict[str, str]:
    """The variables that direct huggingface_hub to the server."""
    return {"HF_ENDPOINT": hub_server.url, "HF_HOME": str(cache.parent), "HF_TOKEN": ""}


@pytest.fixture
def hub_server() -> Iterator[Hub]:
    with serving() as hub:
        yield hub


@pytest.fixture
def hub(
    hub_server: Hub, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hub]:
    """A server, and a huggingface_hub that reads the variables, which it does when imported."""
    pytest.importorskip("huggingface_hub")
    for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("cutline.registry._encodings", {})  # names stay what they were
    before = _forget()
    yield hub_server
    _forget()
    sys.modules.update(before)


def _forget() -> dict[str, object]:
    """Make the next import of huggingface_hub a new one. Returns the modules."""
    names = [name for name in sys.modules if name.partition(".")[0] == "huggingface_hub"]
    return {name: sys.modules.pop(name) for name in names}
