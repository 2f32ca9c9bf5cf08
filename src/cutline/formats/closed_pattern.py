r"""A split pattern that changes nothing: it splits where no token lies across.

Merging gives the same tokens for a text as for the parts between closed boundaries, those that no
token lies across. So a model that takes a whole text as one piece may have its texts split there,
and encodes their short pieces fast. Which boundaries are closed is decided by the classes of two
neighbouring characters: docs/tokenizers.md, "Models over characters".
"""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.formats.token_ids import Texts
from cutline.pretokenize.charset import CODE_POINTS
from cutline.pretokenize.unicode import find_property

__all__ = ["closed_pattern"]

_BLANK: Final = ord(" ")
_CLASSES: Final = {
    r"\n": r"\n",
    r"\t": r"\t",
    "0-9": "0-9",
    "Latin": r"\p{Latin}",
    "Greek": r"[\p{Greek}&&[^\p{M}]]",
    "Cyrillic": r"[\p{Cyrillic}&&[^\p{M}]]",
    "Han": r"[[\p{Han}\p{Hiragana}\p{Katakana}\x{30FC}]&&[^\p{M}]]",
}
"""Classes of characters and how a pattern writes them. All other characters are one more.

SentencePiece makes no tokens of several, where it splits by scripts: kana are Han.
"""

_OTHERS: Final = len(_CLASSES)
_MARKS: Final = _OTHERS + 1
"""Marks may be neighbours of characters of all classes, without making these one group."""

_BLANKS: Final = _MARKS + 1
_N_CLASSES: Final = _BLANKS + 1


def closed_pattern(
    texts: Texts, stand_ins: str, runs: Mapping[str, int], *, splits_blanks: bool
) -> str:
    """Return a pattern that splits at closed boundaries only.

    Args:
        texts: the tokens of several characters, but for runs.
        stand_ins: neighbouring characters that are in none of them.
        runs: characters that merge with one another before all else, and the length of their
            longest token; neither letters nor digits nor marks. Only the blank may be in `texts`,
            too.
        splits_blanks: a piece begins at each blank; otherwise a text is one piece.

    Cost: linear in the tokens.
    """
    if splits_blanks:  # no piece has two blanks
        runs = {one: most for one, most in runs.items() if one != " "}
    class_of = _classes()
    joined, openers = _neighbours(texts, class_of)
    ending = {int(class_of[opener]) for opener in openers}
    groups = _groups(joined, ending - {_MARKS})
    private = rf"\x{{{ord(stand_ins[0]):X}}}-\x{{{ord(stand_ins[-1]):X}}}"
    alone = private + "".join(rf"\x{{{ord(one):X}}}" for one in runs if one != " ")
    written = [
        _source(group, alone) + ("+" if joined & {(a, b) for a in group for b in group} else "")
        for group in groups
        if not group <= {int(class_of[ord(one)]) for one in runs if one in "\n\t"}
    ]
    run = f"(?:[{private}]|{'|'.join(written)})"
    marked = rf"(?:{run}?\p{{M}}+)"
    word = f"(?:{marked}+{run}?|{run})"
    several = [
        rf"\x{{{ord(one):X}}}{{{1 + (one == ' ')},{most}}}" for one, most in sorted(runs.items())
    ]
    few, rest = (" ?", " ") if splits_blanks or " " in runs else (" *", " +")
    if openers and not splits_blanks:
        opening = "".join(rf"\x{{{opener:X}}}" for opener in openers)
        ends = [f"{_source(group, alone)}*" for group in groups if group & ending]
        ends += [rf"{run}?\p{{M}}*"] * (_MARKS in ending)
        across = f"(?:{marked}*(?:{'|'.join(ends)})[{opening}]{rest})"
        if " " in runs:
            return "|".join([*several, f" ?{across}*{word}", rest])
        return "|".join([*several, f" +{across}*{word}?", f"{across}+{word}?", word])
    return "|".join([*several, few + word, rest])


@cache
def _classes() -> NDArray[np.uint8]:
    """Return the number of the class of each code point; nobody writes into it."""
    class_of = np.full(CODE_POINTS, _OTHERS, dtype=np.uint8)
    scripts = {"Latin": 3, "Greek": 4, "Cyrillic": 5, "Han": 6, "Hiragana": 6, "Katakana": 6}
    class_of[0x30FC] = 6
    for name, number in {**scripts, "M": _MARKS}.items():
        chars = find_property(name)
        assert chars is not None
        for start, end in chars.ranges():
            class_of[start:end] = number
    class_of[_BLANK] = _BLANKS
    class_of[ord("\n")], class_of[ord("\t")], class_of[ord("0") : ord("9") + 1] = 0, 1, 2
    return class_of


def _neighbours(
    texts: Texts, class_of: NDArray[np.uint8]
) -> tuple[set[tuple[int, int]], list[int]]:
    """Return the classes of all pairs of neighbours without blanks, and what is before blanks."""
    points = texts.code_points
    classes = class_of.take(points)  # several times as fast as by an index
    pairs = classes[:-1] * np.uint8(_N_CLASSES) + classes[1:]
    pairs[texts.char_offsets[1:-1] - 1] = _BLANKS * _N_CLASSES  # in two texts
    found = np.bincount(pairs, minlength=_N_CLASSES**2) > 0
    table = found.reshape(_N_CLASSES, _N_CLASSES)
    joined = {(first, second) for first, second in np.argwhere(table[:_BLANKS, :_BLANKS]).tolist()}
    if not table[:_BLANKS, _BLANKS].any():
        return joined, []
    before = np.flatnonzero((pairs % _N_CLASSES == _BLANKS) & (classes[:-1] != _BLANKS))
    return joined, np.unique(points[before]).tolist()


def _groups(joined: set[tuple[int, int]], opening: set[int]) -> list[set[int]]:
    """Put classes into one group whose characters are neighbours in tokens, or precede blanks.

    Marks are in no group.
    """
    groups = [{number} for number in range(_MARKS)]
    for one, other in [*joined, *pairwise(sorted(opening))]:
        if _MARKS not in (one, other):
            first = next(group for group in groups if one in group)
            second = next(group for group in groups if other in group)
            if first is not second:
                first |= second
                groups = [group for group in groups if group is not second]
    return groups


def _source(group: set[int], alone: str) -> str:
    """Write the set of the characters of a group, without those that are pieces of their own."""
    sources = list(_CLASSES.values())
    if _OTHERS in group:
        outside = "".join(sources[number] for number in range(_OTHERS) if number not in group)
        return rf"[^ \p{{M}}{outside}{alone}]"
    return f"[{''.join(sources[number] for number in sorted(group))}]"
