"""Which files the names on the command line stand for."""

import glob
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from errno import ELOOP, ENOENT, ENOTDIR
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import click

from cutline.cli.failure import Failure
from cutline.cli.output import STDOUT
from cutline.cli.streams import STDIN, binary_stream

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["BEGINNINGS", "Finder", "Selection", "finds_files", "names_in"]

BEGINNINGS: Final = {"jsonl": b'{"file": ', "parquet": b"PAR1"}
"""What the output of `chunk` and `count` begins with, by --format; of others nothing is known."""

# Why a link leads nowhere: what it names is missing, or it leads to itself.
_TO_NOTHING: Final = frozenset({ENOENT, ENOTDIR, ELOOP})

_STDIN_DESCRIPTOR: Final = 0
_STDOUT_DESCRIPTOR: Final = 1

# What pathspec calls the part of a match that is the end of a folder's name.
_FOLDER_MARK: Final = "ps_d"

# "**" as a whole part of a path, with the slash after it; several in a row say the same as one.
_SLASH: Final = "[\\\\/]" if os.altsep else "/"
_ANY_DEPTH: Final = re.compile(rf"(?:\A|(?<={_SLASH}))(?:\*\*(?:{_SLASH}+|\Z))+")

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Selection:
    """Which of the files of folders and patterns are read.

    Attributes:
        include: patterns as in .gitignore, one of which a file matches; none: any file.
        exclude: patterns of files and folders that are left out.
        reads_ignored: whether files are read that .gitignore names.
        names: further names of files, folders and patterns, as `names_in` reads them.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    reads_ignored: bool = False
    names: tuple[str, ...] | None = None


def names_in(path: str) -> tuple[str, ...]:
    """Read names that end with NUL, as `find -print0` writes them.

    Raises:
        click.BadParameter: the file cannot be read, or does not hold such names.
    """
    try:
        content = binary_stream("stdin").read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        problem = error.strerror or str(error)
        raise click.BadParameter(f"{path}: {problem.lower()}") from error
    names = content.removesuffix(b"\0").split(b"\0") if content else []
    if b"" in names or (len(names) == 1 and not content.endswith(b"\0") and b"\n" in content):
        raise click.BadParameter(f"{path}: names must end with NUL, as `find -print0` writes them")
    return tuple(map(os.fsdecode, names))


class Finder:
    """Finds the files of folders and patterns.

    Args:
        selection: which of them.
        output: the output file, which is never one of them; nor is the one that standard output
            is sent to.
        begins: what an earlier output of the same kind begins with; a file that does not is none.

    Attributes:
        unread: the names and folders that give no file, with the reason.
    """

    def __init__(self, selection: Selection, output: str, begins: bytes = b"") -> None:
        self._included = _spec(selection.include) if selection.include else None
        self._excluded = _spec(selection.exclude) if selection.exclude else None
        self._reads_ignored = selection.reads_ignored
        self._output = output
        self._begins = begins
        self.unread: list[tuple[str, OSError]] = []

    def files_of(self, name: str) -> Iterator[str]:
        """Yield the files of a name, sorted.

        Raises:
            Failure: it is that of the output file, which would be lost.
        """
        # Not pathlib's, which raise where a folder may not be entered or a name is too long.
        if name != STDIN and os.path.isdir(name):  # noqa: PTH112
            ignored = _Ignored() if self._reads_ignored else _Ignored.above(name)
            n_unread = len(self.unread)
            found = self._files_in(name, "", ignored)
            yield from self._unless_none(name, found, "no file in this folder", n_unread)
        elif name != STDIN and not os.path.exists(name) and glob.has_magic(name):  # noqa: PTH110
            n_unread = len(self.unread)
            # Regular files only: a named pipe would block.
            found = (
                path
                for path in sorted(_matching(name))
                if self._takes(os.path.normpath(path).replace(os.sep, "/")) and self._is_file(path)
            )
            yield from self._unless_none(name, found, "no file matches this pattern", n_unread)
        elif not self._is_output(name):
            yield name  # a file; one that is missing is reported when read
        elif self._output != STDOUT:
            # Not among those that are left out: the results of others would replace it.
            raise _lost(name)
        else:
            self.unread.append((name, OSError(0, "it is standard output, too")))

    def _unless_none(
        self, name: str, found: Iterator[str], problem: str, n_unread: int
    ) -> Iterator[str]:
        """Yield files but for the output; without any, and no other problem, note this one.

        Raises:
            Failure: the output is a file that no run has written.
        """
        has_any = False
        for path in found:
            if not self._is_output(path):
                has_any = True
                yield path
            elif self._output != STDOUT and not self._may_replace(path):
                raise _lost(path)
        if not has_any and len(self.unread) == n_unread:
            self.unread.append((name, FileNotFoundError(0, problem)))

    def _files_in(self, folder: str, inner: str, ignored: "_Ignored") -> Iterator[str]:
        """Yield the files of a folder and its subfolders, except hidden ones.

        Args:
            folder: its path.
            inner: its path in the folder that was named, with a slash at the end; or "".
            ignored: what is ignored in it.
        """
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            self.unread.append((folder, error))
            return
        if not self._reads_ignored and any(entry.name == ".gitignore" for entry in entries):
            ignored = ignored.with_file_in(folder, len(inner))
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = inner + entry.name
            if entry.is_dir(follow_symlinks=False):
                path += "/"
                if not (self._is_excluded(path) or ignored.has(path)):
                    yield from self._files_in(entry.path, path, ignored)
            elif self._takes(path) and not ignored.has(path):
                is_link = entry.is_symlink()
                if self._is_file(entry.path) if is_link else entry.is_file():
                    yield entry.path

    def _is_file(self, path: str) -> bool:
        """Return whether a path is a regular file's.

        A link to nothing is none, and one that may not be followed is noted.
        """
        try:
            return stat.S_ISREG(Path(path).stat().st_mode)
        except OSError as error:
            if error.errno not in _TO_NOTHING:
                self.unread.append((path, error))
            return False

    def _is_output(self, path: str) -> bool:
        """Return whether a path, or standard input, is the file that is written."""
        output = _STDOUT_DESCRIPTOR if self._output == STDOUT else self._output
        try:
            found = os.stat(_STDIN_DESCRIPTOR if path == STDIN else path)  # noqa: PTH116
            is_same = os.path.samestat(found, os.stat(output))  # noqa: PTH116
        except OSError:  # either may be missing
            return False
        return is_same and stat.S_ISREG(found.st_mode)

    def _may_replace(self, path: str) -> bool:
        with Path(path).open("rb") as file:
            begun = file.read(len(self._begins))
        return begun in (b"", self._begins)

    def _takes(self, path: str) -> bool:
        return not self._is_excluded(path) and (
            self._included is None or self._included.match_file(path)
        )

    def _is_excluded(self, path: str) -> bool:
        return self._excluded is not None and self._excluded.match_file(path)


def _lost(name: str) -> Failure:
    shown = "standard input" if name == STDIN else click.format_filename(name)
    return Failure(f"{shown}: is the file of --output, too, and would be lost")


def _matching(pattern: str) -> set[str]:
    """Return the paths that a pattern matches; its "**" enters no linked folder.

    Python's own enters each, and two links to the folder that they are in never end.
    """
    any_depth = _ANY_DEPTH.search(pattern)
    if any_depth is None:
        return set(glob.glob(pattern))  # noqa: PTH207 (keeps "./" in names)
    before, after = pattern[: any_depth.start()], pattern[any_depth.end() :] or "*"
    tops = glob.glob(before) if glob.has_magic(before) else [before]  # noqa: PTH207
    folders = (folder for top in tops for folder in _folders(top))
    return {path for folder in folders for path in _matching(glob.escape(folder) + after)}


def _folders(top: str) -> Iterator[str]:
    """Yield a folder and those in it, each with a slash at its end, but no hidden or linked ones.

    As for all patterns, one that cannot be read has no files.
    """
    below = [top]
    while below:
        folder = below.pop()
        yield folder
        try:
            with os.scandir(folder or os.curdir) as found:
                below += (
                    f"{folder}{entry.name}{os.sep}"
                    for entry in found
                    if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
                )
        except OSError:
            continue


class _Ignored:
    """What .gitignore files name.

    Args:
        layers: for each, outermost first, what to put before a path, where the part of the path
            begins that it is about, and its patterns.
    """

    def __init__(self, layers: "tuple[tuple[str, int, GitIgnoreSpec], ...]" = ()) -> None:
        self._layers = layers

    @classmethod
    def above(cls, folder: str) -> Self:
        """Read the files above a folder, in its repository; if they ignore it, they do not count.

        Whoever names an ignored folder wants its files.
        """
        try:
            path = Path(folder).resolve()
        except OSError:  # the working folder was removed
            return cls()
        parents = [] if _is_repository(path) else list(path.parents)
        n_above = next((i for i, up in enumerate(parents, 1) if _is_repository(up)), 0)
        down = [*reversed(parents[:n_above]), path]
        outer = cls(_layer(down[0] / ".git" / "info" / "exclude", "", 0))
        for up, inner in pairwise(down):
            outer = cls(outer._layers + _layer(up / ".gitignore", "", 0))
            if outer.has(f"{inner.name}/"):
                return cls()
            outer = cls(tuple((f"{into}{inner.name}/", 0, spec) for into, _, spec in outer._layers))
        return outer

    def with_file_in(self, folder: str, depth: int) -> "_Ignored":
        """Return a copy that also knows the file in a folder, whose inner path has this length."""
        return _Ignored(self._layers + _layer(Path(folder, ".gitignore"), "", depth))

    def has(self, path: str) -> bool:
        """Return whether a path in the folder that was named is ignored; a folder's ends in "/"."""
        for prefix, start, spec in reversed(self._layers):
            part = prefix + path[start:]
            for pattern in reversed(list(spec.patterns)):
                if pattern.regex is not None and _is_about(pattern.regex, part):
                    return pattern.include is True
        return False


