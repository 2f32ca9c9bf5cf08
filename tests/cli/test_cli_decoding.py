"""--input-encoding: how bytes become text."""

from pathlib import Path

import pytest

from cutline.cli import inputs
from tests.cli.conftest import Invoke, rows_of

TEXT = "Zwölf Boxkämpfer jagen Viktor.\r\n名前はまだ無い 👩‍👩‍👧‍👦\n"


@pytest.mark.parametrize("codec", ["utf-16", "utf-32"])
@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("is_large", [False, True])
def test_a_byte_order_mark_is_recognised(
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    codec: str,
    order: str,
    is_large: bool,
) -> None:
    if is_large:
        monkeypatch.setattr(inputs, "LARGE_BYTES", 4)
    (tmp_path / "a.txt").write_bytes(("\ufeff" + TEXT).encode(f"{codec}-{order}"))
    result = invoke("chunk", "--chunk-size", "6", tmp_path)  # in a folder: it is not binary
    assert (result.exit_code, result.stderr) == (0, "")
    assert "".join(row["text"] for row in rows_of(result.stdout_bytes)) == TEXT


@pytest.mark.parametrize("codec", ["cp1252", "utf-16-le", "utf-32-be", "utf-8-sig", "utf-8"])
def test_an_encoding_that_is_named(invoke: Invoke, tmp_path: Path, codec: str) -> None:
    text = TEXT if codec != "cp1252" else TEXT[:30]
    (tmp_path / "a.txt").write_bytes(text.encode(codec))
    for name in (tmp_path, tmp_path / "a.txt"):
        result = invoke("chunk", "--input-encoding", codec, "--chunk-size", "6", name)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "".join(row["text"] for row in rows_of(result.stdout_bytes)) == text


