"""`truncate`: a text cut to a token budget; and what counts with special tokens."""

from collections.abc import Set

from cutline.counting import truncating
from cutline.counting.limits import AlsoFits, further_limits
from cutline.counting.truncating import Boundary, Growing, Keep
from cutline.encoding import Encoding
from cutline.protocols import TokenCounter
from cutline.registry import token_counter_of

__all__ = ["counter_allowing", "truncate"]


def truncate(
    text: str,
    max_tokens: int,
    keep: Keep = "start",
    marker: str = "…",
    *,
    encoding: TokenCounter | str = "o200k_base",
    boundary: Boundary = "character",
    also_fits: AlsoFits = None,
    allowed_special: Set[str] | str = frozenset(),
) -> str:
    """Cut a text to a token budget, and mark where text is missing.

    A text that fits is returned unchanged. Otherwise the result, marker included and counted as
    one text, has at most `max_tokens` tokens, and is as long as possible: no result with up to
    64 more characters fits. Without a marker, a start is the longest of all. With "both", one
    more character of the end would not fit.

    Args:
        text: the text.
        max_tokens: the budget, 0 or more.
        keep: the "start" of the text, its "end", or "both", with about as many tokens each.
        marker: replaces the removed text; may be empty.
        encoding: an `Encoding`, its name, or a wrapped tokenizer.
        boundary: cut only between "character"s (code points), "grapheme"s (user-perceived
            characters) or "word"s, by the default rules of Unicode; a cut between words leaves
            no white space at the marker. If no boundary within 4,096 characters leaves any
            text, the next finer kind is used.
        also_fits: further limits that the result fits at once: maximum numbers of tokens by
            encoding, name or wrapped tokenizer, and of "characters" or "bytes".
        allowed_special: special tokens of `encoding` whose text is one token, as `encode` makes
            it, or "all"; it is kept whole or not at all. All other text is ordinary text.

    Raises:
        BudgetError: (a ValueError) text must be cut, and the marker alone is over a budget.
        ValueError: max_tokens is negative, or `keep` or `boundary` none of the above.
        SurrogateError: (a ValueError) text must be cut where it has surrogate code points.
        UnsupportedPatternError: (a ValueError) text must be cut, and the encoding's split
            pattern runs on the `regex` module.
        TypeError: allowed_special, and `encoding` is a wrapped tokenizer.

    Cost: linear in the kept text, not in the whole text, except with `allowed_special`; see
    docs/budgets.md.
    Source: docs/budgets.md, "Truncating".

    >>> truncate("The quick brown fox jumps over the lazy dog.", 6)
    'The quick brown fox jumps …'
    >>> truncate("The quick brown fox jumps over the lazy dog.", 6, "both", boundary="word")
    'The quick brown…dog.'
    >>> truncate("The quick brown fox jumps over the lazy dog.", 6, also_fits={"bytes": 20})
    'The quick brown f…'
    >>> truncate("one two<|endoftext|>three four", 4, allowed_special="all")
    'one two<|endoftext|>…'
    """
    counting, others = counter_allowing(encoding, allowed_special), further_limits(also_fits)
    return truncating.truncate(counting, text, max_tokens, keep, marker, boundary, others).text


def counter_allowing(encoding: TokenCounter | str, allowed_special: Set[str] | str) -> Growing:
    """Return what counts and cuts texts, with some special tokens allowed.

    Raises:
        TypeError: special tokens are allowed, and it is a wrapped tokenizer.
    """
    counter = token_counter_of(encoding)
    if not allowed_special:
        return counter
    if not isinstance(counter, Encoding):
        raise TypeError(
            f"allowed_special needs an Encoding, got {type(counter).__name__}: a wrapped tokenizer "
            "decides itself what it takes for special tokens"
        )
    return counter._allowing(allowed_special)  # type: ignore[arg-type]
