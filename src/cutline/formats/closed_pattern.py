r"""A split pattern that changes nothing: it splits where no token lies across.

Merging gives the same tokens for a text as for the parts between closed boundaries, those that no
token lies across. So a model that takes a whole text as one piece may have its texts split there,
and encodes their short pieces fast. Which boundaries are closed is decided by the classes of two
neighbouring characters: docs/tokenizers.md, "Models over characters".
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.pretokenize.charset import CODE_POINTS
from cutline.pretokenize.unicode import find_property

__all__ = ["closed_pattern"]

_BLANK: Final = ord(" ")
_CLASSES: Final = (r"\p{L}\p{M}", r"\p{N}", r"\n", r"\t")
"""Classes of characters; the others are one more, and stand-ins are apart."""


def closed_pattern(texts: Sequence[str], stand_ins: str, *, splits_blanks: bool) -> str:
    """Return a pattern that splits at closed boundaries only.

    Args:
        texts: the tokens of several characters.
        stand_ins: neighbouring characters that are in none of them.
        splits_blanks: a piece begins at each blank; otherwise a text is one piece.

    Cost: linear in the tokens.
    """
    class_of = _classes()
    points, begins = _characters(texts)
    inside = ~begins[1:]  # whether two neighbours are of one token
    before, after = points[:-1][inside], points[1:][inside]
    words = (before != _BLANK) & (after != _BLANK)
    joined = np.unique(np.stack([class_of[before[words]], class_of[after[words]]]), axis=1)
    openers = np.unique(before[(before != _BLANK) & (after == _BLANK)])
    groups = _groups(joined, np.unique(class_of[openers]))
    private = rf"[\x{{{ord(stand_ins[0]):X}}}-\x{{{ord(stand_ins[-1]):X}}}]"
    runs = {
        _source(group, private) + ("+" if _repeats(group, joined) else ""): group
        for group in groups
    }
    word = f"(?:{'|'.join([private, *runs])})"
    if splits_blanks:
        return f" ?{word}| "
    if not openers.size:
        return f" *{word}| +"
    members = next(
        source.removesuffix("+")
        for source, group in runs.items()
        if int(class_of[openers[0]]) in group
    )
    opening = "".join(rf"\x{{{point:X}}}" for point in openers.tolist())
    across = f"(?:{members}*[{opening}] +)"
    return f" +{across}*{word}?|{across}+{word}?|{word}"


def _classes() -> NDArray[np.uint8]:
    """Return the number of the class of each code point."""
    class_of = np.full(CODE_POINTS, len(_CLASSES), dtype=np.uint8)
    every = np.arange(CODE_POINTS)
    for name, number in (("L", 0), ("M", 0), ("N", 1)):
        chars = find_property(name)
        assert chars is not None
        class_of[chars.contains(every)] = number
    class_of[ord("\n")], class_of[ord("\t")] = 2, 3
    return class_of


def _characters(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the code points of texts, one after the other, and where each begins."""
    points = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.int64)
    begins = np.zeros(len(points) + 1, dtype=np.bool_)
    begins[np.cumsum([0, *map(len, texts)])] = True
    return points, begins[:-1]


def _groups(joined: NDArray[np.uint8], opening: NDArray[np.uint8]) -> list[set[int]]:
    """Put classes into one group whose characters are neighbours in tokens, or precede blanks."""
    groups = [{number} for number in range(len(_CLASSES) + 1)]
    for one, other in [*zip(*joined.tolist(), strict=True), *pairwise(opening.tolist())]:
        first = next(group for group in groups if one in group)
        second = next(group for group in groups if other in group)
        if first is not second:
            first |= second
            groups = [group for group in groups if group is not second]
    return groups


def _repeats(group: set[int], joined: NDArray[np.uint8]) -> bool:
    """Return whether any two characters of a group are neighbours in a token."""
    return any(one in group for one in joined[0].tolist())


def _source(group: set[int], private: str) -> str:
    others = len(_CLASSES)
    if others in group:
        outside = "".join(name for number, name in enumerate(_CLASSES) if number not in group)
        return f"[^ {outside}{private[1:-1]}]"
    return f"[{''.join(_CLASSES[number] for number in sorted(group))}]"
