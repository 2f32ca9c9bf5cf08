"""The longest fitting slice without safe split points, where steps work on letters and marks.

What such a slice becomes is then what comes of its whole letters, the beginning of what comes
of the longer text, and what comes of the last letter, if the slice ends between its marks. So
the ends are tried in a text that shrinks and grows, instead of encoding each slice.
"""

import numpy as np

from cutline.checks import utf8_of_part
from cutline.kernels.index.append import Growing
from cutline.normalizing import Form, Lower, Traced, normalize, trace
from cutline.pipeline.pipeline import Pipeline
from cutline.text_encoder import TextEncoder

__all__ = ["longest_fit_by_letters"]

_MANY_MARKS = 32  # to change and append these is no less work than to encode the slice


def longest_fit_by_letters(
    pipeline: Pipeline, encoder: TextEncoder, text: str, n: int, *, inside: bool
) -> int | None:
    """Find the greatest end such that a text has at most n tokens up to there.

    Args:
        pipeline: that changes the text.
        encoder: that counts what it becomes.
        text: what is tried whole first, then with a character less each time.
        n: the budget.
        inside: the text goes on from a safe split point.

    Returns:
        The end; None if it has to be found in another way.

    Cost: linear in the text, and for each end that has too many tokens, in the marks before it.
    """
    spec, finders = pipeline.spec, pipeline.ordinary_finders
    by_letters = all(isinstance(step, Form | Lower) for step in spec.normalizer)
    if not by_letters or (spec.prefix_space and not inside):
        return None
    traced = trace(Traced.of(text), spec.normalizer)
    found = any(finder.may_find(text) or finder.may_find(traced.text) for finder in finders)
    if found or not encoder._has_automaton:
        return None
    longest = max((len(token) for finder in finders for token in finder.texts), default=0)
    whole = np.array([end for _, end in traced.spans], dtype=np.int64)
    shorter = Growing(encoder, utf8_of_part)
    shorter.append(traced.text)
    for end in range(len(text), 0, -1):
        kept = int(np.searchsorted(whole, end, side="right"))
        last = text[int(whole[kept - 1]) if kept else 0 : end]
        begun = normalize(last, spec.normalizer)
        near = traced.text[max(0, kept - longest) : kept] + begun
        # Added tokens can be found where a letter lacks its marks.
        if len(last) > _MANY_MARKS or any(finder.may_find(near) for finder in finders):
            tokens = pipeline.count_after(encoder, text[:end])
        else:
            if kept < shorter.text_length:
                shorter._truncate(kept)
            shorter.append(begun)
            tokens = shorter.count
        if tokens <= n:
            return end
    return 0
