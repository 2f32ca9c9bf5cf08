"""Whether the first word of a text stays at its start: only there Metaspace "first" leads it.

Source: docs/words.md, "The first word".
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final
from unicodedata import combining

from cutline.normalizing import Form, Lower, Replace, Step, Strip, normalize
from cutline.words.precompiled import Precompiled
from cutline.words.steps import Collapse, CollapseWhite, ReplaceEach

__all__ = ["found_in_first", "keeps_start"]

_CODE_POINTS: Final = (range(0xD800), range(0xE000, 0x110000))


def keeps_start(step: Step) -> bool:
    """Return whether what a step makes of a text begins where the text does, or with a blank.

    To `tokenizers`, what is written for several characters comes from the last of them, and what
    follows characters that are removed from where it was; but Precompiled counts characters only.
    """
    match step:
        case Form() | Lower() | Precompiled() | CollapseWhite():
            return True
        case Strip():
            return not step.left
        case Collapse():
            return step.new in (" ", "\u2581")
        case ReplaceEach():
            return bool(step.new)
        case Replace():
            return len(step.old) == 1 and bool(step.new)
    return False


def found_in_first(steps: Sequence[Step], texts: Iterable[str]) -> str | None:
    """Return the text of an added token that may end inside what a text's first character becomes.

    To `tokenizers`, all that a character becomes is where it is: so what follows such a token
    would be at the start, too, and Metaspace "first" would lead it.

    Args:
        steps: the normalizer; each keeps the start.
        texts: those of the added tokens that are searched for in normalized text.

    Cost: up to some 0.5 s for each normal form, once for the same steps.
    """
    wanted = {made for text in texts for made in (text, normalize(text, steps)) if made}
    if not wanted or not (longer := _longer_images(tuple(steps))):
        return None
    for text in sorted(wanted):
        # A mark may be put in order among those of the next character.
        if any(map(combining, text)) or any(text in one[:-1] for one in longer):
            return text
    return None


@lru_cache(maxsize=8)
def _longer_images(steps: tuple[Step, ...]) -> frozenset[str]:
    """Return texts of several characters, among them all that steps make of one character."""
    images: set[str] = set()
    for step in steps:
        match step:
            case Strip():
                pass  # only at the end of a text
            case Collapse() | CollapseWhite():
                images |= {step.apply(one) for one in images}
            case _:
                images = {step.apply(one) for one in images} | _longer_images_of(step)
    return frozenset(one for one in images if len(one) > 1)


def _longer_images_of(step: Step) -> frozenset[str]:
    """Return what a step makes of single characters, if it is more than one."""
    match step:
        case Precompiled():
            made = step.values()
        case ReplaceEach() | Replace():
            made = frozenset((step.new,))
        case _:
            made = frozenset(step.apply(chr(one)) for part in _CODE_POINTS for one in part)
    return frozenset(one for one in made if len(one) > 1)