def _is_repository(folder: Path) -> bool:
    return os.path.exists(folder / ".git")  # noqa: PTH110 (pathlib's raises for one not entered)


def _is_about(pattern: re.Pattern[str], path: str) -> bool:
    """Return whether a pattern is about a path, and not only about a folder above it.

    Those of the folders above were looked at before, and one further in may say otherwise.
    """
    if _FOLDER_MARK not in pattern.groupindex:
        return pattern.search(path) is not None
    ends = (found.end(_FOLDER_MARK) for found in pattern.finditer(path))
    return any(end in (-1, len(path)) for end in ends)


def _layer(file: Path, prefix: str, start: int) -> "tuple[tuple[str, int, GitIgnoreSpec], ...]":
    try:
        lines = os.fsdecode(file.read_bytes()).splitlines()
    except OSError:
        return ()
    return ((prefix, start, _spec(lines, skips_wrong=True)),)


def _spec(lines: Sequence[str], *, skips_wrong: bool = False) -> "GitIgnoreSpec":
    """Compile patterns.

    Raises:
        ValueError: one is no pattern.
    """
    from pathspec import GitIgnoreSpec

    if skips_wrong:  # as git does
        lines = [line for line in lines if _is_pattern(line)]
    return GitIgnoreSpec.from_lines(lines)


