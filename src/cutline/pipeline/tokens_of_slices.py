"""Whether a slice of a text may have added tokens that the text has not.

Source: docs/words.md, "Added tokens".
"""

import unicodedata
from collections.abc import Collection
from typing import Final

from cutline.normalizing import (
    Form,
    Lower,
    NewerForm,
    Replace,
    Spell,
    Step,
    Strip,
    Unknown,
    later_characters,
)
from cutline.words.charsmap import CharsMap
from cutline.words.precompiled import Precompiled
from cutline.words.steps import ByCharacter, ByteLetters, Collapse, CollapseWhite, ReplaceEach

__all__ = ["base_letters", "slices_may_have"]

_ALONE: Final = (Lower, Strip, ByCharacter, ByteLetters, ReplaceEach, Spell, Unknown)
_KEEP_BASES: Final = (Form, Lower, Strip, ByCharacter)
_MOST_BYTES: Final = 5  # of a grapheme cluster that a map looks up as a whole
_composes: Final = Form("NFC").composes


def slices_may_have(
    tokens: Collection[str], steps: tuple[Step, ...], text: str, normalized: str
) -> bool:
    """Return whether a normalized slice may have one of the tokens, which the whole has not.

    Args:
        tokens: in their normal form.
        steps: the normalizer.
        text: any text.
        normalized: what the steps make of it.

    Cost: linear in the text.
    """
    changed = text
    for step in steps:
        if not _acts_alone(step, changed) and not step.keeps_slices(changed):
            break
        changed = step.apply(changed)
    else:
        return False  # each slice becomes a part of what the text becomes
    if not all(isinstance(one, _KEEP_BASES) and not isinstance(one, NewerForm) for one in steps):
        made = _parts_of_slices(steps, text)
        return made is None or any(made.issuperset(_parts(token)) for token in tokens)
    bases = base_letters(normalized)
    return any(base_letters(token) in bases for token in tokens)


def _acts_alone(step: Step, text: str) -> bool:
    """Return whether a step makes of each slice of a text a part of what it makes of the text."""
    match step:
        case Replace():
            return len(step.old) == 1
        case Collapse():
            return step.new == " "
        case CharsMap() | Precompiled() | CollapseWhite():
            return step.acts_alone(text)
        case _:
            return isinstance(step, _ALONE)


def _parts_of_slices(steps: tuple[Step, ...], text: str) -> set[str] | None:
    """List all characters that normalized slices may consist of, decomposed; None: not known.

    No step makes a character but of those that it is made of, or that the step has written.
    """
    found = _parts(text)
    for step in steps:
        match step:
            case NewerForm() if later_characters().search("".join(found)):
                return None
            case Replace(new=new) | ReplaceEach(new=new) | Collapse(new=new):
                found |= _parts(new)
            case CollapseWhite() | ByCharacter():
                found.add(" ")
            case Precompiled() if step is steps[0]:
                found |= _parts("".join(map(step.apply, _possible_clusters(text))))
            case CharsMap() if step is steps[0]:
                found |= _parts("".join(step.values(text)))
            case Lower():
                found |= _parts("".join(map(step.apply, found)))
                if "\u03c3" in found:  # the lunate sigma is compatible with either
                    found.add("\u03c2")
            case Form() | Strip():
                pass
            case _:
                return None
    return found


def _parts(text: str) -> set[str]:
    return set(unicodedata.normalize("NFKD", "".join(set(text))))


def _possible_clusters(text: str) -> set[str]:
    """List all that a map looks up in slices, and more: characters, and short ones in a row."""
    found = set(text)
    for length in range(2, _MOST_BYTES + 1):
        several = {text[at : at + length] for at in range(len(text) - length + 1)}
        found |= {one for one in several if len(one.encode()) <= _MOST_BYTES}
    return found


def base_letters(text: str) -> str:
    """Write what is left of characters without marks and composing vowels, in lower case.

    It does not depend on what composes, or changes places, with what.
    """
    return text.translate({ord(one): _base(one) for one in set(text)})


def _base(character: str) -> str:
    return _letters_of(Lower().apply(_letters_of(character)).casefold())


def _letters_of(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(
        one for one in decomposed if unicodedata.category(one)[0] != "M" and not _composes(one)
    )
