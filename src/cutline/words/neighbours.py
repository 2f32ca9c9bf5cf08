"""Which characters interact with their neighbours under a normalization step.

Proofs: docs/words.md, "Interactions".
"""

import unicodedata
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cutline.kernels.words.classes import first_member
from cutline.normalizing import Form, NewerForm, Replace, Step, later_characters
from cutline.pretokenize.charset import CharSet, union
from cutline.words.characters import chars_of
from cutline.words.charsmap import CharsMap
from cutline.words.precompiled import Precompiled
from cutline.words.steps import ByCharacter, Collapse, CollapseWhite, Kind, removes_accents

__all__ = [
    "JOINS",
    "LEFT",
    "NO_CHARACTER",
    "OPENS",
    "PAIR",
    "RIGHT",
    "Flagger",
    "flagger",
    "marks_stay",
    "vanishes_next",
]

LEFT: Final = 1
RIGHT: Final = 2
PAIR: Final = 4
OPENS: Final = 8
JOINS: Final = 16
"""Two neighbouring characters interact if the first has RIGHT, the second LEFT, both PAIR, or
the first OPENS and the second JOINS."""

NO_CHARACTER: Final = "\U0010ffff"
"""No step changes it, and nothing interacts with it: it keeps texts apart."""

_VANISHED: Final = LEFT | RIGHT
"""Of what vanishes before a step that looks at neighbours: it makes others neighbours."""

_USUAL_CLASS: Final = 9
"""The combining class of nearly all marks that BertNormalizer leaves: among themselves they
keep their order."""

_JAMO: Final = CharSet.from_ranges([(0x1160, 0x1200), (0xD7B0, 0xD800)])
"""What composes with what is before it, besides marks."""

Flagger = Callable[[list[str], list[str]], list[int]]


def flagger(step: Step, following: tuple[Step, ...]) -> Flagger | None:
    """Choose what tells how texts interact with what is next to them under a step.

    Args:
        step: the step.
        following: those after it.

    Returns:
        A function from texts, each what a character became, and what the step makes of each, to
        flags (empty: all are 0); None: they never interact.
    """
    found = _flagger(step, following)
    return partial(_beside_later, found) if found and isinstance(step, NewerForm) else found


def _flagger(step: Step, following: tuple[Step, ...]) -> Flagger | None:
    match step, following:
        case (
            Form(name="NFD" | "NFKD"),
            (ByCharacter(kind="bert accents" | "accents") as removing, *_),
        ):
            return partial(_under_stripping, _moving(removing.kind))
        case Form(name="NFD" | "NFKD"), _:
            return _under_ordering
        case Form() as form, _:
            return partial(_under_composing, form)
        case Replace(old=old), _ if len(old) > 1:
            return partial(_under_replacing, old)
        case CollapseWhite(), _:
            return _under_collapsing
        case Collapse(), _:
            return _under_nothing  # it looks at blanks beside blanks: `ImageMaker` knows of them
        case Precompiled() as precompiled, _:
            return partial(_under_clusters, precompiled)
        case CharsMap() as charsmap, _:
            return partial(_under_keys, charsmap)
    return None


def _under_nothing(texts: list[str], made: list[str]) -> list[int]:
    return []


def _beside_later(flags_of: Flagger, texts: list[str], made: list[str]) -> list[int]:
    """Flag later characters, of which the other rules say nothing."""
    flags, later = flags_of(texts, made), later_characters()
    if not later.search("".join(texts)):
        return flags
    return [
        flag | (LEFT | RIGHT if later.search(text) else 0)
        for text, flag in zip(texts, flags or [0] * len(texts), strict=True)
    ]


def _under_stripping(moving: NDArray[np.int32], texts: list[str], made: list[str]) -> list[int]:
    if first_member("".join(made), moving) < 0:
        return []
    return [LEFT | RIGHT if first_member(text, moving) >= 0 else 0 for text in made]


def marks_stay(form: Form, kind: Kind, text: str) -> bool:
    """Return whether a text decomposed and without accents is its characters' put together."""
    if isinstance(form, NewerForm) and later_characters().search(text):
        return False
    return first_member(form.apply(text), _moving(kind)) < 0


