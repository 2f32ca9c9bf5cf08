"""The command as a process: pipes, signals, terminals."""

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import cutline
from tests.cli.conftest import Command, Invoke, names_in

PROGRAM = [sys.executable, "-m", "cutline"]
POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="needs POSIX processes")
DEADLINE_SECONDS = 60


def test_standard_input_is_read_unaltered(command: Command) -> None:
    text = "\ufeffone\r\ntwo\rthree\n名前\r\n".encode()
    ids = command("encode", input=text).stdout
    result = command("decode", "-", input=ids)
    assert (result.returncode, result.stdout, result.stderr) == (0, text, b"")


def test_output_is_utf8_whatever_the_locale(command: Command) -> None:
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    result = command("chunk", input="名前 👍🏽".encode(), env=environment)
    assert (result.returncode, result.stderr) == (0, b"")
    assert "名前 👍🏽".encode() in result.stdout


def test_exit_codes(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    assert command("count", tmp_path / "a").returncode == 0
    assert command("--help").returncode == 0
    assert command("count", tmp_path / "missing").returncode == 1
    assert command("count", "--encoding", "nope", tmp_path / "a").returncode == 2
    assert command("no-such-command").returncode == 2


@pytest.mark.parametrize("arguments", ["--help", "count --help"])
def test_help_without_docstrings_says_that_they_are_missing(arguments: str) -> None:
    for level, is_missing in (("-O", False), ("-OO", True)):
        line = [sys.executable, level, "-m", "cutline", *arguments.split()]
        result = subprocess.run(line, capture_output=True, timeout=60, check=True)
        assert (b"Python runs with -OO" in result.stdout) == is_missing
        assert (b"okens" in result.stdout.partition(b"Options:")[0]) == (not is_missing)


def test_version_is_that_of_the_package(command: Command) -> None:
    try:
        version = importlib.metadata.version("cutline")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("cutline is imported from its source tree, not installed")
    assert command("--version").stdout.split() == [b"cutline", version.encode()]


def test_version_is_known_where_the_package_is_only_copied(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_name: str) -> str:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "version", unknown)
    result = invoke("--version")
    assert (result.exit_code, result.stdout) == (0, f"cutline {cutline.__version__}\n")


@POSIX_ONLY
def test_separator_that_is_not_utf8_is_written_as_given(command: Command) -> None:
    result = command(
        "chunk", "--format", "text", "--chunk-size", "1", "--separator", b"\xff", input=b"a a"
    )
    assert (result.stdout, result.stderr) == (b"a\n\xff\n a", b"")


