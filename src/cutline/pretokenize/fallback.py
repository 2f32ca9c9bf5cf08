"""Split patterns outside the automaton's subset: the `regex` module finds the pieces.

Few programs need the module, so it is imported with the first such pattern.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from cutline.errors import PatternFallbackWarning, UnsupportedPatternError

__all__ = ["fall_back", "regex_spans"]


def fall_back(pattern: str, problem: UnsupportedPatternError, stacklevel: int) -> None:
    """Warn that a split pattern runs on the `regex` module; raise if that refuses it too.

    Args:
        pattern: the regular expression.
        problem: why there is no automaton for it.
        stacklevel: as of `warnings.warn`, of the caller.

    Raises:
        PatternError, UnsupportedPatternError: as `regex_spans`.
    """
    regex_spans(pattern, "")
    warnings.warn(
        f"the split pattern runs on the `regex` module, exact but slower: {problem}",
        PatternFallbackWarning,
        stacklevel=stacklevel + 1,
    )


def regex_spans(pattern: str, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    r"""Find all matches of a split pattern with a backtracking engine.

    Args:
        pattern: the regular expression, in the syntax of tiktoken's engine.
        text: any string.

    Returns:
        int64 starts and ends of the matches, in order, as half-open code-point
        offsets.

    Raises:
        PatternError: not a regular expression.
        UnsupportedPatternError: back-references and other rare constructs; or the pattern
            matched the empty string, after which engines continue differently (and tiktoken's
            sometimes fails).

    Cost: about 5 MB/s; a pattern that backtracks much can take far longer.

    >>> regex_spans(r"(?<=a)b+?|c", "abbc")
    (array([1, 3]), array([2, 4]))
    """
    from cutline.pretokenize.rewriting import splitter

    spans = np.array(splitter(pattern).spans(text), dtype=np.int64).reshape(-1, 2)
    empty = np.flatnonzero(spans[:, 0] == spans[:, 1])
    if empty.size:
        raise UnsupportedPatternError(
            f"split pattern {pattern!r} matches the empty string, at offset "
            f"{spans[empty[0], 0]} of a text: a piece has at least one character"
        )
    return spans[:, 0].copy(), spans[:, 1].copy()
