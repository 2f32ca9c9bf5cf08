"""Whether a text can be cut before a blank where steps replace runs of blanks, or map clusters.

Such steps let no other blank stay, whatever is around it; but where the text before one ends in
something solid, all that they do with the blank depends on what follows. The proof:
docs/tokenizers.md, "Safe split points".
"""

from collections.abc import Sequence
from typing import Final

from cutline.normalizing import SPACE, Form, Lower, Prepend, Replace, Spell, Step, Strip, Unknown
from cutline.words.charsmap import CharsMap
from cutline.words.precompiled import Precompiled
from cutline.words.steps import ByCharacter, Collapse, CollapseWhite, ReplaceEach

__all__ = ["blank_begins", "solid_end"]

_BLANKS: Final = {" ", "\u2581"}  # as models over characters write it


def blank_begins(steps: Sequence[Step]) -> bool:
    """Return whether a blank after something solid becomes a blank, by what follows it alone."""
    firsts = {" "}  # what it may be
    for step in steps:
        match step:
            case Prepend() | CollapseWhite():
                pass
            case Strip():
                if step.left:
                    return False
            case Collapse():
                firsts.add(step.new)
            case Replace() if len(step.old) > 1 and _BLANKS & set(step.old):
                return False
            case Precompiled():
                if any(step.depends_on_next(one) for one in firsts):
                    return False
                firsts = {*map(step.apply, firsts)}
            case CharsMap():
                if any(map(step.goes_on, firsts)):
                    return False
                firsts = {*map(step.apply, firsts)}
            case Form() | Lower() | ByCharacter() | ReplaceEach() | Replace() | Unknown() | Spell():
                firsts = {*map(step.apply, firsts)}
            case _:
                return False
        if not firsts <= _BLANKS:
            return False
    return firsts == {" "}


def solid_end(character: str, steps: Sequence[Step]) -> str:
    """Return the last character that steps make of a text that ends in this one, and a blank after.

    Returns:
        Nothing if that is not known, or they could do something across the blank's start.
    """
    made = character
    for step in steps:
        if isinstance(step, Prepend):
            continue
        if not _is_apart(step, made):
            return ""
        made = step.apply(made)
        if not made:
            return ""
    return made[-1]


def _is_apart(step: Step, text: str) -> bool:
    """Return whether a step changes a text like the same at the end of any other one."""
    match step:
        case Form():
            return step.begins(text[0])
        case Replace():
            return len(step.old) == 1 or not set(step.old) & set(text)
        case Strip():
            return text[-1] not in SPACE
        case Collapse() | CollapseWhite():
            return not set(SPACE) & set(text)
        case Precompiled():
            return step.is_apart(text)
        case CharsMap():
            begins = step.begins(text[0]) or (len(text) == 1 and step.ends_alike(text))
            return begins and not step.joins(text[-1], " ")
    return isinstance(step, Lower | ByCharacter | ReplaceEach | Unknown | Spell)
