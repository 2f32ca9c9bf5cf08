"""What all frameworks get: no network."""

import socket
from typing import Any, NoReturn

import pytest


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any look at the network fails the test, also where the package would swallow the error."""

    def refuse(*arguments: Any, **options: Any) -> NoReturn:
        pytest.fail(f"the network is not to be used: {arguments!r}", pytrace=True)

    for name in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
