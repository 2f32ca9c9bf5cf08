"""What all frameworks get: no network; but engines, whose processes talk through sockets."""

import socket
from typing import Any, NoReturn

import pytest


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any look at the network fails the test, also where the package would swallow the error."""
    if request.node.get_closest_marker("cluster"):
        return

    def refuse(*arguments: Any, **options: Any) -> NoReturn:
        pytest.fail(f"the network is not to be used: {arguments!r}", pytrace=True)

    for name in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