def vanishes_next(form: Form, removing: Step, character: str) -> bool:
    """Return whether a character is made of marks that are sorted, and removed by the next step.

    Sorting is stable, so they leave the order of others as it is.
    """
    if form.name not in ("NFD", "NFKD"):
        return False  # a letter may be one with them
    made = form.apply(character)
    return (
        removes_accents(removing) and not removing.apply(made) and all(map(form.is_ordered, made))
    )


@lru_cache(maxsize=2)
def _moving(kind: Kind) -> NDArray[np.int32]:
    """Return the marks that a step leaves and that others which it leaves may move around."""
    removing = ByCharacter(kind)
    left = [
        mark
        for start, end in chars_of("marks").ranges()
        for mark in map(chr, range(start, end))
        if unicodedata.combining(mark) not in (0, _USUAL_CLASS)  # few are
        and _class_of(mark)
        and removing.keeps(mark)
    ]
    return union(map(CharSet.of, left)).edges


def _class_of(character: str) -> int:
    """Return the combining class that `tokenizers` knows."""
    return 0 if later_characters().match(character) else unicodedata.combining(character)


def _under_ordering(texts: list[str], made: list[str]) -> list[int]:
    if all(made) and first_member("".join(made), _marks()) < 0:
        return []
    return [_order(text) for text in made]


def _order(made: str) -> int:
    if not made:
        return _VANISHED
    return PAIR if _class_of(made[0]) or _class_of(made[-1]) else 0


def _under_composing(form: Form, texts: list[str], made: list[str]) -> list[int]:
    decomposed = unicodedata.normalize("NFKD", "".join(texts))
    if all(texts) and first_member(decomposed, _marks()) < 0:
        return []
    return [_composition(form, *pair) for pair in zip(texts, made, strict=True)]


def _composition(form: Form, text: str, made: str) -> int:
    if not text:
        return _VANISHED
    # What composes with nothing moves among marks only; those that are in a letter stay there.
    flags = PAIR if form.is_ordered(text[0]) or _class_of(made[-1]) else 0
    for character in text:
        if form.composes(character):
            return flags | LEFT
        if not form.is_ordered(character):
            break
    return flags


@lru_cache(maxsize=1)
def _marks() -> NDArray[np.int32]:
    """Return what may be ordered or composed in a text that is decomposed."""
    return (chars_of("marks") | _JAMO).edges


def _under_replacing(old: str, texts: list[str], made: list[str]) -> list[int]:
    return [
        (PAIR if text[0] in old or text[-1] in old else 0) if text else _VANISHED for text in texts
    ]


def _under_collapsing(texts: list[str], made: list[str]) -> list[int]:
    """Flag white space that becomes a blank beside other white space; of blanks all runs count."""
    if all(texts) and CollapseWhite.acts_alone("".join(texts)):
        return []
    return [
        0 if text and CollapseWhite.acts_alone(text[0] + text[-1]) else LEFT | RIGHT
        for text in texts
    ]


def _under_keys(step: CharsMap, texts: list[str], made: list[str]) -> list[int]:
    return [
        OPENS * step.goes_on(text[-1]) | JOINS * (not step.begins(text[0])) if text else _VANISHED
        for text in texts
    ]


def _under_clusters(step: Precompiled, texts: list[str], made: list[str]) -> list[int]:
    joins, prepends = chars_of("joins").edges, chars_of("prepends").edges
    word = chars_of("word").edges
    flags = [OPENS if opens else 0 for opens in step.open_each(texts)]
    if not all(texts):
        flags = [flag if text else _VANISHED for flag, text in zip(flags, texts, strict=True)]
    together = "".join(texts)
    if first_member(together, prepends) >= 0:
        flags = [
            flag | (RIGHT if first_member(text, prepends) >= 0 else 0)
            for flag, text in zip(flags, texts, strict=True)
        ]
    if first_member(together, joins) < 0:
        return flags
    for place, text in enumerate(texts):
        if first_member(text[:1], joins) >= 0:
            flags[place] |= JOINS | (LEFT if first_member(text[:1], word) < 0 else 0)
    return flags
