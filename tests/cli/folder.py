"""A folder as people have them: many kinds of files, and some that are no text or damaged.

What `cutline chunk` must say of each file is told from how it was written, not from Cutline.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["make_folder"]

_WORDS = """
    glue clamp the saw and wood of an oak bench plane with sharp teeth dry oil blade once month
    grain along across joint tenon dovetail chisel mallet square rasp file vice sanding finish
    shellac linseed varnish brush warm cold before after every evening sweep floor workshop
"""
WORDS = _WORDS.split()
CJK = "吾輩は猫である名前はまだ無いどこで生れたか頓と見当がつかぬ"


def make_folder(folder: Path, n_files: int, log_bytes: int) -> dict[str, str | None]:
    """Write files of every kind, in subfolders, and one large log.

    Returns:
        The text that the chunks of each file join to, by path below `folder`; None for a
        file that has none: one that fails or is skipped. The large log is left out.
    """
    expected: dict[str, str | None] = {}
    kinds = list(KINDS.items())
    for number in range(n_files):
        rng = random.Random(number)
        name, write = kinds[number % len(kinds)]
        path = folder / f"part{number // 500}" / f"{number:05}-{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        content, text = write(rng)
        path.write_bytes(content)
        expected[path.relative_to(folder).as_posix()] = text
    if log_bytes:
        with (folder / "large.log").open("wb") as file:
            for line in log_lines(log_bytes):
                file.write(line)
    (folder / "missing.txt").symlink_to(folder / "nowhere.txt")
    return expected


def log_lines(n_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a log of so many bytes, or a line more; each is there once."""
    rng, written, number = random.Random(0), 0, 0
    levels = ("INFO", "WARN", "DEBUG", "ERROR")
    while written < n_bytes:
        number += 1
        words = " ".join(rng.choices(WORDS, k=8))
        line = (
            f"2026-11-{number % 28 + 1:02}T{number % 24:02}:{number % 60:02}:07.{number:09}Z "
            f"{levels[number % 4]} worker-{number % 16} {words} id={rng.getrandbits(48):x}\n"
        ).encode()
        written += len(line)
        yield line


def _words(rng: random.Random, n: int) -> str:
    return " ".join(rng.choices(WORDS, k=n))


def _sentences(rng: random.Random, n: int) -> str:
    return " ".join(_words(rng, rng.randint(4, 16)).capitalize() + "." for _ in range(n))


def _prose(rng: random.Random) -> str:
    return "\n\n".join(_sentences(rng, rng.randint(2, 9)) for _ in range(rng.randint(3, 30))) + "\n"


def _verse(rng: random.Random) -> str:
    stanzas = ("\n".join(_words(rng, 6).capitalize() for _ in range(4)) for _ in range(20))
    return "\n\n".join(stanzas) + "\n"


def _csv(rng: random.Random) -> str:
    rows = (f'{n},{rng.choice(WORDS)},"{_words(rng, 7)}, {n}"' for n in range(200))
    return "id,tool,use\n" + "\n".join(rows) + "\n"


def _json(rng: random.Random) -> str:
    found = [{"id": n, "name": rng.choice(WORDS), "notes": _words(rng, 9)} for n in range(60)]
    return json.dumps({"tools": found, "title": _words(rng, 3)}, indent=rng.choice([None, 2]))


def _jsonl(rng: random.Random) -> str:
    return "".join(json.dumps({"id": n, "text": _words(rng, 12)}) + "\n" for n in range(80))


def _markdown(rng: random.Random) -> str:
    parts = [f"# {_words(rng, 3)} {{#top}}\n"]
    for n in range(rng.randint(2, 8)):
        rows = "".join(f"| {rng.choice(WORDS)} | {_words(rng, 4)} |\n" for _ in range(30))
        parts.append(f"## {_words(rng, 3)}\n\n{_sentences(rng, 6)}\n\n| a | b |\n|---|---|\n{rows}")
        parts.append(f"- {_words(rng, 5)}\n- {_words(rng, 9)}\n\n```python\nx = {n}\n```\n")
    return "\n".join(parts)


