"""The greatest end of a slice without borders, where all steps work on letters and their marks.

What such a slice becomes is then what comes of its whole letters, the beginning of what comes
of the longer text, and what comes of the last letter, if the slice ends between its marks. So
the ends are tried in a text that shrinks and grows, instead of encoding each slice.
"""

from typing import TYPE_CHECKING

import numpy as np

from cutline.pipeline.normalizing import Form, Lower, Traced

if TYPE_CHECKING:
    from cutline.pipeline.encoding import ChangingEncoding

__all__ = ["retreat"]

_MANY_MARKS = 32  # to change and append these is no less work than to encode the slice


def retreat(encoding: "ChangingEncoding", text: str, n: int, *, inside: bool) -> int | None:
    """Find the greatest end such that a text has at most n tokens up to there.

    Args:
        encoding: that counts.
        text: what is tried whole first, then with a character less each time.
        n: the budget.
        inside: the text goes on from a border.

    Returns:
        The end; None if it has to be found in another way.

    Cost: linear in the text, and for each end that has too many tokens, in the marks before it.
    """
    facts, finders = encoding._facts, encoding._ordinary_finders
    by_letters = all(isinstance(step, Form | Lower) for step in facts.steps)
    if not by_letters or (facts.changes_starts and not inside):
        return None
    traced = facts.trace(Traced.of(text))
    found = any(finder.may_find(text) or finder.may_find(traced.text) for finder in finders)
    if found or not encoding._inner._has_automaton:
        return None
    longest = max((len(token) for finder in finders for token in finder.texts), default=0)
    whole = np.array([end for _, end in traced.spans], dtype=np.int64)
    shorter = encoding._inner.appender(traced.text)
    for end in range(len(text), 0, -1):
        kept = int(np.searchsorted(whole, end, side="right"))
        last = text[int(whole[kept - 1]) if kept else 0 : end]
        begun = facts.normalize(last)
        near = traced.text[max(0, kept - longest) : kept] + begun
        # Added tokens can be found where a letter lacks its marks.
        if len(last) > _MANY_MARKS or any(finder.may_find(near) for finder in finders):
            tokens = encoding._count_inside(text[:end])
        else:
            shorter.truncate(kept)
            shorter.append(begun)
            tokens = shorter.count
        if tokens <= n:
            return end
    return 0
