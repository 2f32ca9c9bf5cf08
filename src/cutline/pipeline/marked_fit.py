"""The longest fitting slice in a long word whose tokens say that they end it, or begin it.

A slice that ends in the word is marked at its end, so that its last token is another. But what is
before that token is encoded as it is in the whole word. So the longest part of the word that fits
without a mark bounds the slices that fit, and they are tried from there on down. The proof:
docs/tokenizers.md, "Word ends".
"""

from functools import partial

from cutline.counting import cutting
from cutline.kernels.words.splitting import end_of_tokens_from
from cutline.normalizing import Form, Lower, Traced, trace
from cutline.pipeline.word_ends import MarkingPipeline
from cutline.text_encoder import TextEncoder
from cutline.words.steps import ByCharacter

__all__ = ["longest_fit_in_word"]

_CHARACTERS_A_TOKEN = 4  # of the first window, and
_WINDOW = 64  # characters more
_TRIES = 16  # ends, before another bound is looked for
_LOOKAHEAD = 2  # characters: patterns look no further to find the end of a word


def longest_fit_in_word(
    pipeline: MarkingPipeline, encoder: TextEncoder, text: str, n: int, *, inside: bool
) -> int | None:
    """Find the longest prefix of a text that has at most n tokens.

    Args:
        pipeline: marks words.
        encoder: counts.
        text: it has a word with more than n tokens, or is a part of it.
        n: the budget.
        inside: whether the text begins at a safe split point.

    Returns:
        The end; None if this method does not apply.

    Cost: linear in what fits, times the length of the longest token.
    """
    if not all(isinstance(step, Form | Lower | ByCharacter) for step in pipeline.spec.normalizer):
        return None
    width = _CHARACTERS_A_TOKEN * min(n, len(text)) + _WINDOW
    while True:
        window = text[:width]
        is_last = len(window) == len(text)
        end = _bound(pipeline, encoder, window, n, is_last=is_last)
        if end is None:
            return None
        if end <= len(window):
            break
        width *= 4
    count = pipeline.count_after if inside else pipeline.count
    stop = end - _TRIES
    while end > 0 and count(encoder, text[:end]) > n:
        end -= 1
        if end == stop:  # marks that are sorted: how far they may reach is known otherwise
            prefixes_of = partial(pipeline.prefixes_for, inside=inside)
            end = pipeline.upper_bound.limit(encoder, text[:end], n, prefixes_of)
    return end


def _bound(
    pipeline: MarkingPipeline, encoder: TextEncoder, window: str, n: int, *, is_last: bool
) -> int | None:
    """Bound the ends of prefixes that fit.

    Returns:
        None if this method does not apply; more than the window has if it is too short to tell.
    """
    finders = pipeline.ordinary_finders
    traced = trace(Traced.of(window), pipeline.spec.normalizer)
    letters = traced.text
    found = any(finder.may_find(window) or finder.may_find(letters) for finder in finders)
    if found or not encoder._has_automaton:
        return None
    written = pipeline.unfinished(letters)
    budget = n if pipeline.spec.marks_word_starts else max(n - 1, 0)
    fits = cutting.split_at(encoder, written, budget, 0)
    utf8 = written.encode()
    # The token that fits no more may begin where the last one that fits ends, or before.
    beyond = end_of_tokens_from(encoder, utf8, len(written[:fits].encode()))
    longest_added = max((len(text) for finder in finders for text in finder.texts), default=0)
    too_short = len(window) if is_last else len(window) + 1
    if beyond < 0:
        return too_short
    least = len(utf8[:beyond].decode(errors="ignore")) + 2 - (len(written) - len(letters))
    if least + _LOOKAHEAD + longest_added > len(letters):
        return too_short
    sure = pipeline.sure_beginning(letters, least)
    if sure is None:
        return None
    end = int(traced.spans[sure, 1]) - 1
    return end if end + longest_added <= len(window) else too_short
