"""The packaged encodings' prepared tables are those that are built, and damage to them is found."""

import subprocess
import sys
from pathlib import Path
from typing import Any
from zlib import adler32

import numpy as np
import pytest

import cutline
from cutline.errors import CorruptDataError
from cutline.registry import new_encoding
from cutline.tables import build_bpe_tables, build_scan_tables, prepared
from cutline.vocabulary import (
    PACKAGED_ENCODINGS,
    RANK_FILE_SHA256,
    Vocabulary,
    packaged_encoding,
)
from tests.packaged import source_vocabulary

ROOT = Path(__file__).resolve().parents[1]


def file_of(name: str) -> str:
    return f"{prepared.DATA_DIRECTORY}/{packaged_encoding(name).rank_file}.tables"


@pytest.mark.parametrize("name", PACKAGED_ENCODINGS)
def test_prepared_tables_are_those_that_are_built(name: str) -> None:
    packaged = packaged_encoding(name)
    tables, scan_tables = prepared.load(file_of(name))
    built = build_bpe_tables(source_vocabulary(packaged.rank_file)).arrays
    for array_name, array in built.items():
        found: Any = tables.arrays[array_name]
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(np.asarray(found), array, strict=True)
        elif array_name == "sparse":
            for column, expected in zip(found, array, strict=True):
                np.testing.assert_array_equal(column, expected, strict=True)
        else:
            assert (array_name, found) == (array_name, array)
    built_scan = build_scan_tables(packaged.pat_str)
    assert scan_tables.has_gaps == built_scan.has_gaps
    for found, array in zip(scan_tables.arrays, built_scan.arrays, strict=True):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(array), strict=True)


@pytest.mark.parametrize("name", PACKAGED_ENCODINGS)
def test_a_packaged_encoding_is_that_of_its_vocabulary(name: str) -> None:
    packaged = packaged_encoding(name)
    vocabulary = source_vocabulary(packaged.rank_file)
    loaded = new_encoding(name)
    built = cutline.Encoding.from_vocabulary(
        name,
        pat_str=packaged.pat_str,
        vocabulary=vocabulary,
        special_tokens=packaged.special_tokens,
    )
    assert loaded._vocabulary == vocabulary
    np.testing.assert_array_equal(loaded._vocabulary.left_lengths, vocabulary.left_lengths)
    assert loaded.content_hash == built.content_hash
    assert loaded._spec.special_tokens == built._spec.special_tokens
    assert (loaded.n_vocab, loaded.pat_str) == (built.n_vocab, built.pat_str)


@pytest.mark.parametrize("place", [0, 7, 9, 15, 40, 52, 60, 5_000, 500_000, -1])
def test_a_damaged_file_is_named(tmp_path: Path, place: int) -> None:
    data = bytearray(Path(file_of("gpt2")).read_bytes())
    data[place] ^= 0x04
    path = tmp_path / "gpt2.tables"
    path.write_bytes(data)
    with pytest.raises(CorruptDataError) as caught:
        prepared.load(str(path))
    assert str(caught.value).startswith(f"{path} ")
    assert str(caught.value).endswith("reinstall cutline (pip install --force-reinstall cutline)")


@pytest.mark.parametrize("n_bytes", [0, 1, 51, 52, 53, 1000, -1])
def test_a_file_that_ends_early_is_named(tmp_path: Path, n_bytes: int) -> None:
    path = tmp_path / "gpt2.tables"
    path.write_bytes(Path(file_of("gpt2")).read_bytes()[:n_bytes])
    with pytest.raises(CorruptDataError, match=r"gpt2\.tables .*reinstall"):
        prepared.load(str(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorruptDataError, match=r"gpt2\.tables cannot be read \(No such file"):
        prepared.load(str(tmp_path / "gpt2.tables"))


def test_numbers_of_the_other_byte_order_are_turned_around(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This machine is taken for the other kind, and the file's numbers lie as they would there."""
    data = bytearray(Path(file_of("gpt2")).read_bytes())
    head = bytes(data[: prepared._HEAD.size])
    stored = prepared._stored(prepared._fields_of("gpt2", head))
    for _, start, end, code, _ in prepared._placed(stored, len(head), 8):
        numbers = np.frombuffer(bytes(data[start:end]), f"u{prepared._SIZES[code]}")
        data[start:end] = numbers.byteswap().tobytes()
    checked = prepared._CHECKED_FROM
    data[checked - 4 : checked] = adler32(data[checked:]).to_bytes(4, "little")
    (tmp_path / "gpt2.tables").write_bytes(data)
    expected, expected_scan = prepared.load(file_of("gpt2"))
    monkeypatch.setattr(prepared, "byteorder", {"little": "big", "big": "little"}[sys.byteorder])
    found, found_scan = prepared.load(str(tmp_path / "gpt2.tables"))
    assert found.arrays == expected.arrays
    for numbers, as_here in zip(found_scan.arrays, expected_scan.arrays, strict=True):
        np.testing.assert_array_equal(np.asarray(numbers), np.asarray(as_here), strict=True)


def test_an_array_of_another_size_is_refused() -> None:
    fields = dict.fromkeys(prepared._FIELDS, 1)
    with pytest.raises(ValueError, match="left has 3 bytes instead of 4"):
        prepared.pack(fields, {"left": bytes(3)})


def test_vocabulary_of_tables_is_not_changed_with_them() -> None:
    tables, _ = prepared.load(file_of("gpt2"))
    vocabulary = Vocabulary.from_tables(tables.arrays)
    tables.arrays["ids"][5] = 0
    tables.arrays["offsets"][5] = 0
    assert vocabulary == source_vocabulary("r50k_base")


def test_script_rebuilds_what_is_packaged() -> None:
    program = (
        "import sys; sys.path.insert(0, 'tools')\n"
        "from pathlib import Path\n"
        "from build_prepared_tables import DATA_DIRECTORY, build\n"
        "for name, data in build().items():\n"
        "    assert Path(DATA_DIRECTORY, name).read_bytes() == data, name\n"
        "    print(name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == {f"{name}.tables" for name in RANK_FILE_SHA256}
