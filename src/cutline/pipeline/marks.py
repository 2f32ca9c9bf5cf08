"""How many of the marks on one letter fit at most, where a normal form sorts them.

A mark that is added to a text can move before all others, so no prefix of the sorted marks stays.
But the marks of one combining class keep their order and stay together: what is written for them
only grows. The tokens that lie inside must cover it, but for what tokens across its ends cover. So
the fewest tokens that do so, of all classes together, are a lower bound that never falls. The
proof: docs/tokenizers.md, "Marks on one letter".
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cutline.normalizing import Form, Lower, Step, later_characters, normalize
from cutline.words.beginnings import looks
from cutline.words.steps import ByCharacter

__all__ = ["most_marks", "sorting_steps"]

_COMPOSED = 4  # so many of the first marks of a class may become a part of the letter

Cover = Callable[[bytes], NDArray[np.int64]]
"""Returns how many tokens reach each place in UTF-8 at least, where each begins at the end of the
one before, or earlier: int64, shape (bytes + 1,), never falling."""


def sorting_steps(steps: Iterable[Step], marks: Iterable[str]) -> tuple[Step, ...] | None:
    """Return the steps that change or sort some marks: the others act as if there were none.

    None: `most_marks` does not hold.
    """
    sorting, made = list[Step](), set(marks)
    for step in steps:
        if not isinstance(step, Form) and all(map(step.keeps, made)):
            continue
        sorting.append(step)
        made = set("".join(map(step.apply, made)))
    ordering, _ = _parted(sorting)
    is_known = all(isinstance(step, Form | Lower | ByCharacter) for step in ordering)
    return tuple(sorting) if is_known else None


def _parted(steps: Sequence[Step]) -> tuple[Sequence[Step], Sequence[Step]]:
    """Return the steps up to the last that sorts, and those after it that change each character."""
    n_last = next((n for n, step in enumerate(reversed(steps)) if looks(step)), len(steps))
    return steps[: len(steps) - n_last], steps[len(steps) - n_last :]


def most_marks(stretch: str, steps: Sequence[Step], cover: Cover, longest: int, tokens: int) -> int:
    """Bound the prefixes of a stretch that fit.

    Args:
        stretch: a character and those after it that a normal form may compose with it or move.
        steps: of `sorting_steps`.
        cover: of normalized text.
        longest: bytes of the longest token that has a mark, or a part of one.
        tokens: the budget.

    Returns:
        The most characters of a prefix that may have so few tokens: no text that begins with a
        longer one has.

    Cost: linear, after sorting.
    """
    sorting, last = _parted(steps)
    eaten = _COMPOSED * sum(isinstance(step, Form) for step in sorting)
    made = {one: normalize(one, sorting) for one in set(stretch[1:])}
    written = {one: normalize(one, last) for one in set("".join(made.values()))}
    blocks: dict[tuple[int, int], list[tuple[int, str]]] = {}
    run, was_mark = 0, True
    for place, character in enumerate(stretch[1:], start=1):
        for one in made[character]:
            kind = _class_of(one)
            run += was_mark and not kind  # what no form moves, as jamo: marks stay on one side
            blocks.setdefault((run, kind), []).append((place, written[one]))
            was_mark = kind > 0
    added = np.zeros(len(stretch) + 1, dtype=np.int64)
    for block in blocks.values():
        kept = block[eaten:]
        utf8 = "".join(one for _, one in kept).encode()
        # Bytes that a token across an end may cover; the last character may compose with a mark.
        across = max(longest - 1, 4)
        if len(utf8) <= 2 * across:
            continue
        least = cover(utf8)
        ends = np.cumsum([len(one.encode()) for _, one in kept]) - across
        inside = np.maximum(least[np.maximum(ends, 0)] - least[across], 0)
        np.add.at(added, [place for place, _ in kept], np.diff(inside, prepend=0))
    return int(np.searchsorted(np.cumsum(added), tokens, side="right")) - 1


def _class_of(character: str) -> int:
    """Return the combining class that normal forms sort by; younger marks are never moved."""
    return 0 if later_characters().match(character) else unicodedata.combining(character)
