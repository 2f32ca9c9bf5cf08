"""Splittings one after another, where they are not known to be one pattern (composing.py).

Each cuts the pieces of the one before, as `tokenizers` does it, and sees their ends as ends of the
text. A kernel finds the matches by the automaton of a pattern, or the `regex` module if it has
none.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from cutline.errors import UnsupportedPatternError
from cutline.kernels.scan.scan import ScanTables
from cutline.kernels.words.splitting import MOST_STAGES, PieceSplitter
from cutline.pretokenize.analysis import Tables
from cutline.pretokenize.compiled import Automaton
from cutline.pretokenize.pattern import Chars, parse_pattern
from cutline.pretokenize.store import compile_pattern

if TYPE_CHECKING:
    from cutline.kernels.encode.encoder import Encoder
    from cutline.pretokenize.rewriting import Splitter

__all__ = [
    "Behavior",
    "Splitting",
    "edges_of_beginning",
    "has_automaton",
    "prefix_counts",
    "scan_tables_of",
    "split_edges",
    "split_spans",
]

Behavior = Literal["isolated", "removed", "contiguous", "merged with previous", "merged with next"]
_BEHAVIORS: Final = get_args(Behavior)  # the kernel has their numbers

_Span = tuple[int, int]
_WORD: Final = 24  # bytes


class Splitting(NamedTuple):
    """Cuts a text at the matches of a pattern.

    Attributes:
        pat_str: the pattern in our dialect.
        behavior: what becomes of a match.
        inverted: the text between matches counts as a match, and a match as text between.
    """

    pat_str: str
    behavior: Behavior
    inverted: bool = False


def has_automaton(pat_str: str) -> bool:
    """Return whether a pattern is in the subset that compiles to an automaton."""
    try:
        compile_pattern(pat_str)
    except UnsupportedPatternError:
        return False
    return True


def split_spans(
    splittings: Sequence[Splitting], utf8: bytes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    r"""Split a text.

    Args:
        splittings: what cuts it, one after another.
        utf8: the text, valid UTF-8.

    Returns:
        int64 starts and ends of the pieces, in order, as half-open byte offsets.

    Cost: some 100 MB/s for each splitting; one without an automaton 1 MB/s, or far less.

    >>> digits = Splitting(r"\p{N}+", "isolated")
    >>> split_spans([digits, Splitting(r"\s?\p{L}+", "isolated")], b"a1 bc")
    (array([0, 1, 2]), array([1, 2, 5]))
    """
    edges = split_edges(splittings, utf8)
    return edges[::2].copy(), edges[1::2].copy()


def split_edges(splittings: Sequence[Splitting], utf8: bytes) -> NDArray[np.int64]:
    """Split a text as `split_spans` does; returns the starts and ends of the pieces in turn."""
    edges = None
    for has_kernel, group in _grouped(tuple(splittings)):
        if has_kernel:
            edges = _kernel_of(group).split(utf8, edges)
        else:
            edges = _searched(group[0], utf8, edges)
    return PieceSplitter(()).split(utf8) if edges is None else edges


def edges_of_beginning(splittings: Sequence[Splitting], utf8: bytes) -> NDArray[np.int64]:
    r"""Split the beginning of a text, as far as no text that goes on is split otherwise.

    Returns:
        Starts and ends of pieces in turn. All but the last are pieces whatever follows; and one
        begins with the last, which may be empty.

    >>> words = Splitting(r"\s?\p{L}+", "isolated")
    >>> edges_of_beginning([words], b"a bc, d")
    array([0, 1, 1, 4, 4, 5, 5, 7])
    """
    edges = np.array([0, len(utf8)])
    for has_kernel, group in _grouped(tuple(splittings)):
        if has_kernel:
            edges = _kernel_of(group).split(utf8, edges, is_open=True)
        else:  # nothing is known of what goes on
            edges = np.append(_searched(group[0], utf8, edges[:-2]), 2 * [edges[-2]])
    return edges


def prefix_counts(
    splittings: Sequence[Splitting], encoder: "Encoder", utf8: bytes, max_tokens: int
) -> NDArray[np.int64] | None:
    """Count the tokens of all prefixes of a text.

    Returns:
        int64, one more than the text has bytes; -1: not known, or not between characters. None:
        a splitting has no automaton, merges matches of several characters, or reads far in vain.

    Cost: linear in the text; of each splitting, like reading it a few times.
    """
    if not all(has_automaton(one.pat_str) for one in splittings):
        return None
    groups = _grouped(tuple(map(_isolating, splittings)))
    if len(groups) != 1 or not groups[0][0]:
        return None
    return _kernel_of(groups[0][1]).prefix_counts(encoder, utf8, max_tokens)


_JOINED: Final = {
    "contiguous": "{0}+",
    "merged with previous": "[^{0}]*{0}|[^{0}]+",
    "merged with next": "{0}?[^{0}]+|{0}",
}
"""The pieces of splittings at matches of one character, as a pattern of what is one."""


@lru_cache(maxsize=64)
def _isolating(one: Splitting) -> Splitting:
    """Write a splitting that joins matches of one character as one that matches all pieces."""
    written = _JOINED.get(one.behavior)
    if written is None or not isinstance(parse_pattern(one.pat_str), Chars):
        return one
    if one.inverted and one.behavior != "contiguous":
        return one
    return Splitting(written.format(one.pat_str), "isolated")


@lru_cache(maxsize=64)
def _grouped(splittings: tuple[Splitting, ...]) -> list[tuple[bool, tuple[Splitting, ...]]]:
    """Put neighbours together that a kernel can apply; the others stay alone."""
    groups: list[tuple[bool, tuple[Splitting, ...]]] = []
    for one in splittings:
        has_kernel = has_automaton(one.pat_str)
        if has_kernel and groups and groups[-1][0] and len(groups[-1][1]) < MOST_STAGES:
            groups[-1] = (True, (*groups[-1][1], one))
        else:
            groups.append((has_kernel, (one,)))
    return groups


@lru_cache(maxsize=64)
def _kernel_of(splittings: tuple[Splitting, ...]) -> PieceSplitter:
    return PieceSplitter(
        (scan_tables_of(compile_pattern(pattern)), _BEHAVIORS.index(behavior), inverted)
        for pattern, behavior, inverted in splittings
    )


def _searched(one: Splitting, utf8: bytes, edges: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Split the pieces of a text by a pattern without an automaton."""
    pieces = [0, len(utf8)] if edges is None else edges.tolist()
    found: list[int] = []
    for start, end in zip(pieces[::2], pieces[1::2], strict=True):
        inside = _parts_of_word if end - start <= _WORD else _parts
        for first, last in inside(one, utf8[start:end]):
            found += start + first, start + last
    return np.array(found, dtype=np.int64)


