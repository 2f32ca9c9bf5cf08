"""All boundaries of one kind in a text: where its sentences, words, paragraphs... end."""

from __future__ import annotations

from cutline.checks import plain_text
from cutline.chunking.level_choice import LevelLike, make_levels

__all__ = ["boundaries"]


def boundaries(text: str, kind: LevelLike) -> list[int]:
    """Return where sentences of a text end, or paragraphs, lines, phrases, words or graphemes.

    The same places as `TextChunker` uses, which tells whether a line end wraps a sentence by the
    text from the chunk's start on; here it is that of the whole text.

    Args:
        text: any text.
        kind: "paragraph", "entry", "line", "sentence", "phrase", "word", "dictionary word",
            "grapheme" or "character"; or a compiled regular expression or function, as in the
            levels of `TextChunker`.

    Returns:
        Offsets in code points, ascending; the last is that of the text's end. None for an
        empty text.

    Raises:
        TypeError, ValueError: there is no such kind.
        ImportError: "dictionary word" needs an extra: pip install 'cutline[icu]'.

    Cost: linear, for a regular expression or function as it says itself.

    >>> text = "It costs 3.50 dollars, e.g. today. Buy two!"
    >>> ends = boundaries(text, "sentence")
    >>> [text[start:end] for start, end in zip([0, *ends], ends)]
    ['It costs 3.50 dollars, e.g. today. ', 'Buy two!']
    """
    text = plain_text(text)
    level, *_ = make_levels((kind,), "grapheme" if kind == "grapheme" else "character")
    found = list(level.every(text, 0, 0, len(text)))
    if text and (not found or found[-1] < len(text)):
        found.append(len(text))
    return found
