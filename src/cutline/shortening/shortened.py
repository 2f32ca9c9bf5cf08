"""`shorten`: a tool's output within a budget, with its structure."""

from dataclasses import dataclass
from functools import partial

from cutline.checks import checked_integer, plain_text
from cutline.counting.truncating import check_options
from cutline.errors import BudgetError
from cutline.protocols import TokenCounter
from cutline.registry import token_counter_of
from cutline.shortening import kinds
from cutline.shortening.drafts import fullest

__all__ = ["Shortened", "shorten"]


@dataclass(frozen=True, slots=True)
class Shortened:
    """A text within its budget.

    Attributes:
        text: the text.
        token_count: its tokens, counted as one text.
        kept: the half-open spans of the source that it contains, in code points, in order.
        kind: as what it was shortened.
    """

    text: str
    token_count: int
    kept: tuple[tuple[int, int], ...]
    kind: str


def shorten(
    text: str,
    max_tokens: int,
    *,
    kind: str = "auto",
    encoding: TokenCounter | str = "o200k_base",
    marker: str = "…",
) -> Shortened:
    r"""Shorten a text, such as the output of a tool, to a token budget, and keep its structure.

    A text that fits is returned unchanged. Otherwise, by kind:

    - "json" stays valid JSON: long strings lose their middle, arrays elements between their first
      and last, which a string counts; objects keep their keys longest.
    - "jsonl": first and last lines; a long line is shortened as JSON.
    - "csv", "tsv", "psv": the header, the first and the last records; a long record has its
      longest fields cut.
    - "log": lines that tell of errors, and the first and the last lines.
    - "markdown": headings, and the first lines of each section; fences stay closed.
    - a programming language, such as "python": the first lines of definitions, outer ones first.
    - "text": the start and the end.

    Args:
        text: any text.
        max_tokens: the budget, 0 or more.
        kind: one of these, in any case; "auto" guesses from the text, and guesses no programming
            language.
        encoding: an `Encoding`, its name, or a wrapped tokenizer.
        marker: stands where something is missing; where that are several, with their number.

    Returns:
        The text and what it contains of the source. Its kind is "text" where the text is not of
        the kind asked for, or if even the least of that kind does not fit, or fits with nothing
        of the text; and for a programming language if tree-sitter is not installed (pip install
        'cutline[code]'), with an `UnparsedWarning`.

    Raises:
        BudgetError: (a ValueError) the text does not fit, and neither does the marker alone.
        ValueError: max_tokens is negative, or the kind unknown.
        TypeError: an argument is of another type.

    Cost: linear in the text, for which no token is counted that is not near to be kept; some 20
    drafts of the result are counted. A programming language costs as CodeChunker, some MB/s.
    Source: docs/tool-output.md.

    >>> hits = '{"query": "fox", "hits": [' + ", ".join(map(str, range(1000, 2000))) + "]}"
    >>> print(shorten(hits, 30).text)
    {"query": "fox", "hits": [1000, 1001, "… 997 more", 1999]}
    """
    text, max_tokens = plain_text(text), checked_integer(max_tokens, "max_tokens")
    marker = check_options(max_tokens, "start", marker, "character")
    counting = token_counter_of(encoding)
    kind = kinds.resolved(text, kind)
    tokens = counting.count_till_limit(text, max_tokens)
    if tokens is not None:
        return Shortened(text, tokens, ((0, len(text)),) if text else (), kind)
    bare = partial(kinds.plain, says_how_many=False)
    without_text: Shortened | None = None
    for name, make in ((kind, kinds.maker(kind)), ("text", kinds.plain), ("text", bare)):
        draft = fullest(make(text, marker), len(text), counting, max_tokens)
        if draft is not None:
            short = Shortened(draft.text, counting.count(draft.text), tuple(draft.kept), name)
            if short.kept:
                return short
            without_text = without_text or short  # how much is missing, and nothing else
    if without_text is not None:
        return without_text
    tokens = counting.count(marker)
    raise BudgetError(
        f"the marker {marker!r} alone has {tokens} token{'s' * (tokens != 1)}, more than "
        f"max_tokens={max_tokens}: use a shorter one, or an empty one"
    )
