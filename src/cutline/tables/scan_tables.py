"""What scanning needs: the automaton of a split pattern, or the word that there is none."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.scan import ScanTables
from cutline.pretokenize import Automaton, compile_pattern

__all__ = ["WHOLE_TEXT_PATTERN", "FindSpans", "build_scan_tables"]

WHOLE_TEXT_PATTERN = r"(?s:.+)"
"""The split pattern that does not split: for `pat_str=None`."""

FindSpans = Callable[[str], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Code-point starts and ends of the pieces of a text."""


def build_scan_tables(pat_str: str | None) -> ScanTables:
    """Tables of the scanner for a split pattern; None: the whole text is one piece.

    Raises:
        UnsupportedPatternError: the pattern is outside the subset that compiles.
        PatternError: it is no valid regular expression.
    """
    automaton: Automaton = compile_pattern(WHOLE_TEXT_PATTERN if pat_str is None else pat_str)
    return ScanTables(
        automaton.ascii_class,
        automaton.block_index,
        automaton.block_class,
        automaton.transitions,
        automaton.stride,
        automaton.has_gaps,
    )
