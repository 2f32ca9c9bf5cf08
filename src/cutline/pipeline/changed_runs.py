"""Counts of runs whose characters change one another, for models that encode words apart.

The kernel asks for what it has not met before: a run depends on nothing around it. Proof:
docs/words.md, "Runs".
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from cutline.normalizing import SPACE, Step, normalize

__all__ = ["ChangedRuns"]

_NOT_CLOSED: Final = -1
_SHORT: Final = 32  # characters of a run that is kept here, too: a batch may have it many times
_KNOWN: Final = 4096


class ChangedRuns:
    """Counts them.

    Args:
        steps: what changes characters.
        meta: what stands for a blank, or "".
        count_normalized: counts normalized text that goes on; takes whether it gets a prefix.
        count_end: counts what is left of a text; takes whether it is all of it.
    """

    def __init__(
        self,
        steps: tuple[Step, ...],
        meta: str,
        count_normalized: Callable[[str, bool], int],
        count_end: Callable[[str, bool], int],
    ) -> None:
        self._steps = steps
        self._blanks = frozenset(SPACE) | {meta}
        self._count_normalized = count_normalized
        self.count_end = count_end
        self._known = lru_cache(_KNOWN)(self._count)

    def count(self, run: str, prefixes: bool) -> int:
        """Count the tokens of a run with the separator before it, if there is one.

        -1: it ends in what vanishes or becomes white, so that what comes next may belong to it; or
        it has surrogates.
        """
        return (self._known if len(run) <= _SHORT else self._count)(run, prefixes)

    def _count(self, run: str, prefixes: bool) -> int:
        try:
            run.encode()
        except UnicodeEncodeError:
            return _NOT_CLOSED
        normalized = normalize(run, self._steps)
        if not normalized or normalized[-1] in self._blanks:
            return _NOT_CLOSED
        return self._count_normalized(normalized, prefixes)
