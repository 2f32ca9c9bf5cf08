"""Whether the first word of a text stays at its start: only there Metaspace "first" leads it."""

from cutline.normalizing import Form, Lower, Replace, Step, Strip
from cutline.words.precompiled import Precompiled
from cutline.words.steps import Collapse, CollapseWhite, ReplaceEach

__all__ = ["keeps_start"]


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
