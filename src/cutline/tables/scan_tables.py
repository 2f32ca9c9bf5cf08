"""The scanner's tables: the automaton of a split pattern, or a fallback for it."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cutline.errors import PatternError, UnsupportedPatternError
from cutline.kernels.scan.scan import ScanTables
from cutline.pretokenize import compile_pattern, fall_back, regex_spans
from cutline.pretokenize.splitting import scan_tables_of
from cutline.vocabulary import list_encoding_names

__all__ = ["WHOLE_TEXT_PATTERN", "FindSpans", "build_scan_tables", "build_scanner"]

WHOLE_TEXT_PATTERN = r"(?s:.+)"
"""A split pattern that matches the whole text, for `pat_str=None`."""

FindSpans = Callable[[bytes], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Byte starts and ends of the pieces of valid UTF-8."""


def build_scan_tables(pat_str: str | None) -> ScanTables:
    """Build the scanner's tables for a split pattern; None: the whole text is one piece.

    Raises:
        UnsupportedPatternError: the pattern is outside the subset that compiles.
        PatternError: it is no valid regular expression, or certainly a mistake.
        TypeError: it is neither str nor None.
    """
    if not isinstance(pat_str, str | None):
        raise TypeError(f"pat_str must be a str or None, got {type(pat_str).__name__}")
    if pat_str == "":
        raise PatternError("an empty split pattern matches no text; pass None to split nothing")
    if pat_str in list_encoding_names():
        raise PatternError(
            f"as a split pattern {pat_str!r} would match itself and nothing else: for that "
            f"encoding's pattern pass get_encoding({pat_str!r}).pat_str"
        )
    return scan_tables_of(compile_pattern(WHOLE_TEXT_PATTERN if pat_str is None else pat_str))


def build_scanner(
    pat_str: str | None, *, stacklevel: int
) -> tuple[ScanTables | None, FindSpans | None]:
    """Build the scanner's tables, or a function that replaces them, with a warning.

    Args:
        pat_str: as for `build_scan_tables`.
        stacklevel: as of `warnings.warn`, of the caller.

    Raises:
        PatternError, UnsupportedPatternError, TypeError: the `regex` module refuses it, too.
    """
    try:
        return build_scan_tables(pat_str), None
    except UnsupportedPatternError as error:
        assert pat_str is not None
        fall_back(pat_str, error, stacklevel=stacklevel + 1)
        return None, partial(_byte_spans, pat_str)


def _byte_spans(pat_str: str, utf8: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the pieces of a text with the `regex` module."""
    starts, ends = regex_spans(pat_str, utf8.decode())
    places = np.frombuffer(utf8, dtype=np.uint8)
    characters = np.append(np.flatnonzero((places & 0xC0) != 0x80), len(utf8))
    return characters[starts], characters[ends]
