import os
from pathlib import Path

import pytest

from cutline.atomic import replace_file


def test_a_file_is_written_and_nothing_else(tmp_path: Path) -> None:
    replace_file(tmp_path / "x", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"x": b"new"}


@pytest.mark.skipif(os.name == "nt", reason="permissions and links are POSIX's")
def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_stops_the_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    for stop in (KeyboardInterrupt, OSError(28, "No space left on device")):

        def fail(*_arguments: object, error: object = stop) -> None:
            raise error  # type: ignore[misc]

        monkeypatch.setattr(Path, "replace", fail)
        with pytest.raises((KeyboardInterrupt, OSError)):
            replace_file(path, b"new")
        assert {found.name: found.read_bytes() for found in tmp_path.iterdir()} == {"x": b"old"}


def test_an_error_names_the_path_that_was_given(tmp_path: Path) -> None:
    path = tmp_path / "none" / "x"
    with pytest.raises(FileNotFoundError) as caught:
        replace_file(path, b"new")
    assert caught.value.filename == str(path)
