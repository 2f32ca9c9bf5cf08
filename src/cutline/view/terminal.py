"""`terminal_view`: a text and its chunks in the colours of a terminal.

Foreground and background colours are set together, so that they are readable on light and dark
terminals. No text can send commands to the terminal.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from cutline.chunks import Chunk
from cutline.template import Template
from cutline.view.foreign_chunks import chunks_of
from cutline.view.tokens import ShownTokens, Tokenizer, tokenizer_of, tokens_of
from cutline.view.totals import Totals, lost_spans, totals_of

__all__ = ["printable", "terminal_view"]

Paint = Callable[[str, str], str]

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
# Black on two tints, each in two shades that alternate by token; greys for repeated text.
_EVEN, _ODD, _SHARED = (
    tuple(f"\x1b[38;5;16;48;5;{shade}m" for shade in shades)
    for shades in ((230, 223), (195, 153), (254, 250))
)
_SHARED_SIGNS = "⟪", "⟫"
_LOST = "\x1b[38;5;231;48;5;124m"
_SHOWN_LOST = 80
_WHITE_SPACE = str.maketrans({" ": "·", "\n": "↵", "\t": "→"})
_BAR_CELLS = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
# Control characters except tab and line feed, bidirectional controls, and surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)


def terminal_view(
    text: str,
    chunks: Iterable[Any],
    encoding: Tokenizer | str,
    *,
    title: str = "Chunks",
    chunk_size: int | None = None,
    has_colors: bool = True,
    template: Template | None = None,
) -> Iterator[str]:
    r"""Yield the lines to print: totals, then each chunk under a line about it.

    Args:
        text: the text of which the chunks are slices.
        chunks: in the order of the text, from any library; see `html_page`.
        encoding: for the tokens; see `html_page`.
        title: the title, such as the file's name.
        chunk_size: the budget in tokens, to show how full chunks are.
        has_colors: whether to show tokens and overlap in colours; without colours there is no
            escape sequence, and overlap is shown between the signs ⟪ and ⟫.
        template: what is sent for a chunk, whose tokens are shown, too; see `html_page`.

    Raises:
        SurrogateError, TypeError, ValueError: as `html_page`.

    >>> import cutline
    >>> enc = cutline.get_encoding("o200k_base")
    >>> chunks = enc.split("one two three", 2)
    >>> shown = terminal_view("one two three", chunks, enc, chunk_size=2, has_colors=False)
    >>> print("".join(shown), end="")
    Chunks
    2 chunks, 3 tokens, o200k_base, at most 2, mean fill 75.0%, smallest 1
    13 characters, 0 repeated, 0 lost
    <BLANKLINE>
    #0  ██████████  2 of 2 tokens  characters 0-7  cut at character
    one two
    <BLANKLINE>
    #1  █████       1 of 2 tokens  characters 7-13  cut at end
     three
    """
    encoding = tokenizer_of(encoding)
    read = chunks_of(text, chunks, encoding)
    sent = [] if template is None else [template.count(chunk, encoding) for chunk in read]
    totals = totals_of(text, read, chunk_size, sent)
    paint = _paint if has_colors else _no_paint
    yield paint(_line(title), _BOLD) + "\n"
    yield _totals_lines(totals, _line(encoding.name), chunk_size)
    lost = dict(lost_spans(text, read))
    budget = chunk_size or max(totals.largest, *sent, 1)
    shared_until = 0
    for place, chunk in enumerate(read):
        yield from _lost_line(text, lost, shared_until, paint)
        yield "\n" + paint(_about(chunk, budget, chunk_size, sent[place : place + 1]), _BOLD) + "\n"
        next_start = read[place + 1].start_index if place + 1 < len(read) else len(text)
        head = min(max(shared_until - chunk.start_index, 0), len(chunk.text))
        tail = min(max(next_start - chunk.start_index, head), len(chunk.text))
        if has_colors:
            shown = _colored(chunk, tokens_of(encoding, [chunk]), place, head, tail)
        else:
            shown = _signed(chunk.text, head, tail)
        yield shown if shown.endswith("\n") else shown + "\n"
        shared_until = max(shared_until, chunk.end_index)
    yield from _lost_line(text, lost, shared_until, paint)


def printable(text: str) -> str:
    r"""Replace control characters, except tab and line feed, by printable ones.

    >>> printable("a\x1b[31m\r\n"), printable("\u202eabc")
    ('a␛[31m␍\n', '<U+202E>abc')
    """
    return _UNPRINTABLE.sub(_picture, text)


def _line(text: str) -> str:
    """Make a text printable, and put it on one line."""
    return printable(text.replace("\n", "␊"))


def _picture(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point < 0x20:
        return chr(0x2400 + point)
    return "␡" if point == 0x7F else f"<U+{point:04X}>"


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def _paint(text: str, color: str) -> str:
    # A background that spans a line end would fill the rest of the line.
    lines = text.split("\n")
    return "\n".join(f"{color}{line}{_RESET}" if line else "" for line in lines)


def _no_paint(text: str, color: str) -> str:
    return text


def _totals_lines(totals: Totals, encoding_name: str, chunk_size: int | None) -> str:
    counted = _many(totals.chunk_count, "chunk"), _many(totals.token_count, "token")
    parts = [*counted, encoding_name]
    if chunk_size is not None:
        parts.append(f"at most {chunk_size:,}")
    if totals.mean_fill is not None:
        parts.append(f"mean fill {totals.mean_fill:.1%}")
    parts.append(f"smallest {totals.smallest:,}")
    return (
        f"{', '.join(parts)}\n{_many(totals.character_count, 'character')}, "
        f"{totals.overlap_characters:,} repeated, {totals.lost_characters:,} lost\n"
    )


def _about(chunk: Chunk, budget: int, chunk_size: int | None, sent: list[int]) -> str:
    of_budget = "" if chunk_size is None else f" of {chunk_size:,}"
    counted = [f"{number:,}{of_budget} tokens sent" for number in sent]
    parts = [
        f"#{chunk.index}",
        _bar((sent or [chunk.token_count])[0] / budget),
        f"{chunk.token_count:,}{'' if sent else of_budget} tokens",
        *counted,
        f"characters {chunk.start_index:,}-{chunk.end_index:,}",
    ]
    if "boundary" in chunk.metadata:
        parts.append(f"cut at {chunk.metadata['boundary']}")
    if chunk.headings:
        parts.append(" › ".join(chunk.headings))
    return printable("  ".join(parts).replace("\n", " "))


def _bar(share: float) -> str:
    eighths = round(min(1.0, share) * _BAR_CELLS * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(_BAR_CELLS)


def _lost_line(text: str, lost: dict[int, int], start: int, paint: Paint) -> Iterator[str]:
    if start in lost:
        missing = text[start : lost[start]]
        shown = printable(missing[:_SHOWN_LOST].translate(_WHITE_SPACE))
        more = "…" if len(missing) > _SHOWN_LOST else ""
        yield f"\n{_many(len(missing), 'character')} in no chunk: {paint(shown, _LOST)}{more}\n"


def _signed(text: str, head: int, tail: int) -> str:
    """Put signs around the text shared with other chunks: a head, and the text from the tail on."""
    if head == tail:  # all of it is shared
        head, tail = len(text), len(text)
    parts = text[:head], text[head:tail], text[tail:]
    before, own, after = map(printable, parts)
    open_, close = _SHARED_SIGNS
    return f"{open_}{before}{close}" * bool(before) + own + f"{open_}{after}{close}" * bool(after)


def _colored(chunk: Chunk, shown: ShownTokens, place: int, head: int, tail: int) -> str:
    """Paint the tokens of a chunk; text shared with other chunks can begin or end in a token."""
    tint = _ODD if place % 2 else _EVEN
    painted = []
    for number, cell in enumerate(shown.cells(chunk.text)):
        stops = [cell.start, *(at for at in (head, tail) if cell.start < at < cell.end), cell.end]
        for start, end in pairwise(stops):
            colors = _SHARED if end <= head or start >= tail else tint
            painted.append(_paint(printable(chunk.text[start:end]), colors[number % 2]))
    return "".join(painted)