def _is_pattern(line: str) -> bool:
    try:
        _spec([line])
    except ValueError:
        return False
    return True


def _patterns(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    for value in values:
        if not value.strip() or value.startswith(("!", "#")) or not _is_pattern(value):
            raise click.BadParameter(f"{value!r} is no pattern as in .gitignore, such as *.md")
    return values


def _names(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    return None if value is None else names_in(value)


_OPTIONS = [
    click.option(
        "--include",
        metavar="PATTERN",
        multiple=True,
        callback=_patterns,
        help="In folders, only files that match, as by a line of .gitignore: '*.md', 'docs/**'. "
        "May be repeated: files that match any.",
    ),
    click.option(
        "--exclude",
        metavar="PATTERN",
        multiple=True,
        callback=_patterns,
        help="In folders, leave out files and folders that match. May be repeated.",
    ),
    click.option(
        "--no-ignore",
        "reads_ignored",
        is_flag=True,
        help="In folders, also read the files that .gitignore files name.",
    ),
    click.option(
        "--files0-from",
        "names",
        metavar="FILE",
        callback=_names,
        help="Read names of files from FILE, or from standard input if it is -, each with a NUL "
        "at its end, as `find -print0` and `git ls-files -z` write them.",
    ),
]


def finds_files(command: Command) -> Command:
    """Add the options for finding files; the command gets them as `selection`."""

    @wraps(command)
    def with_selection(**values: Any) -> Any:
        chosen = {name: values.pop(name) for name in Selection.__dataclass_fields__}
        return command(selection=Selection(**chosen), **values)

    wrapped: Any = with_selection
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]
