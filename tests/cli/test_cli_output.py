"""`--output`: the file appears whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cutline import atomic
from cutline.atomic import replacing
from cutline.cli import output
from tests.cli.conftest import Invoke, names_in

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")


@pytest.mark.parametrize("name", ["chunk", "count", "encode", "decode"])
def test_output_file_holds_what_stdout_would(invoke: Invoke, tmp_path: Path, name: str) -> None:
    target = tmp_path / "out"
    result = invoke(name, "--output", target, stdin="1 2 3\r\n")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert target.read_bytes() == invoke(name, stdin="1 2 3\r\n").stdout_bytes
    assert names_in(tmp_path) == ["out"]


def test_dash_is_standard_output(invoke: Invoke) -> None:
    assert invoke("count", "-o", "-", stdin="hello").stdout == "1\n"


def test_output_can_replace_its_own_input(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("hello world")
    assert invoke("encode", "-o", path, path).exit_code == 0
    assert invoke("decode", "-o", path, path).exit_code == 0
    assert path.read_text() == "hello world"


def test_output_holds_the_files_that_did_not_fail(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "good").write_text("hello")
    result = invoke("encode", "-o", tmp_path / "out", tmp_path / "missing", tmp_path / "good")
    assert result.exit_code == 1
    assert (tmp_path / "out").read_text() == invoke("encode", tmp_path / "good").stdout


def test_output_is_left_alone_when_every_file_fails(invoke: Invoke, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("precious")
    assert invoke("encode", "-o", target, tmp_path / "missing").exit_code == 1
    assert target.read_text() == "precious"
    assert names_in(tmp_path) == ["out"]


@pytest.mark.parametrize(
    ("target", "message"),
    [("missing/out", "no such file or directory"), (".", "is a directory")],
)
def test_output_that_cannot_be_written_is_named(
    invoke: Invoke, tmp_path: Path, target: str, message: str
) -> None:
    result = invoke("count", "-o", tmp_path / target, stdin="hello")
    assert result.exit_code == 1
    assert result.stderr == f"cutline: {tmp_path / target}: {message}\n"


@POSIX_ONLY
def test_mode_of_a_replaced_file_is_kept(invoke: Invoke, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.touch()
    target.chmod(0o640)
    assert invoke("count", "-o", target, stdin="hello").exit_code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@POSIX_ONLY
def test_symbolic_link_stays_a_link(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    assert invoke("count", "-o", tmp_path / "link", stdin="hello").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "1\n"


@POSIX_ONLY
def test_named_pipe_is_written_to_and_not_replaced(invoke: Invoke, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert invoke("count", "-o", pipe, stdin="hello").exit_code == 0
    reader.join(timeout=60)
    assert received == [b"1\n"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_standard_output_named_as_a_device_keeps_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two", encoding="utf-8")
    command = f"(echo before; {sys.executable} -m cutline count a.txt -o /dev/stdout) >> out.txt"
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "before\n2  a.txt\n"


@POSIX_ONLY
def test_what_killed_runs_left_is_removed_and_what_is_written_is_not(
    invoke: Invoke, tmp_path: Path
) -> None:
    target, other = tmp_path / ("long" * 60), tmp_path / "other"
    with replacing(target) as mine, replacing(other):
        beside = names_in(tmp_path)
        killed = tmp_path / beside[0].replace(beside[0][-20:-4], "0" * 16)
        killed.write_bytes(b"half of it")
        (tmp_path / "kept.tmp").touch()
        assert invoke("count", "-o", target, stdin="hello").exit_code == 0
        assert invoke("count", "-o", other, stdin="hello").exit_code == 0
        assert names_in(tmp_path) == sorted([*beside, "kept.tmp", target.name, "other"])
        mine.write(b"last")
    assert target.read_bytes() == b"last"
    assert names_in(tmp_path) == sorted(["kept.tmp", target.name, "other"])


def test_where_files_have_no_locks_what_killed_runs_left_is_removed(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    with replacing(target):
        (left,) = tmp_path.iterdir()
    left.write_bytes(b"half of it")
    monkeypatch.setattr(atomic, "fcntl", None)  # as on Windows
    assert invoke("count", "-o", target, stdin="hello").exit_code == 0
    assert names_in(tmp_path) == ["out"]


def test_closed_pipe_ends_a_run_silently_however_the_system_calls_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(output, "_CLOSED_PIPE", errno.EINVAL)  # as on Windows
    monkeypatch.setattr(output, "abandon_stdout", lambda: None)
    with pytest.raises(BrokenPipeError), output.open_output("-"):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