def _parts(one: Splitting, utf8: bytes) -> list[_Span]:
    """Return the byte spans of the pieces of a text."""
    return _cut(one, _finder(one.pat_str)(utf8), len(utf8))


@lru_cache(maxsize=1 << 16)
def _parts_of_word(one: Splitting, utf8: bytes) -> list[_Span]:
    """Return the same for a text that may come again soon."""
    return _parts(one, utf8)


def _cut(one: Splitting, matches: list[_Span], n: int) -> list[_Span]:
    """Cut a text of n bytes at matches, as a behavior has it."""
    parts: list[tuple[int, int, bool]] = []  # whether it is a match
    done = 0
    for start, end in matches:
        if done < start:
            parts.append((done, start, one.inverted))
        parts.append((start, end, not one.inverted))
        done = end
    if done < n:
        parts.append((done, n, one.inverted))
    match one.behavior:
        case "isolated":
            spans = [(start, end) for start, end, _ in parts]
        case "removed":
            spans = [(start, end) for start, end, is_match in parts if not is_match]
        case "contiguous":
            spans = _joined(parts, lambda before, is_match: before == is_match)
        case "merged with previous":
            spans = _joined(parts, lambda before, is_match: is_match and not before)
        case "merged with next":
            back = [(-end, -start, is_match) for start, end, is_match in reversed(parts)]
            merged = _joined(back, lambda before, is_match: is_match and not before)
            spans = [(-end, -start) for start, end in reversed(merged)]
    return [(start, end) for start, end in spans if start < end]


def _joined(
    parts: Sequence[tuple[int, int, bool]], joins: Callable[[bool, bool], bool]
) -> list[_Span]:
    """Join parts to those before them; asks with whether the last part and this one are matches."""
    spans: list[_Span] = []
    before = False
    for start, end, is_match in parts:
        if spans and joins(before, is_match):
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
        before = is_match
    return spans


@lru_cache(maxsize=64)
def _finder(pat_str: str) -> Callable[[bytes], list[_Span]]:
    """Return what finds the matches of a pattern without an automaton in UTF-8."""
    from cutline.pretokenize.rewriting import splitter  # imports `regex`

    found = splitter(pat_str)

    def search(utf8: bytes) -> list[_Span]:
        text = utf8.decode()
        place = _starts(text, utf8)
        return [(place[start], place[end]) for start, end in _matches(found, text)]

    return search


def _starts(text: str, utf8: bytes) -> Sequence[int]:
    """Return where each character of a text begins in its UTF-8, and where it ends."""
    if len(text) == len(utf8):
        return range(len(text) + 1)
    return [*np.flatnonzero(np.frombuffer(utf8, dtype=np.int8) >= -64).tolist(), len(utf8)]


def _matches(found: "Splitter", text: str) -> Iterator[_Span]:
    """Find matches as Oniguruma's iterator does, which differs for empty ones.

    After a match the search goes on at its end; an empty match there is passed over, and with it
    whatever else begins at that place.
    """
    written, search = found.write(text), found.expression.search
    at, last = 0, -1
    # At an empty match the same would be found again, unless it matters where a search begins.
    skips = "\\G" not in found.expression.pattern
    while at <= len(text) and (match := search(written, at)) is not None:
        start, end = match.span()
        if start == end == last:
            at += 1
            continue
        yield start, end
        at = last = end
        at += skips and start == end


@lru_cache(maxsize=4)
def scan_tables_of(automaton: Automaton) -> ScanTables:
    """Build the scanner's tables, some milliseconds' work; kept for the next encoding with them."""
    return ScanTables(
        automaton.ascii_class,
        automaton.block_index,
        automaton.block_class,
        automaton.transitions,
        automaton.stride,
        Tables(automaton).begins_match() if automaton.has_gaps else None,
    )
