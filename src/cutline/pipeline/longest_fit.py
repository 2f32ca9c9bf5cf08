"""The longest fitting slice without safe split points, if steps work on letters and marks.

A normalized slice is then a prefix of the normalized text, for its complete letters, followed by
the normalized last letter, if the slice ends between that letter's marks. So ends are tried with
an appender that is truncated and appended to, instead of encoding each slice.
"""

import numpy as np

from cutline.checks import utf8_of_part
from cutline.kernels.index.append import Growing
from cutline.normalizing import Form, Lower, Traced, normalize, trace
from cutline.pipeline.pipeline import Pipeline
from cutline.text_encoder import TextEncoder

__all__ = ["longest_fit_by_letters"]

_MANY_MARKS = 32  # normalizing and appending these is no less work than encoding the slice


def longest_fit_by_letters(
    pipeline: Pipeline, encoder: TextEncoder, text: str, n: int, *, inside: bool
) -> int | None:
    """Find the longest prefix of a text that has at most n tokens.

    Args:
        pipeline: changes the text.
        encoder: counts the changed text.
        text: tried whole first, then with one character less each time.
        n: the budget.
        inside: whether the text begins at a safe split point.

    Returns:
        The end; None if this method does not apply.

    Cost: linear in the text, and for each end with too many tokens, in the marks before it.
    """
    spec, finders = pipeline.spec, pipeline.ordinary_finders
    by_letters = all(isinstance(step, Form | Lower) for step in spec.normalizer)
    if not by_letters or spec.marks_words or (spec.prefix_space and not inside):
        return None
    traced = trace(Traced.of(text), spec.normalizer)
    found = any(finder.may_find(text) or finder.may_find(traced.text) for finder in finders)
    if found or not encoder._has_automaton:
        return None
    longest = max((len(token) for finder in finders for token in finder.texts), default=0)
    whole = traced.spans[:, 1]
    shorter = Growing(encoder, utf8_of_part)
    shorter.append(traced.text)
    for end in range(len(text), 0, -1):
        kept = int(np.searchsorted(whole, end, side="right"))
        last = text[int(whole[kept - 1]) if kept else 0 : end]
        begun = normalize(last, spec.normalizer)
        near = traced.text[max(0, kept - longest) : kept] + begun
        # An added token can match a letter without its marks.
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
