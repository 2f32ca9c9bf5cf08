"""`cutline view`: colours on a terminal, a page in a file."""

import webbrowser
from pathlib import Path

import pytest

import cutline
from cutline.chunking import TextChunker, TokenChunker
from cutline.view import html_page, terminal_view
from tests.cli.conftest import Invoke, names_in
from tests.cli.test_cli_process import POSIX_ONLY, run_on_terminal
from tests.pipeline.families import build

TEXT = "One sentence. Another one.\n\nA paragraph of its own, 名前はまだ無い。\n" * 3


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_page_is_that_of_the_library(invoke: Invoke, tmp_path: Path, file: Path) -> None:
    page = tmp_path / "page.html"
    result = invoke("view", "--by", "text", "--chunk-size", "16", "-o", page, file)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    chunks = TextChunker("o200k_base", 16).chunk(TEXT)
    expected = html_page(TEXT, chunks, "o200k_base", title=str(file), chunk_size=16)
    assert page.read_text(encoding="utf-8") == expected
    assert invoke(
        "view", "--by", "text", "--chunk-size", "16", "--format", "html", file
    ).stdout == (expected)


def test_a_page_of_several_sizes_shows_the_parents(
    invoke: Invoke, tmp_path: Path, file: Path
) -> None:
    page, options = tmp_path / "page.html", ["view", "--by", "text", "--sizes", "32,16"]
    template = cutline.Template("in {text}")
    result = invoke(*options, "--prefix", "in ", "-o", page, file)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    chunker = cutline.HierarchicalChunker(TextChunker("o200k_base", template=template), (32, 16))
    made = html_page(
        TEXT, chunker(TEXT), "o200k_base", title=str(file), chunk_size=16, template=template
    )
    assert page.read_text(encoding="utf-8") == made
    assert '"parents":[["#0 · ' in made
    shown = invoke(*options, file).stdout
    assert "at most 16," in shown
    assert invoke(*options, tmp_path / "none.txt", file).exit_code == 1
    refused = invoke(*options, "--chunk-size", "16", file)
    assert "--sizes and --chunk-size are both given" in refused.stderr


def test_standard_output_is_text_without_colors(invoke: Invoke, file: Path) -> None:
    result = invoke("view", "--by", "token", "--chunk-size", "16", file)
    assert (result.exit_code, result.stderr) == (0, "")
    enc = cutline.get_encoding("o200k_base")
    chunks = TokenChunker(enc, 16).chunk(TEXT)
    options = {"title": str(file), "chunk_size": 16, "has_colors": False}
    shown = "".join(terminal_view(TEXT, chunks, enc, **options))  # type: ignore[arg-type]
    assert result.stdout == shown


def test_texts_that_the_encoding_changes_can_be_viewed(
    invoke: Invoke, tmp_path: Path, file: Path
) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    build("lower case").save(str(tokenizer))
    for options in (["--color", "always"], ["--format", "html"]):
        result = invoke("view", "--encoding", tokenizer, "--chunk-size", "64", *options, file)
        assert (result.exit_code, result.stderr) == (0, "")


def test_color_always_is_colored(invoke: Invoke, file: Path) -> None:
    assert "\x1b[38;5;16;48;5;230m" in invoke("view", "--color", "always", file).stdout


@POSIX_ONLY
@pytest.mark.parametrize(
    ("options", "environment", "is_colored"),
    [
        ([], {"TERM": "xterm"}, True),
        ([], {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ([], {"TERM": "xterm", "NO_COLOR": ""}, True),
        ([], {"TERM": "dumb"}, False),
        (["--color", "never"], {"TERM": "xterm"}, False),
        (["--color", "always"], {"TERM": "xterm", "NO_COLOR": "1"}, True),
    ],
)
def test_colors_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch,
    file: Path,
    options: list[str],
    environment: dict[str, str],
    is_colored: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    shown = run_on_terminal("view", *options, file, stdout_too=True)
    assert (b"\x1b[" in shown) == is_colored


def test_open_shows_a_new_page_and_says_where_it_is(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: Path
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not opened.append(address))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = invoke("view", "--open", file)
    assert (result.exit_code, result.stdout) == (0, "")
    [page] = tmp_path.glob("cutline-*.html")
    assert opened == [page.as_uri()]
    assert result.stderr == f"cutline: the page is {page}\n"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_open_without_a_browser_says_so(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: Path
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    result = invoke("view", "--open", "-o", tmp_path / "page.html", file)
    assert result.exit_code == 1
    assert "no browser found" in result.stderr
    assert (tmp_path / "page.html").exists()


def test_open_is_not_for_text(invoke: Invoke) -> None:
    result = invoke("view", "--open", "--format", "text", stdin="a")
    assert result.exit_code == 2


def test_standard_input_can_be_viewed(invoke: Invoke) -> None:
    result = invoke("view", stdin="one")
    assert result.stdout.startswith("standard input\n1 chunk, 1 token, ")


def test_file_that_fails_leaves_no_page(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"\xff")
    for name in ("bad", "missing"):
        result = invoke("view", "-o", tmp_path / "page.html", tmp_path / name)
        assert result.exit_code == 1
        assert result.stderr.startswith(f"cutline: {tmp_path / name}: ")
    assert names_in(tmp_path) == ["bad"]
