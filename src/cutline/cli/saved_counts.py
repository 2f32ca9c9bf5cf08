"""Counts that are kept between runs: `cutline train --counts FILE`.

The file has the format of `PieceCounts.save`, and `PieceCounts.load` reads it; its note lists the
counted files.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutline.atomic import replacing
from cutline.cli.failure import Failure

if TYPE_CHECKING:
    from cutline.training import PieceCounts

__all__ = ["SavedCounts", "need_folder"]

# Size in bytes, and modification time in nanoseconds.
Version = tuple[int, int]


def need_folder(path: Path, folder: Path) -> None:
    """Refuse a file that cannot be written, before hours of work.

    Raises:
        Failure: its folder does not exist or is not writable.
    """
    if not folder.is_dir():
        raise Failure(f"{click.format_filename(path)}: no such file or directory")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{click.format_filename(path)}: permission denied")


class SavedCounts:
    """The counts of some files, with the list of these files.

    Args:
        path: the file of the counts, which may not exist yet.
        column: the column that has the text; None for files of text.

    Attributes:
        counts: the counts; None if nothing was counted so far.

    Raises:
        CorruptDataError: (a ValueError) the file is damaged or of another kind.
        Failure: the file has no such counts, or those of another column; or it is not
            writable.
    """

    def __init__(self, path: Path, column: str | None) -> None:
        self.path = path
        self.counts: PieceCounts | None = None
        self._column = column
        self._versions: dict[str, Version] = {}
        self._found: dict[str, Version] = {}
        self._is_saved = True
        need_folder(path, path.parent)
        if path.exists():
            self._load()

    def _load(self) -> None:
        from cutline.training import PieceCounts

        self.counts, note = PieceCounts.load_with_note(self.path)
        match note:
            case {"column": str() | None as column, "files": list() as files}:
                pass
            case _:
                raise self._failure("does not say which files it counts; choose another file")
        for file in files:
            match file:
                case [str() as name, int() as size, int() as time]:
                    self._versions[name] = size, time
                case _:
                    raise self._failure("damaged: delete it and count again")
        if column != self._column:
            raise self._failure(
                f"counts column {column!r}, not {self._column!r}; choose another file"
            )

    def _failure(self, problem: str) -> Failure:
        return Failure(f"{click.format_filename(self.path)}: {problem}")

    @property
    def n_files(self) -> int:
        """The number of counted files."""
        return len(self._versions)

    def check(self, pat_str: str | None, special_tokens: Sequence[str]) -> None:
        """Check that the files were counted with this pattern and these special tokens.

        Raises:
            Failure: they were counted with others.
        """
        counts = self.counts
        if counts and (counts.pat_str, counts.special_tokens) != (pat_str, tuple(special_tokens)):
            raise self._failure(
                f"counted with --pattern {counts.pat_str!r} and special tokens "
                f"{', '.join(counts.special_tokens) or 'none'}; ask for these, "
                "or choose another file"
            )

    def missing(self, paths: Sequence[Path]) -> list[Path]:
        """Return the files that are still to be counted.

        Raises:
            Failure: a file is named twice, is no regular file, or was changed since it was
                counted; or a counted file is missing from the list.
        """
        names = [_name(path) for path in paths]
        times_named = Counter(names)
        for path, name in zip(paths, names, strict=True):
            if times_named[name] > 1 or not path.is_file():
                raise Failure(
                    f"{click.format_filename(path)}: with --counts each file is named once "
                    "and is a regular file"
                )
            self._found[name] = _version(path)
            if self._versions.get(name, self._found[name]) != self._found[name]:
                raise self._failure(
                    f"{click.format_filename(path)} was changed since it was counted; "
                    "remove the counts to start again"
                )
        if gone := set(self._versions).difference(names):
            raise self._failure(
                f"{click.format_filename(min(gone))} was counted, too; name it again, or "
                "remove the counts to start again"
            )
        return [path for path, name in zip(paths, names, strict=True) if name not in self._versions]

    def add(self, paths: Iterable[Path], counts: "PieceCounts") -> None:
        """Add the counts of some files, as they were when `missing` found them."""
        self.counts = counts if self.counts is None else self.counts + counts
        self._versions |= {name: self._found[name] for name in map(_name, paths)}
        self._is_saved = False

    def save(self) -> bool:
        """Write the file atomically.

        Returns:
            Whether there was anything to write.

        Raises:
            OSError: it cannot be written.
        """
        if self.counts is None or not self.counts.total or self._is_saved:
            return False
        files = [[name, *version] for name, version in self._versions.items()]
        with replacing(self.path) as sink:
            self.counts.write(sink, column=self._column, files=files)
        self._is_saved = True
        return True


def _name(path: Path) -> str:
    return str(path.resolve())


def _version(path: Path) -> Version:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
