"""Sources give the documents that their files, patterns and texts hold, or say what is wrong."""

import errno
import gzip
import io
import json
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cutline
from cutline.errors import CutlineError, SourceError
from cutline.training.file_reader import FileReader
from cutline.training.rows import ParquetRows
from cutline.training.sources import FileSource, find_files, open_source
from tests.conftest import short_or_long
from tests.texts import NAMED_TEXTS, random_texts

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")
TEXT = "one\r\ntwo\rthree\n\ufeff äöü 日本語 👩‍👩‍👧‍👦\x00\x85\u2028end"
TINY_BLOCKS = (1, 2, 3, 5, 64)


def zstd(content: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    return bytes(zstandard.ZstdCompressor().compress(content))


def plain(content: bytes) -> bytes:
    return content


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": plain,
    ".gz": gzip.compress,
    ".GZ": gzip.compress,
    ".zst": zstd,
    ".zstd": zstd,
}
EACH_PACKING = pytest.mark.parametrize("packing", PACKERS)


def packed_file(path: Path, content: bytes, packing: str) -> Path:
    path = path.with_name(path.name + packing)
    path.write_bytes(PACKERS[packing](content))
    return path


def parquet_file(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path, **options)
    return path


def documents_of(source: Any, column: str | None = None) -> list[tuple[str, str]]:
    """Name and text of every document; that blocks join to the text is checked on the way."""
    documents = []
    for document in open_source(source, column):
        text = b"".join(document.blocks()).decode()
        assert document.text in (None, text)
        documents.append((document.name, text))
    return documents


def texts_of(source: Any, column: str | None = None) -> list[str]:
    return [text for _, text in documents_of(source, column)]


def json_lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# Files of text


@EACH_PACKING
@pytest.mark.parametrize("block_bytes", TINY_BLOCKS)
def test_blocks_of_any_size_join_to_the_text(
    tmp_path: Path, packing: str, block_bytes: int
) -> None:
    path = packed_file(tmp_path / "a.txt", TEXT.encode() * 3, packing)
    source = FileSource([path], None, block_bytes=block_bytes)
    [text] = [b"".join(document.blocks()).decode() for document in source]
    assert text == TEXT * 3
    assert source.bytes_read == source.size_bytes == path.stat().st_size


def test_every_text_comes_back_as_it_is(tmp_path: Path) -> None:
    texts = [text for text in (*NAMED_TEXTS.values(), *random_texts(1, 30)) if text]
    paths = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(text.encode())
        paths.append(path)
    assert documents_of(paths) == list(zip(map(str, paths), texts, strict=True))


@EACH_PACKING
def test_blocks_are_bounded(tmp_path: Path, packing: str) -> None:
    path = packed_file(tmp_path / "zeros", bytes(2_000_000), packing)
    document = next(iter(FileSource([path], None, block_bytes=10_000)))
    longest = max(map(len, document.blocks()))
    assert longest <= (2_000_000 if packing.startswith(".z") else 10_000)


def test_parts_packed_one_after_the_other_are_one_text(tmp_path: Path) -> None:
    parts = [b"one ", b"", b"two ", b"three"]
    for packing in (".gz", ".zst"):
        path = tmp_path / f"a{packing}"
        path.write_bytes(b"".join(map(PACKERS[packing], parts)))
        assert texts_of(path) == ["one two three"]


def test_size_is_that_of_the_disk_and_unknown_in_memory(tmp_path: Path) -> None:
    path = packed_file(tmp_path / "a", TEXT.encode() * 99, ".gz")
    assert open_source(path).size_bytes == path.stat().st_size
    source = open_source(iter(["one"]))
    assert (source.size_bytes, source.bytes_read) == (None, None)


def test_bytes_read_grow_to_the_size_over_all_files(tmp_path: Path) -> None:
    rng = random.Random(1)
    paths = [
        packed_file(tmp_path / f"{n}", rng.randbytes(5000).hex().encode(), ".gz") for n in "ab"
    ]
    source = FileSource(paths, None, block_bytes=1000)
    seen = [0]
    for document in source:
        for _ in document.blocks():
            seen.append(source.bytes_read)
    assert seen == sorted(seen)
    assert seen[-1] == source.size_bytes == sum(path.stat().st_size for path in paths)


