"""A Hugging Face Hub on the loopback address: the routes that huggingface_hub calls.

A model is a list of commits, each with its files. What is asked for is logged.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_of_someone_with_access"
LARGE = 2000  # bytes: files from here on are redirected, as those in large-file storage are


@dataclass
class Model:
    """A model; the last commit is that of its branch "main"."""

    commits: list[dict[str, bytes]]
    is_gated: bool = False
    is_private: bool = False
    tags: Mapping[str, int] = field(default_factory=dict)

    def commit_of(self, revision: str) -> str | None:
        ids = [commit_id(files) for files in self.commits]
        if revision in ids:
            return revision
        place = {"main": -1, **self.tags}.get(revision)
        return None if place is None else ids[place]

    def files(self, commit: str) -> dict[str, bytes]:
        return next(files for files in self.commits if commit_id(files) == commit)


def commit_id(files: Mapping[str, bytes]) -> str:
    parts = [name.encode() + b"\0" + content for name, content in sorted(files.items())]
    return hashlib.sha1(b"\0".join(parts)).hexdigest()


class Hub:
    """The models that the server has, and what it was asked: (method, model, file)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.models: dict[str, Model] = {}
        self.renamed: dict[str, str] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.is_broken = False

    def publish(self, name: str, files: Mapping[str, str | bytes | dict[str, Any]]) -> str:
        """Add a commit to a model. Returns its hash."""
        content = {path: _bytes(value) for path, value in files.items()}
        self.models.setdefault(name, Model([])).commits.append(content)
        return commit_id(content)

    def fetched(self) -> list[str]:
        """The files whose content was sent."""
        return [file for method, _, file in self.asked if method == "GET"]


def _bytes(value: str | bytes | dict[str, Any]) -> bytes:
    if isinstance(value, dict):
        value = json.dumps(value)
    return value.encode() if isinstance(value, str) else value


@contextmanager
def serving() -> Iterator[Hub]:
    """Serve a hub until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    hub = Hub(f"http://127.0.0.1:{server.server_port}")
    server.hub = hub  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def hub(self) -> Hub:
        return self.server.hub  # type: ignore[attr-defined,no-any-return]

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        # A revision with slashes comes as one quoted part.
        path = urlsplit(self.path).path.strip("/")
        if self.hub.is_broken:
            self._send(500, {}, b"")
        elif path.startswith("cdn/"):
            self._send_blob(path.removeprefix("cdn/"))
        elif path.startswith("api/models/"):
            self._send_listing(path.removeprefix("api/models/"))
        elif "/resolve/" in path:
            self._send_file(path)
        else:
            self._send(404, {}, b"")

    def _send_file(self, path: str) -> None:
        name, _, rest = path.partition("/resolve/")
        revision, _, file = map(unquote, rest.partition("/"))
        self.hub.asked.append((self.command, name, file))
        if name in self.hub.renamed:
            new = f"/{self.hub.renamed[name]}/resolve/{rest}"
            self._send(307, {"Location": new}, b"")
            return
        if (found := self._allowed(name, revision)) is None:
            return
        commit, files = found
        known = {"X-Repo-Commit": commit}
        if file not in files:
            self._refuse(404, "EntryNotFound", "Entry not found", known)
            return
        content = files[file]
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        if len(content) < LARGE:
            self._send(200, {**known, "ETag": etag}, content)
            return
        linked = {"X-Linked-Etag": etag, "X-Linked-Size": str(len(content))}
        # Another host, as the real one is: redirects to the same host are followed differently.
        host = self.hub.url.replace("127.0.0.1", "localhost")
        where = f"{host}/cdn/{name}/resolve/{commit}/{file}"
        self._send(302, {**known, **linked, "Location": where}, b"")

    def _send_blob(self, path: str) -> None:
        name, _, rest = path.partition("/resolve/")
        commit, _, file = map(unquote, rest.partition("/"))
        self.hub.asked.append((self.command, name, file))
        content = self.hub.models[name].files(commit)[file]
        self._send(200, {"ETag": f'"{hashlib.sha256(content).hexdigest()}"'}, content)

    def _send_listing(self, path: str) -> None:
        """Send what a model has: its siblings, or its tree."""
        name, kind, revision = path, "revision", "main"
        for separator in ("revision", "tree"):
            if f"/{separator}/" in path:
                name, _, revision = map(unquote, path.partition(f"/{separator}/"))
                kind = separator
        self.hub.asked.append((self.command, name, kind))
        if (found := self._allowed(name, revision)) is None:
            return
        commit, files = found
        tree = [
            {"type": "file", "path": file, "size": len(content), "oid": commit}
            for file, content in files.items()
        ]
        siblings = [{"rfilename": file} for file in files]
        about = {"id": name, "modelId": name, "sha": commit, "siblings": siblings}
        self._send_json(tree if kind == "tree" else about)

    def _allowed(self, name: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
        """Return a commit and its files, or refuse as the Hub does."""
        model = self.hub.models.get(name)
        has_access = self.headers.get("authorization") == f"Bearer {TOKEN}"
        if model is None or (model.is_private and not has_access):
            self._refuse(401, "RepoNotFound", "Invalid username or password.")
        elif model.is_gated and not has_access:
            self._refuse(401, "GatedRepo", f"Access to model {name} is restricted.")
        elif (commit := model.commit_of(revision)) is None:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        else:
            return commit, model.files(commit)
        return None

    def _refuse(
        self, status: int, code: str, message: str, known: Mapping[str, str] | None = None
    ) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": message, **(known or {})}
        self._send(status, headers, json.dumps({"error": message}).encode())

    def _send_json(self, value: object) -> None:
        self._send(200, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def _send(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