def _html(rng: random.Random) -> str:
    body = "".join(
        f"<h2>{_words(rng, 3)}</h2>\n<p>{_sentences(rng, 5)}</p>\n"
        f"<ul><li>{_words(rng, 5)}</li></ul>\n"
        for _ in range(15)
    )
    return f"<!doctype html>\n<html><body><h1>{_words(rng, 3)}</h1>\n{body}</body></html>\n"


def _python(rng: random.Random) -> str:
    return "import os\n\n\n" + "\n\n".join(
        f"def f{n}(x):\n    # {_words(rng, 8)}\n    if x > {n}:\n        return os.sep * {n}\n"
        f"    return {rng.getrandbits(32)}\n"
        for n in range(rng.randint(3, 40))
    )


def _transcript(rng: random.Random) -> str:
    times = [f"00:{n // 60:02}:{n % 60:02}" for n in range(120)]
    return "\n".join(
        f"{n}\n{time},000 --> {time},900\n{_words(rng, 7)}\n" for n, time in enumerate(times)
    )


def _legal(rng: random.Random) -> str:
    return "".join(
        f"§ {n}\n\n({n}.1) {_sentences(rng, 3)}\n(a) {_words(rng, 20)};\n(b) {_words(rng, 20)}.\n\n"
        for n in range(1, 25)
    )


def _cjk(rng: random.Random) -> str:
    lines = ("".join(rng.choices(CJK, k=rng.randint(10, 60))) + "。" for _ in range(120))
    return "".join(line + "\n" * rng.choice([0, 0, 1, 2]) for line in lines)


def _notebook(rng: random.Random) -> tuple[bytes, str | None]:
    prose = _sentences(rng, 4)
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": [f"# {_words(rng, 2)}\n", prose]},
        {"cell_type": "code", "metadata": {}, "source": ["x = 1\n", "x"], "outputs": []},
    ]
    head = "".join(cells[0]["source"])  # type: ignore[arg-type]
    found = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(found).encode(), f"{head}\n\n```\nx = 1\nx\n```\n"


def _as_utf8(make: Callable[[random.Random], str]) -> Callable[..., tuple[bytes, str | None]]:
    def write(rng: random.Random) -> tuple[bytes, str | None]:
        text = make(rng)
        return text.encode(), text

    return write


def _as_crlf(make: Callable[[random.Random], str]) -> Callable[..., tuple[bytes, str | None]]:
    def write(rng: random.Random) -> tuple[bytes, str | None]:
        text = make(rng).replace("\n", "\r\n")
        return text.encode(), text

    return write


def _latin_1(rng: random.Random) -> tuple[bytes, str | None]:
    return (_sentences(rng, 9) + " Säge über Öl.\n").encode("latin-1"), None


def _utf_16(rng: random.Random) -> tuple[bytes, str | None]:
    text = _sentences(rng, 9)
    return text.encode("utf-16"), text


def _binary(rng: random.Random) -> tuple[bytes, str | None]:
    return b"\x89PNG\r\n\x1a\n\0\0" + rng.randbytes(5000), None


KINDS: dict[str, Callable[[random.Random], tuple[bytes, str | None]]] = {
    "prose.txt": _as_utf8(_prose),
    "app.log": _as_utf8(lambda rng: b"".join(log_lines(rng.randint(0, 30_000))).decode()),
    "table.csv": _as_utf8(_csv),
    "verse.txt": _as_utf8(_verse),
    "page.md": _as_utf8(_markdown),
    "page.html": _as_utf8(_html),
    "data.json": _as_utf8(_json),
    "data.jsonl": _as_utf8(_jsonl),
    "book.ipynb": _notebook,
    "talk.srt": _as_utf8(_transcript),
    "code.py": _as_utf8(_python),
    "law.txt": _as_utf8(_legal),
    "neko.txt": _as_utf8(_cjk),
    "crlf.txt": _as_crlf(_prose),
    "crlf.csv": _as_crlf(_csv),
    "crlf.md": _as_crlf(_markdown),
    "utf16.txt": _utf_16,
    "picture.png": _binary,
    "latin1.txt": _latin_1,
    "empty.txt": lambda rng: (b"", ""),
}
