"""Compiled patterns come from the package, the cache or the generator, and are always right."""

import json
import os
import stat
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutline import container
from cutline.container import pack, unpack
from cutline.errors import CorruptDataError, UnsupportedPatternError
from cutline.pretokenize import Automaton, compile_pattern, store
from cutline.pretokenize.automaton import generate
from cutline.pretokenize.store import CACHE_VARIABLE, dump, file_name, load
from cutline.vocabulary.openai import O200K_PAT_STR

PATTERN = r"\p{Lu}\p{Ll}*|\s+(?!\S)|[\s\S]"
FRESH = dump(generate(PATTERN), PATTERN)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder that does not exist yet; nothing is remembered in memory."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "new" / "cache"))
    compile_pattern.cache_clear()
    yield tmp_path / "new" / "cache"
    compile_pattern.cache_clear()


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The patterns that had to be generated."""
    calls: list[str] = []

    def counting(pattern: str) -> Automaton:
        calls.append(pattern)
        return generate(pattern)

    monkeypatch.setattr(store, "generate", counting)
    return calls


def compile_again(pattern: str = PATTERN) -> Automaton:
    compile_pattern.cache_clear()
    return compile_pattern(pattern)


def test_packaged_patterns_are_never_generated(folder: Path, generated: list[str]) -> None:
    assert dump(compile_pattern(O200K_PAT_STR), "") == dump(generate(O200K_PAT_STR), "")
    assert generated == []
    assert not folder.exists()


def test_a_pattern_is_generated_once_and_then_read(folder: Path, generated: list[str]) -> None:
    for _ in range(3):
        assert dump(compile_again(), PATTERN) == FRESH
    assert generated == [PATTERN]
    assert [path.name for path in folder.iterdir()] == [file_name(PATTERN)]


def test_the_same_process_shares_one_automaton(folder: Path) -> None:
    assert compile_pattern(PATTERN) is compile_pattern(PATTERN)


def test_an_empty_variable_turns_the_cache_off(
    folder: Path, generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "")
    for _ in range(2):
        assert dump(compile_again(), PATTERN) == FRESH
    assert generated == [PATTERN] * 2
    assert not folder.exists()


def test_without_the_variable_the_users_cache_folder_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path))
    compile_again()
    compile_pattern.cache_clear()
    assert (tmp_path / file_name(PATTERN)).read_bytes() == FRESH


def test_a_refused_pattern_leaves_nothing_behind(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(UnsupportedPatternError):
            compile_pattern("a*?")
    assert not folder.exists()


def packed(header: Any, listing: Any) -> bytes:
    """A file of our pattern with a true checksum, whatever is in it."""
    if isinstance(header, dict):
        header["arrays"] = listing
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    stream = zlib.compress(struct.pack("<I", len(head)) + head + bytes(64))
    return store._MAGIC + container._digest(stream, store._identity(PATTERN)) + stream


def unpacked() -> tuple[dict[str, Any], dict[str, Any]]:
    return unpack(store._MAGIC, FRESH, store._identity(PATTERN))


def repacked(header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    return pack(store._MAGIC, header, arrays, store._identity(PATTERN))


def flip(position: int) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        return bytes(damaged)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b"\0" * 5_000,
        lambda data: data[:20],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"\0",
        flip(0),
        flip(12),
        flip(60),
        flip(-3),
        lambda _: dump(generate("a|b"), "a|b"),
        lambda _: packed({}, [["transitions", "<u4", -1]]),
        lambda _: packed({}, [["transitions", "<u4", 1 << 70]]),
        lambda _: packed({}, [["transitions", "<u4", 1 << 61]]),
        lambda _: packed({}, [[5, "<u4", 0], ["x", "<u4", 0]]),
        lambda _: packed({}, [[["x"], "<u4", 0]]),
        lambda _: packed({}, [["x", ["<u4"], 0]]),
        lambda _: packed({}, 5),
        lambda _: packed([], []),
        lambda _: packed({"n_classes": 1 << 4_000}, []),
        lambda _: packed(b"[" * 100_000, []),
    ],
)
def test_a_damaged_or_foreign_file_is_rebuilt_and_overwritten(
    damage: Callable[[bytes], bytes], folder: Path, generated: list[str]
) -> None:
    folder.mkdir(parents=True)
    (folder / file_name(PATTERN)).write_bytes(damage(FRESH))
    assert dump(compile_again(), PATTERN) == FRESH
    assert (folder / file_name(PATTERN)).read_bytes() == FRESH
    assert generated == [PATTERN]


def put_sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 42)


STRANGE: dict[str, Callable[[Path], object]] = {
    "named pipe": lambda path: os.mkfifo(path),
    "terabytes": put_sparse,
    "link to itself": lambda path: path.symlink_to(path),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to nothing": lambda path: path.symlink_to(path.with_name("none")),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX files")
@pytest.mark.parametrize("put", STRANGE.values(), ids=STRANGE)
def test_what_is_no_file_of_tables_is_replaced(
    put: Callable[[Path], object], folder: Path, generated: list[str]
) -> None:
    folder.mkdir(parents=True)
    try:
        put(folder / file_name(PATTERN))
    except OSError:
        pytest.skip("the file system has no such files")
    assert dump(compile_again(), PATTERN) == FRESH
    assert dump(compile_again(), PATTERN) == FRESH
    assert generated == [PATTERN]
    assert [path.name for path in folder.iterdir()] == [file_name(PATTERN)]
    assert not (folder / file_name(PATTERN)).is_symlink()


def test_tables_under_the_name_of_another_pattern_are_not_believed(
    folder: Path, generated: list[str]
) -> None:
    other = r"[a-z]|[^a-z]"
    compile_again(other)
    (folder / file_name(other)).rename(folder / file_name(PATTERN))
    assert dump(compile_again(), PATTERN) == FRESH
    assert generated == [other, PATTERN]


@pytest.mark.parametrize("what", ["FORMAT_VERSION", "UNICODE_VERSION"])
def test_a_file_of_another_version_is_rebuilt(
    what: str, folder: Path, generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = file_name(PATTERN)
    with monkeypatch.context() as patched:
        patched.setattr(store, what, "17")
        compile_again()
        (folder / file_name(PATTERN)).rename(folder / name)
    assert dump(compile_again(), PATTERN) == FRESH
    assert generated == [PATTERN] * 2


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions as POSIX has them")
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(
    mode: int, folder: Path, generated: list[str]
) -> None:
    compile_again()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(mode)
    for _ in range(2):
        assert dump(compile_again(), PATTERN) == FRESH
    assert generated == [PATTERN] * 3
    (folder / file_name(PATTERN)).unlink()
    compile_again()
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions as POSIX has them")
def test_a_file_that_others_can_write_or_own_is_rebuilt(
    folder: Path, generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_again()
    (folder / file_name(PATTERN)).chmod(0o666)
    compile_again()
    assert generated == [PATTERN] * 2
    assert stat.S_IMODE((folder / file_name(PATTERN)).stat().st_mode) == 0o600
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    compile_again()
    assert len(generated) == (2 if os.getuid() == 0 else 3)


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("transitions", lambda a: a + np.uint32(4), "transition is out of range"),
        ("transitions", lambda a: a | np.uint32(3), "transition is out of range"),
        ("transitions", lambda a: np.roll(a, 7), "dead state is left"),
        ("transitions", lambda a: a[:-1], "transitions with a stride"),
        ("transitions", lambda a: np.zeros(0, np.uint32), "0 transitions"),
        ("transitions", lambda a: np.tile(a, 4_000), "transitions with a stride"),
        ("block_index", lambda a: a + np.uint16(1), "block number is out of range"),
        ("block_index", lambda a: a[:-1], "wrong length"),
        ("block_class", lambda a: a[:-64], "block number is out of range"),
        ("block_class", lambda a: a[:-1], "block number is out of range"),
        ("block_class", lambda a: a + np.uint8(1), "class is out of range"),
        ("ascii_class", lambda a: a + np.uint8(9), "class is out of range"),
        ("ascii_class", lambda a: a[:127], "wrong length"),
        ("ascii_class", lambda a: a.astype(np.uint16), "contains the arrays"),
        ("n_classes", lambda _: 251, "classes with a stride"),
        ("n_classes", lambda _: "4", "wrong type"),
        ("n_classes", lambda _: True, "wrong type"),
        ("stride", lambda n: n + 1, "classes with a stride"),
        ("has_gaps", lambda _: 0, "wrong type"),
    ],
)
def test_tables_that_would_mislead_a_kernel_are_refused(
    field: str, change: Callable[[Any], Any], message: str
) -> None:
    header, arrays = unpacked()
    part = header if field in header else arrays
    changed: dict[str, Any] = {**part, field: change(part[field])}
    new_header, new_arrays = (changed, arrays) if part is header else (header, changed)
    with pytest.raises(CorruptDataError, match=message):
        load(repacked(new_header, new_arrays), PATTERN)


@pytest.mark.parametrize("accept", [1, 2])
def test_a_start_state_with_an_empty_match_is_refused(accept: int) -> None:
    header, arrays = unpacked()
    table = arrays["transitions"].copy()
    table[2 * header["stride"] - 1] = accept
    with pytest.raises(CorruptDataError, match="start matches the empty string"):
        load(
            repacked(header, {**arrays, "transitions": table}),
            PATTERN,
        )


@pytest.mark.parametrize("missing", ["n_classes", "stride", "has_gaps"])
def test_a_file_without_a_field_is_refused(missing: str) -> None:
    header, arrays = unpacked()
    del header[missing]
    with pytest.raises(CorruptDataError, match=f"lacks '{missing}'"):
        load(repacked(header, arrays), PATTERN)


def test_a_stream_with_leftover_bytes_is_refused() -> None:
    header, arrays = unpacked()
    data = repacked(header, arrays)
    assert data == FRESH
    longer = pack(
        store._MAGIC, header, {**arrays, "more": np.zeros(3, np.uint8)}, store._identity(PATTERN)
    )
    with pytest.raises(CorruptDataError, match="contains the arrays"):
        load(longer, PATTERN)


@pytest.mark.parametrize("obstacle", ["file", "directory", "below a file"])
def test_a_folder_that_cannot_be_written_is_done_without(
    obstacle: str, folder: Path, generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if obstacle == "directory":
        (folder / file_name(PATTERN)).mkdir(parents=True)
        (folder / file_name(PATTERN) / "occupied").touch()
    else:
        folder.parent.mkdir(parents=True)
        folder.touch()
    if obstacle == "below a file":
        monkeypatch.setenv(CACHE_VARIABLE, str(folder / "below"))
    for _ in range(2):
        assert dump(compile_again(), PATTERN) == FRESH
    assert generated == [PATTERN] * 2
    assert list(folder.parent.rglob("*.tmp")) == []


def test_a_failed_write_leaves_no_temporary_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert dump(compile_again(), PATTERN) == FRESH
    assert list(folder.iterdir()) == []


def test_concurrent_writers_leave_one_whole_file(folder: Path) -> None:
    program = (
        "from cutline.pretokenize import compile_pattern\n"
        f"for _ in range(20):\n compile_pattern.cache_clear(); compile_pattern({PATTERN!r})\n"
        f" __import__('pathlib').Path({str(folder / file_name(PATTERN))!r}).unlink(True)\n"
        f"compile_pattern.cache_clear(); compile_pattern({PATTERN!r})\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, env=environment) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert [path for path in folder.iterdir() if path.name != file_name(PATTERN)] == []
    # The last writer of all may have been unlinked by another; what is there is whole.
    assert all(path.read_bytes() == FRESH for path in folder.iterdir())
