"""`cutline train`: what is trained, what is said, what is kept and what is left behind."""

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.cli import corpus
from cutline.cli import training as command_line
from cutline.cli.status import StatusLine
from cutline.training import PieceCounts, Progress, count_pieces
from cutline.training.held_out import HeldOut
from cutline.training.sources import FileSource, find_files
from tests.cli.conftest import Command, Invoke, names_in
from tests.cli.test_cli_process import (
    DEADLINE_SECONDS,
    POSIX_ONLY,
    PROGRAM,
    run_on_terminal,
)

TEXT = "the quick brown fox jumps over the lazy dog, and the dog sleeps on. 日本語の文。\n" * 40
OTHER = "She sells sea shells by the sea shore; the shells she sells are sea shells.\n" * 40


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a folder of its own with two files."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_bytes(TEXT.encode())
    Path("b.txt").write_bytes(OTHER.encode())


def same(encoding: cutline.Encoding, other: cutline.Encoding) -> bool:
    return (
        encoding.token_byte_values() == other.token_byte_values()
        and encoding.encode_ordinary(TEXT + OTHER) == other.encode_ordinary(TEXT + OTHER)
        and encoding._pat_str == other._pat_str
        and encoding._special_tokens == other._special_tokens
    )


# What is trained


def test_file_written_is_what_the_library_trains(invoke: Invoke) -> None:
    result = invoke("train", "a.txt", "b.txt", "--vocab-size", 310, "--out", "mine.cutline")
    assert (result.exit_code, result.stderr) == (0, "")
    encoding = cutline.load("mine.cutline")
    assert encoding.name == "mine"
    assert encoding.n_vocab == 310
    assert same(encoding, cutline.train(["a.txt", "b.txt"], 310))


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("--pattern gpt2", {"pat_str": cutline.get_encoding("gpt2")._pat_str}),
        ("--pattern none", {"pat_str": None}),
        (r"--pattern \w+|\W", {"pat_str": r"\w+|\W"}),
        ("--special <a> --special <b>", {"special_tokens": ["<a>", "<b>"]}),
        ("--special quick", {"special_tokens": ["quick"]}),
        ("--ties largest", {"ties": "largest"}),
        ("--ties ids --threads 2", {"ties": "ids"}),
        ("--min-frequency 30", {"min_frequency": 30}),
        ("--max-token-length 3", {"max_token_length": 3}),
    ],
)
def test_options_are_those_of_the_library(
    invoke: Invoke, options: str, arguments: dict[str, Any]
) -> None:
    result = invoke("train", "a.txt", "-n", 350, "-o", "mine.cutline", *options.split())
    assert (result.exit_code, result.stderr) == (0, "")
    assert same(cutline.load("mine.cutline"), cutline.train("a.txt", 350, **arguments))


