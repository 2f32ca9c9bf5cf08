"""`cutline truncate`: what fits, and nothing else."""

from pathlib import Path

import pytest
import tiktoken

from cutline.packing import truncate
from tests.cli.conftest import Invoke


@pytest.mark.parametrize("keep", ["start", "end", "both"])
@pytest.mark.parametrize("marker", ["…", "", " [...] "])
def test_output_is_that_of_the_library_and_fits(
    invoke: Invoke, oracle: tiktoken.Encoding, text: str, keep: str, marker: str
) -> None:
    options = ["--max-tokens", "12", "--keep", keep, "--marker", marker]
    result = invoke("truncate", *options, stdin=text.encode())
    assert (result.exit_code, result.stderr) == (0, "")
    shown = result.stdout_bytes.decode()
    assert shown == truncate(text, 12, keep, marker, encoding="o200k_base")  # type: ignore[arg-type]
    assert len(oracle.encode_ordinary(shown)) <= 12


@pytest.mark.parametrize("boundary", ["character", "grapheme", "word"])
def test_boundary_is_that_of_the_library(invoke: Invoke, boundary: str) -> None:
    text = "unbelievable 👩‍👩‍👧‍👦👩‍👩‍👧‍👦 internationalisation " * 9
    for max_tokens in range(4, 30):
        options = ["--max-tokens", str(max_tokens), "--boundary", boundary]
        shown = invoke("truncate", *options, stdin=text.encode()).stdout_bytes.decode()
        assert shown == truncate(text, max_tokens, boundary=boundary)  # type: ignore[arg-type]


def test_further_limits_are_those_of_the_library(invoke: Invoke) -> None:
    text = "unbelievable internationalisation " * 9
    options = ["-n", "50", "--also-fits", "gpt2=12", "--also-fits", "bytes=55"]
    shown = invoke("truncate", *options, stdin=text.encode()).stdout_bytes.decode()
    assert shown == truncate(text, 50, also_fits={"gpt2": 12, "bytes": 55})
    assert len(shown.encode()) <= 55


def test_text_that_fits_stays_as_it_is(invoke: Invoke, text: str) -> None:
    assert invoke("truncate", "-n", "100000", stdin=text.encode()).stdout_bytes == text.encode()


def test_defaults_are_those_of_the_help(invoke: Invoke) -> None:
    text = "one two three four five six seven"
    spelled_out = "--keep start --marker … --boundary character --errors strict -e o200k_base"
    result = invoke("truncate", "-n", "4", *spelled_out.split(), stdin=text)
    assert invoke("truncate", "-n", "4", stdin=text).stdout_bytes == result.stdout_bytes
    assert result.stdout.endswith("…")


def test_files_follow_each_other(invoke: Invoke, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(f"{name} one two three")
    result = invoke("truncate", "-n", "2", "--marker", "", tmp_path / "a", tmp_path / "b")
    assert result.stdout == "a oneb one"


def test_marker_over_budget_names_the_file(invoke: Invoke) -> None:
    result = invoke("truncate", "-n", "0", stdin="one two")
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("cutline: -: ")


def test_max_tokens_must_be_given(invoke: Invoke) -> None:
    result = invoke("truncate", stdin="one")
    assert result.exit_code == 2
    assert "--max-tokens" in result.stderr


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "cp1252", "utf-7", "utf-8-sig", "big5"])
@pytest.mark.parametrize("n_words", [3, 30_000])
def test_a_start_is_decoded_like_the_whole(
    invoke: Invoke, tmp_path: Path, codec: str, n_words: int
) -> None:
    text = "one two three " * n_words
    (tmp_path / "a").write_bytes(text.encode(codec))
    for keep in ("start", "end"):
        options = ["-n", "7", "--keep", keep, "--input-encoding", codec, tmp_path / "a"]
        result = invoke("truncate", *options)
        assert result.stdout_bytes.decode() == truncate(text, 7, keep)  # type: ignore[arg-type]


def test_a_start_is_decoded_as_the_file_declares(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutline.cli.decoding._READ_BYTES", 4096)
    page = '<meta charset="iso-8859-1">' + " x" * 5000 + " caf\xe9" + " x" * 9000
    result = invoke("truncate", "-n", "99999", stdin=page.encode("latin-1"))
    assert result.stdout_bytes.decode() == page


def test_a_lone_surrogate_is_refused_as_in_a_whole_file(invoke: Invoke) -> None:
    options = ["-n", "9", "--input-encoding", "utf-7"]
    results = [
        invoke("truncate", *options, *keep, stdin=b"a+2AA-b") for keep in ([], ["--keep=end"])
    ]
    assert [result.exit_code for result in results] == [1, 1]
    assert "lone surrogate" in results[0].stderr
    assert results[0].stderr == results[1].stderr


def test_no_byte_after_what_decides_a_start_is_read(invoke: Invoke) -> None:
    words = b"one two " * 100_000
    assert invoke("truncate", "-n", "3", stdin=words + b"\xff").stdout == "one two …"
    refused = invoke("truncate", "-n", "3", "--keep", "end", stdin=words + b"\xff")
    assert (refused.exit_code, "byte offset 800000" in refused.stderr) == (1, True)
    assert invoke("truncate", "-n", "3", stdin=b"one \xff" + words).exit_code == 1