@POSIX_ONLY
def test_pipe_is_read_and_has_no_size(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TEXT.encode()), daemon=True)
    source = open_source(pipe)
    writer.start()
    assert [b"".join(document.blocks()).decode() for document in source] == [TEXT]
    assert source.size_bytes == 0
    writer.join(timeout=60)


@EACH_PACKING
@pytest.mark.parametrize("block_bytes", TINY_BLOCKS)
@pytest.mark.parametrize(
    ("content", "offset"),
    [
        (b"caf\xe9!", 3),
        ("ä日".encode() + b"\xff", 5),
        ("ä日".encode()[:-1], 2),
        ("👩".encode()[:3], 0),
        (b"ab\xed\xa0\x80", 2),
        (b"a\xc0\x80", 1),
    ],
)
def test_invalid_utf8_is_named_with_file_and_offset(
    tmp_path: Path, packing: str, block_bytes: int, content: bytes, offset: int
) -> None:
    path = packed_file(tmp_path / "a.txt", content, packing)
    document = next(iter(FileSource([path], None, block_bytes=block_bytes)))
    with pytest.raises(SourceError) as caught:
        list(document.blocks())
    assert f"{path}: invalid utf-8 at byte offset {offset} (byte 0x" in str(caught.value)
    assert isinstance(caught.value, CutlineError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_packed_data_that_is_cut_off_or_damaged_is_named(tmp_path: Path, packing: str) -> None:
    rng = random.Random(2)
    packed = PACKERS[packing](rng.randbytes(3000).hex().encode())
    path = tmp_path / f"a{packing}"
    damaged = [packed[:length] for length in (1, 5, len(packed) // 2, len(packed) - 1)]
    damaged += [packed + b"more", b"no such format at all", packed[:20] + b"\0" * len(packed)]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(SourceError, match="damaged or incomplete") as caught:
            documents_of(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_packing_ends_are_found_at_every_length(tmp_path: Path) -> None:
    for packing in (".gz", ".zst"):
        path = tmp_path / f"a{packing}"
        packed = PACKERS[packing](b"to be or not to be")
        for length in range(1, len(packed)):
            path.write_bytes(packed[:length])
            with pytest.raises(SourceError, match="damaged or incomplete"):
                documents_of(path)
        path.write_bytes(packed)
        assert texts_of(path) == ["to be or not to be"]


# Which files


def test_pattern_gives_its_files_in_order_and_no_folders(tmp_path: Path) -> None:
    (tmp_path / "b" / "c.txt").mkdir(parents=True)
    for name in ("b/2.txt", "b/1.txt", "a.txt", "b/c.txt/3.txt", "b/other"):
        (tmp_path / name).write_text(name)
    assert texts_of(tmp_path / "**" / "*.txt") == ["a.txt", "b/1.txt", "b/2.txt", "b/c.txt/3.txt"]
    assert texts_of(f"{tmp_path}/b/?.txt") == ["b/1.txt", "b/2.txt"]
    assert texts_of((str(tmp_path / "b" / "[!1].txt"), tmp_path / "a.txt")) == ["b/2.txt", "a.txt"]


def test_list_keeps_its_order_and_what_is_named_twice(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    paths = [tmp_path / "b", tmp_path / "a", tmp_path / "b"]
    assert texts_of(paths) == ["b", "a", "b"]
    assert find_files(paths) == paths


def test_name_with_the_signs_of_a_pattern_is_a_file_if_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("bracketed")
    (tmp_path / "a1.txt").write_text("plain")
    assert texts_of(tmp_path / "a[1].txt") == ["bracketed"]


@pytest.mark.parametrize(
    "text", ["missing.txt", "to be or not to be", "line\nline", "long " * 2000, "a\0b", ""]
)
def test_name_of_no_file_is_refused_with_the_way_out(text: str) -> None:
    for source in (text, [text]):
        with pytest.raises(FileNotFoundError, match=r"no such file \(a str is a .* pass iter\("):
            open_source(source)
    with pytest.raises(FileNotFoundError, match=r"\] no such file: '"):
        find_files(text)


def test_pattern_without_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file matches this pattern \(.*\*\.txt"):
        open_source(tmp_path / "*.txt")
    with pytest.raises(IsADirectoryError, match=r"is a folder: name its files"):
        open_source(tmp_path)


@pytest.mark.parametrize("source", [b"a.txt", 3, None, bytearray(b"a")])
def test_what_is_no_source_is_refused(source: Any) -> None:
    with pytest.raises(TypeError, match="source must be a file name, a list of file names or"):
        open_source(source)


@pytest.mark.parametrize("name", [b"a.txt", 3, ["a"]])
def test_what_is_no_file_name_is_refused(name: Any) -> None:
    with pytest.raises(TypeError, match=r"file names must be str or os\.PathLike, got"):
        open_source([name])


# Texts


def test_items_of_an_iterable_are_documents() -> None:
    assert documents_of(iter(["one", "", "two"])) == [
        ("item 1", "one"),
        ("item 2", ""),
        ("item 3", "two"),
    ]
    assert texts_of(dict.fromkeys(["one", "two"]).keys()) == ["one", "two"]
    assert texts_of(letter * 2 for letter in "ab") == ["aa", "bb"]


def test_items_are_taken_one_at_a_time() -> None:
    taken = []

    def texts() -> Iterator[str]:
        for text in ("one", "two"):
            taken.append(text)
            yield text

    for number, document in enumerate(open_source(texts()), start=1):
        assert len(taken) == number
        assert document.text == taken[-1]


def test_long_items_come_in_blocks() -> None:
    text = "日" * 2_500_000
    [document] = open_source(iter([text]))
    blocks = list(document.blocks())
    assert b"".join(blocks).decode() == text
    assert max(map(len, blocks)) <= 3 << 20


def test_subclass_of_str_becomes_a_str() -> None:
    class Shouting(str):
        def encode(self, *_: object) -> bytes:
            raise AssertionError

    [document] = open_source(iter([Shouting("one")]))
    assert type(document.text) is str


@pytest.mark.parametrize(
    ("item", "hint"),
    [
        (b"two", ": decode it"),
        (None, ": fill or drop missing values first"),
        (float("nan"), ": fill or drop missing values first"),
        (Path("two"), ": pass a list of file names"),
        ({"text": "two"}, ": pass the name of the column that has the text as column"),
        (2, ""),
        (["two"], ""),
    ],
)
def test_item_that_is_no_text_is_named(item: Any, hint: str) -> None:
    with pytest.raises(TypeError, match=f"must be str, item 2 is {type(item).__name__}{hint}$"):
        documents_of(iter(["one", item]))


# Tables and rows in memory

ROWS = [{"id": 1, "text": "one"}, {"id": 2, "text": None}, {"id": 3, "text": "two"}]
COLUMNS = {"id": [1, 2, 3], "text": ["one", None, "two"]}
FROM_ROWS = [("row 1", "one"), ("row 3", "two")]


def as_batches() -> Any:
    table = pytest.importorskip("pyarrow").table(COLUMNS)
    return table.to_reader(max_chunksize=2)


TABLES: dict[str, Callable[[], Any]] = {
    "list of rows": lambda: ROWS,
    "rows": lambda: iter(ROWS),
    "dict": lambda: COLUMNS,
    "pandas": lambda: pytest.importorskip("pandas").DataFrame(COLUMNS),
    "pandas, objects": lambda: pytest.importorskip("pandas").DataFrame(COLUMNS, dtype=object),
    "table": lambda: pytest.importorskip("pyarrow").table(COLUMNS),
    "batch": lambda: pytest.importorskip("pyarrow").table(COLUMNS).to_batches()[0],
    "batches": as_batches,
    "list of batches": lambda: [*as_batches()],
    "datasets": lambda: pytest.importorskip("datasets").Dataset.from_dict(COLUMNS),
    "stream": lambda: (
        pytest.importorskip("datasets").Dataset.from_dict(COLUMNS).to_iterable_dataset()
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_in_memory_are_documents(name: str) -> None:
    assert documents_of(TABLES[name](), "text") == FROM_ROWS
    with pytest.raises(SourceError, match="no column 'txt'; there is 'id', 'text'"):
        documents_of(TABLES[name](), "txt")
    with pytest.raises((SourceError, TypeError), match="column"):
        documents_of(TABLES[name]())


def test_names_of_columns_are_never_trained_on() -> None:
    """A dict and a DataFrame iterate over them."""
    for name in ("dict", "pandas"):
        with pytest.raises(SourceError, match=r"which column of the \w+ has the text\? pass its"):
            open_source(TABLES[name]())


def test_rows_are_taken_one_at_a_time() -> None:
    taken = []

    def rows() -> Iterator[dict[str, str]]:
        for number in range(3):
            taken.append(number)
            yield {"text": str(number)}

    for number, document in enumerate(open_source(rows(), "text")):
        assert (document.text, taken[-1]) == (str(number), number)


def test_what_is_no_row_or_no_text_is_named() -> None:
    with pytest.raises(TypeError, match="items must be rows, such as dicts: item 2 is int"):
        documents_of(iter([{"t": "one"}, 2]), "t")
    with pytest.raises(TypeError, match="documents must be str, row 2 is int"):
        documents_of({"t": ["one", 2]}, "t")
    for value in ("one", 2, None):  # a row, not a dict of columns
        with pytest.raises(TypeError, match="'t' must have many texts, got"):
            documents_of({"t": value}, "t")
    with pytest.raises(SourceError, match="more than one column 't'"):
        documents_of(pytest.importorskip("pyarrow").table([["a"], ["b"]], names=["t", "t"]), "t")
    with pytest.raises(SourceError, match="1 documents, and none has text"):
        documents_of(iter([{"t": ""}]), "t")


# Rows


@EACH_PACKING
@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".JSONL"])
def test_lines_of_json_are_documents(tmp_path: Path, packing: str, suffix: str) -> None:
    rows = [{"id": n, "text": text} for n, text in enumerate(["one\ntwo", "", "日本語", "a\x00b"])]
    content = "\ufeff" + "\r\n \n".join(json.dumps(row) for row in rows)
    path = packed_file(tmp_path / f"a{suffix}", content.encode(), packing)
    for block_bytes in (*TINY_BLOCKS, 1 << 20):
        source = FileSource([path], "text", block_bytes=block_bytes)
        assert [(document.name, document.text) for document in source] == [
            (f"{path}, line {2 * n + 1}", row["text"]) for n, row in enumerate(rows)
        ]
        assert source.bytes_read == path.stat().st_size


def test_null_has_no_text(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "a.jsonl", {"t": "one"}, {"t": None}, {"t": "two"})
    assert [name[-1] for name, _ in documents_of(path, "t")] == ["1", "3"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text": 5}', "column 'text' must contain text, got a number"),
        (b'{"text": true}', "column 'text' must contain text, got a boolean"),
        (b'{"text": ["x"]}', "column 'text' must contain text, got a list"),
        (b'["text"]', "expected a json object, got a list"),
        (b'"text"', "expected a json object, got a string"),
        (b"null", "expected a json object, got null"),
        (b'{"text": "x"', "not json: Expecting"),
        (b'{"text": "x"} {"text": "y"}', "not json: Extra data at character 15"),
        (b'{"text": "x', "not json: Unterminated string starting at character 10"),
        (b"[" * 100_000, "not json: it is nested too deep"),
        (b'{"text": "\xff"}', "invalid utf-8 at byte offset 10 (byte 0xff"),
    ],
)
def test_bad_line_of_json_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "fine"}\n\n' + line + b"\n")
    with pytest.raises(SourceError) as caught:
        documents_of(path, "text")
    assert str(caught.value).startswith(f"{path}, line 3: {message}")


def test_a_row_may_lack_the_column_that_another_has(tmp_path: Path) -> None:
    """Exports leave out what is null."""
    path = json_lines(tmp_path / "a.jsonl", {}, {"id": 1}, {"t": "one"}, {"id": 2}, {"t": "two"})
    assert [name[-1] for name, _ in documents_of(path, "t")] == ["3", "5"]
    path = json_lines(tmp_path / "b.jsonl", {"id": 1, "body": "x"}, {})
    with pytest.raises(SourceError, match=r"b\.jsonl, line 1: no column 't'; there is 'id', 'bod"):
        documents_of(path, "t")
    path = json_lines(tmp_path / "c.jsonl", *[{}] * 9_999, {"t": "one"})
    assert len(documents_of(path, "t")) == 1
    path = json_lines(tmp_path / "d.jsonl", *[{}] * 10_000, {"t": "one"})
    with pytest.raises(SourceError, match=r"line 1: no column 't'; there is none"):
        documents_of(path, "t")


def test_a_row_in_memory_may_lack_the_column_that_another_has() -> None:
    counts = cutline.count_pieces([{}, {"t": "a b"}, {"id": 1}], column="t")
    assert counts.most_common() == [(b" b", 1), (b"a", 1)]
    with pytest.raises(SourceError, match=r"item 1: no column 't'; there is 'id'"):
        cutline.count_pieces([{"id": 1}, {}], column="t")


def test_missing_column_of_many_shows_some(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "a.jsonl", {f"k{n}": n for n in range(50)})
    with pytest.raises(SourceError, match=r"there is 'k0', .*'k19', \.\.\.$"):
        documents_of(path, "text")


@pytest.mark.parametrize("options", [{}, {"row_group_size": 7}, {"use_dictionary": False}])
def test_rows_of_parquet_are_documents(tmp_path: Path, options: dict[str, Any]) -> None:
    texts = [None if n % 5 == 3 else f"text {n} 日本語" for n in range(1000)]
    path = parquet_file(tmp_path / "a.parquet", {"id": list(range(1000)), "text": texts}, **options)
    assert documents_of(path, "text") == [
        (f"{path}, row {n}", text) for n, text in enumerate(texts, start=1) if text is not None
    ]


def test_columns_of_parquet_may_be_large_or_dictionaries_and_have_any_name(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    texts = ["one", None, "two", "one"]
    array = pyarrow.array(texts)
    nested = [{"b": "no"}] * 4
    for column in (array, array.cast(pyarrow.large_string()), array.dictionary_encode()):
        path = parquet_file(tmp_path / "a.parquet", {"a": nested, "a.b": column})
        assert texts_of(path, "a.b") == ["one", "two", "one"]


def test_parquet_reports_what_it_read(tmp_path: Path) -> None:
    path = parquet_file(tmp_path / "a.parquet", {"text": [str(n) for n in range(1000)]})
    source = FileSource([path, path], "text")
    seen = [source.bytes_read for _ in source]
    assert seen == sorted(seen)
    assert source.bytes_read == source.size_bytes == 2 * path.stat().st_size


def test_parquet_without_the_column_or_with_other_types_is_refused_when_opened(
    tmp_path: Path,
) -> None:
    path = parquet_file(tmp_path / "a.parquet", {"id": [1], "body": [b"x"]})
    with pytest.raises(SourceError, match="no column 'text'; there is 'id', 'body'"):
        open_source(path, "text")
    with pytest.raises(SourceError, match="column 'id' must contain strings, its type is int64"):
        open_source(path, "id")
    with pytest.raises(SourceError, match="column 'body' must contain strings, its type is binary"):
        open_source(path, "body")


def test_invalid_utf8_in_parquet_is_named_with_its_row(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    values = pyarrow.array([b"fine"] * 300 + [None, b"ab\xff"])
    text = pyarrow.Array.from_buffers(pyarrow.string(), len(values), values.buffers())
    path = parquet_file(tmp_path / "a.parquet", {"text": text})
    with pytest.raises(SourceError, match=r"a\.parquet, row 302: invalid utf-8 at byte offset 2 "):
        documents_of(path, "text")


def test_damaged_parquet_is_named(tmp_path: Path) -> None:
    path = parquet_file(tmp_path / "a.parquet", {"text": [str(n) * 9 for n in range(5000)]})
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    with pytest.raises(SourceError, match=r"a\.parquet: not a parquet file: "):
        open_source(path, "text")
    path.write_bytes(content[:8] + bytes(2000) + content[2008:])
    with pytest.raises(SourceError, match=r"a\.parquet: damaged parquet data: "):
        documents_of(path, "text")


@short_or_long("every", 9, 1)
def test_parquet_damaged_anywhere_is_read_or_named(tmp_path: Path, every: int) -> None:
    texts = ["alpha", "", None, "bêta"] * 8
    path = parquet_file(tmp_path / "a.parquet", {"id": list(range(32)), "text": texts})
    content, refusals = path.read_bytes(), []
    for at in range(0, len(content), every):
        for changed in (content[at] ^ 0xFF, content[at] ^ 1, 0):
            path.write_bytes(content[:at] + bytes([changed]) + content[at + 1 :])
            try:
                assert len(documents_of(path, "text")) <= len(texts)
            except SourceError as error:
                refusals.append(str(error))
        path.write_bytes(content[:at])
        with pytest.raises(SourceError, match=r"a\.parquet: not a parquet file: "):
            open_source(path, "text")
    assert refusals
    assert all(refusal.startswith(str(path)) for refusal in refusals)


def test_parquet_with_a_place_outside_of_its_dictionary_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = parquet_file(tmp_path / "a.parquet", {"text": ["a"]})
    places, nothing = pyarrow.array([0]), pyarrow.array([], pyarrow.string())
    column = pyarrow.DictionaryArray.from_arrays(places, nothing, safe=False)
    damaged = pyarrow.RecordBatch.from_arrays([column], ["text"])
    monkeypatch.setattr(ParquetRows, "_batches", lambda *_: iter([damaged]))
    with pytest.raises(SourceError, match=r"a\.parquet: damaged parquet data: "):
        documents_of(path, "text")


def test_parquet_on_a_failing_disk_raises_the_disks_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(io.BytesIO):
        def read(self, *_: Any) -> bytes:
            raise OSError(errno.EIO, "input/output error")

    path = parquet_file(tmp_path / "a.parquet", {"text": ["a"]})
    monkeypatch.setattr(Path, "open", lambda *_: Failing(bytes(1000)))
    with pytest.raises(OSError, match="input/output error") as caught:
        open_source(path, "text")
    assert caught.value.errno == errno.EIO


def test_column_is_asked_for_where_there_are_rows_and_only_there(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "a.parquet", "a.json"):
        (tmp_path / name).touch()
    with pytest.raises(SourceError, match=r"a\.jsonl\.gz: which column has the text\?"):
        open_source(tmp_path / "a.jsonl.gz")
    with pytest.raises(SourceError, match=r"a\.parquet: which column has the text\?"):
        open_source(tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"a\.json: read as plain text, which has no column 't'"):
        open_source(tmp_path / "a.json", "t")
    with pytest.raises(SourceError, match="texts have no columns: leave out column='t'"):
        documents_of(iter(["one"]), "t")
    (tmp_path / "a.parquet.gz").touch()
    with pytest.raises(SourceError, match=r"a\.parquet\.gz: parquet has its own compression"):
        open_source(tmp_path / "a.parquet.gz", "t")


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.TGZ", "a.txt.xz", "a.jsonl.bz2", "a.zip"])
def test_an_archive_is_not_read_as_text(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    for column in (None, "text"):
        with pytest.raises(SourceError, match=rf"{name}: of packed files \.gz, .* unpack it"):
            open_source(tmp_path / name, column)


# What is missing


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("a.jsonl.zst", "zstandard", "zstd"), ("a.parquet", "pyarrow.parquet", "arrow")],
)
def test_missing_package_is_named_with_its_extra_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str, extra: str
) -> None:
    (tmp_path / name).touch()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{name} needs .*: pip install 'cutline\[{extra}\]'"):
        open_source(tmp_path / name, "text")


def test_corpus_without_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    json_lines(tmp_path / "a.jsonl", {"t": None}, {"t": ""})
    with pytest.raises(SourceError, match=r"no text to train on: nothing in .*a\.txt$"):
        documents_of(tmp_path / "a.txt")
    with pytest.raises(SourceError, match=r"nothing in .*a\.txt, .*a\.txt, \.\.\.$"):
        documents_of([tmp_path / "a.txt"] * 9)
    with pytest.raises(SourceError, match=r"nothing in .*a\.jsonl$"):
        documents_of(tmp_path / "a.jsonl", "t")
    with pytest.raises(SourceError, match="2 documents, and none has text"):
        documents_of(iter(["", ""]))
    for empty in ([], ()):
        with pytest.raises(SourceError, match="of files is empty"):
            open_source(empty)


def test_corpus_without_text_can_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    source = FileSource([tmp_path / "a.txt"], None, may_be_empty=True)
    assert [list(document.blocks()) for document in source] == [[]]


def test_open_source_is_taken_as_it_is() -> None:
    source = open_source(iter(["one"]))
    assert open_source(source) is source


def test_file_without_text_among_others_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").write_text("text")
    assert texts_of([tmp_path / "a", tmp_path / "b", tmp_path / "a"]) == ["", "text", ""]


def test_lines_are_split_at_newlines_only(tmp_path: Path) -> None:
    content = b"a\rb\x0b\n\n\xe2\x80\xa8c\n" + b"d" * 99
    (tmp_path / "a").write_bytes(content)
    for block_bytes in TINY_BLOCKS:
        lines = list(FileReader(tmp_path / "a", block_bytes).lines())
        assert lines == list(enumerate(content.split(b"\n"), start=1))