def test_the_mark_of_utf8_stays_unless_asked(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa")
    [row] = rows_of(invoke("chunk", tmp_path / "a").stdout_bytes)
    assert row["text"] == "\ufeffa"
    [row] = rows_of(invoke("chunk", "--input-encoding", "utf-8-sig", tmp_path / "a").stdout_bytes)
    assert (row["text"], row["end_index"]) == ("a", 1)


def test_wrong_bytes_are_named_with_their_encoding(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"ab\xff")
    result = invoke("count", "--input-encoding", "ascii", tmp_path / "a")
    assert result.exit_code == 1
    assert "invalid ascii at byte offset 2 (byte 0xff" in result.stderr
    assert "name another --input-encoding" in result.stderr
    result = invoke("count", tmp_path / "a")
    assert "--input-encoding latin-1" in result.stderr
    options = ["--errors", "replace", "--input-encoding", "ascii"]
    assert invoke("encode", *options, tmp_path / "a").exit_code == 0


@pytest.mark.parametrize("name", ["utf-99", "rot13", "hex", "", "a\0b"])
def test_an_unknown_encoding_is_wrong_usage(invoke: Invoke, name: str) -> None:
    result = invoke("count", "--input-encoding", name, stdin=b"a")
    assert result.exit_code == 2
    assert "is no encoding of text" in result.stderr


@pytest.mark.parametrize("codec", ["idna", "punycode", "utf-7", "utf-32"])
def test_any_codec_fails_with_a_line(invoke: Invoke, tmp_path: Path, codec: str) -> None:
    (tmp_path / "a").write_bytes(b"a" * 70 + b".\xff")
    result = invoke("count", "--input-encoding", codec, tmp_path / "a")
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith(f"cutline: {tmp_path / 'a'}: ")


@pytest.mark.parametrize(
    ("codec", "content"), [("utf-7", b"a+2AA-"), ("unicode_escape", b"a\\ud800")]
)
def test_a_codec_that_makes_surrogates(
    invoke: Invoke, tmp_path: Path, codec: str, content: bytes
) -> None:
    (tmp_path / "a").write_bytes(content)
    for command in ("count", "chunk", "encode"):
        result = invoke(command, "--input-encoding", codec, tmp_path / "a")
        assert result.exit_code == 1
        [line] = result.stderr.splitlines()
        assert line.startswith(f"cutline: {tmp_path / 'a'}: the file has a lone surrogate")
    result = invoke("chunk", "--errors", "replace", "--input-encoding", codec, tmp_path / "a")
    assert [row["text"] for row in rows_of(result.stdout_bytes)] == ["a\ufffd"]


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize(
    ("codec", "begins"),
    [
        ("cp1252", '<html><head><meta charset="ISO-8859-1">„“ é'),
        ("cp1252", "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=windows-1252'>é"),
        ("cp932", "<meta charset=x-sjis>名前はまだ無い①"),
        ("cp932", "<meta charset=Windows-31J>名前はまだ無い①"),
        ("iso8859-8", "<meta charset='iso-8859-8-i'>שלום"),
        ("gb18030", "<?xml version='1.0' encoding='GB2312'?><a>汉字鎔</a>"),
        ("koi8-r", '\n<?xml version="1.0" standalone="yes" encoding="KOI8-R"?><a>имя</a>'),
        ("iso8859-2", "#!/usr/bin/ruby\n# -*- coding: iso-8859-2 -*-\nputs 'zażółć'\n"),
        ("cp1252", "# vim: set fileencoding=latin1 :\nprint('é')\n"),
        ("cp1251", "; -*- mode: Lisp; coding: windows-1251; -*-\n(имя)\n"),
        ("euc_jp", "<html><meta name='a' content='b'><meta charset='euc-jp'>名前</html>"),
    ],
)
def test_an_encoding_that_is_declared(
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    codec: str,
    begins: str,
    is_large: bool,
) -> None:
    if is_large:
        monkeypatch.setattr(inputs, "LARGE_BYTES", 4)
    file = tmp_path / "a.txt"
    file.write_bytes(begins.encode(codec))
    result = invoke("chunk", "--by", "text", "--chunk-size", "6", file)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "".join(row["text"] for row in rows_of(result.stdout_bytes)) == begins
    (tmp_path / "rows.jsonl").write_bytes(result.stdout_bytes)
    verified = invoke("verify", "--chunk-size", "6", tmp_path / "rows.jsonl")
    assert (verified.exit_code, verified.stderr) == (0, "")
    counted = invoke("count", file)
    assert (counted.exit_code, counted.stderr) == (0, "")
    named = invoke("chunk", "--by", "text", "--chunk-size", "6", "--input-encoding", codec, file)
    assert named.stdout_bytes == result.stdout_bytes


def test_what_declares_another_encoding_and_is_utf8(invoke: Invoke, tmp_path: Path) -> None:
    """Servers convert pages, and their own words stay."""
    text = "<html><meta charset='iso-8859-1'>é名前"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    result = invoke("chunk", "--by", "text", tmp_path / "a.txt")
    assert [row["text"] for row in rows_of(result.stdout_bytes)] == [text]


@pytest.mark.parametrize(
    "name", ["utf-8", "utf-16", "unicode_escape", "rot13", "punycode", "nothing", "\0", "undefined"]
)
def test_what_declares_no_encoding_of_files(invoke: Invoke, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_bytes(f"<meta charset='{name}'>".encode() + b"\xff\xfe")
    result = invoke("count", tmp_path / "a.txt")
    assert result.exit_code == 1
    assert "at byte offset" in result.stderr
    assert "utf-8" in result.stderr


def test_bytes_that_are_not_what_is_declared(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"<meta charset=shift_jis>\x81")
    result = invoke("count", tmp_path / "a.txt")
    assert result.exit_code == 1
    assert "invalid cp932, which the file declares, at byte offset 24" in result.stderr
    assert invoke("count", "--errors", "replace", tmp_path / "a.txt").exit_code == 0
