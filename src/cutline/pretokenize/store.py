"""Storage of compiled patterns: packaged files, a cache folder, a small memo.

A pattern's tables are searched for in the package, then in the user's cache folder, and
generated otherwise. The cache is optional: a file that is damaged, of another version or
of another pattern is rebuilt, and a folder that cannot be written is not used. Neither is
one that another user can write, since its tables could split differently. Tables from a
file are checked, so that a kernel that trusts them cannot read outside its arrays or loop
forever.
"""

import contextlib
import hashlib
import os
import stat
from functools import lru_cache
from pathlib import Path

import numpy as np

from cutline.atomic import replacing
from cutline.container import pack, unpack
from cutline.errors import CorruptDataError
from cutline.pretokenize.compiled import (
    ACCEPT_ONE_AGO,
    BLOCK_COUNT,
    BLOCK_SIZE,
    MAX_CLASSES,
    MAX_STATES,
    Automaton,
)
from cutline.pretokenize.unicode import UNICODE_VERSION

__all__ = ["CACHE_VARIABLE", "SHIPPED_FOLDER", "compile_pattern", "dump", "file_name", "load"]

CACHE_VARIABLE = "CUTLINE_CACHE_DIR"
FORMAT_VERSION = 2
_MAX_FILE_BYTES = 1 << 26  # what is longer is damaged
_MAGIC = b"cutlnAU2"
SHIPPED_FOLDER = Path(__file__).with_name("data")
_ARRAYS = {
    "ascii_class": np.uint8,
    "block_index": np.uint16,
    "block_class": np.uint8,
    "transitions": np.uint32,
}


@lru_cache(maxsize=32)
def compile_pattern(pat_str: str) -> Automaton:
    r"""Return the automaton of a split pattern.

    Args:
        pat_str: a regular expression in the syntax of tiktoken's engine.

    Returns:
        The tables, shared by all callers: their arrays are read-only.

    Raises:
        PatternError: not a regular expression.
        UnsupportedPatternError: outside the subset that compiles to an automaton.

    Cost: under 1 ms for a packaged or cached pattern, 20-80 ms for a new one. The cache
    folder is the user's, or `CUTLINE_CACHE_DIR`; empty, it turns the cache off. It is not
    used where another user can write it.

    >>> compile_pattern(r"\d{1,3}|\D").n_classes
    3
    """
    name = file_name(pat_str)
    shipped = _read(SHIPPED_FOLDER / name, pat_str)
    if shipped is not None:
        return shipped
    folder = _cache_folder()
    if folder is None or (folder.exists() and not _is_private(folder.stat())):
        return generate(pat_str)
    cached = _read(folder / name, pat_str, private=True)
    if cached is not None:
        return cached
    automaton = generate(pat_str)
    _write(folder / name, dump(automaton, pat_str))
    return automaton


def generate(pat_str: str) -> Automaton:
    """Compile a pattern; the compiler is only imported when it is needed."""
    from cutline.pretokenize.automaton import generate as compiled

    return compiled(pat_str)


def file_name(pat_str: str) -> str:
    """Return the name of a pattern's file, in the package and in the cache."""
    return f"{hashlib.sha256(_identity(pat_str)).hexdigest()[:32]}.automaton"


def dump(automaton: Automaton, pat_str: str) -> bytes:
    """Serialize an automaton; equal tables give equal bytes."""
    header = {
        "n_classes": automaton.n_classes,
        "stride": automaton.stride,
        "has_gaps": automaton.has_gaps,
    }
    arrays = {name: getattr(automaton, name) for name in _ARRAYS}
    return pack(_MAGIC, header, arrays, _identity(pat_str))


def load(data: bytes, pat_str: str) -> Automaton:
    """Read data written by `dump`, and check every number in it.

    Raises:
        CorruptDataError: damaged, of another version, or of another pattern.
    """
    header, arrays = unpack(_MAGIC, data, _identity(pat_str))
    if {name: array.dtype for name, array in arrays.items()} != _ARRAYS:
        raise CorruptDataError(f"automaton file contains the arrays {sorted(arrays)}")
    try:
        automaton = Automaton(
            **arrays,
            n_classes=header["n_classes"],
            stride=header["stride"],
            has_gaps=header["has_gaps"],
        )
    except KeyError as error:
        raise CorruptDataError(f"automaton file lacks {error}") from error
    problem = _find_problem(automaton)
    if problem:
        raise CorruptDataError(f"automaton file is inconsistent: {problem}")
    return automaton


def _identity(pat_str: str) -> bytes:
    """Return what tables depend on: their file cannot be read with another pattern."""
    return f"{FORMAT_VERSION}/{UNICODE_VERSION}/{pat_str}".encode("utf-8", "surrogatepass")


def _find_problem(automaton: Automaton) -> str:
    """Describe what makes the tables unsafe for a kernel; "" if they are safe."""
    stride, transitions = automaton.stride, automaton.transitions
    numbers = (automaton.n_classes, stride)
    if not all(type(number) is int for number in numbers) or type(automaton.has_gaps) is not bool:
        return "a field has the wrong type"
    if not 0 < automaton.n_classes <= MAX_CLASSES or stride != automaton.n_classes + 1:
        return f"{automaton.n_classes} classes with a stride of {stride}"
    if len(automaton.ascii_class) != 128 or len(automaton.block_index) != BLOCK_COUNT:
        return "the character tables have the wrong length"
    blocks, rest = divmod(len(automaton.block_class), BLOCK_SIZE)
    if rest or automaton.block_index.max() >= blocks:
        return "a block number is out of range"
    if max(automaton.block_class.max(), automaton.ascii_class.max()) >= automaton.n_classes:
        return "a class is out of range"
    states, rest = divmod(len(transitions), stride)
    if rest or not 2 <= states <= MAX_STATES:
        return f"{len(transitions)} transitions with a stride of {stride}"
    rows, accepts = transitions >> 2, transitions & 3
    if rows.max() >= len(transitions) or (rows % stride).any() or accepts.max() > ACCEPT_ONE_AGO:
        return "a transition is out of range"
    if transitions[:stride].any():
        return "the dead state is left"
    # An empty match would loop forever.
    if (accepts[stride : 2 * stride] == ACCEPT_ONE_AGO).any() or transitions[2 * stride - 1]:
        return "the start matches the empty string"
    return ""


def _cache_folder() -> Path | None:
    """Return the folder for cached automata; None if the user turned it off."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen is None:
        import platformdirs  # not needed for packaged patterns

        return Path(platformdirs.user_cache_dir("cutline", appauthor=False))
    return Path(chosen) if chosen else None


def _read(path: Path, pat_str: str, *, private: bool = False) -> Automaton | None:
    """Return the automaton in a file; None if there is no usable one."""
    try:
        if not path.is_file():  # opening a named pipe would wait
            return None
        with path.open("rb") as stream:
            if private and not _is_private(os.fstat(stream.fileno())):
                return None
            return load(stream.read(_MAX_FILE_BYTES), pat_str)
    except (OSError, CorruptDataError):
        return None


def _is_private(found: os.stat_result) -> bool:
    """Return whether only this user, or root, can write a file or folder."""
    if not hasattr(os, "geteuid"):
        return True  # on Windows, profile folders are private
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid in (0, os.geteuid()) and not others


def _write(path: Path, data: bytes) -> None:
    """Put a file into the cache, if possible."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # else its permissions would be kept
        with replacing(path) as sink:
            Path(sink.name).chmod(0o600)  # private whatever the umask
            sink.write(data)