def test_rows_packed_files_and_patterns_are_read(invoke: Invoke) -> None:
    rows = "".join(json.dumps({"body": line}) + "\n" for line in TEXT.splitlines())
    Path("rows.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    options = ["-n", 300, "-o", "mine.cutline", "-q"]
    assert invoke("train", "rows.jsonl.gz", "--column", "body", *options).exit_code == 0
    want = cutline.train(iter(TEXT.splitlines()), 300)
    assert same(cutline.load("mine.cutline"), want)
    assert invoke("train", "*.txt", *options).exit_code == 0
    assert same(cutline.load("mine.cutline"), cutline.train(["a.txt", "b.txt"], 300))


@pytest.mark.parametrize("name", ["x.cutline", "x.tiktoken", "tokenizer.json", "vocab.json"])
def test_name_of_the_file_tells_its_format(invoke: Invoke, name: str) -> None:
    pattern = cutline.get_encoding("gpt2")._pat_str
    result = invoke("train", "a.txt", "-n", 300, "-o", name, "--pattern", "gpt2")
    assert (result.exit_code, result.stderr) == (0, "")
    has_all = name in ("x.cutline", "tokenizer.json")
    encoding = cutline.load(name) if has_all else cutline.load(name, pat_str=pattern)
    want = cutline.train("a.txt", 300, pat_str=pattern)
    assert encoding.encode(TEXT) == want.encode(TEXT)


@POSIX_ONLY
def test_dash_is_standard_input(command: Command) -> None:
    result = command("train", "-", "-n", "300", "-o", "mine.cutline", "-q", input=TEXT.encode())
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert same(cutline.load("mine.cutline"), cutline.train("a.txt", 300))


# What is said


def test_summary_tells_sizes_compression_and_longest_tokens(invoke: Invoke) -> None:
    result = invoke("train", "a.txt", "-n", 300, "-o", "mine.cutline", "--special", "<end>")
    encoding, counts = cutline.load("mine.cutline"), count_pieces("a.txt")
    n_bytes, n_tokens = len(TEXT.encode()), encoding.count(TEXT)
    longest = max(encoding.token_byte_values(), key=len).decode()
    lines = result.stdout.splitlines()
    assert lines[0] == "tokens       300: 256 bytes, 43 merges, 1 special"
    assert lines[1] == f"pieces       {counts.total:,}, {len(counts)} of them distinct"
    assert lines[2].startswith(
        f"compression  {n_bytes / n_tokens:.3f} bytes per token, {n_bytes:,}"
    )
    assert "on the text trained on" in lines[2]
    assert lines[3].startswith(f"longest      {longest!r}")
    assert len(lines) == 4


def test_summary_says_when_no_pair_is_left(invoke: Invoke) -> None:
    result = invoke("train", "a.txt", "-n", 100_000, "-o", "mine.cutline")
    assert result.stdout.startswith(f"tokens       {cutline.load('mine.cutline').n_vocab}: ")
    assert result.stdout.splitlines()[-1] == "no pair is left that occurs 2 times"


def test_summary_says_what_stopped_it_and_lists_no_bytes(invoke: Invoke) -> None:
    result = invoke("train", "a.txt", "-n", 300, "-o", "mine.cutline", "--max-token-length", 1)
    assert "longest" not in result.stdout
    assert result.stdout.splitlines()[-1] == (
        "no pair of at most 1 bytes is left that occurs 2 times"
    )
    result = invoke("train", "a.txt", "-n", 257, "-o", "mine.cutline")
    [longest] = [line for line in result.stdout.splitlines() if line.startswith("longest")]
    assert len(longest.split("'")) == 3


def test_summary_says_that_nothing_was_held_out(invoke: Invoke) -> None:
    result = invoke("train", "a.txt", "-n", 300, "-o", "mine.cutline", "--held-out", 1e-9)
    assert "on the text trained on: none was held out" in result.stdout


def test_text_held_out_is_measured_on_and_not_trained_on(invoke: Invoke) -> None:
    result = invoke("train", "*.txt", "-n", 300, "-o", "mine.cutline", "--held-out", 0.2)
    source = HeldOut(FileSource(find_files("*.txt"), None), 0.2)
    want = cutline.train_from_counts(count_pieces(source), 300)
    assert same(cutline.load("mine.cutline"), want)
    n_bytes, n_tokens = len("".join(source.texts).encode()), sum(map(want.count, source.texts))
    assert result.stdout.splitlines()[2] == (
        f"compression  {n_bytes / n_tokens:.3f} bytes per token, {n_bytes:,} bytes on text held out"
    )


def test_summary_is_utf8_whatever_the_locale(command: Command) -> None:
    Path("c.txt").write_bytes("日本語の文".encode() * 50)
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    result = command("train", "c.txt", "-n", "270", "-o", "mine.cutline", env=environment)
    assert (result.returncode, result.stderr) == (0, b"")
    assert "日本語".encode() in result.stdout


def test_quiet_says_nothing(invoke: Invoke) -> None:
    result = invoke("train", "a.txt", "-n", 300, "-o", "mine.cutline", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


@POSIX_ONLY
def test_terminal_shows_how_far_it_has_come() -> None:
    # Counting must take some tenths of a second on any machine: progress is shown that often.
    Path("large.txt").write_text(3 * "".join(f"{n:x} {n * n:x}\n" for n in range(2_500_000)))
    size = f" of {Path('large.txt').stat().st_size / 1e6:.1f} MB  ".encode()
    shown = run_on_terminal("train", "large.txt", "-n", "60000", "-o", "mine.cutline")
    counting = [line for line in shown.split(b"\r") if b"counting  " in line]
    merging = [line for line in shown.split(b"\r") if b"merging  " in line]
    assert counting
    assert size in counting[-1] or b" MB/s" in counting[-1]
    assert merging
    assert b" of 59,744 merges  " in merging[-1]
    assert shown.endswith(b"\r\x1b[K")
    quiet = run_on_terminal("train", "large.txt", "-n", "60000", "-o", "mine.cutline", "-q")
    assert quiet == b""


def test_speed_is_that_since_the_beginning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Since the first report, which comes late, it would be too high."""
    now = [100.0]
    monkeypatch.setattr("cutline.cli.status.time.monotonic", lambda: now[0])
    status = StatusLine(True, 80_000_000, lambda: 40_000_000)
    now[0] = 102.0
    status(Progress("count", bytes_read=40_000_000, pieces=6_000))
    assert "counting  40.0 of 80.0 MB  20 MB/s  3,000 pieces/s" in capsys.readouterr().err


def test_pattern_that_runs_on_the_module_is_warned_of_once(invoke: Invoke) -> None:
    options = ["-n", 300, "-o", "mine.cutline", "--pattern", r"(?<=a)\w+|\w+|\W"]
    result = invoke("train", "a.txt", *options)
    assert result.exit_code == 0
    [line] = result.stderr.splitlines()
    assert line.startswith("cutline: warning: the split pattern ")


# What fails


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("a.txt -n 255 -o x.cutline", "255 is not in the range"),
        ("a.txt -n 256 -o x.cutline --special <a>", "vocab_size must be from 257 (256 bytes"),
        ("a.txt -n 4294967296 -o x.cutline", "vocab_size must be from 256 (256 bytes"),
        ("a.txt -n 300 -o x.cutline --max-token-length 32769", "from 1 to 32768 bytes, got"),
        (f"a.txt -n 300 -o x.cutline --min-frequency {2**63}", "from 1 to 2**63 - 1, got"),
        ("a.txt -n 300", "Missing option '--out'"),
        ("-n 300 -o x.cutline", "Missing argument 'FILE...'"),
        ("a.txt -n 300 -o x.bin", "cannot infer the format from x.bin"),
        ("a.txt -n 300 -o x.cutline --pattern o200k", "did you mean o200k_base or"),
        ("a.txt -n 300 -o x.cutline --ties first", "'first' is not one of"),
        ("a.txt -n 300 -o x.cutline --held-out 1", "1.0 is not in the range"),
        ("a.txt -n 300 -o x.cutline --held-out 0.1 --counts c", "exclude each other"),
    ],
)
def test_wrong_usage_exits_with_2(invoke: Invoke, options: str, message: str) -> None:
    result = invoke("train", *options.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("missing.txt -o x.cutline", "missing.txt: no such file"),
        ("*.csv -o x.cutline", "*.csv: no file matches this pattern"),
        ("folder -o x.cutline", "folder: is a folder: name its files"),
        ("empty -o x.cutline", "no text to train on: nothing in empty"),
        ("empty -o x.cutline --counts c", "no text to train on: nothing in any"),
        ("latin1.txt -o x.cutline", "latin1.txt: invalid utf-8 at byte offset 3 (byte 0xe9"),
        ("a.jsonl -o x.cutline", "a.jsonl: which column has the text?"),
        ("a.jsonl -o x.cutline --column y", "a.jsonl, line 1: no column 'y'; there is 'x'"),
        ("a.txt -o x.cutline --column y", "a.txt: read as plain text, which has no column 'y'"),
        ("cut.gz -o x.cutline", "cut.gz: damaged or incomplete gzip data"),
        ("a.txt -o missing/x.cutline", "missing/x.cutline: no such file or directory"),
        ("a.txt -o x.cutline --counts missing/c", "missing/c: no such file or directory"),
        ("a.txt -o x.cutline --pattern (", "group '(' is not closed"),
        (f"a.txt -o x.cutline --pattern {'(' * 5_000}", "a group nested too deeply"),
        ("a.txt -o x.cutline --special <a> --special <a>", "special token '<a>' occurs twice"),
    ],
)
def test_failure_is_one_line_and_leaves_nothing(
    invoke: Invoke, tmp_path: Path, options: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9")
    (tmp_path / "a.jsonl").write_text('{"x": "y"}')
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TEXT.encode())[:-1])
    before = names_in(tmp_path)
    result = invoke("train", "-n", 300, *options.split())
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"cutline: {message}")
    assert names_in(tmp_path) == before


def test_what_cannot_be_written_is_found_before_anything_is_read(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("cutline.training.count_pieces", count)
    for options in ("-o x.bin", "-o missing/x.cutline", "-o x.cutline --pattern ("):
        assert invoke("train", "a.txt", "-n", 300, *options.split()).exit_code in (1, 2)


# What is kept


def interrupted_after(monkeypatch: pytest.MonkeyPatch, n_calls: int, error: type) -> None:
    """Let counting stop after so many batches, each of them one file."""
    calls = []

    def count(*arguments: Any, **options: Any) -> PieceCounts:
        calls.append(arguments)
        if len(calls) > n_calls:
            raise error
        return count_pieces(*arguments, **options)

    monkeypatch.setattr(corpus, "COUNTED_AT_ONCE_BYTES", 1)
    monkeypatch.setattr("cutline.training.count_pieces", count)


TRAIN = ["train", "-n", 320, "-o", "mine.cutline", "--counts", "kept.counts"]


def test_interrupted_counting_goes_on_from_the_files_that_are_done(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        interrupted_after(patched, 1, KeyboardInterrupt)
        result = invoke(*TRAIN, "a.txt", "b.txt")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == (
        "cutline: counts of 1 of 2 files are kept in kept.counts; "
        "the same command continues from there\n"
    )
    assert names_in(Path()) == ["a.txt", "b.txt", "kept.counts"]
    assert PieceCounts.load("kept.counts") == count_pieces("a.txt")
    with monkeypatch.context() as patched:
        interrupted_after(patched, 1, AssertionError)
        assert invoke(*TRAIN, "a.txt", "b.txt").exit_code == 0
    assert same(cutline.load("mine.cutline"), cutline.train(["a.txt", "b.txt"], 320))
    assert PieceCounts.load("kept.counts") == count_pieces(["a.txt", "b.txt"])


def test_counts_are_saved_now_and_then_for_a_process_may_be_killed(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def count(*arguments: Any, **options: Any) -> PieceCounts:
        found.append(PieceCounts.load("kept.counts") if Path("kept.counts").exists() else None)
        return count_pieces(*arguments, **options)

    monkeypatch.setattr(corpus, "COUNTED_AT_ONCE_BYTES", 1)
    monkeypatch.setattr("cutline.training.count_pieces", count)
    assert invoke(*TRAIN, "a.txt", "b.txt").exit_code == 0
    assert found == [None, None]
    Path("kept.counts").unlink()
    monkeypatch.setattr(corpus, "SECONDS_BETWEEN_SAVES", 0.0)
    assert invoke(*TRAIN, "a.txt", "b.txt").exit_code == 0
    assert found[2:] == [None, count_pieces("a.txt")]
    assert PieceCounts.load("kept.counts") == count_pieces(["a.txt", "b.txt"])


def test_interruption_before_anything_is_counted_leaves_nothing(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_after(monkeypatch, 0, KeyboardInterrupt)
    result = invoke(*TRAIN, "a.txt")
    assert (result.exit_code, result.output) == (130, "")
    assert names_in(Path()) == ["a.txt", "b.txt"]


def test_bad_file_does_not_lose_the_counts_of_others(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "COUNTED_AT_ONCE_BYTES", 1)
    Path("c.txt").write_bytes(b"caf\xe9")
    result = invoke(*TRAIN, "a.txt", "b.txt", "c.txt")
    assert result.exit_code == 1
    first, second = result.stderr.splitlines()
    assert first.startswith("cutline: counts of 2 of 3 files are kept in kept.counts")
    assert second.startswith("cutline: c.txt: invalid utf-8")
    Path("c.txt").write_text("café")
    assert invoke(*TRAIN, "a.txt", "b.txt", "c.txt").exit_code == 0
    assert PieceCounts.load("kept.counts") == count_pieces(["a.txt", "b.txt", "c.txt"])


def test_files_are_counted_together_up_to_a_share_of_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(corpus, "COUNTED_AT_ONCE_BYTES", 10)
    paths = [Path(f"{number:04}") for number in range(2000)]
    for path in paths:
        path.write_bytes(b"12345")
    batches = list(corpus._batches(paths))
    assert [path for batch in batches for path in batch] == paths
    done = [sum(map(len, batches[:place])) for place in range(len(batches))]
    assert all(len(batch) <= 2 + before / 16 for batch, before in zip(batches, done, strict=True))
    assert len(batches) < 100


def test_counts_are_used_again_and_grow_by_new_files(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("empty.txt").touch()
    assert invoke(*TRAIN, "a.txt", "empty.txt").exit_code == 0
    before = Path("kept.counts").read_bytes()
    with monkeypatch.context() as patched:
        interrupted_after(patched, 0, AssertionError)
        assert invoke(*TRAIN, "empty.txt", "a.txt", "-n", 280).exit_code == 0
    assert cutline.load("mine.cutline").n_vocab == 280
    assert Path("kept.counts").read_bytes() == before
    assert invoke(*TRAIN, "b.txt", "empty.txt", "./a.txt").exit_code == 0
    assert PieceCounts.load("kept.counts") == count_pieces(["a.txt", "b.txt"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["b.txt"], "a.txt was counted, too; name it again, or remove the counts"),
        (["a.txt", "--pattern", "gpt2"], "kept.counts: counted with --pattern "),
        (["a.txt", "--special", "<end>"], "special tokens none; ask for these"),
        (["a.txt", "./a.txt"], "a.txt: with --counts each file is named once"),
        (["a.txt", "a.jsonl", "--column", "x"], "kept.counts: counts column None, not 'x'"),
    ],
)
def test_counts_of_something_else_are_refused(
    invoke: Invoke, arguments: list[str], message: str
) -> None:
    Path("a.jsonl").write_text('{"x": "y"}')
    assert invoke(*TRAIN, "a.txt").exit_code == 0
    before = Path("kept.counts").read_bytes()
    result = invoke(*TRAIN, *arguments)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert message in line
    assert Path("kept.counts").read_bytes() == before


def test_file_that_was_changed_since_is_named(invoke: Invoke) -> None:
    assert invoke(*TRAIN, "a.txt", "b.txt").exit_code == 0
    os.utime("a.txt", ns=(1, 1))
    result = invoke(*TRAIN, "a.txt", "b.txt")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "a.txt was changed since it was counted; remove the counts" in result.stderr


def test_damaged_counts_and_those_from_elsewhere_are_refused(invoke: Invoke) -> None:
    count_pieces("a.txt").save("kept.counts")
    result = invoke(*TRAIN, "a.txt")
    assert result.exit_code == 1
    assert "kept.counts: does not say which files it counts" in result.stderr
    Path("kept.counts").write_bytes(Path("kept.counts").read_bytes()[:-30])
    result = invoke(*TRAIN, "a.txt")
    assert result.exit_code == 1
    assert "kept.counts" in result.stderr


def opened_when_read(pipe: str) -> int:
    """Open a pipe for writing, as soon as the other side has come to it."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
    pytest.fail("nobody reads the pipe")


@POSIX_ONLY
def test_interrupted_run_leaves_no_file(tmp_path: Path) -> None:
    Path("mine.cutline").write_text("precious")
    os.mkfifo("pipe")
    before = names_in(tmp_path)
    with subprocess.Popen(
        [*PROGRAM, "train", "a.txt", "pipe", "-n", "300", "-o", "mine.cutline"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A test run in the background of a shell would hand down an ignored SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        writer = opened_when_read("pipe")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=DEADLINE_SECONDS)
        os.close(writer)
    assert (process.returncode, stdout, stderr) == (130, b"", b"")
    assert names_in(tmp_path) == before
    assert Path("mine.cutline").read_text() == "precious"


def test_standard_input_is_refused_where_it_has_no_path(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "_STDIN_PATH", "no/such/device")  # as on Windows
    result = invoke("train", "-", "--vocab-size", 300, "--out", "x.cutline", stdin=TEXT)
    assert result.exit_code == 2
    assert "standard input cannot be trained on here" in result.stderr