@POSIX_ONLY
def test_reader_that_leaves_early_ends_the_run_quietly(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one two three four five\n" * 20_000)
    arguments = [*PROGRAM, "chunk", "--chunk-size", "8", tmp_path / "a"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"file": ')
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(DEADLINE_SECONDS) == 128 + signal.SIGPIPE


@POSIX_ONLY
@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_interrupted_run_exits_with_its_code_and_leaves_no_file(
    tmp_path: Path, sent: str, code: int
) -> None:
    number = getattr(signal, sent)
    target = tmp_path / "out"
    target.write_text("precious")
    with subprocess.Popen(
        [*PROGRAM, "count", "-o", target],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A test run in the background of a shell would hand down an ignored SIGINT.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while len(names_in(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, stdout, stderr) == (code, b"", b"")
    assert names_in(tmp_path) == ["out"]
    assert target.read_text() == "precious"


@POSIX_ONLY
def test_a_run_that_ignores_a_closed_terminal_goes_on(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with subprocess.Popen(
        [*PROGRAM, "count", "-o", target],
        stdin=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),  # as `nohup` does
    ) as process:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not names_in(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        process.communicate(b"a b", timeout=DEADLINE_SECONDS)
    assert process.returncode == 0
    assert names_in(tmp_path) == ["out"]


NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
UNBUFFERED = os.environ | {"PYTHONUNBUFFERED": "1"}
WRITING = ["count", "encode", "chunk --chunk-size 8", "truncate --max-tokens 9", "encodings"]


@NEEDS_FULL
@pytest.mark.parametrize("line", [*WRITING, "--help", "--version", "count --help"])
def test_full_disk_is_reported_once(command: Command, line: str) -> None:
    with Path("/dev/full").open("wb") as full:
        result = command(
            *line.split(), input=b"a", stdout=full, stderr=subprocess.PIPE, capture_output=False
        )
    assert result.returncode == 1
    assert result.stderr == b"cutline: standard output: no space left on device\n"


@POSIX_ONLY
@pytest.mark.parametrize("line", [*WRITING, "--help", "count --help"])
def test_pipe_that_nobody_reads_ends_any_command_silently(command: Command, line: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = command(
            *line.split(), input=b"a", stdout=writer, stderr=subprocess.PIPE, capture_output=False
        )
    finally:
        os.close(writer)
    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, b"")


LARGE = b"Wood glue sets in half an hour.\n" * 9000
WRITING_MUCH = ["encode", "chunk --chunk-size 64", "pack --max-tokens 999999", "view"]


@POSIX_ONLY
@pytest.mark.parametrize("line", WRITING_MUCH)
def test_unbuffered_output_that_does_not_fit_a_disk_is_reported(tmp_path: Path, line: str) -> None:
    target = tmp_path / "out"
    script = 'ulimit -f 100; exec "$@" >"$0"'
    result = subprocess.run(
        ["sh", "-c", script, target, *PROGRAM, *line.split()],
        input=LARGE,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=False,
        env=UNBUFFERED,
    )
    assert result.returncode == 1
    assert result.stderr == b"cutline: standard output: file too large\n"


@POSIX_ONLY
@pytest.mark.parametrize("line", [*WRITING_MUCH, "chunk --help"])
def test_unbuffered_output_whose_reader_leaves_ends_the_run_silently(line: str) -> None:
    with subprocess.Popen(
        [*PROGRAM, *line.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=UNBUFFERED,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        is_help = line.endswith("help")
        if is_help:
            process.stdout.close()
        else:
            process.stdin.write(LARGE)
            process.stdin.close()
            assert len(os.read(process.stdout.fileno(), 5)) == 5
            process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(DEADLINE_SECONDS) == 128 + signal.SIGPIPE


def not_blocking(end: int) -> int:
    os.set_blocking(end, False)
    return end


@POSIX_ONLY
@pytest.mark.parametrize(
    ("line", "environment"),
    [
        *((line, os.environ) for line in [*WRITING_MUCH, "count", "messages"]),
        *((line, UNBUFFERED) for line in WRITING_MUCH[:2]),
    ],
)
def test_standard_streams_that_do_not_block_lose_nothing(
    command: Command, line: str, environment: dict[str, str]
) -> None:
    content = LARGE
    if line == "messages":
        content = json.dumps([{"role": "user", "content": "hello " * 40_000}]).encode()
    expected = command(*line.split(), input=content).stdout
    given, feeder = os.pipe()
    reader, taken = os.pipe()
    with subprocess.Popen(
        [*PROGRAM, *line.split()],
        stdin=not_blocking(given),
        stdout=not_blocking(taken),
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        os.close(given)
        os.close(taken)
        time.sleep(0.2)  # there is nothing to read at first
        with os.fdopen(feeder, "wb") as sink:  # waits when the pipe is full
            sink.write(content)
        time.sleep(0.2)  # and nobody reads the output at first
        with os.fdopen(reader, "rb") as source:
            found = source.read()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert (process.returncode, found) == (0, expected)


@POSIX_ONLY
@pytest.mark.parametrize("environment", [os.environ, UNBUFFERED], ids=["buffered", "unbuffered"])
def test_run_that_is_stopped_while_it_writes_loses_nothing(
    command: Command, environment: dict[str, str]
) -> None:
    expected = command("encode", input=LARGE).stdout
    with subprocess.Popen(
        [*PROGRAM, "encode"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(LARGE)
        process.stdin.close()
        found = os.read(process.stdout.fileno(), 1000)
        for _ in range(3):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.05)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        found += process.stdout.read()
    assert (process.returncode, found) == (0, expected)


@POSIX_ONLY
def test_rows_on_standard_input_that_does_not_block_are_all_read(command: Command) -> None:
    given, feeder = os.pipe()
    with subprocess.Popen(
        [*PROGRAM, "count", "--column", "text"], stdin=not_blocking(given), stdout=subprocess.PIPE
    ) as process:
        os.close(given)
        with os.fdopen(feeder, "wb") as sink:
            for _ in range(3):
                time.sleep(0.2)
                sink.write(b'{"text": "hello"}\n' * 100)
                sink.flush()
        assert process.stdout is not None
        assert process.stdout.read() == b"300\n"


@POSIX_ONLY
@pytest.mark.parametrize("module", ["click", "cutline.cli.failure", "cutline.cli.counts"])
def test_interrupt_while_modules_are_imported_is_no_traceback(module: str) -> None:
    script = (
        "import runpy, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv = ['cutline', 'count']\n"
        "runpy.run_module('cutline', run_name='__main__')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=DEADLINE_SECONDS, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (130, b"", b"")


@NEEDS_FULL
@pytest.mark.parametrize("line", WRITING[:4])
def test_full_device_as_output_file_is_named(command: Command, line: str) -> None:
    result = command(*line.split(), "-o", "/dev/full", input=b"a")
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr == b"cutline: /dev/full: no space left on device\n"


@POSIX_ONLY
@pytest.mark.parametrize("line", ["encode", "chunk --chunk-size 8", "truncate --max-tokens 99999"])
def test_disk_that_fills_up_leaves_the_old_file(tmp_path: Path, line: str) -> None:
    target = tmp_path / "out"
    target.write_text("precious")
    script = (
        "import resource, runpy, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16)); "
        "runpy.run_module('cutline', run_name='__main__')"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, *line.split(), "-o", target],
        input=b"hello world\n" * 30_000,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr == f"cutline: {target}: file too large\n".encode()
    assert names_in(tmp_path) == ["out"]
    assert target.read_text() == "precious"


@POSIX_ONLY
def test_killed_run_leaves_the_old_file_and_the_next_one_cleans_up(
    command: Command, tmp_path: Path
) -> None:
    target = tmp_path / "out"
    target.write_text("precious")
    with subprocess.Popen([*PROGRAM, "count", "-o", target], stdin=subprocess.PIPE) as process:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while len(names_in(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert len(names_in(tmp_path)) == 2
    assert target.read_text() == "precious"
    assert command("count", "-o", target, input=b"hello").returncode == 0
    assert names_in(tmp_path) == ["out"]


@POSIX_ONLY
@pytest.mark.parametrize("line", ["count", "encode", "chunk --chunk-size 99", "count --jobs 2"])
def test_file_that_is_cut_off_while_it_is_read_is_no_crash(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a"
    for wait in (0.1, 0.2, 0.3):
        path.write_bytes("naïve hello\n".encode() * 400_000)
        with subprocess.Popen(
            [*PROGRAM, *line.split(), path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            time.sleep(wait)
            os.truncate(path, 100)
            _, stderr = process.communicate(timeout=DEADLINE_SECONDS)
        assert process.returncode in (0, 1), stderr
        assert stderr.count(b"\n") == process.returncode


@POSIX_ONLY
@pytest.mark.parametrize(
    ("closed", "returncode", "stderr"),
    [
        ("<&-", 1, b"cutline: -: bad file descriptor\n"),
        (">&-", 1, b"cutline: standard output: bad file descriptor\n"),
        ("2>&-", 0, b""),
    ],
)
def test_closed_standard_streams_are_no_crash(closed: str, returncode: int, stderr: bytes) -> None:
    script = f'exec "$@" {closed}'
    result = subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM, "count"],
        input=b"hello",
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert (result.returncode, result.stderr) == (returncode, stderr)


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """A pseudo-terminal: the end that a person reads, and the end that a process writes."""
    pty = pytest.importorskip("pty")
    reader, writer = pty.openpty()
    try:
        yield reader, writer
    finally:
        os.close(reader)


def shown_on(reader: int) -> bytes:
    shown = b""
    try:
        while part := os.read(reader, 65536):
            shown += part
    except OSError:  # Linux's way to say that every writer has closed
        return shown
    return shown


def run_on_terminal(*arguments: str | Path, stdout_too: bool = False) -> bytes:
    """Run with stderr, perhaps stdout too, on a terminal; return what it shows."""
    with terminal() as (reader, writer):
        stdout = writer if stdout_too else subprocess.DEVNULL
        with subprocess.Popen([*PROGRAM, *arguments], stdout=stdout, stderr=writer) as process:
            os.close(writer)
            shown = shown_on(reader)
            process.wait(DEADLINE_SECONDS)
    return shown


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.txt"
    path.write_text("one two three\n" * 600_000)
    return path


@POSIX_ONLY
def test_large_input_shows_progress_on_a_terminal(large_file: Path) -> None:
    assert b"100%" in run_on_terminal("count", large_file)


@POSIX_ONLY
def test_error_does_not_share_a_line_with_the_progress(large_file: Path) -> None:
    shown = run_on_terminal("count", large_file, "missing")
    assert b"\r\x1b[Kcutline: missing: no such file or directory\r\n" in shown


@POSIX_ONLY
def test_progress_is_not_shown_among_the_rows(large_file: Path) -> None:
    shown = run_on_terminal("count", large_file, stdout_too=True)
    assert shown.endswith(f"  {large_file}\r\n".encode())
    assert b"%" not in shown


@POSIX_ONLY
def test_small_input_shows_no_progress(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    assert run_on_terminal("count", tmp_path / "a") == b""


def test_large_input_is_quiet_without_a_terminal(command: Command, large_file: Path) -> None:
    assert command("count", large_file).stderr == b""


@POSIX_ONLY
@pytest.mark.parametrize("options", [[], ["--also-fits", "bytes=9"], ["--errors", "replace"]])
def test_a_start_is_cut_from_a_pipe_without_end(options: list[str]) -> None:
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        line = [*PROGRAM, "truncate", "-n", "5", *options]
        result = subprocess.run(
            line, stdin=endless.stdout, capture_output=True, timeout=DEADLINE_SECONDS
        )
        endless.kill()
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.decode() == "y\ny\n…"
