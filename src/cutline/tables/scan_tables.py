"""The scanner's tables: the automaton of a split pattern, or a fallback for it."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cutline.errors import PatternError, UnsupportedPatternError
from cutline.kernels.scan.scan import ScanTables
from cutline.pretokenize import Automaton, compile_pattern, fall_back, regex_spans
from cutline.vocabulary import list_encoding_names

__all__ = ["WHOLE_TEXT_PATTERN", "FindSpans", "build_scan_tables", "build_scanner"]

WHOLE_TEXT_PATTERN = r"(?s:.+)"
"""A split pattern that matches the whole text, for `pat_str=None`."""

FindSpans = Callable[[str], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Code-point starts and ends of the pieces of a text."""


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
    automaton: Automaton = compile_pattern(WHOLE_TEXT_PATTERN if pat_str is None else pat_str)
    return ScanTables(
        automaton.ascii_class,
        automaton.block_index,
        automaton.block_class,
        automaton.transitions,
        automaton.stride,
        automaton.has_gaps,
    )


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
        return None, partial(regex_spans, pat_str)
